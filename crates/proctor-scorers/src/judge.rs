//! Judging a box: choose where the scorers run, run them in their order, and leave nothing behind.

use std::time::Duration;

use proctor_core::causes::with_causes;
use proctor_devbox::{
    Backend, BoxSpec, Devbox, Error as DevboxError, Execution, LayerId, LayerRecord,
};
use tokio::time::Instant;

use crate::{
    bench::{CLEANING_TIME, Names},
    error::JudgeError,
    modes::{self, Place, ROLES},
    order::{JudgeOrder, Mode},
    scored::{Finding, Judgement, NoResult, Scored},
};

/// The signal that asks a program to end.
const SIGTERM: i32 = 15;

/// Scores what an agent left in `devbox`.
///
/// An error means that there is no judgement: the platform failed, or the box was lost. A scorer that fails is a result.
/// Dropping the future leaves boxes behind for the next sweep; cancel the order instead.
pub async fn judge(
    backend: &dyn Backend,
    devbox: &dyn Devbox,
    order: &JudgeOrder,
) -> Result<Judgement, JudgeError> {
    let judging = Judging::begin(backend, order)?;
    let outcome = judging.box_of_the_agent(devbox).await;
    if outcome.is_err() {
        judging.end_executions(devbox).await;
    }
    judging.clean_up().await;
    outcome
}

/// Scores a disk that was kept when a box of the agent was judged. `agent` is the specification of that box. The modes that need the
/// agent's own box become [`Mode::Clone`].
pub async fn rejudge(
    backend: &dyn Backend,
    layer: &LayerId,
    agent: &BoxSpec,
    order: &JudgeOrder,
) -> Result<Judgement, JudgeError> {
    let judging = Judging::begin(backend, order)?;
    let mode = match order.mode {
        Mode::Live | Mode::Quiet | Mode::Clone => Mode::Clone,
        Mode::Artifacts => Mode::Artifacts,
    };
    let outcome = judging
        .unless_cancelled(judging.disk(mode, agent, layer))
        .await;
    judging.clean_up().await;
    outcome.map(|(results, timed_out)| Judgement {
        mode,
        results,
        timed_out,
        layer: Some(layer.clone()),
        layer_bytes: None,
        not_frozen: None,
    })
}

/// Ends what judgings of a dead server left running in a box.
async fn end_forerunners(devbox: &dyn Devbox, beginning: &str) -> Result<(), JudgeError> {
    for id in devbox.executions().await? {
        if !id.as_str().starts_with(beginning) {
            continue;
        }
        let Ok(execution) = devbox.execution(&id).await else {
            continue;
        };
        end_gently(&*execution).await?;
        if let Err(error) = execution.forget().await {
            tracing::debug!(%id, error = %with_causes(&error), "what an earlier scorer printed is kept longer than needed");
        }
    }
    Ok(())
}

/// Ends what an execution started. It is asked first, so that it takes away what it put into the box.
async fn end_gently(execution: &dyn Execution) -> Result<(), DevboxError> {
    if execution.progress().exit.is_none() {
        // One that ends right now need not be asked.
        let _ = execution.signal(SIGTERM).await;
        let _ = tokio::time::timeout(CLEANING_TIME, execution.wait()).await;
    }
    execution.kill().await
}

/// An error with what the system said.
fn told(error: &DevboxError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Whether a disk was frozen.
enum Frozen {
    /// It is this layer now, which takes so many bytes, if that is known.
    As { layer: LayerId, bytes: Option<u64> },
    /// It was not, and why, if somebody wanted it.
    Not(Option<String>),
}

/// One judging while it goes on.
pub(crate) struct Judging<'a> {
    pub(crate) backend: &'a dyn Backend,
    pub(crate) order: &'a JudgeOrder,
    pub(crate) names: Names,
    deadline: Instant,
}

impl<'a> Judging<'a> {
    fn begin(backend: &'a dyn Backend, order: &'a JudgeOrder) -> Result<Self, JudgeError> {
        Ok(Self {
            backend,
            order,
            names: Names::new(&order.id)?,
            deadline: Instant::now() + order.time_limit,
        })
    }

