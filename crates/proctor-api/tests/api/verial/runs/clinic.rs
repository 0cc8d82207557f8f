//! A benchmark with every kind of check, made the way an author makes it, and an agent that takes it.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::super::solver;
use crate::support::{Answer, TestServer};

/// A published benchmark, and a Solver who may take it.
pub(super) struct Clinic {
    pub(super) server: TestServer,
    pub(super) benchmark: String,
    pub(super) environment: String,
    pub(super) criteria: Vec<String>,
    pub(super) solver_key: String,
}

/// Makes something and returns its id.
pub(super) async fn make(server: &TestServer, path: &str, body: Value) -> String {
    let made = server.ask(Method::POST, path, body).await;
    assert_eq!(made.status, 201, "{path}: {}", made.body);
    made.text("id")
}

/// What is asked of the one task in all six ways.
fn assertions() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        (
            "The visit is booked",
            "workflow",
            json!({"assert": "fhir-resource-state", "resource_type": "Appointment",
                   "search": {"patient": "Patient/ada", "status": "booked"},
                   "fields": [{"path": "participant.0.actor.display", "expected": "Dr. Rivera"}]}),
        ),
        (
            "The order went out",
            "workflow",
            json!({"assert": "hl7-structural", "correlate_by": {"MSH.9.1": "ORM", "MSH.9.2": "O01"},
                   "fields": [{"path": "PID.3.1", "expected": "12345"}]}),
        ),
        (
            "The authorization was asked for",
            "payer",
            json!({"assert": "portal-state-match",
                   "correlate_by": {"resource": "prior_auth_requests", "key": "request_id"},
                   "assertions": [{"path": "procedure_code", "expected": "72148"},
                                  {"path": "determination.status", "expected": "approved"}]}),
        ),
        (
            "The claim was filed",
            "payer",
            json!({"assert": "sftp-file-present", "path_glob": "outbound/claims/*.json",
                   "fields": [{"path": "claim.total", "expected": 240.5}]}),
        ),
        (
            "The payer was asked politely",
            "safety",
            json!({"assert": "voice-transcript", "speaker": "agent", "contains": ["member ID"],
                   "not_contains": ["social security number"]}),
        ),
        (
            "The coverage was checked",
            "safety",
            json!({"assert": "x12-response", "transaction": "271",
                   "correlate_by": {"NM1[IL].9": "BCB123456789"},
                   "fields": [{"path": "EB[1].1", "expected": "1"}]}),
        ),
    ]
}

impl Clinic {
    /// A benchmark with `tasks` tasks, of which `concurrency` may be taken at once.
    pub(super) async fn open(tasks: usize, concurrency: u32) -> Self {
        let server = TestServer::start().await;
        let patients =
            json!([{"resourceType": "Patient", "id": "ada", "name": [{"family": "Ray"}]}]);
        let dataset = make(
            &server,
            "/datasets",
            json!({"name": "patients", "type": "FHIR", "data": patients}),
        )
        .await;
        let members = json!([{"member_id": "BCB123456789", "last_name": "Ray", "first_name": "Ada",
            "birth_date": "1980-02-03", "patient_id": "ada",
            "coverages": [{"plan_name": "Gold", "start": "2020-01-01"}]}]);
        let members = make(
            &server,
            "/datasets",
            json!({"name": "members", "type": "Members", "data": members}),
        )
        .await;
        let environment = make(&server, "/environments", json!({"name": "Clinic"})).await;
        let ivr = json!({"ivr": {"start": "root", "nodes": {
            "root": {"say": "Say prior authorization or press 1.", "dtmf": {"1": "pa"},
                     "speech": [{"match": "prior auth", "to": "pa"}]},
            "pa": {"say": "What is the member ID?", "transfer": true}}},
            "persona": {"beats": [{"when": "BCB", "say": "Thank you, that is on file."}]}});
        for body in [
            json!({"type": "Fhir", "name": "EHR", "config": {"dataset_ids": [dataset]}}),
            json!({"type": "Hl7", "name": "Interface"}),
            json!({"type": "Files", "name": "Drop"}),
            json!({"type": "Payer", "name": "Payer", "config": {
                "portal": "radmd", "dataset_ids": [members],
                "determinations": [{"procedure_code": "72148", "status": "approved"}],
                "default_determination": {"status": "denied", "reason": "not covered"}}}),
            json!({"type": "Clearinghouse", "name": "Exchange"}),
            json!({"type": "Voice", "name": "Payer line", "config": ivr}),
            json!({"type": "Fax", "name": "Fax"}),
            json!({"type": "Message", "name": "Portal messages"}),
        ] {
            let simulator = make(&server, "/simulators", body).await;
            let path = format!("/environments/{environment}/simulators/{simulator}");
            let linked = server.ask(Method::POST, &path, json!({})).await;
            assert!(linked.status < 300, "{}", linked.body);
        }
        let benchmark = make(
            &server,
            "/benchmarks",
            json!({"name": "Clinic day", "environment_id": environment, "timeout": 600,
                   "concurrency": concurrency}),
        )
        .await;
        let mut criteria = Vec::new();
        for number in 0..tasks {
            let task = make(
                &server,
                "/tasks",
                json!({"benchmark_id": benchmark, "name": format!("Task {}", number + 1),
                       "task_item": {"instructions": "A referral came in by fax."},
                       "scenario": [
                           {"type": "fax_inbound", "from_number": "+15550100", "text": "Referral for Ada Ray"},
                           {"type": "hl7_inbound", "payload": ORU},
                           {"type": "drop_file_inbox", "path": "referral.txt", "content": "see fax"},
                       ]}),
            )
            .await;
            for (label, axis, assertion) in assertions() {
                let criterion = make(
                    &server,
                    "/criteria",
                    json!({"task_id": task, "label": label, "axis": axis, "assertion": assertion}),
                )
                .await;
                criteria.push(criterion);
            }
        }
        let published = server
            .ask(
                Method::POST,
                &format!("/benchmarks/{benchmark}/publish"),
                json!({"slug": "clinic-day"}),
            )
            .await;
        assert!(published.status < 300, "{}", published.body);
        let solver_key = solver_key(&server, "ada").await;
        Self {
            server,
            benchmark,
            environment,
            criteria,
            solver_key,
        }
    }

