use uuid::Uuid;

use super::*;
use crate::{
    scoring::{DEFAULT_AXIS, Verdict},
    task_run::tests::{at, card, task, task_run},
};

fn run(concurrency: u32) -> Run {
    Run {
        id: RunId::from_uuid(Uuid::from_u128(7)),
        organization: OrganizationId::from_uuid(Uuid::from_u128(1)),
        solver: None,
        job: None,
        pinned: Pinned {
            benchmark: BenchmarkId::from_uuid(Uuid::from_u128(2)),
            version: Some(1),
            digest: Digest::of_bytes(b"definition"),
        },
        scored: false,
        agent: None,
        concurrency: NonZeroU32::new(concurrency).unwrap(),
        particulars: Particulars::default(),
        created_at: at(0),
        expires_at: None,
        ranked_at: None,
        plan: RunPlan::default(),
        state: RunState::Created,
    }
}

fn tasks(count: u128) -> Vec<Task> {
    (1..=count).map(task).collect()
}

fn started(number: u128) -> TaskRun {
    task_run(number)
        .start(at(1), Some(Duration::from_secs(10)))
        .unwrap()
        .into_inner()
}

fn completed(number: u128, score: f64) -> TaskRun {
    started(number)
        .complete(at(2), at(2), card(score))
        .unwrap()
        .into_inner()
}

#[test]
fn one_task_at_a_time_unless_the_benchmark_allows_more() {
    let tasks = [started(1), task_run(2)];
    let refusal = run(1).admit(at(1), &tasks).unwrap_err();
    assert_eq!(
        refusal,
        Refused::TooManyStarted {
            active: tasks[0].id,
            allowed: 1
        }
    );
    assert!(refusal.to_string().contains(&tasks[0].id.to_string()));
    assert_eq!(
        run(2)
            .admit(at(1), &tasks)
            .unwrap()
            .into_inner()
            .started_at(),
        Some(at(1))
    );
    assert!(run(2).admit(at(1), &[started(1), started(2)]).is_err());
}

#[test]
fn a_run_completes_with_its_last_task() {
    let open = run(1).settle(at(3), &[completed(1, 1.0), task_run(2)], &tasks(2));
    assert!(!open.is_changed());
    let untaken = run(1).settle(at(3), &[completed(1, 1.0)], &tasks(2));
    assert!(!untaken.is_changed(), "the second task was never started");
    let timed_out = started(2).expire(at(11)).into_inner();
    let done = run(1)
        .settle(at(11), &[completed(1, 1.0), timed_out], &tasks(2))
        .into_inner();
    let result = done.card().unwrap();
    assert_eq!(
        (result.score.value(), result.verdict),
        (0.5, Verdict::Partial)
    );
    assert_eq!(
        done.admit(at(12), &[]),
        Err(Refused::RunOver(RunStatus::Completed))
    );
}

#[test]
fn a_task_that_timed_out_counts_zero_on_its_axes() {
    let wanted = tasks(4);
    let lost = started(3).fail(at(5), Cause::Infrastructure).into_inner();
    let ended = [
        completed(1, 1.0),
        started(2).expire(at(11)).into_inner(),
        started(4).fail(at(5), Cause::AgentCrash).into_inner(),
    ];
    let done = run(4).settle(at(11), &ended, &wanted[..2]).into_inner();
    let result = done.card().unwrap();
    let axis = result.axes[DEFAULT_AXIS];
    assert_eq!(result.score.value(), 1.0 / 3.0);
    assert_eq!(axis.score.value(), 0.5, "of the tasks that are known");
    let [one, two, four] = ended;
    let ended = [one, two, lost, four];
    let done = run(4).settle(at(11), &ended, &wanted).into_inner();
    let result = done.card().unwrap();
    let axis = result.axes[DEFAULT_AXIS];
    assert_eq!(result.score.value(), 0.25, "as the dialects prescribe");
    assert_eq!(
        (axis.score.value(), axis.weight),
        (1.0 / 3.0, 3.0),
        "what the platform broke is on no axis"
    );
}

#[test]
fn our_own_numbers_count_the_first_try_that_is_not_void() {
    let again = |number: u128, task_run: TaskRun| TaskRun {
        task: task_run.task,
        ..completed(number, 1.0)
    };
    let crashed = started(1).fail(at(2), Cause::AgentCrash).into_inner();
    let lost = started(2).fail(at(2), Cause::Infrastructure).into_inner();
    let tried = [
        crashed.clone(),
        again(11, crashed),
        lost.clone(),
        again(12, lost),
        started(3).fail(at(2), Cause::ScorerError).into_inner(),
    ];
    let ended = run(9)
        .complete(at(9), &tried, &tasks(4))
        .unwrap()
        .into_inner();
    let score = ended.card().unwrap().score.value();
    assert_eq!(score, 0.4, "the dialects count every task run");
    let ours = ended.own_numbers().unwrap();
    assert_eq!(
        (ours.planned, ours.scored, ours.void, ours.agent_faults),
        (4, 3, 1, 2),
        "the last one was never started"
    );
    assert_eq!(ours.score, Some(1.0 / 3.0));
    assert_eq!((ours.worst, ours.best), (Some(0.25), Some(0.5)));
    let stopped = run(9).cancel(at(9), &tried[..1], &tasks(2)).unwrap();
    let ours = stopped.into_inner().own_numbers().unwrap().clone();
    assert_eq!(
        (ours.scored, ours.void),
        (1, 1),
        "what was not begun was stopped"
    );
}

