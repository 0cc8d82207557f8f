//! What follows from a plan and its tries: what is to be done next, and what came of it. Nothing here decides by time or
//! chance, so whoever looks at the same tries sees the same.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use super::{
    plan::{JobPlan, TrialOrder},
    rounds::Look,
    tries::{Failure, Try, TryOutcome},
};
use crate::{
    id::kinds::{RunId, TaskId, TaskRunId},
    results::{AttemptResult, Summary, TryResult},
    task_run::Cause,
};

/// How often a try may be interrupted by the server's own end before that counts as a failure.
const FREE_INTERRUPTIONS: usize = 3;

/// A plan with its tries. It is kept up as tries begin and end, so that asking what is next costs the same in a large job as in
/// a small one.
pub struct Board<'a> {
    plan: &'a JobPlan,
    agents: HashMap<RunId, usize>,
    scenarios: HashMap<TaskId, usize>,
    /// The tries of each agent with each scenario, in order: agent after agent, in each scenario after scenario.
    tries: Vec<Vec<Try>>,
    /// What is to be tried by each agent: after how many tries that count, and which scenario.
    waiting: Vec<BTreeSet<(usize, usize)>>,
    /// With how many scenarios each agent is done.
    settled: Vec<usize>,
    under_way: usize,
    /// How many trials of each entry of agents are under way.
    of_entry: HashMap<u32, usize>,
    /// What waits for a while before it is tried again, by agent and scenario.
    resting: BTreeSet<(usize, usize)>,
    /// Whether each agent takes part: all do, or with planned rounds those of the rounds that have come.
    open: Vec<bool>,
}

/// Something that is to be tried next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The place of the agent in the plan.
    pub agent: usize,
    /// The place of the scenario in the plan.
    pub scenario: usize,
    /// The first, second, … try.
    pub number: u32,
    /// How long the agent may take.
    pub limit: Duration,
}

/// What came of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOutcome {
    /// How many scenarios were completed.
    pub completed: u32,
    /// How many failed.
    pub failed: u32,
    /// How many timed out.
    pub timed_out: u32,
    /// The mean score of those that were completed; none if none was.
    pub average: Option<f64>,
    /// From the beginning of the first try to the end of the last.
    pub duration: Option<Duration>,
    /// What came of each scenario, in order.
    pub scenarios: Vec<ScenarioOutcome>,
}

/// What came of a scenario, by its last try.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioOutcome {
    /// Which.
    pub task: TaskId,
    /// What it was called.
    pub name: String,
    /// The last task run; none if the scenario could not be set up.
    pub task_run: Option<TaskRunId>,
    /// How it ended.
    pub state: ScenarioState,
    /// The score of what was completed.
    pub score: Option<f64>,
    /// How long the last try took.
    pub duration: Option<Duration>,
    /// Why there is no score.
    pub failure: Option<Failure>,
}

/// How a scenario of a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioState {
    /// It was judged.
    Completed,
    /// Something broke.
    Failed,
    /// A clock ran out.
    TimedOut,
    /// The job was stopped before it was done.
    Cancelled,
}

/// Where one agent stands with one scenario.
enum Standing<'a> {
    /// It is to be tried, after so many tries that count.
    Waiting { retry: usize },
    /// It is being tried.
    UnderWay,
    /// Nothing more is to be done.
    Settled(&'a Try),
}