    async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, JudgeError>>,
    ) -> Result<T, JudgeError> {
        tokio::select! {
            () = self.order.cancel.cancelled() => Err(JudgeError::Cancelled),
            outcome = work => outcome,
        }
    }

    async fn box_of_the_agent(&self, devbox: &dyn Devbox) -> Result<Judgement, JudgeError> {
        let order = self.order;
        let agent = devbox.record().await?.spec;
        self.unless_cancelled(self.make_way(devbox)).await?;
        let fresh = match order.mode {
            Mode::Live | Mode::Quiet => false,
            Mode::Clone | Mode::Artifacts => true,
        };
        // To its end, also if nobody wants it any more: the box would stand still in the middle of it.
        let frozen = self.freeze(devbox, fresh).await?;
        let (mut layer, layer_bytes, not_frozen) = match frozen {
            Frozen::As { layer, bytes } => (Some(layer), bytes, None),
            Frozen::Not(why) => (None, None, why),
        };
        let judged = match &layer {
            Some(layer) if fresh => {
                let disk = self.disk(order.mode, &agent, layer);
                self.unless_cancelled(disk).await
            }
            _ => {
                let place = Place::of_the_agent(devbox, order);
                self.unless_cancelled(self.score(place)).await
            }
        };
        if judged.is_err() {
            // Before the layer is removed, because these boxes stand on it.
            self.clean_up().await;
        }
        if order.freeze.is_none()
            && let Some(name) = layer.take()
            && !self.removed(&name).await
        {
            layer = Some(name);
        }
        let (results, timed_out) = judged?;
        Ok(Judgement {
            mode: order.mode,
            results,
            timed_out,
            layer,
            layer_bytes,
            not_frozen,
        })
    }

    /// Ends what must not run any more when scorers do.
    async fn make_way(&self, devbox: &dyn Devbox) -> Result<(), JudgeError> {
        if let Some(beginning) = &self.order.forerunners {
            end_forerunners(devbox, beginning).await?;
        }
        if self.order.mode == Mode::Quiet {
            modes::silence(self, devbox).await?;
        }
        Ok(())
    }

    /// Freezes the disk if that is asked for or needed; or why not, if scorers can do without.
    async fn freeze(&self, devbox: &dyn Devbox, is_needed: bool) -> Result<Frozen, JudgeError> {
        let layer = match &self.order.freeze {
            Some(name) => name.clone(),
            None if is_needed => self.names.of_layer(),
            None => return Ok(Frozen::Not(None)),
        };
        match devbox.snapshot(layer.clone(), self.labels()).await {
            Ok(LayerRecord { bytes, .. }) => Ok(Frozen::As { layer, bytes }),
            Err(DevboxError::Exists { .. }) => Ok(Frozen::As { layer, bytes: None }),
            Err(error @ (DevboxError::BoxEnded | DevboxError::NoSuchBox(_))) => Err(error.into()),
            Err(error) if is_needed => Err(error.into()),
            Err(error) => Ok(Frozen::Not(Some(told(&error)))),
        }
    }

    /// Scores what is on a disk, in boxes made for it.
    async fn disk(
        &self,
        mode: Mode,
        agent: &BoxSpec,
        layer: &LayerId,
    ) -> Result<(Vec<Scored>, bool), JudgeError> {
        let place = match mode {
            Mode::Live | Mode::Quiet | Mode::Clone => modes::clone(self, agent, layer).await,
            Mode::Artifacts => modes::artifacts(self, agent, layer).await,
        };
        let scored = match place? {
            Ok(place) => self.score(place).await,
            Err(why) => Ok(self.without_a_place(&why)),
        };
        // Before the layer is removed, because these boxes stand on it.
        self.clean_up().await;
        scored
    }

    async fn score(&self, place: Place<'_>) -> Result<(Vec<Scored>, bool), JudgeError> {
        let mut results = Vec::with_capacity(self.order.scorers.len());
        let mut timed_out = false;
        for function in &self.order.scorers {
            let began = Instant::now();
            let finding = match self.time_for_one() {
                Some(limit) => {
                    let bench = place.bench(&self.names, &self.order.custom, limit);
                    function.scorer.score(&bench).await?
                }
                None => Finding::none("the time for scoring was over before this scorer ran"),
            };
            timed_out |= self.left().is_zero();
            results.push(finding.of(function, &self.order.redaction, began.elapsed()));
        }
        Ok((results, timed_out))
    }

    fn without_a_place(&self, why: &str) -> (Vec<Scored>, bool) {
        let result = |function: &crate::ScoringFunction| {
            let finding = Finding::from(NoResult::not_started(why));
            finding.of(function, &self.order.redaction, Duration::ZERO)
        };
        let results = self.order.scorers.iter().map(result).collect();
        (results, self.left().is_zero())
    }

    /// How much of the time for everything is left.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn time_for_one(&self) -> Option<Duration> {
        let left = self.left();
        let limit = self.order.scorer_time_limit.unwrap_or(left).min(left);
        (!limit.is_zero()).then_some(limit)
    }

    /// How boxes and layers of this judging are marked.
    pub(crate) fn labels(&self) -> std::collections::BTreeMap<String, String> {
        [("proctor.scoring".to_owned(), self.order.id.clone())].into()
    }

    /// Removes a layer, unless something stands on it still.
    async fn removed(&self, layer: &LayerId) -> bool {
        match self.backend.delete_layer(layer).await {
            Ok(()) | Err(DevboxError::NoSuchLayer(_)) => true,
            Err(error) => {
                tracing::debug!(%layer, error = %with_causes(&error), "a disk is kept for as long as it is needed");
                false
            }
        }
    }

    /// Ends what scorers started in a box that goes on living.
    async fn end_executions(&self, devbox: &dyn Devbox) {
        for id in self.names.executions() {
            if let Ok(execution) = devbox.execution(&id).await
                && let Err(error) = end_gently(&*execution).await
            {
                tracing::debug!(%id, error = %with_causes(&error), "a scorer may still run");
            }
        }
    }

    /// Destroys every box of this judging, by name: also one whose making was interrupted.
    async fn clean_up(&self) {
        for role in ROLES {
            let id = self.names.of_box(role);
            match self.backend.open(&id).await {
                Ok(devbox) => {
                    if let Err(error) = devbox.destroy().await {
                        tracing::warn!(devbox = %id, error = %with_causes(&error), "a box of a scoring is left to the next sweep");
                    }
                }
                Err(DevboxError::NoSuchBox(_)) => {}
                Err(error) => {
                    tracing::warn!(devbox = %id, error = %with_causes(&error), "a box of a scoring is left to the next sweep");
                }
            }
        }
    }
}