#[test]
fn a_run_is_complete_when_all_tasks_were_taken_and_nothing_is_open() {
    let tally = |open, taken| Tally { open, taken };
    assert!(tally(0, 2).is_complete(2));
    assert!(!tally(1, 2).is_complete(2), "one is at work");
    assert!(!tally(0, 1).is_complete(2), "the second was never started");
    assert!(!tally(0, 0).is_complete(0), "nothing was taken at all");
    assert!(tally(1, 2).with_one_ended().is_complete(2));
}

#[test]
fn a_run_of_a_job_ends_when_the_job_says_so() {
    let of_job = Run {
        job: Some(JobId::from_uuid(Uuid::from_u128(9))),
        ..run(1)
    };
    let task_runs = [completed(1, 1.0)];
    let open = of_job.settle(at(3), &task_runs, &tasks(1));
    assert!(!open.is_changed());
    let done = open
        .into_inner()
        .complete(at(4), &task_runs, &tasks(1))
        .unwrap();
    assert_eq!(done.into_inner().card().unwrap().score.value(), 1.0);
}

#[test]
fn cancelling_keeps_what_was_completed_and_happens_once() {
    let wanted = tasks(2);
    let tasks = [completed(1, 1.0), started(2).cancel(at(3)).into_inner()];
    let cancelled = run(1).cancel(at(3), &tasks, &wanted).unwrap().into_inner();
    assert_eq!(cancelled.card().unwrap().score.value(), 1.0);
    assert!(
        !cancelled
            .clone()
            .cancel(at(4), &tasks, [])
            .unwrap()
            .is_changed()
    );
    assert_eq!(
        cancelled.complete(at(4), &tasks, []),
        Err(Refused::RunOver(RunStatus::Cancelled))
    );
    assert_eq!(
        run(1)
            .cancel(at(3), &[started(1)], [])
            .unwrap()
            .into_inner()
            .card(),
        None
    );
}

#[test]
fn a_completed_run_cannot_be_cancelled() {
    let done = run(1)
        .complete(at(3), &[completed(1, 1.0), task_run(2)], &tasks(2))
        .unwrap()
        .into_inner();
    assert_eq!(done.card().unwrap().score.value(), 0.5);
    assert!(!done.clone().complete(at(4), &[], []).unwrap().is_changed());
    assert_eq!(
        done.clone().cancel(at(4), &[], []),
        Err(Refused::RunOver(RunStatus::Completed))
    );
    let numbers = Summary::of(&[]);
    assert!(
        !done
            .fail(at(5), Cause::Infrastructure, numbers.clone())
            .is_changed()
    );
    let failed = run(1).fail(at(5), Cause::Infrastructure, numbers.clone());
    assert_eq!(failed.into_inner().own_numbers(), Some(&numbers));
}

#[test]
fn a_token_lives_as_long_as_the_work_within_an_hour_and_a_day() {
    let hours = |count: u64| Duration::from_secs(count * 3600);
    let one = NonZeroU32::MIN;
    assert_eq!(token_lifetime(&[], one), hours(1));
    assert_eq!(
        token_lifetime(&[hours(2), hours(2)], one),
        hours(4) + TOKEN_MARGIN
    );
    assert_eq!(
        token_lifetime(&[hours(2), hours(2)], NonZeroU32::new(4).unwrap()),
        hours(1) + TOKEN_MARGIN
    );
    assert_eq!(token_lifetime(&[Duration::MAX, hours(2)], one), hours(24));
}

#[test]
fn only_a_completed_run_can_be_ranked() {
    assert_eq!(
        run(1).rank(at(1)),
        Err(Refused::RunNotCompleted(RunStatus::Created))
    );
    let tasks = [completed(1, 1.0)];
    let done = run(1).settle(at(3), &tasks, []).into_inner();
    let ranked = done.rank(at(4)).unwrap().into_inner();
    assert_eq!(ranked.ranked_at, Some(at(4)));
    assert!(!ranked.clone().rank(at(5)).unwrap().is_changed());
    let off = ranked.unrank().into_inner();
    assert_eq!(off.ranked_at, None);
    assert!(!off.unrank().is_changed());
}

#[test]
fn a_run_that_is_held_ends_when_somebody_completes_it() {
    let held = Run {
        plan: RunPlan {
            tasks: None,
            held: true,
        },
        ..run(1)
    };
    let done = [completed(1, 1.0), completed(2, 0.0)];
    assert!(!held.clone().settle(at(3), &done, &tasks(2)).is_changed());
    let released = held.clone().release().settle(at(3), &done, &tasks(2));
    assert!(released.is_changed(), "its token is over");
    let completed = held.complete(at(3), &done, &tasks(2)).unwrap().into_inner();
    assert_eq!(completed.card().unwrap().score.value(), 0.5);
}

#[test]
fn a_run_wants_the_tasks_of_its_plan() {
    let all = tasks(3);
    let chosen = Run {
        plan: RunPlan {
            tasks: Some(BTreeSet::from([all[1].id])),
            held: false,
        },
        ..run(1)
    };
    let wanted: Vec<bool> = all.iter().map(|task| chosen.wants(task)).collect();
    assert_eq!(wanted, [false, true, false]);
    assert!(all.iter().all(|task| run(1).wants(task)));
}
