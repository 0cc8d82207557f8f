//! The segments of the standard: types, lengths and notes of their elements.

use std::collections::HashMap;

use super::TableError;

/// The type of a simple element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementKind {
    /// `AN`: any text.
    Text,
    /// `ID`: a code.
    Code,
    /// `N0`: a whole number.
    Whole,
    /// `R`: a decimal.
    Decimal,
    /// `DT`: a date, `CCYYMMDD`.
    Date,
    /// `TM`: a time, `HHMM[SS[DD]]`.
    Time,
}

/// The type and length of a simple element or component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimpleShape {
    /// Its type.
    pub kind: ElementKind,
    /// Its least length.
    pub shortest: usize,
    /// Its greatest length; for numbers it counts digits only.
    pub longest: usize,
}

/// An element: its components, and how often it may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementShape {
    /// One for a simple element, several for a composite.
    pub components: Vec<SimpleShape>,
    /// How many repetitions are allowed.
    pub repeats: usize,
}

/// A note that ties elements of a segment together; elements by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// If one is present, all are.
    Paired(Vec<usize>),
    /// At least one is present.
    Required(Vec<usize>),
    /// At most one is present.
    Exclusive(Vec<usize>),
    /// If the first is present, all others are.
    Conditional(Vec<usize>),
    /// If the first is present, at least one other is.
    List(Vec<usize>),
}

/// A segment of the standard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentShape {
    /// Its elements in order.
    pub elements: Vec<ElementShape>,
    /// What ties them together.
    pub notes: Vec<Note>,
    /// Whether further elements may follow that are not described here.
    pub open: bool,
}

/// Every segment that is known.
#[derive(Debug, Clone, Default)]
pub struct Dictionary(HashMap<String, SegmentShape>);

impl Dictionary {
    /// The shape of a segment.
    pub fn segment(&self, tag: &str) -> Option<&SegmentShape> {
        self.0.get(tag)
    }

    /// Reads the notation of `dictionary.txt`.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut composites: HashMap<&str, Vec<SimpleShape>> = HashMap::new();
        let mut dictionary = Self::default();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((name, components)) = line.split_once(" = ") {
                let components = components.split_whitespace();
                let shapes = components.map(|word| simple(word, number));
                composites.insert(name, shapes.collect::<Result<_, _>>()?);
                continue;
            }
            let (elements, notes) = line.split_once(" ; ").unwrap_or((line, ""));
            let mut words = elements.split_whitespace();
            let tag = words.next().unwrap_or_default();
            let mut shape = SegmentShape::default();
            for word in words {
                if word == "..." {
                    shape.open = true;
                } else {
                    shape.elements.push(element(word, number, &composites)?);
                }
            }
            for word in notes.split_whitespace() {
                shape.notes.push(note(word, number)?);
            }
            dictionary.0.insert(tag.to_owned(), shape);
        }
        Ok(dictionary)
    }
}

fn element(
    word: &str,
    line: usize,
    composites: &HashMap<&str, Vec<SimpleShape>>,
) -> Result<ElementShape, TableError> {
    let (name, repeats) = match word.split_once('*') {
        Some((name, count)) => {
            let count = count.parse();
            let bad = |_| TableError::new(line, word, "a repeating element");
            (name, count.map_err(bad)?)
        }
        None => (word, 1),
    };
    let components = match composites.get(name) {
        Some(components) => components.clone(),
        None => vec![simple(name, line)?],
    };
    Ok(ElementShape {
        components,
        repeats,
    })
}

fn simple(word: &str, line: usize) -> Result<SimpleShape, TableError> {
    let kinds = [
        ("AN", ElementKind::Text),
        ("ID", ElementKind::Code),
        ("N0", ElementKind::Whole),
        ("DT", ElementKind::Date),
        ("TM", ElementKind::Time),
        ("R", ElementKind::Decimal),
    ];
    let read = || {
        let (kind, lengths) = kinds
            .into_iter()
            .find_map(|(code, kind)| Some((kind, word.strip_prefix(code)?)))?;
        let (shortest, longest) = lengths.split_once('-')?;
        Some(SimpleShape {
            kind,
            shortest: shortest.parse().ok()?,
            longest: longest.parse().ok()?,
        })
    };
    read().ok_or_else(|| TableError::new(line, word, "an element's type and length"))
}

fn note(word: &str, line: usize) -> Result<Note, TableError> {
    let bad = || TableError::new(line, word, "a note");
    let (kind, digits) = word.split_at_checked(1).ok_or_else(bad)?;
    let mut elements = Vec::new();
    let mut rest = digits;
    while let Some((number, after)) = rest.split_at_checked(2) {
        elements.push(number.parse().map_err(|_| bad())?);
        rest = after;
    }
    match kind {
        _ if elements.len() < 2 || !rest.is_empty() => Err(bad()),
        "P" => Ok(Note::Paired(elements)),
        "R" => Ok(Note::Required(elements)),
        "E" => Ok(Note::Exclusive(elements)),
        "C" => Ok(Note::Conditional(elements)),
        "L" => Ok(Note::List(elements)),
        _ => Err(bad()),
    }
}
