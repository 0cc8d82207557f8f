//! A job from its beginning to its end.
//!
//! What is to be done next is asked of the board; each try is written down before it begins. So whoever takes a job up
//! again, after whatever end of the server, does the same as if nothing had happened.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt as _, stream::FuturesUnordered};
use proctor_core::{
    causes::with_causes,
    id::{
        Dialect,
        kinds::{JobId, TaskRunKind},
    },
    job::{Board, Job, JobAgent, JobPlan, Look, Try, Turn},
    profile::Particulars,
    refused::{Refused, Step},
    results::Summary,
    run::Run,
    task_run::Cause,
};
use proctor_harbor::timeouts::RetryWait;
use proctor_store::progress::Progress;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::agents;
use crate::{change::Decision, engine::Engine, error::EngineError, harbor::HarborRules};

/// How long to wait before a job that could not be carried on is taken up again.
pub(super) const PAUSE: Duration = Duration::from_secs(5);
/// The label that names the job of a run, and marks a benchmark that was made for a job.
pub(super) const JOB: &str = "proctor.job";
/// The label that says of which round of its job a run is, and the one that says how many are planned.
const ROUND: &str = "proctor.round";
const ROUNDS: &str = "proctor.rounds";

/// A job while it is carried out.
struct JobDriver<'a> {
    engine: &'a Engine,
    job: &'a Arc<Job>,
    /// What is next, as far as every try is known to have come.
    board: Board<'a>,
    /// Those that are under way; each says what became of it, or nothing if the server is about to end. They are tasks of
    /// their own: one that holds a connection to the database must go on while this one waits for another.
    live: FuturesUnordered<JoinHandle<Option<Try>>>,
    /// Scenarios that are to be tried again after a while: the places of their agents and their own.
    resting: FuturesUnordered<JoinHandle<(usize, usize)>>,
    /// How long that is, in jobs that say so.
    retry_wait: Option<RetryWait>,
}

impl Engine {
    /// Carries a job out, unless it is being carried out.
    pub(crate) fn drive_in_background(&self, id: JobId) {
        let stop = self.inner.closing.child_token();
        if !self.inner.jobs.under_way.begin(id, stop.clone()) {
            return;
        }
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            engine.drive(id, &stop).await;
            engine.inner.jobs.under_way.end(&id);
        });
    }

    async fn drive(&self, id: JobId, stop: &CancellationToken) {
        while let Err(error) = self.carry_on(id, stop).await {
            report(
                &error,
                "a job could not be carried on; it will be tried again",
            );
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Carries a job on from wherever it is.
    async fn carry_on(&self, id: JobId, stop: &CancellationToken) -> Result<(), EngineError> {
        let outcome = self.carry_to_its_end(id, stop).await;
        match outcome {
            // Somebody stopped it in between.
            Ok(()) | Err(EngineError::Refused(Refused::JobOver(_))) => {}
            Err(error) => return Err(error),
        }
        if self.read_job(id).await?.value.is_over() {
            self.stop_runs(id).await?;
        }
        Ok(())
    }

    async fn carry_to_its_end(
        &self,
        id: JobId,
        stop: &CancellationToken,
    ) -> Result<(), EngineError> {
        let job = self.read_job(id).await?.value;
        if job.is_over() {
            return Ok(());
        }
        let tries = self.store().tries(id).await?;
        let looks = self.looks_of(&job).await?;
        self.make_runs(&job, &board_of(&job.plan, &tries, &looks))
            .await?;
        self.step_job(id, |job, _| enqueued(job)).await?;
        let place = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            place = self.inner.jobs.places.acquire() => place,
        };
        let job = self.step_job(id, |job, now| job.begin(now)).await?;
        let job = Arc::new(job);
        let mut driver = JobDriver {
            engine: self,
            board: board_of(&job.plan, &tries, &looks),
            job: &job,
            live: FuturesUnordered::new(),
            resting: FuturesUnordered::new(),
            retry_wait: HarborRules::of(&job.plan.source).map(|rules| rules.config.retry.wait),
        };
        driver.take_up();
        let is_done = driver.run_rounds(stop).await;
        drop(driver);
        drop(place);
        match is_done? {
            true => self.end_job(id).await,
            false => Ok(()),
        }
    }

    /// What was seen after the rounds of a job, if it has any.
    pub(super) async fn looks_of(&self, job: &Job) -> Result<Vec<Look>, EngineError> {
        match job.plan.rounds {
            None => Ok(Vec::new()),
            Some(_) => Ok(self.store().looks(job.id).await?),
        }
    }

    /// Makes the runs of the agents that take part and are not done.
    pub(super) async fn make_runs(&self, job: &Job, board: &Board<'_>) -> Result<(), EngineError> {
        for place in board.open_agents().filter(|place| !board.is_done(*place)) {
            self.make_run(job, &job.plan.agents[place]).await?;
        }
        Ok(())
    }

    /// Makes the run of an agent, unless it is there.
    async fn make_run(&self, job: &Job, agent: &JobAgent) -> Result<(), EngineError> {
        if self.store().run(agent.run).await?.is_some() {
            return Ok(());
        }
        let run = Run {
            job: Some(job.id),
            agent: Some(agent.name.clone()),
            particulars: Particulars {
                name: Some(format!("{}: {}", job.name, agent.name)),
                metadata: run_labels(job, agent),
                profile: agents::profile(agent),
            },
            ..self.new_run(agent.run, job.organization, job.plan.pinned)
        };
        self.store().create_run(&run, &[], &[]).await?;
        Ok(())
    }

    /// Ends the run of an agent that is done, with our numbers of it: with its scores, or as failed unless something of it `has_run`.
    async fn end_run(
        &self,
        agent: &JobAgent,
        numbers: Summary,
        has_run: bool,
    ) -> Result<(), EngineError> {
        if has_run {
            return match self.complete_run_with(agent.run, Some(numbers)).await {
                // It came to its end before.
                Ok(_) | Err(EngineError::Refused(Refused::RunOver(_))) => Ok(()),
                Err(error) => Err(error),
            };
        }
        self.change_run(agent.run, |whole, now| {
            let run = whole.run.value.clone();
            match run.fail(now, Cause::Infrastructure, numbers.clone()) {
                Step::Unchanged(_) => Ok(Decision::Unchanged(())),
                Step::Changed(run) => {
                    let progress = Progress {
                        run: Some((whole.run.clone(), run)),
                        ..Progress::default()
                    };
                    Ok(Decision::Write(Box::new(progress), ()))
                }
            }
        })
        .await
    }

    /// Ends a job whose agents are all done.
    async fn end_job(&self, id: JobId) -> Result<(), EngineError> {
        let tries = self.store().tries(id).await?;
        self.step_job(id, |job, now| {
            match Board::of(&job.plan, &tries).why_nothing_ran() {
                Some(reason) => Ok(job.fail(now, reason)),
                None => job.complete(now),
            }
        })
        .await?;
        Ok(())
    }
}

