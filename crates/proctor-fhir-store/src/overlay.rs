//! What one playground changed, over a base that it shares with others.

use std::{slice, sync::Arc};

use hashbrown::HashMap;
use proctor_fhir::definitions::ParameterId;

use super::{
    base::BaseKind,
    index::{Key, Row, frozen::FrozenColumn, live::LiveColumn},
    kind::ResourceKind,
    resource::{Version, VersionName},
};

/// The changed and new resources of one type.
#[derive(Debug, PartialEq)]
pub(crate) struct OverlayKind {
    /// Ids that the base does not have.
    by_id: HashMap<Arc<str>, Row>,
    entries: HashMap<Row, Entry>,
    columns: HashMap<ParameterId, LiveColumn>,
    /// Rows of the base that have an entry here, ascending.
    covered: Vec<Row>,
    next_row: Row,
    /// Resources of the type that exist, those of the base included.
    live: usize,
}

/// A resource with everything that ever happened to it.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) id: Arc<str>,
    /// Oldest first; never empty once the entry is in use.
    pub(crate) versions: Vec<Version>,
    /// What the newest version is found by, ordered by parameter.
    pub(crate) values: Vec<(ParameterId, Arc<Key>)>,
}

impl Entry {
    /// The values of one parameter.
    pub(crate) fn values_of(&self, parameter: ParameterId) -> &[(ParameterId, Arc<Key>)] {
        let start = self.values.partition_point(|(id, _)| *id < parameter);
        let length = self.values[start..].partition_point(|(id, _)| *id == parameter);
        &self.values[start..start + length]
    }
}

/// How to take back one write.
#[derive(Debug)]
pub(crate) struct Undo {
    row: Row,
    before: Before,
}

#[derive(Debug)]
enum Before {
    /// Nobody had this id.
    Absent,
    /// The base's version was current.
    InBase,
    /// The overlay had an entry, found by these values.
    InOverlay(Vec<(ParameterId, Arc<Key>)>),
}

impl Undo {
    /// The row that was written.
    pub(crate) fn row(&self) -> Row {
        self.row
    }
}

impl OverlayKind {
    pub(crate) fn over(base: Option<&BaseKind>) -> Self {
        let base_rows = base.map_or(0, BaseKind::row_count);
        Self {
            by_id: HashMap::new(),
            entries: HashMap::new(),
            columns: HashMap::new(),
            covered: Vec::new(),
            next_row: base_rows,
            live: base_rows as usize,
        }
    }

    /// Makes `version` the newest of the resource `id`, found by `values`.
    pub(crate) fn write(
        &mut self,
        base: Option<&BaseKind>,
        id: &str,
        version: Version,
        values: Vec<(ParameterId, Key)>,
    ) -> Undo {
        let (row, before) = self.open_entry(base, id);
        let was_live = match &before {
            Before::Absent => false,
            Before::InBase => true,
            Before::InOverlay(_) => self.is_live_entry(row),
        };
        let is_live = version.body.is_some();
        self.live = self.live + usize::from(is_live) - usize::from(was_live);
        let entry = self
            .entries
            .get_mut(&row)
            .expect("the entry was just opened");
        entry.versions.push(version);
        let values: Vec<(ParameterId, Arc<Key>)> = values
            .into_iter()
            .map(|(parameter, key)| (parameter, Arc::new(key)))
            .collect();
        let old = std::mem::take(&mut entry.values);
        for (parameter, value) in &old {
            remove_value(&mut self.columns, *parameter, value, row);
        }
        for (parameter, value) in &values {
            self.columns.entry(*parameter).or_default().add(value, row);
        }
        entry.values = values;
        let before = match before {
            Before::InOverlay(_) => Before::InOverlay(old),
            Before::Absent | Before::InBase => before,
        };
        Undo { row, before }
    }

    /// The row of `id`, with an entry in the overlay from now on.
    fn open_entry(&mut self, base: Option<&BaseKind>, id: &str) -> (Row, Before) {
        let in_base = base.and_then(|base| Some((base, base.row_of(id)?)));
        let known = in_base
            .map(|(_, row)| row)
            .or_else(|| self.by_id.get(id).copied());
        match known {
            Some(row) if self.entries.contains_key(&row) => (row, Before::InOverlay(Vec::new())),
            _ => {
                let (row, id, versions, before) = match in_base {
                    Some((base, row)) => {
                        let versions = vec![base.versions[row as usize].clone()];
                        (
                            row,
                            base.ids[row as usize].clone(),
                            versions,
                            Before::InBase,
                        )
                    }
                    None => {
                        let (row, id) = (self.next_row, Arc::<str>::from(id));
                        self.next_row += 1;
                        self.by_id.insert(id.clone(), row);
                        (row, id, Vec::new(), Before::Absent)
                    }
                };
                if let Before::InBase = before {
                    let place = self.covered.partition_point(|known| *known < row);
                    self.covered.insert(place, row);
                }
                let entry = Entry {
                    id,
                    versions,
                    values: Vec::new(),
                };
                self.entries.insert(row, entry);
                (row, before)
            }
        }
    }

