use proctor_core::{
    trajectory::Trajectory,
    usage::{ModelUsage, Usage},
};
use rstest::rstest;
use serde_json::json;

use crate::{
    fixture::{Fixture, On},
    runs::run_with_tasks,
};

fn used(model: Option<&str>, input_tokens: u64, cost_usd: Option<f64>) -> ModelUsage {
    ModelUsage {
        model: model.map(str::to_owned),
        usage: Usage {
            input_tokens,
            cached_tokens: 1,
            output_tokens: 2,
            cost_usd,
        },
    }
}

#[rstest]
#[tokio::test]
async fn usage_is_added_up_by_model_and_unknown_costs_stay_unknown(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let run = run_with_tasks(store, fixture.organization("Clinic").await, 2).await;
    let task_runs = store.task_runs(run.id).await.unwrap();
    let (first, second) = (&task_runs[0].value, &task_runs[1].value);
    assert_eq!(store.usage_of_task_run(first.id).await.unwrap(), []);
    assert!(store.usage_of_runs(&[run.id]).await.unwrap().is_empty());

    let reports = [used(Some("a"), 10, Some(0.5)), used(None, 1, None)];
    store.add_usage(first.id, &reports).await.unwrap();
    let more = [
        used(Some("a"), 5, Some(0.25)),
        used(Some("a"), 5, Some(0.25)),
    ];
    store.add_usage(first.id, &more).await.unwrap();
    let found = store.usage_of_task_run(first.id).await.unwrap();
    let names: Vec<Option<&str>> = found.iter().map(|one| one.model.as_deref()).collect();
    assert_eq!(names, [None, Some("a")]);
    let of_a = found[1].usage;
    assert_eq!((of_a.input_tokens, of_a.cached_tokens), (20, 3));
    assert_eq!(of_a.cost_usd, Some(1.0));
    assert_eq!(found[0].usage.cost_usd, None);

    let by_task = store.usage_of_runs(&[run.id]).await.unwrap();
    let of_first = by_task[&(run.id, first.task)];
    assert_eq!((of_first.input_tokens, of_first.cost_usd), (21, None));
    let reported = by_task.contains_key(&(run.id, second.task));
    assert!(!reported, "what nobody reported is not there");
    store
        .add_usage(first.id, &[used(Some("a"), 0, None)])
        .await
        .unwrap();
    let found = store.usage_of_task_run(first.id).await.unwrap();
    assert_eq!(found[1].usage.cost_usd, None);
}

#[rstest]
#[tokio::test]
async fn a_trajectory_is_kept_and_replaced(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let run = run_with_tasks(store, fixture.organization("Clinic").await, 1).await;
    let task_run = store.task_runs(run.id).await.unwrap()[0].value.id;
    assert_eq!(store.trajectory(task_run).await.unwrap(), None);
    for text in ["first", "second"] {
        let document = json!({"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"},
            "steps": [{"step_id": 1, "source": "user", "message": text}]});
        let trajectory = Trajectory::read(document.clone()).unwrap();
        store.keep_trajectory(task_run, &trajectory).await.unwrap();
        assert_eq!(store.trajectory(task_run).await.unwrap(), Some(document));
    }
}
