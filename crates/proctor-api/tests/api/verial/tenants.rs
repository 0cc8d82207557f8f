//! Two organizations on one server: what they share, and what they do not.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    solver,
    studio::{Studio, make},
};
use crate::support::{Answer, TestServer};

/// A second organization.
struct Other<'s> {
    server: &'s TestServer,
    key: String,
}

impl<'s> Other<'s> {
    async fn open(server: &'s TestServer) -> Self {
        let key = server.foreign_key().await;
        Self { server, key }
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> Answer {
        let mut request = self.server.request(method, path).bearer_auth(&self.key);
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        Answer::of(request.send().await.unwrap()).await
    }

    async fn read(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, Value::Null).await
    }

    async fn make(&self, path: &str, body: Value) -> String {
        let made = self.ask(Method::POST, path, body).await;
        assert_eq!(made.status, 201, "{path}: {}", made.body);
        made.text("id")
    }

    /// A benchmark of its own with one task.
    async fn benchmark(&self) -> String {
        let environment = self.make("/environments", json!({"name": "Theirs"})).await;
        let simulator = self
            .make("/simulators", json!({"type": "Fhir", "name": "EHR"}))
            .await;
        let link = format!("/environments/{environment}/simulators/{simulator}");
        self.ask(Method::POST, &link, json!({})).await;
        let body = json!({"name": "Theirs", "environment_id": environment, "timeout": 60});
        let benchmark = self.make("/benchmarks", body).await;
        self.make("/tasks", json!({"benchmark_id": benchmark, "name": "t"}))
            .await;
        benchmark
    }

    async fn publish(&self, benchmark: &str, body: Value) -> Answer {
        let path = format!("/benchmarks/{benchmark}/publish");
        self.ask(Method::POST, &path, body).await
    }

    /// Begins to take a benchmark as a Solver of the organization.
    async fn take(&self, benchmark: &str) -> Answer {
        let alias = format!("solver-{}", benchmark.replace('@', "-"));
        let solver = self.ask(Method::POST, "/solvers", solver(&alias)).await;
        let solver = match solver.status {
            201 => solver.text("id"),
            _ => {
                let all = self.read("/solvers").await;
                let all = all.body["data"].as_array().unwrap().clone();
                let same = all.iter().find(|one| one["alias"] == alias.as_str());
                same.unwrap()["id"].as_str().unwrap().to_owned()
            }
        };
        let key = self
            .ask(
                Method::POST,
                &format!("/solvers/{solver}/api-keys"),
                json!({}),
            )
            .await;
        let body = json!({"benchmark": benchmark}).to_string();
        let request = self.server.post("/v1/benchmark-runs");
        let request = request.bearer_auth(key.text("key")).body(body);
        Answer::of(request.send().await.unwrap()).await
    }
}

async fn publish(server: &TestServer, benchmark: &str, body: Value) -> Answer {
    let path = format!("/benchmarks/{benchmark}/publish");
    server.ask(Method::POST, &path, body).await
}

#[tokio::test]
async fn a_slug_never_mixes_owners_between_versions() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let other = Other::open(&server).await;
    let theirs = other.benchmark().await;
    // Private slugs are each organization's own.
    let own = publish(&server, &studio.benchmark, json!({"slug": "critical-lab"})).await;
    assert_eq!(own.status, 201, "{}", own.body);
    let body = json!({"slug": "critical-lab"});
    assert_eq!(other.publish(&theirs, body).await.status, 201);
    // In public it belongs to the first publisher, over all versions.
    let public = json!({"slug": "critical-lab", "visibility": "Public"});
    let first = publish(&server, &studio.benchmark, public.clone()).await;
    assert_eq!((first.status, &first.body["version"]), (201, &json!(2)));
    let late = other.publish(&theirs, public.clone()).await;
    assert_eq!(late.status, 409, "{}", late.body);
    // The owner of a slug gets its own versions, and nothing where it has none.
    let name = |answer: &Answer| answer.body["benchmark"]["name"].clone();
    let taken = other.take("critical-lab@1").await;
    assert_eq!((taken.status, name(&taken)), (201, json!("Theirs")));
    let missing = other.take("critical-lab@2").await;
    assert_eq!(missing.status, 404, "{}", missing.body);
    // Who has no benchmark of that name gets the public one, and never a private version of it.
    let third = Other::open(&server).await;
    let taken = third.take("critical-lab@2").await;
    assert_eq!((taken.status, name(&taken)), (201, json!("Fax referral")));
    assert_eq!(third.take("critical-lab@1").await.status, 404);
}

