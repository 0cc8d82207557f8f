//! One module a command: what it takes, and what it does.

pub(crate) mod access;
pub(crate) mod agent;
pub(crate) mod benchmark;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod doctor;
mod embedded;
pub(crate) mod export;
pub(crate) mod fhir;
pub(crate) mod gate;
pub(crate) mod harbor;
pub(crate) mod image;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod mcp;
pub(crate) mod open;
pub(crate) mod organizations;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod scenario;
mod selection;
pub(crate) mod serve;
pub(crate) mod show;
mod signals;
pub(crate) mod stats;
pub(crate) mod verify_journal;
pub(crate) mod watch;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::{
    cli::{Cli, Command},
    exit::Exit,
};

/// Does what was asked for.
pub(crate) async fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Serve(arguments) => serve::run(*arguments).await,
        Command::Keys(arguments) => keys::run(arguments).await,
        Command::Organizations(arguments) => organizations::run(arguments).await,
        Command::VerifyJournal(arguments) => verify_journal::run(arguments).await,
        Command::Benchmark(arguments) => benchmark::run(arguments).await,
        Command::Image(arguments) => image::run(arguments).await,
        Command::Import(arguments) => import::run(arguments).await,
        Command::Scenario(arguments) => scenario::run(arguments).await,
        Command::Harbor(arguments) => harbor::run(arguments).await,
        Command::Demo(arguments) => demo::run(arguments).await,
        Command::Fhir(arguments) => fhir::run(arguments).await,
        Command::Doctor(arguments) => doctor::run(arguments).await,
        Command::Compare(arguments) => compare::run(arguments).await,
        Command::Gate(arguments) => gate::run(*arguments).await,
        Command::Show(arguments) => show::run(arguments).await,
        Command::Run(arguments) => run::run(*arguments).await,
        Command::Runs(arguments) => runs::run(*arguments).await,
        Command::Watch(arguments) => watch::run(arguments).await,
        Command::Agent(arguments) => agent::run(arguments).await,
        Command::Mcp(arguments) => mcp::run(arguments).await,
        Command::Open(arguments) => open::run(arguments).await,
        Command::Export(arguments) => export::run(arguments).await,
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Completions { shell } => {
            clap_complete::generate(
                shell,
                &mut Cli::command(),
                "proctor",
                &mut std::io::stdout(),
            );
            Ok(Exit::Fine)
        }
        Command::Man { directory } => {
            fs_err::create_dir_all(&directory)?;
            clap_mangen::generate_to(Cli::command(), &directory)
                .with_context(|| format!("writing to {}", directory.display()))?;
            Ok(Exit::Fine)
        }
    }
}
