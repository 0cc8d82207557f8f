//! `proctor harbor`: Harbor's tasks, data sets and job files.

mod check;
mod env_file;
mod export;
mod job_file;
mod pack;
mod run;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::{export::Export, run::Run};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct Harbor {
    #[command(subcommand)]
    pub(crate) action: HarborAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HarborAction {
    /// Say everything that is wrong with tasks, data sets and job files, and every key that has no effect
    Check {
        /// Task directories, directories of tasks, or job files
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Print JSON, a line for each task, data set or job file
        #[arg(long)]
        json: bool,
    },
    /// Run a job file, on a server or on one inside this process
    Run(Box<Run>),
    /// Write the results of a job in Harbor's own layout
    Export(Export),
}

pub(crate) async fn run(arguments: Harbor) -> anyhow::Result<Exit> {
    match arguments.action {
        HarborAction::Check { paths, json } => check::run(&paths, json),
        HarborAction::Run(arguments) => run::run(*arguments).await,
        HarborAction::Export(arguments) => export::run(arguments).await,
    }
}
