//! What a harm needs to know of a task: who and what is in its world, and what the solution is about.

use std::collections::BTreeSet;

use proctor_core::environment::DatasetType;
use reqwest::Method;
use serde_json::Value;

use super::attempt::{Attempt, Made};
use crate::{
    file::{BenchmarkFile, TaskPart},
    solution::{Body, Call},
};

/// The world of a task as its file and its solution tell it.
pub(crate) struct Scene {
    /// The resources of the chart.
    pub(crate) resources: Vec<Value>,
    /// The paths of the files that are there.
    pub(crate) files: Vec<String>,
    /// The payer's members.
    members: Vec<Value>,
    /// What the solution did.
    pub(crate) made: Vec<Made>,
    simulators: BTreeSet<String>,
    /// Everything that the solution or the task says, for finding out whom it is about.
    mentioned: String,
}

/// Somebody in the world of a task.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    /// The id of the patient, where the chart knows one.
    pub(crate) id: Option<String>,
    pub(crate) member_id: Option<String>,
    pub(crate) family: String,
    pub(crate) given: String,
    pub(crate) birth_date: String,
}

impl Person {
    /// What nobody else should read.
    pub(crate) fn secret(&self) -> String {
        let member = self.member_id.as_deref().unwrap_or_default();
        format!(
            "{} {}, born {}, {member}",
            self.given, self.family, self.birth_date
        )
    }
}

impl Scene {
    pub(crate) fn of(file: &BenchmarkFile, part: &TaskPart, oracle: &Attempt) -> Self {
        let mut scene = Self {
            resources: Vec::new(),
            files: Vec::new(),
            members: Vec::new(),
            made: oracle.made.clone(),
            simulators: file
                .environment
                .simulators
                .iter()
                .map(|one| one.kind.as_str().to_ascii_lowercase())
                .collect(),
            mentioned: String::new(),
        };
        for dataset in file.datasets.values() {
            match dataset.kind {
                DatasetType::Fhir => flatten(&dataset.data, &mut scene.resources),
                DatasetType::Files => {
                    let paths = dataset
                        .data
                        .as_object()
                        .into_iter()
                        .flat_map(|files| files.keys());
                    scene.files.extend(paths.cloned());
                }
                DatasetType::Members => {
                    let list = dataset
                        .data
                        .as_array()
                        .or_else(|| dataset.data.get("members")?.as_array());
                    scene.members.extend(list.into_iter().flatten().cloned());
                }
            }
        }
        for step in &part.scenario {
            if let Some(resource) = step.get("resource") {
                flatten(resource, &mut scene.resources);
            }
        }
        let calls = oracle
            .made
            .iter()
            .map(|made| format!("{} {}", made.path, made.body));
        let entities = part
            .entities
            .iter()
            .filter_map(|key| file.entities.get(key));
        let entities = entities.map(|entity| Value::Object(entity.data.clone()).to_string());
        scene.mentioned = calls.chain(entities).collect::<Vec<_>>().join("\n");
        scene
    }

    /// Whether the environment has a simulator of a type.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.simulators.contains(kind)
    }

    /// The resources of a type.
    pub(crate) fn of_type(&self, kind: &str) -> Vec<&Value> {
        let all = self.resources.iter();
        all.filter(|one| one["resourceType"] == kind).collect()
    }

    /// Whether the task or its solution says something.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.mentioned.contains(text)
    }

    /// Everybody whom the chart or the payer knows.
    fn people(&self) -> Vec<Person> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let patients = self.of_type("Patient").into_iter().map(|patient| Person {
            id: patient["id"].as_str().map(str::to_owned),
            member_id: patient["identifier"][0]["value"]
                .as_str()
                .map(str::to_owned),
            family: text(&patient["name"][0]["family"]),
            given: text(&patient["name"][0]["given"][0]),
            birth_date: text(&patient["birthDate"]),
        });
        let members = self.members.iter().map(|member| Person {
            id: member["patient_id"].as_str().map(str::to_owned),
            member_id: member["member_id"].as_str().map(str::to_owned),
            family: text(&member["last_name"]),
            given: text(&member["first_name"]),
            birth_date: text(&member["birth_date"]),
        });
        patients.chain(members).collect()
    }

    /// Whether the task or its solution names somebody by an id.
    fn is_about(&self, person: &Person) -> bool {
        let ids = [person.id.as_deref(), person.member_id.as_deref()];
        ids.into_iter().flatten().any(|id| self.mentions(id))
    }

    /// The people whom the task is about, as far as they are known before it begins.
    pub(crate) fn subjects(&self) -> Vec<Person> {
        let mut people = self.people();
        people.retain(|one| self.is_about(one));
        people
    }

    /// The ids of the charts that the task is about.
    pub(crate) fn own_patients(&self) -> Vec<String> {
        let patients = self.of_type("Patient").into_iter();
        let ids = patients.filter_map(|one| one["id"].as_str());
        ids.filter(|id| self.mentions(id))
            .map(str::to_owned)
            .collect()
    }

    /// The people whom the task is not about.
    pub(crate) fn strangers(&self) -> Vec<Person> {
        let mut people = self.people();
        let has_id = |one: &Person| one.id.is_some() || one.member_id.is_some();
        people.retain(|one| has_id(one) && !self.is_about(one));
        people
    }

    /// The strangers who have a chart.
    pub(crate) fn patients(&self) -> Vec<Person> {
        let mut all = self.strangers();
        let charts: Vec<&Value> = self.of_type("Patient");
        all.retain(|one| {
            charts
                .iter()
                .any(|chart| chart["id"].as_str() == one.id.as_deref())
        });
        all
    }
}

fn flatten(data: &Value, resources: &mut Vec<Value>) {
    match data {
        Value::Array(items) => items.iter().for_each(|item| flatten(item, resources)),
        Value::Object(members) => match members.get("entry") {
            Some(Value::Array(entries)) => entries
                .iter()
                .for_each(|entry| flatten(&entry["resource"], resources)),
            _ if members.contains_key("resourceType") => resources.push(data.clone()),
            _ => {}
        },
        _ => {}
    }
}

/// A call with a JSON body.
pub(crate) fn call(method: Method, path: impl Into<String>, body: Option<Value>) -> Call {
    Call {
        method,
        path: path.into(),
        headers: std::collections::BTreeMap::new(),
        body: body.map_or(Body::Nothing, Body::Json),
        expect: Vec::new(),
        pick: std::collections::BTreeMap::new(),
    }
}
