//! The state of one playground's desk, what can happen to it, and what it can be asked.

use std::{collections::BTreeMap, sync::Arc};

use proctor_core::time::Timestamp;
use proctor_fhir_store::State;
use proctor_simulation::seed::Seed;
use proctor_x12::build::ControlNumbers;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    blueprint::Blueprint,
    claims::ReceivedClaim,
    clearinghouse::chart,
    prior_auth::PriorAuth,
    records::{Enrolled, PatientLink, Provider, fold},
    rules::{ActionKind, Outcome, Seen},
    shelf::Shelf,
    skin::Question,
};
use crate::{
    X12Response,
    x12::{Claim, Member, Payer},
};

/// A payer's desk: members, requests, and everything that was answered.
#[derive(Debug, PartialEq)]
pub struct PayerDesk {
    pub(super) blueprint: Arc<Blueprint>,
    pub(super) seed: Seed,
    pub(super) members: Shelf<Member>,
    pub(super) links: Shelf<PatientLink>,
    pub(super) providers: Shelf<Provider>,
    pub(super) claims: Shelf<Claim>,
    /// Claims that came through the clearinghouse, oldest first.
    pub(super) received: Vec<ReceivedClaim>,
    /// Oldest first.
    pub(super) requests: Vec<PriorAuth>,
    /// How many requests there ever were: new ones are named by it.
    pub(super) made: u64,
    /// Rows that a scenario brought, by the name of their resource.
    pub(super) rows: BTreeMap<String, Vec<FreeRow>>,
    /// X12 that was sent to the agent, or will be: remittances have later times.
    pub(super) answered: Vec<X12Response>,
    pub(super) numbers: ControlNumbers,
}

/// A row of some resource that only scenarios and checks know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeRow {
    /// What names it.
    pub key: String,
    /// Its fields.
    pub fields: Value,
    /// When it was put in.
    pub at: Timestamp,
}

/// One thing that can happen at the desk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Somebody becomes a member, or a member's record is replaced.
    Enroll(Enrolled),
    /// A member's record goes.
    Disenroll {
        /// Whose.
        member_id: String,
    },
    /// A provider's record comes or is replaced.
    ListProvider(Provider),
    /// A provider's record goes.
    UnlistProvider {
        /// Whose.
        npi: String,
    },
    /// A claim comes or is replaced.
    ReceiveClaim(Claim),
    /// A claim was sent in and taken, or changed.
    Claimed(Box<ReceivedClaim>),
    /// A claim goes.
    DropClaim {
        /// Which.
        claim_id: String,
    },
    /// A request comes or is replaced.
    Request(Box<PriorAuth>),
    /// A draft is thrown away.
    Discard {
        /// Which.
        request_id: String,
    },
    /// A row of another resource comes or is replaced.
    Row {
        /// The resource.
        resource: String,
        /// The row.
        row: FreeRow,
    },
    /// X12 is sent to the agent.
    Answer {
        /// What, in order.
        responses: Vec<X12Response>,
        /// The control numbers after it.
        numbers: ControlNumbers,
    },
}

