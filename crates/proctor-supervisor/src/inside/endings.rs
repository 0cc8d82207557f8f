//! How programs end, and the box with them: reaped, noted, tidied up after.

use std::time::{Duration, Instant};

use rustix::{
    fs::FlockOperation,
    process::{Pid, Signal, WaitOptions, WaitStatus},
};

use super::{
    control::Asker,
    supervisor::{Stop, Supervisor, news},
    trees,
};
use crate::{name::ExecId, record::ExitCause, wire::Answer};

/// For whoever waits for the end of a program to hear of it before we go on: they are often on the same processor.
const MOMENT: Duration = Duration::from_micros(100);

impl Supervisor {
    /// Takes note of every process that has ended.
    pub(super) fn reap(&mut self) {
        let mut signals = [0; 1024];
        let _ = rustix::io::read(&self.children, &mut signals);
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            self.reaped(pid, status);
        }
    }

    fn reaped(&mut self, pid: Pid, status: WaitStatus) {
        if self.first.as_ref().is_some_and(|first| first.pid == pid) {
            self.stop.get_or_insert(Stop::ByItself);
            return;
        }
        self.left_groups.extend(self.spares.reaped(pid));
        self.drop_left_groups();
        if self.helpers.remove(&pid) || self.leaving.remove(&pid) || self.disk.pid() == Some(pid) {
            return;
        }
        let Some(execution) = self
            .executions
            .values_mut()
            .find(|known| known.pid == pid && known.exit.is_none())
        else {
            return;
        };
        let id = execution.id.clone();
        if execution.starting.is_some() {
            // It may have said why it could not start, have been ended before it began, or have run and ended already.
            self.started(&id);
            if self.helpers.remove(&pid) {
                self.drop_left_groups();
                return;
            }
        }
        let Some(execution) = self.executions.get_mut(&id) else {
            return;
        };
        execution.end(
            &self.plan,
            &self.places,
            status,
            Instant::now(),
            &mut self.buffer,
        );
        if let Some(stdin) = execution.stdin.take() {
            let askers: Vec<Asker> = stdin.askers().collect();
            for asker in askers {
                self.answer(asker, Answer::StdinClosed);
            }
        }
        self.note(&id);
        let soon = Instant::now() + MOMENT;
        self.spares.program_ended(soon);
        self.tidy = Some(soon);
    }

    /// Removes the control groups that belong to no execution any more, unless something is left in them.
    pub(super) fn drop_left_groups(&mut self) {
        let hierarchies = &self.plan.groups;
        self.left_groups.retain(|name| {
            !hierarchies
                .iter()
                .all(|hierarchy| hierarchy.remove_execution(name))
        });
    }

    /// When it is time, removes the control groups of executions that have ended, unless something they started is left.
    pub(super) fn tidy_up(&mut self) {
        if self.tidy.take_if(|due| *due <= Instant::now()).is_none() {
            return;
        }
        for execution in self.executions.values_mut() {
            if execution.exit.is_some() {
                execution.drop_group(&self.plan);
            }
        }
        // Without groups only an execution itself knows by which mark what it left is found.
        if self.plan.can_kill() {
            self.over.extend(
                self.executions
                    .extract_if(.., |_, execution| execution.is_over())
                    .map(|(id, execution)| (id, execution.progress())),
            );
        }
    }

    /// Ends everything of an execution; its exit will say why.
    pub(super) fn end_execution(&mut self, id: &ExecId, cause: ExitCause) {
        let Some(first) = &self.first else { return };
        if let Some(execution) = self.executions.get_mut(id) {
            execution.deadline = None;
            if execution.exit.is_none() && execution.cause == ExitCause::Itself {
                execution.cause = cause;
            }
            let program = execution.exit.is_none().then_some(execution.pid);
            trees::kill(&self.plan, first, id, &execution.group, program);
        }
    }

    /// Ends the box, writes down how its executions ended, and removes what only a running box needs.
    pub(super) fn finish(&mut self) {
        for execution in self.executions.values_mut() {
            if execution.exit.is_none() && execution.cause == ExitCause::Itself {
                execution.cause = ExitCause::BoxEnded;
            }
        }
        if let Some(first) = &self.first {
            let _ = rustix::process::kill_process(first.pid, Signal::KILL);
            if self.frozen {
                let _ = trees::freeze(&self.plan, first, false);
            }
        }
        // Everything in the box dies with its first process, which is the last to be reaped.
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::empty()) {
            self.reaped(pid, status);
        }
        self.first = None;
        self.clean_up();
        // Nothing of the box is left, and whoever asked need not wait for the rest of us.
        let _ = rustix::fs::flock(&self.lock, FlockOperation::Unlock);
        if let Some(Stop::Asked(asker)) = self.stop {
            self.answer(asker, Answer::Done);
        }
        for connection in &mut self.connections {
            // A reader that does not keep up learns the rest from the files.
            connection.flush(news(&self.executions, &self.over));
        }
    }

    pub(super) fn clean_up(&self) {
        for group in &self.plan.groups {
            let _ = group.remove();
        }
        let _ = fs_err::remove_file(self.places.directory.join("control"));
    }
}
