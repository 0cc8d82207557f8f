//! When a process waits in the box for the next program, and when not.
//!
//! A new box has one, because almost every box runs a program soon; one that is being worked in has one again and again. Where short programs follow
//! each other at once, the time that they take is less than entering does, so two wait: one is taken while the other is still entering. An idle,
//! suspended or snapshotted box has none: they cost memory, count as processes of the box, and would be in the way of a snapshot.

use std::{
    collections::VecDeque,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{
    entrant::{Entrant, Part},
    failure::{Failure, While},
    supervisor::Supervisor,
};

/// From which program on another one is kept ready: many boxes run one or two and end.
const FROM: u64 = 3;
/// After the start of a program: it is not disturbed while it loads, unless the next one would have to enter for itself.
const PAUSE: Duration = Duration::from_millis(3);
/// How long one waits before it is let go.
const PATIENCE: Duration = Duration::from_secs(20);
/// Programs that begin within this time of each other follow each other at once.
const AT_ONCE: Duration = Duration::from_millis(8);

/// The processes that wait for the next programs.
#[derive(Debug, Default)]
pub(super) struct Spares {
    /// The one that began to enter first comes first.
    waiting: VecDeque<Entrant>,
    /// Whether the last programs followed each other at once.
    in_a_row: bool,
    last_program: Option<Instant>,
    /// When to get one.
    get: Option<Instant>,
    /// When to let them go.
    let_go: Option<Instant>,
    /// How many programs were started, and how many groups were named.
    programs: u64,
    groups: u64,
}

impl Spares {
    /// Of a new box: one is got as soon as the box is up.
    pub(super) fn of_new_box(now: Instant) -> Self {
        Self {
            get: Some(now),
            ..Self::default()
        }
    }

    /// When there is something to be done about them.
    pub(super) fn due(&self) -> Option<Instant> {
        self.get.into_iter().chain(self.let_go).min()
    }

    fn wanted(&self) -> usize {
        if self.in_a_row { 2 } else { 1 }
    }

    fn lacks_one(&self) -> bool {
        self.waiting.len() < self.wanted()
    }

    /// Notes that a program begins, which the first one that waits may become.
    fn program_begins(&mut self, now: Instant) -> Option<Entrant> {
        self.in_a_row = self
            .last_program
            .replace(now)
            .is_some_and(|last| now.saturating_duration_since(last) < AT_ONCE);
        self.programs += 1;
        let taken = self.waiting.pop_front();
        let is_last = self.in_a_row && self.waiting.is_empty();
        let pause = if is_last { Duration::ZERO } else { PAUSE };
        self.get = (self.programs >= FROM).then(|| now + pause);
        self.let_go = (!self.waiting.is_empty()).then(|| now + PATIENCE);
        taken
    }

    /// Notes that a program has ended: the next one may follow at once. `soon` is when whoever waited has heard of it.
    pub(super) fn program_ended(&mut self, soon: Instant) {
        if self.programs >= FROM && self.lacks_one() {
            self.get = Some(soon);
        }
    }

    /// Forgets the process that has just been reaped, if it is one of them; its group. Who ended it might end the next one too, so none is got for it.
    pub(super) fn reaped(&mut self, pid: rustix::process::Pid) -> Option<String> {
        let at = self.waiting.iter().position(|known| known.pid == pid)?;
        let gone = self.waiting.remove(at)?;
        self.in_a_row = false;
        if self.waiting.is_empty() {
            self.let_go = None;
        }
        Some(gone.into_parts().1)
    }

    fn name_group(&mut self) -> String {
        self.groups += 1;
        format!("x-{}", self.groups)
    }
}

impl Supervisor {
    /// A process that becomes `part`: one that waits, if it can be told.
    pub(super) fn entrant(&mut self, part: Part<'_>, now: Instant) -> Result<Entrant, Failure> {
        if part.spec.view.is_none()
            && let Some(mut spare) = self.spares.program_begins(now)
        {
            if spare.tell(part).is_ok() {
                return Ok(spare);
            }
            spare.dismiss(&self.plan);
        }
        self.fresh_entrant(part)
    }

    /// A new process that becomes `part`.
    pub(super) fn fresh_entrant(&mut self, part: Part<'_>) -> Result<Entrant, Failure> {
        let group = self.spares.name_group();
        let around = self.surroundings().ok_or_else(|| Failure {
            doing: "entering the box".to_owned(),
            error: std::io::ErrorKind::NotFound.into(),
        })?;
        match &part.spec.view {
            None => Entrant::start(around, group, Some(part)),
            Some(view) if !view.sealed => Entrant::start_with_view(around, group, part, view),
            Some(view) => {
                // A process namespace is born below that of the processes to come.
                let space = Some(LinkNameSpaceType::ProcessID);
                move_into_link_name_space(self.own_pid_space.as_fd(), space)
                    .doing("leaving the box's processes")?;
                let started = Entrant::start_with_view(around, group, part, view);
                move_into_link_name_space(around.first.processes.as_fd(), space)
                    .doing("entering the box's processes")?;
                started
            }
        }
    }

    /// Gets a process that waits, or lets them go, if it is time.
    pub(super) fn look_after_spares(&mut self) {
        let now = Instant::now();
        let is_due = |when: &mut Instant| *when <= now;
        if self.spares.let_go.take_if(is_due).is_some() {
            return self.dismiss_spares();
        }
        if self.spares.get.take_if(is_due).is_none() || !self.spares.lacks_one() {
            return;
        }
        if self.frozen || self.snapshot.is_some() {
            return self.dismiss_spares();
        }
        let group = self.spares.name_group();
        let Some(around) = self.surroundings() else {
            return self.dismiss_spares();
        };
        // A box may be at its limit of processes: then the next program enters for itself.
        if let Ok(spare) = Entrant::start(around, group, None) {
            let now = Instant::now();
            self.spares.waiting.push_back(spare);
            self.spares.let_go = Some(now + PATIENCE);
            self.spares.get = self.spares.lacks_one().then_some(now);
        }
    }

    /// Lets the processes that wait go, and gets no others until a program is started.
    pub(super) fn dismiss_spares(&mut self) {
        (self.spares.get, self.spares.let_go) = (None, None);
        for spare in self.spares.waiting.drain(..) {
            spare.dismiss(&self.plan);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_are_wanted_only_while_programs_follow_each_other_at_once() {
        let (mut spares, mut now) = (Spares::default(), Instant::now());
        let wanted = [1000, 5, 5, 100, 7, 9].map(|millis| {
            now += Duration::from_millis(millis);
            assert!(spares.program_begins(now).is_none());
            spares.wanted()
        });
        assert_eq!(wanted, [1, 2, 2, 1, 2, 1]);
    }

    #[test]
    fn one_is_got_from_the_third_program_on_and_not_while_that_loads() {
        let (mut spares, now) = (Spares::default(), Instant::now());
        let second = Duration::from_secs(1);
        for number in 0..2 {
            spares.program_begins(now + second * number);
            spares.program_ended(now + second * number);
            assert_eq!(spares.due(), None);
        }
        let third = now + second * 2;
        spares.program_begins(third);
        assert_eq!(spares.due(), Some(third + PAUSE));
        let ended = third + Duration::from_millis(1);
        spares.program_ended(ended);
        assert_eq!(spares.due(), Some(ended));
        // With none left, the one after this would have to enter for itself.
        spares.program_begins(ended);
        assert_eq!(spares.due(), Some(ended));
    }
}
