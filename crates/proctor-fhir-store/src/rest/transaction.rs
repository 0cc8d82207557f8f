//! Transactions: all entries or none, in the order DELETE, POST, PUT and PATCH, GET.

use hashbrown::HashSet;
use serde_json::Value;

use super::{
    Request, Response,
    bundle::{Answered, bundle_response},
    conditional::Found,
    entries::Entry,
    route::Route,
};
use crate::{
    kind::ResourceKind,
    outcome::{Answer, IssueCode, Refusal},
    references::{Link, ReferenceMap, visit_links},
    resource::Verb,
    state::State,
};

/// When an entry's turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Delete,
    Create,
    Change,
    Read,
}

impl Turn {
    fn of(route: &Route) -> Self {
        match route {
            Route::Delete(..) | Route::ConditionalDelete(_) => Self::Delete,
            Route::Create(_) | Route::Bundle => Self::Create,
            Route::Update(..)
            | Route::ConditionalUpdate(_)
            | Route::Patch(..)
            | Route::ConditionalPatch(_) => Self::Change,
            Route::Capabilities
            | Route::Read(..)
            | Route::VersionRead(..)
            | Route::InstanceHistory(..)
            | Route::TypeHistory(_)
            | Route::SystemHistory
            | Route::Search(_)
            | Route::SearchAll
            | Route::SearchCompartment { .. }
            | Route::Everything(_)
            | Route::Validate(..) => Self::Read,
        }
    }
}

/// What will become of an entry that stores a resource, settled before anything is stored so that
/// references to it can be written.
#[derive(Clone, Debug)]
enum Fate {
    /// Carried out as it stands.
    AsAsked,
    /// Stored under an id drawn for it.
    NewId(String),
    /// Written over the resource that its criteria found.
    Over(String),
    /// Already there: `ifNoneExist` found it.
    Exists,
}

impl State {
    /// Carries out all entries, or refuses and leaves the caller to roll back.
    pub(super) fn transaction(
        &mut self,
        values: Vec<Value>,
        request: &Request,
    ) -> Answer<Response> {
        let base_url = self.settings().base_url.clone();
        let mut entries = Vec::with_capacity(values.len());
        for (place, mut value) in values.into_iter().enumerate() {
            let entry = Entry::parse(place, &mut value, request, &base_url);
            entries.push(entry.map_err(|refusal| refusal.within(&Entry::name(place)))?);
        }
        refuse_repeated_full_urls(&entries)?;
        let mut answers: Vec<Option<Answered>> = entries.iter().map(|_| None).collect();
        let mut touched = HashSet::new();

        entries.sort_by_key(|entry| Turn::of(&entry.route));
        let first_other = entries.partition_point(|entry| Turn::of(&entry.route) == Turn::Delete);
        let others = entries.split_off(first_other);
        for entry in entries {
            let place = entry.place;
            let answer = self
                .delete_entry(entry, &mut touched)
                .map_err(|refusal| refusal.within(&Entry::name(place)))?;
            answers[place] = Some(answer);
        }

        let mut references = ReferenceMap::default();
        let mut settled = Vec::with_capacity(others.len());
        for entry in others {
            let name = Entry::name(entry.place);
            let fate = self
                .settle(&entry, &mut references, &mut touched)
                .map_err(|refusal| refusal.within(&name))?;
            settled.push((entry, fate));
        }
        for (mut entry, fate) in settled {
            let place = entry.place;
            self.rewrite_references(&mut entry, &references)
                .and_then(|()| self.perform_settled(entry, fate))
                .map(|answer| answers[place] = Some(answer))
                .map_err(|refusal| refusal.within(&Entry::name(place)))?;
        }
        let answers: Vec<Answered> = answers.into_iter().flatten().collect();
        Ok(bundle_response("transaction-response", &answers, request))
    }

    fn delete_entry(&mut self, entry: Entry, touched: &mut Touched) -> Answer<Answered> {
        match &entry.route {
            Route::Delete(kind, id) => touch(touched, *kind, id)?,
            Route::ConditionalDelete(kind) => {
                if let Found::One(row) =
                    self.find_one(*kind, &entry.request.query, entry.request.at)?
                {
                    let id = self.view(*kind).id(row).clone();
                    touch(touched, *kind, &id)?;
                }
            }
            _ => {}
        }
        Ok(Answered {
            response: self.perform_entry(entry)?,
            is_read: false,
        })
    }

