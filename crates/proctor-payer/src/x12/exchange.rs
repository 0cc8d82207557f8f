//! A clearinghouse's whole answer to an input: TA1, 999 and business responses, in that order.
//!
//! * A broken interchange is answered by a TA1 that rejects it, and by nothing else.
//! * A group with broken syntax is answered by a 999; what it rejects gets no business answer.
//! * What is accepted is answered. A TA1 and a 999 that accept are sent when they are asked for
//!   (ISA14 is 1) or when the clearinghouse always sends them.
//!
//! Acknowledgments are never acknowledged.

use proctor_core::time::Timestamp;
use proctor_x12::{
    acknowledgment,
    build::{ControlNumbers, Envelope},
    envelope::{self, GroupReport, InterchangeNote},
    error::ReadError,
    interchange::{Document, Group, Interchange},
    segment::Segment,
    transaction_set::TransactionSet,
};

use super::{
    Claim, Determine, Member, Payer, claim_status_response,
    claims::{self, Adjudicate},
    eligibility_response, review_response,
};

/// When acknowledgments that accept are sent; those that reject always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acknowledge {
    /// When ISA14 asks for it.
    #[default]
    WhenAsked,
    /// Always.
    Always,
}

/// What a payer answers from.
#[derive(Debug, Clone, Copy)]
pub struct Knowledge<'k> {
    /// The payer.
    pub payer: &'k Payer,
    /// Its members.
    pub members: &'k [Member],
    /// The claims it received.
    pub claims: &'k [Claim],
}

/// One interchange of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What it holds; none for a TA1.
    pub set: Option<TransactionSet>,
    /// The interchange.
    pub text: String,
    /// When it is sent: remittances come later than the answer to their claims.
    pub at: Timestamp,
}

/// Who decides what is not in the data.
pub struct Deciders<'d> {
    /// About requests for review.
    pub determine: &'d mut dyn Determine,
    /// About claims.
    pub adjudicate: &'d mut dyn Adjudicate,
}

/// The sets that a payer takes.
const QUESTIONS: [TransactionSet; 4] = [
    TransactionSet::ProfessionalClaim,
    TransactionSet::EligibilityInquiry,
    TransactionSet::ClaimStatusRequest,
    TransactionSet::ReviewRequest,
];

/// Answers every interchange of an input, in order.
pub fn answer(
    input: &[u8],
    knowledge: Knowledge<'_>,
    deciders: &mut Deciders<'_>,
    acknowledge: Acknowledge,
    numbers: &mut ControlNumbers,
    now: Timestamp,
) -> Result<Vec<Reply>, ReadError> {
    let document = Document::read(input)?;
    let mut replies = Vec::new();
    for interchange in &document.interchanges {
        let mut desk = Desk {
            knowledge,
            determine: &mut *deciders.determine,
            adjudicate: &mut *deciders.adjudicate,
            positive: acknowledge == Acknowledge::Always || interchange.header().text(14) == "1",
            numbers,
            now,
            replies: &mut replies,
        };
        desk.answer_interchange(interchange);
    }
    Ok(replies)
}

struct Desk<'d, 'k> {
    knowledge: Knowledge<'k>,
    determine: &'d mut dyn Determine,
    adjudicate: &'d mut dyn Adjudicate,
    positive: bool,
    numbers: &'d mut ControlNumbers,
    now: Timestamp,
    replies: &'d mut Vec<Reply>,
}

impl Desk<'_, '_> {
    fn answer_interchange(&mut self, interchange: &Interchange) {
        let note = envelope::check_interchange(interchange);
        let only_acknowledges = interchange.groups.is_empty() && note == InterchangeNote::NoError;
        if only_acknowledges {
            return;
        }
        if self.positive || note != InterchangeNote::NoError {
            let ta1 = acknowledgment::ta1(interchange, note);
            let envelope = Envelope::reply_to(interchange, None, self.now);
            let text = envelope.write_acknowledgment(self.numbers, ta1);
            self.replies.push(Reply {
                set: None,
                text,
                at: self.now,
            });
        }
        if note == InterchangeNote::NoError {
            let reports = envelope::check_groups(interchange, &QUESTIONS);
            for (group, report) in interchange.groups.iter().zip(&reports) {
                self.answer_group(interchange, group, report);
            }
        }
    }

    fn answer_group(&mut self, interchange: &Interchange, group: &Group, report: &GroupReport) {
        let header = interchange.group_header(group);
        if header.text(1) == TransactionSet::Acknowledgment.functional_id() {
            return;
        }
        let envelope = Envelope::reply_to(interchange, Some(header), self.now);
        // Claims are acknowledged whether or not anybody asks.
        let is_of_claims = header.text(1) == TransactionSet::ProfessionalClaim.functional_id();
        if self.positive
            || is_of_claims
            || report.accepted() < group.transactions.len()
            || !report.faults.is_empty()
        {
            let body = acknowledgment::body_999(interchange, group, report);
            self.reply(&envelope, TransactionSet::Acknowledgment, &[body]);
        }
        let mut remittances = Vec::new();
        let mut answers: Vec<(TransactionSet, Vec<Vec<Segment>>)> = Vec::new();
        for (index, transaction) in group.transactions.iter().enumerate() {
            let set = report.transactions.get(index).and_then(|one| one.set);
            let Some(set) = set.filter(|_| report.accepts(index)) else {
                continue;
            };
            let question = interchange.segments_of(transaction);
            let answered = self.business_answer(set, question, &mut remittances);
            let Some((answer, body)) = answered else {
                continue;
            };
            match answers.last_mut() {
                Some((last, bodies)) if *last == answer => bodies.push(body),
                _ => answers.push((answer, vec![body])),
            }
        }
        for (set, bodies) in answers {
            self.reply(&envelope, set, &bodies);
        }
        for (at, body) in remittances {
            let envelope = Envelope {
                at,
                ..envelope.clone()
            };
            self.reply(&envelope, TransactionSet::Remittance, &[body]);
        }
    }

    fn business_answer(
        &mut self,
        set: TransactionSet,
        question: &[Segment],
        remittances: &mut Vec<(Timestamp, Vec<Segment>)>,
    ) -> Option<(TransactionSet, Vec<Segment>)> {
        let Knowledge {
            payer,
            members,
            claims,
        } = self.knowledge;
        let body = match set {
            TransactionSet::EligibilityInquiry => {
                eligibility_response(payer, members, question, self.now)
            }
            TransactionSet::ClaimStatusRequest => {
                claim_status_response(payer, members, claims, question, self.now)
            }
            TransactionSet::ReviewRequest => {
                review_response(payer, members, question, self.determine, self.now)
            }
            TransactionSet::ProfessionalClaim => {
                let answer = claims::answer(payer, members, question, self.adjudicate, self.now);
                remittances.extend(answer.remittances);
                answer.acknowledgment
            }
            TransactionSet::EligibilityResponse
            | TransactionSet::ClaimAcknowledgment
            | TransactionSet::Remittance
            | TransactionSet::ClaimStatusResponse
            | TransactionSet::ReviewResponse
            | TransactionSet::Acknowledgment => return None,
        };
        Some((set.answer()?, body))
    }

    fn reply(&mut self, envelope: &Envelope, set: TransactionSet, bodies: &[Vec<Segment>]) {
        let text = envelope.write(self.numbers, set, bodies);
        self.replies.push(Reply {
            set: Some(set),
            text,
            at: envelope.at,
        });
    }
}