impl<'a> Board<'a> {
    /// The board of a job.
    pub fn of<'t>(plan: &'a JobPlan, tries: impl IntoIterator<Item = &'t Try>) -> Self {
        let (agents, scenarios) = (plan.agents.len(), plan.scenarios.len());
        let places = |number: usize| (0..number).map(|place| (0, place)).collect();
        let mut board = Self {
            plan,
            agents: (plan.agents.iter().enumerate())
                .map(|(place, agent)| (agent.run, place))
                .collect(),
            scenarios: (plan.scenarios.iter().enumerate())
                .map(|(place, scenario)| (scenario.id, place))
                .collect(),
            tries: vec![Vec::new(); agents * scenarios],
            waiting: vec![places(scenarios); agents],
            settled: vec![0; agents],
            under_way: 0,
            of_entry: HashMap::new(),
            resting: BTreeSet::new(),
            open: (plan.agents.iter())
                .map(|agent| plan.rounds.is_none() || agent.attempt == 1)
                .collect(),
        };
        for one in tries {
            board.note(one.clone());
        }
        board
    }

    /// Notes a try as it is now: that it has begun, how far it is, or how it ended.
    pub fn note(&mut self, one: Try) {
        let agent = self.agents.get(&one.run).copied();
        let scenario = self.scenarios.get(&one.task).copied();
        let (Some(agent), Some(scenario)) = (agent, scenario) else {
            return;
        };
        if !self.open[agent] {
            // All agents take the second round, which no look stands before; whom a later one needs is said by its look.
            let round = self.plan.agents[agent].attempt;
            self.open[agent] = true;
            self.open_round(round, |_| round == 2);
        }
        self.count(agent, scenario, false);
        let slot = self.slot(agent, scenario);
        let tries = &mut self.tries[slot];
        match tries.binary_search_by_key(&one.number, |known| known.number) {
            Ok(known) => tries[known] = one,
            Err(place) => tries.insert(place, one),
        }
        self.count(agent, scenario, true);
    }

    /// Counts where an agent stands with a scenario in, or out.
    fn count(&mut self, agent: usize, scenario: usize, is_in: bool) {
        match (self.standing(agent, scenario), is_in) {
            (Standing::Waiting { retry }, true) => {
                self.waiting[agent].insert((retry, scenario));
            }
            (Standing::Waiting { retry }, false) => {
                self.waiting[agent].remove(&(retry, scenario));
            }
            (Standing::UnderWay, true) => {
                self.under_way += 1;
                *self
                    .of_entry
                    .entry(self.plan.agents[agent].entry)
                    .or_default() += 1;
            }
            (Standing::UnderWay, false) => {
                self.under_way -= 1;
                let entry = self
                    .of_entry
                    .entry(self.plan.agents[agent].entry)
                    .or_default();
                *entry = entry.saturating_sub(1);
            }
            (Standing::Settled(_), true) => self.settled[agent] += 1,
            (Standing::Settled(_), false) => self.settled[agent] -= 1,
        }
    }

    /// Lets the agents of a round begin that are `needed`, by their entries.
    pub fn open_round(&mut self, round: u32, needed: impl Fn(u32) -> bool) {
        for (agent, is_open) in self.plan.agents.iter().zip(&mut self.open) {
            *is_open |= agent.attempt == round && needed(agent.entry);
        }
    }

    /// Notes what was seen after a round: those agents begin the next one of which more must be known.
    pub fn see(&mut self, look: &Look) {
        self.open_round(look.round.saturating_add(1), |entry| look.needs(entry));
    }

    /// Whether an agent takes part: not if it is of a round that has not come.
    pub fn is_open(&self, agent: usize) -> bool {
        self.open[agent]
    }

    /// The last round that has come.
    pub fn last_round(&self) -> u32 {
        let open = self.open_agents();
        let rounds = open.map(|agent| self.plan.agents[agent].attempt);
        rounds.max().unwrap_or(0)
    }

    /// The agents that take part.
    pub fn open_agents(&self) -> impl Iterator<Item = usize> {
        (0..self.plan.agents.len()).filter(|agent| self.open[*agent])
    }

    /// The round that goes on: no other one begins before it is over. None without planned rounds.
    fn current_round(&self) -> Option<u32> {
        self.plan.rounds.as_ref()?;
        let at_work = self.open_agents().filter(|agent| !self.is_done(*agent));
        at_work.map(|agent| self.plan.agents[agent].attempt).min()
    }

    fn slot(&self, agent: usize, scenario: usize) -> usize {
        agent * self.plan.scenarios.len() + scenario
    }

    /// What is to be tried next: first tries before retries, in the order of the plan. None if as much is under way as may
    /// be, or if nothing is left that does not rest.
    pub fn next_turn(&self) -> Option<Turn> {
        if self.under_way >= self.plan.orchestration.trials_at_once() {
            return None;
        }
        let round = self.current_round();
        let is_its_turn = |agent: usize| {
            let of_round = round.is_none_or(|round| self.plan.agents[agent].attempt == round);
            of_round && self.has_room(agent)
        };
        let mut open = self.open_agents().filter(|agent| is_its_turn(*agent));
        match self.plan.orchestration.order {
            TrialOrder::Agents => open.find_map(|agent| self.turn_of(agent, self.first_of(agent)?)),
            TrialOrder::Attempts => {
                let candidates = open.filter_map(|agent| Some((agent, self.first_of(agent)?)));
                let (agent, next) = candidates.min_by_key(|(agent, (retry, scenario))| {
                    (*retry, self.plan.agents[*agent].attempt, *scenario, *agent)
                })?;
                self.turn_of(agent, next)
            }
        }
    }

    /// Lets a scenario rest that an agent is to try again.
    pub fn rest(&mut self, agent: usize, scenario: usize) {
        self.resting.insert((agent, scenario));
    }

    /// Lets a scenario be tried again that rested.
    pub fn wake(&mut self, agent: usize, scenario: usize) {
        self.resting.remove(&(agent, scenario));
    }

    /// The retry (from 1 on) that an agent is to make next with the scenario of a try that has just ended, with its place; none if
    /// it is settled.
    pub fn retry_after(&self, ended: &Try) -> Option<(usize, usize, u32)> {
        let agent = self.agents.get(&ended.run).copied()?;
        let scenario = self.scenarios.get(&ended.task).copied()?;
        match self.standing(agent, scenario) {
            Standing::Waiting { retry: 0 } | Standing::UnderWay | Standing::Settled(_) => None,
            Standing::Waiting { retry } => {
                Some((agent, scenario, u32::try_from(retry).unwrap_or(u32::MAX)))
            }
        }
    }

    /// Whether another trial of the agent's entry may begin.
    fn has_room(&self, agent: usize) -> bool {
        let agent = &self.plan.agents[agent];
        let under_way = self.of_entry.get(&agent.entry).copied().unwrap_or(0);
        agent
            .at_once
            .is_none_or(|most| under_way < usize::try_from(most.get()).unwrap_or(usize::MAX))
    }

    /// After how many tries an agent is to try which scenario next.
    fn first_of(&self, agent: usize) -> Option<(usize, usize)> {
        let waiting = self.waiting[agent].iter().copied();
        let mut awake = waiting.filter(|(_, scenario)| !self.resting.contains(&(agent, *scenario)));
        awake.next()
    }

    fn turn_of(&self, agent: usize, (retry, scenario): (usize, usize)) -> Option<Turn> {
        let last = self.tries(agent, scenario).last();
        Some(Turn {
            agent,
            scenario,
            number: last.map_or(0, |last| last.number).saturating_add(1),
            limit: self.plan.time_limit(&self.plan.agents[agent], retry),
        })
    }

    /// The tries that are under way.
    pub fn under_way(&self) -> impl Iterator<Item = &Try> {
        self.tries.iter().flatten().filter(|one| one.end.is_none())
    }

    /// How long the agent may take in a try that is under way.
    pub fn limit_of(&self, one: &Try) -> Duration {
        let agent = self.agents.get(&one.run).copied();
        let scenario = self.scenarios.get(&one.task).copied();
        let (Some(agent), Some(scenario)) = (agent, scenario) else {
            return Duration::ZERO;
        };
        let tries = self.tries(agent, scenario);
        let before = tries.partition_point(|other| other.number < one.number);
        let retry = counted(&tries[..before]);
        self.plan.time_limit(&self.plan.agents[agent], retry)
    }

    /// Whether an agent is done with all scenarios.
    pub fn is_done(&self, agent: usize) -> bool {
        self.settled[agent] == self.plan.scenarios.len()
    }

    /// How many attempts of all agents together are settled.
    pub fn settled(&self) -> usize {
        self.settled.iter().sum()
    }

    /// Whether all agents that take part are done.
    pub fn is_all_done(&self) -> bool {
        self.open_agents().all(|agent| self.is_done(agent))
    }

    /// Whether any scenario was set up for an agent.
    pub fn has_run(&self, agent: usize) -> bool {
        self.of_agent(agent).any(Try::was_set_up)
    }

    /// What came of each of an agent's attempts, by our own rule: the first try that is not void counts. `untried` is what is
    /// known of what was not settled, and of what was never started because the run was over by then: that is no try.
    pub fn attempts(&self, agent: usize, untried: &TryResult) -> Vec<AttemptResult> {
        let run = self.plan.agents[agent].run;
        let attempt = self.plan.attempt_of(agent);
        let of_scenario = |scenario: usize| {
            let task = self.plan.scenarios[scenario].id;
            let tries = self
                .tries(agent, scenario)
                .iter()
                .filter(|one| one.was_begun())
                .map(|one| match one.result() {
                    TryResult::Pending => (untried.clone(), one.task_run),
                    result => (result, one.task_run),
                });
            AttemptResult::of(task, attempt, run, tries, || untried.clone())
        };
        (0..self.plan.scenarios.len()).map(of_scenario).collect()
    }

    /// Our own numbers of an agent that is done.
    pub fn numbers(&self, agent: usize) -> Summary {
        let stopped = TryResult::faulted(Cause::Cancelled);
        Summary::of(&self.attempts(agent, &stopped))
    }

    /// Why nothing at all could run; none if something did.
    pub fn why_nothing_ran(&self) -> Option<String> {
        if (0..self.plan.agents.len()).any(|agent| self.has_run(agent)) {
            return None;
        }
        let failures = (0..self.plan.agents.len())
            .flat_map(|agent| self.outcome(agent).scenarios)
            .find_map(|scenario| {
                let failure = scenario.failure?;
                Some(format!("{}: {}", scenario.name, failure.message))
            });
        Some(match failures {
            Some(first) => format!("no scenario could be set up; {first}"),
            None => "no scenario was run".to_owned(),
        })
    }

    /// What came of an agent. What is not settled was stopped.
    pub fn outcome(&self, agent: usize) -> AgentOutcome {
        let scenarios: Vec<ScenarioOutcome> = (0..self.plan.scenarios.len())
            .map(|scenario| self.outcome_of(agent, scenario))
            .collect();
        let count = |state: ScenarioState| {
            let of_state = scenarios.iter().filter(|one| one.state == state);
            u32::try_from(of_state.count()).unwrap_or(u32::MAX)
        };
        let completed = count(ScenarioState::Completed);
        let scores: Vec<f64> = scenarios.iter().filter_map(|one| one.score).collect();
        let scored = u32::try_from(scores.len()).unwrap_or(u32::MAX);
        AgentOutcome {
            completed,
            failed: count(ScenarioState::Failed),
            timed_out: count(ScenarioState::TimedOut),
            average: (scored > 0).then(|| scores.iter().sum::<f64>() / f64::from(scored)),
            duration: self.duration(agent),
            scenarios,
        }
    }

    fn outcome_of(&self, agent: usize, scenario: usize) -> ScenarioOutcome {
        let planned = &self.plan.scenarios[scenario];
        let last = self.tries(agent, scenario).last();
        let mut outcome = ScenarioOutcome {
            task: planned.id,
            name: planned.name.clone(),
            task_run: last
                .filter(|one| one.was_set_up())
                .and_then(|one| one.task_run),
            state: ScenarioState::Cancelled,
            score: None,
            duration: last.and_then(|one| {
                let end = one.end.as_ref()?;
                Some(end.at.since(one.began_at))
            }),
            failure: None,
        };
        match self.standing(agent, scenario) {
            Standing::Waiting { .. } | Standing::UnderWay => outcome,
            Standing::Settled(last) => {
                match last.outcome() {
                    None | Some(TryOutcome::Cancelled) => {}
                    // What nobody wanted judged has no score; what was completed before it was judged counts nothing.
                    Some(TryOutcome::Completed { score, fault, .. }) => {
                        outcome.state = ScenarioState::Completed;
                        outcome.score = match (score, fault) {
                            (Some(score), _) => Some(score.value()),
                            (None, Some(_)) => None,
                            (None, None) => Some(0.0),
                        };
                    }
                    Some(TryOutcome::Failed(failure) | TryOutcome::Interrupted(failure)) => {
                        outcome.state = ScenarioState::Failed;
                        outcome.failure = Some(failure.clone());
                    }
                    Some(TryOutcome::TimedOut(failure)) => {
                        outcome.state = ScenarioState::TimedOut;
                        outcome.failure = Some(failure.clone());
                    }
                }
                outcome
            }
        }
    }

    fn duration(&self, agent: usize) -> Option<Duration> {
        let began = self.of_agent(agent).map(|one| one.began_at).min()?;
        let ends = self.of_agent(agent).filter_map(|one| one.end.as_ref());
        let ended = ends.map(|end| end.at).max()?;
        Some(ended.since(began))
    }

    /// All tries of an agent.
    fn of_agent(&self, agent: usize) -> impl Iterator<Item = &Try> {
        let all = self.slot(agent, 0)..self.slot(agent + 1, 0);
        self.tries[all].iter().flatten()
    }

    fn tries(&self, agent: usize, scenario: usize) -> &[Try] {
        &self.tries[self.slot(agent, scenario)]
    }

    fn standing(&self, agent: usize, scenario: usize) -> Standing<'_> {
        let tries = self.tries(agent, scenario);
        let Some(last) = tries.last() else {
            return Standing::Waiting { retry: 0 };
        };
        let counted = counted(tries);
        match last.outcome() {
            None => Standing::UnderWay,
            Some(TryOutcome::Completed { .. } | TryOutcome::Cancelled) => Standing::Settled(last),
            Some(TryOutcome::Interrupted(_)) if counted <= self.plan.orchestration.retries() => {
                Standing::Waiting { retry: counted }
            }
            Some(TryOutcome::Failed(failure) | TryOutcome::TimedOut(failure))
                if counted <= self.plan.orchestration.retries()
                    && self.plan.orchestration.retries_after(failure) =>
            {
                Standing::Waiting { retry: counted }
            }
            Some(_) => Standing::Settled(last),
        }
    }
}

/// How many of these tries count: not those that the server's own end interrupted, as long as they are few.
fn counted(tries: &[Try]) -> usize {
    let is_interrupted = |one: &&Try| matches!(one.outcome(), Some(TryOutcome::Interrupted(_)));
    let interrupted = tries.iter().filter(is_interrupted).count();
    tries.len() - interrupted.min(FREE_INTERRUPTIONS)
}

#[cfg(test)]
pub(crate) mod tests;