    /// Decides where an entry's resource will be stored.
    fn settle(
        &mut self,
        entry: &Entry,
        references: &mut ReferenceMap,
        touched: &mut Touched,
    ) -> Answer<Fate> {
        let (kind, id, fate) = match &entry.route {
            Route::Create(kind) => match &entry.request.headers.if_none_exist {
                Some(criteria) => match self.find_one(*kind, criteria, entry.request.at)? {
                    Found::One(row) => (*kind, self.view(*kind).id(row).to_string(), Fate::Exists),
                    Found::None => {
                        let id = self.draw_id(*kind);
                        (*kind, id.clone(), Fate::NewId(id))
                    }
                },
                None => {
                    let id = self.draw_id(*kind);
                    (*kind, id.clone(), Fate::NewId(id))
                }
            },
            Route::ConditionalUpdate(kind) => {
                match self.find_one(*kind, &entry.request.query, entry.request.at)? {
                    Found::One(row) => {
                        let id = self.view(*kind).id(row).to_string();
                        (*kind, id.clone(), Fate::Over(id))
                    }
                    Found::None => {
                        let own = match &entry.resource {
                            Some(resource) => resource.id()?.map(str::to_owned),
                            None => None,
                        };
                        let id = own.unwrap_or_else(|| self.draw_id(*kind));
                        (*kind, id.clone(), Fate::NewId(id))
                    }
                }
            }
            Route::Update(kind, id) => (*kind, id.clone(), Fate::AsAsked),
            Route::Patch(kind, id) => {
                touch(touched, *kind, id)?;
                return Ok(Fate::AsAsked);
            }
            _ => return Ok(Fate::AsAsked),
        };
        if !matches!(fate, Fate::Exists) {
            touch(touched, kind, &id)?;
        }
        if let Some(full_url) = &entry.full_url {
            references.insert(full_url, kind, &id);
        }
        Ok(fate)
    }

    /// Makes the references of an entry's resource point at what will be stored.
    fn rewrite_references(&self, entry: &mut Entry, references: &ReferenceMap) -> Answer<()> {
        let at = entry.request.at;
        let Some(resource) = &mut entry.resource else {
            return Ok(());
        };
        references.rewrite(resource.value_mut());
        let mut problem = None;
        visit_links(resource.value_mut(), &mut |link, text| {
            if link != Link::Reference || problem.is_some() {
                return;
            }
            if text.starts_with("urn:uuid:") || text.starts_with("urn:oid:") {
                problem = Some(Refusal::bad_request(
                    IssueCode::NotFound,
                    format!("the reference '{text}' is the fullUrl of no entry"),
                ));
            } else if let Some((name, criteria)) = text.split_once('?')
                && let Some(kind) = ResourceKind::named(name)
            {
                match self.find_one(kind, criteria, at) {
                    Ok(Found::One(row)) => *text = format!("{kind}/{}", self.view(kind).id(row)),
                    Ok(Found::None) => {
                        problem = Some(Refusal::precondition_failed(
                            IssueCode::NotFound,
                            format!("the reference '{text}' matches nothing"),
                        ));
                    }
                    Err(refusal) => problem = Some(refusal),
                }
            }
        });
        problem.map_or(Ok(()), Err)
    }

    fn perform_settled(&mut self, mut entry: Entry, fate: Fate) -> Answer<Answered> {
        let is_read = entry.route.is_read_only();
        let response = match fate {
            Fate::AsAsked => self.perform_entry(entry)?,
            Fate::Exists => {
                let resource = entry.take_resource()?;
                let condition = entry.request.headers.if_none_exist.clone();
                let kind = resource.kind();
                let at = entry.request.at;
                let written = self.create_resource(kind, resource, condition.as_deref(), at)?;
                self.written(written, &entry.request)
            }
            Fate::NewId(id) => {
                let resource = entry.take_resource()?;
                let preferences = entry.request.headers.preferences();
                if let Route::Create(kind) | Route::ConditionalUpdate(kind) = &entry.route {
                    resource.expect_kind(*kind)?;
                }
                self.check_valid(&resource, preferences)?;
                let at = entry.request.at;
                let written =
                    self.store(&id, Verb::Post, resource, super::write::Done::Created, at)?;
                self.written(written, &entry.request)
            }
            Fate::Over(id) => {
                let mut resource = entry.take_resource()?;
                let kind = resource.kind();
                if resource.id()?.is_none()
                    && let Some(map) = resource.value_mut().as_object_mut()
                {
                    map.insert("id".to_owned(), id.as_str().into());
                }
                self.check_valid(&resource, entry.request.headers.preferences())?;
                let if_match = entry.request.headers.if_match.clone();
                let at = entry.request.at;
                let written = self.update_resource(kind, &id, resource, if_match.as_deref(), at)?;
                self.written(written, &entry.request)
            }
        };
        Ok(Answered { response, is_read })
    }
}

type Touched = HashSet<(ResourceKind, String)>;

/// Notes that an entry writes `kind/id`; two entries must not write the same resource.
fn touch(touched: &mut Touched, kind: ResourceKind, id: &str) -> Answer<()> {
    if touched.insert((kind, id.to_owned())) {
        return Ok(());
    }
    Err(Refusal::bad_request(
        IssueCode::Invariant,
        format!("{kind}/{id} is written by another entry of the same transaction"),
    ))
}

fn refuse_repeated_full_urls(entries: &[Entry]) -> Answer<()> {
    let mut seen = HashSet::new();
    for entry in entries {
        if let Some(full_url) = entry.full_url.as_deref().filter(|url| !url.is_empty())
            && !seen.insert(full_url)
        {
            return Err(Refusal::bad_request(
                IssueCode::Duplicate,
                format!("the fullUrl '{full_url}' is there twice"),
            )
            .at(&format!("{}.fullUrl", Entry::name(entry.place))));
        }
    }
    Ok(())
}
