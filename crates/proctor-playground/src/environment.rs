//! From the definition of an environment to what playgrounds are made from.
//!
//! A [`Blueprint`] is parsed and indexed once and shared by all playgrounds on it. Which types of
//! simulator there are is said by the registry that it is read with.

use std::{collections::BTreeMap, fmt, sync::Arc};

use proctor_core::{
    canonical::Digest,
    environment::{Environment, Simulator, SimulatorType},
    id::kinds::SimulatorId,
    problem::{Problem, Problems},
};
use proctor_simulation::{
    machine::AnyMachine,
    registry::{
        MachineContext, MachineFactory, MachineSource, SimulatorPlugin, SimulatorRegistry,
        first_segment,
    },
    scenario::Step,
    seed::Seed,
};
use uuid::Uuid;

/// An environment that playgrounds can be made from.
pub struct Blueprint {
    digest: Digest,
    doors: Vec<Door>,
    machines: Vec<PlannedMachine>,
}

/// Where an agent enters: one simulator of the environment.
#[derive(Clone)]
pub struct Door {
    /// The simulator.
    pub simulator: SimulatorId,
    /// Its type.
    pub plugin: Arc<dyn SimulatorPlugin>,
    /// What people call it.
    pub name: String,
    /// What is behind it: several doors may lead to one machine.
    pub(crate) machine: usize,
}

impl Door {
    /// The name of its type.
    pub fn kind(&self) -> SimulatorType {
        self.plugin.kind()
    }

    /// Whether a step of a scenario is for the simulator.
    pub(crate) fn carries_out(&self, step: &Step) -> bool {
        let is_named = |name: &String| self.name == *name;
        step.targets().contains(&self.kind()) && step.simulator.as_ref().is_none_or(is_named)
    }

    /// Whether a path below the playground is one of the simulator's.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.plugin.path() == first_segment(path)
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Door")
            .field("simulator", &self.simulator)
            .field("kind", &self.plugin.name())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A machine that every playground has.
struct PlannedMachine {
    make: MachineFactory,
    /// What it draws from a playground's seed follows from these two, so they must stay what they are
    /// for every environment.
    sequence: &'static str,
    number: usize,
}

impl Blueprint {
    /// Reads an environment; all problems are named at once.
    pub fn read(environment: &Environment, known: &SimulatorRegistry) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let mut blueprint = Self {
            digest: environment.digest(),
            doors: Vec::new(),
            machines: Vec::new(),
        };
        let shared = blueprint.add_shared(environment, known, &mut problems);
        for (number, simulator) in environment.simulators.iter().enumerate() {
            match blueprint.add(simulator, known, &shared) {
                Ok(door) => blueprint.doors.push(door),
                Err(why) => problems.push(Problem::error(format!("simulators.{number}"), why)),
            }
        }
        Problems::none_of(problems)?;
        Ok(blueprint)
    }

    /// An environment of one simulator and nothing else.
    pub fn of_one(
        digest: Digest,
        plugin: Arc<dyn SimulatorPlugin>,
        name: &str,
        make: MachineFactory,
    ) -> Self {
        let machine = PlannedMachine {
            make,
            sequence: plugin.seed_sequence(),
            number: 0,
        };
        Self {
            digest,
            doors: vec![Door {
                simulator: SimulatorId::from_uuid(Uuid::nil()),
                plugin,
                name: name.to_owned(),
                machine: 0,
            }],
            machines: vec![machine],
        }
    }

    /// Adds the machines that several simulators share; their numbers by what they share.
    fn add_shared(
        &mut self,
        environment: &Environment,
        known: &SimulatorRegistry,
        problems: &mut Vec<Problem>,
    ) -> BTreeMap<&'static str, usize> {
        let mut numbers = BTreeMap::new();
        for simulator in &environment.simulators {
            let Some(plugin) = known.find(simulator.kind.as_str()) else {
                continue;
            };
            let MachineSource::Shared { name, read } = plugin.machine() else {
                continue;
            };
            if numbers.contains_key(name) {
                continue;
            }
            let is_behind = |one: &&Simulator| {
                let plugin = known.find(one.kind.as_str());
                plugin.is_some_and(|plugin| shares(&**plugin, name))
            };
            let behind: Vec<&Simulator> = environment.simulators.iter().filter(is_behind).collect();
            let number = match read(&behind) {
                Ok(make) => self.plan(make, &**plugin),
                Err(problem) => {
                    problems.push(Problem::error("simulators", problem.to_string()));
                    0
                }
            };
            numbers.insert(name, number);
        }
        numbers
    }

    /// The door of a simulator, with the machine behind it.
    fn add(
        &mut self,
        simulator: &Simulator,
        known: &SimulatorRegistry,
        shared: &BTreeMap<&'static str, usize>,
    ) -> Result<Door, String> {
        let plugin = known.resolve(simulator.kind.as_str())?;
        let machine = match plugin.machine() {
            MachineSource::Own(read) => {
                let make = read(simulator).map_err(|problems| problems.to_string())?;
                self.plan(make, &**plugin)
            }
            // What is wrong with it was said when it was made.
            MachineSource::Shared { name, .. } => shared.get(name).copied().unwrap_or_default(),
        };
        Ok(Door {
            simulator: simulator.id,
            plugin: Arc::clone(plugin),
            name: simulator.name.clone(),
            machine,
        })
    }

    /// Plans a machine and returns its number.
    fn plan(&mut self, make: MachineFactory, plugin: &dyn SimulatorPlugin) -> usize {
        let sequence = plugin.seed_sequence();
        let before = self.machines.iter();
        let number = before.filter(|one| one.sequence == sequence).count();
        self.machines.push(PlannedMachine {
            make,
            sequence,
            number,
        });
        self.machines.len() - 1
    }

    /// The machines of the playground with this seed and address.
    pub(crate) fn machines(
        &self,
        playground_seed: Seed,
        base_url: &str,
    ) -> Vec<Box<dyn AnyMachine>> {
        let make = |planned: &PlannedMachine| {
            (planned.make)(&MachineContext {
                playground_seed,
                sequence: planned.sequence,
                number: planned.number,
                base_url,
            })
        };
        self.machines.iter().map(make).collect()
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
        self.doors.iter().position(|door| door.is_at(path))
    }

    /// The door of the first simulator that carries a step out.
    pub(crate) fn door_for(&self, step: &Step) -> Option<usize> {
        self.doors.iter().position(|door| door.carries_out(step))
    }
}

fn shares(plugin: &dyn SimulatorPlugin, what: &str) -> bool {
    matches!(plugin.machine(), MachineSource::Shared { name, .. } if name == what)
}
