//! Boxes and scorers that exist only in memory.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt as _, stream};
use proctor_core::{
    definition::{Check, Criterion},
    id::kinds::{DevboxId, OrganizationId, TaskRunId},
    scorer::{NotRun, ScorerDefinition},
    scoring::Score,
};
use proctor_engine::{
    Engine, Extensions,
    scenarios::{
        AgentWork, BoxCommand, BoxEnd, BoxError, BoxLog, BoxOrder, Boxes, CommandEnd, Disk, Hold,
        Judge, LogStream, ScorerFinding, ScorerState, Scoring, ScoringError, ScoringOrder, WorkEnd,
        Workshop,
    },
};
use proctor_fleet::RequestProblem;
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

use crate::support::TestServer;

/// The command that a scorer runs.
fn command_of(scorer: &ScorerDefinition) -> &str {
    let command = scorer.as_value().get("command");
    command.and_then(|text| text.as_str()).unwrap_or("")
}

/// The launch command of a scenario that no box can be made for.
const BOXLESS: &str = "no box";

/// What a scenario says of a box that cannot be made.
pub(super) fn boxless() -> Value {
    json!({"launch_parameters": {"launch_commands": [BOXLESS]}})
}

/// A workshop in memory, and a view of what happens in it.
#[derive(Clone, Default)]
pub(super) struct Shop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    orders: Mutex<Vec<BoxOrder>>,
    boxes: Mutex<HashMap<DevboxId, watch::Sender<Option<BoxEnd>>>>,
    held: AtomicUsize,
    /// Boxes in which something was run.
    changed: Mutex<HashSet<DevboxId>>,
    /// Task runs that were scored and can be scored again.
    scored: Mutex<HashSet<TaskRunId>>,
    /// Scorers wait while this is true.
    is_slow: watch::Sender<bool>,
    /// Whether what keeps scorers from starting is put right.
    is_mended: AtomicBool,
    /// What agents were to do, oldest first, each once.
    works: Mutex<Vec<AgentWork>>,
    /// Agents wait while this is true.
    is_resting: watch::Sender<bool>,
    working: AtomicUsize,
    most_working: AtomicUsize,
}

impl Shop {
    pub(super) fn workshop(&self) -> Workshop {
        Workshop {
            boxes: Arc::new(self.clone()),
            judge: Arc::new(self.clone()),
            harbor: None,
        }
    }

    /// The engine of the next server on the same store, at work.
    pub(super) async fn next_engine(&self, server: &TestServer) -> Engine {
        let engine = Engine::new(
            server.store.clone(),
            server.clock.clone(),
            "http://x",
            Some(self.workshop()),
            Extensions::shipped(),
        );
        engine.run().await.unwrap();
        engine
    }

    /// What was asked for, oldest first.
    pub(super) fn orders(&self) -> Vec<BoxOrder> {
        self.0.orders.lock().unwrap().clone()
    }

    /// How many boxes have not ended.
    pub(super) fn live(&self) -> usize {
        let boxes = self.0.boxes.lock().unwrap();
        boxes.values().filter(|end| end.borrow().is_none()).count()
    }

    /// How many boxes are kept from ending.
    pub(super) fn held(&self) -> usize {
        self.0.held.load(Ordering::SeqCst)
    }

    /// Ends the newest box.
    pub(super) fn end_newest(&self, end: BoxEnd) {
        let boxes = self.0.boxes.lock().unwrap();
        let newest = boxes.keys().max().unwrap();
        boxes[newest].send_replace(Some(end));
    }

    /// Lets scorers start that could not.
    pub(super) fn mend(&self) {
        self.0.is_mended.store(true, Ordering::SeqCst);
    }

    /// Makes scorers wait, or lets them go on.
    pub(super) fn slow_down(&self, is_slow: bool) {
        self.0.is_slow.send_replace(is_slow);
    }
}

impl Shop {
    /// What agents were to do, oldest first.
    pub(super) fn works(&self) -> Vec<AgentWork> {
        self.0.works.lock().unwrap().clone()
    }

