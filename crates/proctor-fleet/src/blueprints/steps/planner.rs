//! One stage after the other, instruction by instruction.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::blueprint::{Image, ImageDisk, Recipe};

use super::{
    CopyStep, Needed, Origin, Plan, StagePlan, Step, StepKind, joined,
    stages::{copied_from, default_of, global_arguments, platform_argument},
};
use crate::blueprints::dockerfile::{
    Argument, CommandForm, Dockerfile, DockerfileError, Instruction, Transfer, expand,
};

/// The steps of a recipe: those of the Dockerfile's needed stages, then files, then commands that set the system up, then repositories. `images` are what names
/// of images mean; a recipe without a Dockerfile builds on the image of the empty name.
pub(crate) fn plan(
    recipe: &Recipe,
    dockerfile: Option<(&Dockerfile, &Needed)>,
    images: &BTreeMap<String, Image>,
) -> Result<Plan, DockerfileError> {
    let mut declared = BTreeSet::new();
    let mut plan = Plan {
        stages: BTreeMap::new(),
        target: 0,
        unused: Vec::new(),
    };
    let unknown = Image::on(ImageDisk::Host);
    match dockerfile {
        None => {
            let base = images.get("").unwrap_or(&unknown);
            let planner = Planner::new(recipe, base, BTreeMap::new(), &mut declared);
            let stage = planner.finish(Origin::Image(1, String::new()), true);
            plan.stages.insert(0, stage);
        }
        Some((dockerfile, needed)) => {
            let globals = global_arguments(dockerfile, &recipe.build_args)?;
            declared.extend(dockerfile.before.iter().map(|(_, one)| one.name.clone()));
            plan.target = needed.target;
            for (number, base) in &needed.bases {
                let image = match base {
                    Origin::Stage(below) => plan.stages.get(below).map(|stage| &stage.image),
                    Origin::Image(_, name) => images.get(name),
                };
                let image = image.unwrap_or(&unknown).clone();
                let mut planner = Planner::new(recipe, &image, globals.clone(), &mut declared);
                for located in &dockerfile.stages[*number].instructions {
                    let place = Place {
                        dockerfile,
                        stage: *number,
                        line: located.line,
                        text: &located.text,
                    };
                    planner.instruction(place, &located.instruction)?;
                }
                let stage = planner.finish(base.clone(), *number == needed.target);
                plan.stages.insert(*number, stage);
            }
        }
    }
    plan.unused = recipe
        .build_args
        .keys()
        .filter(|name| !declared.contains(*name))
        .cloned()
        .collect();
    Ok(plan)
}

/// Where an instruction is.
#[derive(Clone, Copy)]
struct Place<'d> {
    dockerfile: &'d Dockerfile,
    stage: usize,
    line: usize,
    text: &'d str,
}

struct Planner<'r> {
    recipe: &'r Recipe,
    globals: BTreeMap<String, String>,
    arguments: BTreeMap<String, String>,
    declared: &'r mut BTreeSet<String>,
    steps: Vec<Step>,
    notes: Vec<&'static str>,
    image: Image,
}

impl<'r> Planner<'r> {
    fn new(
        recipe: &'r Recipe,
        base: &Image,
        globals: BTreeMap<String, String>,
        declared: &'r mut BTreeSet<String>,
    ) -> Self {
        Self {
            recipe,
            globals,
            arguments: BTreeMap::new(),
            declared,
            steps: Vec::new(),
            notes: Vec::new(),
            image: base.clone(),
        }
    }

    fn finish(mut self, base: Origin, is_target: bool) -> StagePlan {
        if is_target {
            self.mounts_and_setup();
        }
        StagePlan {
            base,
            steps: self.steps,
            image: self.image,
            notes: self.notes,
        }
    }

    /// What a variable is at this point: what `ENV` says goes before what `ARG` says.
    fn lookup(&self, name: &str) -> Option<String> {
        let env = &self.image.env;
        env.get(name).or_else(|| self.arguments.get(name)).cloned()
    }

    fn expand(&self, line: usize, word: &str) -> Result<String, DockerfileError> {
        expand(word, &|name| self.lookup(name))
            .map_err(|message| DockerfileError::at(line, message))
    }

    fn directory(&self) -> String {
        let set = self.image.working_directory.clone();
        set.unwrap_or_else(|| "/".to_owned())
    }

    fn push(&mut self, title: &str, kind: StepKind) {
        let mut env = self.arguments.clone();
        env.extend(self.image.env.clone());
        let step = Step {
            title: title.to_owned(),
            kind,
            env,
            directory: self.directory(),
            user: self.image.user.clone(),
            shell: self.image.shell.clone(),
        };
        self.steps.push(step);
    }

    fn note(&mut self, name: &'static str) {
        if !self.notes.contains(&name) {
            self.notes.push(name);
        }
    }

