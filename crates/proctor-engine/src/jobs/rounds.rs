//! Jobs that look after each round whether another one is needed: what is planned before the first round, and the looks.

use proctor_core::{
    definition::Benchmark,
    id::kinds::JobId,
    job::{
        Board, Job, JobAgent, JobEnding, JobState, Look, LookDecision, PlannedGate, PlannedRounds,
    },
    policy::{Policy, Selection},
    reader::Wording,
};
use proctor_store::{StoreError, comparisons::NewGateResult};
use serde_json::{Value, json};

use super::create::NewJobAgent;
use crate::{
    comparisons::{NewGate, kept_gate, unknown_names},
    engine::Engine,
    error::EngineError,
    problems::{AgentProblem, JobProblem},
};

/// The most runs that a job is planned with: as many as it may have agents.
const MOST_RUNS: usize = 100;

/// Rounds that are to be planned.
#[derive(Clone, Debug)]
pub struct NewRounds {
    /// How many there are at most.
    pub rounds: u32,
    /// What is looked at after each.
    pub policy: Policy,
    /// The same, as it was given.
    pub document: Value,
}

/// How far the planned rounds of a job came.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundsResults {
    /// How many were planned.
    pub planned: u32,
    /// How many are over.
    pub done: u32,
    /// After which round the job stopped by itself; none while it goes on, and if it was ended otherwise.
    pub stopped_after: Option<u32>,
    /// How many attempts were planned.
    pub attempts_planned: u64,
    /// How many of them were not needed; none while the job goes on, and if it was ended otherwise.
    pub attempts_saved: Option<u64>,
    /// The same in one sentence.
    pub sentence: String,
    /// What is looked at, as it was given.
    pub policy: Value,
    /// What was seen after each round from the second on.
    pub looks: Vec<LookResults>,
}

/// What was seen after a round.
#[derive(Clone, Debug, PartialEq)]
pub struct LookResults {
    /// The look.
    pub look: Look,
    /// For each of its decisions what the candidate is called, and the baseline.
    pub names: Vec<(String, Option<String>)>,
}

impl RoundsResults {
    /// How far the rounds of a job came.
    pub(super) fn of(
        job: &Job,
        planned: &PlannedRounds,
        board: &Board<'_>,
        looks: &[Look],
    ) -> Self {
        let last = board.last_round();
        let done = match board.is_all_done() {
            true => last,
            false => last.saturating_sub(1),
        };
        let scenarios = job.plan.scenarios.len() as u64;
        let attempts_planned = job.plan.agents.len() as u64 * scenarios;
        let taken = board.open_agents().count() as u64 * scenarios;
        let is_decided = matches!(
            &job.state,
            JobState::Ended {
                ending: JobEnding::Completed,
                ..
            }
        );
        let saved = attempts_planned - taken;
        let all = planned.rounds;
        let sentence = if !job.is_over() {
            format!("round {last} of at most {all}")
        } else if !is_decided {
            format!("ended in round {last} of {all}, before the plan was carried out")
        } else if last < all || saved > 0 {
            format!(
                "stopped after round {last} of {all}: {saved} of {attempts_planned} planned attempts were not needed"
            )
        } else {
            format!(
                "all {all} rounds were needed: none of {attempts_planned} planned attempts was saved"
            )
        };
        let names = |look: &Look| {
            let decisions = look.decisions.iter().map(|one| one.gate);
            let name = |entry: u32| job.plan.name_of(entry).to_owned();
            decisions
                .map(|gate| (name(gate.candidate), gate.baseline.map(name)))
                .collect()
        };
        Self {
            planned: all,
            done,
            stopped_after: is_decided.then_some(last),
            attempts_planned,
            attempts_saved: is_decided.then_some(saved),
            sentence,
            policy: planned.policy.clone(),
            looks: (looks.iter())
                .map(|look| LookResults {
                    look: look.clone(),
                    names: names(look),
                })
                .collect(),
        }
    }
}

/// The policy of rounds for which none is given: each further agent is not worse than the first by more than five points, on these very tasks.
pub fn usual_policy() -> Value {
    json!({"about": "suite", "line": [{"kind": "change", "at": -0.05}]})
}

impl NewRounds {
    /// Over whom the policy decides: every further agent against the first if it compares, else every agent by itself.
    fn gates(&self, agents: usize) -> Vec<PlannedGate> {
        let agents = 0..u32::try_from(agents).unwrap_or(u32::MAX);
        let (baseline, candidates) = match self.policy.compares() {
            true => (Some(0), agents.start + 1..agents.end),
            false => (None, agents),
        };
        candidates
            .map(|candidate| PlannedGate {
                candidate,
                baseline,
            })
            .collect()
    }

