//! Draws the HL tree of an answer: numbers, parents and child flags come out right by construction.

use crate::segment::Segment;

struct Entry {
    parent: Option<usize>,
    level: &'static str,
    segments: Vec<Segment>,
}

/// The levels of an answer in the order they are sent.
#[derive(Default)]
pub(super) struct Outline(Vec<Entry>);

impl Outline {
    /// Adds a level below `parent`, and returns what its own children call it.
    pub(super) fn add(
        &mut self,
        parent: Option<usize>,
        level: &'static str,
        segments: Vec<Segment>,
    ) -> usize {
        self.0.push(Entry {
            parent,
            level,
            segments,
        });
        self.0.len() - 1
    }

    /// The segments, with an HL before each level.
    pub(super) fn finish(self) -> Vec<Segment> {
        let parents: Vec<_> = self.0.iter().map(|entry| entry.parent).collect();
        let mut all = Vec::new();
        for (index, entry) in self.0.into_iter().enumerate() {
            let parent = entry
                .parent
                .map_or_else(String::new, |parent| (parent + 1).to_string());
            let child = if parents.contains(&Some(index)) {
                "1"
            } else {
                "0"
            };
            let number = (index + 1).to_string();
            all.push(Segment::new("HL", [&number, &parent, entry.level, child]));
            all.extend(entry.segments);
        }
        all
    }
}
