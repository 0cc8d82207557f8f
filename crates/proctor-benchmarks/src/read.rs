//! From the text of a file to what it says, with everything that is wrong named at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
};

use proctor_core::{
    definition::{Seconds, Slug, Visibility},
    environment::{DatasetType, SimulatorType},
    scoring::Weight,
};
use serde_json::Value;

use crate::{
    document::Node,
    file::{
        BenchmarkFile, CriterionPart, DatasetPart, EntityPart, EnvironmentPart, SimulatorPart,
        TaskPart,
    },
    folder::Folder,
    problem::{Problem, Report, Source},
    reader::{Cursor, Notes, Object},
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
    pub(crate) document: Node,
}

impl ReadFile {
    /// Reads the text of a file; what it refers to is in `folder`.
    pub fn read(source: Source, folder: &Folder) -> Result<Self, Report> {
        if source.text.len() > LARGEST {
            let problem = Problem::error("", format!("has more than {LARGEST} bytes"));
            return Err(Report::new(source, vec![problem]));
        }
        let document = match Node::read(&source.text) {
            Ok(document) => document,
            Err(not_yaml) => {
                let problem = Problem {
                    span: not_yaml.span,
                    ..Problem::error("", not_yaml.message)
                };
                return Err(Report::new(source, vec![problem]));
            }
        };
        let notes = Notes::default();
        let content = benchmark(&Cursor::root(&document, &notes), folder);
        let problems = notes.into_problems();
        match content {
            Some(content) if problems.is_empty() => Ok(Self {
                content,
                source,
                document,
            }),
            _ => Err(Report::new(source, problems)),
        }
    }

    /// A report about this file, with the place of every problem.
    pub(crate) fn report(&self, mut problems: Vec<Problem>) -> Report {
        for problem in &mut problems {
            problem.span = Some(self.document.find(&problem.path));
        }
        Report::new(self.source.clone(), problems)
    }
}

fn benchmark(cursor: &Cursor<'_>, folder: &Folder) -> Option<BenchmarkFile> {
    let object = cursor.object()?;
    let name = object.required("name").and_then(|name| name.text(1..=NAME));
    let slug = object.required("slug").and_then(|slug| read_slug(&slug));
    let visibility = object.optional("visibility");
    let visibility = visibility.map_or(Some(Visibility::Private), |one| read_visibility(&one));
    let description = object.optional("description");
    let description = description.and_then(|text| text.text(0..=DESCRIPTION));
    let timeout = object
        .required("timeout")
        .and_then(|one| read_timeout(&one));
    let concurrency = object.optional("concurrency");
    let concurrency = concurrency.and_then(|one| one.whole(1..=MOST_AT_ONCE));
    let datasets = object.optional("datasets");
    let known_datasets = known(datasets.as_ref());
    let datasets = datasets.map_or_else(BTreeMap::new, |all| read_datasets(&all, folder));
    let environment = object.required("environment");
    let environment = environment.and_then(|one| read_environment(&one, &known_datasets));
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

fn known<'d>(all: Option<&Cursor<'d>>) -> Known<'d> {
    let names = all.map(Cursor::names);
    names.unwrap_or_default().into_iter().collect()
}

fn read_slug(cursor: &Cursor<'_>) -> Option<Slug> {
    let slug = Slug::try_from(cursor.text(0..=NAME)?);
    slug.map_err(|bad| cursor.refuse(bad.to_string())).ok()
}

fn read_visibility(cursor: &Cursor<'_>) -> Option<Visibility> {
    match cursor.text(0..=NAME)?.as_str() {
        "Public" => Some(Visibility::Public),
        "Private" => Some(Visibility::Private),
        other => {
            cursor.refuse(format!("'{other}' is neither Public nor Private"));
            None
        }
    }
}

fn read_timeout(cursor: &Cursor<'_>) -> Option<Seconds> {
    Seconds::new(cursor.whole(1..=LONGEST_TIMEOUT)?)
}

