//! `proctor organizations`.

use std::num::NonZeroU32;

use clap::{Args, Subcommand};
use proctor_core::limits::Limits;
use proctor_store::organizations::Organization;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::{exit::Exit, settings::Settings, storage, terminal};

#[derive(Debug, Args)]
pub(crate) struct Organizations {
    #[command(subcommand)]
    pub(crate) action: OrganizationsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrganizationsAction {
    /// Make an organization and print its first key; it is shown only now
    Create {
        #[command(flatten)]
        settings: Settings,
        /// What to call it
        name: String,
        #[command(flatten)]
        limits: OrganizationLimits,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List all organizations with their limits
    List {
        #[command(flatten)]
        settings: Settings,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OrganizationLimits {
    /// How many devboxes it may have at once [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) devboxes: Option<u32>,
    /// How many runs it may have at once [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// How many bytes of objects and disk snapshots it may store [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) storage: Option<u64>,
    /// How many requests a minute it may send, with all keys together [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<NonZeroU32>,
}

pub(crate) async fn run(arguments: Organizations) -> anyhow::Result<Exit> {
    match arguments.action {
        OrganizationsAction::Create {
            settings,
            name,
            limits,
            json,
        } => {
            let store = storage::open(&settings.complete()?).await?.store;
            let limits = Limits {
                devboxes: limits.devboxes,
                runs: limits.runs,
                storage_bytes: limits.storage,
                requests_per_minute: limits.rate,
            };
            let (made, key) = store.create_organization_with_key(&name, limits).await?;
            let secret = key.secret.expose_secret();
            if json {
                let mut view = view(&made);
                view["key"] = secret.into();
                println!("{view}");
            } else {
                println!("{secret}");
                eprintln!(
                    "This is the key of {}, \"{}\". It is not shown again.",
                    made.id, made.name
                );
            }
        }
        OrganizationsAction::List { settings, json } => {
            let store = storage::open(&settings.complete()?).await?.store;
            let all = store.organizations().await?;
            if json {
                println!("{}", all.iter().map(view).collect::<Value>());
                return Ok(Exit::Fine);
            }
            let mut table = terminal::table(&[
                "id",
                "name",
                "devboxes",
                "runs",
                "storage",
                "requests a minute",
                "made",
            ]);
            for one in all {
                let limits = one.limits;
                table.add_row([
                    one.id.to_string(),
                    one.name,
                    shown(limits.devboxes),
                    shown(limits.runs),
                    shown(limits.storage_bytes),
                    shown(limits.requests_per_minute),
                    one.created_at.to_string(),
                ]);
            }
            println!("{table}");
        }
    }
    Ok(Exit::Fine)
}

/// A limit for people.
fn shown(limit: Option<impl ToString>) -> String {
    limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string())
}

fn view(organization: &Organization) -> Value {
    let limits = &organization.limits;
    json!({
        "id": organization.id,
        "name": organization.name,
        "limits": {
            "devboxes": limits.devboxes,
            "runs": limits.runs,
            "storage_bytes": limits.storage_bytes,
            "requests_per_minute": limits.requests_per_minute.map(NonZeroU32::get),
        },
        "created_at": organization.created_at,
    })
}
