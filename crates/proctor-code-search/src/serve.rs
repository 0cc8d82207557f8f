//! Answers questions until there are no more.

use std::io::{self, Read, Write};

use crate::{
    code::{CodePattern, CodeSearch},
    wire::{Answer, Question, receive, send},
};

/// Answers on `output` what is asked on `input`, until that ends.
pub fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut search = None;
    loop {
        let (question, bytes) = match receive(&mut input) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        };
        let (answer, text) = answer(&mut search, question, &bytes)?;
        send(&mut output, &answer, text.as_bytes())?;
    }
}

fn answer(
    search: &mut Option<CodeSearch>,
    question: Question,
    bytes: &[u8],
) -> io::Result<(Answer, String)> {
    let answer = match (question, search) {
        (Question::Open { pattern, language }, search) => {
            match CodePattern::read(pattern, language.as_deref()) {
                Ok(pattern) => {
                    *search = Some(CodeSearch::new(pattern));
                    Answer::Opened
                }
                Err(bad) => Answer::Refused(bad),
            }
        }
        (_, None) => {
            let why = "a question before there is a pattern";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        (Question::Select { by_itself }, Some(search)) => {
            let paths = String::from_utf8_lossy(bytes);
            let can_match = paths
                .split('\0')
                .enumerate()
                .filter(|(_, path)| search.language_of(path, by_itself).is_some());
            Answer::Selected(can_match.map(|(place, _)| place).collect())
        }
        (Question::Search { path, by_itself }, Some(search)) => {
            let source = String::from_utf8_lossy(bytes);
            let found = search
                .language_of(&path, by_itself)
                .and_then(|language| search.first_match(language, &source));
            match found {
                None => Answer::NoMatch,
                Some(found) => return Ok((Answer::Match { line: found.line }, found.text)),
            }
        }
    };
    Ok((answer, String::new()))
}
