//! Words of an instruction, with their quotes still on.

/// The words of a text; blanks inside quotes or behind a backslash do not end one.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    match scan(text, char::is_whitespace) {
        (words, true) => Ok(words),
        (_, false) => Err("a quote is not closed".to_owned()),
    }
}

/// What stands between separators that are neither quoted nor behind a backslash, and whether every quote was closed. What an open quote holds is one word.
pub(super) fn scan(text: &str, separates: impl Fn(char) -> bool) -> (Vec<String>, bool) {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                word.push(c);
                word.extend(chars.next());
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                word.push(c);
            }
            (c, Some(open)) if c == open => {
                quote = None;
                word.push(c);
            }
            (c, None) if separates(c) => words.push(std::mem::take(&mut word)),
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    (words, quote.is_none())
}

/// The strings of a JSON array, if the text is one.
pub(super) fn json_array(text: &str) -> Option<Vec<String>> {
    if !text.starts_with('[') {
        return None;
    }
    serde_json::from_str(text).ok()
}
