//! Values inside of documents that may be secrets: sealed on their way into the database, opened on their way out.
//!
//! Variables of boxes and agents often are keys, whatever they are called, and what opens a repository always is one. The document keeps its form, so that
//! whoever reads the rest of it need not know: all variables stand sealed under one name that no variable can have, and a token is a sealed text.
//! What is older is read as it is, and sealed once when a store is opened.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use proctor_core::{
    devbox::DevboxSetup,
    id::{
        Id,
        kinds::{DevboxKind, JobKind, RunKind, TaskRunKind},
    },
    job::JobPlan,
    profile::Particulars,
    time::Timestamp,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    StoreError,
    database::{Database, Query, Row},
    runs::document,
    vault::Vault,
};

/// The name under which all variables stand together, sealed, and what a sealed text begins with. No variable and no token has such a character.
const SEALED: &str = "\u{1}sealed";

/// What a document is sealed for: it opens nowhere else.
pub(crate) fn devbox(id: Id<DevboxKind>) -> String {
    format!("setup of {id}")
}

/// See [`devbox`].
pub(crate) fn run(id: Id<RunKind>) -> String {
    format!("profile of {id}")
}

/// See [`devbox`].
pub(crate) fn task_run(id: Id<TaskRunKind>) -> String {
    format!("profile of {id}")
}

/// See [`devbox`].
pub(crate) fn job(id: Id<JobKind>) -> String {
    format!("plan of {id}")
}

/// A document that may hold secrets.
pub(crate) trait Confidential: Clone + Serialize + DeserializeOwned {
    /// Where they are.
    fn parts(&mut self) -> Vec<Part<'_>>;

    /// Whether there are any; most documents have none, and are not copied.
    fn has_parts(&self) -> bool;
}

/// A place in a document where secrets may be.
pub(crate) enum Part<'p> {
    /// Environment variables.
    Variables(&'p mut BTreeMap<String, String>),
    /// What opens a repository.
    Token(&'p mut Option<String>),
}

impl Part<'_> {
    fn seal(self, vault: &Vault, owner: &str) -> Result<(), StoreError> {
        match self {
            Self::Variables(variables) if variables.is_empty() => {}
            Self::Variables(variables) => {
                let sealed = vault.seal(owner, &document(variables)?);
                let sealed = BASE64_STANDARD.encode(sealed);
                *variables = BTreeMap::from([(SEALED.to_owned(), sealed)]);
            }
            Self::Token(token) => {
                if let Some(token) = token {
                    let sealed = BASE64_STANDARD.encode(vault.seal(owner, token));
                    *token = format!("{SEALED}{sealed}");
                }
            }
        }
        Ok(())
    }

    fn open(self, vault: &Vault, owner: &str) -> Result<(), StoreError> {
        let opened = |sealed: &str| {
            let sealed = BASE64_STANDARD
                .decode(sealed)
                .map_err(|error| StoreError::corrupt("a sealed value", error))?;
            vault.open(owner, &sealed)
        };
        match self {
            Self::Variables(variables) => {
                if let Some(sealed) = variables.get(SEALED) {
                    *variables = serde_json::from_str(&opened(sealed)?)
                        .map_err(|error| StoreError::corrupt("sealed variables", error))?;
                }
            }
            Self::Token(token) => {
                let sealed = token.as_ref().and_then(|text| text.strip_prefix(SEALED));
                if let Some(sealed) = sealed {
                    *token = Some(opened(sealed)?);
                }
            }
        }
        Ok(())
    }
}

/// The document as it is written.
pub(crate) fn seal<T: Confidential>(
    vault: &Vault,
    owner: &str,
    value: &T,
) -> Result<String, StoreError> {
    if !value.has_parts() {
        return document(value);
    }
    let mut value = value.clone();
    for part in value.parts() {
        part.seal(vault, owner)?;
    }
    document(&value)
}

/// The document as it is used.
pub(crate) fn open<T: Confidential>(
    vault: &Vault,
    owner: &str,
    mut value: T,
) -> Result<T, StoreError> {
    if value.has_parts() {
        for part in value.parts() {
            part.open(vault, owner)?;
        }
    }
    Ok(value)
}

