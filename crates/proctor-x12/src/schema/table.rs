//! The loops of a transaction set: which segments stand where, and what their elements must be.

use super::TableError;
use crate::segment::Segment;

/// A loop: its segments and inner loops in order. The first segment is what begins it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// `2100C`; empty for the transaction itself.
    pub id: String,
    /// Whether it must occur.
    pub required: bool,
    /// How often it may occur.
    pub most: usize,
    /// What it holds.
    pub nodes: Vec<Node>,
}

/// A place in a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A segment.
    Segment(SegmentRule),
    /// An inner loop.
    Loop(Loop),
}

/// A segment at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentRule {
    /// Its name.
    pub tag: String,
    /// Whether it must occur.
    pub required: bool,
    /// How often it may occur in a row.
    pub most: usize,
    /// What is asked of its elements.
    pub elements: Vec<ElementRule>,
}

/// What is asked of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementRule {
    /// Its number.
    pub number: usize,
    /// The number of the component that is meant, for a composite.
    pub component: Option<usize>,
    /// Whether it must be present.
    pub required: bool,
    /// The codes it may have; empty for any.
    pub codes: Vec<String>,
}

impl Loop {
    /// Reads the notation that `270.txt` explains.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut open = vec![Self::new("", true, 1)];
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let content = line.trim_start();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let depth = (line.len() - content.len()) / 2;
            if depth >= open.len() {
                return Err(TableError::new(
                    number,
                    content,
                    "inside a loop at this depth",
                ));
            }
            close(&mut open, depth);
            let words: Vec<_> = content.split_whitespace().collect();
            if let ["loop", id, usage, most] = words.as_slice() {
                let required = is_required(usage, number)?;
                open.push(Self::new(id, required, uses(most, number)?));
            } else if let [tag, usage, most, elements @ ..] = words.as_slice() {
                let elements = elements.iter().map(|word| element(word, number));
                let rule = SegmentRule {
                    tag: (*tag).to_owned(),
                    required: is_required(usage, number)?,
                    most: uses(most, number)?,
                    elements: elements.collect::<Result<_, _>>()?,
                };
                if let Some(inner) = open.last_mut() {
                    inner.nodes.push(Node::Segment(rule));
                }
            } else {
                return Err(TableError::new(number, content, "a segment or a loop"));
            }
        }
        close(&mut open, 0);
        Ok(open.remove(0))
    }

    fn new(id: &str, required: bool, most: usize) -> Self {
        Self {
            id: id.to_owned(),
            required,
            most,
            nodes: Vec::new(),
        }
    }

    /// The segment that begins the loop.
    pub fn first(&self) -> Option<&SegmentRule> {
        self.nodes.first().and_then(|node| match node {
            Node::Segment(rule) => Some(rule),
            Node::Loop(_) => None,
        })
    }

    /// Whether a segment of this name has a place here or in an inner loop.
    pub fn names(&self, tag: &str) -> bool {
        self.nodes.iter().any(|node| match node {
            Node::Segment(rule) => rule.tag == tag,
            Node::Loop(inner) => inner.names(tag),
        })
    }
}

impl Node {
    /// The segment that stands here or begins what stands here.
    pub fn first(&self) -> Option<&SegmentRule> {
        match self {
            Self::Segment(rule) => Some(rule),
            Self::Loop(inner) => inner.first(),
        }
    }

    /// Whether it must occur.
    pub fn required(&self) -> bool {
        match self {
            Self::Segment(rule) => rule.required,
            Self::Loop(inner) => inner.required,
        }
    }

    /// How often it may occur.
    pub fn most(&self) -> usize {
        match self {
            Self::Segment(rule) => rule.most,
            Self::Loop(inner) => inner.most,
        }
    }
}

impl SegmentRule {
    /// Whether a segment belongs here: by its name and, for segments that one loop has several
    /// of, by the code that tells them apart.
    pub fn accepts(&self, segment: &Segment) -> bool {
        if self.tag != segment.tag {
            return false;
        }
        let telling = match self.tag.as_str() {
            "HL" => 3,
            "NM1" | "N1" | "REF" | "DTP" | "DTM" | "AMT" | "QTY" | "PER" | "HI" => 1,
            _ => return true,
        };
        let rule = self.elements.iter().find(|rule| rule.number == telling);
        rule.is_none_or(|rule| rule.allows(segment.text(telling)))
    }
}

impl ElementRule {
    /// Whether a value is among the codes.
    pub fn allows(&self, value: &str) -> bool {
        self.codes.is_empty() || self.codes.iter().any(|code| code == value)
    }
}

/// Moves loops that are complete into the loops around them.
fn close(open: &mut Vec<Loop>, depth: usize) {
    while open.len() > depth + 1 {
        if let Some(done) = open.pop()
            && let Some(outer) = open.last_mut()
        {
            outer.nodes.push(Node::Loop(done));
        }
    }
}

fn is_required(word: &str, line: usize) -> Result<bool, TableError> {
    match word {
        "R" => Ok(true),
        "S" => Ok(false),
        _ => Err(TableError::new(line, word, "R or S")),
    }
}

fn uses(word: &str, line: usize) -> Result<usize, TableError> {
    if word == ">1" {
        return Ok(usize::MAX);
    }
    word.parse()
        .map_err(|_| TableError::new(line, word, "a number of uses"))
}

fn element(word: &str, line: usize) -> Result<ElementRule, TableError> {
    let (place, codes) = match word.split_once("={") {
        Some((place, codes)) => (place, codes.trim_end_matches('}')),
        None => (word, ""),
    };
    let (place, required) = match place.strip_suffix('!') {
        Some(place) => (place, true),
        None => (place, false),
    };
    let (number, component) = match place.split_once('.') {
        Some((number, component)) => (number, Some(component)),
        None => (place, None),
    };
    let read = |digits: &str| {
        let number = digits.parse();
        number.map_err(|_| TableError::new(line, word, "an element"))
    };
    Ok(ElementRule {
        number: read(number)?,
        component: component.map(read).transpose()?,
        required,
        codes: codes
            .split(',')
            .filter(|code| !code.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}
