//! What must hold for any scores.

use proctor_statistics::{
    About, Alpha, Attempt, Attempts, Gate, GateVerdict, Line, LineResult, NoiseOptions, Pair,
    Refusal, Task, Tasks, compare, gate, leaderboard, noise, pass_k, summarize,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

const ALPHA: Alpha = Alpha::FIVE_PERCENT;

/// An attempt as data makes them: mostly passes and failures, some in between, some that ended otherwise.
fn attempt() -> impl Strategy<Value = Attempt> {
    prop_oneof![
        4 => select(vec![0.0, 1.0]).prop_map(Attempt::Scored),
        2 => (0u8..=20).prop_map(|twentieths| Attempt::Scored(f64::from(twentieths) / 20.0)),
        1 => Just(Attempt::AgentFault),
        1 => Just(Attempt::Void),
    ]
}

type Side = Option<Vec<Attempt>>;
/// A cluster, if any, and both sides.
type Row = (Option<u8>, Side, Side);

fn row() -> impl Strategy<Value = Row> {
    let side = || option::weighted(0.95, vec(attempt(), 0..5));
    (option::weighted(0.3, 0u8..4), side(), side())
}

/// Rows of passes and failures without voids, at least two attempts each.
fn clean_row() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let side = || vec(select(vec![0.0, 1.0]), 2..5);
    (side(), side())
}

fn attempts(side: &Side) -> Option<Attempts> {
    let attempts = side.as_ref()?.iter().copied();
    Some(Attempts::new(attempts).unwrap())
}

fn task(place: usize, (cluster, a, b): &Row) -> Task<Pair> {
    Task {
        id: format!("task-{place:03}"),
        cluster: cluster.map(|cluster| cluster.to_string()),
        data: Pair {
            a: attempts(a),
            b: attempts(b),
        },
    }
}

fn tasks(rows: &[Row]) -> Tasks<Pair> {
    let tasks = rows.iter().enumerate();
    Tasks::new(tasks.map(|(place, row)| task(place, row))).unwrap()
}

fn about() -> impl Strategy<Value = About> {
    select(vec![About::Tasks, About::Suite])
}

fn change(tasks: &Tasks<Pair>, at: f64, about: About) -> Result<Gate, Refusal> {
    gate(&[Line::Change { tasks, at, about }], ALPHA)
}

