use std::collections::BTreeMap;

use proctor_core::{
    criterion_run::CriterionRun, id::kinds::OrganizationId, profile::Particulars, run::Run,
    scoring::Score,
};
use proctor_store::{
    Store,
    comparisons::{NewGateResult, NewResult},
    page::{PageRequest, PageStart},
    progress::Progress,
};
use rstest::rstest;
use serde_json::json;

use crate::{
    fixture::{Fixture, On, START},
    runs::run_with_tasks,
};

fn newest<K: proctor_core::id::Kind>() -> PageRequest<K> {
    PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: false,
    }
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// A completed run with these labels.
async fn labelled(
    store: &Store,
    clinic: OrganizationId,
    pairs: &[(&str, &str)],
    agent: Option<&str>,
) -> Run {
    let base = run_with_tasks(store, clinic, 0).await;
    let run = Run {
        id: store.fresh_id(),
        agent: agent.map(str::to_owned),
        particulars: Particulars {
            metadata: labels(pairs),
            ..Particulars::default()
        },
        ..base
    };
    store.create_run(&run, &[], &[]).await.unwrap();
    let before = store.run(run.id).await.unwrap().unwrap();
    let done = before
        .value
        .clone()
        .complete(START, &[], [])
        .unwrap()
        .into_inner();
    let progress = Progress {
        run: Some((before, done.clone())),
        ..Progress::default()
    };
    store.record(&progress).await.unwrap();
    done
}

#[rstest]
#[tokio::test]
async fn runs_are_found_by_their_labels_newest_first(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let old = labelled(
        store,
        clinic,
        &[("branch", "main"), ("commit", "1")],
        Some("night"),
    )
    .await;
    let new = labelled(store, clinic, &[("branch", "main")], None).await;
    labelled(
        store,
        clinic,
        &[("branch", "main2"), ("x", "branch\":\"main")],
        Some("night"),
    )
    .await;
    let other = fixture.organization("Other").await;
    labelled(store, other, &[("branch", "main")], None).await;
    let found = async |pairs: &[(&str, &str)], count: u32, except: &[_]| {
        let wanted = labels(pairs);
        let runs = store
            .labelled_runs(clinic, None, &wanted, count, except)
            .await;
        runs.unwrap().iter().map(|run| run.id).collect::<Vec<_>>()
    };
    assert_eq!(found(&[("branch", "main")], 5, &[]).await, [new.id, old.id]);
    assert_eq!(found(&[("branch", "main")], 1, &[]).await, [new.id]);
    assert_eq!(found(&[("branch", "main")], 1, &[new.id]).await, [old.id]);
    assert_eq!(
        found(&[("branch", "main"), ("agent", "night")], 5, &[]).await,
        [old.id]
    );
    assert_eq!(found(&[("branch", "mai")], 5, &[]).await, []);
    let benchmark = Some(old.pinned.benchmark);
    let wanted = labels(&[("branch", "main")]);
    let of_benchmark = store
        .labelled_runs(clinic, benchmark, &wanted, 5, &[])
        .await
        .unwrap();
    assert_eq!(
        of_benchmark.len(),
        1,
        "each of these runs is of a benchmark of its own"
    );
}

#[rstest]
#[tokio::test]
async fn what_was_answered_is_kept_as_it_was(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let other = fixture.organization("Other").await;
    let comparison = NewResult {
        id: store.fresh_id(),
        headline: json!({"sentence": "short"}),
        body: json!({"numbers": [0.1, 1e-300]}),
        created_at: START,
    };
    store.create_comparison(clinic, &comparison).await.unwrap();
    let kept = store.comparison(clinic, comparison.id).await.unwrap();
    assert_eq!(kept.as_ref(), Some(&comparison.body));
    assert_eq!(store.comparison(other, comparison.id).await.unwrap(), None);
    let listed = store.comparisons(clinic, newest()).await.unwrap();
    assert_eq!(listed.items, [(comparison.id, comparison.headline)]);
    for verdict in ["PASS", "FAIL"] {
        let gate = NewResult {
            id: store.fresh_id(),
            headline: json!({ "verdict": verdict }),
            body: json!({ "verdict": verdict }),
            created_at: START,
        };
        let new = NewGateResult {
            verdict,
            result: gate.clone(),
        };
        store.create_gate(clinic, &new).await.unwrap();
        assert_eq!(store.gate(clinic, gate.id).await.unwrap(), Some(gate.body));
        assert_eq!(store.gate(other, gate.id).await.unwrap(), None);
    }
    let failed = store.gates(clinic, Some("FAIL"), newest()).await.unwrap();
    assert_eq!(failed.items.len(), 1);
    assert_eq!(
        store
            .gates(clinic, None, newest())
            .await
            .unwrap()
            .items
            .len(),
        2
    );
}

#[rstest]
#[tokio::test]
async fn the_log_of_a_leaderboard_keeps_what_came_and_went(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let run = labelled(store, clinic, &[], None).await;
    for (ranked, reason) in [(true, None), (false, Some("it saw the answers"))] {
        let before = store.run(run.id).await.unwrap().unwrap();
        let after = match ranked {
            true => before.value.clone().rank(START).unwrap(),
            false => before.value.clone().unrank(),
        };
        let progress = Progress {
            run: Some((before, after.into_inner())),
            rank_reason: reason.map(str::to_owned),
            ..Progress::default()
        };
        store.record(&progress).await.unwrap();
    }
    let log = store
        .leaderboard_log(run.pinned.benchmark, newest())
        .await
        .unwrap();
    let told: Vec<_> = log
        .items
        .iter()
        .map(|one| (one.run, one.added, one.reason.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            (run.id, false, Some("it saw the answers")),
            (run.id, true, None)
        ]
    );
}

#[rstest]
#[tokio::test]
async fn scores_of_criteria_come_with_evidence_only_where_they_were_missed(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let run = run_with_tasks(store, clinic, 1).await;
    let task_run = store.task_runs(run.id).await.unwrap()[0].value.id;
    let found = |score: f64| CriterionRun {
        id: store.fresh_id(),
        task_run,
        criterion: store.fresh_id(),
        passed: score >= 1.0,
        score: Score::new(score).unwrap(),
        details: format!("scored {score}"),
        evidence: json!({"requires": {"own_score": 1.0}}),
        started_at: START,
        completed_at: START,
    };
    let progress = Progress {
        criterion_runs: vec![found(1.0), found(0.5)],
        ..Progress::default()
    };
    store.record(&progress).await.unwrap();
    let scores = store.criterion_scores(run.id).await.unwrap();
    assert_eq!((scores[0].score, scores[0].evidence.is_none()), (1.0, true));
    assert_eq!(
        scores[1].evidence,
        Some(json!({"requires": {"own_score": 1.0}}))
    );
    let words = store.criterion_scores_of(&[task_run]).await.unwrap();
    assert_eq!(words[0].details, "scored 1");
    let judged = store.judged_task_runs(run.id).await.unwrap();
    assert_eq!(judged[0].id, task_run);
}
