//! From the text of a file to what it says, with everything that is wrong named at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    ops::RangeInclusive,
};

use proctor_core::{
    definition::{ClockPolicy, Seconds, Slug, Visibility, check_key},
    environment::DatasetType,
    problem::Problem,
    reader::{Node, Notes, Object, Places as _, Wording},
    scoring::{Weight, check_axis},
};
use proctor_engine::Extensions;
use proctor_simulation::registry::SimulatorRegistry;
use serde_json::{Map, Value};

use crate::{
    document,
    file::{
        BenchmarkFile, CriterionPart, DatasetPart, EntityPart, EnvironmentPart, SimulatorPart,
        TaskPart,
    },
    folder::Folder,
    report::{Report, Source},
};

/// The most bytes of a file.
const LARGEST: usize = 16 * 1024 * 1024;
// Lengths in characters, as the server takes them.
const NAME: usize = 200;
const DESCRIPTION: usize = 10_000;
const LABEL: usize = 500;
const AXIS: usize = 100;
const KIND: usize = 100;
const TAG: usize = 100;
/// Seconds; at most a day.
const LONGEST_TIMEOUT: u32 = 86_400;
const MOST_AT_ONCE: u32 = 100;

/// A file that was read.
pub struct ReadFile {
    /// What it says.
    pub content: BenchmarkFile,
    pub(crate) source: Source,
    pub(crate) document: document::Node,
    pub(crate) extensions: Extensions,
}

impl ReadFile {
    /// Reads the text of a file; what it refers to is in `folder`, and what it may use in `extensions`.
    pub fn read(source: Source, folder: &Folder, extensions: &Extensions) -> Result<Self, Report> {
        if source.text.len() > LARGEST {
            let problem = Problem::error("", format!("has more than {LARGEST} bytes"));
            return Err(Report::new(source, vec![problem]));
        }
        let document = match document::Node::read(&source.text) {
            Ok(document) => document,
            Err(not_yaml) => {
                let problem = Problem {
                    span: not_yaml.span,
                    ..Problem::error("", not_yaml.message)
                };
                return Err(Report::new(source, vec![problem]));
            }
        };
        let value = document.to_value();
        let notes = Notes::with_places(Wording::File, &document);
        let content = benchmark(&Node::root(&value, &notes), folder, &extensions.simulators);
        match notes.finish(content) {
            Ok(content) => Ok(Self {
                content,
                source,
                document,
                extensions: extensions.clone(),
            }),
            Err(problems) => Err(Report::new(source, problems.into_vec())),
        }
    }

    /// A report about this file, with the place of every problem.
    pub(crate) fn report(&self, mut problems: Vec<Problem>) -> Report {
        for problem in &mut problems {
            problem.span = Some(self.document.of_value(&problem.path));
        }
        Report::new(self.source.clone(), problems)
    }
}

fn benchmark(
    node: &Node<'_>,
    folder: &Folder,
    simulators: &SimulatorRegistry,
) -> Option<BenchmarkFile> {
    let object = node.object()?;
    let name = object
        .required("name")
        .and_then(|name| text(&name, 1..=NAME));
    let slug = object.required("slug").and_then(|slug| read_slug(&slug));
    let visibility = object.optional("visibility");
    let visibility = visibility.map_or(Some(Visibility::Private), |one| read_visibility(&one));
    let description = object.optional("description");
    let description = description.and_then(|one| text(&one, 0..=DESCRIPTION));
    let timeout = object
        .required("timeout")
        .and_then(|one| read_timeout(&one));
    let concurrency = object.optional("concurrency");
    let concurrency = concurrency.and_then(|one| one.whole(1..=MOST_AT_ONCE));
    let datasets = object.optional("datasets");
    let known_datasets = known(datasets.as_ref());
    let datasets = datasets.map_or_else(BTreeMap::new, |all| read_datasets(&all, folder));
    let environment = object.required("environment");
    let environment =
        environment.and_then(|one| read_environment(&one, &known_datasets, simulators));
    let entities = object.optional("entities");
    let known_entities = known(entities.as_ref());
    let entities = entities.map_or_else(BTreeMap::new, |all| read_entities(&all, &known_datasets));
    let tasks = object.required("tasks");
    let tasks = tasks.map_or_else(Vec::new, |all| read_tasks(&all, &known_entities));
    object.finish();
    Some(BenchmarkFile {
        name: name?,
        slug: slug?,
        visibility: visibility?,
        description,
        timeout: timeout?,
        concurrency: concurrency
            .and_then(NonZeroU32::new)
            .unwrap_or(NonZeroU32::MIN),
        environment: environment?,
        datasets,
        entities,
        tasks,
    })
}

