//! Runs and task runs: one life cycle for both dialects and both kinds of world.
//!
//! One file for each thing that can happen. All go one way (`Engine::change`): read what stands, ask the state machines of
//! `proctor-core`, write what they decided over what was read. Where a task is done is a [`crate::workspace::Workspace`]; nothing
//! here asks which kind it is, except where the kinds have different answers to give.
//!
//! A step reads and writes what it changes, never the whole run: a task run, its run with its tally, the task runs at work. All
//! task runs are read once, when the last of them ends, because the run's score is over all.

mod agent_box;
mod attempt;
mod cancel;
mod complete;
mod create;
mod expire;
mod find;
pub(crate) mod judge;
mod rank;
mod remove;
mod rescore;
mod scenario_runs;
mod score;
mod snapshot;
mod start;
mod watch;

pub(crate) use self::{
    agent_box::AgentBoxes,
    find::pin,
    score::AfterScoring,
    snapshot::{Asked, EndOfTry, StepRecord, TaskRunSnapshot},
    start::playground_of,
};
pub use self::{
    agent_box::NewAgentBox,
    complete::Completed,
    create::{Created, NewBenchmarkRun, NewRun, Taken},
    find::{RunDetails, TaskRunDetails},
    rescore::{InBox, Judges, Rescored, RescoredScenario, Rubrics},
    scenario_runs::{ScenarioRun, ScoredFunction},
    start::{NewScenarioRun, StartedTask},
};
