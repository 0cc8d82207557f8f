//! From a recipe to the steps of its build: everything expanded, nothing left to look up.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::{
    blueprint::{Image, Recipe},
    mount::CodeMount,
};

use super::dockerfile::{
    Argument, CommandForm, Dockerfile, DockerfileError, Instruction, Transfer, expand,
};

/// What a build does, in order.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// What the image says besides its disk.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) working_directory: Option<String>,
    pub(crate) user: Option<String>,
    /// Build arguments that nothing declares.
    pub(crate) unused: Vec<String>,
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
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum StepKind {
    /// Runs a command.
    Run(CommandForm),
    /// Copies from the build context.
    Copy(CopyStep),
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

/// A copy from the build context.
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

/// What a Dockerfile builds on, as its `FROM` says after expansion, with the line.
pub(crate) fn from_image(
    dockerfile: &Dockerfile,
    build_args: &BTreeMap<String, String>,
) -> Result<(usize, String), DockerfileError> {
    let globals = global_arguments(dockerfile, build_args)?;
    let (line, word) = &dockerfile.from;
    let image = expand(word, &|name| globals.get(name).cloned())
        .map_err(|message| DockerfileError::at(*line, message))?;
    if image.is_empty() {
        return Err(DockerfileError::at(*line, "FROM without an image"));
    }
    Ok((*line, image))
}

/// Arguments that are declared before `FROM`, with their values.
fn global_arguments(
    dockerfile: &Dockerfile,
    build_args: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, DockerfileError> {
    let mut globals = BTreeMap::new();
    for (line, argument) in &dockerfile.before {
        let known = globals.clone();
        let value = match build_args.get(&argument.name) {
            Some(given) => Some(given.clone()),
            None => default_of(argument, *line, &|name| known.get(name).cloned())?,
        };
        globals.extend(value.map(|value| (argument.name.clone(), value)));
    }
    Ok(globals)
}

fn default_of(
    argument: &Argument,
    line: usize,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, DockerfileError> {
    argument
        .default
        .as_ref()
        .map(|word| expand(word, lookup).map_err(|message| DockerfileError::at(line, message)))
        .transpose()
}

/// The steps of a recipe that builds on `base`: the Dockerfile's, then files, then commands that set the system up, then
/// repositories.
pub(crate) fn plan(
    recipe: &Recipe,
    dockerfile: Option<&Dockerfile>,
    base: &Image,
) -> Result<Plan, DockerfileError> {
    let mut planner = Planner {
        recipe,
        globals: BTreeMap::new(),
        arguments: BTreeMap::new(),
        declared: BTreeSet::new(),
        plan: Plan {
            steps: Vec::new(),
            env: base.env.clone(),
            working_directory: base.working_directory.clone(),
            user: base.user.clone(),
            unused: Vec::new(),
        },
    };
    if let Some(dockerfile) = dockerfile {
        planner.globals = global_arguments(dockerfile, &recipe.build_args)?;
        planner
            .declared
            .extend(dockerfile.before.iter().map(|(_, one)| one.name.clone()));
        for located in &dockerfile.instructions {
            planner.instruction(located.line, &located.text, &located.instruction)?;
        }
    }
    planner.mounts_and_setup();
    let declared = std::mem::take(&mut planner.declared);
    let mut plan = planner.plan;
    plan.unused = recipe
        .build_args
        .keys()
        .filter(|name| !declared.contains(*name))
        .cloned()
        .collect();
    Ok(plan)
}

struct Planner<'r> {
    recipe: &'r Recipe,
    globals: BTreeMap<String, String>,
    arguments: BTreeMap<String, String>,
    declared: BTreeSet<String>,
    plan: Plan,
}

impl Planner<'_> {
    /// What a variable is at this point: what `ENV` says goes before what `ARG` says.
    fn lookup(&self, name: &str) -> Option<String> {
        let env = &self.plan.env;
        env.get(name).or_else(|| self.arguments.get(name)).cloned()
    }

    fn expand(&self, line: usize, word: &str) -> Result<String, DockerfileError> {
        expand(word, &|name| self.lookup(name))
            .map_err(|message| DockerfileError::at(line, message))
    }

    fn directory(&self) -> String {
        let set = self.plan.working_directory.clone();
        set.unwrap_or_else(|| "/".to_owned())
    }

    fn push(&mut self, title: &str, kind: StepKind) {
        let mut env = self.arguments.clone();
        env.extend(self.plan.env.clone());
        let step = Step {
            title: title.to_owned(),
            kind,
            env,
            directory: self.directory(),
            user: self.plan.user.clone(),
        };
        self.plan.steps.push(step);
    }

    fn instruction(
        &mut self,
        line: usize,
        text: &str,
        instruction: &Instruction,
    ) -> Result<(), DockerfileError> {
        match instruction {
            Instruction::Run(command) => self.push(text, StepKind::Run(command.clone())),
            Instruction::Copy(transfer) => self.copy(line, text, transfer, false)?,
            Instruction::Add(transfer) => self.copy(line, text, transfer, true)?,
            Instruction::Env(pairs) => {
                // All values of one instruction see the variables as they were before it.
                let values = pairs
                    .iter()
                    .map(|(name, word)| Ok((name.clone(), self.expand(line, word)?)))
                    .collect::<Result<Vec<_>, _>>()?;
                self.plan.env.extend(values);
            }
            Instruction::Workdir(word) => {
                let path = self.expand(line, word)?;
                if path.is_empty() {
                    return Err(DockerfileError::at(line, "WORKDIR without a path"));
                }
                self.plan.working_directory = Some(joined(&self.directory(), &path));
                self.push(text, StepKind::MakeDirectory);
            }
            Instruction::User(word) => {
                let user = self.expand(line, word)?;
                check_user(&user).map_err(|message| DockerfileError::at(line, message))?;
                self.plan.user = Some(user);
            }
            Instruction::Arg(arguments) => {
                for argument in arguments {
                    self.argument(line, argument)?;
                }
            }
        }
        Ok(())
    }

    fn argument(&mut self, line: usize, argument: &Argument) -> Result<(), DockerfileError> {
        let default = default_of(argument, line, &|name| self.lookup(name))?;
        let value = self
            .recipe
            .build_args
            .get(&argument.name)
            .cloned()
            .or(default)
            .or_else(|| self.globals.get(&argument.name).cloned());
        self.declared.insert(argument.name.clone());
        self.arguments
            .extend(value.map(|value| (argument.name.clone(), value)));
        Ok(())
    }

    fn copy(
        &mut self,
        line: usize,
        text: &str,
        transfer: &Transfer,
        unpacks: bool,
    ) -> Result<(), DockerfileError> {
        let sources = transfer
            .sources
            .iter()
            .map(|word| self.expand(line, word))
            .collect::<Result<Vec<_>, _>>()?;
        let target = self.expand(line, &transfer.target)?;
        if target.is_empty() {
            return Err(DockerfileError::at(line, "an empty target"));
        }
        let owner = match &transfer.chown {
            None => None,
            Some(word) => {
                let owner = self.expand(line, word)?;
                let (user, group) = owner.split_once(':').unwrap_or((&owner, &owner));
                for name in [user, group] {
                    check_user(name).map_err(|message| DockerfileError::at(line, message))?;
                }
                Some((user.to_owned(), group.to_owned()))
            }
        };
        if self.recipe.build_context.is_none() {
            return Err(DockerfileError::at(
                line,
                "there is no build_context to copy from",
            ));
        }
        let step = CopyStep {
            sources,
            target,
            owner,
            mode: transfer.chmod,
            unpacks,
            line,
        };
        self.push(text, StepKind::Copy(step));
        Ok(())
    }

    fn mounts_and_setup(&mut self) {
        for (path, content) in &self.recipe.file_mounts {
            let kind = StepKind::WriteFile {
                path: path.clone(),
                content: content.clone(),
            };
            self.push(&format!("file mount {path}"), kind);
        }
        // Setting a system up is root's work, wherever the Dockerfile ended.
        let (user, directory) = (self.plan.user.take(), self.plan.working_directory.take());
        for command in &self.recipe.system_setup_commands {
            let kind = StepKind::Run(CommandForm::Shell(command.clone()));
            self.push(command, kind);
        }
        for (place, mount) in self.recipe.code_mounts.iter().enumerate() {
            let kind = StepKind::Code {
                place,
                mount: mount.clone(),
            };
            self.push(&format!("code mount {}", mount.repository()), kind);
        }
        (self.plan.user, self.plan.working_directory) = (user, directory);
    }
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

/// `name`, `uid` or `uid:gid`.
fn check_user(text: &str) -> Result<(), String> {
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    let is_name = |part: &str| {
        (1..=32).contains(&part.len())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let good = match text.split_once(':') {
        Some((user, group)) => is_number(user) && is_number(group),
        None => is_name(text),
    };
    if good {
        Ok(())
    } else {
        Err(format!(
            "'{text}' is no user: a name, a number, or two numbers as in 1000:1000"
        ))
    }
}

#[cfg(test)]
mod tests;
