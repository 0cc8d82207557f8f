//! The state of one playground's store, and the only ways to change it.
//!
//! Pure: no I/O, no clock, no randomness. What a request changes is first written here and noted as
//! [`Change`]s; the same changes, read back from the journal, lead to the same state.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use proctor_core::time::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    base::Base,
    change::Change,
    index::{Row, keys_of},
    kind::ResourceKind,
    outcome::Answer,
    overlay::{KindView, OverlayKind, Undo},
    resource::{Resource, Verb, Version, VersionName},
    seed::{IdSequence, Seed},
    settings::Settings,
};

/// The store of one playground.
#[derive(Debug)]
pub struct State {
    base: Arc<Base>,
    settings: Arc<Settings>,
    ids: IdSequence,
    kinds: Box<[Option<Box<OverlayKind>>]>,
    log: Vec<Logged>,
    pending: Vec<Change>,
    undo: Vec<(ResourceKind, Undo)>,
    /// Made when first asked for; follows from the settings.
    capabilities: OnceLock<Bytes>,
}

/// A line of the store's own history: which version of what came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) kind: ResourceKind,
    pub(crate) row: Row,
    pub(crate) version: u32,
}

/// A moment that the state can return to while a request is being carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Savepoint {
    changes: usize,
    drawn: u64,
}

impl State {
    /// A new store on a base. Costs the same for every size of base.
    pub fn branch(base: Arc<Base>, settings: Arc<Settings>, seed: Seed) -> Self {
        Self {
            base,
            settings,
            ids: IdSequence::new(seed),
            kinds: (0..ResourceKind::count()).map(|_| None).collect(),
            log: Vec::new(),
            pending: Vec::new(),
            undo: Vec::new(),
            capabilities: OnceLock::new(),
        }
    }

    /// The configuration.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The base.
    pub fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// How many ids were drawn so far.
    pub fn drawn(&self) -> u64 {
        self.ids.drawn()
    }

    /// How many resources exist.
    pub fn resource_count(&self) -> usize {
        ResourceKind::all()
            .map(|kind| self.view(kind).live_count())
            .sum()
    }

    /// The bodies of everything of one type that is or was here: the newest version that has one.
    pub fn bodies(&self, kind: ResourceKind) -> impl Iterator<Item = &Bytes> {
        let view = self.view(kind);
        (0..view.row_end()).filter_map(move |row| {
            let versions = view.versions(row).iter().rev();
            versions
                .into_iter()
                .find_map(|version| version.body.as_ref())
        })
    }

    /// The bodies of everything whose `meta` says how confidential it is.
    pub fn bodies_with_security_labels(&self) -> impl Iterator<Item = &Bytes> {
        let bodies = ResourceKind::all().flat_map(|kind| self.bodies(kind));
        bodies.filter(|body| {
            let text = std::str::from_utf8(body).unwrap_or_default();
            text.contains("\"security\":[")
        })
    }

    /// The CapabilityStatement, made by `make` when it is not there yet.
    pub(crate) fn capability_bytes(&self, make: impl FnOnce() -> Bytes) -> Bytes {
        self.capabilities.get_or_init(make).clone()
    }

