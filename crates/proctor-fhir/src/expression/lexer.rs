//! Splits the text of an expression into tokens.

use super::ExpressionError;
use crate::primitive::text::excerpt;

/// The smallest parts of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Number(String),
    /// `%resource` and its like.
    Variable(String),
    /// `$this`.
    This,
    Dot,
    Comma,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Pipe,
    Equal,
    NotEqual,
}

/// All tokens of `text`, each with the byte where it starts.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ExpressionError> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let position = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(found);
        };
        let (token, length) = match first {
            '.' => (Token::Dot, 1),
            ',' => (Token::Comma, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '[' => (Token::OpenBracket, 1),
            ']' => (Token::CloseBracket, 1),
            '|' => (Token::Pipe, 1),
            '=' => (Token::Equal, 1),
            '!' if rest.starts_with("!=") => (Token::NotEqual, 2),
            '\'' => quoted(rest, '\'')
                .map(|(name, length)| (Token::Text(name), length))
                .ok_or_else(|| unreadable(text, position, "a closing quote"))?,
            '`' => quoted(rest, '`')
                .map(|(name, length)| (Token::Name(name), length))
                .ok_or_else(|| unreadable(text, position, "a closing backtick"))?,
            '$' if word(&rest[1..]) == "this" => (Token::This, 5),
            '%' if !word(&rest[1..]).is_empty() => {
                let name = word(&rest[1..]);
                (Token::Variable(name.to_owned()), 1 + name.len())
            }
            '0'..='9' => {
                let length = number_length(rest);
                (Token::Number(rest[..length].to_owned()), length)
            }
            letter if letter.is_ascii_alphabetic() || letter == '_' => {
                let name = word(rest);
                (Token::Name(name.to_owned()), name.len())
            }
            _ => {
                return Err(unreadable(
                    text,
                    position,
                    "a name, a literal or an operator",
                ));
            }
        };
        found.push((position, token));
        rest = &rest[length..];
    }
}

pub(super) fn unreadable(text: &str, position: usize, expected: &'static str) -> ExpressionError {
    ExpressionError::Syntax {
        expression: excerpt(text),
        position,
        expected,
    }
}

fn word(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    &text[..end]
}

/// Digits with at most one decimal point that has digits after it, so that `1.first()` keeps its dot.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(0);
    match text.as_bytes().get(whole) {
        Some(b'.') if digits(whole + 1) > 0 => whole + 1 + digits(whole + 1),
        _ => whole,
    }
}

/// The text between quotes with its escapes resolved, and the length of it all in the source.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((position, character)) = characters.next() {
        match character {
            '\\' => match characters.next()?.1 {
                'n' => content.push('\n'),
                't' => content.push('\t'),
                'r' => content.push('\r'),
                other => content.push(other),
            },
            closing if closing == quote => return Some((content, position + 1)),
            other => content.push(other),
        }
    }
    None
}
