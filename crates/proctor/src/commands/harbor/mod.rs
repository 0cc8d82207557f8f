//! `proctor harbor`: Harbor's tasks, data sets and job files.

mod check;
mod env_file;
mod export;
pub(super) mod job_file;
pub(super) mod pack;
mod run;

mod trial;

use clap::{Args, Subcommand};

pub(super) use self::pack::upload_archive;
use self::{check::Check, export::Export, run::Run};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct Harbor {
    #[command(subcommand)]
    pub(crate) action: HarborAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HarborAction {
    /// Say everything that is wrong with tasks, data sets and job files, and every key that has no effect
    Check(Box<Check>),
    /// Run a job file, on a server or on one inside this process
    Run(Box<Run>),
    /// Write the results of a job in Harbor's own layout
    Export(Export),
}

pub(crate) async fn run(arguments: Harbor) -> anyhow::Result<Exit> {
    match arguments.action {
        HarborAction::Check(arguments) => check::run(*arguments).await,
        HarborAction::Run(arguments) => run::run(*arguments).await,
        HarborAction::Export(arguments) => export::run(arguments).await,
    }
}
