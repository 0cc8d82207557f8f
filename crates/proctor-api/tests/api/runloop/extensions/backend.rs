//! A backend that the program does not have: boxes in memory, where every command answers with its own text.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use proctor_devbox::{
    Backend, BaseName, BoxId, BoxRecord, BoxSpec, BoxState, Devbox, Error, ExecId, ExecSpec,
    Execution, Exit, ExitCause, Factory, FileContent, FileMode, LayerId, LayerRecord, OutputChunk,
    Progress, Report, Result, Settings, SnapshotWay, Stream, Sweep, Usage, User,
    error::FileProblem,
};
use proctor_engine::Extensions;
use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::watch,
};

use crate::runloop::devboxes::support::Boxes;

/// How the registry opens it.
const MEMORY: Factory = Factory {
    name: "memory",
    about: "boxes in memory that run nothing",
    open: |_| Ok(Arc::new(Memory::default())),
};

#[derive(Default)]
struct Memory {
    boxes: Mutex<BTreeMap<BoxId, Arc<MemoryBox>>>,
}

struct MemoryBox {
    spec: BoxSpec,
    state: watch::Sender<BoxState>,
    executions: Mutex<BTreeMap<ExecId, Arc<Answered>>>,
    files: Mutex<HashMap<String, Vec<u8>>>,
}

/// A command that has ended as soon as it was begun.
struct Answered {
    id: ExecId,
    said: String,
}

#[async_trait]
impl Backend for Memory {
    fn name(&self) -> &'static str {
        MEMORY.name
    }

    async fn doctor(&self) -> Report {
        Report {
            backend: MEMORY.name.to_owned(),
            findings: Vec::new(),
        }
    }

    async fn create(&self, spec: BoxSpec) -> Result<Arc<dyn Devbox>> {
        spec.check()?;
        let made = Arc::new(MemoryBox {
            state: watch::Sender::new(BoxState::Stopped),
            executions: Mutex::default(),
            files: Mutex::default(),
            spec,
        });
        let mut boxes = self.boxes.lock().unwrap();
        boxes.insert(made.spec.id.clone(), Arc::clone(&made));
        Ok(made)
    }

    async fn open(&self, id: &BoxId) -> Result<Arc<dyn Devbox>> {
        let boxes = self.boxes.lock().unwrap();
        let found = boxes.get(id).cloned();
        Ok(found.ok_or_else(|| Error::NoSuchBox(id.clone()))?)
    }

    async fn list(&self) -> Result<Vec<BoxRecord>> {
        let boxes = self.boxes.lock().unwrap();
        Ok(boxes.values().map(|one| one.known()).collect())
    }

    async fn sweep(&self, owned: &BTreeSet<BoxId>) -> Result<Sweep> {
        let mut boxes = self.boxes.lock().unwrap();
        let strangers = boxes.keys().filter(|id| !owned.contains(*id));
        let strangers: Vec<BoxId> = strangers.cloned().collect();
        for id in &strangers {
            boxes.remove(id);
        }
        Ok(Sweep {
            boxes: strangers,
            remainders: Vec::new(),
        })
    }

    async fn register_rootfs(&self, name: &BaseName, _: &Path) -> Result<()> {
        Err(Error::NoSuchBase(name.to_string()))
    }

    async fn layers(&self) -> Result<Vec<LayerRecord>> {
        Ok(Vec::new())
    }

    async fn layer_bytes(&self, id: &LayerId) -> Result<u64> {
        Err(Error::NoSuchLayer(id.clone()))
    }

    async fn delete_layer(&self, id: &LayerId) -> Result<()> {
        Err(Error::NoSuchLayer(id.clone()))
    }

    async fn drain(&self) {}
}

impl MemoryBox {
    fn known(&self) -> BoxRecord {
        BoxRecord {
            spec: self.spec.clone(),
            state: *self.state.borrow(),
            enforcement: Vec::new(),
            base_fingerprint: None,
        }
    }

    fn become_state(&self, state: BoxState) -> Result<()> {
        self.state.send_replace(state);
        Ok(())
    }
}

#[async_trait]
impl Devbox for MemoryBox {
    fn id(&self) -> &BoxId {
        &self.spec.id
    }

    async fn record(&self) -> Result<BoxRecord> {
        Ok(self.known())
    }

    async fn start(&self) -> Result<()> {
        self.become_state(BoxState::Running)
    }

    async fn exec(&self, spec: ExecSpec) -> Result<Arc<dyn Execution>> {
        let mut executions = self.executions.lock().unwrap();
        let answered = executions.entry(spec.id.clone()).or_insert_with(|| {
            let command = spec.argv.last().cloned().unwrap_or_default();
            Arc::new(Answered {
                id: spec.id,
                said: format!("in memory: {command}\n"),
            })
        });
        Ok(Arc::clone(answered) as Arc<dyn Execution>)
    }

    async fn execution(&self, id: &ExecId) -> Result<Arc<dyn Execution>> {
        let executions = self.executions.lock().unwrap();
        let found = executions.get(id).cloned();
        Ok(found.ok_or_else(|| Error::NoSuchExecution(id.clone()))?)
    }

