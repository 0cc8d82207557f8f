//! Groups and transaction sets: GS/GE and ST/SE, supported versions, counts, control numbers.

use std::collections::HashSet;

use crate::{
    interchange::{Group, Interchange, Transaction},
    segment::Segment,
    syntax::{self, SyntaxReport},
    transaction_set::TransactionSet,
};

/// What is wrong with a group: AK905.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupFault {
    /// GS01 names nothing that is accepted here.
    NotSupported,
    /// GS08 is another version.
    VersionNotSupported,
    /// There is no GE.
    TrailerMissing,
    /// The control numbers of GS and GE differ.
    ControlNumbersDiffer,
    /// GE01 is not the number of transaction sets.
    CountDiffers,
    /// GS06 is not a number of up to nine digits.
    ControlNumber,
    /// An earlier group of the interchange has the same control number.
    ControlNumberNotUnique,
}

impl GroupFault {
    /// The code in AK905.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotSupported => "1",
            Self::VersionNotSupported => "2",
            Self::TrailerMissing => "3",
            Self::ControlNumbersDiffer => "4",
            Self::CountDiffers => "5",
            Self::ControlNumber => "6",
            Self::ControlNumberNotUnique => "19",
        }
    }
}

/// What is wrong with a transaction set: IK502.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionFault {
    /// ST01 is not what such a group carries.
    NotSupported,
    /// There is no SE.
    TrailerMissing,
    /// The control numbers of ST and SE differ.
    ControlNumbersDiffer,
    /// SE01 is not the number of segments.
    CountDiffers,
    /// A segment is wrong.
    Segments,
    /// ST02 is missing or not of four to nine characters.
    ControlNumber,
    /// An earlier transaction set of the group has the same control number.
    ControlNumberNotUnique,
    /// ST03 is another implementation guide.
    GuideNotSupported,
}

impl TransactionFault {
    /// The code in IK502.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotSupported => "1",
            Self::TrailerMissing => "2",
            Self::ControlNumbersDiffer => "3",
            Self::CountDiffers => "4",
            Self::Segments => "5",
            Self::ControlNumber => "7",
            Self::ControlNumberNotUnique => "23",
            Self::GuideNotSupported => "I6",
        }
    }
}

/// What a check of a transaction set found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionReport {
    /// What it is; none when it is nothing that is accepted here.
    pub set: Option<TransactionSet>,
    /// The faults of the whole.
    pub faults: Vec<TransactionFault>,
    /// The faults of its segments.
    pub syntax: SyntaxReport,
}

/// What a check of a group found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupReport {
    /// The faults of the whole; any of them rejects every transaction set.
    pub faults: Vec<GroupFault>,
    /// One per transaction set.
    pub transactions: Vec<TransactionReport>,
}

impl GroupReport {
    /// Whether the transaction set at `index` may be answered.
    pub fn accepts(&self, index: usize) -> bool {
        let transaction = self.transactions.get(index);
        self.faults.is_empty() && transaction.is_some_and(|one| one.faults.is_empty())
    }

    /// How many transaction sets may be answered.
    pub fn accepted(&self) -> usize {
        (0..self.transactions.len())
            .filter(|index| self.accepts(*index))
            .count()
    }
}

/// Checks every group of an interchange, for a receiver that takes the sets in `accepted`.
pub fn check_groups(interchange: &Interchange, accepted: &[TransactionSet]) -> Vec<GroupReport> {
    let mut numbers = HashSet::new();
    let groups = interchange.groups.iter();
    groups
        .map(|group| {
            let header = interchange.group_header(group);
            let sets: Vec<_> = accepted
                .iter()
                .copied()
                .filter(|set| set.functional_id() == header.text(1))
                .collect();
            let mut faults = group_faults(interchange, group, &sets);
            if !numbers.insert(header.text(6)) {
                faults.push(GroupFault::ControlNumberNotUnique);
            }
            let mut seen = HashSet::new();
            let transactions = group.transactions.iter();
            GroupReport {
                faults,
                transactions: transactions
                    .map(|one| check_transaction(interchange, one, &sets, &mut seen))
                    .collect(),
            }
        })
        .collect()
}

fn group_faults(
    interchange: &Interchange,
    group: &Group,
    sets: &[TransactionSet],
) -> Vec<GroupFault> {
    let header = interchange.group_header(group);
    let number = header.text(6);
    let trailer = group.trailer.map(|index| &interchange.segments[index]);
    let mut faults = Vec::new();
    if sets.is_empty() {
        faults.push(GroupFault::NotSupported);
    } else if sets.iter().all(|set| set.version() != header.text(8)) {
        faults.push(GroupFault::VersionNotSupported);
    }
    if !(1..=9).contains(&number.len()) || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        faults.push(GroupFault::ControlNumber);
    }
    match trailer {
        None => faults.push(GroupFault::TrailerMissing),
        Some(trailer) => {
            if trailer.text(2) != number {
                faults.push(GroupFault::ControlNumbersDiffer);
            }
            // A segment between transaction sets is counted by nobody.
            if trailer.text(1).parse() != Ok(group.transactions.len()) || !group.stray.is_empty() {
                faults.push(GroupFault::CountDiffers);
            }
        }
    }
    faults
}

fn check_transaction<'i>(
    interchange: &'i Interchange,
    transaction: &Transaction,
    sets: &[TransactionSet],
    seen: &mut HashSet<&'i str>,
) -> TransactionReport {
    let segments: &'i [Segment] = interchange.segments_of(transaction);
    let header = &segments[0];
    let number = header.text(2);
    let set = TransactionSet::of(segments).filter(|set| sets.contains(set));
    let mut faults = Vec::new();
    match set {
        None => faults.push(TransactionFault::NotSupported),
        Some(set) if header.text(3) != set.guide() => {
            faults.push(TransactionFault::GuideNotSupported);
        }
        Some(_) => {}
    }
    if !(4..=9).contains(&number.len()) {
        faults.push(TransactionFault::ControlNumber);
    } else if !seen.insert(number) {
        faults.push(TransactionFault::ControlNumberNotUnique);
    }
    match segments.last().filter(|_| transaction.closed) {
        None => faults.push(TransactionFault::TrailerMissing),
        Some(trailer) => {
            if trailer.text(2) != number {
                faults.push(TransactionFault::ControlNumbersDiffer);
            }
            if trailer.text(1).parse() != Ok(segments.len()) {
                faults.push(TransactionFault::CountDiffers);
            }
        }
    }
    let syntax = match set {
        Some(set) => syntax::check(set, segments),
        None => SyntaxReport::default(),
    };
    if !syntax.is_clean() {
        faults.push(TransactionFault::Segments);
    }
    TransactionReport {
        set,
        faults,
        syntax,
    }
}
