//! Tables as CSV files, for spreadsheets that would run what agents wrote.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};

/// A table that grows by rows.
pub(crate) struct Csv(String);

impl Csv {
    /// A table with these columns.
    pub(crate) fn new(columns: &[&str]) -> Self {
        let mut csv = Self(String::new());
        csv.row(columns.iter().map(|column| (*column).to_owned()));
        csv
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        for (place, cell) in cells.into_iter().enumerate() {
            if place > 0 {
                self.0.push(',');
            }
            self.cell(&cell);
        }
        self.0.push_str("\r\n");
    }

    fn cell(&mut self, text: &str) {
        // A spreadsheet takes these for the beginning of a formula; a number may begin with its sign.
        let is_formula =
            text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
        let guard = if is_formula { "'" } else { "" };
        match is_formula || text.contains([',', '"', '\n', '\r']) {
            false => self.0.push_str(text),
            true => {
                let text = text.replace('"', "\"\"");
                self.0.push_str(&format!("\"{guard}{text}\""));
            }
        }
    }

    /// The file.
    pub(crate) fn file(self, name: &str) -> Response {
        download(self.0, "text/csv; charset=utf-8", name)
    }
}

/// A number with its sign and three digits, or nothing.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.6}"))
}

/// A file that browsers keep and do not show.
pub(crate) fn download(body: String, kind: &'static str, name: &str) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let safe: String = name
        .chars()
        .map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() => letter,
            '-' | '_' | '.' => letter,
            _ => '-',
        })
        .collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{safe}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_text_to_a_spreadsheet() {
        let mut csv = Csv::new(&["name", "value"]);
        csv.row(["=1+1".to_owned(), "-0.5".to_owned()]);
        csv.row(["a \"b\", c".to_owned(), "@cmd".to_owned()]);
        assert_eq!(
            csv.0,
            "name,value\r\n\"'=1+1\",-0.5\r\n\"a \"\"b\"\", c\",\"'@cmd\"\r\n"
        );
    }
}
