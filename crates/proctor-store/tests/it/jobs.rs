use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{GateId, OrganizationId, RunId},
    job::{
        Job, JobAgent, JobPlan, JobSource, JobState, Look, LookDecision, Orchestration,
        PlannedGate, PlannedScenario, Program, Try, TryOutcome,
    },
    run::Run,
    scoring::Score,
};
use proctor_statistics::GateVerdict;
use proctor_store::{
    Store, StoreError,
    comparisons::{NewGateResult, NewResult},
    names::Sought,
    page::{PageRequest, PageStart},
    progress::Progress,
    runs::Revised,
};
use rstest::rstest;
use serde_json::json;

use crate::{
    fixture::{Fixture, On, START},
    runs::run_with_tasks,
};

const ALL: PageRequest<proctor_core::id::kinds::JobKind> = PageRequest {
    limit: 10,
    from: PageStart::Newest,
    count: true,
};

/// A job with one agent and one scenario, and the agent's run.
pub(crate) async fn job_with_run(
    store: &Store,
    organization: OrganizationId,
    name: &str,
) -> (Job, Run) {
    let template = run_with_tasks(store, organization, 0).await;
    let id: RunId = store.fresh_id();
    let job = Job {
        id: store.fresh_id(),
        organization,
        name: name.to_owned(),
        machine: "here".to_owned(),
        plan: JobPlan {
            source: JobSource::Scenarios,
            pinned: template.pinned,
            scenarios: vec![PlannedScenario {
                id: store.fresh_id(),
                name: "fix".to_owned(),
            }],
            agents: vec![JobAgent {
                run: id,
                name: "oracle".to_owned(),
                agent: None,
                model: Some("m".to_owned()),
                timeout: Some(0.5),
                kwargs: BTreeMap::new(),
                environment: BTreeMap::new(),
                secrets: BTreeMap::new(),
                program: Program::Oracle,
                attempt: 1,
                entry: 0,
                manifest: None,
                version: None,
                at_once: None,
            }],
            orchestration: Orchestration {
                timeout_multiplier: Some(1.5),
                ..Orchestration::default()
            },
            rounds: None,
            labels: BTreeMap::new(),
        },
        created_at: START,
        state: JobState::Initializing,
    };
    store.create_job(&job).await.unwrap();
    let run = Run {
        id,
        job: Some(job.id),
        ..template
    };
    store.create_run(&run, &[], &[]).await.unwrap();
    (job, run)
}

#[rstest]
#[tokio::test]
async fn a_job_changes_only_from_where_it_was_read(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let other = fixture.organization("Other").await;
    let (job, run) = job_with_run(store, clinic, "Nightly").await;
    let read = store.job(job.id).await.unwrap().unwrap();
    assert_eq!(read.value, job);
    let queued = job.clone().enqueue().unwrap().into_inner();
    let over = |before: &Revised<Job>, after: &Job| Progress {
        job: Some((before.clone(), after.clone())),
        ..Progress::default()
    };
    store.record(&over(&read, &queued)).await.unwrap();
    let written = store.job(job.id).await.unwrap().unwrap();
    assert_eq!(written.value, queued);
    let cancelled = job.clone().cancel(START).unwrap().into_inner();
    let late = store.record(&over(&read, &cancelled)).await;
    assert!(matches!(late, Err(StoreError::Stale)), "{late:?}");
    assert_eq!(store.job(job.id).await.unwrap(), Some(written.clone()));
    assert_eq!(store.runs_of_job(job.id).await.unwrap(), [run]);

    for (name, count) in [("Nightly", 1), ("night", 1), ("weekly", 0)] {
        let sought = Sought {
            name: Some(name.to_owned()),
            search: None,
            ..Sought::default()
        };
        let page = store.jobs(clinic, &sought, ALL).await.unwrap();
        assert_eq!(page.items.len(), count, "{name}");
        let foreign = store.jobs(other, &sought, ALL).await.unwrap();
        assert!(foreign.items.is_empty());
    }
    assert_eq!(store.live_jobs("here").await.unwrap(), [job.id]);
    assert!(store.live_jobs("elsewhere").await.unwrap().is_empty());
    assert!(store.jobs_with_remains("here").await.unwrap().is_empty());
    store.record(&over(&written, &cancelled)).await.unwrap();
    let late = Try {
        run: job.plan.agents[0].run,
        task: job.plan.scenarios[0].id,
        number: 1,
        task_run: None,
        began_at: START,
        agent_began_at: None,
        agent_failure: None,
        end: None,
    };
    assert!(!store.begin_try(job.id, &late).await.unwrap());
    assert!(store.tries(job.id).await.unwrap().is_empty());
    assert!(store.live_jobs("here").await.unwrap().is_empty());
    assert_eq!(store.jobs_with_remains("here").await.unwrap(), [job.id]);
    let run = store.run(job.plan.agents[0].run).await.unwrap().unwrap();
    let over = run
        .value
        .clone()
        .cancel(START, &[], [])
        .unwrap()
        .into_inner();
    let progress = Progress {
        run: Some((run, over)),
        ..Progress::default()
    };
    store.record(&progress).await.unwrap();
    assert!(store.jobs_with_remains("here").await.unwrap().is_empty());
}