    /// Begins to take the benchmark.
    pub(super) async fn begin(&self, body: Value) -> Run<'_> {
        let answer = self.try_begin(body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        Run {
            clinic: self,
            token: answer.text("bearer_token"),
            id: answer.text("benchmark_run_id"),
            task_runs: answer.body["task_runs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|task_run| task_run["id"].as_str().unwrap().to_owned())
                .collect(),
            created: answer,
        }
    }

    pub(super) async fn try_begin(&self, body: Value) -> Answer {
        let request = self
            .server
            .post("/v1/benchmark-runs")
            .bearer_auth(&self.solver_key)
            .body(body.to_string());
        Answer::of(request.send().await.unwrap()).await
    }

    pub(super) async fn begin_open(&self) -> Run<'_> {
        self.begin(json!({"benchmark": "clinic-day@1"})).await
    }
}

/// The key of a new Solver.
pub(super) async fn solver_key(server: &TestServer, alias: &str) -> String {
    let id = make(server, "/solvers", solver(alias)).await;
    let key = server
        .ask(Method::POST, &format!("/solvers/{id}/api-keys"), json!({}))
        .await;
    assert_eq!(key.status, 201, "{}", key.body);
    key.text("key")
}

/// An agent at work on a run.
pub(super) struct Run<'c> {
    pub(super) clinic: &'c Clinic,
    pub(super) id: String,
    pub(super) token: String,
    pub(super) task_runs: Vec<String>,
    pub(super) created: Answer,
}

impl Run<'_> {
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.clinic
            .server
            .request(method, path)
            .bearer_auth(&self.token)
    }

    pub(super) async fn ask(&self, method: Method, path: &str, body: Value) -> Answer {
        let mut request = self.request(method, path);
        if !body.is_null() {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        Answer::of(request.send().await.unwrap()).await
    }

    pub(super) async fn start(&self, number: usize) -> Answer {
        let path = format!("/v1/task-runs/{}/start", self.task_runs[number]);
        self.ask(Method::POST, &path, Value::Null).await
    }

    pub(super) async fn complete(&self, number: usize) -> Answer {
        let path = format!("/v1/task-runs/{}/complete", self.task_runs[number]);
        self.ask(Method::POST, &path, Value::Null).await
    }

    pub(super) async fn look(&self) -> Answer {
        let path = format!("/v1/benchmark-runs/{}", self.id);
        self.ask(Method::GET, &path, Value::Null).await
    }

    /// A request to a sandbox of the run.
    pub(super) async fn sandbox(&self, method: Method, path: &str, body: Value) -> Answer {
        let path = format!("/v1/benchmark-runs/{}/{path}", self.id);
        self.ask(method, &path, body).await
    }

    /// Does everything that the task asks for.
    pub(super) async fn solve(&self) {
        let appointment = json!({"resourceType": "Appointment", "status": "booked", "participant": [
            {"actor": {"display": "Dr. Rivera"}, "status": "accepted"},
            {"actor": {"reference": "Patient/ada"}, "status": "accepted"}]});
        let authorization = json!({"patient_member_id": "BCB123456789", "provider_npi": "1234567893",
            "procedure_code": "72148", "diagnosis_codes": ["M54.5"]});
        let call = self.sandbox(Method::POST, "voice/calls", json!({})).await;
        assert_eq!(call.status, 201, "{}", call.body);
        let turns = format!("voice/calls/{}/turns", call.text("call_id"));
        for (method, path, body, status) in [
            (Method::POST, "fhir/Appointment", appointment, 201),
            (Method::POST, "hl7/outbound", json!({"payload": ORM}), 200),
            (Method::POST, "portal/prior-auths", authorization, 201),
            (
                Method::PUT,
                "files/outbound/claims/1.json",
                json!({"claim": {"total": 240.50}}),
                201,
            ),
            (
                Method::POST,
                &turns,
                json!({"text": "Prior auth please"}),
                200,
            ),
            (
                Method::POST,
                &turns,
                json!({"text": "The member ID is BCB123456789"}),
                200,
            ),
            (
                Method::POST,
                "clearinghouse/eligibility",
                json!({"patient_id": "ada"}),
                200,
            ),
        ] {
            let answer = self.sandbox(method, path, body).await;
            assert!(
                answer.status == status
                    || (answer.status == 200 && status == 201)
                    || (answer.status == 201 && status == 200),
                "{path}: {} {}",
                answer.status,
                answer.body
            );
        }
    }
}

/// A lab result that comes in.
pub(super) const ORU: &str = "MSH|^~\\&|LAB|HOSP|EHR|CLINIC|20260421170000||ORU^R01|LAB1|P|2.5.1\rPID|1||12345^^^MRN||Ray^Ada\rOBR|1|||2823-3^Potassium^LN\rOBX|1|NM|2823-3^Potassium^LN||6.9|mmol/L|||||F\r";
/// An order that goes out.
pub(super) const ORM: &str = "MSH|^~\\&|EHR|CLINIC|LAB|HOSP|20260421170500||ORM^O01|ORD1|P|2.5.1\rPID|1||12345^^^MRN||Ray^Ada\rORC|NW|A1\rOBR|1|A1||2823-3^Potassium^LN\r";
