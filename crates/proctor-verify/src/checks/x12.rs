//! `x12-response`: the transactions that were answered, and what is expected in one of them.

use proctor_payer::X12Response;
use proctor_simulation::exhibits::Exhibits;
use proctor_x12::{
    interchange::{Document, Interchange},
    path::Path,
    segment::Segment,
};
use serde_json::{Value, json};

use crate::{
    compare::Manner,
    fields::{Field, FieldResult, bind, read_correlation, read_fields, to_list},
    found::Found,
    matching::{Quantity, Question, correlated, near_misses},
    outcome::Outcome,
    reader::Object,
    registry::Check,
    template::{Failed, Scope},
};

/// The assertion.
#[derive(Debug)]
pub(crate) struct Response {
    transaction: String,
    correlation: Vec<Field<Path>>,
    fields: Vec<Field<Path>>,
    quantity: Quantity,
}

/// One transaction of an answer.
struct Candidate<'d> {
    response: &'d X12Response,
    interchange: &'d Interchange,
    segments: &'d [Segment],
}

/// Segments that stand around transactions.
const ENVELOPE: [&str; 5] = ["ISA", "GS", "GE", "IEA", "TA1"];

/// The answers of a world.
pub(crate) struct Answers<'w> {
    /// All of them.
    responses: Vec<&'w X12Response>,
    /// Those that can be read, oldest first.
    readable: Vec<ReadAnswer<'w>>,
}

/// An answer that can be read.
pub(crate) struct ReadAnswer<'w> {
    response: &'w X12Response,
    document: Document,
}

impl Check for Response {
    const NAME: &'static str = "x12-response";

    /// None without a clearinghouse.
    type View<'w> = Option<Answers<'w>>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        let responses: Vec<&X12Response> = exhibits.evidence()?;
        let readable = responses.iter().filter_map(|response| {
            let document = Document::read(response.raw.as_bytes()).ok()?;
            Some(ReadAnswer { response, document })
        });
        Some(Answers {
            readable: readable.collect(),
            responses,
        })
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let parse = str::parse::<Path>;
        let transaction = assertion.required("transaction").and_then(|node| {
            let text = node.text()?;
            let is_name = (2..=3).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if !is_name {
                node.refuse("must name a transaction set, such as 271, 277, 278, 999 or TA1");
            }
            is_name.then(|| text.to_owned())
        });
        let correlation = match assertion.optional("correlate_by") {
            None => Some(Vec::new()),
            Some(node) => node
                .object()
                .and_then(|object| read_correlation(&object, parse)),
        };
        let fields = read_fields(assertion.optional("fields"), parse);
        let quantity = Quantity::read(assertion);
        Some(Self {
            transaction: transaction?,
            correlation: correlation?,
            fields: fields?,
            quantity: quantity?,
        })
    }

    fn run(&self, answers: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let wanted = bind(&self.correlation, scope)?;
        let fields = bind(&self.fields, scope)?;
        let Some(Answers {
            responses,
            readable,
        }) = answers
        else {
            return Err(Failed("the playground has no clearinghouse".to_owned()));
        };
        // The latest first, so that it is chosen among equals.
        let candidates = readable
            .iter()
            .rev()
            .filter(|answer| answer.response.transaction == self.transaction)
            .flat_map(|answer| self.transactions_of(answer));
        let (matches, others) = correlated(candidates.collect(), &wanted, Manner::AsText, &read);
        let noun = format!("{} response", self.transaction);
        let question = Question {
            noun: &noun,
            fields: &fields,
            quantity: self.quantity,
            manner: Manner::AsText,
            read: &read,
            name: &|candidate: &Candidate<'_>| {
                let number = &candidate.response.control_number;
                format!("the {} response {number}", self.transaction)
            },
        };
        let settled = question.best(&matches, || {
            if wanted.is_empty() || others.is_empty() {
                return self.nothing(responses);
            }
            near_misses(&noun, &others, &wanted, Manner::AsText, &read)
        });
        let control_number = settled.chosen.map(|chosen| &chosen.response.control_number);
        let evidence = self.evidence(&settled.results, control_number);
        Ok(settled.outcome(evidence))
    }

    fn blank(&self) -> Value {
        self.evidence(&[], None)
    }
}

impl Response {
    fn evidence(&self, results: &[FieldResult], control_number: Option<&String>) -> Value {
        json!({
            "fieldResults": to_list(results),
            "transaction": self.transaction,
            "control_number": control_number,
        })
    }

    /// The transactions of an answer that are of the kind asked for. A TA1 is none; it stands in
    /// the interchange itself.
    fn transactions_of<'d>(&self, answer: &'d ReadAnswer<'_>) -> Vec<Candidate<'d>> {
        let mut found = Vec::new();
        for interchange in &answer.document.interchanges {
            let candidate = |segments| Candidate {
                response: answer.response,
                interchange,
                segments,
            };
            if self.transaction == "TA1" {
                found.push(candidate(&interchange.segments));
                continue;
            }
            let transactions = interchange.groups.iter().flat_map(|one| &one.transactions);
            let segments = transactions.map(|one| interchange.segments_of(one));
            let wanted = segments.filter(|segments| {
                let header = segments.first();
                header.is_some_and(|header| header.text(1) == self.transaction)
            });
            found.extend(wanted.map(candidate));
        }
        found
    }

    fn nothing(&self, responses: &[&X12Response]) -> String {
        let mut kinds: Vec<&str> = responses
            .iter()
            .map(|one| one.transaction.as_str())
            .collect();
        kinds.sort_unstable();
        let said: Vec<String> = kinds
            .chunk_by(|left, right| left == right)
            .map(|same| format!("{} of {}", same.len(), same[0]))
            .collect();
        if said.is_empty() {
            format!("there is no {} response, nor any other", self.transaction)
        } else {
            format!(
                "there is no {} response; there are {}",
                self.transaction,
                said.join(", ")
            )
        }
    }
}

fn read<'c>(candidate: &'c Candidate<'_>, path: &Path) -> Found<'c> {
    let segments = if ENVELOPE.contains(&path.segment_tag()) {
        &candidate.interchange.segments
    } else {
        candidate.segments
    };
    Found::text(path.value(segments))
}
