use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn task(number: u128) -> TaskId {
    TaskId::from_uuid(Uuid::from_u128(number))
}

fn run() -> RunId {
    RunId::from_uuid(Uuid::nil())
}

/// What a try came to: a score, or the word of a cause.
fn result(word: &str) -> TryResult {
    match word.parse() {
        Ok(value) => TryResult::scored(Score::new(value).unwrap()),
        Err(_) if word == "pending" => TryResult::Pending,
        Err(_) => {
            let mut causes = Cause::ALL.into_iter();
            let cause = causes.find(|cause| cause.as_str() == word).unwrap();
            TryResult::faulted(cause)
        }
    }
}

fn attempt(of: u128, tries: &[&str]) -> AttemptResult {
    let untried = || TryResult::Pending;
    let tries = tries.iter().map(|word| (result(word), None));
    AttemptResult::of(task(of), 1, run(), tries, untried)
}

/// The attempts of tasks, each tried once.
fn attempts(tasks: &[&[&str]]) -> Vec<AttemptResult> {
    (0u128..)
        .zip(tasks)
        .flat_map(|(number, words)| words.iter().map(move |word| attempt(number, &[word])))
        .collect()
}

#[test]
fn the_first_try_that_is_not_void_counts() {
    for (tries, score) in [
        (&["agent_crash", "1"][..], Some(0.0)),
        (&["infrastructure", "0.5", "1"][..], Some(0.5)),
        (&["scorer_error", "agent_timeout", "1"][..], Some(0.0)),
        (&["0", "1"][..], Some(0.0)),
        (&["cancelled", "infrastructure"][..], None),
        (&["infrastructure", "pending"][..], None),
    ] {
        let attempt = attempt(1, tries);
        assert_eq!(attempt.score().map(Score::value), score, "{tries:?}");
        assert_eq!(attempt.tries as usize, tries.len());
    }
    let void = attempt(1, &["cancelled", "infrastructure"]);
    let cause = void.fault().map(|fault| fault.cause);
    assert_eq!(
        cause,
        Some(Cause::Infrastructure),
        "the last of them is told"
    );
    assert_eq!(void.verdict(), None, "what is void has no verdict");
    assert_eq!(attempt(1, &["agent_crash"]).verdict(), Some(Verdict::Fail));
}

/// The case `one-run-a-task-all-void` of the reference for our statistics.
#[test]
fn a_task_whose_attempts_are_all_void_leaves_the_mean_but_not_the_bounds() {
    let summary = Summary::of(&attempts(&[
        &["1", "0"],
        &["infrastructure", "infrastructure"],
        &["1", "cancelled"],
        &["agent_timeout", "0.5"],
    ]));
    let expected = Summary {
        score: Some(0.583_333_333_333_333_4),
        interval: summary.interval,
        planned: 8,
        scored: 5,
        void: 3,
        agent_faults: 1,
        worst: Some(0.3125),
        best: Some(0.6875),
    };
    assert_eq!(summary, expected);
    let interval = summary.interval.unwrap();
    assert!(interval.low < 0.583 && interval.high > 0.584);
}

#[test]
fn the_interval_is_that_of_the_statistics_and_never_has_width_zero() {
    let summary = Summary::of(&attempts(&[&["1"], &["1"], &["1"], &["0"]]));
    let tasks = [1.0, 1.0, 1.0, 0.0]
        .into_iter()
        .zip(0..)
        .map(|(score, id)| Task {
            id: id.to_string(),
            cluster: None,
            data: Attempts::new([Attempt::Scored(score)]).unwrap(),
        });
    let found = summarize(&Tasks::new(tasks).unwrap(), Alpha::FIVE_PERCENT).unwrap();
    let interval = summary.interval.unwrap();
    assert_eq!((interval.low, interval.high), (found.low, found.high));
    let perfect = Summary::of(&attempts(&[&["1"], &["1"]])).interval.unwrap();
    assert!(perfect.low < perfect.high);
    assert_eq!(
        Summary::of(&attempts(&[&["infrastructure"]])).interval,
        None
    );
}

