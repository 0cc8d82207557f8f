//! The simulators there are.
//!
//! A type of simulator is a [`SimulatorPlugin`]: a value in the simulator's own folder that says
//! everything the rest of the house needs to know about it. A [`SimulatorRegistry`] is a list of
//! them; whoever composes a server decides which are in it. Nothing else names a type of simulator.

use std::sync::Arc;

use proctor_core::{
    environment::{Dataset, Simulator, SimulatorType},
    id::kinds::SimulatorId,
    problem::{Problem, Problems},
};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    entrance::{Closed, Entrances},
    machine::AnyMachine,
    scenario::{ReadPattern, Step, StepKind},
    seed::Seed,
    simulator::Machine,
    tool::Tool,
};

/// A type of simulator.
pub trait SimulatorPlugin: Send + Sync + 'static {
    /// Its name on the wire and in the store.
    fn name(&self) -> &'static str;

    /// Its name as definitions have it.
    fn kind(&self) -> SimulatorType {
        SimulatorType::named(self.name())
    }

    /// Other names that authors may write.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// The first segment of every path of the simulator below its playground.
    fn path(&self) -> &'static str;

    /// What agents are told of where to reach it: names, and paths below the playground.
    fn endpoints(&self) -> &'static [(&'static str, &'static str)];

    /// A JSON Schema (2020-12) of its `config`: what can be set, and what each setting means. Editors use it. It knows
    /// shapes only; [`SimulatorPlugin::check_config`] also knows what a configuration means, and decides.
    fn config_schema(&self) -> Value;

    /// Everything that is wrong with a `config`, each with its place (`config.unreachable`), before there is any data.
    fn check_config(&self, config: &Value) -> Result<(), Problems> {
        let alone = Simulator {
            id: SimulatorId::from_uuid(Uuid::nil()),
            kind: self.kind(),
            name: self.name().to_owned(),
            config: config.clone(),
            datasets: Vec::new(),
        };
        let made = match self.machine() {
            MachineSource::Own(read) => read(&alone),
            MachineSource::Shared { read, .. } => read(&[&alone]),
        };
        made.map(drop)
    }

    /// What is wrong with a data set that a simulator of this configuration begins with, each with its place in the data, beside what keeps it from
    /// being read at all: nothing, if nothing is said. Authors are told; what runs is not touched by it.
    fn check_dataset(&self, _config: &Value, _dataset: &Dataset) -> Vec<Problem> {
        Vec::new()
    }

    /// How its machine is made.
    fn machine(&self) -> MachineSource;

    /// What its machines draw from a playground's seed is counted by this name: the n-th machine of a
    /// sequence has the n-th part of the seed. Journals and credentials depend on it, so it never changes.
    fn seed_sequence(&self) -> &'static str {
        "machine"
    }

    /// The steps of scenarios that it carries out.
    fn steps(&self) -> &'static [StepKind] {
        &[]
    }

    /// What it offers to agents that call tools: nothing, if nothing is said. The list is short and does not change while a
    /// server runs.
    fn tools(&self) -> &'static [Tool] {
        &[]
    }

    /// Who comes in with credentials of its own: nobody, if nothing is said.
    fn entrances(&self) -> Entrances {
        Entrances::Fixed(Box::new(Closed))
    }

    /// What of its machine's credentials is for users of this type, where types share a machine.
    fn credentials(&self, of_machine: Value) -> Value {
        of_machine
    }
}

/// Makes the machine of one playground.
pub type MachineFactory = Box<dyn Fn(&MachineContext<'_>) -> Box<dyn AnyMachine> + Send + Sync>;

/// How the machines of a type of simulator are made. Reading names everything that is wrong at once.
pub enum MachineSource {
    /// Each simulator has a machine of its own.
    Own(fn(&Simulator) -> Result<MachineFactory, Problems>),
    /// All simulators of a playground whose types give the same `name` are one machine. It comes
    /// before the machines that are nobody else's.
    Shared {
        /// The name of what they share.
        name: &'static str,
        /// Reads all of them, in the order of the environment.
        read: fn(&[&Simulator]) -> Result<MachineFactory, Problems>,
    },
}

/// Which machine of which playground is to be made.
#[derive(Clone, Copy, Debug)]
pub struct MachineContext<'a> {
    /// The seed of the playground.
    pub playground_seed: Seed,
    /// The plugin's [seed sequence](SimulatorPlugin::seed_sequence).
    pub sequence: &'static str,
    /// How many machines of the sequence come before this one.
    pub number: usize,
    /// Where agents reach the playground, without a trailing slash.
    pub base_url: &'a str,
}

impl MachineContext<'_> {
    /// The machine's part of the playground's seed.
    pub fn seed(&self) -> Seed {
        self.playground_seed.part(self.sequence, self.number)
    }
}

/// Makes machines from a blueprint, which they share, and their seeds.
pub fn factory<B, M>(blueprint: B, branch: fn(Arc<B>, Seed) -> M) -> MachineFactory
where
    B: Send + Sync + 'static,
    M: Machine,
{
    let blueprint = Arc::new(blueprint);
    Box::new(move |context| Box::new(branch(Arc::clone(&blueprint), context.seed())))
}

