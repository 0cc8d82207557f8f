//! What holds for all that authors make.

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    solver,
    studio::{Studio, make},
};
use crate::support::{Answer, TestServer};

/// Every route about one thing, with a body that would be good.
fn routes(studio: &Studio) -> Vec<(Method, String, Value)> {
    let Studio {
        environment,
        simulator,
        dataset,
        entity,
        benchmark,
        task,
        criterion,
    } = studio;
    let mut routes = Vec::new();
    for path in [
        format!("/environments/{environment}"),
        format!("/simulators/{simulator}"),
        format!("/datasets/{dataset}"),
        format!("/datasets/{dataset}/entities/{entity}"),
        format!("/benchmarks/{benchmark}"),
        format!("/tasks/{task}"),
        format!("/criteria/{criterion}"),
    ] {
        for method in [Method::GET, Method::PATCH, Method::DELETE] {
            routes.push((method, path.clone(), json!({})));
        }
    }
    let link = format!("/environments/{environment}/simulators/{simulator}");
    let about = format!("/tasks/{task}/entities");
    let entities = format!("/datasets/{dataset}/entities");
    routes.extend([
        (Method::POST, link.clone(), json!({})),
        (Method::DELETE, link, json!({})),
        (Method::GET, about.clone(), json!({})),
        (Method::POST, about.clone(), json!({"entity_id": entity})),
        (Method::DELETE, format!("{about}/{entity}"), json!({})),
        (Method::GET, entities.clone(), json!({})),
        (
            Method::POST,
            entities,
            json!({"kind": "patient", "key": "bob", "data": {}}),
        ),
        (
            Method::POST,
            format!("/benchmarks/{benchmark}/publish"),
            json!({"slug": "fax"}),
        ),
        (
            Method::POST,
            format!("/benchmarks/{benchmark}/unpublish"),
            json!({}),
        ),
        (
            Method::GET,
            format!("/benchmarks/{benchmark}/versions"),
            json!({}),
        ),
        (
            Method::GET,
            format!("/tasks?benchmark_id={benchmark}"),
            json!({}),
        ),
        (Method::GET, format!("/criteria?task_id={task}"), json!({})),
        (
            Method::POST,
            "/benchmarks".to_owned(),
            json!({"name": "n", "environment_id": environment, "timeout": 1}),
        ),
        (
            Method::POST,
            "/tasks".to_owned(),
            json!({"name": "n", "benchmark_id": benchmark}),
        ),
        (
            Method::POST,
            "/criteria".to_owned(),
            json!({"label": "l", "task_id": task, "assertion": {}}),
        ),
        (
            Method::POST,
            "/simulators".to_owned(),
            json!({"name": "n", "type": "Fhir", "config": {"dataset_ids": [dataset]}}),
        ),
    ]);
    routes
}

/// All that the organization has, as it is shown.
async fn everything(server: &TestServer, studio: &Studio) -> Vec<Value> {
    let mut shown = Vec::new();
    for (method, path, _) in routes(studio) {
        if method == Method::GET {
            shown.push(server.read(&path).await.body);
        }
    }
    shown
}

#[tokio::test]
async fn another_organization_finds_nothing_and_changes_nothing() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let before = everything(&server, &studio).await;
    let stranger = server.foreign_key().await;
    for (method, path, body) in routes(&studio) {
        let answer = server
            .request(method.clone(), &path)
            .bearer_auth(&stranger)
            .body(body.to_string())
            .send()
            .await
            .unwrap();
        let answer = Answer::of(answer).await;
        assert_eq!(answer.status, 404, "{method} {path}: {}", answer.body);
        assert_eq!(answer.body["error"]["code"], "NOT_FOUND", "{method} {path}");
    }
    for list in [
        "environments",
        "simulators",
        "datasets",
        "benchmarks",
        "tasks",
        "criteria",
    ] {
        let answer = server
            .get(&format!("/{list}"))
            .bearer_auth(&stranger)
            .send()
            .await
            .unwrap();
        assert_eq!(Answer::of(answer).await.body["data"], json!([]), "{list}");
    }
    assert_eq!(everything(&server, &studio).await, before);
}

#[tokio::test]
async fn only_an_organization_key_opens_these_routes() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let solver = make(&server, "/solvers", solver("ada")).await;
    let key = server
        .ask(
            Method::POST,
            &format!("/solvers/{solver}/api-keys"),
            json!({}),
        )
        .await
        .text("key");
    for (method, path, body) in routes(&studio) {
        let request = server.request(method.clone(), &path).body(body.to_string());
        let answer = request.bearer_auth(&key).send().await.unwrap();
        assert_eq!(answer.status(), 401, "{method} {path}");
        let answer = server.request(method.clone(), &path).send().await.unwrap();
        assert_eq!(answer.status(), 401, "{method} {path}");
    }
}

