//! From the definition of an environment to what playgrounds are made from.
//!
//! A [`Blueprint`] is parsed and indexed once and shared by all playgrounds on it. This is the one
//! place that knows every kind of simulator: adding one is a line in [`Blueprint::read`].

use std::sync::Arc;

use proctor_core::{
    canonical::Digest,
    environment::{DatasetType, Environment, Simulator, SimulatorType},
    id::kinds::SimulatorId,
    time::Timestamp,
};
use serde_json::Value;

use crate::{
    cds_hooks::{self, CdsHooks},
    fax::{self, Fax},
    fhir::{self, Base, BaseBuilder, Validation},
    files::{self, Files},
    hl7::{self, Hl7},
    machine::AnyMachine,
    messages::{self, Messages},
    payer::{self, PayerDesk},
    seed::Seed,
    simulator::{NotProvided, read_config},
    voice::{self, Voice},
};

/// An environment that playgrounds can be made from.
pub struct Blueprint {
    digest: Digest,
    doors: Vec<Door>,
    pub(crate) fhir: Vec<FhirBlueprint>,
    pub(crate) machines: Vec<Branch>,
}

/// Where an agent enters: one simulator of the environment.
#[derive(Clone, Debug)]
pub struct Door {
    /// The simulator.
    pub simulator: SimulatorId,
    /// Its type.
    pub kind: SimulatorType,
    /// What people call it.
    pub name: String,
    pub(crate) target: Target,
}

/// What is behind a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A FHIR store, by number.
    Fhir(usize),
    /// A machine, by number.
    Machine(usize),
}

pub(crate) struct FhirBlueprint {
    pub(crate) base: Arc<Base>,
    pub(crate) validation: Validation,
}

/// Makes the machine of one playground.
pub(crate) type Branch = Box<dyn Fn(Seed) -> Box<dyn AnyMachine> + Send + Sync>;

/// What is wrong with an environment: where, and what.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.iter().map(|(place, problem)| format!("{place}: {problem}")).collect::<Vec<_>>().join("; "))]
pub struct Problems(pub Vec<(String, String)>);

/// How the machine of a simulator is made.
macro_rules! machine {
    ($blueprint:ty, $machine:ident, $simulator:expr) => {{
        let blueprint = Arc::new(<$blueprint>::read($simulator)?);
        Box::new(move |seed| Box::new($machine::branch(Arc::clone(&blueprint), seed)))
    }};
}

/// When seeded data was made: before anything happens in a playground.
const BEGINNING: Timestamp = Timestamp::from_millis(946_684_800_000);

impl Blueprint {
    /// Reads an environment; all problems are named at once.
    pub fn read(environment: &Environment) -> Result<Self, Problems> {
        let mut blueprint = Self {
            digest: environment.digest(),
            doors: Vec::new(),
            fhir: Vec::new(),
            machines: Vec::new(),
        };
        let mut problems = Vec::new();
        let desk = blueprint.add_desk(environment).unwrap_or_else(|problem| {
            problems.push(("simulators".to_owned(), problem.0));
            Target::Machine(0)
        });
        for (number, simulator) in environment.simulators.iter().enumerate() {
            match blueprint.add(simulator, desk) {
                Ok(target) => blueprint.doors.push(Door {
                    simulator: simulator.id,
                    kind: simulator.kind,
                    name: simulator.name.clone(),
                    target,
                }),
                Err(problem) => problems.push((format!("simulators.{number}"), problem.0)),
            }
        }
        if problems.is_empty() {
            Ok(blueprint)
        } else {
            Err(Problems(problems))
        }
    }

    fn add(&mut self, simulator: &Simulator, desk: Target) -> Result<Target, NotProvided> {
        let branch: Branch = match simulator.kind {
            SimulatorType::Fhir => {
                self.fhir.push(FhirBlueprint::read(simulator)?);
                return Ok(Target::Fhir(self.fhir.len() - 1));
            }
            SimulatorType::Hl7 => machine!(hl7::Blueprint, Hl7, simulator),
            SimulatorType::Files => machine!(files::Blueprint, Files, simulator),
            SimulatorType::Voice => machine!(voice::Blueprint, Voice, simulator),
            SimulatorType::Fax => machine!(fax::Blueprint, Fax, simulator),
            SimulatorType::Message => machine!(messages::Blueprint, Messages, simulator),
            // All of these are one desk; what is wrong with it was said when it was made.
            SimulatorType::Payer | SimulatorType::Clearinghouse => return Ok(desk),
            SimulatorType::CdsHooks => machine!(cds_hooks::Blueprint, CdsHooks, simulator),
        };
        self.machines.push(branch);
        Ok(Target::Machine(self.machines.len() - 1))
    }

