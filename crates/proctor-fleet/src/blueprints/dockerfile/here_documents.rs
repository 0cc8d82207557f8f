//! Here-documents: texts that follow an instruction, up to a line with their delimiter.

use super::words;

/// A document and what its delimiter says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HereDocument {
    /// The delimiter, which is also what a copied file is called in a directory.
    pub(crate) name: String,
    /// Everything up to the delimiter, with the ends of lines.
    pub(crate) content: String,
    /// Whether variables are replaced: not if the delimiter was quoted.
    pub(crate) expands: bool,
    /// The word that began it, as it was written.
    pub(crate) word: String,
}

/// The beginning of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    name: String,
    expands: bool,
    strips_tabs: bool,
    word: String,
}

/// The documents that an instruction begins, in order. Only `RUN`, `COPY` and `ADD` have some.
pub(super) fn begun_by(text: &str) -> Vec<Start> {
    let (keyword, rest) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text, ""));
    let has_documents = ["RUN", "COPY", "ADD"]
        .iter()
        .any(|one| keyword.eq_ignore_ascii_case(one));
    if !has_documents {
        return Vec::new();
    }
    let (words, _) = words::scan(rest, ends_word);
    words.iter().filter_map(|word| Start::of(word)).collect()
}

impl Start {
    /// `<<NAME`, `<<-NAME`, `<<"NAME"`, with a number before it or without.
    pub(super) fn of(word: &str) -> Option<Self> {
        let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_prefix("<<")?;
        let (rest, strips_tabs) = match rest.strip_prefix('-') {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        let quoted = ['"', '\''].iter().find_map(|quote| {
            let inner = rest.strip_prefix(*quote)?.strip_suffix(*quote)?;
            Some(inner)
        });
        let (name, expands) = match quoted {
            Some(name) => (name, false),
            None => (rest, true),
        };
        is_name(name).then(|| Self {
            name: name.to_owned(),
            expands,
            strips_tabs,
            word: word.to_owned(),
        })
    }

    /// Takes the document's lines.
    pub(super) fn read(
        self,
        lines: &mut dyn Iterator<Item = &str>,
    ) -> Result<HereDocument, String> {
        let mut content = String::new();
        for line in lines {
            let line = match self.strips_tabs {
                true => line.trim_start_matches('\t'),
                false => line,
            };
            if line == self.name {
                return Ok(HereDocument {
                    name: self.name,
                    content,
                    expands: self.expands,
                    word: self.word,
                });
            }
            content.push_str(line);
            content.push('\n');
        }
        Err(format!("the here-document '{}' is not closed", self.name))
    }
}

/// What ends a command also ends a word.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, ';' | '&' | '|' | ')' | '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, bool)> {
        let starts = begun_by(text).into_iter();
        starts.map(|start| (start.name, start.expands)).collect()
    }

    #[test]
    fn only_words_of_their_own_begin_a_document() {
        let one = |name: &str, expands| vec![(name.to_owned(), expands)];
        assert_eq!(names("RUN <<EOF"), one("EOF", true));
        assert_eq!(names("RUN cat <<-'E_F' > /x"), one("E_F", false));
        assert_eq!(names("COPY <<\"a.txt\" /b"), one("a.txt", false));
        assert_eq!(names("run python3 - <<EOF && true"), one("EOF", true));
        assert_eq!(names("RUN cat <<A <<B").len(), 2);
        for none in [
            "RUN echo $((1<<2))",
            "RUN cat <<<word",
            "RUN echo '<<EOF'",
            "RUN echo \"a <<EOF b\"",
            "ENV A=<<EOF",
            "RUN a << b",
        ] {
            assert_eq!(names(none), [], "{none}");
        }
    }
}
