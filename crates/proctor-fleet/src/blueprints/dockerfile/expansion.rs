//! Variables and quotes in a word.

/// The text that a word stands for: quotes are taken off, variables replaced by what `lookup` knows of them (nothing, if
/// it knows nothing).
pub(crate) fn expand(
    word: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut reader = Reader {
        rest: word,
        lookup,
        depth: 0,
    };
    reader.until(None)
}

/// A text whose quotes are part of it: only variables are replaced, and `\$` is a dollar.
pub(crate) fn expand_text(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut reader = Reader {
        rest: text,
        lookup,
        depth: 0,
    };
    let mut expanded = String::new();
    while let Some(c) = reader.next() {
        match c {
            '$' => expanded.push_str(&reader.variable()?),
            '\\' => match reader.next() {
                Some(escaped @ ('$' | '\\')) => expanded.push(escaped),
                Some(other) => expanded.extend(['\\', other]),
                None => expanded.push('\\'),
            },
            c => expanded.push(c),
        }
    }
    Ok(expanded)
}

/// `${a:-${b:-${c}}}` may go on like this, but not for ever.
const DEEPEST: usize = 20;

struct Reader<'r> {
    rest: &'r str,
    lookup: &'r dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Everything up to `end`, which is taken off too, or to the end of the word.
    fn until(&mut self, end: Option<char>) -> Result<String, String> {
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                c if Some(c) == end => return Ok(text),
                '\'' => text.push_str(&self.single()?),
                '"' => text.push_str(&self.double()?),
                '\\' => text.extend(self.next()),
                '$' => text.push_str(&self.variable()?),
                c => text.push(c),
            }
        }
        match end {
            None => Ok(text),
            Some(_) => Err("'${' without '}'".to_owned()),
        }
    }

    fn single(&mut self) -> Result<String, String> {
        match self.rest.split_once('\'') {
            Some((quoted, rest)) => {
                self.rest = rest;
                Ok(quoted.to_owned())
            }
            None => Err("a quote is not closed".to_owned()),
        }
    }

    fn double(&mut self) -> Result<String, String> {
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                '"' => return Ok(text),
                '$' => text.push_str(&self.variable()?),
                '\\' => match self.next() {
                    Some(escaped @ ('"' | '\\' | '$')) => text.push(escaped),
                    Some(other) => text.extend(['\\', other]),
                    None => text.push('\\'),
                },
                c => text.push(c),
            }
        }
        Err("a quote is not closed".to_owned())
    }

    /// What stands after a `$`.
    fn variable(&mut self) -> Result<String, String> {
        if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            return self.braced();
        }
        let name = self.name();
        Ok(if name.is_empty() {
            "$".to_owned()
        } else {
            (self.lookup)(&name).unwrap_or_default()
        })
    }

    fn name(&mut self) -> String {
        let length = self
            .rest
            .char_indices()
            .find(|(place, c)| {
                let fits =
                    c.is_ascii_alphabetic() || *c == '_' || (*place > 0 && c.is_ascii_digit());
                !fits
            })
            .map_or(self.rest.len(), |(place, _)| place);
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        name.to_owned()
    }

    /// What stands after a `${`.
    fn braced(&mut self) -> Result<String, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("variables are nested too deeply".to_owned());
        }
        let name = self.name();
        if name.is_empty() {
            return Err("'${' without the name of a variable".to_owned());
        }
        let value = (self.lookup)(&name);
        // With a colon, an empty value is as good as none.
        let (value, operator) = match self.next() {
            Some(':') => (value.filter(|value| !value.is_empty()), self.next()),
            other => (value, other),
        };
        let result = match operator {
            Some('}') => Ok(value.unwrap_or_default()),
            Some('-') => {
                let default = self.until(Some('}'))?;
                Ok(value.unwrap_or(default))
            }
            Some('+') => {
                let other = self.until(Some('}'))?;
                Ok(value.map(|_| other).unwrap_or_default())
            }
            Some('?') => {
                let message = self.until(Some('}'))?;
                value.ok_or_else(|| format!("{name}: {message}"))
            }
            _ => Err(format!("'${{{name}…}}' is not supported")),
        };
        self.depth -= 1;
        result
    }
}
