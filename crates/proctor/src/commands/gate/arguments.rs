//! What can be asked of `proctor gate`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::OptionalAccess;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Gate {
    #[command(subcommand)]
    pub(crate) action: Option<GateAction>,
    /// The candidate: ids of runs with commas between, latest:AGENT, or labels
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) options: GateRun,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GateAction {
    /// Write a policy to begin with
    Init {
        /// Where to write it
        #[arg(default_value = "gate.toml")]
        file: PathBuf,
        /// Write over what is there
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GateRun {
    /// What it is compared with, if that is not what the policy says
    #[arg(long, value_name = "RUNS")]
    pub(crate) baseline: Option<String>,
    /// The policy
    #[arg(long, value_name = "FILE", default_value = "gate.toml")]
    pub(crate) policy: PathBuf,
    /// What INCONCLUSIVE means to those who know two answers only
    #[arg(
        long,
        value_name = "ANSWER",
        default_value = "own",
        hide_default_value = true
    )]
    pub(crate) inconclusive: Inconclusive,
    /// Compare although versions, rubrics or limits differ
    #[arg(long)]
    pub(crate) even_though: bool,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// What a test case of the JUnit report is
    #[arg(long, value_name = "LEVEL", default_value = "task")]
    pub(crate) junit_level: JunitLevel,
    /// Write a summary in Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
    /// Write a badge as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
    /// Tell GitHub Actions: step summary, outputs, annotations, a comment on the pull request
    #[arg(long)]
    pub(crate) github: bool,
    /// When a pull request gets a comment
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) comment: CommentWhen,
    /// The benchmark's file in this repository, for the lines of annotations
    #[arg(long, value_name = "FILE")]
    pub(crate) benchmark_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: OptionalAccess,
    /// Use ASCII for marks and arrows on the terminal
    #[arg(long, conflicts_with = "json")]
    pub(crate) ascii: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inconclusive {
    /// Exit with 4
    #[value(hide = true)]
    Own,
    /// Exit with 0, as for PASS
    Pass,
    /// Exit with 1, as for FAIL
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum JunitLevel {
    /// A task
    Task,
    /// A criterion; each task is a suite
    Criterion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommentWhen {
    /// If something changed, failed or is void; one that is there is kept up
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