    async fn executions(&self) -> Result<Vec<ExecId>> {
        Ok(self.executions.lock().unwrap().keys().cloned().collect())
    }

    async fn read_file(&self, path: &str, _: &User, _: Option<u64>) -> Result<FileContent> {
        let found = self.files.lock().unwrap().get(path).cloned();
        let bytes = found.ok_or_else(|| Error::File {
            path: path.to_owned(),
            kind: FileProblem::NotFound,
            why: "there is no such file".to_owned(),
        })?;
        Ok(FileContent {
            size: bytes.len() as u64,
            mode: FileMode(0o644),
            reader: Box::new(std::io::Cursor::new(bytes)),
        })
    }

    async fn write_file(
        &self,
        path: &str,
        _: &User,
        _: Option<FileMode>,
        content: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<u64> {
        let mut bytes = Vec::new();
        let read = content.read_to_end(&mut bytes).await;
        let written = read.map_err(|error| Error::platform("reading a file", error))?;
        self.files.lock().unwrap().insert(path.to_owned(), bytes);
        Ok(written as u64)
    }

    async fn snapshot(
        &self,
        layer: LayerId,
        labels: BTreeMap<String, String>,
    ) -> Result<LayerRecord> {
        Ok(LayerRecord {
            id: layer,
            way: SnapshotWay::Copied,
            labels,
            bytes: None,
        })
    }

    async fn suspend(&self) -> Result<()> {
        self.become_state(BoxState::Suspended)
    }

    async fn resume(&self) -> Result<()> {
        self.become_state(BoxState::Running)
    }

    async fn stop(&self) -> Result<()> {
        self.become_state(BoxState::Stopped)
    }

    async fn destroy(&self) -> Result<()> {
        self.become_state(BoxState::Stopped)
    }

    async fn usage(&self) -> Result<Usage> {
        Ok(Usage::default())
    }

    async fn ended(&self) {
        let mut state = self.state.subscribe();
        let is_over = |state: &BoxState| matches!(state, BoxState::Stopped | BoxState::Lost);
        // The sender lives as long as the box.
        let _ = state.wait_for(is_over).await;
    }
}

impl Answered {
    const EXIT: Exit = Exit {
        code: Some(0),
        signal: None,
        cause: ExitCause::Itself,
        wall: Duration::ZERO,
    };
}

#[async_trait]
impl Execution for Answered {
    fn id(&self) -> &ExecId {
        &self.id
    }

    fn progress(&self) -> Progress {
        Progress {
            stdout: self.said.len() as u64,
            exit: Some(Self::EXIT),
            ..Progress::default()
        }
    }

    async fn wait(&self) -> Result<Exit> {
        Ok(Self::EXIT)
    }

    async fn read_output(&self, stream: Stream, offset: u64, _: usize) -> Result<OutputChunk> {
        let all = match stream {
            Stream::Stdout => self.said.as_bytes(),
            Stream::Stderr => &[],
        };
        let from = usize::try_from(offset).unwrap().min(all.len());
        Ok(OutputChunk {
            bytes: all[from..].to_vec().into(),
            end: all.len() as u64,
            last: true,
        })
    }

    async fn write_stdin(&self, _: &[u8]) -> Result<()> {
        Err(Error::StdinClosed)
    }

    async fn close_stdin(&self) -> Result<()> {
        Err(Error::StdinClosed)
    }

    async fn signal(&self, _: i32) -> Result<()> {
        Ok(())
    }

    async fn kill(&self) -> Result<()> {
        Ok(())
    }

    async fn forget(&self) -> Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_devbox_is_made_by_a_backend_that_was_added_from_outside() {
    let extensions = Extensions::shipped().with_backend(MEMORY);
    let factory = extensions.backends.get("memory").unwrap();
    let settings = Settings {
        data: "/nowhere".into(),
        exact_disks: false,
        output_secret: None,
        server: Default::default(),
        totals: Default::default(),
    };
    let boxes = Boxes::start_on((factory.open)(&settings).unwrap()).await;

    let devbox = boxes.running(json!({"name": "remembered"})).await;
    let ran = boxes
        .execute(&devbox, json!({"command": "make test"}))
        .await;
    assert_eq!(
        (&ran["stdout"], &ran["exit_status"]),
        (&json!("in memory: make test\n"), &json!(0))
    );
    let written = json!({"file_path": "note.txt", "contents": "hello"});
    boxes
        .post(&format!("{devbox}/write_file_contents"), written)
        .await;
    let read = boxes
        .server
        .own(Method::POST, &format!("{devbox}/read_file_contents"))
        .json(&json!({"file_path": "note.txt"}))
        .send();
    assert_eq!(read.await.unwrap().text().await.unwrap(), "hello");
    boxes.post(&format!("{devbox}/shutdown"), json!({})).await;
    assert_eq!(
        boxes.reaches(&devbox, "shutdown").await["status"],
        "shutdown"
    );
    boxes.end().await;
}
