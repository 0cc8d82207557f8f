//! What is in a file, read in one of several formats.

use std::borrow::Cow;

use csv::{ReaderBuilder, StringRecord};
use proctor_hl7::Message;
use proctor_x12::{interchange::Document, segment::Segment};
use serde_json::Value;

use crate::{
    compare::Manner,
    found::Found,
    json_path::{JsonPath, Step},
};

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    X12,
    Hl7,
    Csv,
    Text,
}

/// A place in a file.
#[derive(Debug)]
pub(super) enum Place {
    /// In JSON.
    Json(JsonPath),
    /// In an interchange.
    X12(proctor_x12::path::Path),
    /// In a message.
    Hl7(proctor_hl7::Path),
    /// Rows, and columns in them.
    Csv { row: Step, column: Step },
    /// The whole text.
    Whole,
    /// Lines of text.
    Line(Step),
}

/// A file that was read.
pub(super) struct Content<'w> {
    /// Its text; what is not UTF-8 is replaced.
    pub(super) text: Cow<'w, str>,
    /// Why it is not of its format.
    pub(super) problem: Option<String>,
    parsed: Parsed,
}

enum Parsed {
    Nothing,
    Json(Value),
    X12(Vec<Segment>),
    Csv {
        header: StringRecord,
        rows: Vec<StringRecord>,
    },
    /// HL7 and text are read out of the text itself.
    Text,
}

impl Format {
    /// What `parse` may say.
    pub(super) const NAMES: [(&'static str, Self); 5] = [
        ("json", Self::Json),
        ("x12", Self::X12),
        ("hl7", Self::Hl7),
        ("csv", Self::Csv),
        ("text", Self::Text),
    ];

    /// The format that the ending of a path suggests; JSON for all that suggests nothing.
    pub(super) fn of_path(path: &str) -> Self {
        match path.rsplit('.').next().unwrap_or_default() {
            "csv" => Self::Csv,
            "hl7" => Self::Hl7,
            "x12" | "edi" => Self::X12,
            "txt" | "text" | "md" => Self::Text,
            _ => Self::Json,
        }
    }

    /// How values of the format compare.
    pub(super) const fn manner(self) -> Manner {
        match self {
            Self::Json => Manner::Typed,
            Self::X12 | Self::Hl7 | Self::Csv | Self::Text => Manner::AsText,
        }
    }

    /// Reads a path of the format.
    pub(super) fn place(self, text: &str) -> Result<Place, String> {
        match self {
            Self::Json => JsonPath::parse(text).map(Place::Json),
            Self::X12 => text.parse().map(Place::X12).map_err(|error| {
                let error: proctor_x12::path::PathError = error;
                error.to_string()
            }),
            Self::Hl7 => text.parse().map(Place::Hl7).map_err(|error| {
                let error: proctor_hl7::PathError = error;
                error.to_string()
            }),
            Self::Csv => match JsonPath::parse(text)?.steps() {
                [row @ (Step::Place(..) | Step::Any), column] => Ok(Place::Csv {
                    row: row.clone(),
                    column: column.clone(),
                }),
                _ => Err(format!(
                    "'{text}' is no path in CSV: a row and a column are, as in 0.member_id or *.member_id"
                )),
            },
            Self::Text => match JsonPath::parse(text)?.steps() {
                [Step::Name(name)] if name == "text" => Ok(Place::Whole),
                [Step::Name(name), line @ (Step::Place(..) | Step::Any)] if name == "lines" => {
                    Ok(Place::Line(line.clone()))
                }
                _ => Err(format!(
                    "'{text}' is no path in text: text, lines.0 and lines.* are"
                )),
            },
        }
    }
}

impl<'w> Content<'w> {
    /// Reads a file, in its format when values of it are asked for.
    pub(super) fn read(bytes: &'w [u8], format: Format, is_parsed: bool) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let parsed = if is_parsed {
            parse(&text, format)
        } else {
            Ok(Parsed::Nothing)
        };
        let (parsed, problem) = match parsed {
            Ok(parsed) => (parsed, None),
            Err(problem) => (Parsed::Nothing, Some(problem)),
        };
        Self {
            text,
            problem,
            parsed,
        }
    }