#[tokio::test]
async fn public_benchmarks_of_others_are_listed_and_runnable_and_not_editable() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let other = Other::open(&server).await;
    let path = format!("/benchmarks/{}", studio.benchmark);
    assert_eq!(other.read("/benchmarks").await.body["data"], json!([]));
    assert_eq!(other.read(&path).await.status, 404);
    let public = json!({"slug": "fax", "visibility": "Public"});
    publish(&server, &studio.benchmark, public).await;
    // What is drafted afterwards is nobody else's business.
    let draft = json!({"name": "Secret plans", "timeout": 5});
    server.ask(Method::PATCH, &path, draft).await;

    let listed = other.read("/benchmarks").await;
    let row = &listed.body["data"][0];
    assert_eq!(row["id"], studio.benchmark.as_str(), "{}", listed.body);
    assert_eq!(row["name"], "Fax referral");
    assert_eq!(row["timeout"], 600);
    assert_eq!(row["environment_id"], Value::Null);
    assert_eq!(row["own"], false);
    let owner = json!({"id": server.organization, "name": "Test Clinic"});
    assert_eq!(row["owner"], owner);
    assert_eq!(other.read(&path).await.body, *row);
    let versions = other.read(&format!("{path}/versions")).await;
    assert_eq!(versions.body["data"][0]["version"], 1);
    let own = server.read("/benchmarks").await;
    assert_eq!(own.body["data"][0]["own"], true);
    assert_eq!(own.body["data"][0]["name"], "Secret plans");

    for (method, below) in [
        (Method::PATCH, ""),
        (Method::DELETE, ""),
        (Method::POST, "/publish"),
        (Method::POST, "/unpublish"),
        (Method::POST, "/check"),
        (Method::GET, "/definition"),
        (Method::GET, "/versions/1/definition"),
    ] {
        let body = match below {
            "/publish" => json!({"slug": "fax"}),
            _ => json!({}),
        };
        let refused = other
            .ask(method.clone(), &format!("{path}{below}"), body)
            .await;
        assert!(
            matches!(refused.status, 403 | 404),
            "{method} {below}: {} {}",
            refused.status,
            refused.body
        );
    }
    let path = format!("/benchmarks/{}", studio.benchmark);
    let refused = other.ask(Method::DELETE, &path, Value::Null).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let task = json!({"benchmark_id": studio.benchmark, "name": "mine"});
    assert_eq!(other.ask(Method::POST, "/tasks", task).await.status, 403);
    let internal = json!({"benchmark_id": studio.benchmark});
    let taken = other.ask(Method::POST, "/benchmark-runs", internal).await;
    assert_eq!(taken.status, 201, "{}", taken.body);
    assert_eq!(taken.body["benchmark"]["version"], "1");
    let draft = json!({"benchmark_id": studio.benchmark, "draft": true});
    let refused = other.ask(Method::POST, "/benchmark-runs", draft).await;
    assert_eq!(refused.status, 404, "{}", refused.body);
    assert_eq!(other.take("fax@1").await.status, 201);
}

