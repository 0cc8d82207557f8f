//! An archive: all task runs as linked pages, the run as JSON, journals with their heads, and the digests of all files. Whoever gets it can
//! check the chain of every journal without a server (`proctor verify-journal`).

use std::{
    fs::File,
    io::{BufWriter, Seek as _, SeekFrom, Write as _},
};

use askama::Template;
use proctor_core::{
    canonical::Digest,
    id::kinds::{TaskRunId, WorldId},
};
use proctor_store::journal::{Head, file};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zip::{ZipWriter, write::SimpleFileOptions};

use super::{
    Export,
    one_file::{self, Frame},
    task::{Events, section},
};
use crate::{
    error::PageError,
    html::{self, Html},
    run_model::TaskRow,
};

/// How many events of a journal are read at once.
const READ_AT_ONCE: u32 = 1000;

/// The page of a task run.
#[derive(Template)]
#[template(path = "export_page.html")]
struct TaskPage<'p> {
    title: &'p str,
    frame: &'p Frame,
    section: &'p str,
}

/// Writes the archive into a file without a name, which is gone when it is closed.
pub(super) async fn write(export: &Export) -> Result<File, PageError> {
    let mut archive = Archive::begin()?;
    let frame = Frame::new();
    let mut task_runs = Vec::new();
    let mut heads = serde_json::Map::new();
    for (row, id) in export.taken() {
        let found = section(export, row, id, Events::All).await?;
        let head = found.journal_head();
        let drawn = TaskPage {
            title: &row.name,
            frame: &frame,
            section: &found.render()?,
        };
        let drawn = export.redaction.page(drawn.render()?);
        archive.add(&page_of(id), drawn.as_bytes())?;
        if let Some(head) = head {
            let world = WorldId::from_uuid(id.uuid());
            heads.insert(world.to_string(), head_of(&head));
            if !export.redaction.is_on {
                journal(export, &mut archive, world, head).await?;
            }
        }
        task_runs.push(task_run(row, id, head));
        tokio::task::yield_now().await;
    }
    let mut notices = Vec::new();
    if export.redaction.is_on {
        notices.push(
            "Values that the benchmark's author marked secret, and credentials, were taken out. Journals are left out, because without \
             those values their chain could not be checked; their heads are in run.json."
                .to_owned(),
        );
    }
    let index = one_file::page(export, Vec::new(), notices, |row| row.id.map(page_of))?;
    archive.add("index.html", index.as_bytes())?;
    let mut run = run(export, &task_runs);
    export.redaction.value(&mut run);
    archive.add("run.json", format!("{run:#}\n").as_bytes())?;
    archive.add(
        "journals/heads.json",
        format!("{:#}\n", Value::Object(heads)).as_bytes(),
    )?;
    archive.finish()
}

fn page_of(id: TaskRunId) -> String {
    format!("tasks/{id}.html")
}

/// The journal of a world, up to the head that was read: a line for each event.
async fn journal(
    export: &Export,
    archive: &mut Archive,
    world: WorldId,
    head: Head,
) -> Result<(), PageError> {
    archive.start(&format!("journals/{world}.jsonl"))?;
    archive.write(file::header(world).as_bytes())?;
    let mut next = 0;
    while next < head.next {
        let events = export
            .state
            .store()
            .journal()
            .read(world, next, READ_AT_ONCE)
            .await?;
        let events: Vec<_> = events
            .into_iter()
            .filter(|event| event.seq < head.next)
            .collect();
        if events.is_empty() {
            break;
        }
        for event in &events {
            archive.write(file::line(event).as_bytes())?;
        }
        next += events.len() as u64;
    }
    Ok(())
}

fn head_of(head: &Head) -> Value {
    json!({"events": head.next, "head": Digest::from_raw(head.hash), "frozen": head.sealed})
}

fn task_run(row: &TaskRow, id: TaskRunId, head: Option<Head>) -> Value {
    json!({
        "id": id,
        "task_id": row.task,
        "task": row.name,
        "verdict": row.mark.word(),
        "score": row.score,
        "why": row.why,
        "critical_misses": row.critical_misses,
        "started_at": row.started,
        "duration_ms": row.took.map(|took| took.as_millis() as u64),
        "journal": head.map(|head| head_of(&head)),
    })
}

fn run(export: &Export, task_runs: &[Value]) -> Value {
    let model = &export.model;
    let summary = &model.summary;
    let interval = summary
        .interval
        .map(|interval| json!({"low": interval.low, "high": interval.high}));
    json!({
        "version": 1,
        "id": model.run.id,
        "benchmark": model.benchmark,
        "definition": model.run.pinned.digest,
        "agent": model.taker,
        "status": model.run.status().to_string(),
        "verdict": model.mark().word(),
        "score": summary.score,
        "interval": interval,
        "api_score": model.run.card().map(|card| card.score),
        "planned": summary.planned,
        "scored": summary.scored,
        "void": summary.void,
        "created_at": model.run.created_at,
        "started_at": model.run.started_at(),
        "ended_at": model.run.ended_at(),
        "task_runs": task_runs,
    })
}

fn broken(error: impl std::error::Error) -> PageError {
    PageError::new(
        http::StatusCode::INTERNAL_SERVER_ERROR,
        format!("The archive cannot be written: {error}"),
    )
}

/// A zip file with the digests of what is in it.
struct Archive {
    zip: ZipWriter<BufWriter<File>>,
    sums: Vec<(String, Sha256)>,
}

impl Archive {
    fn begin() -> Result<Self, PageError> {
        let file = tempfile::tempfile().map_err(broken)?;
        Ok(Self {
            zip: ZipWriter::new(BufWriter::new(file)),
            sums: Vec::new(),
        })
    }

    fn start(&mut self, name: &str) -> Result<(), PageError> {
        let options = SimpleFileOptions::default().large_file(true);
        self.zip.start_file(name, options).map_err(broken)?;
        self.sums.push((name.to_owned(), Sha256::new()));
        Ok(())
    }

    fn write(&mut self, content: &[u8]) -> Result<(), PageError> {
        if let Some((_, digest)) = self.sums.last_mut() {
            digest.update(content);
        }
        self.zip.write_all(content).map_err(broken)
    }

    fn add(&mut self, name: &str, content: &[u8]) -> Result<(), PageError> {
        self.start(name)?;
        self.write(content)
    }

    fn finish(mut self) -> Result<File, PageError> {
        let sums = std::mem::take(&mut self.sums).into_iter();
        let lines = sums.map(|(name, digest)| {
            let digest = digest.finalize();
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digest}  {name}\n")
        });
        let lines: String = lines.collect();
        self.add("SHA256SUMS", lines.as_bytes())?;
        let mut file = self
            .zip
            .finish()
            .map_err(broken)?
            .into_inner()
            .map_err(|error| broken(error.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(broken)?;
        Ok(file)
    }
}

impl TaskPage<'_> {
    fn section(&self) -> Html {
        Html::trusted(self.section.to_owned())
    }

    fn title(&self) -> Html {
        html::text(self.title)
    }
}
