use proptest::prelude::*;

use super::*;

fn mark(score: f64, weight: f64, axis: Option<&str>) -> Mark {
    Mark {
        score: Score::new(score).unwrap(),
        weight: Weight::new(weight).unwrap(),
        axis: axis.map(str::to_owned),
    }
}

#[test]
fn a_task_score_is_the_weighted_mean() {
    let card = Scorecard::of_task(&[
        mark(1.0, 3.0, Some("safety")),
        mark(0.5, 1.0, Some("quality")),
        mark(0.0, 1.0, None),
    ]);
    assert_eq!(card.score.value(), 0.7);
    assert_eq!(card.verdict, Verdict::Partial);
    insta::assert_json_snapshot!(card);
}

#[test]
fn nine_of_ten_tenths_pass() {
    let mut marks = vec![mark(1.0, 0.1, None); 9];
    marks.push(mark(0.0, 0.1, None));
    assert_eq!(Scorecard::of_task(&marks).verdict, Verdict::Pass);

    let cards: Vec<Scorecard> = (0..10)
        .map(|place| Scorecard::of_task(&[mark(if place == 0 { 0.0 } else { 1.0 }, 0.1, None)]))
        .collect();
    let counted: Vec<Counted<'_>> = cards.iter().map(Counted::Scored).collect();
    assert_eq!(Scorecard::of_run(&counted).unwrap().verdict, Verdict::Pass);

    let sum_of_tenths = (0..9).fold(0.0, |sum, _| sum + 0.1);
    assert!(
        sum_of_tenths < 0.9,
        "the case is about a sum that falls short by rounding"
    );
    assert_eq!(
        Verdict::of(Score::new(sum_of_tenths).unwrap()),
        Verdict::Pass
    );
    assert_eq!(Verdict::of(Score::new(0.899_99).unwrap()), Verdict::Partial);
}

#[test]
fn nothing_asked_is_a_fail() {
    assert_eq!(Scorecard::of_task(&[]), Scorecard::zero());
    let weightless = Scorecard::of_task(&[mark(1.0, 0.0, None), mark(1.0, 0.0, Some("a"))]);
    assert_eq!(
        (weightless.score, weightless.verdict),
        (Score::ZERO, Verdict::Fail)
    );
    assert_eq!(
        weightless.axes[DEFAULT_AXIS],
        AxisScore {
            score: Score::ZERO,
            weight: 0.0
        }
    );
}

#[test]
fn numbers_that_are_no_weights_or_scores_are_refused() {
    for bad in [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.1,
        -f64::MIN_POSITIVE,
    ] {
        assert!(Weight::new(bad).is_err(), "{bad}");
        assert!(Score::new(bad).is_err(), "{bad}");
    }
    assert!(Score::new(1.000_001).is_err());
    assert!(serde_json::from_str::<Weight>("-1").is_err());
    assert!(serde_json::from_str::<Score>("1.5").is_err());
    assert_eq!(
        Weight::new(-0.0).unwrap().value().to_bits(),
        0.0f64.to_bits()
    );
}

#[test]
fn extreme_weights_stay_finite() {
    let card = Scorecard::of_task(&[mark(1.0, f64::MAX, None), mark(0.0, f64::MAX, None)]);
    assert_eq!(card.score.value(), 0.5);
    assert!(card.axes[DEFAULT_AXIS].weight.is_finite());
    assert_eq!(
        Scorecard::of_task(&[mark(1.0, f64::MIN_POSITIVE, None)]).score,
        Score::ONE
    );
}

#[test]
fn a_run_counts_zeros_and_leaves_out_what_was_cancelled() {
    let full = Scorecard::of_task(&[mark(1.0, 2.0, Some("safety"))]);
    let half = Scorecard::of_task(&[mark(0.5, 1.0, Some("quality"))]);
    let missed = Scorecard::missed(
        [3.0]
            .map(|one| (Weight::new(one).unwrap(), Some("safety")))
            .into_iter(),
    );
    let run = Scorecard::of_run(&[
        Counted::Scored(&full),
        Counted::Scored(&half),
        Counted::Zero(missed),
        Counted::Void,
        Counted::Not,
    ])
    .unwrap();
    assert_eq!(run.score.value(), 0.375);
    assert_eq!(
        run.axes["safety"],
        AxisScore {
            score: Score::new(0.5).unwrap(),
            weight: 5.0
        },
        "the task that was missed has this axis too"
    );
    assert_eq!(run.axes["quality"].score.value(), 0.5);
    assert_eq!(Scorecard::of_run(&[Counted::Not]), None);
    assert_eq!(Scorecard::of_run(&[]), None);
}

#[test]
fn a_total_of_one_has_a_tolerance() {
    let weights = |values: &[f64]| {
        values
            .iter()
            .map(|v| Weight::new(*v).unwrap())
            .collect::<Vec<_>>()
    };
    assert!(check_total_of_one(&weights(&[0.1; 10])).is_ok());
    assert!(check_total_of_one(&weights(&[0.333, 0.333, 0.333])).is_ok());
    assert!(check_total_of_one(&weights(&[0.5, 0.502])).is_err());
    assert!(check_total_of_one(&weights(&[])).is_err());
}

