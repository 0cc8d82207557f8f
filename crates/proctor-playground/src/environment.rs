//! From the definition of an environment to what playgrounds are made from.
//!
//! A [`Blueprint`] is parsed and indexed once and shared by all playgrounds on it. This is the one
//! place that knows every kind of simulator: adding one is a line in [`Blueprint::read`].

use std::sync::Arc;

use proctor_core::{
    canonical::Digest,
    environment::{Environment, Simulator, SimulatorType},
    id::kinds::SimulatorId,
};
use uuid::Uuid;

use crate::{
    cds_hooks::{self, CdsHooks},
    fax::{self, Fax},
    fhir,
    files::{self, Files},
    hl7::{self, Hl7},
    machine::AnyMachine,
    messages::{self, Messages},
    payer::{self, PayerDesk},
    seed::Seed,
    simulator::NotProvided,
    voice::{self, Voice},
};

/// An environment that playgrounds can be made from.
pub struct Blueprint {
    digest: Digest,
    doors: Vec<Door>,
    pub(crate) simulators: Vec<Branch>,
    /// How many of the simulators are FHIR stores: they are counted for themselves.
    stores: usize,
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
    /// What is behind it: several doors may lead to one simulator.
    pub(crate) simulator_number: usize,
}

/// Makes the simulator of one playground, from its seed and the address where agents reach it.
pub(crate) type Branch = Box<dyn Fn(Seed, &str) -> Box<dyn AnyMachine> + Send + Sync>;

/// What is wrong with an environment: where, and what.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.iter().map(|(place, problem)| format!("{place}: {problem}")).collect::<Vec<_>>().join("; "))]
pub struct Problems(pub Vec<(String, String)>);

/// How the machine of a simulator is made.
macro_rules! machine {
    ($environment:expr, $blueprint:ty, $machine:ident, $simulator:expr) => {{
        let blueprint = Arc::new(<$blueprint>::read($simulator)?);
        let number = $environment.machines();
        Box::new(move |seed: Seed, _: &str| {
            let seed = seed.part("machine", number);
            Box::new($machine::branch(Arc::clone(&blueprint), seed))
        })
    }};
}

impl Blueprint {
    /// Reads an environment; all problems are named at once.
    pub fn read(environment: &Environment) -> Result<Self, Problems> {
        let mut blueprint = Self {
            digest: environment.digest(),
            doors: Vec::new(),
            simulators: Vec::new(),
            stores: 0,
        };
        let mut problems = Vec::new();
        let desk = blueprint.add_desk(environment).unwrap_or_else(|problem| {
            problems.push(("simulators".to_owned(), problem.0));
            0
        });
        for (number, simulator) in environment.simulators.iter().enumerate() {
            match blueprint.add(simulator, desk) {
                Ok(simulator_number) => blueprint.doors.push(Door {
                    simulator: simulator.id,
                    kind: simulator.kind,
                    name: simulator.name.clone(),
                    simulator_number,
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

    /// An environment of one FHIR store and nothing else.
    pub(crate) fn of_store(store: fhir::LoneStore) -> Self {
        Self {
            digest: Digest::from_raw(store.base.digest()),
            doors: vec![Door {
                simulator: SimulatorId::from_uuid(Uuid::nil()),
                kind: SimulatorType::Fhir,
                name: "FHIR".to_owned(),
                simulator_number: 0,
            }],
            simulators: vec![Box::new(move |_, _| Box::new(store.branch()))],
            stores: 1,
        }
    }

    /// Adds a simulator and returns its number.
    fn add(&mut self, simulator: &Simulator, desk: usize) -> Result<usize, NotProvided> {
        let branch: Branch = match simulator.kind {
            SimulatorType::Fhir => {
                let blueprint = fhir::Blueprint::read(simulator)?;
                let number = self.stores;
                self.stores += 1;
                Box::new(move |seed, base_url| Box::new(blueprint.branch(number, seed, base_url)))
            }
            SimulatorType::Hl7 => machine!(self, hl7::Blueprint, Hl7, simulator),
            SimulatorType::Files => machine!(self, files::Blueprint, Files, simulator),
            SimulatorType::Voice => machine!(self, voice::Blueprint, Voice, simulator),
            SimulatorType::Fax => machine!(self, fax::Blueprint, Fax, simulator),
            SimulatorType::Message => machine!(self, messages::Blueprint, Messages, simulator),
            // All of these are one desk; what is wrong with it was said when it was made.
            SimulatorType::Payer | SimulatorType::Clearinghouse => return Ok(desk),
            SimulatorType::CdsHooks => machine!(self, cds_hooks::Blueprint, CdsHooks, simulator),
        };
        self.simulators.push(branch);
        Ok(self.simulators.len() - 1)
    }

    /// How many simulators are no FHIR stores. What they draw from a playground's seed follows from
    /// this number, so it must stay what it is for every environment.
    fn machines(&self) -> usize {
        self.simulators.len() - self.stores
    }

    /// Adds the desk of all payer and clearinghouse simulators, if there are any, and returns its
    /// number.
    fn add_desk(&mut self, environment: &Environment) -> Result<usize, NotProvided> {
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
        let desk = self.simulators.len();
        if !behind.is_empty() {
            let blueprint = Arc::new(payer::Blueprint::read(&behind)?);
            let number = self.machines();
            self.simulators.push(Box::new(move |seed, _| {
                let seed = seed.part("machine", number);
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

/// What is wrong with an environment, for those who write one.
pub fn problems(environment: &Environment) -> Vec<(String, String)> {
    match Blueprint::read(environment) {
        Ok(_) => Vec::new(),
        Err(Problems(problems)) => problems,
    }
}
