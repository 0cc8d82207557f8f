use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::scoring::{Mark, Score, Weight};

pub(crate) fn card(score: f64) -> Scorecard {
    Scorecard::of_task(&[Mark {
        score: Score::new(score).unwrap(),
        weight: Weight::default(),
        axis: None,
    }])
}

pub(crate) fn task_run(number: u128) -> TaskRun {
    TaskRun::new(
        TaskRunId::from_uuid(Uuid::from_u128(number)),
        None,
        TaskId::from_uuid(Uuid::from_u128(number)),
        at(0),
    )
}

/// A task with one criterion of weight 1 that names no axis.
pub(crate) fn task(number: u128) -> Task {
    serde_json::from_value(serde_json::json!({
        "id": task_run(number).task,
        "name": format!("task {number}"),
        "world": {"devbox": {"parameters": {}}},
        "criteria": [{
            "id": crate::id::kinds::CriterionId::from_uuid(Uuid::from_u128(number)),
            "label": "done",
            "check": {"scorer": {"type": "command_scorer", "command": "true"}},
        }],
    }))
    .unwrap()
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn started() -> TaskRun {
    task_run(1)
        .start(at(1), Some(Duration::from_secs(10)))
        .unwrap()
        .into_inner()
}

#[test]
fn a_task_is_started_once() {
    let again = started()
        .start(at(5), Some(Duration::from_secs(99)))
        .unwrap();
    assert_eq!(again, Step::Unchanged(started()));
}

#[test]
fn a_complete_that_arrived_in_time_counts_however_long_judging_takes() {
    let done = started()
        .complete(at(10), at(60), card(1.0))
        .unwrap()
        .into_inner();
    assert_eq!(
        (done.status(), done.card()),
        (TaskRunStatus::Completed, Some(&card(1.0)))
    );
    assert_eq!(
        done.clone().complete(at(99), at(99), card(0.0)).unwrap(),
        Step::Unchanged(done)
    );
}

#[test]
fn a_complete_at_the_deadline_is_too_late() {
    let late = started()
        .complete(at(11), at(12), card(1.0))
        .unwrap()
        .into_inner();
    assert_eq!(
        (late.status(), late.cause()),
        (TaskRunStatus::TimedOut, Some(Cause::AgentTimeout))
    );
    assert_eq!(late.counted(None), Counted::Zero(Scorecard::zero()));
    assert_eq!(
        late.clone().complete(at(13), at(13), card(1.0)).unwrap(),
        Step::Unchanged(late)
    );
}

#[test]
fn what_was_not_started_cannot_complete_and_what_was_cancelled_stays_so() {
    assert_eq!(
        task_run(1).complete(at(1), at(1), card(1.0)),
        Err(Refused::TaskRunNotStarted)
    );
    assert_eq!(task_run(1).finish(at(1)), Err(Refused::TaskRunNotStarted));
    let cancelled = started().cancel(at(2)).into_inner();
    assert_eq!(
        cancelled.clone().complete(at(3), at(3), card(1.0)),
        Err(Refused::TaskRunOver(TaskRunStatus::Cancelled))
    );
    assert_eq!(cancelled.counted(None), Counted::Not);
    assert!(!cancelled.cancel(at(4)).is_changed());
}

#[test]
fn scoring_can_be_repeated_until_the_task_run_is_over() {
    let limit = Duration::from_secs(1800);
    let scoring = started().begin_scoring(at(5), limit).unwrap().into_inner();
    assert!(
        !scoring
            .clone()
            .begin_scoring(at(6), limit)
            .unwrap()
            .is_changed()
    );
    assert_eq!(
        scoring.clone().finish(at(6)),
        Err(Refused::TaskRunInScoring)
    );
    let scored = scoring
        .record_score(at(7), card(0.25), None)
        .unwrap()
        .into_inner();
    assert_eq!(
        scored.clone().record_score(at(7), card(1.0), None),
        Err(Refused::TaskRunNotInScoring)
    );
    let again = scored.begin_scoring(at(8), limit).unwrap().into_inner();
    let done = again
        .record_score(at(9), card(0.5), None)
        .unwrap()
        .into_inner()
        .finish(at(10))
        .unwrap()
        .into_inner();
    assert_eq!(
        (done.card(), done.started_at(), done.ended_at()),
        (Some(&card(0.5)), Some(at(1)), Some(at(10)))
    );
    assert_eq!(
        done.begin_scoring(at(11), limit),
        Err(Refused::TaskRunOver(TaskRunStatus::Completed))
    );
}

#[test]
fn a_judge_that_takes_too_long_is_the_agents_fault_unless_it_is_known_to_be_slow() {
    let scoring = started()
        .begin_scoring(at(5), Duration::from_secs(10))
        .unwrap()
        .into_inner();
    assert_eq!(scoring.deadline(), Some(at(15)));
    let late = scoring
        .clone()
        .record_score(at(15), card(1.0), None)
        .unwrap()
        .into_inner();
    assert_eq!(
        (late.status(), late.cause()),
        (TaskRunStatus::TimedOut, Some(Cause::AgentTimeout))
    );
    let expired = scoring.clone().expire(at(15)).into_inner();
    assert_eq!(expired.cause(), Some(Cause::AgentTimeout));
    assert!(expired.timed_out_in_scoring());
    let known = scoring.time_out_scoring(at(15), SlowScoring::ScorersOfReference);
    let known = known.into_inner();
    assert_eq!(
        (known.status(), known.cause()),
        (TaskRunStatus::TimedOut, Some(Cause::ScorerError))
    );
    assert!(known.timed_out_in_scoring());
    assert!(!started().expire(at(60)).into_inner().timed_out_in_scoring());
}

#[test]
fn a_score_that_says_nothing_about_the_agent_keeps_its_reason_to_the_end() {
    let limit = Duration::from_secs(10);
    let scoring = started().begin_scoring(at(2), limit).unwrap().into_inner();
    let fault = Fault::scorers_not_run(&["tests"]);
    let scored = scoring.record_score(at(3), card(0.0), Some(fault.clone()));
    let scored = scored.unwrap().into_inner();
    assert_eq!(scored.fault(), None, "it may be scored again");
    let again = scored.clone().begin_scoring(at(4), limit).unwrap();
    let mended = again.into_inner().record_score(at(5), card(1.0), None);
    let mended = mended.unwrap().into_inner().finish(at(6)).unwrap();
    assert_eq!(mended.into_inner().fault(), None);
    let ends = [
        scored.clone().finish(at(6)).unwrap(),
        scored.clone().sweep(at(6)),
        scored.clone().close(at(6)),
        scored.clone().lose_world(at(6), Cause::Infrastructure),
        scored.complete(at(6), at(6), card(1.0)).unwrap(),
    ];
    for done in ends.map(Step::into_inner) {
        assert_eq!(done.status(), TaskRunStatus::Completed);
        assert_eq!(done.fault(), Some(fault.clone()));
        assert_eq!(
            done.counted(None),
            Counted::Scored(&card(0.0)),
            "the dialects count what was found"
        );
        let stored = serde_json::to_string(&done.state).unwrap();
        assert_eq!(
            serde_json::from_str::<TaskRunState>(&stored).unwrap(),
            done.state
        );
    }
}

#[test]
fn states_of_before_are_read() {
    let read = |outcome: &str| {
        let text = format!(
            r#"{{"ended":{{"started_at":null,"at":"{}","outcome":{outcome}}}}}"#,
            at(1)
        );
        TaskRun {
            state: serde_json::from_str(&text).unwrap(),
            ..task_run(1)
        }
    };
    let slow = read(r#"{"timed_out":{"cause":"scorer_error"}}"#);
    assert_eq!(
        (slow.cause(), slow.reason()),
        (Some(Cause::ScorerError), None)
    );
    assert!(slow.timed_out_in_scoring());
    let crashed = read(r#"{"failed":{"cause":"agent_crash"}}"#);
    assert_eq!(crashed.fault(), Some(Cause::AgentCrash.into()));
    let late = read(r#"{"timed_out":{"cause":"agent_timeout"}}"#);
    assert!(!late.timed_out_in_scoring());
}

#[test]
fn a_reason_goes_on_record_with_its_cause() {
    let fault = Fault::new(Cause::AgentCrash, "the agent ended with status 3");
    let crashed = started().fail(at(2), fault.clone()).into_inner();
    assert_eq!(crashed.fault(), Some(fault));
    let swept = task_run(1).sweep(at(9)).into_inner();
    assert_eq!(swept.cause(), Some(Cause::AgentTimeout));
    assert_eq!(swept.reason().map(Reason::as_str), Some(NEVER_STARTED));
}

#[test]
fn the_sweeper_ends_each_state_in_its_own_way() {
    assert_eq!(
        task_run(1).sweep(at(9)).into_inner().status(),
        TaskRunStatus::Failed
    );
    assert_eq!(
        started().sweep(at(9)).into_inner().status(),
        TaskRunStatus::TimedOut
    );
    let completed = started()
        .complete(at(2), at(2), card(1.0))
        .unwrap()
        .into_inner();
    assert!(!completed.sweep(at(9)).is_changed());
    let limit = Duration::from_secs(10);
    let scoring = started().begin_scoring(at(2), limit).unwrap().into_inner();
    assert!(
        !scoring.sweep(at(9)).is_changed(),
        "its agent was done in time"
    );
}

#[test]
fn judging_begins_anew_after_an_outage() {
    let limit = Duration::from_secs(10);
    let scoring = started().begin_scoring(at(2), limit).unwrap().into_inner();
    let resumed = scoring.resume_scoring(at(60), limit).into_inner();
    assert_eq!(resumed.deadline(), Some(at(70)));
    let scored = resumed.record_score(at(69), card(1.0), None).unwrap();
    assert_eq!(scored.into_inner().card(), Some(&card(1.0)));
    assert!(!started().resume_scoring(at(60), limit).is_changed());
}

#[test]
fn a_score_outlives_its_world() {
    let limit = Duration::from_secs(10);
    let scoring = started().begin_scoring(at(2), limit).unwrap().into_inner();
    let lost = scoring.clone().lose_world(at(3), Cause::AgentTimeout);
    let lost = lost.into_inner();
    assert_eq!(
        (lost.status(), lost.cause()),
        (TaskRunStatus::Failed, Some(Cause::AgentTimeout))
    );
    let scored = scoring
        .record_score(at(3), card(0.5), None)
        .unwrap()
        .into_inner();
    let kept = scored.lose_world(at(4), Cause::AgentTimeout).into_inner();
    assert_eq!(
        (kept.status(), kept.cause()),
        (TaskRunStatus::Completed, None)
    );
    assert_eq!(kept.card(), Some(&card(0.5)));
    assert!(!kept.lose_world(at(5), Cause::Infrastructure).is_changed());
}

/// One thing that somebody asks of a task run.
#[derive(Clone, Debug)]
enum Ask {
    Start,
    Complete(f64),
    BeginScoring,
    ResumeScoring,
    RecordScore(f64),
    Finish,
    Cancel,
    Fail,
    LoseWorld,
    Expire,
    Sweep,
}

fn any_ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        Just(Ask::Start),
        (0.0..=1.0).prop_map(Ask::Complete),
        Just(Ask::BeginScoring),
        Just(Ask::ResumeScoring),
        (0.0..=1.0).prop_map(Ask::RecordScore),
        Just(Ask::Finish),
        Just(Ask::Cancel),
        Just(Ask::Fail),
        Just(Ask::LoseWorld),
        Just(Ask::Expire),
        Just(Ask::Sweep),
    ]
}

proptest! {
    #[test]
    fn what_is_over_never_changes(asks in prop::collection::vec((any_ask(), 0i64..5), 0..40)) {
        let (mut task_run, mut second) = (task_run(1), 0);
        for (ask, pause) in asks {
            second += pause;
            let (now, before) = (at(second), task_run.clone());
            let limit = Duration::from_secs(20);
            let answer = match ask {
                Ask::Start => before.clone().start(now, Some(limit)),
                Ask::Complete(score) => before.clone().complete(now, now, card(score)),
                Ask::BeginScoring => before.clone().begin_scoring(now, limit),
                Ask::ResumeScoring => Ok(before.clone().resume_scoring(now, limit)),
                Ask::RecordScore(score) => before.clone().record_score(now, card(score), None),
                Ask::Finish => before.clone().finish(now),
                Ask::Cancel => Ok(before.clone().cancel(now)),
                Ask::Fail => Ok(before.clone().fail(now, Cause::Infrastructure)),
                Ask::LoseWorld => Ok(before.clone().lose_world(now, Cause::Infrastructure)),
                Ask::Expire => Ok(before.clone().expire(now)),
                Ask::Sweep => Ok(before.clone().sweep(now)),
            };
            if let Ok(step) = answer {
                prop_assert_eq!(step.is_changed(), step.clone().into_inner() != before);
                task_run = step.into_inner();
            }
            if before.is_over() {
                prop_assert_eq!(&task_run, &before);
            }
            prop_assert!(task_run.is_over() == task_run.ended_at().is_some());
            let stored = serde_json::to_string(&task_run.state).unwrap();
            prop_assert_eq!(&serde_json::from_str::<TaskRunState>(&stored).unwrap(), &task_run.state);
        }
    }
}
