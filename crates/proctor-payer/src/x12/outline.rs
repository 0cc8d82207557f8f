//! The HL tree of a question and of its answer. The answer follows the question level by level;
//! numbers, parents and child flags come out right by construction.

use std::collections::{HashMap, HashSet};

use proctor_x12::{
    segment::Segment,
    syntax::{self, HierarchyNode},
};

struct Entry {
    parent: Option<usize>,
    level: String,
    segments: Vec<Segment>,
}

/// The levels of a transaction in the order they are sent.
#[derive(Default)]
pub(super) struct Outline(Vec<Entry>);

impl Outline {
    /// Adds a level below `parent`, and returns what its own children call it.
    pub(super) fn add(
        &mut self,
        parent: Option<usize>,
        level: &str,
        segments: Vec<Segment>,
    ) -> usize {
        self.0.push(Entry {
            parent,
            level: level.to_owned(),
            segments,
        });
        self.0.len() - 1
    }

    /// The segments, with an HL before each level.
    pub(super) fn finish(self) -> Vec<Segment> {
        let parents: HashSet<_> = self.0.iter().filter_map(|entry| entry.parent).collect();
        let mut all = Vec::new();
        for (index, entry) in self.0.into_iter().enumerate() {
            let parent = entry
                .parent
                .map_or_else(String::new, |parent| (parent + 1).to_string());
            // A patient of a 277CA has no place for what stands below.
            let child = match entry.level.as_str() {
                "PT" => "",
                _ if parents.contains(&index) => "1",
                _ => "0",
            };
            let number = (index + 1).to_string();
            all.push(Segment::new("HL", [&number, &parent, &entry.level, child]));
            all.extend(entry.segments);
        }
        all
    }
}

/// A level of a question.
pub(super) struct Visit<'q> {
    /// Its place among all levels.
    pub(super) index: usize,
    /// What it is.
    pub(super) node: &'q HierarchyNode,
    /// Its segments, the HL first.
    pub(super) segments: &'q [Segment],
    /// The segments of each level below this one.
    pub(super) children: Vec<&'q [Segment]>,
}

impl<'q> Visit<'q> {
    /// The NM1 segment that names who the level is about.
    pub(super) fn name(&self) -> Option<&'q Segment> {
        self.segments.iter().find(|one| one.tag == "NM1")
    }
}

/// The answer to a level of a question.
pub(super) struct Answered {
    /// What stands in the level, without its HL.
    pub(super) segments: Vec<Segment>,
    /// Whether the levels below are answered too: not below a rejection.
    pub(super) go_on: bool,
}

/// Answers a question level by level, in order; a level without an answer has none below it either.
pub(super) fn follow<'q>(
    question: &'q [Segment],
    nodes: &'q [HierarchyNode],
    mut answer: impl FnMut(&Visit<'q>) -> Option<Answered>,
) -> Vec<Segment> {
    let mut outline = Outline::default();
    let mut open: HashMap<usize, usize> = HashMap::new();
    let mut children: HashMap<usize, Vec<&'q [Segment]>> = HashMap::new();
    for node in nodes {
        if let Some(parent) = node.parent {
            let below = children.entry(parent).or_default();
            below.push(&question[node.segments.clone()]);
        }
    }
    for (index, node) in nodes.iter().enumerate() {
        let parent = node.parent.map(|parent| open.get(&parent).copied());
        if parent == Some(None) || (parent.is_none() && node.level != syntax::Level::Source) {
            continue;
        }
        let segments = &question[node.segments.clone()];
        let visit = Visit {
            index,
            node,
            segments,
            children: children.remove(&index).unwrap_or_default(),
        };
        if let Some(answered) = answer(&visit) {
            let level = segments[0].text(3);
            let place = outline.add(parent.flatten(), level, answered.segments);
            if answered.go_on {
                open.insert(index, place);
            }
        }
    }
    outline.finish()
}