/// Names that may be referred to, also of what is itself not right.
type Known<'d> = BTreeSet<&'d str>;

fn known<'d>(all: Option<&Node<'d>>) -> Known<'d> {
    let members = all.and_then(|all| all.value().as_object());
    let names = members.into_iter().flat_map(|members| members.keys());
    names.map(String::as_str).collect()
}

fn text(node: &Node<'_>, length: RangeInclusive<usize>) -> Option<String> {
    node.text_of_length(length).map(str::to_owned)
}

fn map(node: &Node<'_>) -> Option<Map<String, Value>> {
    node.object().map(|object| object.map().clone())
}

fn read_slug(node: &Node<'_>) -> Option<Slug> {
    let slug = Slug::try_from(text(node, 0..=NAME)?);
    slug.map_err(|bad| node.refuse(bad.to_string())).ok()
}

fn read_visibility(node: &Node<'_>) -> Option<Visibility> {
    match text(node, 0..=NAME)?.as_str() {
        "Public" => Some(Visibility::Public),
        "Private" => Some(Visibility::Private),
        other => {
            node.refuse(format!("'{other}' is neither Public nor Private"));
            None
        }
    }
}

fn read_timeout(node: &Node<'_>) -> Option<Seconds> {
    Seconds::new(node.whole(1..=LONGEST_TIMEOUT)?)
}

fn read_environment(
    node: &Node<'_>,
    datasets: &Known<'_>,
    known: &SimulatorRegistry,
) -> Option<EnvironmentPart> {
    let object = node.object()?;
    let name = object
        .required("name")
        .and_then(|name| text(&name, 1..=NAME));
    let mut simulators: Vec<SimulatorPart> = Vec::new();
    for one in object.required("simulators").iter().flat_map(Node::items) {
        let Some(simulator) = read_simulator(&one, datasets, known) else {
            continue;
        };
        if simulators.iter().any(|other| other.name == simulator.name) {
            one.refuse(format!("there are two simulators '{}'", simulator.name));
        }
        simulators.push(simulator);
    }
    object.finish();
    Some(EnvironmentPart {
        name: name?,
        simulators,
    })
}

fn read_simulator(
    node: &Node<'_>,
    datasets: &Known<'_>,
    known: &SimulatorRegistry,
) -> Option<SimulatorPart> {
    let object = node.object()?;
    let kind = object.required("type").and_then(|kind| {
        let text = text(&kind, 0..=NAME)?;
        let found = known.resolve(&text).map(|plugin| plugin.kind());
        found.map_err(|unknown| kind.refuse(unknown)).ok()
    });
    let name = object
        .required("name")
        .and_then(|name| text(&name, 1..=NAME));
    let config = object.optional("config");
    let config = config.and_then(|config| map(&config)).unwrap_or_default();
    let begins = object.optional("datasets");
    let begins = begins.map_or_else(Vec::new, |all| {
        names(&all, "data set", |name| datasets.contains(name))
    });
    object.finish();
    Some(SimulatorPart {
        kind: kind?,
        name: name?,
        config,
        datasets: begins,
    })
}

/// What a name stands for, or a refusal that names all.
fn one_of<T>(
    node: &Node<'_>,
    read: impl FnOnce(&str) -> Option<T>,
    all: impl Iterator<Item = &'static str>,
) -> Option<T> {
    let text = text(node, 0..=NAME)?;
    let found = read(&text);
    if found.is_none() {
        let all: Vec<_> = all.collect();
        node.refuse(format!("'{text}' is none of {}", all.join(", ")));
    }
    found
}