    /// What stands at a place.
    pub(super) fn find(&self, place: &Place) -> Found<'_> {
        match (&self.parsed, place) {
            (Parsed::Json(value), Place::Json(path)) => Found::at(path, value),
            (Parsed::X12(segments), Place::X12(path)) => Found::text(path.value(segments)),
            (Parsed::Csv { header, rows }, Place::Csv { row, column }) => {
                find_cells(header, rows, row, column)
            }
            (Parsed::Text, Place::Hl7(path)) => match Message::parse(self.text.as_bytes()) {
                Ok(message) => crate::checks::hl7::find(path, &message),
                Err(_) => Found::One(None),
            },
            (Parsed::Text, Place::Whole) => Found::text(Some(self.text.as_ref())),
            (Parsed::Text, Place::Line(Step::Any)) => {
                Found::many(self.text.lines().map(|line| Some(line.to_owned())))
            }
            (Parsed::Text, Place::Line(Step::Place(number, _))) => {
                Found::text(self.text.lines().nth(*number))
            }
            _ => Found::One(None),
        }
    }
}

fn parse(text: &str, format: Format) -> Result<Parsed, String> {
    match format {
        Format::Json => serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map(Parsed::Json)
            .map_err(|error| format!("not JSON: {error}")),
        Format::X12 => {
            let document = Document::read(text.as_bytes());
            let document = document.map_err(|error| format!("not X12: {error}"))?;
            let interchanges = document.interchanges.into_iter();
            Ok(Parsed::X12(
                interchanges.flat_map(|one| one.segments).collect(),
            ))
        }
        Format::Hl7 => match Message::parse(text.as_bytes()) {
            Ok(_) => Ok(Parsed::Text),
            Err(error) => Err(format!("not HL7: {error}")),
        },
        Format::Csv => {
            let text = text.trim_start_matches('\u{feff}');
            let mut reader = ReaderBuilder::new()
                .flexible(true)
                .from_reader(text.as_bytes());
            let not_csv = |error: csv::Error| format!("not CSV: {error}");
            let header = reader.headers().map_err(not_csv)?.clone();
            let rows = reader.records().collect::<Result<_, _>>();
            let rows = rows.map_err(not_csv)?;
            Ok(Parsed::Csv { header, rows })
        }
        Format::Text => Ok(Parsed::Text),
    }
}

/// Cells by row and column. A column is the one of that name in the header, or else at that place.
fn find_cells<'c>(
    header: &StringRecord,
    rows: &[StringRecord],
    row: &Step,
    column: &Step,
) -> Found<'c> {
    // CSV does not tell an empty cell from none.
    let is_filled = |cell: &&str| !cell.is_empty();
    let named = |name: &str| header.iter().position(|one| one == name);
    let cells = |record: &StringRecord| -> Vec<String> {
        let cell = |place: usize| record.get(place).filter(is_filled).map(str::to_owned);
        match column {
            Step::Any => record.iter().filter(is_filled).map(str::to_owned).collect(),
            Step::Name(name) => Vec::from_iter(named(name).and_then(cell)),
            Step::Place(place, name) => Vec::from_iter(cell(named(name).unwrap_or(*place))),
        }
    };
    match (row, column) {
        (Step::Place(number, _), Step::Name(_) | Step::Place(..)) => {
            let found = rows.get(*number).map(cells);
            Found::text(found.and_then(|cells| cells.into_iter().next()))
        }
        (Step::Place(number, _), Step::Any) => {
            let cells = rows.get(*number).map(cells);
            Found::many(cells.into_iter().flatten().map(Some))
        }
        _ => Found::many(rows.iter().flat_map(cells).map(Some)),
    }
}
