//! One of everything that authors make, made over HTTP.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, TestServer};

/// The ids of one of everything: a benchmark that can be published.
pub(crate) struct Studio {
    pub(crate) environment: String,
    pub(crate) simulator: String,
    pub(crate) dataset: String,
    pub(crate) entity: String,
    pub(crate) benchmark: String,
    pub(crate) task: String,
    pub(crate) criterion: String,
}

/// Makes something; its id.
pub(crate) async fn make(server: &TestServer, path: &str, body: Value) -> String {
    let made = server.ask(Method::POST, path, body).await;
    assert_eq!(made.status, 201, "{path}: {}", made.body);
    made.text("id")
}

/// Removes something; the answer.
pub(crate) async fn remove(server: &TestServer, path: &str) -> Answer {
    Answer::of(server.own(Method::DELETE, path).send().await.unwrap()).await
}

impl Studio {
    pub(crate) async fn open(server: &TestServer) -> Self {
        let dataset = json!({"name": "Chart", "type": "FHIR",
            "data": [{"resourceType": "Patient", "id": "ada", "name": [{"family": "Lovelace"}]}]});
        let dataset = make(server, "/datasets", dataset).await;
        let entity = json!({"kind": "patient", "key": "ada", "data": {"name": "Ada", "weight": 1}});
        let entity = make(server, &format!("/datasets/{dataset}/entities"), entity).await;
        let simulator =
            json!({"type": "fhir", "name": "EHR", "config": {"dataset_ids": [dataset]}});
        let simulator = make(server, "/simulators", simulator).await;
        let environment = make(server, "/environments", json!({"name": "Ward"})).await;
        let linked = format!("/environments/{environment}/simulators/{simulator}");
        let linked = server.ask(Method::POST, &linked, json!({})).await;
        assert_eq!(linked.status, 200, "{}", linked.body);
        let benchmark =
            json!({"name": "Fax referral", "environment_id": environment, "timeout": 600});
        let benchmark = make(server, "/benchmarks", benchmark).await;
        let task = json!({"benchmark_id": benchmark, "name": "Register the patient",
            "task_item": {"instructions": "A fax came in."},
            "scenario": [{"type": "fhir_upsert", "resource": {"resourceType": "Patient", "id": "eve"}}]});
        let task = make(server, "/tasks", task).await;
        let linked = format!("/tasks/{task}/entities");
        make(server, &linked, json!({"entity_id": entity})).await;
        let criterion = json!({"task_id": task, "label": "The patient is in the chart",
            "input_entity_id": entity, "assertion": patient_exists()});
        let criterion = make(server, "/criteria", criterion).await;
        Self {
            environment,
            simulator,
            dataset,
            entity,
            benchmark,
            task,
            criterion,
        }
    }
}

/// An assertion that can be checked.
pub(crate) fn patient_exists() -> Value {
    json!({"assert": "fhir-resource-state", "resource_type": "Patient", "search": {"_id": "eve"},
           "fields": [{"path": "active", "expected": true}]})
}