/// All numbers in a document.
fn numbers(value: &serde_json::Value, into: &mut Vec<f64>) {
    match value {
        serde_json::Value::Number(number) => into.push(number.as_f64().unwrap()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| numbers(item, into)),
        serde_json::Value::Object(map) => map.values().for_each(|item| numbers(item, into)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::String(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_interval_has_width_zero_and_none_leaves_its_range(rows in vec(row(), 1..30), about in about()) {
        let tasks = tasks(&rows);
        if let Ok(found) = summarize(&tasks.side_a(), ALPHA) {
            prop_assert!(0.0 <= found.low && found.low < found.high && found.high <= 1.0, "{:?}", found);
            prop_assert!(found.low <= found.mean && found.mean <= found.high, "{:?}", found);
            prop_assert!(found.worst <= found.best, "{:?}", found);
            // A task that is all void leaves the mean, but not the bounds: without one they hold the mean.
            if found.tasks == found.tasks_scored {
                prop_assert!(found.worst <= found.mean && found.mean <= found.best, "{:?}", found);
            }
            if let Some(again) = found.rerun {
                prop_assert!(again.low < again.high && again.se > 0.0, "{:?}", again);
            }
            prop_assert_eq!(found.planned, found.scored + found.void);
        }
        if let Ok(found) = compare(&tasks, about, ALPHA) {
            prop_assert!(-1.0 <= found.low && found.low < found.high && found.high <= 1.0, "{:?}", found);
            prop_assert!(found.se > 0.0 && found.df > 0.0, "{:?}", found);
            prop_assert!(found.p > 0.0 && found.p <= 1.0, "{:?}", found);
            prop_assert!(found.low_if_voids_worst <= found.low && found.high <= found.high_if_voids_best);
            prop_assert_eq!(found.better + found.worse + found.same, found.tasks);
            prop_assert_eq!(found.tasks + found.left_out + found.unpaired, tasks.len());
        }
    }

    #[test]
    fn no_number_is_nan_or_infinite(rows in vec(row(), 1..20), about in about(), at in -0.9f64..0.9) {
        let tasks = tasks(&rows);
        let (of_a, of_b) = (tasks.side_a(), tasks.side_b());
        let lines = [
            Line::Change { tasks: &tasks, at, about },
            Line::Level { tasks: &of_b, at: at.abs().max(0.01), about },
        ];
        let agents = ["a".to_owned(), "b".to_owned()];
        let board = tasks.filter_map(|pair| Some(vec![pair.a.clone(), pair.b.clone()]));
        let found = serde_json::json!([
            summarize(&of_a, ALPHA).ok(),
            compare(&tasks, about, ALPHA).ok(),
            gate(&lines, ALPHA).ok(),
            pass_k(&of_a, 2, 1.0, ALPHA).ok(),
            noise(&of_a, &NoiseOptions::default()).ok(),
            leaderboard(&board, &agents, about, ALPHA).ok(),
        ]);
        let mut all = Vec::new();
        numbers(&found, &mut all);
        prop_assert!(all.iter().all(|number| number.is_finite()), "{}", found);
        // JSON has no NaN: it would be a null where a number is due.
        if let Ok(found) = compare(&tasks, about, ALPHA) {
            prop_assert!(!serde_json::json!(found).as_object().unwrap().values().any(serde_json::Value::is_null));
        }
    }

    #[test]
    fn the_order_of_tasks_and_attempts_does_not_show_in_any_bit(
        rows in vec(row(), 1..25), about in about(), turn in 0usize..25,
    ) {
        let mut shuffled: Vec<Task<Pair>> = rows
            .iter()
            .enumerate()
            .map(|(place, (cluster, a, b))| {
                let turned = |side: &Side| side.as_ref().map(|attempts| attempts.iter().rev().copied().collect());
                task(place, &(*cluster, turned(a), turned(b)))
            })
            .collect();
        let turn = turn % shuffled.len();
        shuffled.rotate_left(turn);
        shuffled.reverse();
        let (one, other) = (tasks(&rows), Tasks::new(shuffled).unwrap());
        let bytes = |tasks: &Tasks<Pair>| {
            let found = (
                summarize(&tasks.side_a(), ALPHA).ok(),
                compare(tasks, about, ALPHA).ok(),
                change(tasks, -0.05, about).ok(),
            );
            serde_json::to_string(&found).unwrap()
        };
        prop_assert_eq!(bytes(&one), bytes(&other));
    }

    #[test]
    fn swapping_the_agents_negates_difference_and_interval_and_keeps_p(rows in vec(row(), 1..25), about in about()) {
        let tasks = tasks(&rows);
        match (compare(&tasks, about, ALPHA), compare(&tasks.swapped(), about, ALPHA)) {
            (Ok(one), Ok(other)) => {
                prop_assert_eq!(one.difference, -other.difference);
                prop_assert_eq!((one.low, one.high), (-other.high, -other.low));
                prop_assert_eq!(one.p.to_bits(), other.p.to_bits());
                prop_assert_eq!((one.better, one.worse, one.same), (other.worse, other.better, other.same));
                prop_assert_eq!((one.mean_a, one.mean_b), (other.mean_b, other.mean_a));
                prop_assert_eq!((one.void_a, one.void_b), (other.void_b, other.void_a));
                prop_assert_eq!(one.low_if_voids_worst, -other.high_if_voids_best);
            }
            (one, other) => prop_assert_eq!(one.err(), other.err()),
        }
    }

    #[test]
    fn other_names_of_tasks_and_clusters_change_nothing(rows in vec(row(), 1..20)) {
        let renamed = rows.iter().enumerate().map(|(place, row)| {
            let task = task(place, row);
            Task {
                id: format!("{:03}-{}", 999 - place, task.id),
                cluster: task.cluster.map(|cluster| format!("patient {cluster}")),
                ..task
            }
        });
        let renamed = Tasks::new(renamed).unwrap();
        let found = |tasks: &Tasks<Pair>| {
            serde_json::to_string(&compare(tasks, About::Tasks, ALPHA).ok()).unwrap()
        };
        prop_assert_eq!(found(&tasks(&rows)), found(&renamed));
    }

    #[test]
    fn a_larger_margin_never_turns_pass_into_fail(
        rows in vec(row(), 1..30), about in about(), at in -0.5f64..0.5, wider in 0.0f64..0.4,
    ) {
        let tasks = tasks(&rows);
        if let (Ok(strict), Ok(loose)) = (change(&tasks, at, about), change(&tasks, at - wider, about)) {
            if strict.verdict == GateVerdict::Pass {
                prop_assert_ne!(loose.verdict, GateVerdict::Fail);
            }
            if loose.verdict == GateVerdict::Fail {
                prop_assert_ne!(strict.verdict, GateVerdict::Pass);
            }
        }
    }

    #[test]
    fn a_further_failure_of_b_never_turns_fail_into_pass(
        rows in vec(clean_row(), 2..40), about in about(), at in -0.3f64..0.3, place in 0usize..40,
    ) {
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|(a, b)| {
                let side = |scores: Vec<f64>| Some(scores.into_iter().map(Attempt::Scored).collect());
                (None, side(a), side(b))
            })
            .collect();
        let mut worse = rows.clone();
        let place = place % worse.len();
        if let Some(attempts) = &mut worse[place].2 {
            attempts.push(Attempt::AgentFault);
        }
        let before = change(&tasks(&rows), at, about).unwrap();
        let after = change(&tasks(&worse), at, about).unwrap();
        if before.verdict == GateVerdict::Fail {
            prop_assert_ne!(after.verdict, GateVerdict::Pass);
        }
    }

    #[test]
    fn voids_alone_make_a_gate_neither_green_nor_red(rows in vec(clean_row(), 6..40), voided in vec(any::<bool>(), 40), about in about()) {
        // What is void may have been anything, so whatever the gate says must not contradict any filling.
        let with = |void: Attempt| {
            let rows: Vec<Row> = rows
                .iter()
                .zip(&voided)
                .map(|((a, b), voided)| {
                    let side = |scores: &[f64]| scores.iter().copied().map(Attempt::Scored).collect::<Vec<_>>();
                    let mut b = side(b);
                    if *voided {
                        b.push(void);
                    }
                    (None, Some(side(a)), Some(b))
                })
                .collect();
            change(&tasks(&rows), -0.05, about).unwrap().verdict
        };
        let (open, as_zero, as_one) =
            (with(Attempt::Void), with(Attempt::Scored(0.0)), with(Attempt::Scored(1.0)));
        if open == GateVerdict::Pass {
            prop_assert_eq!(as_zero, GateVerdict::Pass);
        }
        if open == GateVerdict::Fail {
            prop_assert_eq!(as_one, GateVerdict::Fail);
        }
    }

    #[test]
    fn nothing_scored_never_passes(sides in vec((0usize..4, 0usize..4), 0..12), about in about(), at in -0.9f64..0.9) {
        let rows: Vec<Row> = sides
            .iter()
            .map(|(a, b)| (None, Some(vec![Attempt::Void; *a]), Some(vec![Attempt::Void; *b])))
            .collect();
        let tasks = tasks(&rows);
        prop_assert_eq!(change(&tasks, at, about).err(), Some(Refusal::NoCommonTasks));
        let of_b = tasks.side_b();
        let line = Line::Level { tasks: &of_b, at: at.abs().max(0.01), about };
        prop_assert_eq!(gate(&[line], ALPHA).err(), Some(Refusal::NothingScored));
        prop_assert_eq!(summarize(&of_b, ALPHA).err(), Some(Refusal::NothingScored));
    }

    #[test]
    fn pass_at_k_grows_with_k_and_pass_all_falls(rows in vec(vec(select(vec![0.0, 1.0]), 4), 2..20)) {
        let tasks = Tasks::new(rows.iter().enumerate().map(|(place, scores)| Task {
            id: place.to_string(),
            cluster: None,
            data: crate::support::scored(scores),
        })).unwrap();
        let of: Vec<_> = (1..=4).map(|k| pass_k(&tasks, k, 1.0, ALPHA).unwrap()).collect();
        for pair in of.windows(2) {
            prop_assert!(pair[0].pass_at.mean <= pair[1].pass_at.mean + 1e-12);
            prop_assert!(pair[0].pass_all.mean >= pair[1].pass_all.mean - 1e-12);
        }
        prop_assert!((of[0].pass_at.mean - of[0].pass_all.mean).abs() < 1e-12);
    }
}

#[test]
fn a_gate_without_a_line_or_with_one_that_means_nothing_is_refused() {
    let tasks = crate::support::paired(&vec![(vec![1.0, 1.0], vec![1.0, 1.0]); 8]);
    assert_eq!(gate(&[], ALPHA).err(), Some(Refusal::NoRules));
    for at in [-5.0, -1.0, 1.0, f64::NAN, f64::INFINITY] {
        let refused = change(&tasks, at, About::Suite).err();
        assert_eq!(refused, Some(Refusal::BadThreshold), "{at}");
    }
    let of_b = tasks.side_b();
    for at in [0.0, 1.0, -0.2, 80.0, f64::NAN] {
        let line = Line::Level {
            tasks: &of_b,
            at,
            about: About::Suite,
        };
        let refused = gate(&[line], ALPHA).err();
        assert_eq!(refused, Some(Refusal::BadThreshold), "{at}");
    }
}

#[test]
fn every_reason_is_a_word_of_its_own() {
    let mut words: Vec<&str> = Refusal::ALL
        .iter()
        .map(|refusal| refusal.as_str())
        .collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), Refusal::ALL.len());
}

#[test]
fn lines_may_have_tasks_of_their_own() {
    let good = crate::support::paired(&vec![(vec![1.0, 1.0], vec![1.0, 1.0]); 60]);
    let bad = crate::support::paired(&vec![(vec![1.0, 1.0], vec![0.0, 0.0]); 60]);
    let line = |tasks| Line::Change {
        tasks,
        at: -0.1,
        about: About::Suite,
    };
    let found = gate(&[line(&good), line(&bad)], ALPHA).unwrap();
    let verdicts: Vec<GateVerdict> = found.lines.iter().map(LineResult::verdict).collect();
    assert_eq!(verdicts, [GateVerdict::Pass, GateVerdict::Fail]);
    assert_eq!(found.verdict, GateVerdict::Fail);
}
