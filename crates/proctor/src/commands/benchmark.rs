//! `proctor benchmark`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use miette::GraphicalReportHandler;
use proctor_api::telemetry::{self, TelemetryOptions};
use proctor_benchmarks::{
    Agent, Api, ApiError, BenchmarkFile, Checked, Folder, PullError, ReadFile, Report, Source,
    TakeError, enroll, pull, push, take,
};
use proctor_core::time::Clock as _;
use proctor_engine::Extensions;
use proctor_store::ambient::SystemClock;
use serde_json::{Value, json};

use crate::{
    cli::ServerAccess,
    commands::embedded::Embedded,
    exit::{Exit, WrongUse},
    terminal,
};

#[derive(Debug, Args)]
pub(crate) struct Benchmark {
    #[command(subcommand)]
    pub(crate) action: BenchmarkAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchmarkAction {
    /// Say everything that is wrong with benchmark files, and what a do-nothing agent would score
    Check {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Also let the reference agent replay the solutions, and require full marks
        #[arg(long)]
        oracle: bool,
        /// Make every warning an error
        #[arg(long)]
        strict: bool,
        /// Print JSON, a line for each file
        #[arg(long)]
        json: bool,
    },
    /// Put harms, mutants and random calls into the reference solutions, and require that the rubric sees them
    Admit {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print the certificates as JSON, a line for each file
        #[arg(long)]
        json: bool,
    },
    /// Create or update a benchmark on a server; unchanged content changes nothing
    Push {
        /// The file
        file: PathBuf,
        /// Publish it, unless its newest version says the same
        #[arg(long)]
        publish: bool,
        #[command(flatten)]
        server: ServerAccess,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a benchmark of a server as a file
    Pull {
        /// Its slug, for the draft, or slug@version, for what was published
        name: String,
        /// Where to write it [default: standard output]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        server: ServerAccess,
    },
}

pub(crate) async fn run(arguments: Benchmark) -> anyhow::Result<Exit> {
    match arguments.action {
        BenchmarkAction::Check {
            files,
            oracle,
            strict,
            json,
        } => {
            let mut exit = Exit::Fine;
            for file in &files {
                let mut checked = check(file, oracle).await?;
                if strict {
                    checked.report.make_strict();
                }
                checked.tell(json);
                if !checked.is_ok() {
                    exit = Exit::No;
                }
            }
            Ok(exit)
        }
        BenchmarkAction::Admit { files, json } => {
            let mut exit = Exit::Fine;
            for file in &files {
                if !admit(file, json)? {
                    exit = Exit::No;
                }
            }
            Ok(exit)
        }
        BenchmarkAction::Push {
            file,
            publish,
            server,
            json,
        } => push_file(&file, publish, server, json).await,
        BenchmarkAction::Pull {
            name,
            output,
            server,
        } => pull_file(&name, output.as_deref(), server).await,
    }
}

/// Tries whether a benchmark sees harm, and prints its certificate; whether it is admitted.
fn admit(path: &Path, json: bool) -> anyhow::Result<bool> {
    let file = match read(path)? {
        Ok(file) => file,
        Err(report) => {
            tell(&report);
            return Ok(false);
        }
    };
    let checked = file.check(SystemClock.now());
    // With their places in the file; the certificate names them again, because they keep a benchmark from being admitted.
    tell(&checked.report);
    if checked.report.has_errors() {
        return Ok(false);
    }
    let certificate = match file.admit(SystemClock.now()) {
        Ok(certificate) => certificate,
        Err(error) => {
            eprintln!("{}: error: {error}", path.display());
            return Ok(false);
        }
    };
    match json {
        true => terminal::print(format_args!("{}\n", json!(certificate))),
        false => terminal::print(format_args!("{certificate}")),
    }
    Ok(certificate.admitted)
}

/// Reads a file; what it refers to lies beside it.
fn read(path: &Path) -> anyhow::Result<Result<ReadFile, Report>> {
    let text = fs_err::read_to_string(path).map_err(|error| WrongUse(error.to_string()))?;
    let source = Source {
        name: path.display().to_string(),
        text,
    };
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => ".".into(),
    };
    Ok(ReadFile::read(
        source,
        &Folder::Directory(folder),
        &Extensions::shipped(),
    ))
}

/// What a benchmark's file says; what is wrong with it is told, and refused.
pub(super) fn content_of(path: &Path) -> anyhow::Result<BenchmarkFile> {
    match read(path)? {
        Ok(file) => Ok(file.content),
        Err(report) => {
            tell(&report);
            Err(WrongUse(format!("{} is not right", path.display())).into())
        }
    }
}

/// What is to be told about a file.
struct Findings {
    name: String,
    report: Report,
    read: Option<(ReadFile, Checked)>,
    /// What the built-in agents scored, or why they could not.
    proof: Option<Result<Proof, String>>,
}

struct Proof {
    oracle: f64,
    /// The verdict of the oracle's run, which is `fail` if it missed something critical.
    verdict: String,
    critical_misses: Vec<String>,
    null: f64,
    lost: Vec<String>,
}

async fn check(path: &Path, oracle: bool) -> anyhow::Result<Findings> {
    let name = path.display().to_string();
    let file = match read(path)? {
        Ok(file) => file,
        Err(report) => {
            return Ok(Findings {
                name,
                report,
                read: None,
                proof: None,
            });
        }
    };
    let checked = file.check(SystemClock.now());
    let proof = match oracle && !checked.report.has_errors() {
        true => Some(prove(&file).await?),
        false => None,
    };
    Ok(Findings {
        name,
        report: checked.report.clone(),
        read: Some((file, checked)),
        proof,
    })
}

/// Lets the built-in agents take a file on a server of its own.
async fn prove(file: &ReadFile) -> anyhow::Result<Result<Proof, String>> {
    let telemetry = telemetry::install(&TelemetryOptions {
        filter: "warn".to_owned(),
        ..TelemetryOptions::default()
    });
    let data = tempfile::tempdir()?;
    let server = Embedded::start(data.path(), SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let api = Api::new(&server.url, server.key.clone())?;
    let proof = taken(&api, file).await;
    server.stop().await?;
    if let Ok(telemetry) = telemetry {
        telemetry.shutdown();
    }
    match proof {
        Ok(proof) => Ok(Ok(proof)),
        Err(TakeError::Api(error @ ApiError::Unreachable { .. })) => Err(error.into()),
        Err(refused) => Ok(Err(refused.to_string())),
    }
}

async fn taken(api: &Api, file: &ReadFile) -> Result<Proof, TakeError> {
    let version = push(api, &file.content, true).await?.version.unwrap_or(1);
    let extensions = Extensions::shipped();
    let mut lost = Vec::new();
    let mut critical_misses = Vec::new();
    let solver = enroll(api, Agent::Oracle).await?;
    let oracle = take(
        &solver,
        &file.content,
        version,
        Agent::Oracle,
        &extensions,
        |task| {
            critical_misses.extend(
                task.critical_misses
                    .iter()
                    .map(|miss| miss.name().to_owned()),
            );
            for check in task.checks.iter().filter(|check| check.score < 1.0) {
                let details = check.details.as_deref().unwrap_or_default();
                lost.push(format!("{}: {}: {details}", task.name, check.label));
            }
        },
    )
    .await?;
    let solver = enroll(api, Agent::Null).await?;
    let null = take(
        &solver,
        &file.content,
        version,
        Agent::Null,
        &extensions,
        |_| {},
    )
    .await?;
    Ok(Proof {
        oracle: oracle.score,
        verdict: oracle.verdict,
        critical_misses,
        null: null.score,
        lost,
    })
}

impl Findings {
    fn is_ok(&self) -> bool {
        let proved = match &self.proof {
            None => true,
            Some(Ok(proof)) => proof.oracle >= 1.0 && proof.verdict == "pass" && proof.null <= 0.0,
            Some(Err(_)) => false,
        };
        self.read.is_some() && !self.report.has_errors() && proved
    }

    fn tell(&self, json: bool) {
        if json {
            terminal::print(format_args!("{}\n", self.to_json()));
            return;
        }
        tell(&self.report);
        if let Some(Err(why)) = &self.proof {
            eprintln!("{}: error: {why}", self.name);
        }
        if let Some(Ok(proof)) = &self.proof {
            for missed in &proof.critical_misses {
                eprintln!(
                    "{}: error: the solution misses the critical criterion '{missed}'",
                    self.name
                );
            }
            for lost in &proof.lost {
                eprintln!("{}: error: the solution does not meet {lost}", self.name);
            }
        }
        let Some((file, checked)) = &self.read else {
            return;
        };
        let tasks = file.content.tasks.len();
        let criteria = checked.criteria;
        let judged = if self.is_ok() { "ok" } else { "not ok" };
        let proof = match &self.proof {
            Some(Ok(proof)) => format!(", oracle {:.3}, null {:.3}", proof.oracle, proof.null),
            Some(Err(_)) | None => String::new(),
        };
        println!(
            "{}: {judged}: {tasks} tasks, {criteria} criteria{proof}",
            self.name
        );
    }

    fn to_json(&self) -> Value {
        let problems = self.report.problems.iter().map(|problem| {
            let place = problem
                .span
                .map(|span| self.report.source.line_and_column(span.offset));
            json!({
                "severity": problem.severity.as_str(),
                "path": problem.path,
                "line": place.map(|(line, _)| line),
                "column": place.map(|(_, column)| column),
                "message": problem.message,
            })
        });
        let mut said = json!({
            "file": self.name,
            "ok": self.is_ok(),
            "problems": problems.collect::<Value>(),
        });
        if let Some((file, checked)) = &self.read {
            said["slug"] = json!(file.content.slug);
            said["digest"] = json!(file.content.digest());
            said["tasks"] = json!(file.content.tasks.len());
            said["criteria"] = json!(checked.criteria);
        }
        match &self.proof {
            None => {}
            Some(Ok(proof)) => {
                said["oracle"] = json!({
                    "score": proof.oracle,
                    "verdict": proof.verdict,
                    "critical_misses": proof.critical_misses,
                    "lost": proof.lost,
                });
                said["null"] = json!({"score": proof.null});
            }
            Some(Err(why)) => said["oracle"] = json!({"error": why}),
        }
        said
    }
}

/// Tells people what is wrong: drawn on a terminal, a line each elsewhere.
fn tell(report: &Report) {
    if !terminal::is_for_people() {
        eprint!("{report}");
        return;
    }
    let handler = GraphicalReportHandler::new();
    for diagnostic in report.diagnostics() {
        let mut drawn = String::new();
        match handler.render_report(&mut drawn, &diagnostic) {
            Ok(()) => eprintln!("{drawn}"),
            Err(_) => eprintln!("{diagnostic}"),
        }
    }
}

async fn push_file(
    path: &Path,
    publish: bool,
    server: ServerAccess,
    json: bool,
) -> anyhow::Result<Exit> {
    let file = match read(path)? {
        Ok(file) => file,
        Err(report) => {
            tell(&report);
            return Ok(Exit::No);
        }
    };
    let checked = file.check(SystemClock.now());
    tell(&checked.report);
    if checked.report.has_errors() {
        return Ok(Exit::No);
    }
    let api = Api::new(&server.server, server.key).map_err(|bad| WrongUse(bad.to_string()))?;
    let pushed = match push(&api, &file.content, publish).await {
        Ok(pushed) => pushed,
        Err(error) => return answered(error),
    };
    let slug = file.content.slug.as_str();
    if json {
        println!(
            "{}",
            json!({
                "benchmark_id": pushed.benchmark_id,
                "slug": slug,
                "created": pushed.created,
                "changed": pushed.changed,
                "version": pushed.version,
                "published": pushed.published,
            })
        );
        return Ok(Exit::Fine);
    }
    let did = match (pushed.created, pushed.changed) {
        (true, _) => "created",
        (false, true) => "updated",
        (false, false) => "unchanged",
    };
    match (pushed.published, pushed.version) {
        (true, Some(version)) => println!("{slug}: {did}, published as {slug}@{version}"),
        (false, Some(version)) if publish => {
            println!("{slug}: {did}; {slug}@{version} is the same");
        }
        (_, Some(version)) => println!("{slug}: draft {did}; newest version {slug}@{version}"),
        (_, None) => println!("{slug}: draft {did}, not published yet"),
    }
    Ok(Exit::Fine)
}

async fn pull_file(
    name: &str,
    output: Option<&Path>,
    server: ServerAccess,
) -> anyhow::Result<Exit> {
    let api = Api::new(&server.server, server.key).map_err(|bad| WrongUse(bad.to_string()))?;
    let file = match pull(&api, name).await {
        Ok(file) => file,
        Err(PullError::Api(error)) => return answered(error),
        Err(bad @ PullError::BadName(_)) => return Err(WrongUse(bad.to_string()).into()),
        Err(no) => {
            terminal::report(&no.into());
            return Ok(Exit::No);
        }
    };
    let text = file.to_yaml();
    match output {
        None => terminal::print(text),
        Some(path) => {
            fs_err::write(path, text).context("the file cannot be written")?;
            println!("{name}: written to {}", path.display());
        }
    }
    Ok(Exit::Fine)
}

/// How a command ends after a server said no.
pub(super) fn answered(error: ApiError) -> anyhow::Result<Exit> {
    match &error {
        ApiError::Refused { status, .. } if status.as_u16() == 401 => {
            Err(WrongUse(format!("{error}; use --key or PROCTOR_KEY")).into())
        }
        ApiError::Refused { status, .. } if status.is_client_error() => {
            terminal::report(&error.into());
            Ok(Exit::No)
        }
        _ => Err(error.into()),
    }
}
