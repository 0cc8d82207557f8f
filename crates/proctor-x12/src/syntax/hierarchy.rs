//! The tree that HL segments draw: numbers in order, parents of the right level, children where
//! they are announced.

use std::collections::{HashMap, HashSet};

use super::{ElementError, ElementFault};
use crate::{segment::Segment, transaction_set::TransactionSet};

/// A level of the hierarchy, from HL03.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// `20`: who knows (the payer).
    Source,
    /// `21`: who asks.
    Receiver,
    /// `19`: who gave the service.
    Provider,
    /// `22`: who is insured.
    Subscriber,
    /// `23`: who is insured through somebody else.
    Dependent,
    /// `EV`: what is to be reviewed.
    Event,
    /// `SS`: one service of it.
    Service,
    /// `PT`: whom a claim is for.
    Patient,
}

impl Level {
    /// Reads HL03.
    pub fn of(code: &str) -> Option<Self> {
        Some(match code {
            "20" => Self::Source,
            "21" => Self::Receiver,
            "19" => Self::Provider,
            "22" => Self::Subscriber,
            "23" => Self::Dependent,
            "EV" => Self::Event,
            "SS" => Self::Service,
            "PT" => Self::Patient,
            _ => return None,
        })
    }

    /// The levels this one may stand below. In an 837 the one who bills is the source, and patients stand right below.
    const fn parents(self, set: TransactionSet) -> &'static [Self] {
        match self {
            Self::Subscriber if matches!(set, TransactionSet::ProfessionalClaim) => &[Self::Source],
            Self::Patient => &[Self::Provider],
            Self::Source => &[],
            Self::Receiver => &[Self::Source],
            Self::Provider => &[Self::Receiver],
            Self::Subscriber => &[Self::Receiver, Self::Provider],
            Self::Dependent => &[Self::Subscriber],
            Self::Event => &[Self::Subscriber, Self::Dependent],
            Self::Service => &[Self::Event],
        }
    }
}

/// A node of the hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HierarchyNode {
    /// HL01.
    pub id: String,
    /// The node above it: an index into the same list.
    pub parent: Option<usize>,
    /// HL03.
    pub level: Level,
    /// The segments that belong to it, its HL first: indexes into the transaction's segments.
    pub segments: std::ops::Range<usize>,
}

/// The nodes of a transaction in order. A parent is the latest earlier node with the number in
/// HL02; nodes of unknown levels are left out.
pub fn tree(segments: &[Segment]) -> Vec<HierarchyNode> {
    let end = segments
        .iter()
        .position(|one| one.tag == "SE")
        .unwrap_or(segments.len());
    let mut nodes: Vec<HierarchyNode> = Vec::new();
    let mut latest: HashMap<&str, usize> = HashMap::new();
    for (index, segment) in segments[..end].iter().enumerate() {
        if segment.tag != "HL" {
            continue;
        }
        if let Some(last) = nodes.last_mut() {
            last.segments.end = last.segments.end.min(index);
        }
        if let Some(level) = Level::of(segment.text(3)) {
            let parent = latest.get(segment.text(2)).copied();
            latest.insert(segment.text(1), nodes.len());
            nodes.push(HierarchyNode {
                id: segment.text(1).to_owned(),
                parent,
                level,
                segments: index..end,
            });
        }
    }
    nodes
}

/// Checks the numbers of the HL segments against each other; faults by the index of their segment.
pub(super) fn check(
    set: TransactionSet,
    segments: &[Segment],
) -> HashMap<usize, Vec<ElementError>> {
    let nodes = tree(segments);
    let has_children: HashSet<_> = nodes.iter().filter_map(|node| node.parent).collect();
    let mut latest: HashMap<Level, usize> = HashMap::new();
    let mut faults: HashMap<usize, Vec<ElementError>> = HashMap::new();
    for (order, node) in nodes.iter().enumerate() {
        let index = node.segments.start;
        let segment = &segments[index];
        let numbered = node.id.parse() == Ok(order + 1);
        // A parent is a node on the way from the root to here: the latest of its level.
        let placed = match node.parent {
            Some(parent) => {
                let level = nodes[parent].level;
                node.level.parents(set).contains(&level) && latest.get(&level) == Some(&parent)
            }
            None => segment.text(2).is_empty(),
        };
        let announced = segment.text(4) != "0" || !has_children.contains(&order);
        for (element, right) in [(1, numbered), (2, placed), (4, announced)] {
            if !right {
                faults.entry(index).or_default().push(ElementError {
                    element,
                    component: None,
                    repetition: None,
                    fault: ElementFault::Code,
                    value: segment.text(element).to_owned(),
                });
            }
        }
        latest.insert(node.level, order);
    }
    faults
}
