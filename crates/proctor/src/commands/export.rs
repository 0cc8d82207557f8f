//! `proctor export`: a run in one file, to keep, to send and to check.

use std::path::{Path, PathBuf};

use clap::Args;
use proctor_benchmarks::ApiError;
use proctor_core::id::kinds::RunKind;

use super::{access::Access, compare::refused, show::either};
use crate::{
    exit::{Exit, WrongUse},
    terminal,
};

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The run, by its id
    pub(crate) run: String,
    /// The file [default: RUN.html, or what is chosen]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// A zip: all task runs as pages, run.json, journals that `proctor verify-journal` checks, digests
    #[arg(long, conflicts_with_all = ["csv", "jsonl"])]
    pub(crate) zip: bool,
    /// A table with a row for each criterion run
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) csv: bool,
    /// The same as JSON lines, with evidence
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// Take out credentials and the values of entities that are marked secret; journals are left out
    #[arg(long)]
    pub(crate) redact: bool,
    #[command(flatten)]
    pub(crate) access: Access,
}

impl Export {
    /// The ending of the file: chosen by a flag, or else by the name of the file.
    fn ending(&self) -> Result<&'static str, WrongUse> {
        let chosen = match (self.zip, self.csv, self.jsonl) {
            (true, ..) => Some("zip"),
            (_, true, _) => Some("csv"),
            (_, _, true) => Some("jsonl"),
            _ => None,
        };
        let named = self.output.as_deref().and_then(Path::extension);
        let named = named.and_then(|ending| ending.to_str());
        Ok(match (chosen, named) {
            (Some(chosen), _) => chosen,
            (None, None | Some("html" | "htm")) => "html",
            (None, Some("zip")) => "zip",
            (None, Some("csv")) => "csv",
            (None, Some("jsonl")) => "jsonl",
            (None, Some(other)) => {
                return Err(WrongUse(format!(
                    "a file that ends with .{other} is not known; .html, .zip, .csv and .jsonl are"
                )));
            }
        })
    }
}

pub(crate) async fn run(arguments: Export) -> anyhow::Result<Exit> {
    let run = either::<RunKind>(&arguments.run).map_err(|_| {
        WrongUse(format!(
            "'{}' is not the id of a run (br_…, bmr_…)",
            arguments.run
        ))
    })?;
    let ending = arguments.ending()?;
    let redact = if arguments.redact { "?redact=1" } else { "" };
    let connection = arguments.access.open().await?;
    let path = format!("/ui/runs/{run}/export.{ending}{redact}");
    let fetched = connection.api.fetch(&path).await;
    connection.close().await?;
    let bytes = fetched.map_err(|error| not_exported(error, &arguments.run))?;
    let file = match arguments.output {
        Some(file) => file,
        None => PathBuf::from(format!("{run}.{ending}")),
    };
    if file.as_os_str() == "-" {
        use std::io::Write as _;
        std::io::stdout().write_all(&bytes)?;
        return Ok(Exit::Fine);
    }
    fs_err::write(&file, &bytes)?;
    terminal::print(format_args!("{}\n", file.display()));
    Ok(Exit::Fine)
}

/// The server answers with pages here, which are no words for a terminal.
fn not_exported(error: ApiError, run: &str) -> anyhow::Error {
    let status = match &error {
        ApiError::Refused { status, .. } => status.as_u16(),
        _ => return refused(error),
    };
    match status {
        401 => WrongUse(
            "this needs a key of the organization or of a Solver; use --key or PROCTOR_KEY"
                .to_owned(),
        )
        .into(),
        404 => WrongUse(format!(
            "the server knows no run '{run}', or it belongs to somebody else"
        ))
        .into(),
        status => anyhow::anyhow!("the server answered {status}; its log says why"),
    }
}
