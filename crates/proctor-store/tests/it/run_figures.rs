use proctor_core::{
    id::kinds::{OrganizationId, RunId, RunKind},
    results::Summary,
    run::{Ending, Run, RunState},
    scoring::{Score, Scorecard, Verdict},
};
use proctor_store::{
    Store,
    page::{PageRequest, PageStart},
    progress::Progress,
    run_figures::{RunFigures, RunOrder, RunVerdict},
    run_lists::RunFilter,
};
use rstest::rstest;

use crate::{
    fixture::{Fixture, On, START},
    runs::run_with_tasks,
};

fn page(limit: u32, from: PageStart<RunKind>) -> PageRequest<RunKind> {
    PageRequest {
        limit,
        from,
        count: true,
    }
}

/// A completed run with this score and so many void attempts.
async fn scored(store: &Store, base: &Run, score: f64, void: u32) -> RunId {
    let run = Run {
        id: store.fresh_id(),
        ..base.clone()
    };
    store.create_run(&run, &[], &[]).await.unwrap();
    let before = store.run(run.id).await.unwrap().unwrap();
    let done = before
        .value
        .clone()
        .complete(START, &[], [])
        .unwrap()
        .into_inner();
    let card = Scorecard {
        score: Score::new(score).unwrap(),
        verdict: Verdict::of(Score::new(score).unwrap()),
        ..Scorecard::zero()
    };
    let mut done = done.with_summary(Summary {
        score: Some(score),
        void,
        ..Summary::of(&[])
    });
    if let RunState::Ended { ending, .. } = &mut done.state {
        *ending = Ending::Completed { card };
    }
    let progress = Progress {
        run: Some((before, done)),
        ..Progress::default()
    };
    store.record(&progress).await.unwrap();
    run.id
}

async fn listed(
    store: &Store,
    clinic: OrganizationId,
    filter: &RunFilter,
    order: RunOrder,
) -> Vec<RunId> {
    let found = store
        .sorted_runs(clinic, filter, order, page(50, PageStart::Newest))
        .await
        .unwrap();
    found.items.iter().map(|run| run.id).collect()
}

#[rstest]
#[tokio::test]
async fn runs_are_sorted_and_filtered_by_their_numbers(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let open = run_with_tasks(store, clinic, 0).await;
    let half = scored(store, &open, 0.5, 0).await;
    let full = scored(store, &open, 1.0, 2).await;
    let also_half = scored(store, &open, 0.5, 1).await;
    let all = RunFilter::default();
    assert_eq!(
        listed(store, clinic, &all, RunOrder::Best).await,
        [full, also_half, half, open.id]
    );
    assert_eq!(
        listed(store, clinic, &all, RunOrder::Worst).await,
        [half, also_half, full, open.id]
    );
    assert_eq!(
        listed(store, clinic, &all, RunOrder::MostVoid).await,
        [full, also_half, half, open.id]
    );
    let passed = RunFilter {
        verdict: Some(RunVerdict::Pass),
        ..RunFilter::default()
    };
    assert_eq!(
        listed(store, clinic, &passed, RunOrder::Newest).await,
        [full]
    );
    let has_void = RunFilter {
        has_void: Some(true),
        ..RunFilter::default()
    };
    assert_eq!(
        listed(store, clinic, &has_void, RunOrder::Oldest).await,
        [full, also_half]
    );

    // Places in a list are runs, whatever it is sorted by; equal keys are told apart by age.
    let second = store
        .sorted_runs(
            clinic,
            &all,
            RunOrder::Best,
            page(2, PageStart::After(full)),
        )
        .await
        .unwrap();
    let ids: Vec<RunId> = second.items.iter().map(|run| run.id).collect();
    assert_eq!(
        (ids, second.has_more, second.has_previous),
        (vec![also_half, half], true, true)
    );
    assert_eq!(second.total, Some(4));
    let back = store
        .sorted_runs(
            clinic,
            &all,
            RunOrder::Best,
            page(2, PageStart::Before(open.id)),
        )
        .await
        .unwrap();
    let ids: Vec<RunId> = back.items.iter().map(|run| run.id).collect();
    assert_eq!((ids, back.has_previous), (vec![also_half, half], true));

    let counts = store.run_counts(clinic, &all).await.unwrap();
    let count = |verdict| {
        counts
            .iter()
            .find(|one| one.verdict == verdict)
            .map(|one| one.count)
    };
    assert_eq!(count(Some(RunVerdict::Pass)), Some(1));
    assert_eq!(count(Some(RunVerdict::Partial)), Some(2));
    assert_eq!(count(None), Some(1));
    assert_eq!(
        store.run_agents(clinic, None, 10).await.unwrap(),
        ["ward-clerk"]
    );
}

#[rstest]
#[tokio::test]
async fn runs_of_before_get_their_numbers_when_the_store_is_opened(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let open = run_with_tasks(store, clinic, 0).await;
    let half = scored(store, &open, 0.5, 1).await;
    fixture
        .tamper(
            "UPDATE runs SET verdict = NULL, score = NULL, void_attempts = NULL, ended_at = NULL",
        )
        .await;
    let again = fixture.second_node().await;
    let found = again
        .run_summaries(clinic, &RunFilter::default(), page(10, PageStart::Newest))
        .await
        .unwrap();
    let run = again.run(half).await.unwrap().unwrap().value;
    let row = found.items.iter().find(|one| one.id == half).unwrap();
    assert_eq!(row.figures, RunFigures::of(&run));
    assert_eq!(row.figures.score, Some(0.5));
    assert_eq!((row.figures.void, row.is_completed), (1, true));
    let row = found.items.iter().find(|one| one.id == open.id).unwrap();
    assert!(row.is_open && row.figures.verdict.is_none());
}
