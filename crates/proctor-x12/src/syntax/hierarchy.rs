//! The tree that HL segments draw: numbers in order, parents of the right level, children where
//! they are announced.

use super::{ElementError, ElementFault, SegmentError, add_element, walk::Place};
use crate::segment::Segment;

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
            _ => return None,
        })
    }

    /// The levels this one may stand below.
    const fn parents(self) -> &'static [Self] {
        match self {
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
    for (index, segment) in segments[..end].iter().enumerate() {
        if segment.tag != "HL" {
            continue;
        }
        if let Some(last) = nodes.last_mut() {
            last.segments.end = last.segments.end.min(index);
        }
        if let Some(level) = Level::of(segment.text(3)) {
            let parent = nodes.iter().rposition(|node| node.id == segment.text(2));
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

/// Checks the numbers of the HL segments against each other.
pub(super) fn check(
    segments: &[Segment],
    places: &[Option<Place<'_>>],
    errors: &mut Vec<SegmentError>,
) {
    let nodes = tree(segments);
    for (order, node) in nodes.iter().enumerate() {
        let index = node.segments.start;
        let segment = &segments[index];
        let loop_id = places[index].as_ref().map_or("", |place| place.loop_id);
        let mut wrong = |element: usize, fault: ElementFault| {
            let error = ElementError {
                element,
                component: None,
                repetition: None,
                fault,
                value: segment.text(element).to_owned(),
            };
            add_element(errors, (segment, index + 1, loop_id), error);
        };
        if node.id.parse() != Ok(order + 1) {
            wrong(1, ElementFault::Code);
        }
        // A parent is a node on the way from the root to here: the latest of its level.
        let open = |parent: usize| {
            let level = nodes[parent].level;
            node.level.parents().contains(&level)
                && !nodes[parent + 1..order]
                    .iter()
                    .any(|later| later.level == level)
        };
        let fits = match node.parent.filter(|parent| *parent < order) {
            Some(parent) => open(parent),
            None => segment.text(2).is_empty(),
        };
        if !fits {
            wrong(2, ElementFault::Code);
        }
        let has_children = nodes.iter().any(|other| other.parent == Some(order));
        if segment.text(4) == "0" && has_children {
            wrong(4, ElementFault::Code);
        }
    }
}
