//! What the owner of a playground puts on the desk: members, and rows of any resource.

use std::collections::BTreeSet;

use proctor_core::time::Timestamp;
use proctor_simulation::simulator::{
    Around, Direction, NotProvided, Provided, Provision, Recorded,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    clearinghouse,
    desk::{Change, FreeRow, PayerDesk},
    intake,
    plugin::{PortalSeed, X12Claims, X12Member},
    prior_auth::{Channel, Decision, PriorAuth, Status},
    records::{Roster, read},
    rules::Outcome,
    shelf::Kept,
};

/// The resource that holds requests for prior authorization.
pub(super) const REQUESTS: &str = "prior_auth_requests";

impl PayerDesk {
    pub(super) fn put_in(
        &self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Provided<Change>, NotProvided> {
        let now = around.now;
        let (kind, payload, changes) = match provision {
            Provision::Step(step) => {
                if let Some(X12Member { member }) = step.action() {
                    let one = member.clone();
                    let before = self.members.get(&one.member.key()).cloned();
                    let payload = json!({"before": before, "after": one});
                    ("x12_member", payload, vec![Change::Enroll(one)])
                } else if let Some(PortalSeed { resource, rows }) = step.action() {
                    let changes = self.seed_rows(resource, rows, now)?;
                    let payload = json!({
                        "resource": resource,
                        "rows": self.seeded(resource, &changes, now),
                    });
                    ("portal_seed", payload, changes)
                } else if let Some(X12Claims { claims }) = step.action() {
                    let (changes, payload) =
                        clearinghouse::submit(self, claims, around).map_err(|problems| {
                            let problems: Vec<String> =
                                problems.iter().map(ToString::to_string).collect();
                            NotProvided(problems.join("; "))
                        })?;
                    ("x12_claim", payload, changes)
                } else {
                    return Err(NotProvided::not_mine(provision, "payer"));
                }
            }
            Provision::Load(dataset) => {
                let changes = self.load(Roster::read(dataset)?)?;
                let payload =
                    json!({"dataset_id": dataset.id, "name": dataset.name, "changes": changes});
                ("dataset_loaded", payload, changes)
            }
            Provision::Unload(dataset) => {
                let changes = self.unload(Roster::read(dataset)?);
                let payload =
                    json!({"dataset_id": dataset.id, "name": dataset.name, "changes": changes});
                ("dataset_unloaded", payload, changes)
            }
        };
        let event = Recorded {
            kind,
            direction: Direction::Inbound,
            payload,
        };
        Ok(Provided { event, changes })
    }

    fn load(&self, roster: Roster) -> Result<Vec<Change>, NotProvided> {
        if let Some(other) = roster.payer.filter(|payer| payer != self.payer()) {
            return Err(NotProvided(format!(
                "the data set is of the payer '{}', the desk is of '{}'",
                other.name,
                self.payer().name
            )));
        }
        let members = roster.members.into_iter().map(Change::Enroll);
        let providers = roster.providers.into_iter().map(Change::ListProvider);
        let claims = roster.claims.into_iter().map(Change::ReceiveClaim);
        Ok(members.chain(providers).chain(claims).collect())
    }

    fn unload(&self, roster: Roster) -> Vec<Change> {
        let members = roster.members.into_iter().filter_map(|one| {
            let id = &one.member.member_id;
            let is_same = self.members.get(&one.member.key()) == Some(&one.member)
                && self.patient_of(id) == one.patient_id.as_deref();
            is_same.then_some(Change::Disenroll {
                member_id: one.member.member_id,
            })
        });
        let providers = roster.providers.into_iter().filter_map(|one| {
            let is_same = self.providers.get(&one.key()) == Some(&one);
            is_same.then_some(Change::UnlistProvider { npi: one.npi })
        });
        let claims = roster.claims.into_iter().filter_map(|one| {
            let is_same = self.claims.get(&one.key()) == Some(&one);
            is_same.then_some(Change::DropClaim {
                claim_id: one.claim_id,
            })
        });
        members.chain(providers).chain(claims).collect()
    }

    fn seed_rows(
        &self,
        resource: &str,
        rows: &[Map<String, Value>],
        now: Timestamp,
    ) -> Result<Vec<Change>, NotProvided> {
        if resource.trim().is_empty() {
            return Err(NotProvided("resource: must not be empty".to_owned()));
        }
        let mut changes = Vec::with_capacity(rows.len());
        let mut problems = Vec::new();
        let mut new = BTreeSet::new();
        for (place, row) in rows.iter().enumerate() {
            if resource == REQUESTS {
                let ahead = u64::try_from(new.len()).unwrap_or(u64::MAX);
                match self.seeded_request(row, ahead, now) {
                    Ok(request) => {
                        let id = &request.request_id;
                        if self.requests.iter().all(|one| one.request_id != *id) {
                            new.insert(id.clone());
                        }
                        changes.push(Change::Request(Box::new(request)));
                    }
                    Err(problem) => problems.push(format!("rows[{place}]: {problem}")),
                }
            } else {
                let key = key_of(resource, row).unwrap_or_else(|| self.free_key(resource, &new));
                new.insert(key.clone());
                changes.push(Change::Row {
                    resource: resource.to_owned(),
                    row: FreeRow {
                        key,
                        fields: Value::Object(row.clone()),
                        at: now,
                    },
                });
            }
        }
        match problems.as_slice() {
            [] => Ok(changes),
            _ => Err(NotProvided(problems.join("; "))),
        }
    }

    /// A key that no row of a resource has, nor any of those that come with it.
    fn free_key(&self, resource: &str, coming: &BTreeSet<String>) -> String {
        let rows = self.rows_of(resource);
        let is_free =
            |key: &String| !coming.contains(key) && rows.iter().all(|row| row.key != *key);
        let purpose = format!("row of {resource}");
        (0..)
            .map(|number| self.seed.short_id(&purpose, number))
            .find(is_free)
            .expect("there are more numbers than rows")
    }

    /// A request as a scenario tells it: sent already unless it says otherwise, and decided by the
    /// rules unless it says how.
    fn seeded_request(
        &self,
        row: &Map<String, Value>,
        ahead: u64,
        now: Timestamp,
    ) -> Result<PriorAuth, String> {
        let mut row = row.clone();
        let given: Option<String> = take(&mut row, "request_id")?;
        let id = given.unwrap_or_else(|| self.new_request_id(ahead));
        let mut request = PriorAuth::draft(id, Channel::Portal, now);
        for field in intake::FIELDS {
            if let Some(value) = row.remove(field) {
                intake::fill(&mut request, field, &value, self)
                    .map_err(|problem| format!("{field}: {problem}"))?;
            }
        }
        request.channel = take(&mut row, "channel")?.unwrap_or(Channel::Portal);
        let status = take(&mut row, "status")?.unwrap_or(Status::Submitted);
        let submitted_at: Option<Timestamp> = take(&mut row, "submitted_at")?;
        let number: Option<String> = take(&mut row, "auth_number")?;
        let said: Option<Value> = take(&mut row, "determination")?;
        if status == Status::Submitted {
            let at = submitted_at.unwrap_or(now);
            self.submit(&mut request, None, at);
            request.created_at = at;
            if let Some(said) = said {
                request.decision = Some(seeded_decision(&said, at)?);
            }
            request.auth_number = number.or(request.auth_number);
        }
        request.created_at = take(&mut row, "created_at")?.unwrap_or(request.created_at);
        request.updated_at = take(&mut row, "updated_at")?.unwrap_or(request.updated_at);
        request.extra = row;
        Ok(request)
    }

    /// Before and after of what a step puts in.
    fn seeded(&self, resource: &str, changes: &[Change], now: Timestamp) -> Vec<Value> {
        let rows = changes.iter().filter_map(|change| match change {
            Change::Request(request) => {
                let before = self.request(&request.request_id);
                Some(json!({
                    "before": before.map(|one| one.view(now)),
                    "after": request.view(now),
                }))
            }
            Change::Row { row, .. } => {
                let mut rows = self.rows_of(resource).iter();
                let before = rows.find(|one| one.key == row.key);
                Some(json!({"before": before.map(|one| &one.fields), "after": row.fields}))
            }
            _ => None,
        });
        rows.collect()
    }
}

/// A determination as a scenario tells it: a word, or an object.
fn seeded_decision(said: &Value, submitted_at: Timestamp) -> Result<Decision, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Said {
        status: crate::x12::DeterminationStatus,
        #[serde(default)]
        reason: Option<String>,
        #[serde(default)]
        reason_code: Option<String>,
        #[serde(default)]
        delay_seconds: u64,
        #[serde(default)]
        decided_at: Option<Timestamp>,
    }
    let said = match said {
        Value::String(word) => json!({"status": word}),
        other => other.clone(),
    };
    let said: Said = read(&said).map_err(|problem| format!("determination: {problem}"))?;
    let outcome = Outcome {
        status: said.status,
        reason: said.reason,
        reason_code: said.reason_code,
        delay_seconds: said.delay_seconds,
    };
    let delay = std::time::Duration::from_secs(outcome.delay_seconds);
    let at = said.decided_at.unwrap_or(submitted_at.plus(delay));
    Ok(Decision { outcome, at })
}

/// Takes a field out of a row and reads it; null is as good as absent.
fn take<T: DeserializeOwned>(
    row: &mut Map<String, Value>,
    field: &str,
) -> Result<Option<T>, String> {
    match row.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(&value)
            .map(Some)
            .map_err(|problem| format!("{field}: {problem}")),
    }
}

/// What names a row of a resource: its id by one of the usual names.
fn key_of(resource: &str, row: &Map<String, Value>) -> Option<String> {
    let own = format!("{}_id", resource.strip_suffix('s').unwrap_or(resource));
    let usual: &[&str] = match resource {
        "patients" => &["member_id", "id"],
        "providers" => &["npi", "id"],
        _ => &["id", &own, "request_id"],
    };
    usual.iter().find_map(|name| match row.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