#[tokio::test]
async fn an_id_of_another_kind_or_of_nothing_is_404() {
    let server = TestServer::start().await;
    for list in [
        "environments",
        "simulators",
        "datasets",
        "benchmarks",
        "tasks",
        "criteria",
    ] {
        for id in ["nonsense", "slv_01K0000000000000000000000A", "%ff"] {
            let answer = server.read(&format!("/{list}/{id}")).await;
            assert_eq!(answer.status, 404, "{list}/{id}: {}", answer.body);
        }
    }
    for path in [
        "/environments/env_01K0000000000000000000000A",
        "/tasks?benchmark_id=bench_01K0000000000000000000000A",
        "/criteria?task_id=task_01K0000000000000000000000A",
        "/datasets/ds_01K0000000000000000000000A/entities",
    ] {
        assert_eq!(server.read(path).await.status, 404, "{path}");
    }
    for path in ["/tasks?benchmark_id=nonsense", "/criteria?task_id="] {
        let answer = server.read(path).await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.body);
        assert_eq!(answer.body["error"]["code"], "VALIDATION_ERROR", "{path}");
    }
}

#[rstest]
#[case("/environments", json!({"name": "n"}))]
#[case("/simulators", json!({"name": "n", "type": "Fax"}))]
#[case("/datasets", json!({"name": "n", "type": "Files", "data": {}}))]
#[tokio::test]
async fn lists_are_walked_to_their_end(#[case] list: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let mut newest_first = Vec::new();
    for _ in 0..5 {
        newest_first.insert(0, make(&server, list, body.clone()).await);
    }
    assert_eq!(walk(&server, list, "").await, newest_first);
}

#[tokio::test]
async fn narrowed_lists_are_walked_to_their_end() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let mut tasks = vec![studio.task.clone()];
    let mut criteria = vec![studio.criterion.clone()];
    let mut benchmarks = vec![studio.benchmark.clone()];
    let mut entities = vec![studio.entity.clone()];
    let about = format!("/tasks/{}/entities", studio.task);
    let entity_list = format!("/datasets/{}/entities", studio.dataset);
    for n in 0..4 {
        let name = format!("n{n}");
        let body = json!({"benchmark_id": studio.benchmark, "name": name});
        tasks.insert(0, make(&server, "/tasks", body).await);
        let body = json!({"task_id": studio.task, "label": name, "assertion": {}});
        criteria.insert(0, make(&server, "/criteria", body).await);
        let body = json!({"name": name, "environment_id": studio.environment, "timeout": 5});
        benchmarks.insert(0, make(&server, "/benchmarks", body).await);
        let body = json!({"kind": "patient", "key": name, "data": {}});
        let entity = make(&server, &entity_list, body).await;
        make(&server, &about, json!({"entity_id": entity})).await;
        entities.insert(0, entity);
    }
    let elsewhere = json!({"benchmark_id": benchmarks[0], "name": "elsewhere"});
    let elsewhere = make(&server, "/tasks", elsewhere).await;
    let body = json!({"task_id": elsewhere, "label": "l", "assertion": {}});
    make(&server, "/criteria", body).await;

    let of_benchmark = format!("&benchmark_id={}", studio.benchmark);
    assert_eq!(walk(&server, "/tasks", &of_benchmark).await, tasks);
    let of_task = format!("&task_id={}", studio.task);
    assert_eq!(walk(&server, "/criteria", &of_task).await, criteria);
    assert_eq!(walk(&server, "/benchmarks", "").await, benchmarks);
    assert_eq!(walk(&server, &entity_list, "").await, entities);
    assert_eq!(walk(&server, &about, "").await, entities);
    assert_eq!(walk(&server, "/tasks", "").await.len(), 6);
    assert_eq!(walk(&server, "/criteria", "").await.len(), 6);
}

/// The ids of a list, two at a time.
async fn walk(server: &TestServer, list: &str, filter: &str) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server
            .read(&format!("{list}?limit=2{filter}{cursor}"))
            .await;
        assert_eq!(page.status, 200, "{}", page.body);
        let items = page.body["data"].as_array().unwrap();
        ids.extend(
            items
                .iter()
                .map(|item| item["id"].as_str().unwrap().to_owned()),
        );
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}
