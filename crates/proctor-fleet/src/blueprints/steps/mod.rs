//! From a recipe to the steps of its build: everything expanded, nothing left to look up.

mod planner;
mod stages;

use std::collections::BTreeMap;

use proctor_core::{
    blueprint::{Image, Recipe},
    mount::CodeMount,
};

pub(crate) use planner::{plan, shell_or_default};
pub(crate) use stages::{Needed, Origin, needed};

use super::dockerfile::CommandForm;

/// What a build does: its stages in order, each after those that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Stages by their number in the Dockerfile; without one there is a single stage.
    pub(crate) stages: BTreeMap<usize, StagePlan>,
    /// The stage whose result is the image.
    pub(crate) target: usize,
    /// Build arguments that nothing declares.
    pub(crate) unused: Vec<String>,
}

impl Plan {
    /// What the image says besides its disk.
    pub(crate) fn image(&self) -> Option<&Image> {
        self.stages.get(&self.target).map(|stage| &stage.image)
    }
}

/// One stage.
#[derive(Clone, Debug)]
pub(crate) struct StagePlan {
    pub(crate) base: Origin,
    pub(crate) steps: Vec<Step>,
    /// What it says besides its disk; the disk is its base's.
    pub(crate) image: Image,
    /// Instructions that only say something of the image, once each.
    pub(crate) notes: Vec<&'static str>,
}

/// One thing that changes the disk.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What is shown of it.
    pub(crate) title: String,
    pub(crate) kind: StepKind,
    /// Variables that its command gets, besides secrets.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) directory: String,
    /// Who runs its command; root if absent.
    pub(crate) user: Option<String>,
    /// What runs its command if that is a line; `/bin/sh -c` if empty.
    pub(crate) shell: Vec<String>,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum StepKind {
    /// Runs a command.
    Run(CommandForm),
    /// Copies from the build context.
    Copy(CopyStep),
    /// Copies from another stage or from an image.
    CopyFrom(Origin, CopyStep),
    /// Writes files that stand in the Dockerfile: names and contents.
    WriteDocuments(Vec<(String, String)>, CopyStep),
    /// Makes a directory.
    MakeDirectory,
    /// Writes a file.
    WriteFile { path: String, content: String },
    /// Checks a repository out.
    Code {
        /// Its place in the recipe.
        place: usize,
        mount: CodeMount,
    },
}

/// A copy.
#[derive(Clone, Debug)]
pub(crate) struct CopyStep {
    pub(crate) sources: Vec<String>,
    pub(crate) target: String,
    pub(crate) owner: Option<(String, String)>,
    pub(crate) mode: Option<u32>,
    /// Whether archives are unpacked.
    pub(crate) unpacks: bool,
    /// The line of the Dockerfile.
    pub(crate) line: usize,
}

/// Whether a recipe has anything that is done after its Dockerfile.
pub(crate) fn has_setup(recipe: &Recipe) -> bool {
    !(recipe.file_mounts.is_empty()
        && recipe.system_setup_commands.is_empty()
        && recipe.code_mounts.is_empty())
}

/// A path below a directory, or an absolute one as it is; without `.` and `..`.
pub(crate) fn joined(directory: &str, path: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{directory}/{path}")
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