fn any_mark() -> impl Strategy<Value = Mark> {
    let weight = prop_oneof![Just(0.0), 0.0..10.0f64, Just(1e300), Just(1e-300)];
    let axis = prop::option::of(prop_oneof![
        Just("safety".to_owned()),
        Just("quality".to_owned())
    ]);
    (0.0..=1.0f64, weight, axis).prop_map(|(score, weight, axis)| Mark {
        axis,
        ..mark(score, weight, None)
    })
}

proptest! {
    #[test]
    fn the_order_of_criteria_does_not_matter(
        (marks, shuffled) in prop::collection::vec(any_mark(), 0..12)
            .prop_flat_map(|marks| (Just(marks.clone()), Just(marks).prop_shuffle()))
    ) {
        prop_assert_eq!(Scorecard::of_task(&marks), Scorecard::of_task(&shuffled));
    }

    #[test]
    fn scores_stay_between_zero_and_one(marks in prop::collection::vec(any_mark(), 0..12)) {
        let card = Scorecard::of_task(&marks);
        prop_assert!((0.0..=1.0).contains(&card.score.value()));
        for axis in card.axes.values() {
            prop_assert!((0.0..=1.0).contains(&axis.score.value()));
            prop_assert!(axis.weight.is_finite());
        }
        let run = Scorecard::of_run(&[Counted::Scored(&card), Counted::Zero(Scorecard::zero())]).unwrap();
        prop_assert!(run.score <= card.score);
    }

    #[test]
    fn the_verdict_is_monotone_in_the_score(a in 0.0..=1.0f64, b in 0.0..=1.0f64) {
        let (low, high) = (a.min(b), a.max(b));
        prop_assert!(Verdict::of(Score::new(low).unwrap()) <= Verdict::of(Score::new(high).unwrap()));
    }

    #[test]
    fn a_better_mark_never_lowers_the_score(
        marks in prop::collection::vec(any_mark(), 1..8), place: prop::sample::Index,
    ) {
        let before = Scorecard::of_task(&marks).score;
        let mut better = marks.clone();
        let place = place.index(marks.len());
        better[place].score = Score::ONE;
        prop_assert!(Scorecard::of_task(&better).score.value() >= before.value() - 1e-12);
    }

    #[test]
    fn scores_survive_the_wire_to_the_bit(value in 0.0..=1.0f64) {
        let score = Score::new(value).unwrap();
        let read: Score = serde_json::from_str(&serde_json::to_string(&score).unwrap()).unwrap();
        prop_assert_eq!(read.value().to_bits(), score.value().to_bits());
    }
}

#[test]
fn a_weight_is_written_as_its_author_wrote_it() {
    for text in ["1", "1.0", "0.50", "2.5", "0", "10", "0.1", "12.345"] {
        let weight: Weight = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&weight).unwrap(), text);
        let value = serde_json::to_value(weight).unwrap();
        assert_eq!(
            value.to_string(),
            text,
            "also on its way through a document"
        );
        assert_eq!(serde_json::from_value::<Weight>(value).unwrap(), weight);
    }
    // What says the same in another way keeps its value.
    for (text, written) in [
        ("1e1", "10.0"),
        ("0.1000000000000000000001", "0.1"),
        ("-0", "0.0"),
    ] {
        let weight: Weight = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&weight).unwrap(), written);
    }
    for wrong in ["-1", "1e999", "\"1\"", "null"] {
        assert!(serde_json::from_str::<Weight>(wrong).is_err(), "{wrong}");
    }
    assert_eq!(serde_json::to_string(&Weight::default()).unwrap(), "1.0");
    assert_eq!(Weight::ONE, Weight::default());
}

#[test]
fn a_critical_miss_caps_the_verdict_of_task_and_run_and_no_number() {
    use crate::id::kinds::{CriterionId, TaskId};
    let miss = CriticalMiss {
        task: TaskId::from_uuid(uuid::Uuid::from_u128(1)),
        criterion: CriterionId::from_uuid(uuid::Uuid::from_u128(2)),
        key: Some("wrong-patient".to_owned()),
        label: "Nobody else's chart is touched".to_owned(),
        why: "Patient/ben was deleted".to_owned(),
    };
    let fine = Scorecard::of_task(&[mark(1.0, 1.0, None)]);
    assert_eq!(fine.clone().with_critical_misses([]), fine);
    let capped = fine.clone().with_critical_misses([miss.clone()]);
    assert_eq!((capped.score, capped.verdict), (Score::ONE, Verdict::Fail));
    assert_eq!(capped.axes, fine.axes);
    let run = Scorecard::of_run(&[Counted::Scored(&fine), Counted::Scored(&capped)]).unwrap();
    assert_eq!((run.score, run.verdict), (Score::ONE, Verdict::Fail));
    assert_eq!(run.critical_misses, [miss]);
    let many = vec![Counted::Scored(&capped); 1_000];
    let run = Scorecard::of_run(&many).unwrap();
    assert_eq!(run.critical_misses.len(), critical::MOST_OF_A_RUN);
}

#[test]
fn a_scorecard_without_misses_is_stored_as_it_was_before_there_were_any() {
    let stored =
        r#"{"score":1.0,"verdict":"pass","axes":{"__default__":{"score":1.0,"weight":1.0}}}"#;
    let card: Scorecard = serde_json::from_str(stored).unwrap();
    assert_eq!(card, Scorecard::of_task(&[mark(1.0, 1.0, None)]));
    assert_eq!(serde_json::to_string(&card).unwrap(), stored);
}
