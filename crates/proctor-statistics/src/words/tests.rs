use super::*;
use crate::{Attempt, Task, compare, gate, how_many_more, noise as measure_noise, summarize};

fn attempts(scores: &[f64], void: usize) -> Attempts {
    let scored = scores.iter().map(|score| Attempt::Scored(*score));
    Attempts::new(scored.chain(vec![Attempt::Void; void])).unwrap()
}

/// Tasks that A always does; B fails the first `broken` of them.
fn broken(tasks: usize, broken: usize) -> Tasks<Pair> {
    let tasks = (0..tasks).map(|task| Task {
        id: format!("task-{task:02}"),
        cluster: None,
        data: Pair {
            a: Some(attempts(&[1.0, 1.0, 1.0], 0)),
            b: Some(attempts(&[f64::from(u8::from(task >= broken)); 3], 0)),
        },
    });
    Tasks::new(tasks).unwrap()
}

#[test]
fn a_run_is_a_sentence_with_its_voids() {
    let tasks = (0..10).map(|task| Task {
        id: task.to_string(),
        cluster: None,
        data: attempts(&[1.0, f64::from(task % 2)], usize::from(task == 0)),
    });
    let found = summarize(&Tasks::new(tasks).unwrap(), Alpha::FIVE_PERCENT).unwrap();
    assert_eq!(
        summary(&found, Alpha::FIVE_PERCENT),
        "75.0 % (95 % interval 52.4 to 89.1) over 10 tasks, 21 attempts, for tasks like these; 20 of 21 scored, 1 void: between \
         73.3 and 76.7 whatever it would have been. These very tasks, run again: 43.7 to 100.0 %."
    );
}

#[test]
fn a_comparison_says_what_it_would_have_missed() {
    let same = compare(&broken(40, 0), About::Tasks, Alpha::FIVE_PERCENT).unwrap();
    let said = comparison(&same, About::Tasks, Alpha::FIVE_PERCENT);
    assert!(said.starts_with("B − A = 0.0 pp ("), "{said}");
    assert!(
        said.contains("p = 1.00, 40 tasks, tasks like these: no difference seen; a change under"),
        "{said}"
    );
    assert!(said.contains("Too few tasks differ"), "{said}");
    let worse = compare(&broken(40, 10), About::Suite, Alpha::FIVE_PERCENT).unwrap();
    let said = comparison(&worse, About::Suite, Alpha::FIVE_PERCENT);
    assert!(said.starts_with("B is worse by 25.0 pp (−"), "{said}");
    assert!(
        said.contains("p = 0.002, these very tasks: 0 tasks better, 10 worse, 30 the same."),
        "{said}"
    );
}

#[test]
fn a_gate_names_the_worst_tasks_and_how_many_more_would_settle_it() {
    let alpha = Alpha::FIVE_PERCENT;
    let known = Known {
        baseline: "main",
        ..Known::default()
    };
    let say = |tasks: &Tasks<Pair>, about| {
        let asked = Line::Change {
            tasks,
            at: -0.05,
            about,
        };
        let found = gate(&[asked], alpha).unwrap();
        line(&asked, &found.lines[0], known, alpha)
    };
    let said = say(&broken(40, 10), About::Suite);
    assert!(
        said.starts_with("FAIL  worse than main by more than 5.0 pp: at most −"),
        "{said}"
    );
    assert!(said.ends_with("(these very tasks, 40 tasks). Worst: task-00 (3/3 → 0/3), task-01 (3/3 → 0/3), task-02 (3/3 → 0/3), …."), "{said}");
    let said = say(&broken(200, 0), About::Suite);
    assert!(
        said.starts_with("PASS  not worse than main by 5.0 pp: at least −"),
        "{said}"
    );
    let said = say(&broken(12, 0), About::Tasks);
    assert!(said.starts_with("INCONCLUSIVE  between −"), "{said}");
    assert!(
        said.ends_with("If nothing really changed, 34 more tasks settle it with 80 % chance."),
        "{said}"
    );
}

#[test]
fn attempts_that_all_agree_say_how_many_more_settle_it() {
    let say = |times: usize| {
        let tasks = (0..10).map(|task| Task {
            id: task.to_string(),
            cluster: None,
            data: Pair {
                a: Some(attempts(&vec![1.0; times], 0)),
                b: Some(attempts(&vec![1.0; times], 0)),
            },
        });
        let tasks = Tasks::new(tasks).unwrap();
        let asked = Line::Change {
            tasks: &tasks,
            at: -0.05,
            about: About::Suite,
        };
        let found = gate(&[asked], Alpha::FIVE_PERCENT).unwrap();
        line(
            &asked,
            &found.lines[0],
            Known::default(),
            Alpha::FIVE_PERCENT,
        )
    };
    let said = say(2);
    assert!(
        said.ends_with("If every task goes on as it did each time so far, 7 more attempts per task (140 in all) settle it."),
        "{said}"
    );
    assert!(say(8).starts_with("INCONCLUSIVE"), "{}", say(8));
    assert!(say(9).starts_with("PASS"), "{}", say(9));
}

#[test]
fn what_must_never_happen_is_shown_with_its_bound() {
    let alpha = Alpha::FIVE_PERCENT;
    let say = |asked: Never| {
        let asked = Line::Never(asked);
        let found = gate(&[asked], alpha).unwrap();
        let known = Known {
            baseline: "main",
            never: "wrong-patient-write",
            dollars_per_attempt: None,
        };
        line(&asked, &found.lines[0], known, alpha)
    };
    let asked = Never {
        checked: 300,
        ..Never::default()
    };
    assert_eq!(
        say(asked),
        "PASS  wrong-patient-write: 0 of 300; at most 1.0 % with 95 % confidence."
    );
    assert_eq!(
        say(Never {
            violations: 1,
            ..asked
        }),
        "FAIL  wrong-patient-write: 1 of 300 attempts."
    );
    assert_eq!(
        say(Never {
            unchecked: 2,
            ..asked
        }),
        "INCONCLUSIVE  wrong-patient-write: 0 of 300; at most 1.0 % with 95 % confidence; 2 could not be checked, 2 more are needed."
    );
}

#[test]
fn noise_and_further_attempts_are_sentences() {
    let run = broken(10, 5).side_b();
    let found = measure_noise(&run, &crate::NoiseOptions::default()).unwrap();
    assert!(
        noise(&found).contains("0 of 10 tasks are flaky"),
        "{}",
        noise(&found)
    );
    let at_the_limit =
        how_many_more(&broken(20, 1), &crate::Plan::new(-0.05, About::Tasks)).unwrap();
    assert!(at_the_limit.as_seen == crate::Further::default());
    let mut further = at_the_limit;
    further.if_equal.attempts_per_task = Some(5);
    assert_eq!(
        more(&further, 50, Some(0.024)),
        "If nothing really changed, 5 more attempts per task (500 in all, about $12) settle it with 80 % chance."
    );
    assert!(
        !more(&further, 12, None).contains('$'),
        "unknown is not free"
    );
}