    /// How many agents work.
    pub(super) fn working(&self) -> usize {
        self.0.working.load(Ordering::SeqCst)
    }

    /// How many agents worked at once at most.
    pub(super) fn most_working(&self) -> usize {
        self.0.most_working.load(Ordering::SeqCst)
    }

    /// Makes agents wait, or lets them go on.
    pub(super) fn rest(&self, is_resting: bool) {
        self.0.is_resting.send_replace(is_resting);
    }

    /// How an agent's work ends, by what its script says. One that is flaky fails the first time.
    fn end_of(&self, script: &str, is_first: bool) -> WorkEnd {
        let said = "something went wrong".to_owned();
        match script.split_whitespace().collect::<Vec<_>>()[..] {
            ["sleep"] => WorkEnd::OutOfTime,
            ["flaky"] if is_first => WorkEnd::Exited { status: 1, said },
            ["exit", status] => WorkEnd::Exited {
                status: status.parse().unwrap(),
                said,
            },
            _ => WorkEnd::Exited { status: 0, said },
        }
    }
}

struct Working(Arc<Inner>);

impl Working {
    fn begin(inner: &Arc<Inner>) -> Self {
        let working = inner.working.fetch_add(1, Ordering::SeqCst) + 1;
        inner.most_working.fetch_max(working, Ordering::SeqCst);
        Self(Arc::clone(inner))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Held(Arc<Inner>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Boxes for Shop {
    fn machine(&self) -> String {
        "shop".to_owned()
    }

    async fn ready(&self, _: OrganizationId, devbox: DevboxId) -> Result<(), BoxError> {
        match self.0.boxes.lock().unwrap().get(&devbox) {
            Some(end) if end.borrow().is_none() => Ok(()),
            _ => Err(BoxError::Ended),
        }
    }

    async fn work(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        work: AgentWork,
    ) -> Result<WorkEnd, BoxError> {
        let is_first = {
            let mut works = self.0.works.lock().unwrap();
            if !works.iter().any(|known| known.name == work.name) {
                works.push(work.clone());
            }
            works.len() == 1
        };
        let _working = Working::begin(&self.0);
        let mut resting = self.0.is_resting.subscribe();
        tokio::select! {
            // A box that ended first has ended, also if its agent may go on by the time this looks.
            biased;
            _ = self.ended(organization, devbox) => return Err(BoxError::Ended),
            _ = resting.wait_for(|is_resting| !is_resting) => {}
        }
        self.0.changed.lock().unwrap().insert(devbox);
        Ok(self.end_of(&work.script, is_first))
    }

    async fn create(&self, order: BoxOrder) -> Result<DevboxId, BoxError> {
        let commands = order.request.launch.launch_commands.iter().flatten();
        if commands.into_iter().any(|command| command == BOXLESS) {
            let gone = RequestProblem::NoBlueprint("bpt_gone".to_owned());
            return Err(BoxError::Invalid(vec![gone]));
        }
        let mut boxes = self.0.boxes.lock().unwrap();
        let number = 0x0190_0000_0000_7000_8000_0000_0000_0000 + boxes.len() as u128;
        let id = DevboxId::from_uuid(Uuid::from_u128(number));
        boxes.insert(id, watch::Sender::new(None));
        self.0.orders.lock().unwrap().push(order);
        Ok(id)
    }

    async fn run(
        &self,
        _: OrganizationId,
        devbox: DevboxId,
        command: BoxCommand,
    ) -> Result<CommandEnd, BoxError> {
        let status = i32::from(command.input.contains("conflict"));
        if status == 0 {
            self.0.changed.lock().unwrap().insert(devbox);
        }
        let BoxCommand { script, input, .. } = command;
        let output = format!("{script} < {} bytes", input.len());
        Ok(CommandEnd { status, output })
    }

    async fn read_file(
        &self,
        _: OrganizationId,
        _: DevboxId,
        _: &str,
        _: u64,
    ) -> Result<Option<Vec<u8>>, BoxError> {
        Ok(None)
    }

    async fn ended(&self, _: OrganizationId, devbox: DevboxId) -> BoxEnd {
        let ended = {
            let boxes = self.0.boxes.lock().unwrap();
            boxes.get(&devbox).map(watch::Sender::subscribe)
        };
        let Some(mut ended) = ended else {
            return BoxEnd::Lost;
        };
        let end = ended.wait_for(Option::is_some).await.unwrap();
        end.clone().unwrap()
    }

    async fn shut_down(&self, _: OrganizationId, devbox: DevboxId) -> Result<(), BoxError> {
        let boxes = self.0.boxes.lock().unwrap();
        boxes[&devbox].send_if_modified(|end| {
            let first = end.is_none();
            end.get_or_insert(BoxEnd::ShutDown);
            first
        });
        Ok(())
    }

    async fn hold(&self, _: OrganizationId, _: DevboxId) -> Result<Hold, BoxError> {
        self.0.held.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Held(Arc::clone(&self.0))))
    }

    async fn log(
        &self,
        _: OrganizationId,
        _: DevboxId,
        log: BoxLog,
    ) -> Result<LogStream, BoxError> {
        let lines = (0..1000).map(move |line| Ok(format!("{log:?} {line}\n").into()));
        Ok(stream::iter(lines).boxed())
    }
}

#[async_trait::async_trait]
impl Judge for Shop {
    async fn score(&self, order: ScoringOrder) -> Result<Scoring, ScoringError> {
        let mut slow = self.0.is_slow.subscribe();
        tokio::select! {
            () = order.cancel.cancelled() => return Err(ScoringError::Cancelled),
            _ = slow.wait_for(|is_slow| !is_slow) => {}
        }
        let has = |command: &str| {
            order.task.criteria.iter().any(|criterion| {
                matches!(&criterion.check, Check::Scorer(scorer) if command_of(scorer) == command)
            })
        };
        if has("lost") {
            return Err(ScoringError::BoxLost);
        }
        let find = |criterion: &Criterion| {
            let Check::Scorer(scorer) = &criterion.check else {
                return None;
            };
            let command = command_of(scorer);
            let is_changed = self.0.changed.lock().unwrap().contains(&order.devbox);
            let (score, state) = match command {
                "is changed" if is_changed => (Score::ONE, ScorerState::Complete),
                "is unchanged" if !is_changed => (Score::ONE, ScorerState::Complete),
                "true" => (Score::ONE, ScorerState::Complete),
                "broken" | "unprepared" | "unreadable" => (Score::ZERO, ScorerState::Error),
                _ => (Score::ZERO, ScorerState::Complete),
            };
            let not_run = match command {
                "unprepared" if !self.0.is_mended.load(Ordering::SeqCst) => Some(NotRun::Here),
                "unreadable" => Some(NotRun::Anywhere),
                _ => None,
            };
            Some(ScorerFinding {
                criterion: criterion.id,
                score,
                state,
                not_run,
                output: format!("ran {command}"),
                took: Duration::from_millis(3),
                evidence: Value::Null,
            })
        };
        if has("crash") {
            return Err(ScoringError::Failed("the disk is full".into()));
        }
        self.0.scored.lock().unwrap().insert(order.task_run);
        Ok(Scoring {
            mode: "live".to_owned(),
            findings: order.task.criteria.iter().filter_map(find).collect(),
            timed_out: has("sleep"),
            disk: Disk::NotKept("there is no disk".to_owned()),
        })
    }

    async fn rescore(&self, order: ScoringOrder) -> Result<Scoring, ScoringError> {
        if !self.0.scored.lock().unwrap().contains(&order.task_run) {
            return Err(ScoringError::NotKept(
                "there is no disk to score".to_owned(),
            ));
        }
        let again = self.score(order).await?;
        Ok(Scoring {
            mode: "clone".to_owned(),
            ..again
        })
    }
}