    fn instruction(
        &mut self,
        place: Place<'_>,
        instruction: &Instruction,
    ) -> Result<(), DockerfileError> {
        let Place { line, text, .. } = place;
        match instruction {
            Instruction::Run(command) => self.push(text, StepKind::Run(command.clone())),
            Instruction::Copy(transfer) => self.copy(place, transfer, false)?,
            Instruction::Add(transfer) => self.copy(place, transfer, true)?,
            Instruction::Env(pairs) => {
                // All values of one instruction see the variables as they were before it.
                let values = pairs
                    .iter()
                    .map(|(name, word)| Ok((name.clone(), self.expand(line, word)?)))
                    .collect::<Result<Vec<_>, _>>()?;
                self.image.env.extend(values);
            }
            Instruction::Workdir(word) => {
                let path = self.expand(line, word)?;
                if path.is_empty() {
                    return Err(DockerfileError::at(line, "WORKDIR without a path"));
                }
                self.image.working_directory = Some(joined(&self.directory(), &path));
                self.push(text, StepKind::MakeDirectory);
            }
            Instruction::User(word) => {
                let user = self.expand(line, word)?;
                check_user(&user).map_err(|message| DockerfileError::at(line, message))?;
                self.image.user = Some(user);
            }
            Instruction::Arg(arguments) => {
                for argument in arguments {
                    self.argument(line, argument)?;
                }
            }
            Instruction::Shell(argv) => self.image.shell.clone_from(argv),
            Instruction::Entrypoint(command) => {
                self.note("ENTRYPOINT");
                self.image.entrypoint = match command {
                    CommandForm::Exec(argv) => argv.clone(),
                    CommandForm::Shell(line) | CommandForm::Script(line) => {
                        let mut argv = shell_or_default(&self.image.shell);
                        argv.push(line.clone());
                        argv
                    }
                };
            }
            Instruction::Label(pairs) => {
                self.note("LABEL");
                for (name, word) in pairs {
                    let value = self.expand(line, word)?;
                    self.image.metadata.insert(format!("label.{name}"), value);
                }
            }
            Instruction::Note(name, said) => {
                self.note(upper(name));
                let kept = self.image.metadata.entry((*name).to_owned()).or_default();
                match *name {
                    // These add up; of the others the last counts.
                    "expose" | "volume" if !kept.is_empty() => {
                        kept.push(' ');
                        kept.push_str(said);
                    }
                    _ => kept.clone_from(said),
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
            .or_else(|| self.globals.get(&argument.name).cloned())
            .or_else(|| platform_argument(&argument.name));
        self.declared.insert(argument.name.clone());
        self.arguments
            .extend(value.map(|value| (argument.name.clone(), value)));
        Ok(())
    }

    fn copy(
        &mut self,
        place: Place<'_>,
        transfer: &Transfer,
        unpacks: bool,
    ) -> Result<(), DockerfileError> {
        let Place { line, text, .. } = place;
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
        let step = CopyStep {
            sources,
            target,
            owner,
            mode: transfer.chmod,
            unpacks,
            line,
        };
        if let Some(from) = &transfer.from {
            let origin = copied_from(place.dockerfile, place.stage, line, from);
            self.push(text, StepKind::CopyFrom(origin, step));
            return Ok(());
        }
        if !transfer.documents.is_empty() {
            let documents = transfer
                .documents
                .iter()
                .map(|document| {
                    let content = match document.expands {
                        true => self.expand_document(line, &document.content)?,
                        false => document.content.clone(),
                    };
                    Ok((document.name.clone(), content))
                })
                .collect::<Result<Vec<_>, DockerfileError>>()?;
            self.push(text, StepKind::WriteDocuments(documents, step.clone()));
        }
        if step.sources.is_empty() {
            return Ok(());
        }
        if self.recipe.build_context.is_none() && self.recipe.context_directory.is_none() {
            return Err(DockerfileError::at(
                line,
                "there is no build_context to copy from",
            ));
        }
        self.push(text, StepKind::Copy(step));
        Ok(())
    }

    /// Variables of a document; quotes in it are part of it.
    fn expand_document(&self, line: usize, content: &str) -> Result<String, DockerfileError> {
        crate::blueprints::dockerfile::expand_text(content, &|name| self.lookup(name))
            .map_err(|message| DockerfileError::at(line, message))
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
        let (user, directory) = (self.image.user.take(), self.image.working_directory.take());
        let shell = std::mem::take(&mut self.image.shell);
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
        (self.image.user, self.image.working_directory) = (user, directory);
        self.image.shell = shell;
    }
}

/// The shell that is set, or the usual one.
pub(crate) fn shell_or_default(shell: &[String]) -> Vec<String> {
    match shell.is_empty() {
        true => vec!["/bin/sh".to_owned(), "-c".to_owned()],
        false => shell.to_vec(),
    }
}

/// How people write an instruction.
fn upper(name: &'static str) -> &'static str {
    match name {
        "cmd" => "CMD",
        "expose" => "EXPOSE",
        "volume" => "VOLUME",
        "healthcheck" => "HEALTHCHECK",
        "stopsignal" => "STOPSIGNAL",
        "maintainer" => "MAINTAINER",
        other => other,
    }
}

/// `name`, `uid`, or two of either as in `name:group`.
fn check_user(text: &str) -> Result<(), String> {
    let is_name = |part: &str| {
        (1..=32).contains(&part.len())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let good = match text.split_once(':') {
        Some((user, group)) => is_name(user) && is_name(group),
        None => is_name(text),
    };
    if good {
        Ok(())
    } else {
        Err(format!(
            "'{text}' is no user: a name or a number, with or without a group as in 1000:1000"
        ))
    }
}
