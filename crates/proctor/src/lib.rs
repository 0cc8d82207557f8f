//! The command line of Proctor: reads configuration, wires the rest together, says what happened.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where people read: data on stdout, words on stderr"
)]

mod addresses;
mod agent_supervisor;
mod agents;
mod cli;
mod commands;
mod devboxes;
mod exit;
mod harbor_settings;
mod image_settings;
mod judge;
mod prices;
mod report;
mod running;
mod settings;
mod storage;
mod terminal;

use clap::Parser as _;

use crate::{cli::Cli, exit::Exit};

/// Does what the arguments of this process say, and tells the people at the terminal.
pub fn command_line() -> std::process::ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == agent_supervisor::NAME)
    {
        return agent_supervisor::main(arguments);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Asking for help or the version is right use.
            return if error.use_stderr() {
                Exit::WrongUse
            } else {
                Exit::Fine
            }
            .into();
        }
    };
    match run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            terminal::report(&failure);
            Exit::of(&failure).into()
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    // Everything that speaks TLS uses this one provider; see ARCHITECTURE.md on why not two.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(commands::run(cli))
}