    /// Everything of one type.
    pub(crate) fn view(&self, kind: ResourceKind) -> KindView<'_> {
        KindView {
            kind,
            base: self.base.kind(kind),
            overlay: self.kinds[kind.index()].as_deref(),
        }
    }

    /// A version, if it was ever made here.
    pub(crate) fn version(&self, name: &VersionName) -> Option<&Version> {
        let view = self.view(name.kind);
        let versions = view.versions(view.row_of(&name.id)?);
        versions
            .iter()
            .find(|version| version.number == name.version)
    }

    /// When the last change of this playground was made; the beginning of time before the first.
    pub(crate) fn latest(&self) -> Timestamp {
        let last = self.log.last().map(|logged| {
            let versions = self.view(logged.kind).versions(logged.row);
            versions
                .last()
                .map_or(i64::MIN, |version| version.at.as_millis())
        });
        Timestamp::from_millis(last.unwrap_or(i64::MIN))
    }

    /// What happened in this playground, oldest first.
    pub(crate) fn log(&self) -> &[Logged] {
        &self.log
    }

    /// An id that no resource of the type has.
    pub(crate) fn draw_id(&mut self, kind: ResourceKind) -> String {
        loop {
            let id = self.ids.draw();
            if self.view(kind).row_of(&id).is_none() {
                return id;
            }
        }
    }

    /// Stores the next version of `kind/id`.
    pub(crate) fn put(
        &mut self,
        id: &str,
        verb: Verb,
        at: Timestamp,
        mut resource: Resource,
    ) -> Answer<Row> {
        let kind = resource.kind();
        let number = self.next_number(kind, id);
        let body = resource.stamp(id, number, at)?;
        let version = Version {
            number,
            verb,
            at,
            body: Some(body),
        };
        Ok(self.write(kind, id, version, Some(resource.value())))
    }

    /// Stores that `kind/id` is deleted.
    pub(crate) fn delete(&mut self, kind: ResourceKind, id: &str, at: Timestamp) -> Row {
        let version = Version {
            number: self.next_number(kind, id),
            verb: Verb::Delete,
            at,
            body: None,
        };
        self.write(kind, id, version, None)
    }

    fn next_number(&self, kind: ResourceKind, id: &str) -> u32 {
        let view = self.view(kind);
        view.row_of(id).map_or(1, |row| view.newest(row).number + 1)
    }

    fn write(
        &mut self,
        kind: ResourceKind,
        id: &str,
        version: Version,
        value: Option<&Value>,
    ) -> Row {
        let values = value.map(keys_of).unwrap_or_default();
        self.pending.push(Change {
            kind,
            id: id.into(),
            version: version.clone(),
        });
        let number = version.number;
        let base = self.base.kind(kind);
        let overlay =
            self.kinds[kind.index()].get_or_insert_with(|| Box::new(OverlayKind::over(base)));
        let undo = overlay.write(base, id, version, values);
        let row = undo.row();
        self.undo.push((kind, undo));
        self.log.push(Logged {
            kind,
            row,
            version: number,
        });
        row
    }

    /// A moment to return to with [`State::roll_back`].
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint {
            changes: self.pending.len(),
            drawn: self.ids.drawn(),
        }
    }

    /// Takes back everything since `savepoint`.
    pub(crate) fn roll_back(&mut self, savepoint: Savepoint) {
        while self.undo.len() > savepoint.changes {
            let Some((kind, undo)) = self.undo.pop() else {
                break;
            };
            self.log.pop();
            self.pending.pop();
            let overlay = &mut self.kinds[kind.index()];
            if let Some(written) = overlay {
                written.undo(undo);
                if written.is_empty() {
                    *overlay = None;
                }
            }
        }
        self.ids.resume_at(savepoint.drawn);
    }

    /// Ends a request: its changes can no longer be taken back.
    pub(crate) fn commit(&mut self) -> Vec<Change> {
        self.undo.clear();
        std::mem::take(&mut self.pending)
    }

    /// Repeats changes that were made before, as the journal tells them.
    pub fn replay(&mut self, changes: &[Change], drawn: u64) -> Answer<()> {
        for change in changes {
            let value = match &change.version.body {
                Some(body) => Some(super::resource::parse_json(body)?),
                None => None,
            };
            self.write(
                change.kind,
                &change.id,
                change.version.clone(),
                value.as_ref(),
            );
        }
        self.ids.resume_at(drawn);
        self.commit();
        Ok(())
    }

    /// A hash of everything that the store would answer from: base, versions, history, ids.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.base.digest());
        hash.update(self.ids.drawn().to_be_bytes());
        for logged in &self.log {
            let view = self.view(logged.kind);
            let versions = view.versions(logged.row);
            let version = versions
                .iter()
                .find(|version| version.number == logged.version);
            hash.update(logged.kind.name());
            hash.update(logged.row.to_be_bytes());
            hash.update(view.id(logged.row).as_bytes());
            if let Some(version) = version {
                hash.update(version.number.to_be_bytes());
                hash.update(version.at.as_millis().to_be_bytes());
                hash.update(version.verb.as_str());
                hash.update(version.body.as_deref().unwrap_or_default());
            }
        }
        hash.finalize().into()
    }
}

/// Two stores are equal when they would answer every request alike.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.base.digest() == other.base.digest()
            && self.ids == other.ids
            && self.kinds == other.kinds
            && self.log == other.log
    }
}
