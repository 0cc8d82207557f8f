//! `x12-response` and `x12-request`: the transactions that were answered or sent, and what is expected in one of them.

use std::marker::PhantomData;

use proctor_payer::X12Response;
use proctor_simulation::{
    exhibits::Exhibits,
    schema::{about, text},
};
use proctor_x12::{
    interchange::{Document, Interchange},
    path::Path,
    segment::Segment,
    transaction_set::TransactionSet,
};
use serde_json::{Value, json};

use crate::{
    compare::Manner,
    fields::{Field, FieldResult, bind, read_correlation, read_fields, to_list},
    found::Found,
    matching::{Quantity, Question, correlated, near_misses},
    outcome::Outcome,
    reader::Object,
    record::record,
    registry::Check,
    schema::{assertion, correlation, fields, with_quantity},
    template::{Failed, Scope},
};

/// Which way the transactions of an assertion went.
pub(crate) trait Way: std::fmt::Debug + Send + Sync + 'static {
    /// What `assert` says.
    const NAME: &'static str;
    /// What one of them is called.
    const NOUN: &'static str;
    /// Whether they are in what happened rather than in what is there.
    const READS_RECORD: bool;

    /// Those of a world; none without a clearinghouse.
    fn transactions(exhibits: &Exhibits<'_>) -> Option<Transactions>;
}

/// What the payer answered.
#[derive(Debug)]
pub(crate) struct Answered;

/// What the agent sent.
#[derive(Debug)]
pub(crate) struct Sent;

impl Way for Answered {
    const NAME: &'static str = "x12-response";
    const NOUN: &'static str = "response";
    const READS_RECORD: bool = false;

    fn transactions(exhibits: &Exhibits<'_>) -> Option<Transactions> {
        let responses: Vec<&X12Response> = exhibits.evidence()?;
        Some(Transactions::answered(&responses))
    }
}

impl Way for Sent {
    const NAME: &'static str = "x12-request";
    const NOUN: &'static str = "request";
    const READS_RECORD: bool = true;

    fn transactions(exhibits: &Exhibits<'_>) -> Option<Transactions> {
        Transactions::sent(exhibits)
    }
}

/// `x12-response`.
pub(crate) type Response = TransactionMatch<Answered>;
/// `x12-request`: what the agent asked, with the same paths.
pub(crate) type Request = TransactionMatch<Sent>;

/// The assertion.
#[derive(Debug)]
pub(crate) struct TransactionMatch<W> {
    transaction: String,
    correlation: Vec<Field<Path>>,
    fields: Vec<Field<Path>>,
    quantity: Quantity,
    way: PhantomData<W>,
}

/// One transaction.
pub(crate) struct Candidate<'d> {
    control_number: &'d str,
    interchange: &'d Interchange,
    segments: &'d [Segment],
}

/// Segments that stand around transactions.
const ENVELOPE: [&str; 5] = ["ISA", "GS", "GE", "IEA", "TA1"];

/// The interchanges of a world that went one way.
pub(crate) struct Transactions {
    /// What each of them is said to hold, those that cannot be read included.
    kinds: Vec<String>,
    /// Those that can be read, oldest first.
    readable: Vec<ReadInterchange>,
}

/// An interchange that can be read.
struct ReadInterchange {
    /// What it is said to hold, where that is known.
    kind: Option<String>,
    control_number: String,
    document: Document,
}

impl Transactions {
    /// Those that the payer answered with.
    pub(crate) fn answered(responses: &[&X12Response]) -> Self {
        let readable = responses.iter().filter_map(|response| {
            Some(ReadInterchange {
                kind: Some(response.transaction.clone()),
                control_number: response.control_number.clone(),
                document: Document::read(response.raw.as_bytes()).ok()?,
            })
        });
        Self {
            readable: readable.collect(),
            kinds: responses
                .iter()
                .map(|one| one.transaction.clone())
                .collect(),
        }
    }

    /// Those that the agent sent; none without a record of what happened.
    pub(crate) fn sent(exhibits: &Exhibits<'_>) -> Option<Self> {
        // Without a clearinghouse there is nowhere to send them.
        exhibits.evidence::<X12Response>()?;
        let mut transactions = Self {
            kinds: Vec::new(),
            readable: Vec::new(),
        };
        for event in &record(exhibits)?.events {
            let Some(raw) = event.payload.get("request_raw").and_then(Value::as_str) else {
                continue;
            };
            let Ok(document) = Document::read(raw.as_bytes()) else {
                continue;
            };
            for interchange in &document.interchanges {
                let sets = interchange.groups.iter().flat_map(|one| &one.transactions);
                let names = sets.map(|one| TransactionSet::name_of(interchange.segments_of(one)));
                transactions.kinds.extend(names.map(str::to_owned));
            }
            let header = document
                .interchanges
                .first()
                .and_then(|one| one.segments.first());
            let number = header.map_or_else(String::new, |isa| isa.text(13).trim().to_owned());
            transactions.readable.push(ReadInterchange {
                kind: None,
                control_number: number,
                document,
            });
        }
        Some(transactions)
    }

    /// The transactions of a kind, oldest first. A TA1 is none; it stands in the interchange itself.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<Candidate<'_>> {
        let fits = |one: &&ReadInterchange| one.kind.as_deref().is_none_or(|known| known == kind);
        let interchanges = self.readable.iter().filter(fits);
        interchanges.flat_map(|one| one.of_kind(kind)).collect()
    }

    fn in_words(&self) -> Vec<String> {
        let mut kinds: Vec<&str> = self.kinds.iter().map(String::as_str).collect();
        kinds.sort_unstable();
        kinds
            .chunk_by(|left, right| left == right)
            .map(|same| format!("{} of {}", same.len(), same[0]))
            .collect()
    }
}

