//! What can be asked for on the command line.

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use proctor_core::id::kinds::{CredentialId, OrganizationId, SolverId, WorldId};

use crate::settings::{ServeSettings, Settings};

/// Proctor examines AI agents: each task in a world of its own, everything recorded, every score
/// with its evidence.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server
    Serve(Serve),
    /// Make, list and revoke the keys that clients authenticate with
    Keys(Keys),
    /// Check that no recorded event was changed, removed or added
    VerifyJournal(VerifyJournal),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) serve: ServeSettings,
    /// Say that the server is ready as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) action: KeysAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysAction {
    /// Make a key and print it; it is shown only now
    Create {
        #[command(flatten)]
        target: KeysTarget,
        /// What to call it
        #[arg(long)]
        name: Option<String>,
    },
    /// List the keys that are in force
    List {
        #[command(flatten)]
        target: KeysTarget,
    },
    /// Take a key back
    Revoke {
        #[command(flatten)]
        target: KeysTarget,
        /// The id of the key, as `list` shows it
        id: CredentialId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeysTarget {
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// The organization; not needed while there is only one
    #[arg(long, value_name = "ID")]
    pub(crate) organization: Option<OrganizationId>,
    /// The Solver whose keys are meant; the organization's own without it
    #[arg(long, value_name = "ID")]
    pub(crate) solver: Option<SolverId>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyJournal {
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Only this world; all of them without it
    #[arg(long, value_name = "ID")]
    pub(crate) world: Option<WorldId>,
    /// Print JSON, a line for each world
    #[arg(long)]
    pub(crate) json: bool,
}
