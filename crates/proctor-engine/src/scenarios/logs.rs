//! What the boxes of task runs say about themselves. Which files are made of it is for a dialect to say.

use futures::{StreamExt as _, stream};
use proctor_core::{id::kinds::OrganizationId, task_run::TaskRun};

use super::{BoxLog, LogStream};
use crate::engine::Engine;

impl Engine {
    /// A log of the box of a task run, opened when it is first read; empty where there is no box.
    pub fn log_of_box(
        &self,
        organization: OrganizationId,
        task_run: &TaskRun,
        log: BoxLog,
    ) -> LogStream {
        let (Some(devbox), engine) = (task_run.devbox, self.clone()) else {
            return stream::empty().boxed();
        };
        let opened = async move {
            let opened = match engine.workshop() {
                Ok(workshop) => workshop.boxes.log(organization, devbox, log).await,
                Err(_) => return stream::empty().boxed(),
            };
            opened.unwrap_or_else(|error| {
                let told = format!("this log cannot be read: {error}\n");
                stream::once(async move { Ok(told.into()) }).boxed()
            })
        };
        stream::once(opened).flatten().boxed()
    }
}