fn read_environment(cursor: &Cursor<'_>, datasets: &Known<'_>) -> Option<EnvironmentPart> {
    let object = cursor.object()?;
    let name = object.required("name").and_then(|name| name.text(1..=NAME));
    let mut simulators: Vec<SimulatorPart> = Vec::new();
    for one in object.required("simulators").iter().flat_map(Cursor::list) {
        let Some(simulator) = read_simulator(&one, datasets) else {
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

fn read_simulator(cursor: &Cursor<'_>, datasets: &Known<'_>) -> Option<SimulatorPart> {
    let object = cursor.object()?;
    let kind = object.required("type").and_then(|kind| {
        let all = SimulatorType::ALL.iter().map(|one| one.as_str());
        one_of(&kind, SimulatorType::from_name, all)
    });
    let name = object.required("name").and_then(|name| name.text(1..=NAME));
    let config = object.optional("config");
    let config = config.and_then(|config| config.map()).unwrap_or_default();
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
    cursor: &Cursor<'_>,
    read: impl FnOnce(&str) -> Option<T>,
    all: impl Iterator<Item = &'static str>,
) -> Option<T> {
    let text = cursor.text(0..=NAME)?;
    let found = read(&text);
    if found.is_none() {
        let all: Vec<_> = all.collect();
        cursor.refuse(format!("'{text}' is none of {}", all.join(", ")));
    }
    found
}

/// Names of things that must be there, each once.
fn names(cursor: &Cursor<'_>, noun: &str, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    for one in cursor.list() {
        let Some(name) = one.text(1..=NAME) else {
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

fn read_datasets(cursor: &Cursor<'_>, folder: &Folder) -> BTreeMap<String, DatasetPart> {
    let entries = cursor.entries().into_iter();
    entries
        .filter_map(|(name, one)| Some((name.to_owned(), read_dataset(&one, folder)?)))
        .collect()
}

fn read_dataset(cursor: &Cursor<'_>, folder: &Folder) -> Option<DatasetPart> {
    let object = cursor.object()?;
    let kind = object.required("type").and_then(|kind| {
        let all = DatasetType::ALL.iter().map(|one| one.as_str());
        one_of(&kind, DatasetType::from_name, all)
    });
    let data = match (object.optional("data"), object.optional("file")) {
        (Some(data), None) => {
            let value = data.value();
            if value.is_array() || value.is_object() {
                Some(value)
            } else {
                data.refuse("must be a list or a map");
                None
            }
        }
        (None, Some(file)) => read_data_file(&file, folder),
        (None, None) => {
            object.refuse("'data' or 'file' is required");
            None
        }
        (Some(_), Some(_)) => {
            object.refuse("only one of 'data' and 'file'");
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
fn read_data_file(cursor: &Cursor<'_>, folder: &Folder) -> Option<Value> {
    let name = cursor.text(1..=1000)?;
    let data = folder.read(&name).and_then(|text| {
        Node::read(&text)
            .map(|node| node.to_value())
            .map_err(|not_yaml| format!("'{name}' is neither YAML nor JSON: {}", not_yaml.message))
    });
    match data {
        Ok(data) if data.is_array() || data.is_object() => Some(data),
        Ok(_) => {
            cursor.refuse(format!("'{name}' holds neither a list nor a map"));
            None
        }
        Err(why) => {
            cursor.refuse(why);
            None
        }
    }
}

fn read_entities(cursor: &Cursor<'_>, datasets: &Known<'_>) -> BTreeMap<String, EntityPart> {
    let mut entities = BTreeMap::new();
    for (key, one) in cursor.entries() {
        if ["entity", "task_run", "now", "today"].contains(&key) || key.contains(['.', '{', '}']) {
            one.refuse(format!("'{key}' means something else in templates"));
        }
        if let Some(entity) = read_entity(&one, datasets) {
            entities.insert(key.to_owned(), entity);
        }
    }
    entities
}

fn read_entity(cursor: &Cursor<'_>, datasets: &Known<'_>) -> Option<EntityPart> {
    let object = cursor.object()?;
    let kind = object.required("kind").and_then(|kind| kind.text(1..=KIND));
    let home = object.optional("dataset");
    let dataset = home.as_ref().and_then(|home| home.text(1..=NAME));
    if let (Some(home), Some(name)) = (&home, &dataset)
        && !datasets.contains(name.as_str())
    {
        home.refuse(format!("there is no data set '{name}'"));
    }
    let data = object.required("data").and_then(|data| data.map());
    object.finish();
    Some(EntityPart {
        kind: kind?,
        dataset,
        data: data?,
    })
}

fn read_tasks(cursor: &Cursor<'_>, entities: &Known<'_>) -> Vec<TaskPart> {
    let mut tasks: Vec<TaskPart> = Vec::new();
    for one in cursor.list() {
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

fn read_task(cursor: &Cursor<'_>, entities: &Known<'_>) -> Option<TaskPart> {
    let object = cursor.object()?;
    let name = object.required("name").and_then(|name| name.text(1..=NAME));
    let timeout = object
        .optional("timeout")
        .and_then(|one| read_timeout(&one));
    let tags = object.optional("tags");
    let tags = tags.iter().flat_map(Cursor::list);
    let tags = tags.filter_map(|tag| tag.text(1..=TAG)).collect();
    let task_item = object.optional("task_item");
    let task_item = task_item.map_or(Value::Null, |one| one.value());
    let about = object.optional("entities");
    let mut about = about.map_or_else(Vec::new, |all| {
        names(&all, "entity", |key| entities.contains(key))
    });
    about.sort();
    let criteria = object.optional("criteria");
    let criteria = criteria.iter().flat_map(Cursor::list);
    let criteria = criteria.filter_map(|one| read_criterion(&one, &about));
    let criteria = criteria.collect();
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
        criteria,
        solution,
    })
}

/// The elements of a list that others read.
fn values(object: &Object<'_>, name: &'static str) -> Vec<Value> {
    let all = object.optional(name);
    all.iter()
        .flat_map(Cursor::list)
        .map(|one| one.value())
        .collect()
}

fn read_criterion(cursor: &Cursor<'_>, about: &[String]) -> Option<CriterionPart> {
    let object = cursor.object()?;
    let label = object
        .required("label")
        .and_then(|label| label.text(1..=LABEL));
    let weight = object.optional("weight").and_then(|weight| {
        let read = Weight::new(weight.number()?);
        read.map_err(|bad| weight.refuse(bad.to_string())).ok()
    });
    let axis = object.optional("axis").and_then(|axis| axis.text(1..=AXIS));
    let input = object.optional("input_entity");
    let input_entity = input.as_ref().and_then(|input| input.text(1..=NAME));
    if let (Some(input), Some(key)) = (&input, &input_entity)
        && !about.contains(key)
    {
        input.refuse(format!("the task is not about an entity '{key}'"));
    }
    let assertion = object.required("assertion").map(|one| one.value());
    object.finish();
    Some(CriterionPart {
        label: label?,
        weight: weight.unwrap_or_default(),
        axis,
        input_entity,
        assertion: assertion?,
    })
}