/// The types of simulator that a server knows, in the order in which authors are told of them.
#[derive(Clone, Default)]
pub struct SimulatorRegistry {
    plugins: Vec<Arc<dyn SimulatorPlugin>>,
    patterns: Option<ReadPattern>,
}

impl SimulatorRegistry {
    /// The registry with one more type.
    ///
    /// # Panics
    ///
    /// If another type has its name, its path or the name of one of its tools.
    #[must_use]
    pub fn with(mut self, plugin: impl SimulatorPlugin) -> Self {
        for name in plugin.aliases().iter().copied().chain([plugin.name()]) {
            assert!(
                self.find(name).is_none(),
                "two simulators are called '{name}'"
            );
        }
        let path = plugin.path();
        assert!(
            self.of_path(path).is_none(),
            "two simulators answer at '{path}'"
        );
        for tool in plugin.tools() {
            let is_taken = self.tools().any(|known| known.name == tool.name);
            assert!(!is_taken, "two simulators have a tool '{}'", tool.name);
            let place = first_segment(tool.path);
            assert!(
                place == path,
                "the tool '{}' asks at '{place}', not at '{path}'",
                tool.name
            );
        }
        self.plugins.push(Arc::new(plugin));
        self
    }

    /// The registry with steps that may wait for events.
    #[must_use]
    pub fn with_patterns(mut self, read: ReadPattern) -> Self {
        self.patterns = Some(read);
        self
    }

    /// All types.
    pub fn plugins(&self) -> impl Iterator<Item = &dyn SimulatorPlugin> {
        self.plugins.iter().map(|plugin| &**plugin)
    }

    /// The tools of all types.
    fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        self.plugins().flat_map(|plugin| plugin.tools())
    }

    /// The type with this name or alias, in whatever case.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn SimulatorPlugin>> {
        self.plugins.iter().find(|plugin| {
            let mut names = plugin.aliases().iter().copied().chain([plugin.name()]);
            names.any(|one| one.eq_ignore_ascii_case(name))
        })
    }

    /// The type that users mean by a name; what to tell them if there is none.
    pub fn resolve(&self, name: &str) -> Result<&Arc<dyn SimulatorPlugin>, String> {
        self.find(name).ok_or_else(|| {
            let all: Vec<_> = self.plugins().map(|plugin| plugin.name()).collect();
            format!("'{name}' is none of {}", all.join(", "))
        })
    }

    /// The type that a path below a playground is about.
    pub fn of_path(&self, path: &str) -> Option<&Arc<dyn SimulatorPlugin>> {
        let first = first_segment(path);
        self.plugins.iter().find(|plugin| plugin.path() == first)
    }

    /// Reads a step of a scenario.
    pub fn read_step(&self, value: &Value) -> Result<Step, Problems> {
        Step::read(value, &self.steps(), self.patterns)
    }

    /// All steps with the types that carry them out, in the order in which authors are told of them.
    pub fn steps(&self) -> Vec<(&'static StepKind, Vec<SimulatorType>)> {
        let mut steps: Vec<(&'static StepKind, Vec<SimulatorType>)> = Vec::new();
        for plugin in self.plugins() {
            for step in plugin.steps() {
                match steps.iter_mut().find(|(one, _)| one.name == step.name) {
                    Some((_, targets)) => targets.push(plugin.kind()),
                    None => steps.push((step, vec![plugin.kind()])),
                }
            }
        }
        steps.sort_by_key(|(step, _)| step.listed);
        steps
    }
}

/// The first segment of a path.
pub fn first_segment(path: &str) -> &str {
    let path = path.trim_start_matches('/');
    path.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Telegraph;

    impl SimulatorPlugin for Telegraph {
        fn name(&self) -> &'static str {
            "Telegraph"
        }

        fn aliases(&self) -> &'static [&'static str] {
            &["Wire"]
        }

        fn path(&self) -> &'static str {
            "telegrams"
        }

        fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
            &[("telegrams", "telegrams")]
        }

        fn config_schema(&self) -> Value {
            json!({"type": "object"})
        }

        fn machine(&self) -> MachineSource {
            MachineSource::Own(|simulator| {
                let place = format!("config.{}", simulator.kind);
                Err(Problem::error(place, "out of order").into())
            })
        }
    }

    #[test]
    fn types_are_found_in_any_case_and_by_their_other_names() {
        let registry = SimulatorRegistry::default().with(Telegraph);
        for name in ["Telegraph", "telegraph", "WIRE"] {
            let found = registry.resolve(name).map(|plugin| plugin.name());
            assert_eq!(found, Ok("Telegraph"), "{name}");
        }
        let refused = registry.resolve("Pigeon").err().unwrap();
        assert_eq!(refused, "'Pigeon' is none of Telegraph");
        for path in ["telegrams", "/telegrams/5", "telegrams/"] {
            assert!(registry.of_path(path).is_some(), "{path}");
        }
        assert!(registry.of_path("telegram").is_none());
    }

    #[test]
    fn a_configuration_is_checked_by_whoever_makes_a_machine_of_it() {
        let refused = Telegraph.check_config(&json!({})).unwrap_err();
        assert_eq!(refused.to_string(), "config.Telegraph: out of order");
    }

    #[test]
    #[should_panic(expected = "two simulators are called 'Wire'")]
    fn no_two_types_have_one_name() {
        let _ = SimulatorRegistry::default().with(Telegraph).with(Telegraph);
    }
}
