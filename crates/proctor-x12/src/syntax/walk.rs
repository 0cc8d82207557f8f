//! Walks a transaction along the loops of its table, and says where each segment belongs.

use super::{SegmentError, SegmentFault};
use crate::{
    schema::{self, Loop, Node, SegmentRule},
    segment::Segment,
};

/// Where a segment belongs.
pub(super) struct Place<'t> {
    pub(super) loop_id: &'t str,
    pub(super) rule: &'t SegmentRule,
}

/// Where all segments belong, and what has no place or lacks from it.
pub(super) struct Placed<'t> {
    pub(super) places: Vec<Option<Place<'t>>>,
    pub(super) errors: Vec<SegmentError>,
}

/// A loop that is open, and how far it was walked.
struct Frame<'t> {
    within: &'t Loop,
    at: usize,
    counts: Vec<usize>,
}

impl<'t> Frame<'t> {
    fn enter(within: &'t Loop) -> Self {
        let mut counts = vec![0; within.nodes.len()];
        if let Some(first) = counts.first_mut() {
            *first = 1;
        }
        Self {
            within,
            at: 0,
            counts,
        }
    }

    /// From here on nodes may match: not the segment that began the loop, but segments of one name
    /// that stand side by side may come in any order.
    fn start(&self) -> usize {
        let nodes = &self.within.nodes;
        let run = match nodes.get(self.at) {
            Some(Node::Segment(rule)) => nodes[..self.at]
                .iter()
                .rposition(|node| !matches!(node, Node::Segment(other) if other.tag == rule.tag))
                .map_or(0, |before| before + 1),
            _ => self.at,
        };
        run.max(1)
    }

    fn find(&self, accepts: &dyn Fn(&SegmentRule) -> bool) -> Option<usize> {
        (self.start()..self.within.nodes.len())
            .find(|index| self.within.nodes[*index].first().is_some_and(accepts))
    }
}

struct Walker<'t> {
    table: &'t Loop,
    open: Vec<Frame<'t>>,
    errors: Vec<SegmentError>,
}

/// Finds the place of every segment.
pub(super) fn place<'t>(table: &'t Loop, segments: &[Segment]) -> Placed<'t> {
    let mut walker = Walker {
        table,
        open: vec![Frame::enter(table)],
        errors: Vec::new(),
    };
    let mut places = Vec::with_capacity(segments.len());
    for (index, segment) in segments.iter().enumerate() {
        // The transaction was cut at its ST segment, which begins the outermost loop.
        if let (0, Some(rule)) = (index, table.first()) {
            places.push(Some(Place { loop_id: "", rule }));
            continue;
        }
        places.push(walker.step(segment, index + 1));
    }
    walker.leave(0, segments.len() + 1);
    let outermost = &table.nodes;
    walker.skip(0, outermost.len(), segments.len() + 1);
    Placed {
        places,
        errors: walker.errors,
    }
}

impl<'t> Walker<'t> {
    fn step(&mut self, segment: &Segment, position: usize) -> Option<Place<'t>> {
        let exact = |rule: &SegmentRule| rule.accepts(segment);
        let by_name = |rule: &SegmentRule| rule.tag == segment.tag;
        // A segment whose code fits nowhere is taken for the next one of its name: then its code is
        // what is reported, not its place.
        let found = self.search(&exact).or_else(|| self.search(&by_name));
        let Some((depth, index)) = found else {
            let fault = self.why_not(segment, &exact);
            let loop_id = self
                .open
                .last()
                .map_or("", |frame| frame.within.id.as_str());
            self.report(&segment.tag, position, loop_id, fault);
            return None;
        };
        self.leave(depth, position);
        self.skip(depth, index, position);
        let frame = &mut self.open[depth];
        let within = frame.within;
        let node = &within.nodes[index];
        frame.at = index;
        frame.counts[index] += 1;
        let too_often = frame.counts[index] > node.most();
        let place = match node {
            Node::Segment(rule) => Place {
                loop_id: &within.id,
                rule,
            },
            Node::Loop(inner) => {
                self.open.push(Frame::enter(inner));
                Place {
                    loop_id: &inner.id,
                    rule: inner.first()?,
                }
            }
        };
        if too_often {
            let fault = match node {
                Node::Segment(_) => SegmentFault::TooOften,
                Node::Loop(_) => SegmentFault::LoopTooOften,
            };
            self.report(&segment.tag, position, place.loop_id, fault);
        }
        Some(place)
    }

    /// The innermost open loop that has a place for the segment, and that place.
    fn search(&self, accepts: &dyn Fn(&SegmentRule) -> bool) -> Option<(usize, usize)> {
        let open = self.open.iter().enumerate().rev();
        open.map(|(depth, frame)| (depth, frame.find(accepts)))
            .find_map(|(depth, found)| Some((depth, found?)))
    }

    fn why_not(&self, segment: &Segment, exact: &dyn Fn(&SegmentRule) -> bool) -> SegmentFault {
        let passed = |frame: &Frame<'_>| {
            let before = &frame.within.nodes[..frame.start().min(frame.within.nodes.len())];
            before.iter().any(|node| node.first().is_some_and(exact))
        };
        if schema::dictionary().segment(&segment.tag).is_none() {
            SegmentFault::Unrecognized
        } else if !self.table.names(&segment.tag) {
            SegmentFault::NotInSet
        } else if self.open.iter().any(passed) {
            SegmentFault::OutOfSequence
        } else {
            SegmentFault::Unexpected
        }
    }

    /// Closes the loops inside the one at `depth`.
    fn leave(&mut self, depth: usize, position: usize) {
        while self.open.len() > depth + 1 {
            let innermost = self.open.len() - 1;
            let end = self.open[innermost].within.nodes.len();
            self.skip(innermost, end, position);
            self.open.pop();
        }
    }

    /// Reports what must stand between where the loop was left and the node that comes now.
    fn skip(&mut self, depth: usize, until: usize, position: usize) {
        let frame = &self.open[depth];
        let within = frame.within;
        let missing: Vec<_> = (frame.at..until)
            .filter(|index| frame.counts[*index] == 0 && within.nodes[*index].required())
            .collect();
        for index in missing {
            let node = &within.nodes[index];
            let loop_id = match node {
                Node::Segment(_) => &within.id,
                Node::Loop(inner) => &inner.id,
            };
            if let Some(first) = node.first() {
                self.report(&first.tag, position, loop_id, SegmentFault::Missing);
            }
        }
    }

    fn report(&mut self, tag: &str, position: usize, loop_id: &str, fault: SegmentFault) {
        self.errors.push(SegmentError {
            tag: tag.to_owned(),
            position,
            loop_id: loop_id.to_owned(),
            fault,
            elements: Vec::new(),
        });
    }
}
