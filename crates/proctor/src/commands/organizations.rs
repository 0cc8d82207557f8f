//! `proctor organizations`.

use std::num::NonZeroU32;

use proctor_core::limits::Limits;
use proctor_store::organizations::Organization;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::{
    cli::{Organizations, OrganizationsAction},
    exit::Exit,
    storage, terminal,
};

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