#[tokio::test]
async fn versions_are_for_ever_and_new_runs_can_be_stopped() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let other = Other::open(&server).await;
    let path = format!("/benchmarks/{}", studio.benchmark);
    publish(
        &server,
        &studio.benchmark,
        json!({"slug": "fax", "visibility": "Public"}),
    )
    .await;
    let begun = other.take("fax@1").await;
    let unpublish = async |body: Value| {
        let answer = server
            .ask(Method::POST, &format!("{path}/unpublish"), body)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer
    };
    let hidden = unpublish(json!({})).await;
    assert_eq!(hidden.body["published"], false);
    assert_eq!(hidden.body["new_runs_stopped"], false);
    assert_eq!(other.read("/benchmarks").await.body["data"], json!([]));
    assert_eq!(other.read(&path).await.status, 404);
    assert_eq!(other.take("fax@1").await.status, 201, "it is pinned");

    let stopped = unpublish(json!({"stop_new_runs": true})).await;
    assert_eq!(stopped.body["new_runs_stopped"], true);
    let refused = other.take("fax@1").await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("no new run"), "{message}");
    assert!(message.contains("this version"), "{message}");
    let internal = json!({"benchmark_id": studio.benchmark});
    let own = server
        .ask(Method::POST, "/benchmark-runs", internal.clone())
        .await;
    assert_eq!(own.status, 409, "{}", own.body);
    let theirs = other.ask(Method::POST, "/benchmark-runs", internal).await;
    assert_eq!(theirs.status, 409, "it was public: {}", theirs.body);
    let draft = json!({"benchmark_id": studio.benchmark, "draft": true});
    let own = server.ask(Method::POST, "/benchmark-runs", draft).await;
    assert_eq!(own.status, 201, "the draft can be tried: {}", own.body);

    // What has begun goes on, and its results stay readable.
    let task_run = begun.body["task_runs"][0]["id"].as_str().unwrap();
    for verb in ["start", "complete"] {
        let request = server.post(&format!("/v1/task-runs/{task_run}/{verb}"));
        let answer = request.bearer_auth(begun.text("bearer_token")).send().await;
        assert_eq!(answer.unwrap().status(), 200);
    }
    let run = format!("/benchmark-runs/{}", begun.text("benchmark_run_id"));
    let read = other.read(&run).await;
    assert_eq!(
        (read.status, &read.body["status"]),
        (200, &json!("completed"))
    );

    let refused = server.own(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(refused.status(), 409);
    let versions = server.read(&format!("{path}/versions")).await;
    assert_eq!(versions.body["data"][0]["new_runs_stopped"], true);
    unpublish(json!({"stop_new_runs": false})).await;
    assert_eq!(other.take("fax@1").await.status, 201);
    let wrong = json!({"stop_new_runs": "yes"});
    let wrong = server
        .ask(Method::POST, &format!("{path}/unpublish"), wrong)
        .await;
    assert_eq!(wrong.status, 400, "{}", wrong.body);
}

#[tokio::test]
async fn publishing_says_what_its_author_should_know() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let body = json!({"slug": "fax"});
    let first = publish(&server, &studio.benchmark, body.clone()).await;
    let unwatched = format!(
        "{}: the task 'Register the patient' has no criterion 'unchanged', so nobody sees what else an agent changes or sends",
        studio.task
    );
    assert_eq!(first.body["warnings"], json!([unwatched]));
    assert_eq!(first.body.get("unchanged_since"), None);
    let again = publish(&server, &studio.benchmark, body.clone()).await;
    assert_eq!(again.body["version"], 2);
    assert_eq!(again.body["unchanged_since"], 1);
    let same = "nothing has changed: the content is that of version 1";
    assert_eq!(again.body["warnings"], json!([same, unwatched]));
    let task = json!({"benchmark_id": studio.benchmark, "name": "Nobody looks"});
    let task = make(&server, "/tasks", task).await;
    let unchecked = publish(&server, &studio.benchmark, body).await;
    assert_eq!(unchecked.status, 201, "{}", unchecked.body);
    let warning = format!(
        "{task}: the task 'Nobody looks' has no criteria: whatever an agent does, it scores 0 and its verdict is fail"
    );
    assert_eq!(unchecked.body["warnings"], json!([warning, unwatched]));
    let check = format!("/benchmarks/{}/check", studio.benchmark);
    let checked = server.ask(Method::POST, &check, json!({})).await;
    assert_eq!(checked.body["warnings"][0]["place"], task.as_str());
}