impl JobDriver<'_> {
    /// Goes on with the tries that a former process left.
    fn take_up(&self) {
        for this_try in self.board.under_way() {
            let limit = self.board.limit_of(this_try);
            self.begin(this_try.clone(), limit, true);
        }
    }

    /// Lets all agents have their turns, round after round if rounds are planned; `false` if it was stopped before.
    async fn run_rounds(&mut self, stop: &CancellationToken) -> Result<bool, EngineError> {
        // Of those that were done before, some may not know it yet.
        let broken = self.end_runs(0..self.job.plan.agents.len()).await.err();
        let mut is_done = self.run(stop, broken).await?;
        while is_done {
            let board = &mut self.board;
            if !self.engine.begin_next_round(self.job, board).await? {
                return Ok(true);
            }
            is_done = self.run(stop, None).await?;
        }
        Ok(false)
    }

    /// Lets all agents that take part have their turns; `false` if it was stopped before. Nothing that has begun is let go of: it comes to
    /// its end by itself when its run is stopped or the server ends.
    /// If something is `broken` already, nothing new begins.
    async fn run(
        &mut self,
        stop: &CancellationToken,
        mut broken: Option<EngineError>,
    ) -> Result<bool, EngineError> {
        let mut is_stopped = broken.is_some();
        let deadline = self
            .job
            .deadline()
            .map_or(Duration::MAX, |deadline| deadline.since(self.engine.now()));
        let out_of_time = tokio::time::sleep(deadline);
        tokio::pin!(out_of_time);
        loop {
            if !is_stopped {
                match self.begin_all().await {
                    Ok(goes_on) => is_stopped = !goes_on,
                    Err(error) => (is_stopped, broken) = (true, Some(error)),
                }
            }
            if self.live.is_empty() && (is_stopped || self.resting.is_empty()) {
                break;
            }
            tokio::select! {
                Some(Ok((agent, scenario))) = self.resting.next(), if !is_stopped => {
                    self.board.wake(agent, scenario);
                }
                ended = self.live.next(), if !self.live.is_empty() => match ended {
                    None | Some(Ok(None) | Err(_)) => is_stopped = true,
                    Some(Ok(Some(this_try))) => {
                        let agents = &self.job.plan.agents;
                        let agent = agents.iter().position(|one| one.run == this_try.run);
                        self.board.note(this_try.clone());
                        self.rest_before_retry(&this_try);
                        if let Err(error) = self.end_runs(agent).await {
                            (is_stopped, broken) = (true, Some(error));
                        }
                    }
                },
                () = stop.cancelled(), if !is_stopped => is_stopped = true,
                () = &mut out_of_time, if !is_stopped => {
                    is_stopped = true;
                    broken = self.time_out().await.err();
                }
            }
        }
        match broken {
            Some(error) => Err(error),
            None => Ok(!is_stopped),
        }
    }

    /// Begins as much as may be under way; `false` if the job is over.
    async fn begin_all(&mut self) -> Result<bool, EngineError> {
        while let Some(turn) = self.board.next_turn() {
            let this_try = self.new_try(turn);
            let store = self.engine.store();
            // Another node may have stopped the job.
            if !store.begin_try(self.job.id, &this_try).await? {
                return Ok(false);
            }
            self.board.note(this_try.clone());
            self.begin(this_try, turn.limit, false);
        }
        Ok(true)
    }

    /// Lets a scenario rest before it is tried again. Its place among those under way is free meanwhile.
    fn rest_before_retry(&mut self, ended: &Try) {
        let Some(wait) = self.retry_wait else { return };
        let Some((agent, scenario, retry)) = self.board.retry_after(ended) else {
            return;
        };
        // Ids are drawn at random, in their last bits most of all.
        let drawn = self.engine.store().fresh_id::<TaskRunKind>().uuid();
        let [.., high, low] = *drawn.as_bytes();
        let jitter = f64::from(u16::from_be_bytes([high, low])) / f64::from(u16::MAX);
        let pause = wait.before(retry, jitter);
        self.board.rest(agent, scenario);
        let closing = self.engine.inner.closing.clone();
        let rested = async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
            (agent, scenario)
        };
        self.resting.push(self.engine.inner.tasks.spawn(rested));
    }

    fn begin(&self, this_try: Try, limit: Duration, is_resumed: bool) {
        let (engine, job) = (self.engine.clone(), Arc::clone(self.job));
        let trial = async move { engine.carry_out(&job, this_try, limit, is_resumed).await };
        self.live.push(self.engine.inner.tasks.spawn(trial));
    }

    fn new_try(&self, turn: Turn) -> Try {
        Try {
            run: self.job.plan.agents[turn.agent].run,
            task: self.job.plan.scenarios[turn.scenario].id,
            number: turn.number,
            task_run: Some(self.engine.store().fresh_id()),
            began_at: self.engine.now(),
            agent_began_at: None,
            agent_failure: None,
            end: None,
        }
    }

    /// Ends the runs of those of `agents` that are done.
    async fn end_runs(&self, agents: impl IntoIterator<Item = usize>) -> Result<(), EngineError> {
        for place in agents {
            if self.board.is_done(place) {
                let agent = &self.job.plan.agents[place];
                let (numbers, has_run) = (self.board.numbers(place), self.board.has_run(place));
                self.engine.end_run(agent, numbers, has_run).await?;
            }
        }
        Ok(())
    }

    /// Ends the job because its own clock ran out.
    async fn time_out(&mut self) -> Result<(), EngineError> {
        let id = self.job.id;
        self.engine
            .step_job(id, |job, now| Ok(job.time_out(now)))
            .await?;
        self.engine.stop_runs(id).await
    }
}

/// What is known of a job: what came of its tries, and what was seen after its rounds.
pub(super) fn board_of<'a>(plan: &'a JobPlan, tries: &[Try], looks: &[Look]) -> Board<'a> {
    let mut board = Board::of(plan, tries);
    for look in looks {
        board.see(look);
    }
    board
}

/// What a run of a job is labelled with.
fn run_labels(job: &Job, agent: &JobAgent) -> BTreeMap<String, String> {
    let mut labels = job.plan.labels.clone();
    labels.insert(JOB.to_owned(), job.id.wire(Dialect::Runloop));
    if let Some(planned) = &job.plan.rounds {
        labels.insert(ROUND.to_owned(), agent.attempt.to_string());
        labels.insert(ROUNDS.to_owned(), planned.rounds.to_string());
    }
    labels
}

/// Says what went wrong behind the scenes.
pub(super) fn report(error: &dyn std::error::Error, message: &'static str) {
    tracing::error!(error = %with_causes(error), "{message}");
}

/// A job that waits for a place, or has come further.
fn enqueued(job: Job) -> Result<Step<Job>, Refused> {
    match job.clone().enqueue() {
        Err(Refused::JobNotThere(_)) => Ok(Step::Unchanged(job)),
        other => other,
    }
}
