//! Where the requests of runs went lately: a way around the database for those who come often.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use proctor_core::{
    id::kinds::{RunId, TaskRunId},
    task_run::TaskRun,
    time::Timestamp,
};

/// Ways that were found, by run.
#[derive(Default)]
pub(crate) struct Routes(Mutex<HashMap<RunId, Vec<Route>>>);

struct Route {
    task_run: TaskRunId,
    deadline: Option<Timestamp>,
    /// Whether it is where requests go that do not choose.
    is_only_one: bool,
}

impl Routes {
    /// Where a request goes, if that was found before and its time is not over.
    pub(crate) fn find(
        &self,
        run: RunId,
        chosen: Option<TaskRunId>,
        now: Timestamp,
    ) -> Option<TaskRunId> {
        let routes = self.lock();
        let route = routes.get(&run)?.iter().find(|route| match chosen {
            Some(task_run) => route.task_run == task_run,
            None => route.is_only_one,
        })?;
        let is_over = route.deadline.is_some_and(|deadline| deadline <= now);
        (!is_over).then_some(route.task_run)
    }

    /// Remembers a way.
    pub(crate) fn keep(&self, run: RunId, task_run: &TaskRun, is_only_one: bool) {
        let mut routes = self.lock();
        let of_run = routes.entry(run).or_default();
        of_run.retain(|route| route.task_run != task_run.id);
        of_run.push(Route {
            task_run: task_run.id,
            deadline: task_run.deadline(),
            is_only_one,
        });
    }

    /// Forgets the ways of a run: one of its task runs began or ended.
    pub(crate) fn forget(&self, run: RunId) {
        self.lock().remove(&run);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Vec<Route>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