    /// Takes the newest write back. Writes are taken back newest first.
    pub(crate) fn undo(&mut self, undo: Undo) {
        let row = undo.row;
        let was_live = self.is_live_entry(row);
        let Some(entry) = self.entries.get_mut(&row) else {
            return;
        };
        entry.versions.pop();
        for (parameter, value) in std::mem::take(&mut entry.values) {
            remove_value(&mut self.columns, parameter, &value, row);
        }
        let is_live = match undo.before {
            Before::Absent => {
                if let Some(entry) = self.entries.remove(&row) {
                    self.by_id.remove(&entry.id);
                }
                self.next_row -= 1;
                false
            }
            Before::InBase => {
                self.entries.remove(&row);
                self.covered.retain(|known| *known != row);
                true
            }
            Before::InOverlay(values) => {
                for (parameter, value) in &values {
                    self.columns.entry(*parameter).or_default().add(value, row);
                }
                entry.values = values;
                self.is_live_entry(row)
            }
        };
        self.live = self.live + usize::from(is_live) - usize::from(was_live);
    }

    /// Whether nothing was written, or all of it taken back.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn is_live_entry(&self, row: Row) -> bool {
        let newest = self
            .entries
            .get(&row)
            .and_then(|entry| entry.versions.last());
        newest.is_some_and(|version| version.body.is_some())
    }
}

fn remove_value(
    columns: &mut HashMap<ParameterId, LiveColumn>,
    parameter: ParameterId,
    value: &Key,
    row: Row,
) {
    if let Some(column) = columns.get_mut(&parameter) {
        column.remove(value, row);
        if column.is_empty() {
            columns.remove(&parameter);
        }
    }
}

/// All resources of one type as a playground sees them: the overlay over the base.
#[derive(Clone, Copy)]
pub(crate) struct KindView<'a> {
    pub(crate) kind: ResourceKind,
    pub(crate) base: Option<&'a BaseKind>,
    pub(crate) overlay: Option<&'a OverlayKind>,
}

impl<'a> KindView<'a> {
    /// The row of the resource with this id, existing or deleted.
    pub(crate) fn row_of(&self, id: &str) -> Option<Row> {
        self.base
            .and_then(|base| base.row_of(id))
            .or_else(|| self.overlay?.by_id.get(id).copied())
    }

    /// The overlay's entry of a row, if the row was changed or made here.
    pub(crate) fn changed(&self, row: Row) -> Option<&'a Entry> {
        self.overlay?.entries.get(&row)
    }

    /// The rows that were changed or made here, in no order.
    pub(crate) fn changed_rows(&self) -> impl Iterator<Item = Row> {
        let entries = self.overlay.map(|overlay| overlay.entries.keys());
        entries.into_iter().flatten().copied()
    }

    /// How many rows were changed or made here.
    pub(crate) fn changed_count(&self) -> usize {
        self.overlay.map_or(0, |overlay| overlay.entries.len())
    }

    /// Whether a row of the base is no longer what the base says.
    pub(crate) fn is_covered(&self, row: Row) -> bool {
        self.overlay
            .is_some_and(|overlay| overlay.covered.binary_search(&row).is_ok())
    }

    /// The id of a row.
    pub(crate) fn id(&self, row: Row) -> &'a Arc<str> {
        match self.changed(row) {
            Some(entry) => &entry.id,
            None => &self.base_kind().ids[row as usize],
        }
    }

    /// Everything that happened to a row, oldest first.
    pub(crate) fn versions(&self, row: Row) -> &'a [Version] {
        match self.changed(row) {
            Some(entry) => &entry.versions,
            None => slice::from_ref(&self.base_kind().versions[row as usize]),
        }
    }

    /// The newest version of a row; its body is absent when the resource is deleted.
    pub(crate) fn newest(&self, row: Row) -> &'a Version {
        self.versions(row)
            .last()
            .expect("a row has at least one version")
    }

    /// The name of a row's newest version.
    pub(crate) fn name(&self, row: Row) -> VersionName {
        VersionName {
            kind: self.kind,
            id: self.id(row).clone(),
            version: self.newest(row).number,
        }
    }

    /// Whether the resource in a row exists.
    pub(crate) fn is_live(&self, row: Row) -> bool {
        self.newest(row).body.is_some()
    }

    /// How many resources of the type exist.
    pub(crate) fn live_count(&self) -> usize {
        match (self.overlay, self.base) {
            (Some(overlay), _) => overlay.live,
            (None, Some(base)) => base.ids.len(),
            (None, None) => 0,
        }
    }

    /// One more than the highest row.
    pub(crate) fn row_end(&self) -> Row {
        match (self.overlay, self.base) {
            (Some(overlay), _) => overlay.next_row,
            (None, Some(base)) => base.row_count(),
            (None, None) => 0,
        }
    }

    /// The base's column of a parameter.
    pub(crate) fn frozen(&self, parameter: ParameterId) -> Option<&'a FrozenColumn> {
        self.base?.column(parameter)
    }

    /// The overlay's column of a parameter.
    pub(crate) fn live(&self, parameter: ParameterId) -> Option<&'a LiveColumn> {
        self.overlay?.columns.get(&parameter)
    }

    /// Shows each value that `row` has for `parameter` to `visit` until it answers true; tells
    /// whether it did.
    pub(crate) fn any_value(
        &self,
        row: Row,
        parameter: ParameterId,
        mut visit: impl FnMut(&'a Key) -> bool,
    ) -> bool {
        if let Some(entry) = self.changed(row) {
            return entry
                .values_of(parameter)
                .iter()
                .any(|(_, value)| visit(value));
        }
        let Some(column) = self.frozen(parameter) else {
            return false;
        };
        column
            .places_of(row)
            .iter()
            .any(|place| visit(column.value(*place)))
    }

    fn base_kind(&self) -> &'a BaseKind {
        self.base
            .expect("a row that was never changed here is in the base")
    }
}