impl PayerDesk {
    /// A new desk. Costs the same whatever the blueprint holds.
    pub fn branch(blueprint: Arc<Blueprint>, seed: Seed) -> Self {
        let start = seed.derive("x12 control numbers", 0);
        Self {
            members: Shelf::of(blueprint.members.clone()),
            links: Shelf::of(blueprint.links.clone()),
            providers: Shelf::of(blueprint.providers.clone()),
            claims: Shelf::of(blueprint.claims.clone()),
            received: Vec::new(),
            blueprint,
            seed,
            requests: Vec::new(),
            made: 0,
            rows: BTreeMap::new(),
            answered: Vec::new(),
            numbers: ControlNumbers::from_seed(first_number(&start)),
        }
    }

    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Enroll(one) => {
                match one.link() {
                    Some(link) => self.links.put(link),
                    None => self.links.remove(&fold(&one.member.member_id)),
                }
                self.members.put(one.member);
            }
            Change::Disenroll { member_id } => {
                self.links.remove(&fold(&member_id));
                self.members.remove(&fold(&member_id));
            }
            Change::ListProvider(provider) => self.providers.put(provider),
            Change::UnlistProvider { npi } => self.providers.remove(&fold(&npi)),
            Change::ReceiveClaim(claim) => self.claims.put(claim),
            Change::Claimed(claim) => {
                let id = &claim.decided.claim_id;
                match self
                    .received
                    .iter_mut()
                    .find(|one| one.decided.claim_id == *id)
                {
                    Some(one) => *one = *claim,
                    None => self.received.push(*claim),
                }
            }
            Change::DropClaim { claim_id } => self.claims.remove(&fold(&claim_id)),
            Change::Request(request) => {
                let id = &request.request_id;
                match self.requests.iter_mut().find(|one| one.request_id == *id) {
                    Some(one) => *one = *request,
                    None => {
                        self.made += 1;
                        self.requests.push(*request);
                    }
                }
            }
            Change::Discard { request_id } => {
                self.requests.retain(|one| one.request_id != request_id);
            }
            Change::Row { resource, row } => {
                let rows = self.rows.entry(resource).or_default();
                match rows.iter_mut().find(|one| one.key == row.key) {
                    Some(one) => *one = row,
                    None => rows.push(row),
                }
            }
            Change::Answer { responses, numbers } => {
                self.answered.extend(responses);
                self.numbers = numbers;
            }
        }
    }

    /// The X12 that was sent by now, oldest first.
    pub(super) fn sent(&self, now: Timestamp) -> Vec<&X12Response> {
        let mut sent: Vec<_> = self.answered.iter().filter(|one| one.at <= now).collect();
        sent.sort_by_key(|one| one.at);
        sent
    }

    pub(super) fn payer(&self) -> &Payer {
        &self.blueprint.payer
    }

    pub(super) fn questions(&self) -> &[Question] {
        &self.blueprint.questions
    }

    /// The id of a new request, `ahead` further ones being decided with it.
    pub(super) fn new_request_id(&self, ahead: u64) -> String {
        let id = self.seed.short_id("prior auth request", self.made + ahead);
        format!("pa_{id}")
    }

    /// The number that a request gets when it is sent.
    pub(super) fn auth_number(&self, request_id: &str) -> String {
        let bytes = self.seed.derive(&format!("auth number of {request_id}"), 0);
        format!("A{:09}", first_number(&bytes) % 1_000_000_000)
    }

    /// Sends a request: the rules say what is decided, whatever the channel. The payer looks into the chart if there is one.
    pub(super) fn submit(&self, request: &mut PriorAuth, chart: Option<&State>, now: Timestamp) {
        let outcome = self.decided(request, chart, now);
        let number = self.auth_number(&request.request_id);
        request.submit(number, outcome, now);
    }

    /// What the rules say of a request as it is.
    pub(super) fn decided(
        &self,
        request: &PriorAuth,
        chart: Option<&State>,
        now: Timestamp,
    ) -> Outcome {
        self.with_seen(request, chart, now, |member, codes, seen| {
            self.blueprint.rules.decide(member, codes, seen)
        })
    }

    /// What the rules say when something comes in after the decision.
    pub(super) fn reconsidered(
        &self,
        on: ActionKind,
        request: &PriorAuth,
        chart: Option<&State>,
        now: Timestamp,
    ) -> Option<Outcome> {
        self.with_seen(request, chart, now, |member, codes, seen| {
            self.blueprint.rules.reconsider(on, member, codes, seen)
        })
    }

    /// Shows what the payer has seen of a request.
    fn with_seen<T>(
        &self,
        request: &PriorAuth,
        chart: Option<&State>,
        now: Timestamp,
        look: impl FnOnce(&str, &[&str], &Seen<'_>) -> T,
    ) -> T {
        let member = request.patient_member_id.as_deref().unwrap_or_default();
        let patient = self.patient_of(member);
        let of_chart = |kind: &str| match (chart, patient) {
            (Some(chart), Some(patient)) => chart::of_patient(chart, kind, patient, now),
            _ => Vec::new(),
        };
        let documents: Vec<String> = request
            .attachments
            .iter()
            .flat_map(|one| chart::document_texts(one, chart, now))
            .collect();
        let written = request.clinical_notes.iter();
        let later = request.actions.iter().filter_map(|one| one.text.as_ref());
        let notes: Vec<String> = written.chain(later).cloned().collect();
        let seen = Seen {
            answers: &request.clinical_answers,
            documents: &documents,
            notes: &notes,
            diagnosis_codes: &request.diagnosis_codes,
            chart: &of_chart,
        };
        look(member, &request.procedure_codes(), &seen)
    }

    /// The control numbers of the next interchange that the clearinghouse sends for a provider.
    pub(super) fn sender_numbers(&self) -> ControlNumbers {
        let number = u64::try_from(self.answered.len()).unwrap_or(u64::MAX);
        let start = self.seed.derive("x12 control numbers of senders", number);
        ControlNumbers::from_seed(first_number(&start))
    }

    /// The request with this id or number.
    pub(super) fn request(&self, name: &str) -> Option<&PriorAuth> {
        self.requests.iter().find(|one| one.is_called(name))
    }

    /// Rows of a resource that a scenario brought.
    pub(super) fn rows_of(&self, resource: &str) -> &[FreeRow] {
        self.rows.get(resource).map_or(&[], Vec::as_slice)
    }

    /// Whether anybody is known to be a member.
    pub(super) fn has_members(&self) -> bool {
        !self.members.is_empty()
            || self
                .rows_of("patients")
                .iter()
                .any(|row| row.has("member_id"))
    }

    /// The id of a member as it is on file.
    pub(super) fn member_id_on_file(&self, id: &str) -> Option<String> {
        let key = fold(id);
        if let Some(member) = self.members.get(&key) {
            return Some(member.member_id.clone());
        }
        let ids = self.rows_of("patients").iter();
        let mut ids = ids.filter_map(|row| row.text("member_id"));
        ids.find(|one| fold(one) == key).map(str::to_owned)
    }

    /// The id of the patient that a member is.
    pub(super) fn patient_of(&self, member_id: &str) -> Option<&str> {
        let link = self.links.get(&fold(member_id))?;
        Some(&link.patient_id)
    }

    /// The user name of the portal's one account.
    pub(super) fn username(&self) -> String {
        let chosen = self.blueprint.username.clone();
        chosen.unwrap_or_else(|| format!("clinic-{}", &self.seed.short_id("portal user", 0)[..6]))
    }

    /// The password of the portal's one account.
    pub(super) fn password(&self) -> String {
        let chosen = self.blueprint.password.clone();
        chosen.unwrap_or_else(|| self.seed.short_id("portal password", 0))
    }
}

impl FreeRow {
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    fn has(&self, field: &str) -> bool {
        self.text(field).is_some()
    }
}

fn first_number(bytes: &[u8; 32]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&bytes[..8]);
    u64::from_be_bytes(first)
}
