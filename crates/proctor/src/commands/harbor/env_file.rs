//! Files of environment variables: `NAME=VALUE` lines, as shells and Docker read them.

use std::{collections::BTreeMap, path::Path};

use crate::exit::WrongUse;

/// Reads a file of variables; a line that is none is wrong use.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, String>, WrongUse> {
    let text = fs_err::read_to_string(path).map_err(|error| WrongUse(error.to_string()))?;
    parse(&text).map_err(|line| {
        let path = path.display();
        WrongUse(format!("{path}:{line}: expected NAME=VALUE"))
    })
}

/// The variables of a text, or the number of the first line that is none.
fn parse(text: &str) -> Result<BTreeMap<String, String>, usize> {
    let mut variables = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(number + 1)?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(number + 1);
        }
        let unquoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        variables.insert(name.to_owned(), unquoted.unwrap_or(value).to_owned());
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_variables_comments_or_wrong() {
        let text = "# keys\nexport A=1\n\nB = \"two words\"\nC='x'\nD=a=b\nE=\n";
        let found = parse(text).unwrap();
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("A", "1"),
                ("B", "two words"),
                ("C", "x"),
                ("D", "a=b"),
                ("E", "")
            ]
        );
        assert_eq!(parse("A=1\nnothing\n"), Err(2));
        assert_eq!(parse("=1"), Err(1));
    }
}
