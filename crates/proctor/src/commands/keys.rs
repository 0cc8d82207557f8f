//! `proctor keys`.

use clap::{Args, Subcommand};
use proctor_core::id::kinds::{CredentialId, OrganizationId, SolverId};
use proctor_store::{
    Store,
    credentials::{Key, KeyOwner, PlainKey},
    page::{PageRequest, PageStart},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::{
    exit::{Exit, WrongUse},
    settings::Settings,
    storage, terminal,
};

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
    /// The keys of whoever runs the server, which open /organizations and nothing else
    #[arg(long, conflicts_with_all = ["organization", "solver"])]
    pub(crate) operator: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(arguments: Keys) -> anyhow::Result<Exit> {
    match arguments.action {
        KeysAction::Create { target, name } => create(Ring::open(target).await?, name).await,
        KeysAction::List { target } => list(Ring::open(target).await?).await,
        KeysAction::Revoke { target, id } => revoke(Ring::open(target).await?, id).await,
    }
}

async fn create(ring: Ring, name: Option<String>) -> anyhow::Result<Exit> {
    let store = &ring.store;
    let issued = match ring.whose {
        Whose::Operator => store.create_operator_key(name, PlainKey::Random).await?,
        Whose::Organization(organization, owner) => {
            let made = store
                .create_key(organization, owner, name, PlainKey::Random)
                .await?;
            let Some(issued) = made else {
                eprintln!("the organization {organization} has no such Solver");
                return Ok(Exit::No);
            };
            issued
        }
    };
    let secret = issued.secret.expose_secret();
    if ring.json {
        let mut view = view(&issued.key);
        view["key"] = secret.into();
        println!("{view}");
    } else {
        println!("{secret}");
        eprintln!("This is {}. It is not shown again.", issued.key.id);
    }
    Ok(Exit::Fine)
}

async fn list(ring: Ring) -> anyhow::Result<Exit> {
    let mut keys: Vec<Key> = Vec::new();
    let mut from = PageStart::Newest;
    loop {
        let request = PageRequest {
            limit: 100,
            from,
            count: false,
        };
        let page = match ring.whose {
            Whose::Operator => ring.store.operator_keys(request).await?,
            Whose::Organization(organization, owner) => {
                ring.store.keys(organization, owner, request).await?
            }
        };
        keys.extend(page.items);
        match keys.last() {
            Some(last) if page.has_more => from = PageStart::After(last.id),
            _ => break,
        }
    }
    if ring.json {
        println!("{}", keys.iter().map(view).collect::<Value>());
        return Ok(Exit::Fine);
    }
    let mut table = terminal::table(&["id", "key", "name", "made"]);
    for key in keys {
        let shown = format!("{}…{}", key.prefix, key.suffix);
        table.add_row([
            key.id.to_string(),
            shown,
            key.name.unwrap_or_default(),
            key.created_at.to_string(),
        ]);
    }
    println!("{table}");
    Ok(Exit::Fine)
}

async fn revoke(ring: Ring, id: CredentialId) -> anyhow::Result<Exit> {
    let revoked = match ring.whose {
        Whose::Operator => ring.store.revoke_operator_key(id).await?,
        Whose::Organization(organization, owner) => {
            ring.store.revoke_key(organization, owner, id).await?
        }
    };
    if ring.json {
        println!("{}", json!({"id": id, "revoked": revoked}));
    } else if revoked {
        println!("{id} is revoked; a running server refuses it within two seconds");
    } else {
        eprintln!("no key {id} is in force; `proctor keys list` shows those that are");
    }
    Ok(if revoked { Exit::Fine } else { Exit::No })
}

/// The keys that are meant.
struct Ring {
    store: Store,
    whose: Whose,
    json: bool,
}

/// Whose keys are meant.
#[derive(Clone, Copy)]
enum Whose {
    Operator,
    Organization(OrganizationId, KeyOwner),
}

impl Ring {
    async fn open(target: KeysTarget) -> anyhow::Result<Self> {
        let store = storage::open(&target.settings.complete()?).await?.store;
        if target.operator {
            return Ok(Self {
                store,
                whose: Whose::Operator,
                json: target.json,
            });
        }
        let organization = match target.organization {
            Some(id) => match store.organization(id).await? {
                Some(_) => id,
                None => return Err(WrongUse(format!("there is no organization {id}")).into()),
            },
            None => match store.organizations().await?.as_slice() {
                [only] => only.id,
                [] => {
                    let advice = "the store is empty; `proctor serve` makes the first organization and its key";
                    return Err(WrongUse(advice.to_owned()).into());
                }
                _ => {
                    let advice = "there are several organizations; name one with --organization";
                    return Err(WrongUse(advice.to_owned()).into());
                }
            },
        };
        let owner = target
            .solver
            .map_or(KeyOwner::Organization, KeyOwner::Solver);
        Ok(Self {
            store,
            whose: Whose::Organization(organization, owner),
            json: target.json,
        })
    }
}

fn view(key: &Key) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "suffix": key.suffix,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
    })
}
