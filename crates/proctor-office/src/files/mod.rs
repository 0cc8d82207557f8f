//! A tree of files behind HTTP: `files`, `files/inbox`, `files/{path}`.
//!
//! The tree is never a file system: a path is a key, a directory is what files have in common, and
//! nothing can lead out of it. It says who put a file there, so that checks can tell what was given
//! from what was done.

mod blueprint;
mod evidence;
mod media;
mod path;
mod plugin;
mod serve;
mod tools;
mod tree;

use std::sync::Arc;

use bytes::Bytes;
use proctor_core::{environment::Dataset, time::Timestamp};
use proctor_simulation::{
    content::{Content, as_content},
    exchange::Request,
    exhibits::Exhibits,
    record::Write,
    seed::Seed,
    simulator::{Around, Decision, Machine, NotProvided, Provided, Provision, Recorded},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use blueprint::Blueprint;
pub use evidence::StoredFile;
use path::FilePath;
use plugin::DropFileInbox;
pub use plugin::FilesPlugin;
use tree::Tree;

/// The most bytes that a file may have.
const MOST_BYTES_IN_FILE: usize = 25 * 1024 * 1024;
/// The most bytes that all files of a playground may have together.
const MOST_BYTES: usize = 100 * 1024 * 1024;
/// The most files that a playground may have.
const MOST_FILES: usize = 10_000;

/// The files of one playground.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    tree: Tree,
}

/// What can happen to the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A file is there now, with this content.
    Put {
        /// Where.
        path: String,
        /// What is in it.
        #[serde(with = "as_content")]
        file: Bytes,
        /// When it was written.
        at: Timestamp,
        /// Whether the playground's owner put it there, not the agent.
        is_given: bool,
    },
    /// A file is gone.
    Remove {
        /// Where it was.
        path: String,
    },
}

impl Files {
    /// A tree with the files of the blueprint.
    pub fn branch(blueprint: Arc<Blueprint>, _seed: Seed) -> Self {
        Self {
            tree: Tree::on(blueprint),
        }
    }

    fn given(&self, path: &FilePath, content: Bytes, at: Timestamp) -> Result<Change, NotProvided> {
        let name = path.as_str();
        match self.obstacle(path, content.len()) {
            Some(obstacle) => Err(NotProvided(format!("{name}: {}", obstacle.reason()))),
            None => Ok(Change::Put {
                path: name.to_owned(),
                file: content,
                at,
                is_given: true,
            }),
        }
    }

    /// What a data set brings.
    fn load(&self, dataset: &Dataset, at: Timestamp) -> Result<Vec<Change>, NotProvided> {
        // Files of one set must fit one another as well as what is there, so each is tried on a copy.
        let mut trial = self.clone();
        let mut changes = Vec::new();
        for (name, entry) in blueprint::entries(dataset)? {
            let (path, content) =
                entry.map_err(|problem| NotProvided(format!("{name}: {problem}")))?;
            let change = trial.given(&path, content, at)?;
            trial.evolve(change.clone());
            changes.push(change);
        }
        Ok(changes)
    }

    /// What goes when a data set is taken out: its files as far as nobody wrote to them since.
    fn unload(&self, dataset: &Dataset) -> Result<Vec<Change>, NotProvided> {
        let mut changes = Vec::new();
        for (name, entry) in blueprint::entries(dataset)? {
            let (path, content) =
                entry.map_err(|problem| NotProvided(format!("{name}: {problem}")))?;
            let is_untouched = self
                .tree
                .get(path.as_str())
                .is_some_and(|file| file.is_given && file.content == content);
            if is_untouched {
                changes.push(Change::Remove {
                    path: path.as_str().to_owned(),
                });
            }
        }
        Ok(changes)
    }
}

impl Machine for Files {
    type Change = Change;

    fn decide(&self, request: &Request, around: &Around<'_>) -> Decision<Change> {
        self.serve(request, around.now)
    }

    fn provide(
        &self,
        provision: &Provision<'_>,
        around: &Around<'_>,
    ) -> Result<Provided<Change>, NotProvided> {
        match provision {
            Provision::Step(step) => match step.action() {
                Some(DropFileInbox { path, content }) => {
                    let event = Recorded::arrival("file_inbound", told(path.as_str(), content));
                    let change = self.given(path, content.clone().into(), around.now)?;
                    Ok(Provided {
                        event,
                        changes: vec![change],
                    })
                }
                None => Err(NotProvided::not_mine(provision, "Files")),
            },
            Provision::Load(dataset) => Ok(Provided {
                event: Recorded::arrival("dataset_loaded", json!({"dataset_id": dataset.id})),
                changes: self.load(dataset, around.now)?,
            }),
            Provision::Unload(dataset) => Ok(Provided {
                event: Recorded::arrival("dataset_unloaded", json!({"dataset_id": dataset.id})),
                changes: self.unload(dataset)?,
            }),
        }
    }

    fn evolve(&mut self, change: Change) {
        match change {
            Change::Put {
                path,
                file,
                at,
                is_given,
            } => self.tree.put(
                path,
                StoredFile {
                    content: file,
                    at,
                    is_given,
                },
            ),
            Change::Remove { path } => self.tree.remove(path),
        }
    }

    fn writes(&self, change: &Change) -> Vec<Write> {
        let (path, after) = match change {
            Change::Put { path, file, .. } => (path, Some(told(path, file))),
            Change::Remove { path } => (path, None),
        };
        let before = self.tree.get(path);
        let before = before.map(|file| told(path, &file.content));
        vec![Write::changed("files", path, path, before, after)]
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        exhibits.show_named(self.tree.all());
    }

    fn credentials(&self, prefix: &str) -> Value {
        json!({
            "files_url": format!("{prefix}/files"),
            "inbox_url": format!("{prefix}/files/inbox"),
        })
    }
}

/// A file as events tell it: all of it.
fn told(path: &str, content: &[u8]) -> Value {
    json!({"path": path, "size": content.len(), "content": Content::of(content).told()})
}