#[test]
fn an_attempt_names_the_task_run_that_counts() {
    let id = |number| TaskRunId::from_uuid(Uuid::from_u128(number));
    let tries = [
        (result("infrastructure"), Some(id(1))),
        (result("0.5"), Some(id(2))),
        (result("1"), Some(id(3))),
    ];
    let attempt = AttemptResult::of(task(1), 1, run(), tries, || TryResult::Pending);
    assert_eq!(attempt.task_run, Some(id(2)));
}

#[test]
fn a_number_that_is_missing_is_none() {
    let nothing = Summary::of(&[]);
    assert_eq!(
        (nothing.score, nothing.worst, nothing.best),
        (None, None, None)
    );
    let void = Summary::of(&attempts(&[&["infrastructure"], &["cancelled"]]));
    assert_eq!(
        (void.score, void.worst, void.best),
        (None, Some(0.0), Some(1.0))
    );
    let pending = Summary::of(&attempts(&[&["1"], &["pending"]]));
    assert_eq!(
        (pending.score, pending.worst, pending.best),
        (Some(1.0), Some(0.5), Some(1.0))
    );
    assert_eq!((pending.planned, pending.scored, pending.void), (2, 1, 0));
}

#[test]
fn failing_on_purpose_is_worth_no_more_than_an_honest_zero() {
    let honest = Summary::of(&attempts(&[&["1"], &["0"]]));
    for fault in ["agent_crash", "agent_timeout"] {
        let failing = Summary::of(&attempts(&[&["1"], &[fault]]));
        assert_eq!((failing.score, honest.score), (Some(0.5), Some(0.5)));
    }
}

fn any_result() -> impl Strategy<Value = TryResult> {
    prop_oneof![
        (0.0..=1.0f64).prop_map(|value| TryResult::scored(Score::new(value).unwrap())),
        prop::sample::select(Cause::ALL.to_vec()).prop_map(TryResult::faulted),
        Just(TryResult::Pending),
    ]
}

fn any_attempts() -> impl Strategy<Value = Vec<AttemptResult>> {
    let one = (0u128..6, prop::collection::vec(any_result(), 0..4)).prop_map(|(number, tries)| {
        let tries = tries.into_iter().map(|one| (one, None));
        AttemptResult::of(task(number), 1, run(), tries, || TryResult::Pending)
    });
    prop::collection::vec(one, 0..24)
}

proptest! {
    #[test]
    fn the_order_of_attempts_does_not_matter(
        (attempts, shuffled) in any_attempts()
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
    ) {
        prop_assert_eq!(Summary::of(&attempts), Summary::of(&shuffled));
    }

    #[test]
    fn what_is_void_never_changes_the_score(
        attempts in any_attempts(), number in 0u128..8, void in 0usize..3,
    ) {
        let causes = ["infrastructure", "scorer_error", "cancelled"];
        let before = Summary::of(&attempts);
        let mut more = attempts;
        more.push(attempt(number, &[causes[void]]));
        let after = Summary::of(&more);
        prop_assert_eq!(after.score, before.score);
        prop_assert_eq!((after.void, after.planned), (before.void + 1, before.planned + 1));
        prop_assert!(after.worst <= after.best);
    }

    #[test]
    fn the_score_lies_between_the_bounds(attempts in any_attempts()) {
        let summary = Summary::of(&attempts);
        prop_assert_eq!(summary.worst.is_some(), summary.planned > 0);
        prop_assert!(summary.planned >= summary.scored + summary.void);
        prop_assert!(summary.agent_faults <= summary.scored);
        if let (Some(worst), Some(best)) = (summary.worst, summary.best) {
            prop_assert!((0.0..=1.0).contains(&worst) && (0.0..=1.0).contains(&best));
            prop_assert!(worst <= best);
            if let Some(score) = summary.score {
                prop_assert!(worst <= score && score <= best);
            }
        }
        prop_assert_eq!(summary.score.is_some(), summary.scored > 0);
    }

    #[test]
    fn a_further_try_changes_nothing_that_counts(
        tries in prop::collection::vec(any_result(), 1..5), more in any_result(),
    ) {
        let counted = |tries: Vec<TryResult>| {
            let tries = tries.into_iter().map(|one| (one, None));
            AttemptResult::of(task(1), 1, run(), tries, || TryResult::Pending)
        };
        let before = counted(tries.clone());
        let after = counted([tries, vec![more]].concat());
        if !before.result.is_void() {
            prop_assert_eq!(before.result, after.result);
        }
    }
}
