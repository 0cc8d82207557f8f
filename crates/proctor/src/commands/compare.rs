//! `proctor compare`.

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use proctor_benchmarks::ApiError;
use serde_json::{Value, json};

use super::{access::Access, selection::selection};
use crate::{
    exit::{Exit, WrongUse},
    report::{answers::Comparison, links::Links, markdown, marks, tables},
    terminal,
};

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The baseline: ids of runs with commas between, latest:AGENT, or labels such as branch=main,newest=3
    pub(crate) a: String,
    /// What is compared with it, in the same forms
    pub(crate) b: String,
    /// Which question is asked
    #[arg(long, value_name = "QUESTION", default_value = "tasks")]
    pub(crate) about: Question,
    /// By what tasks belong together, such as tag:patient
    #[arg(long, value_name = "tag:NAME")]
    pub(crate) clusters: Option<String>,
    /// Compare every axis too
    #[arg(long)]
    pub(crate) axes: bool,
    /// Compare although versions, rubrics or limits differ
    #[arg(long)]
    pub(crate) even_though: bool,
    #[command(flatten)]
    pub(crate) access: Access,
    /// Use ASCII for marks and arrows
    #[arg(long, conflicts_with = "json")]
    pub(crate) ascii: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Question {
    /// Tasks like these
    Tasks,
    /// These very tasks, run again
    Suite,
}

impl Question {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Suite => "suite",
        }
    }
}

/// The version of the JSON that `--json` prints.
pub(super) const JSON_VERSION: u32 = 1;

pub(crate) async fn run(arguments: Compare) -> anyhow::Result<Exit> {
    let mut body = json!({
        "a": selection(&arguments.a)?, "b": selection(&arguments.b)?,
        "about": arguments.about.as_str(), "axes": arguments.axes, "even_though": arguments.even_though,
    });
    if let Some(clusters) = &arguments.clusters {
        body["clusters"] = json!(clusters);
    }
    let connection = arguments.access.open().await?;
    let answer = connection.api.post("/comparisons", &body).await;
    let server = connection.server.clone();
    connection.close().await?;
    let answer = answer.map_err(refused)?;
    if arguments.json {
        terminal::print(format_args!("{}\n", versioned(answer)));
        return Ok(Exit::Fine);
    }
    let found: Comparison = read(answer)?;
    let said = match arguments.markdown {
        true => markdown::comparison(&found, server.as_deref().map(Links::to)),
        false => tables::comparison(&found),
    };
    terminal::print(marks::shown(said, arguments.ascii));
    Ok(Exit::Fine)
}

/// A server that says no was asked for something that cannot be; everything else is a failure of the platform.
pub(super) fn refused(error: ApiError) -> anyhow::Error {
    match &error {
        ApiError::Refused {
            status, message, ..
        } if status.as_u16() == 401 => {
            WrongUse(format!("{message}; use --key or PROCTOR_KEY")).into()
        }
        ApiError::Refused {
            status, message, ..
        } if status.is_client_error() => WrongUse(message.clone()).into(),
        _ => error.into(),
    }
}

/// An answer as a type of ours.
pub(super) fn read<T: serde::de::DeserializeOwned>(answer: Value) -> anyhow::Result<T> {
    serde_json::from_value(answer).context("the server's answer is not as expected")
}

/// An answer with the version of what is printed.
pub(super) fn versioned(mut answer: Value) -> Value {
    answer["version"] = JSON_VERSION.into();
    answer
}
