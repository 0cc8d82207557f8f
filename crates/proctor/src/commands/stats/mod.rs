//! `proctor stats`: statistics of scores from anywhere. Reads requests, prints answers; what they mean is `proctor_statistics`.

mod answer;
mod request;
mod tasks;

use std::{
    io::{IsTerminal as _, Read as _},
    path::PathBuf,
};

use clap::Args;
use proctor_core::problem::{Problems, join};
use proctor_statistics::Refusal;
use serde_json::{Value, json};

use self::{answer::Answer, request::Request};
use crate::{
    exit::{Exit, WrongUse},
    terminal,
};

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// JSON: {"op": …, "input": …}, a list of such requests, or one a line; - is standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Print JSON, also on a terminal
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Stats) -> anyhow::Result<Exit> {
    let source = arguments.file.display().to_string();
    let text = match source.as_str() {
        "-" => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map(|_| text).map_err(|error| error.to_string())
        }
        _ => fs_err::read_to_string(&arguments.file).map_err(|error| error.to_string()),
    };
    let text = text.map_err(WrongUse)?;
    let wrong = |message: String| match source.as_str() {
        "-" => WrongUse(format!("standard input: {message}")),
        file => WrongUse(format!("{file}: {message}")),
    };
    let documents = parse(&text).map_err(&wrong)?;
    let questions: Vec<Questions> = documents
        .iter()
        .map(|document| Questions::read(document).map_err(|problems| wrong(problems.to_string())))
        .collect::<Result<_, _>>()?;
    let for_programs = arguments.json || !std::io::stdout().is_terminal();
    let exits = questions.into_iter().map(|questions| {
        let answers: Vec<Result<Answer, Refusal>> = questions
            .requests
            .into_iter()
            .map(|request| request.and_then(|request| request.answer()))
            .collect();
        if for_programs {
            print_json(&answers, questions.is_list);
        } else {
            answers.iter().for_each(print_words);
        }
        let exits = answers.iter().map(exit);
        exits
            .max_by_key(|exit| severity(*exit))
            .unwrap_or(Exit::Fine)
    });
    Ok(exits
        .max_by_key(|exit| severity(*exit))
        .unwrap_or(Exit::Fine))
}

/// One JSON value, or several one after the other (a line each, or not).
fn parse(text: &str) -> Result<Vec<Value>, String> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let values: Vec<Value> = values
        .collect::<Result<_, _>>()
        .map_err(|error| format!("it is not JSON: {error}"))?;
    match values.is_empty() {
        true => Err("it is empty; expected is {\"op\": …, \"input\": …}".to_owned()),
        false => Ok(values),
    }
}

/// What one JSON value asks: one thing, or a list of things.
struct Questions {
    requests: Vec<Result<Request, Refusal>>,
    is_list: bool,
}

impl Questions {
    /// Reads a request, a list of them, or a file of test vectors.
    fn read(value: &Value) -> Result<Self, Problems> {
        let (path, list) = match value {
            Value::Array(list) => ("", Some(list)),
            Value::Object(map) => ("vectors", map.get("vectors").and_then(Value::as_array)),
            _ => ("", None),
        };
        let Some(list) = list else {
            return Ok(Self {
                requests: vec![Request::read("", value)?],
                is_list: false,
            });
        };
        let requests = list.iter().enumerate();
        let requests =
            requests.map(|(place, one)| Request::read(&join(path, &place.to_string()), one));
        Ok(Self {
            requests: requests.collect::<Result<_, _>>()?,
            is_list: true,
        })
    }
}

fn print_json(answers: &[Result<Answer, Refusal>], is_list: bool) {
    let values = answers.iter().map(|answer| match answer {
        Ok(answer) => answer.json.clone(),
        Err(refusal) => json!({"refused": refusal.as_str()}),
    });
    if is_list {
        let values: Vec<Value> = values.collect();
        terminal::print(format_args!("{}\n", Value::Array(values)));
    } else {
        values.for_each(|value| terminal::print(format_args!("{value}\n")));
    }
}

fn print_words(answer: &Result<Answer, Refusal>) {
    match answer {
        Ok(answer) => terminal::print(format_args!("{}\n", answer.words.trim_end())),
        Err(refusal) => eprintln!("refused: {}: {refusal}", refusal.as_str()),
    }
}

const fn exit(answer: &Result<Answer, Refusal>) -> Exit {
    match answer {
        Ok(answer) => answer.exit,
        Err(_) => Exit::WrongUse,
    }
}

/// Which of several ends is told: a refusal before a FAIL before an open gate.
const fn severity(exit: Exit) -> u8 {
    match exit {
        Exit::Fine => 0,
        Exit::Inconclusive => 1,
        Exit::No => 2,
        Exit::WrongUse => 3,
        Exit::PlatformFailed | Exit::ProviderFailed => 4,
    }
}

#[cfg(test)]
mod tests;