/// Names of things that must be there, each once.
fn names(node: &Node<'_>, noun: &str, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    for one in node.items() {
        let Some(name) = text(&one, 1..=NAME) else {
            continue;
        };
        if !is_there(&name) {
            one.refuse(format!("there is no {noun} '{name}'"));
        } else if names.contains(&name) {
            one.refuse(format!("the {noun} '{name}' is named twice"));
        }
        names.push(name);
    }
    names
}

fn read_datasets(node: &Node<'_>, folder: &Folder) -> BTreeMap<String, DatasetPart> {
    let entries = node.entries().into_iter();
    entries
        .filter_map(|(name, one)| Some((name.to_owned(), read_dataset(&one, folder)?)))
        .collect()
}

fn read_dataset(node: &Node<'_>, folder: &Folder) -> Option<DatasetPart> {
    let object = node.object()?;
    let kind = object.required("type").and_then(|kind| {
        let all = DatasetType::ALL.iter().map(|one| one.as_str());
        one_of(&kind, DatasetType::from_name, all)
    });
    let data = match (object.optional("data"), object.optional("file")) {
        (Some(data), None) => {
            let value = data.value();
            if value.is_array() || value.is_object() {
                Some(value.clone())
            } else {
                data.refuse("must be a list or a map");
                None
            }
        }
        (None, Some(file)) => read_data_file(&file, folder),
        (None, None) => {
            object.node().refuse("'data' or 'file' is required");
            None
        }
        (Some(_), Some(_)) => {
            object.node().refuse("only one of 'data' and 'file'");
            None
        }
    };
    object.finish();
    Some(DatasetPart {
        kind: kind?,
        data: data?,
    })
}

/// The data in another file, YAML or JSON.
fn read_data_file(node: &Node<'_>, folder: &Folder) -> Option<Value> {
    let name = text(node, 1..=1000)?;
    let data = folder.read(&name).and_then(|text| {
        document::Node::read(&text)
            .map(|node| node.to_value())
            .map_err(|not_yaml| format!("'{name}' is neither YAML nor JSON: {}", not_yaml.message))
    });
    match data {
        Ok(data) if data.is_array() || data.is_object() => Some(data),
        Ok(_) => {
            node.refuse(format!("'{name}' holds neither a list nor a map"));
            None
        }
        Err(why) => {
            node.refuse(why);
            None
        }
    }
}

fn read_entities(node: &Node<'_>, datasets: &Known<'_>) -> BTreeMap<String, EntityPart> {
    let mut entities = BTreeMap::new();
    for (key, one) in node.entries() {
        if ["entity", "task_run", "now", "today"].contains(&key) || key.contains(['.', '{', '}']) {
            one.refuse(format!("'{key}' means something else in templates"));
        }
        if let Some(entity) = read_entity(&one, datasets) {
            entities.insert(key.to_owned(), entity);
        }
    }
    entities
}

fn read_entity(node: &Node<'_>, datasets: &Known<'_>) -> Option<EntityPart> {
    let object = node.object()?;
    let kind = object
        .required("kind")
        .and_then(|kind| text(&kind, 1..=KIND));
    let home = object.optional("dataset");
    let dataset = home.as_ref().and_then(|home| text(home, 1..=NAME));
    if let (Some(home), Some(name)) = (&home, &dataset)
        && !datasets.contains(name.as_str())
    {
        home.refuse(format!("there is no data set '{name}'"));
    }
    let data = object.required("data").and_then(|data| map(&data));
    object.finish();
    Some(EntityPart {
        kind: kind?,
        dataset,
        data: data?,
    })
}

fn read_tasks(node: &Node<'_>, entities: &Known<'_>) -> Vec<TaskPart> {
    let mut tasks: Vec<TaskPart> = Vec::new();
    for one in node.items() {
        let Some(task) = read_task(&one, entities) else {
            continue;
        };
        if tasks.iter().any(|other| other.name == task.name) {
            one.refuse(format!("there are two tasks '{}'", task.name));
        }
        tasks.push(task);
    }
    tasks
}

