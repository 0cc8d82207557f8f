//! The seeded base: resources and their indexes, made once, shared by every playground on it.
//!
//! A base never changes after [`BaseBuilder::finish`]. Playgrounds hold it behind an `Arc` and keep
//! their own changes apart, so branching costs nothing that grows with the base.

use std::{fmt, sync::Arc};

use hashbrown::HashMap;
use proctor_core::time::Timestamp;
use proctor_fhir::definitions::ParameterId;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    index::{
        Row,
        frozen::{ColumnBuilder, FrozenColumn},
        keys_of,
    },
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal},
    references::ReferenceMap,
    resource::{Resource, Verb, Version, check_id},
    seed::{IdSequence, Seed},
};

/// Resources and indexes that many playgrounds start from.
pub struct Base {
    kinds: Vec<Option<BaseKind>>,
    order: Vec<(ResourceKind, Row)>,
    digest: [u8; 32],
}

impl Base {
    /// A base without resources.
    pub fn empty() -> Arc<Self> {
        Arc::new(BaseBuilder::new(Seed::from_number(0), Timestamp::from_millis(0)).finish())
    }

    /// How many resources it has.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it has no resources.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// A hash of every resource in the order of loading.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Bytes of memory that the index arrays take.
    pub fn index_bytes(&self) -> usize {
        let columns = self
            .kinds
            .iter()
            .flatten()
            .flat_map(|kind| kind.columns.values());
        columns.map(FrozenColumn::array_bytes).sum()
    }

    pub(crate) fn kind(&self, kind: ResourceKind) -> Option<&BaseKind> {
        self.kinds[kind.index()].as_ref()
    }

    /// Every resource in the order of loading.
    pub(crate) fn order(&self) -> &[(ResourceKind, Row)] {
        &self.order
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base({} resources)", self.len())
    }
}

/// The part of a base that is of one type.
pub(crate) struct BaseKind {
    pub(crate) ids: Vec<Arc<str>>,
    by_id: HashMap<Arc<str>, Row>,
    pub(crate) versions: Vec<Version>,
    columns: HashMap<ParameterId, FrozenColumn>,
}

impl BaseKind {
    pub(crate) fn row_of(&self, id: &str) -> Option<Row> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn column(&self, parameter: ParameterId) -> Option<&FrozenColumn> {
        self.columns.get(&parameter)
    }

    pub(crate) fn row_count(&self) -> Row {
        Row::try_from(self.ids.len()).expect("a type has fewer than 2^32 rows")
    }
}

/// Collects the resources of a base.
pub struct BaseBuilder {
    ids: IdSequence,
    at: Timestamp,
    kinds: Vec<Option<KindBuilder>>,
    order: Vec<(ResourceKind, Row)>,
    hash: Sha256,
}

#[derive(Default)]
struct KindBuilder {
    ids: Vec<Arc<str>>,
    by_id: HashMap<Arc<str>, Row>,
    versions: Vec<Version>,
    columns: HashMap<ParameterId, ColumnBuilder>,
}

impl BaseBuilder {
    /// A base whose resources were all last updated at `at`; ids that are missing come from `seed`.
    pub fn new(seed: Seed, at: Timestamp) -> Self {
        Self {
            ids: IdSequence::new(seed),
            at,
            kinds: (0..ResourceKind::count()).map(|_| None).collect(),
            order: Vec::new(),
            hash: Sha256::new(),
        }
    }

    /// Adds what a file holds: a resource, or a bundle of them (any but a document or a message
    /// is taken apart; references between its entries are made to fit).
    pub fn load(&mut self, value: Value) -> Answer<()> {
        let resource = Resource::from_value(value)?;
        let kind = resource.value().get("type").and_then(Value::as_str);
        let apart = resource.kind().name() == "Bundle"
            && !matches!(kind, Some("document" | "message") | None);
        if apart {
            self.load_entries(resource)
        } else {
            self.add(resource)
        }
    }

    /// Adds a resource as it is; a bundle stays a bundle.
    pub fn load_one(&mut self, value: Value) -> Answer<()> {
        self.add(Resource::from_value(value)?)
    }

    fn load_entries(&mut self, mut bundle: Resource) -> Answer<()> {
        let Some(Value::Array(entries)) = bundle.value_mut().get_mut("entry").map(Value::take)
        else {
            return Ok(());
        };
        let mut references = ReferenceMap::default();
        let mut resources = Vec::with_capacity(entries.len());
        for (place, mut entry) in entries.into_iter().enumerate() {
            let Some(value) = entry.get_mut("resource").map(Value::take) else {
                continue;
            };
            let within = |refusal: Box<Refusal>| refusal.within(&format!("Bundle.entry[{place}]"));
            let mut resource = Resource::from_value(value).map_err(within)?;
            let id = match resource.id().map_err(within)? {
                Some(id) => id.to_owned(),
                None => self.ids.draw(),
            };
            if let Some(full_url) = entry.get("fullUrl").and_then(Value::as_str) {
                references.insert(full_url, resource.kind(), &id);
            }
            if let Value::Object(map) = resource.value_mut() {
                map.insert("id".to_owned(), id.into());
            }
            resources.push((place, resource));
        }
        for (place, mut resource) in resources {
            references.rewrite(resource.value_mut());
            self.add(resource)
                .map_err(|refusal| refusal.within(&format!("Bundle.entry[{place}]")))?;
        }
        Ok(())
    }

    /// Adds a resource, under its own id if it has one.
    pub fn add(&mut self, mut resource: Resource) -> Answer<()> {
        let kind = resource.kind();
        let id: Arc<str> = match resource.id()? {
            Some(id) => id.into(),
            None => self.ids.draw().into(),
        };
        check_id(kind, &id)?;
        let body = resource.stamp(&id, 1, self.at)?;
        let part = self.kinds[kind.index()].get_or_insert_default();
        let row = Row::try_from(part.ids.len()).expect("a type has fewer than 2^32 rows");
        if part.by_id.contains_key(&id) {
            return Err(Refusal::new(
                http::StatusCode::CONFLICT,
                Issue::error(IssueCode::Duplicate, format!("{kind}/{id} is there twice")),
            ));
        }
        for (parameter, value) in keys_of(resource.value()) {
            part.columns.entry(parameter).or_default().add(value, row);
        }
        self.hash.update(&body);
        part.by_id.insert(id.clone(), row);
        part.ids.push(id);
        part.versions.push(Version {
            number: 1,
            verb: Verb::Put,
            at: self.at,
            body: Some(body),
        });
        self.order.push((kind, row));
        Ok(())
    }

    /// The finished base.
    pub fn finish(self) -> Base {
        Base {
            kinds: self
                .kinds
                .into_iter()
                .map(|part| part.map(KindBuilder::finish))
                .collect(),
            order: self.order,
            digest: self.hash.finalize().into(),
        }
    }
}

impl KindBuilder {
    fn finish(self) -> BaseKind {
        let count = self.ids.len();
        BaseKind {
            ids: self.ids,
            by_id: self.by_id,
            versions: self.versions,
            columns: self
                .columns
                .into_iter()
                .map(|(parameter, column)| (parameter, column.freeze(count)))
                .collect(),
        }
    }
}
