//! What a store that stands alone begins with: resources from files, loaded at a certain moment.
//!
//! The moment is an input like any other. A store with a journal takes it from there when it starts
//! again, so that the same files give the same base; other files are refused, because the journal
//! would no longer fit them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proctor_core::{canonical::Digest, id::kinds::WorldId, time::Timestamp};
use proctor_fhir_store::{Base, BaseBuilder, Seed, outcome::Refusal, resource::parse_json};
use proctor_playground::world::OPENING;
use proctor_store::{
    StoreError,
    journal::{AppendError, Journal, NewEvent},
};
use serde::{Deserialize, Serialize};

/// Why a store cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// A file cannot be read.
    #[error("a file to load cannot be read")]
    File(#[from] std::io::Error),
    /// A file does not hold what it should.
    #[error("{path}: {refusal}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        refusal: Box<Refusal>,
    },
    /// The journal is of a store that began with something else.
    #[error(
        "the journal is of a store that began with {known} resources, and the files hold {loaded} that are not the same: load what it began with, in the same order"
    )]
    OtherBase {
        /// How many resources the store began with.
        known: usize,
        /// How many the files hold now.
        loaded: usize,
    },
    /// The journal cannot be read.
    #[error("the journal cannot be read")]
    Read(#[from] StoreError),
    /// The journal cannot be written.
    #[error("the journal cannot be written")]
    Write(#[from] AppendError),
    /// The journal begins with something else.
    #[error("the journal does not begin as that of a FHIR store does")]
    Event(#[from] serde_json::Error),
}

/// What the first event of a journal says. That of a world has more members; older journals begin
/// with an event of another kind, which has these two.
#[derive(Debug, Serialize, Deserialize)]
struct Beginning {
    resources: usize,
    #[serde(alias = "digest")]
    environment: Digest,
}

impl Beginning {
    fn of(base: &Base) -> Self {
        Self {
            resources: base.len(),
            environment: Digest::from_raw(base.digest()),
        }
    }
}

/// Reads the files that a store begins with; its resources were last updated `at` that time.
pub fn load(paths: &[PathBuf], seed: Seed, at: Timestamp) -> Result<Arc<Base>, BeginError> {
    let mut builder = BaseBuilder::new(Seed::from_bytes(seed.as_bytes()), at);
    for path in paths {
        load_file(&mut builder, path)?;
    }
    Ok(Arc::new(builder.finish()))
}

/// Reads the files that the store of `world` begins with: as they were read when its journal began,
/// or `now` if it begins here.
pub async fn begin(
    journal: &Journal,
    world: WorldId,
    paths: &[PathBuf],
    seed: Seed,
    now: Timestamp,
) -> Result<Arc<Base>, BeginError> {
    let first = journal.read(world, 0, 1).await?.pop();
    let Some(first) = first else {
        let base = load(paths, seed, now)?;
        let beginning = NewEvent {
            at: now,
            kind: OPENING.into(),
            payload: serde_json::to_vec(&Beginning::of(&base))?,
        };
        journal.append(world, 0, vec![beginning]).await?;
        return Ok(base);
    };
    let known: Beginning = serde_json::from_slice(&first.payload)?;
    let base = load(paths, seed, first.at)?;
    if known.environment.raw() != &base.digest() {
        return Err(BeginError::OtherBase {
            known: known.resources,
            loaded: base.len(),
        });
    }
    Ok(base)
}

fn load_file(builder: &mut BaseBuilder, path: &Path) -> Result<(), BeginError> {
    let text = fs_err::read(path)?;
    let is_lines = path
        .extension()
        .is_some_and(|extension| extension == "ndjson");
    let parts: Vec<&[u8]> = if is_lines {
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter(|line| !line.trim_ascii().is_empty()).collect()
    } else {
        vec![&text]
    };
    for part in parts {
        parse_json(part)
            .and_then(|value| builder.load(value))
            .map_err(|refusal| BeginError::Content {
                path: path.to_owned(),
                refusal,
            })?;
    }
    Ok(())
}