#[rstest]
#[tokio::test]
async fn a_try_begins_and_ends_once(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let (job, run) = job_with_run(store, clinic, "Nightly").await;
    let begun = Try {
        run: run.id,
        task: job.plan.scenarios[0].id,
        number: 1,
        task_run: Some(store.fresh_id()),
        began_at: START,
        agent_began_at: None,
        agent_failure: None,
        end: None,
    };
    assert!(store.begin_try(job.id, &begun).await.unwrap());
    let twice = store.begin_try(job.id, &begun).await;
    assert!(matches!(twice, Err(StoreError::Taken(_))), "{twice:?}");
    assert_eq!(
        store.tries(job.id).await.unwrap(),
        std::slice::from_ref(&begun)
    );
    let at_work = Try {
        agent_began_at: Some(START),
        ..begun
    };
    store.update_try(job.id, &at_work).await.unwrap();
    assert_eq!(
        store.tries(job.id).await.unwrap(),
        std::slice::from_ref(&at_work)
    );
    let score = Some(Score::new(0.25).unwrap());
    let ended = at_work.clone().ended(
        START,
        TryOutcome::Completed {
            score,
            critical_misses: Vec::new(),
            fault: None,
        },
    );
    store.update_try(job.id, &ended).await.unwrap();
    let late = at_work.ended(START, TryOutcome::Cancelled);
    let late = store.update_try(job.id, &late).await;
    assert!(matches!(late, Err(StoreError::Stale)), "{late:?}");
    assert_eq!(store.tries(job.id).await.unwrap(), [ended]);
}

#[rstest]
#[tokio::test]
async fn a_round_is_looked_at_once(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let (job, _) = job_with_run(store, clinic, "Nightly").await;
    let look = |round: u32, verdict: GateVerdict, kept: Option<GateId>| Look {
        round,
        at: START,
        level: 0.01,
        decisions: vec![LookDecision {
            gate: PlannedGate {
                candidate: 1,
                baseline: Some(0),
            },
            verdict: Some(verdict),
            sentences: vec!["so it is".to_owned()],
            kept,
        }],
    };
    let gate = NewGateResult {
        verdict: "PASS",
        result: NewResult {
            id: store.fresh_id(),
            headline: json!({}),
            body: json!({"verdict": "PASS"}),
            created_at: START,
        },
    };
    let open = look(2, GateVerdict::Inconclusive, None);
    store.create_look(clinic, job.id, &open, &[]).await.unwrap();
    let last = look(3, GateVerdict::Pass, Some(gate.result.id));
    let gates = [gate.clone()];
    store
        .create_look(clinic, job.id, &last, &gates)
        .await
        .unwrap();
    let other = NewGateResult {
        result: NewResult {
            id: store.fresh_id(),
            ..gate.result.clone()
        },
        ..gate.clone()
    };
    let again = store
        .create_look(clinic, job.id, &last, std::slice::from_ref(&other))
        .await;
    assert!(matches!(again, Err(StoreError::Taken(_))), "{again:?}");
    assert_eq!(store.looks(job.id).await.unwrap(), [open, last]);
    let kept = store.gate(clinic, gate.result.id).await.unwrap();
    assert_eq!(kept, Some(gate.result.body));
    assert_eq!(store.gate(clinic, other.result.id).await.unwrap(), None);
}
