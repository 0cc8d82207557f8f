//! Text of strangers as text: no control characters, no direction marks, nothing that a host would take for its own.

/// What stands for text that was cut.
const CUT: &str = "…";

/// Whether a character is shown as its code: it would move a cursor, hide itself, or turn the direction of what follows.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{00ad}'
                | '\u{061c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// One line of visible text, at most so many characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    cut(&visible(text, false), most)
}

/// A name with what is said about it, if anything is.
pub(crate) fn told(name: &str, said: &str) -> String {
    match said.trim().is_empty() {
        true => name.to_owned(),
        false => format!("{name}: {said}"),
    }
}

/// Several lines of visible text, at most so many characters.
pub(crate) fn lines(text: &str, most: usize) -> String {
    cut(&visible(text, true), most)
}

fn visible(text: &str, keeps_lines: bool) -> String {
    let mut seen = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' if keeps_lines => seen.push('\n'),
            '\n' | '\t' => seen.push(' '),
            '\r' => {}
            letter if is_hidden(letter) => {
                seen.push_str(&format!("<U+{:04X}>", u32::from(letter)));
            }
            letter => seen.push(letter),
        }
    }
    seen
}

/// The beginning of a text, with a sign that it goes on.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept = text.chars().take(most.saturating_sub(1));
            kept.chain(CUT.chars()).collect()
        }
    }
}

/// The end of a text, at most so many bytes, with a sign that something was before it.
pub(crate) fn tail(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut begin = text.len() - most.saturating_sub(CUT.len());
    while !text.is_char_boundary(begin) {
        begin += 1;
    }
    format!("{CUT}{}", &text[begin..])
}

/// Text of strangers in Markdown: a code span, which nothing inside can leave, and in which no name is a mention and no number an issue.
pub(crate) fn code(text: &str, most: usize) -> String {
    let text = line(text, most);
    let text = text.trim();
    if text.is_empty() {
        return "` `".to_owned();
    }
    let longest = longest_run(text, '`');
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    // In a table a bar ends the cell also inside a code span.
    let text = text.replace('|', "\\|");
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Several lines of strangers in Markdown.
pub(crate) fn block(text: &str, most: usize) -> String {
    let text = lines(text, most);
    let fence = "`".repeat(longest_run(&text, '`').max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

fn longest_run(text: &str, of: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for letter in text.chars() {
        run = if letter == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_hidden_stays_hidden() {
        assert_eq!(
            line("a\u{1b}[31mb\u{202e}c\r\nd", 99),
            "a<U+001B>[31mb<U+202E>c d"
        );
        assert_eq!(line("\u{0}", 9), "<U+0000>");
        assert_eq!(lines("a\nb\tc", 99), "a\nb c");
        assert_eq!(line("abcdef", 4), "abc…");
        assert_eq!(tail("abcdefgh", 8), "abcdefgh");
        assert_eq!(tail("abcdéfghi", 7), "…fghi");
        assert_eq!(tail("äöü", 5), "…ü");
    }

    #[test]
    fn a_name_without_words_has_no_colon() {
        assert_eq!(told("answer", "is 41"), "answer: is 41");
        assert_eq!(told("cancelled", " "), "cancelled");
    }

    #[test]
    fn a_code_span_holds_whatever_is_in_it() {
        assert_eq!(code("@admin #12", 99), "`@admin #12`");
        assert_eq!(code("a`b``c", 99), "``` a`b``c ```");
        assert_eq!(code("a|b", 99), "`a\\|b`");
        assert_eq!(code("", 9), "` `");
        assert_eq!(block("a\n```\nb", 99), "````text\na\n```\nb\n````");
    }

    proptest! {
        #[test]
        fn a_span_is_one_line_and_as_long_as_it_may_be(text in any::<String>(), most in 2usize..50) {
            prop_assert!(!code(&text, most).contains('\n'));
            prop_assert!(line(&text, most).chars().count() <= most);
            prop_assert!(line(&text, most).chars().all(|letter| !is_hidden(letter)));
        }
    }
}
