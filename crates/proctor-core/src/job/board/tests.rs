use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_statistics::GateVerdict;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::{
    canonical::Digest,
    id::kinds::BenchmarkId,
    job::{
        FailureKind, JobAgent, JobSource, LookDecision, Orchestration, PlannedGate, PlannedRounds,
        PlannedScenario, Program, RetryRules,
    },
    run::Pinned,
    scoring::Score,
    time::Timestamp,
};

/// A plan of so many agents and scenarios.
pub(crate) fn plan(agents: u128, scenarios: u128, retries: u32) -> JobPlan {
    JobPlan {
        source: JobSource::Scenarios,
        pinned: Pinned {
            benchmark: BenchmarkId::from_uuid(Uuid::nil()),
            version: None,
            digest: Digest::of_bytes(b"definition"),
        },
        scenarios: (0..scenarios)
            .map(|number| PlannedScenario {
                id: TaskId::from_uuid(Uuid::from_u128(number)),
                name: format!("scenario {number}"),
            })
            .collect(),
        agents: (0..agents)
            .map(|number| JobAgent {
                run: RunId::from_uuid(Uuid::from_u128(number)),
                name: format!("agent {number}"),
                agent: None,
                model: None,
                timeout: Some(10.0),
                kwargs: BTreeMap::new(),
                environment: BTreeMap::new(),
                secrets: BTreeMap::new(),
                program: Program::Nop,
                attempt: 1,
                entry: u32::try_from(number).unwrap_or_default(),
                manifest: None,
                version: None,
                at_once: None,
            })
            .collect(),
        orchestration: Orchestration {
            retries: Some(retries),
            timeout_multiplier: Some(2.0),
            ..Orchestration::default()
        },
        rounds: None,
        labels: BTreeMap::new(),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn begin(plan: &JobPlan, turn: Turn, now: i64) -> Try {
    Try {
        run: plan.agents[turn.agent].run,
        task: plan.scenarios[turn.scenario].id,
        number: turn.number,
        task_run: Some(TaskRunId::from_uuid(Uuid::from_u128(
            now.unsigned_abs().into(),
        ))),
        began_at: at(now),
        agent_began_at: None,
        agent_failure: None,
        end: None,
    }
}

fn failure(kind: FailureKind) -> Failure {
    Failure {
        kind,
        message: format!("{kind:?}"),
        fault: None,
        exception: None,
        verified: None,
        critical_misses: Vec::new(),
    }
}

fn outcome(word: &str) -> TryOutcome {
    match word {
        "solved" => TryOutcome::Completed {
            score: Some(Score::ONE),
            critical_misses: Vec::new(),
            fault: None,
        },
        "missed" => TryOutcome::Completed {
            score: Some(Score::ZERO),
            critical_misses: Vec::new(),
            fault: None,
        },
        "crashed" => TryOutcome::Failed(failure(FailureKind::AgentCrash)),
        "slow" => TryOutcome::TimedOut(failure(FailureKind::AgentTimeout)),
        "stopped" => TryOutcome::Cancelled,
        "interrupted" => TryOutcome::Interrupted(failure(FailureKind::Infrastructure)),
        other => panic!("{other} is no outcome"),
    }
}

/// Takes turns one after the other, each with the next of `words`.
fn play(plan: &JobPlan, words: &[&str]) -> Vec<Try> {
    let mut tries = Vec::new();
    for (second, word) in (1i64..).step_by(10).zip(words) {
        let turn = Board::of(plan, &tries).next_turn().unwrap();
        tries.push(begin(plan, turn, second).ended(at(second + 5), outcome(word)));
    }
    tries
}

fn next(plan: &JobPlan, tries: &[Try]) -> Option<(usize, usize, u32, u64)> {
    let turn = Board::of(plan, tries).next_turn()?;
    Some((turn.agent, turn.scenario, turn.number, turn.limit.as_secs()))
}

#[test]
fn one_agent_after_the_other_takes_the_scenarios_in_order() {
    let plan = plan(2, 2, 0);
    for (words, expected) in [
        (&[][..], Some((0, 0, 1, 10))),
        (&["solved"][..], Some((0, 1, 1, 10))),
        (&["solved", "crashed"][..], Some((1, 0, 1, 10))),
        (&["solved", "crashed", "slow", "missed"][..], None),
    ] {
        assert_eq!(next(&plan, &play(&plan, words)), expected, "{words:?}");
    }
}

#[test]
fn only_what_failed_or_timed_out_is_tried_again_with_more_time() {
    let plan = plan(1, 2, 2);
    for (words, expected) in [
        (&["crashed"][..], Some((0, 1, 1, 10))),
        (&["crashed", "missed"][..], Some((0, 0, 2, 20))),
        (&["crashed", "missed", "slow"][..], Some((0, 0, 3, 40))),
        (&["crashed", "missed", "slow", "slow"][..], None),
        (&["stopped", "solved"][..], None),
    ] {
        assert_eq!(next(&plan, &play(&plan, words)), expected, "{words:?}");
    }
}

#[test]
fn an_interruption_is_tried_again_without_counting_unless_it_goes_on() {
    let plan = plan(1, 1, 0);
    let mut words = vec!["interrupted"; FREE_INTERRUPTIONS];
    let tries = play(&plan, &words);
    let number = u32::try_from(FREE_INTERRUPTIONS).unwrap() + 1;
    assert_eq!(next(&plan, &tries), Some((0, 0, number, 10)));
    words.push("interrupted");
    let tries = play(&plan, &words);
    assert_eq!(next(&plan, &tries), None);
    let board = Board::of(&plan, &tries);
    assert_eq!(
        board.outcome(0).scenarios[0].state,
        ScenarioState::Failed,
        "in the end it is told"
    );
}

#[test]
fn no_more_is_under_way_than_may_be() {
    let mut plan = plan(1, 3, 0);
    plan.orchestration.trials_at_once = NonZeroU32::new(2);
    let mut tries = Vec::new();
    for second in 1..=2 {
        let turn = Board::of(&plan, &tries).next_turn().unwrap();
        tries.push(begin(&plan, turn, second));
    }
    let board = Board::of(&plan, &tries);
    assert_eq!(board.next_turn(), None);
    assert!(!board.is_done(0));
    assert_eq!(board.limit_of(&tries[1]).as_secs(), 10);
    tries[0] = tries[0].clone().ended(at(9), outcome("solved"));
    assert_eq!(next(&plan, &tries), Some((0, 2, 1, 10)));
}

#[test]
fn the_mean_is_over_what_was_completed() {
    let plan = plan(1, 4, 0);
    let tries = play(&plan, &["solved", "missed", "crashed", "slow"]);
    let board = Board::of(&plan, &tries);
    assert!(board.is_all_done());
    let outcome = board.outcome(0);
    assert_eq!(
        (outcome.completed, outcome.failed, outcome.timed_out),
        (2, 1, 1)
    );
    assert_eq!(outcome.average, Some(0.5));
    assert_eq!(outcome.duration, Some(Duration::from_secs(35)));
    let scenario = &outcome.scenarios[2];
    assert_eq!(scenario.failure, Some(failure(FailureKind::AgentCrash)));
    assert_eq!(
        (scenario.score, scenario.duration),
        (None, Some(Duration::from_secs(5)))
    );
    assert_eq!(board.why_nothing_ran(), None);
}

#[test]
fn what_was_stopped_is_neither_completed_nor_failed() {
    let plan = plan(1, 3, 0);
    let mut tries = play(&plan, &["solved"]);
    let turn = Board::of(&plan, &tries).next_turn().unwrap();
    tries.push(begin(&plan, turn, 50));
    let outcome = Board::of(&plan, &tries).outcome(0);
    let states: Vec<ScenarioState> = outcome.scenarios.iter().map(|one| one.state).collect();
    assert_eq!(
        states,
        [
            ScenarioState::Completed,
            ScenarioState::Cancelled,
            ScenarioState::Cancelled
        ]
    );
    assert_eq!(outcome.completed + outcome.failed + outcome.timed_out, 1);
}

#[test]
fn a_job_of_which_nothing_could_be_set_up_says_why() {
    let plan = plan(1, 1, 0);
    let turn = Board::of(&plan, &[]).next_turn().unwrap();
    let mut this_try = begin(&plan, turn, 1);
    this_try.task_run = None;
    let tries = [this_try.ended(at(2), TryOutcome::not_set_up("no such image".to_owned()))];
    let board = Board::of(&plan, &tries);
    assert!(!board.has_run(0));
    assert_eq!(
        board.why_nothing_ran().unwrap(),
        "no scenario could be set up; scenario 0: no such image"
    );
    assert_eq!(board.outcome(0).scenarios[0].task_run, None);
}

#[test]
fn a_box_whose_set_up_fails_has_not_run() {
    let plan = plan(1, 1, 0);
    let turn = Board::of(&plan, &[]).next_turn().unwrap();
    let this_try = begin(&plan, turn, 1);
    assert!(this_try.task_run.is_some());
    let tries = [this_try.ended(at(2), TryOutcome::not_set_up("'false' failed".to_owned()))];
    let board = Board::of(&plan, &tries);
    assert_eq!(
        board.why_nothing_ran().unwrap(),
        "no scenario could be set up; scenario 0: 'false' failed"
    );
    assert_eq!(board.outcome(0).scenarios[0].task_run, None);
}

const WORDS: [&str; 6] = [
    "solved",
    "missed",
    "crashed",
    "slow",
    "stopped",
    "interrupted",
];

proptest! {
    /// Whatever happens and however many are under way: every job comes to its end, nothing that is settled is tried
    /// again, and nothing is tried more often than it may be.
    #[test]
    fn every_job_comes_to_its_end(
        agents in 1u128..4, scenarios in 1u128..5, retries in 0u32..4, at_once in 1u32..5,
        words in prop::collection::vec(0usize..WORDS.len(), 200),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 200),
    ) {
        let mut plan = plan(agents, scenarios, retries);
        plan.orchestration.trials_at_once = NonZeroU32::new(at_once);
        let mut tries: Vec<Try> = Vec::new();
        let mut kept_up = Board::of(&plan, &[]);
        let mut second = 0;
        for (word, pick) in words.iter().zip(&picks) {
            while let Some(turn) = Board::of(&plan, &tries).next_turn() {
                prop_assert_eq!(kept_up.next_turn(), Some(turn), "one that is kept up says the same");
                second += 1;
                let this_try = begin(&plan, turn, second);
                let same = tries
                    .iter()
                    .filter(|one| (one.run, one.task) == (this_try.run, this_try.task));
                for earlier in same {
                    prop_assert!(earlier.number < this_try.number);
                    let settles = matches!(
                        earlier.outcome(),
                        None | Some(TryOutcome::Completed { .. } | TryOutcome::Cancelled)
                    );
                    prop_assert!(!settles, "tried again: {earlier:?}");
                }
                kept_up.note(this_try.clone());
                tries.push(this_try);
            }
            prop_assert_eq!(kept_up.next_turn(), None);
            let live: Vec<usize> = (0..tries.len())
                .filter(|place| tries[*place].end.is_none())
                .collect();
            prop_assert!(live.len() <= at_once as usize);
            if live.is_empty() {
                break;
            }
            second += 1;
            let place = live[pick.index(live.len())];
            tries[place] = tries[place].clone().ended(at(second), outcome(WORDS[*word]));
            kept_up.note(tries[place].clone());
        }
        let most = (retries as usize + 1 + FREE_INTERRUPTIONS) * (agents * scenarios) as usize;
        prop_assert!(tries.len() <= most);
        let board = Board::of(&plan, &tries);
        if tries.iter().all(|one| one.end.is_some()) {
            prop_assert!(board.is_all_done());
            for agent in 0..plan.agents.len() {
                let outcome = board.outcome(agent);
                let stopped = outcome
                    .scenarios
                    .iter()
                    .filter(|one| one.state == ScenarioState::Cancelled);
                let told = (outcome.completed + outcome.failed + outcome.timed_out) as usize;
                prop_assert_eq!(told + stopped.count(), plan.scenarios.len());
            }
        }
    }
}

/// The turns of a plan in the order in which they begin, when every one is solved at once.
fn turns(plan: &JobPlan) -> Vec<(usize, usize)> {
    let mut board = Board::of(plan, []);
    let mut turns = Vec::new();
    while let Some(turn) = board.next_turn() {
        turns.push((turn.agent, turn.scenario));
        let one = begin(plan, turn, 1);
        board.note(one.clone());
        board.note(one.ended(at(2), outcome("solved")));
    }
    turns
}

#[test]
fn trials_begin_agent_by_agent_or_attempt_by_attempt() {
    // Two agents with two attempts each, in the order of their runs.
    let mut plan = plan(4, 2, 0);
    for (agent, (entry, attempt)) in plan.agents.iter_mut().zip([(0, 1), (1, 1), (0, 2), (1, 2)]) {
        (agent.entry, agent.attempt) = (entry, attempt);
    }
    let by_agents = [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
        (3, 0),
        (3, 1),
    ];
    assert_eq!(turns(&plan), by_agents);
    plan.orchestration.order = TrialOrder::Attempts;
    let by_attempts = [
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
        (2, 0),
        (3, 0),
        (2, 1),
        (3, 1),
    ];
    assert_eq!(turns(&plan), by_attempts);
}

#[test]
fn an_entry_has_no_more_trials_at_once_than_it_may() {
    let mut plan = plan(2, 3, 0);
    plan.orchestration.trials_at_once = NonZeroU32::new(3);
    plan.agents[0].at_once = NonZeroU32::new(1);
    let mut board = Board::of(&plan, []);
    let mut begun = Vec::new();
    while let Some(turn) = board.next_turn() {
        begun.push(turn.agent);
        board.note(begin(&plan, turn, 1));
    }
    assert_eq!(begun, [0, 1, 1]);
}

#[test]
fn only_the_exceptions_of_the_rules_are_tried_again_and_only_after_a_rest() {
    let mut plan = plan(1, 1, 5);
    plan.orchestration.retry_rules = Some(RetryRules {
        include: None,
        exclude: ["AgentTimeoutError".to_owned()].into(),
    });
    let failed =
        |exception: &str| TryOutcome::Failed(failure(FailureKind::AgentCrash).called(exception));
    let ended = |exception: &str| {
        let turn = Board::of(&plan, []).next_turn().unwrap();
        begin(&plan, turn, 1).ended(at(2), failed(exception))
    };
    let excluded = ended("AgentTimeoutError");
    assert!(Board::of(&plan, [&excluded]).is_all_done());
    let retried = ended("NonZeroAgentExitCodeError");
    let mut board = Board::of(&plan, [&retried]);
    assert_eq!(board.retry_after(&retried), Some((0, 0, 1)));
    board.rest(0, 0);
    assert_eq!(board.next_turn(), None);
    board.wake(0, 0);
    assert_eq!(board.next_turn().map(|turn| turn.number), Some(2));
}

#[test]
fn what_was_verified_counts_although_the_agent_failed() {
    let plan = plan(1, 1, 0);
    let turn = Board::of(&plan, []).next_turn().unwrap();
    let verified = Failure {
        verified: Some(Score::ONE),
        ..failure(FailureKind::AgentTimeout).called("AgentTimeoutError")
    };
    let one = begin(&plan, turn, 1).ended(at(2), TryOutcome::TimedOut(verified));
    assert_eq!(one.result(), TryResult::scored(Score::ONE));
    let board = Board::of(&plan, [&one]);
    assert_eq!(board.outcome(0).timed_out, 1);
}

/// A plan of so many rounds, in which the second agent is compared with the first.
fn in_rounds(rounds: u32, scenarios: u128) -> JobPlan {
    let mut plan = plan(2 * u128::from(rounds), scenarios, 0);
    for (agent, place) in plan.agents.iter_mut().zip(0u32..) {
        (agent.entry, agent.attempt) = (place % 2, place / 2 + 1);
        agent.name = format!("agent {}", agent.entry);
    }
    plan.rounds = Some(PlannedRounds {
        rounds,
        policy: serde_json::json!({}),
        gates: vec![PlannedGate {
            candidate: 1,
            baseline: Some(0),
        }],
    });
    plan
}

fn look(round: u32, verdict: Option<GateVerdict>) -> Look {
    let gate = PlannedGate {
        candidate: 1,
        baseline: Some(0),
    };
    Look {
        round,
        at: at(0),
        level: 0.01,
        decisions: vec![LookDecision {
            gate,
            verdict,
            sentences: Vec::new(),
            kept: None,
        }],
    }
}

#[test]
fn a_round_begins_when_the_one_before_is_over_and_was_not_enough() {
    let plan = in_rounds(4, 2);
    assert_eq!(turns(&plan), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!((plan.runs_at_once(), plan.asked_for().count()), (2, 2));
    let mut tries = play(&plan, &["solved", "solved", "missed", "crashed"]);
    let mut board = Board::of(&plan, &tries);
    assert_eq!((board.last_round(), board.is_all_done()), (1, true));
    assert_eq!(board.next_turn(), None);
    board.open_round(2, |_| true);
    assert_eq!(board.next_turn().map(|turn| turn.agent), Some(2));
    // Whoever finds a try of a round knows that the round has come.
    let turn = board.next_turn().unwrap();
    tries.push(begin(&plan, turn, 100));
    let again = Board::of(&plan, &tries);
    assert_eq!((again.last_round(), again.is_all_done()), (2, false));
    assert!(again.is_open(2) && again.is_open(3), "both sides take it");
    // A look that says no more than "not yet" opens the next round, one that is settled opens none.
    for (verdict, opens) in [
        (None, true),
        (Some(GateVerdict::Inconclusive), true),
        (Some(GateVerdict::Pass), false),
        (Some(GateVerdict::Fail), false),
    ] {
        let mut board = Board::of(&plan, &tries);
        board.see(&look(2, verdict));
        assert_eq!(board.is_open(4), opens, "{verdict:?}");
        assert!(!board.is_open(6), "never two rounds at once");
    }
    let mut last = Board::of(&plan, &tries);
    last.see(&look(4, Some(GateVerdict::Inconclusive)));
    assert_eq!(last.last_round(), 2, "there is no fifth round");
}

#[test]
fn a_gate_is_open_until_a_look_settles_it() {
    let plan = in_rounds(5, 1);
    let rounds = plan.rounds.as_ref().unwrap();
    let open = |looks: &[Look]| rounds.open_gates(looks).len();
    let open_look = look(2, Some(GateVerdict::Inconclusive));
    assert_eq!(open(&[]), 1);
    assert_eq!(open(&[open_look.clone(), look(3, None)]), 1);
    assert_eq!(open(&[open_look, look(3, Some(GateVerdict::Fail))]), 0);
    assert_eq!(plan.runs_of(1, 2), [plan.agents[1].run, plan.agents[3].run]);
    assert!(rounds.level(1).is_err() && rounds.level(6).is_err());
    assert!(rounds.level(2).unwrap() < rounds.level(5).unwrap());
}
