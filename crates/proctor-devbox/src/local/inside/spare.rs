//! When a process waits in the box for the next program, and when not.
//!
//! A new box has one, because almost every box runs a program soon; one that is being worked in has one again and again. An idle, suspended
//! or snapshotted one has none: it costs memory, counts as a process of the box, and would be in the way of a snapshot.

use std::time::{Duration, Instant};

use super::{
    entrant::{Entrant, Part},
    failure::Failure,
    supervisor::Supervisor,
};

/// From which program on another one is kept ready: many boxes run one or two and end.
const FROM: u64 = 3;
/// After the start of a program: it is not disturbed while it loads.
const PAUSE: Duration = Duration::from_millis(3);
/// How long one waits before it is let go.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that waits for the next program.
#[derive(Debug, Default)]
pub(super) struct Spare {
    waiting: Option<Entrant>,
    /// When to get one, or to let it go.
    due: Option<Instant>,
    /// How many programs were started, and how many groups were named.
    programs: u64,
    groups: u64,
}

impl Spare {
    /// Of a new box: one is got as soon as the box is up.
    pub(super) fn of_new_box(now: Instant) -> Self {
        Self {
            due: Some(now),
            ..Self::default()
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Notes that a program has ended: the next one may follow at once.
    pub(super) fn program_ended(&mut self, now: Instant) {
        if self.programs >= FROM && self.waiting.is_none() {
            self.due = Some(now);
        }
    }

    /// Forgets it if it is the process that has just been reaped; its group.
    pub(super) fn reaped(&mut self, pid: rustix::process::Pid) -> Option<String> {
        let gone = self.waiting.take_if(|entrant| entrant.pid == pid)?;
        self.due = None;
        Some(gone.into_parts().1)
    }

    fn name_group(&mut self) -> String {
        self.groups += 1;
        format!("x-{}", self.groups)
    }
}

impl Supervisor {
    /// A process that becomes `part`: the one that waits, if it can be told.
    pub(super) fn entrant(&mut self, part: Part<'_>, now: Instant) -> Result<Entrant, Failure> {
        self.spare.programs += 1;
        self.spare.due = (self.spare.programs >= FROM).then(|| now + PAUSE);
        if let Some(mut spare) = self.spare.waiting.take() {
            if spare.tell(part).is_ok() {
                return Ok(spare);
            }
            spare.dismiss(&self.plan);
        }
        self.fresh_entrant(part)
    }

    /// A new process that becomes `part`.
    pub(super) fn fresh_entrant(&mut self, part: Part<'_>) -> Result<Entrant, Failure> {
        let group = self.spare.name_group();
        let around = self.surroundings().ok_or_else(|| Failure {
            doing: "entering the box".to_owned(),
            error: std::io::ErrorKind::NotFound.into(),
        })?;
        Entrant::start(around, group, Some(part))
    }

    /// Gets a process that waits, or lets it go, if it is time.
    pub(super) fn look_after_spare(&mut self) {
        if self.spare.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        if self.spare.waiting.is_some() || self.frozen || self.snapshot.is_some() {
            return self.dismiss_spare();
        }
        let group = self.spare.name_group();
        let Some(around) = self.surroundings() else {
            return self.dismiss_spare();
        };
        // Without one (a box may be at its limit of processes) the next program enters for itself.
        self.spare.waiting = Entrant::start(around, group, None).ok();
        self.spare.due = self
            .spare
            .waiting
            .is_some()
            .then(|| Instant::now() + PATIENCE);
    }

    /// Lets the process that waits go, and gets no other until a program is started.
    pub(super) fn dismiss_spare(&mut self) {
        self.spare.due = None;
        if let Some(spare) = self.spare.waiting.take() {
            spare.dismiss(&self.plan);
        }
    }
}