fn read_task(node: &Node<'_>, entities: &Known<'_>) -> Option<TaskPart> {
    let object = node.object()?;
    let name = object
        .required("name")
        .and_then(|name| text(&name, 1..=NAME));
    let timeout = object
        .optional("timeout")
        .and_then(|one| read_timeout(&one));
    let tags = object.optional("tags");
    let tags = tags.iter().flat_map(Node::items);
    let tags = tags.filter_map(|tag| text(&tag, 1..=TAG)).collect();
    let task_item = object.optional("task_item");
    let task_item = task_item.map_or(Value::Null, |one| one.value().clone());
    let about = object.optional("entities");
    let mut about = about.map_or_else(Vec::new, |all| {
        names(&all, "entity", |key| entities.contains(key))
    });
    about.sort();
    let criteria = object.optional("criteria");
    let criteria = criteria.iter().flat_map(Node::items);
    let criteria = criteria.filter_map(|one| read_criterion(&one, &about));
    let criteria = criteria.collect();
    let clock = object.optional("clock");
    let clock = clock.and_then(|one| one.word(&ClockPolicy::NAMES));
    let capture = object.optional("capture");
    let capture = capture.iter().flat_map(Node::entries);
    let capture = capture.map(|(name, one)| (name.to_owned(), one.value().clone()));
    let capture = capture.collect();
    let scenario = values(&object, "scenario");
    let solution = values(&object, "solution");
    object.finish();
    Some(TaskPart {
        name: name?,
        timeout,
        tags,
        task_item,
        scenario,
        entities: about,
        clock: clock.unwrap_or_default(),
        capture,
        criteria,
        solution,
    })
}

/// The elements of a list that others read.
fn values(object: &Object<'_>, name: &'static str) -> Vec<Value> {
    let all = object.optional(name);
    all.iter()
        .flat_map(Node::items)
        .map(|one| one.value().clone())
        .collect()
}

fn read_key(node: &Node<'_>) -> Option<String> {
    let key = text(node, 0..=NAME)?;
    let checked = check_key(&key).map_err(|bad| node.refuse(bad.to_string()));
    checked.ok().map(|()| key)
}

fn read_criterion(node: &Node<'_>, about: &[String]) -> Option<CriterionPart> {
    let object = node.object()?;
    let label = object
        .required("label")
        .and_then(|label| text(&label, 1..=LABEL));
    let weight = object.optional("weight").and_then(|weight| {
        weight.number()?;
        let number = weight.value().as_number()?;
        let read = Weight::written(number);
        read.map_err(|bad| weight.refuse(bad.to_string())).ok()
    });
    let axis = object.optional("axis").and_then(|axis| {
        let name = text(&axis, 1..=AXIS)?;
        let checked = check_axis(&name).map_err(|bad| axis.refuse(bad.to_string()));
        checked.ok().map(|()| name)
    });
    let input = object.optional("input_entity");
    let input_entity = input.as_ref().and_then(|input| text(input, 1..=NAME));
    if let (Some(input), Some(key)) = (&input, &input_entity)
        && !about.contains(key)
    {
        input.refuse(format!("the task is not about an entity '{key}'"));
    }
    let key = object.optional("key").and_then(|key| read_key(&key));
    let critical = object.optional("critical").and_then(|one| one.flag());
    let all = object.optional("all").and_then(|one| one.flag());
    let requires = object.optional("requires");
    let requires = requires.iter().flat_map(Node::items);
    let requires = requires.filter_map(|key| read_key(&key)).collect();
    let assertion = object.required("assertion").map(|one| one.value().clone());
    object.finish();
    Some(CriterionPart {
        label: label?,
        weight: weight.unwrap_or_default(),
        axis,
        input_entity,
        key,
        critical: critical.unwrap_or_default(),
        all: all.unwrap_or_default(),
        requires,
        assertion: assertion?,
    })
}
