//! Devboxes outlive their server, so nothing is left only if somebody ends them all: also when the benchmark fails.

use std::{
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::{Value, json};

use super::{Caller, KEY, Server};

const PATIENCE: Duration = Duration::from_secs(60);

/// Ends every devbox of a server when it goes out of scope, and waits until their files are gone.
pub struct Leftovers {
    server: String,
    /// Where the boxes are.
    boxes: PathBuf,
}

impl Leftovers {
    /// The devboxes of a server on this data directory, which [`KEY`] opens.
    #[must_use]
    pub fn of(server: &Server, data: &Path) -> Self {
        Self {
            server: server.url(""),
            boxes: data.join("devboxes/local/boxes"),
        }
    }

    async fn end(&self) {
        let caller = Caller::new(&self.server, KEY);
        for status in ["provisioning", "initializing", "running"] {
            let path = format!("/v1/devboxes?limit=5000&status={status}");
            let found = caller.try_ask(Method::GET, &path, &Value::Null).await;
            let found = found.map_or(Value::Null, |(_, found)| found);
            for devbox in found["devboxes"].as_array().into_iter().flatten() {
                let id = devbox["id"].as_str().unwrap_or_default();
                let path = format!("/v1/devboxes/{id}/shutdown");
                caller.try_ask(Method::POST, &path, &json!({})).await;
            }
        }
        self.are_gone().await;
    }

    /// Waits until boxes that have ended are gone from the disk.
    pub async fn are_gone(&self) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE
            && fs_err::read_dir(&self.boxes).is_ok_and(|mut boxes| boxes.next().is_some())
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        // On a thread of its own, because a runtime may be what is being unwound.
        thread::scope(|scope| {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                if let Ok(runtime) = runtime {
                    runtime.block_on(self.end());
                }
            });
        });
    }
}