impl ReadInterchange {
    fn of_kind(&self, kind: &str) -> Vec<Candidate<'_>> {
        let mut found = Vec::new();
        for interchange in &self.document.interchanges {
            let candidate = |segments| Candidate {
                control_number: &self.control_number,
                interchange,
                segments,
            };
            if kind == "TA1" {
                found.push(candidate(&interchange.segments));
                continue;
            }
            let transactions = interchange.groups.iter().flat_map(|one| &one.transactions);
            let segments = transactions.map(|one| interchange.segments_of(one));
            let wanted = segments.filter(|segments| TransactionSet::name_of(segments) == kind);
            found.extend(wanted.map(candidate));
        }
        found
    }
}

/// Reads the name of a transaction set.
pub(crate) fn read_transaction(object: &Object<'_>) -> Option<String> {
    object.required("transaction").and_then(|node| {
        let text = node.text()?;
        let is_name =
            (2..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name {
            node.refuse(
                "must name a transaction set, such as 271, 277, 277CA, 278, 835, 837, 999 or TA1",
            );
        }
        // ST01 of a professional claim is 837.
        let name = if text == "837P" { "837" } else { text };
        is_name.then(|| name.to_owned())
    })
}

impl<W: Way> Check for TransactionMatch<W> {
    const NAME: &'static str = W::NAME;
    const READS_RECORD: bool = W::READS_RECORD;

    /// None without a clearinghouse.
    type View<'w> = Option<Transactions>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        W::transactions(exhibits)
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let parse = str::parse::<Path>;
        let transaction = read_transaction(assertion);
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
            way: PhantomData,
        })
    }

    fn schema() -> Value {
        let members = with_quantity(json!({
            "transaction": about("The transaction set: 270, 271, 276, 277, 277CA, 278, 835, 837, 999 or TA1.", text()),
            "correlate_by": correlation("Which one: what it holds, by paths such as NM1[IL].9."),
            "fields": fields("What it must hold, by paths such as EB[1].1 or CLP.2."),
        }));
        let example = match W::READS_RECORD {
            false => json!({
                "transaction": "835",
                "correlate_by": {"CLP.1": "CLM5521"},
                "fields": [{"path": "CLP.2", "expected": "4"}],
            }),
            true => json!({
                "transaction": "837",
                "fields": [{"path": "CLM.1", "expected": "CLM5521"}],
            }),
        };
        let about = "An X12 transaction that the payer answered with, or that the agent sent.";
        assertion(Self::NAME, about, &["transaction"], members, example)
    }

    fn run(&self, transactions: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let wanted = bind(&self.correlation, scope)?;
        let fields = bind(&self.fields, scope)?;
        let Some(transactions) = transactions else {
            return Err(Failed("the playground has no clearinghouse".to_owned()));
        };
        // The latest first, so that it is chosen among equals.
        let mut candidates = transactions.of_kind(&self.transaction);
        candidates.reverse();
        let (matches, others) = correlated(candidates, &wanted, Manner::AsText, &read);
        let noun = format!("{} {}", self.transaction, W::NOUN);
        let question = Question {
            noun: &noun,
            fields: &fields,
            quantity: self.quantity,
            manner: Manner::AsText,
            read: &read,
            name: &|candidate: &Candidate<'_>| {
                let number = candidate.control_number;
                format!("the {} {} {number}", self.transaction, W::NOUN)
            },
        };
        let settled = question.best(&matches, || {
            if wanted.is_empty() || others.is_empty() {
                return self.nothing(transactions);
            }
            near_misses(&noun, &others, &wanted, Manner::AsText, &read)
        });
        let control_number = settled.chosen.map(|chosen| chosen.control_number);
        let evidence = self.evidence(&settled.results, control_number);
        Ok(settled.outcome(evidence))
    }

    fn blank(&self) -> Value {
        self.evidence(&[], None)
    }
}

impl<W: Way> TransactionMatch<W> {
    fn evidence(&self, results: &[FieldResult], control_number: Option<&str>) -> Value {
        json!({
            "fieldResults": to_list(results),
            "transaction": self.transaction,
            "control_number": control_number,
        })
    }

    fn nothing(&self, transactions: &Transactions) -> String {
        let said = transactions.in_words();
        let (kind, noun) = (&self.transaction, W::NOUN);
        if said.is_empty() {
            format!("there is no {kind} {noun}, nor any other")
        } else {
            format!("there is no {kind} {noun}; there are {}", said.join(", "))
        }
    }
}

/// What a path leads to in a transaction, or in the interchange around it.
pub(crate) fn read<'c>(candidate: &'c Candidate<'_>, path: &Path) -> Found<'c> {
    let segments = if ENVELOPE.contains(&path.segment_tag()) {
        &candidate.interchange.segments
    } else {
        candidate.segments
    };
    Found::text(path.value(segments))
}

/// What a path leads to in the segments of a whole document.
pub(crate) fn anywhere(document: &Document, path: &Path) -> Found<'static> {
    let interchanges = document.interchanges.iter();
    Found::many(interchanges.map(|one| path.value(&one.segments)))
}