    /// Adds the desk of all payer and clearinghouse simulators, if there are any.
    fn add_desk(&mut self, environment: &Environment) -> Result<Target, NotProvided> {
        let behind: Vec<&Simulator> = environment
            .simulators
            .iter()
            .filter(|one| {
                matches!(
                    one.kind,
                    SimulatorType::Payer | SimulatorType::Clearinghouse
                )
            })
            .collect();
        let desk = Target::Machine(self.machines.len());
        if !behind.is_empty() {
            let blueprint = Arc::new(payer::Blueprint::read(&behind)?);
            self.machines.push(Box::new(move |seed| {
                Box::new(PayerDesk::branch(Arc::clone(&blueprint), seed))
            }));
        }
        Ok(desk)
    }

    /// The digest of the environment.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The doors, in the order of the environment.
    pub fn doors(&self) -> &[Door] {
        &self.doors
    }

    /// The door that a path below a playground leads to: the first of the type that its first word
    /// names.
    pub fn door_of_path(&self, path: &str) -> Option<usize> {
        let kind = kind_of_path(path)?;
        self.doors.iter().position(|door| door.kind == kind)
    }

    /// The door with this type and, if given, this name.
    pub(crate) fn door_for(&self, kinds: &[SimulatorType], name: Option<&str>) -> Option<usize> {
        self.doors.iter().position(|door| {
            kinds.contains(&door.kind) && name.is_none_or(|name| door.name == name)
        })
    }
}

/// The first word of every path of a simulator.
pub const fn word(kind: SimulatorType) -> &'static str {
    match kind {
        SimulatorType::Fhir => "fhir",
        SimulatorType::Hl7 => "hl7",
        SimulatorType::Files => "files",
        SimulatorType::Payer => "portal",
        SimulatorType::Voice => "voice",
        SimulatorType::Clearinghouse => "clearinghouse",
        SimulatorType::Fax => "faxes",
        SimulatorType::Message => "messages",
        SimulatorType::CdsHooks => "cds-services",
    }
}

/// The type of simulator that a path below a playground is about.
pub fn kind_of_path(path: &str) -> Option<SimulatorType> {
    let first = path.trim_start_matches('/').split('/').next()?;
    SimulatorType::ALL
        .iter()
        .copied()
        .find(|kind| word(*kind) == first)
}

/// What can be chosen about a FHIR store.
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FhirConfig {
    /// `enforced` (clients may ask to skip it), `always` or `off`.
    validation: Option<FhirValidation>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum FhirValidation {
    Enforced,
    Always,
    Off,
}

impl FhirBlueprint {
    fn read(simulator: &Simulator) -> Result<Self, NotProvided> {
        let config: FhirConfig = read_config(&simulator.config)?;
        let seed = Seed::from_bytes(simulator.id.bare().as_bytes());
        let mut builder = BaseBuilder::new(seed, BEGINNING);
        for dataset in &simulator.datasets {
            let refuse = |refusal: Box<fhir::outcome::Refusal>| {
                NotProvided(format!("the data set '{}': {refusal}", dataset.name))
            };
            if dataset.kind != DatasetType::Fhir {
                return Err(NotProvided(format!(
                    "the data set '{}' is of type {}; a Fhir simulator takes FHIR",
                    dataset.name,
                    dataset.kind.as_str()
                )));
            }
            match &dataset.data {
                Value::Array(resources) => {
                    for resource in resources {
                        builder.load(resource.clone()).map_err(refuse)?;
                    }
                }
                one => builder.load(one.clone()).map_err(refuse)?,
            }
        }
        Ok(Self {
            base: Arc::new(builder.finish()),
            validation: match config.validation {
                None | Some(FhirValidation::Enforced) => Validation::Enforced,
                Some(FhirValidation::Always) => Validation::Always,
                Some(FhirValidation::Off) => Validation::Off,
            },
        })
    }
}

/// What is wrong with an environment, for those who write one.
pub fn problems(environment: &Environment) -> Vec<(String, String)> {
    match Blueprint::read(environment) {
        Ok(_) => Vec::new(),
        Err(Problems(problems)) => problems,
    }
}
