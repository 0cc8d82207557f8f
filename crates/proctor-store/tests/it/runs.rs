use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    time::Duration,
};

use proctor_core::{
    canonical::Digest,
    criterion_run::CriterionRun,
    id::kinds::OrganizationId,
    profile::Particulars,
    run::{Pinned, Run, RunPlan, RunState},
    scoring::{Mark, Score, Scorecard, Weight},
    task_run::{TaskRun, TaskRunStatus},
};
use proctor_store::{
    Store, StoreError,
    page::{PageRequest, PageStart},
    progress::{Progress, UnrunReference},
};
use rstest::rstest;

use crate::{
    benchmarks::draft,
    definitions::benchmark,
    fixture::{Fixture, On, START},
};

pub(super) async fn run_with_tasks(
    store: &Store,
    organization: OrganizationId,
    tasks: usize,
) -> Run {
    let drafted = store
        .create_benchmark(organization, draft("Fax"))
        .await
        .unwrap();
    let digest = store.put_definition(&benchmark("Fax")).await.unwrap();
    let run = Run {
        id: store.fresh_id(),
        organization,
        solver: None,
        job: None,
        pinned: Pinned {
            benchmark: drafted.id,
            version: None,
            digest,
        },
        scored: true,
        agent: Some("ward-clerk".to_owned()),
        concurrency: NonZeroU32::MIN,
        particulars: Particulars::default(),
        created_at: store.now(),
        expires_at: None,
        ranked_at: None,
        plan: RunPlan::default(),
        state: RunState::Created,
    };
    let task_runs: Vec<TaskRun> = (0..tasks)
        .map(|_| {
            TaskRun::new(
                store.fresh_id(),
                Some(run.id),
                store.fresh_id(),
                store.now(),
            )
        })
        .collect();
    store.create_run(&run, &task_runs, &[]).await.unwrap();
    run
}

fn card(score: f64) -> Scorecard {
    Scorecard::of_task(&[Mark {
        score: Score::new(score).unwrap(),
        weight: Weight::default(),
        axis: None,
    }])
}

#[rstest]
#[tokio::test]
async fn one_decision_is_written_whole(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let run = run_with_tasks(store, clinic, 1).await;

    let before = store.run(run.id).await.unwrap().unwrap();
    assert_eq!(before.value, run);
    let tasks = store.task_runs(run.id).await.unwrap();
    let started = tasks[0]
        .value
        .clone()
        .start(START, Some(Duration::from_secs(60)))
        .unwrap()
        .into_inner();
    let admitted = before.value.clone().admit(START, &[]).unwrap().into_inner();
    store
        .record(&Progress {
            run: Some((before.clone(), admitted)),
            task_runs: vec![(tasks[0].clone(), started)],
            ..Progress::default()
        })
        .await
        .unwrap();

    let deadline = START.plus(Duration::from_secs(60));
    assert!(store.due_task_runs(START, 10).await.unwrap().is_empty());
    let due = store.due_task_runs(deadline, 10).await.unwrap();
    let before = store.run(run.id).await.unwrap().unwrap();
    let done = due[0]
        .value
        .clone()
        .complete(START, START, card(0.75))
        .unwrap()
        .into_inner();
    let settled = before
        .value
        .clone()
        .settle(START, std::slice::from_ref(&done), [])
        .into_inner();
    let evidence = CriterionRun {
        id: store.fresh_id(),
        task_run: done.id,
        criterion: store.fresh_id(),
        passed: false,
        score: Score::new(0.1 + 0.2).unwrap(),
        details: "2 exist with status proposed".to_owned(),
        evidence: serde_json::from_str(r#"{"fieldResults":[{"actual":1.10}]}"#).unwrap(),
        started_at: START,
        completed_at: START,
    };
    store
        .record(&Progress {
            run: Some((before, settled.clone())),
            task_runs: vec![(due[0].clone(), done.clone())],
            criterion_runs: vec![evidence.clone()],
            ..Progress::default()
        })
        .await
        .unwrap();

    assert_eq!(store.run(run.id).await.unwrap().unwrap().value, settled);
    assert_eq!(store.task_run(done.id).await.unwrap().unwrap().value, done);
    assert_eq!(
        store.criterion_runs(done.id).await.unwrap(),
        std::slice::from_ref(&evidence)
    );
    let both = [store.fresh_id(), done.id];
    assert_eq!(
        store.criterion_runs_of(&both).await.unwrap(),
        BTreeMap::from([(done.id, vec![evidence.clone()])])
    );
    assert_eq!(
        store.criterion_run(evidence.id).await.unwrap(),
        Some(evidence)
    );
    assert!(store.due_task_runs(deadline, 10).await.unwrap().is_empty());
    let page = PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: true,
    };
    assert_eq!(
        store
            .runs(clinic, Some(run.pinned.benchmark), page)
            .await
            .unwrap()
            .items,
        [settled]
    );
}

#[rstest]
#[tokio::test]
async fn a_decision_on_old_facts_writes_nothing(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let run = run_with_tasks(store, clinic, 2).await;
    let tasks = store.task_runs(run.id).await.unwrap();
    let start = |task: &TaskRun| task.clone().start(START, None).unwrap().into_inner();
    let first = Progress {
        task_runs: vec![(tasks[1].clone(), start(&tasks[1].value))],
        ..Progress::default()
    };
    store.record(&first).await.unwrap();

    let stale = Progress {
        task_runs: vec![
            (tasks[0].clone(), start(&tasks[0].value)),
            (
                tasks[1].clone(),
                tasks[1].value.clone().cancel(START).into_inner(),
            ),
        ],
        ..Progress::default()
    };
    assert!(matches!(store.record(&stale).await, Err(StoreError::Stale)));
    let now = store.task_runs(run.id).await.unwrap();
    assert_eq!(now[0], tasks[0], "nothing half-written");
    assert_eq!(now[1].value.status(), TaskRunStatus::Started);
}

#[rstest]
#[tokio::test]
async fn the_newest_reference_says_which_scorers_cannot_be_started(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (task, other) = (Digest::of_bytes(b"a task"), Digest::of_bytes(b"another"));
    let [first, second] = [store.fresh_id(), store.fresh_id()];
    let shows = |scorers: Vec<_>| Progress {
        unrun_reference: Some(UnrunReference {
            task,
            task_run: store.fresh_id(),
            scorers,
        }),
        ..Progress::default()
    };
    for scorers in [vec![first, second], vec![second], Vec::new(), vec![first]] {
        store.record(&shows(scorers.clone())).await.unwrap();
        let known = store.unrun_on_reference(&task).await.unwrap();
        assert_eq!(known, scorers.into_iter().collect::<BTreeSet<_>>());
    }
    assert!(store.unrun_on_reference(&other).await.unwrap().is_empty());
}
