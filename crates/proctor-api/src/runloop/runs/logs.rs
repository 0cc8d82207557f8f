//! Logs as an archive that is made while it is sent: only the pieces under way are in memory.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header;
use proctor_core::{id::kinds::OrganizationId, task_run::TaskRun};
use proctor_engine::Engine;
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;

use super::{
    log_files::log_files,
    zip::{self, Entry},
};
use crate::{error::ApiError, state::ApiState};

/// The archive of the logs of these task runs, as a file called `name`.
pub(super) fn download(
    state: &ApiState,
    organization: OrganizationId,
    task_runs: Vec<TaskRun>,
    name: &'static str,
) -> Result<Response, ApiError> {
    let (entries, taken) = mpsc::channel(1);
    let archive = zip::archive(taken);
    // Files are opened one after the other, as the archive comes to them.
    let engine = state.engine().clone();
    state.tasks().spawn(async move {
        for task_run in task_runs {
            if send(&engine, organization, task_run, &entries)
                .await
                .is_none()
            {
                return;
            }
        }
    });
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (header::CONTENT_TYPE, "application/zip".to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, Body::from_stream(archive)).into_response())
}

/// Sends the files of a task run; nothing if nobody takes them any more.
async fn send(
    engine: &Engine,
    organization: OrganizationId,
    task_run: TaskRun,
    entries: &mpsc::Sender<std::io::Result<Entry>>,
) -> Option<()> {
    let run = match engine.with_findings(task_run).await {
        Ok(run) => run,
        Err(error) => {
            let error = Err(std::io::Error::other(error));
            return entries.send(error).await.ok();
        }
    };
    for file in log_files(engine, organization, &run) {
        let content = file
            .content
            .chain(stream::empty::<std::io::Result<Bytes>>());
        let entry = Entry {
            name: file.name,
            content: Box::pin(StreamReader::new(content)),
        };
        entries.send(Ok(entry)).await.ok()?;
    }
    Some(())
}
