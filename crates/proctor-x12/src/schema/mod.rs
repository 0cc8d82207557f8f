//! What the standard and its implementation guides require, as tables.
//!
//! `dictionary.txt` holds the segments of the standard; one further table per transaction set
//! holds its loops, the segments they need and the elements and codes these need. The tables list
//! what is *required*: an element they do not name is allowed wherever the dictionary has it.

mod dictionary;
mod table;

use std::sync::LazyLock;

pub use dictionary::{Dictionary, ElementKind, ElementShape, Note, SegmentShape, SimpleShape};
pub use table::{ElementRule, Loop, Node, SegmentRule};

use crate::transaction_set::TransactionSet;

static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(|| {
    Dictionary::parse(include_str!("dictionary.txt"))
        .expect("the shipped dictionary is read by a test")
});

macro_rules! shipped {
    ($name:ident, $file:literal) => {
        static $name: LazyLock<Loop> = LazyLock::new(|| {
            Loop::parse(include_str!($file)).expect("each shipped table is read by a test")
        });
    };
}

shipped!(INQUIRY_270, "270.txt");
shipped!(RESPONSE_271, "271.txt");
shipped!(REQUEST_276, "276.txt");
shipped!(RESPONSE_277, "277.txt");
shipped!(REQUEST_278, "278-request.txt");
shipped!(RESPONSE_278, "278-response.txt");
shipped!(CLAIM_837, "837p.txt");
shipped!(ACKNOWLEDGMENT_277, "277ca.txt");
shipped!(REMITTANCE_835, "835.txt");

/// The segments of the standard.
pub fn dictionary() -> &'static Dictionary {
    &DICTIONARY
}

/// The loops of a transaction set; none for the 999, which nobody has to acknowledge.
pub fn table(set: TransactionSet) -> Option<&'static Loop> {
    match set {
        TransactionSet::EligibilityInquiry => Some(&INQUIRY_270),
        TransactionSet::EligibilityResponse => Some(&RESPONSE_271),
        TransactionSet::ClaimStatusRequest => Some(&REQUEST_276),
        TransactionSet::ClaimStatusResponse => Some(&RESPONSE_277),
        TransactionSet::ReviewRequest => Some(&REQUEST_278),
        TransactionSet::ReviewResponse => Some(&RESPONSE_278),
        TransactionSet::ProfessionalClaim => Some(&CLAIM_837),
        TransactionSet::ClaimAcknowledgment => Some(&ACKNOWLEDGMENT_277),
        TransactionSet::Remittance => Some(&REMITTANCE_835),
        TransactionSet::Acknowledgment => None,
    }
}

/// A line of a table that does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {word:?} is not {expected}")]
pub struct TableError {
    /// Counted from 1.
    pub line: usize,
    /// The word that does not fit.
    pub word: String,
    /// What was expected instead.
    pub expected: &'static str,
}

impl TableError {
    fn new(line: usize, word: impl Into<String>, expected: &'static str) -> Self {
        Self {
            line,
            word: word.into(),
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_table_reads_and_names_only_segments_of_the_dictionary() {
        fn check(one: &Loop) {
            for node in &one.nodes {
                match node {
                    Node::Segment(rule) => {
                        let shape = dictionary().segment(&rule.tag).unwrap_or_else(|| {
                            panic!("{} in {} is not in the dictionary", rule.tag, one.id)
                        });
                        for element in &rule.elements {
                            assert!(
                                shape.open || element.number <= shape.elements.len(),
                                "{}{:02} in {} does not exist",
                                rule.tag,
                                element.number,
                                one.id
                            );
                        }
                    }
                    Node::Loop(inner) => check(inner),
                }
            }
        }
        for set in TransactionSet::ALL {
            if let Some(table) = table(set) {
                check(table);
            }
        }
    }

    #[test]
    fn a_table_that_does_not_read_says_where() {
        let error = Loop::parse("ST R 1 1!\n  HL R 1\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2: \"HL R 1\" is not inside a loop at this depth"
        );
        let error = Loop::parse("ST R many").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1: \"many\" is not a number of uses"
        );
    }
}
