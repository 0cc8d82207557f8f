//! The commands, and what several of them take. What one command takes is in its own module below `commands`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use secrecy::SecretString;

use crate::{
    commands::{
        agent::Agent, benchmark::Benchmark, compare::Compare, demo::Demo, doctor::Doctor,
        export::Export, fhir::Fhir, gate::arguments::Gate, harbor::Harbor, image::Image,
        import::Import, keys::Keys, mcp::Mcp, open::Open, organizations::Organizations, run::Run,
        runs::Runs, scenario::Scenario, serve::Serve, show::Show, stats::Stats,
        verify_journal::VerifyJournal, watch::Watch,
    },
    exit::WrongUse,
};

/// The version with facts about the build.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\n", env!("PROCTOR_BUILD"));

/// Proctor examines AI agents: each task in a world of its own, everything recorded, every score
/// with its evidence.
#[derive(Debug, Parser)]
#[command(version, long_version = LONG_VERSION, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server
    Serve(Box<Serve>),
    /// Make, list and revoke the keys that clients authenticate with
    Keys(Keys),
    /// Make and list the organizations of this server
    Organizations(Organizations),
    /// Check that no recorded event was changed, removed or added
    VerifyJournal(VerifyJournal),
    /// Check benchmark files, and bring them to a server and back
    Benchmark(Benchmark),
    /// Bring container images to this machine, take them out, list and remove them
    Image(Image),
    /// Bring coding scenarios to a server: files of our own, instances of SWE-bench or SWE-smith
    Import(Import),
    /// Prove scenarios of a server with their references
    Scenario(Scenario),
    /// Run and check Harbor's tasks, data sets and job files
    Harbor(Harbor),
    /// See it at work: the shipped benchmarks, a reference agent and a do-nothing agent
    Demo(Demo),
    /// Serve a FHIR R4 store by itself, to try it or to test against it
    Fhir(Fhir),
    /// Find out whether devboxes work on this machine, what is missing, and what that costs
    Doctor(Doctor),
    /// Compute intervals, comparisons, gates and leaderboards of scores from anywhere
    Stats(Stats),
    /// Compare two agents over the tasks that both took
    Compare(Compare),
    /// Decide whether a policy lets an agent through: PASS, FAIL or INCONCLUSIVE
    Gate(Box<Gate>),
    /// Show what came of a run or a task run
    Show(Show),
    /// Let an agent take a benchmark, here or on a server
    Run(Box<Run>),
    /// List runs, and remove those that are not needed any more
    Runs(Box<Runs>),
    /// Follow a job until it is over
    Watch(Watch),
    /// Be an agent that takes a task, for runs and scripts that start one
    Agent(Agent),
    /// Speak MCP with a task run over standard input and output
    Mcp(Mcp),
    /// Print a link that signs a browser in to the pages
    Open(Open),
    /// Write a run into one file: a page, a zip with its journals, a table
    Export(Export),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages of all commands
    Man {
        /// The directory that they are written to
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServerAccess {
    /// The server
    #[arg(
        long,
        value_name = "URL",
        env = "PROCTOR_SERVER",
        default_value = "http://127.0.0.1:7070"
    )]
    pub(crate) server: String,
    /// A key of the organization
    #[arg(long, value_name = "KEY", env = "PROCTOR_KEY", hide_env_values = true)]
    pub(crate) key: SecretString,
}

/// A server whose key is asked for only if there is something to ask of it.
#[derive(Debug, Args)]
pub(crate) struct OptionalAccess {
    /// The server
    #[arg(
        long,
        value_name = "URL",
        env = "PROCTOR_SERVER",
        default_value = "http://127.0.0.1:7070"
    )]
    pub(crate) server: String,
    /// A key of the organization
    #[arg(long, value_name = "KEY", env = "PROCTOR_KEY", hide_env_values = true)]
    pub(crate) key: Option<SecretString>,
}

impl OptionalAccess {
    /// The key, which must be there by now.
    pub(crate) fn key(&self) -> Result<SecretString, WrongUse> {
        let missing =
            || WrongUse("a key of the organization is needed: --key or PROCTOR_KEY".to_owned());
        self.key.clone().ok_or_else(missing)
    }
}