impl Confidential for DevboxSetup {
    fn parts(&mut self) -> Vec<Part<'_>> {
        let tokens = self.mounts.iter_mut().filter_map(|mount| mount.token_mut());
        let variables = Part::Variables(&mut self.environment);
        std::iter::once(variables)
            .chain(tokens.map(Part::Token))
            .collect()
    }

    fn has_parts(&self) -> bool {
        !self.environment.is_empty() || !self.mounts.is_empty()
    }
}

impl Confidential for Particulars {
    fn parts(&mut self) -> Vec<Part<'_>> {
        let profile = &mut self.profile;
        let tokens = profile
            .mounts
            .iter_mut()
            .filter_map(|mount| mount.token_mut());
        let variables = Part::Variables(&mut profile.environment);
        std::iter::once(variables)
            .chain(tokens.map(Part::Token))
            .collect()
    }

    fn has_parts(&self) -> bool {
        !self.profile.environment.is_empty() || !self.profile.mounts.is_empty()
    }
}

impl Confidential for JobPlan {
    fn parts(&mut self) -> Vec<Part<'_>> {
        let agents = self.agents.iter_mut();
        agents
            .map(|agent| Part::Variables(&mut agent.environment))
            .collect()
    }

    fn has_parts(&self) -> bool {
        self.agents
            .iter()
            .any(|agent| !agent.environment.is_empty())
    }
}

/// How many rows are sealed at a time.
const BATCH: u32 = 500;
/// The name of this piece of upkeep.
const UPKEEP: &str = "variables and tokens are sealed";

/// Seals what was written before anything was sealed, once.
pub(crate) async fn seal_existing(
    database: &Database,
    vault: &Vault,
    now: Timestamp,
) -> Result<(), StoreError> {
    let done = Query::new("SELECT task FROM upkeep WHERE task = $1").bind(UPKEEP);
    if database.read_optional(done).await?.is_some() {
        return Ok(());
    }
    seal_table(database, "devboxes", "setup", |row| {
        seal(
            vault,
            &devbox(row.id("id")?),
            &row.json::<DevboxSetup>("setup")?,
        )
    })
    .await?;
    seal_table(database, "runs", "particulars", |row| {
        seal(
            vault,
            &run(row.id("id")?),
            &row.json::<Particulars>("particulars")?,
        )
    })
    .await?;
    seal_table(database, "task_runs", "particulars", |row| {
        seal(
            vault,
            &task_run(row.id("id")?),
            &row.json::<Particulars>("particulars")?,
        )
    })
    .await?;
    seal_table(database, "jobs", "plan", |row| {
        seal(vault, &job(row.id("id")?), &row.json::<JobPlan>("plan")?)
    })
    .await?;
    let done = Query::new(
        "INSERT INTO upkeep (task, done_at) VALUES ($1, $2) ON CONFLICT (task) DO NOTHING",
    )
    .bind(UPKEEP)
    .bind(now);
    database.execute(done).await?;
    Ok(())
}

async fn seal_table(
    database: &Database,
    table: &str,
    column: &str,
    sealed: impl Fn(&Row) -> Result<String, StoreError>,
) -> Result<(), StoreError> {
    let mut after = String::new();
    loop {
        let text = format!(
            "SELECT id, {column} FROM {table} WHERE id > $1 AND ({column} LIKE '%\"environment\":{{\"%' OR {column} LIKE '%token\":\"%') \
             ORDER BY id LIMIT $2"
        );
        let query = Query::assembled(text, vec![after.as_str().into(), BATCH.into()]);
        let rows = database.read_all(query).await?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        after = last.text("id")?;
        let mut transaction = database.begin().await?;
        for row in &rows {
            let plain = row.text(column)?;
            if plain.contains("\\u0001sealed") {
                continue;
            }
            let text = format!("UPDATE {table} SET {column} = $1 WHERE id = $2 AND {column} = $3");
            let query = Query::assembled(text, Vec::new())
                .bind(sealed(row)?)
                .bind(row.text("id")?)
                .bind(plain);
            transaction.execute(query).await?;
        }
        transaction.commit().await?;
    }
}
