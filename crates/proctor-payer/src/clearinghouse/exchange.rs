//! One exchange with the payer: an interchange in, its answers and the rows they made out.

use proctor_core::time::Timestamp;
use proctor_fhir_store::State;
use proctor_simulation::simulator::Around;
use proctor_x12::{build::ControlNumbers, error::ReadError, interchange::Document};
use serde_json::json;

use crate::{
    X12Response,
    claims::{Adjudicator, ReceivedClaim},
    desk::PayerDesk,
    intake,
    prior_auth::{Channel, PriorAuth, Status},
    records::fold,
    x12::{
        Determination, Determine, ReviewRequest,
        exchange::{self, Deciders, Knowledge},
    },
};

/// What came of an exchange.
pub(super) struct Exchanged {
    /// The answers, in order; remittances may have later times.
    pub(super) responses: Vec<X12Response>,
    /// Requests for prior authorization that were made.
    pub(super) requests: Vec<PriorAuth>,
    /// Claims that were taken, and those that they replace.
    pub(super) claims: Vec<ReceivedClaim>,
    /// The id of every request that a 278 was about, in order.
    pub(super) about: Vec<String>,
    /// The control numbers after it.
    pub(super) numbers: ControlNumbers,
}

impl Exchanged {
    /// What is answered now.
    pub(super) fn sent(&self, now: Timestamp) -> impl Iterator<Item = &X12Response> {
        self.responses.iter().filter(move |one| one.at <= now)
    }
}

/// Has the payer answer an input. A 278 that asks again is answered from the request `asked_for`
/// names, where it fits.
pub(super) fn exchange(
    desk: &PayerDesk,
    input: &[u8],
    asked_for: Option<&str>,
    around: &Around<'_>,
) -> Result<Exchanged, ReadError> {
    let now = around.now;
    let members = desk.members.slice();
    let claims = desk.claims_as_of(now);
    let knowledge = Knowledge {
        payer: desk.payer(),
        members: &members,
        claims: &claims,
    };
    let mut reviewer = Reviewer {
        desk,
        chart: around.shared(),
        now,
        asked_for,
        made: Vec::new(),
        about: Vec::new(),
    };
    let mut adjudicator = Adjudicator::new(desk, now);
    let mut deciders = Deciders {
        determine: &mut reviewer,
        adjudicate: &mut adjudicator,
    };
    let mut numbers = desk.numbers;
    let replies = exchange::answer(
        input,
        knowledge,
        &mut deciders,
        desk.blueprint.acknowledge,
        &mut numbers,
        now,
    )?;
    let responses = replies
        .into_iter()
        .map(|reply| X12Response {
            transaction: reply.set.map_or("TA1", |set| set.name()).to_owned(),
            control_number: control_number(&reply.text),
            raw: reply.text,
            at: reply.at,
        })
        .collect();
    Ok(Exchanged {
        responses,
        requests: reviewer.made,
        claims: adjudicator.received,
        about: reviewer.about,
        numbers,
    })
}

/// ISA13.
fn control_number(text: &str) -> String {
    let document = Document::read(text.as_bytes()).ok();
    let first = document.as_ref().and_then(|one| one.interchanges.first());
    first.map_or("", |one| one.header().text(13)).to_owned()
}

/// Decides about 278s by the desk's rules and rows: the same request again is the same row.
struct Reviewer<'d> {
    desk: &'d PayerDesk,
    chart: Option<&'d State>,
    now: Timestamp,
    asked_for: Option<&'d str>,
    made: Vec<PriorAuth>,
    about: Vec<String>,
}

impl Determine for Reviewer<'_> {
    fn determine(&mut self, request: &ReviewRequest) -> Determination {
        let asked = self.row(request);
        let (id, decided) = match self.known(request, &asked) {
            Some(known) => (known.request_id.clone(), known.determination(self.now)),
            None => {
                let mut row = asked;
                self.desk.submit(&mut row, self.chart, self.now);
                let decided = (row.request_id.clone(), row.determination(self.now));
                self.made.push(row);
                decided
            }
        };
        self.about.push(id);
        decided
    }
}

impl Reviewer<'_> {
    /// The row that a request becomes if there is none for it yet.
    fn row(&self, request: &ReviewRequest) -> PriorAuth {
        let ahead = u64::try_from(self.made.len()).unwrap_or(u64::MAX);
        let mut row = PriorAuth::draft(self.desk.new_request_id(ahead), Channel::X12, self.now);
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let services = request
            .services
            .iter()
            .map(|one| one.procedure_code.as_str());
        let mut codes = services
            .filter(|code| !code.is_empty())
            .map(|code| intake::procedure(code).unwrap_or_else(|_| code.to_owned()));
        row.procedure_code = codes.next();
        row.additional_procedure_codes = codes.collect();
        row.patient_member_id = given(&request.patient_member_id);
        row.provider_npi = given(&request.provider_npi);
        row.diagnosis_codes = request
            .diagnosis_codes
            .iter()
            .map(|code| intake::diagnosis(code).unwrap_or_else(|_| code.clone()))
            .collect();
        row.clinical_notes = request.clinical_notes.clone();
        row.trace_number = given(&request.trace_number);
        let member = self.desk.members.get(&fold(&request.patient_member_id));
        let is_member = member.is_some_and(|member| {
            member.first_name == request.patient_first_name
                && member.birth_date == request.patient_birth_date
        });
        if !is_member {
            row.extra.insert(
                "dependent".to_owned(),
                json!({
                    "first_name": request.patient_first_name,
                    "last_name": request.patient_last_name,
                    "birth_date": request.patient_birth_date,
                }),
            );
        }
        row
    }

    /// The row that there is for a request already: the one that was asked for, the one with the same
    /// trace number, or (for an initial request) the newest that asks for the same.
    fn known(&self, request: &ReviewRequest, asked: &PriorAuth) -> Option<&PriorAuth> {
        let sent = |one: &&PriorAuth| {
            one.status == Status::Submitted
                && same(&one.patient_member_id, &asked.patient_member_id)
        };
        let newest = || {
            self.made
                .iter()
                .rev()
                .chain(self.desk.requests.iter().rev())
        };
        let named = self.asked_for.and_then(|name| {
            let mut all = newest().filter(sent);
            all.find(|one| one.is_called(name) && asks_the_same(one, asked))
        });
        let traced = || {
            let number = asked.trace_number.as_ref()?;
            let mut all = newest().filter(sent);
            all.find(|one| one.trace_number.as_ref() == Some(number) && asks_the_same(one, asked))
        };
        let alike = || {
            let mut all = newest().filter(sent);
            all.find(|one| request.certification_type == "I" && asks_the_same(one, asked))
        };
        named.or_else(traced).or_else(alike)
    }
}

/// Whether two requests ask for the same; one that gives no reasons asks about any.
fn asks_the_same(known: &PriorAuth, asked: &PriorAuth) -> bool {
    let codes = |row: &PriorAuth| {
        let mut all: Vec<String> = row.procedure_codes().into_iter().map(fold).collect();
        all.sort();
        all
    };
    let reasons = |row: &PriorAuth| {
        let mut all: Vec<String> = row.diagnosis_codes.iter().map(|one| fold(one)).collect();
        all.sort();
        all
    };
    same(&known.provider_npi, &asked.provider_npi)
        && codes(known) == codes(asked)
        && (asked.diagnosis_codes.is_empty() || reasons(known) == reasons(asked))
        && known.extra.get("dependent") == asked.extra.get("dependent")
}

fn same(one: &Option<String>, other: &Option<String>) -> bool {
    one.as_deref().map(fold) == other.as_deref().map(fold)
}