    /// Everything that keeps these agents from taking these tasks in rounds.
    pub(super) fn problems(
        &self,
        agents: &[NewJobAgent],
        definition: &Benchmark,
    ) -> Vec<JobProblem> {
        let mut problems = Vec::new();
        let runs = agents.len() * usize::try_from(self.rounds).unwrap_or(usize::MAX);
        if runs > MOST_RUNS {
            problems.push(JobProblem::Rounds(format!(
                "{} rounds of {} agents are {runs} runs: a job has {MOST_RUNS} at most",
                self.rounds,
                agents.len()
            )));
        }
        if self.policy.compares() && agents.len() < 2 {
            problems.push(JobProblem::Rounds(
                "there is nothing to compare with: name two agents, the first of which is the baseline, or a policy without lines of the kind change"
                    .to_owned(),
            ));
        }
        if self.policy.baseline.is_some() {
            problems.push(JobProblem::Policy {
                member: "policy.baseline".to_owned(),
                message:
                    "cannot be given here: the baseline of a job with rounds is its first agent"
                        .to_owned(),
            });
        }
        for (number, agent) in agents.iter().enumerate() {
            let problem = |problem: AgentProblem| JobProblem::Agent { number, problem };
            if agents[..number].iter().any(|one| one.name == agent.name) {
                problems.push(problem(AgentProblem::NameTaken(agent.name.clone())));
            }
            if self.policy.compares() && agent.timeout != agents[0].timeout {
                problems.push(problem(AgentProblem::OtherTimeLimit));
            }
        }
        let unknown = unknown_names(&self.policy, definition).into_iter();
        problems.extend(unknown.map(|unknown| JobProblem::Policy {
            member: unknown.member,
            message: unknown.message,
        }));
        problems
    }
}

impl Engine {
    /// The agents of all rounds, and the plan that they follow.
    pub(super) fn plan_rounds(
        &self,
        new: &NewRounds,
        agents: &[JobAgent],
    ) -> (Vec<JobAgent>, PlannedRounds) {
        let planned = PlannedRounds {
            rounds: new.rounds,
            policy: new.document.clone(),
            gates: new.gates(agents.len()),
        };
        let of_round = |round: u32| {
            let agents = agents.iter().zip(0u32..);
            agents.map(move |(agent, entry)| JobAgent {
                run: self.store().fresh_id(),
                attempt: round,
                entry,
                ..agent.clone()
            })
        };
        let all = (1..=new.rounds).flat_map(of_round).collect();
        (all, planned)
    }

    /// Brings a job whose agents are done with a round to its next one; whether there is one.
    pub(super) async fn begin_next_round(
        &self,
        job: &Job,
        board: &mut Board<'_>,
    ) -> Result<bool, EngineError> {
        let Some(planned) = &job.plan.rounds else {
            return Ok(false);
        };
        // What cannot be set up will not be set up in another round.
        if board.why_nothing_ran().is_some() {
            return Ok(false);
        }
        let round = board.last_round();
        if round < 2 {
            board.open_round(2, |_| true);
        } else {
            let looks = self.store().looks(job.id).await?;
            let look = match looks.iter().find(|look| look.round == round) {
                Some(taken) => taken.clone(),
                None => self.look(job, planned, &looks, round).await?,
            };
            board.see(&look);
        }
        if board.last_round() == round {
            return Ok(false);
        }
        self.make_runs(job, board).await?;
        Ok(true)
    }

    /// Looks at a job after a round, and keeps what is seen.
    async fn look(
        &self,
        job: &Job,
        planned: &PlannedRounds,
        looks: &[Look],
        round: u32,
    ) -> Result<Look, EngineError> {
        let level = planned
            .level(round)
            .map_err(|refused| fault(job.id, &refused))?;
        let policy = Policy::read(&planned.policy, Wording::Request)
            .map_err(|problems| fault(job.id, &problems))?;
        let mut look = Look {
            round,
            at: self.now(),
            level: level.value(),
            decisions: Vec::new(),
        };
        let mut kept: Vec<NewGateResult> = Vec::new();
        for gate in planned.open_gates(looks) {
            let runs = |entry: u32| Selection::Runs(job.plan.runs_of(entry, round));
            let new = NewGate {
                candidate: runs(gate.candidate),
                baseline: gate.baseline.map(runs),
                policy: policy.clone(),
                document: planned.policy.clone(),
                alpha: level,
                even_though: false,
                baseline_name: gate
                    .baseline
                    .map(|entry| job.plan.name_of(entry).to_owned()),
            };
            let decision = match self.decide_gate(job.organization, &new).await {
                Ok(report) => {
                    let is_last = report.verdict.is_settled() || round == planned.rounds;
                    if is_last {
                        kept.push(kept_gate(&report)?);
                    }
                    LookDecision {
                        gate,
                        verdict: Some(report.verdict),
                        kept: is_last.then_some(report.id),
                        sentences: report.sentences,
                    }
                }
                // There is too little to decide by: a further round may bring it.
                Err(EngineError::Comparison(problem)) => LookDecision {
                    gate,
                    verdict: None,
                    sentences: vec![problem.to_string()],
                    kept: None,
                },
                Err(other) => return Err(other),
            };
            look.decisions.push(decision);
        }
        let store = self.store();
        match store
            .create_look(job.organization, job.id, &look, &kept)
            .await
        {
            Ok(()) => Ok(look),
            // Another node was first: what it saw counts.
            Err(StoreError::Taken(_)) => {
                let looks = store.looks(job.id).await?.into_iter();
                let taken = looks.into_iter().find(|one| one.round == round);
                taken.ok_or_else(|| fault(job.id, &"a look that was taken is gone"))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn fault(job: JobId, what: &dyn std::fmt::Display) -> EngineError {
    EngineError::Fault(format!("the rounds of the job {job}: {what}"))
}
