//! What may be secret does not lie about in the database, and nobody else can read its files.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt as _, sync::Arc};

use proctor_core::{
    canonical::Digest,
    devbox::{DevboxLife, DevboxSetup, Initiator},
    mount::{CodeMount, Mount},
    profile::{Particulars, RunProfile},
    run::Run,
    task_run::TaskRun,
};
use proctor_store::{
    OnDisk, Store,
    ambient::RandomIds,
    blobs::BlobPlace,
    devboxes::DevboxRecord,
    idempotency::{Answer, Begun},
};
use rstest::rstest;

use crate::{
    fixture::{Fixture, On, START},
    jobs::job_with_run,
    runs::run_with_tasks,
};

const VALUE: &str = "sk-ant-value-of-a-variable";
const TOKEN: &str = "ghp_token_of_a_repository";

fn variables() -> BTreeMap<String, String> {
    BTreeMap::from([("API_KEY".to_owned(), VALUE.to_owned())])
}

fn mounts() -> Vec<Mount> {
    vec![Mount::Code(CodeMount {
        owner: "acme".to_owned(),
        name: "rocket".to_owned(),
        token: Some(TOKEN.to_owned()),
        reference: None,
        install: None,
    })]
}

/// A devbox, a run with a task run, and a job, all with variables.
async fn everything(fixture: &Fixture) -> (DevboxRecord, Run, TaskRun, proctor_core::job::Job) {
    let store = &fixture.store;
    let organization = fixture.organization("Clinic").await;
    let devbox = DevboxRecord {
        tunnel: None,
        id: store.fresh_id(),
        organization,
        node: "here".to_owned(),
        name: None,
        metadata: BTreeMap::new(),
        initiator: Initiator::Invocation,
        setup: DevboxSetup {
            environment: variables(),
            ..DevboxSetup::default()
        },
        life: DevboxLife::begin(START),
        caveats: Vec::new(),
        deadline: None,
        created_at: START,
    };
    let template = run_with_tasks(store, organization, 0).await;
    let particulars = Particulars {
        profile: RunProfile {
            environment: variables(),
            mounts: mounts(),
            ..RunProfile::default()
        },
        ..Particulars::default()
    };
    let run = Run {
        id: store.fresh_id(),
        particulars: particulars.clone(),
        ..template
    };
    let mut task_run = TaskRun::new(store.fresh_id(), Some(run.id), store.fresh_id(), START);
    task_run.particulars = particulars;
    let (mut job, _) = job_with_run(store, organization, "job").await;
    job.id = store.fresh_id();
    job.plan.agents[0].environment = variables();
    (devbox, run, task_run, job)
}

const TABLES: [&str; 4] = ["devboxes", "runs", "task_runs", "jobs"];

#[rstest]
#[tokio::test]
async fn variables_and_tokens_are_sealed_and_come_back(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (devbox, run, task_run, job) = everything(&fixture).await;
    store
        .create_devbox(devbox.clone(), OnDisk::AtOnce)
        .await
        .unwrap();
    store
        .create_run(&run, std::slice::from_ref(&task_run), &[])
        .await
        .unwrap();
    store.create_job(&job).await.unwrap();
    for table in TABLES {
        for secret in [VALUE, TOKEN, "API_KEY"] {
            assert!(
                !fixture.table_contains(table, secret).await,
                "{secret} is in {table}"
            );
        }
    }
    for store in [store, &fixture.second_node().await] {
        let found = store.devbox(devbox.id).await.unwrap().unwrap();
        assert_eq!(found.value.setup.environment, variables());
        let found = store.run(run.id).await.unwrap().unwrap();
        assert_eq!(found.value.particulars, run.particulars);
        let found = store.task_run(task_run.id).await.unwrap().unwrap();
        assert_eq!(found.value.particulars, task_run.particulars);
        let found = store.job(job.id).await.unwrap().unwrap();
        assert_eq!(found.value.plan, job.plan);
    }
}

#[rstest]
#[tokio::test]
async fn what_an_earlier_version_wrote_is_read_and_sealed_at_the_next_start(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (devbox, run, task_run, job) = everything(&fixture).await;
    store
        .create_devbox(devbox.clone(), OnDisk::AtOnce)
        .await
        .unwrap();
    store
        .create_run(&run, std::slice::from_ref(&task_run), &[])
        .await
        .unwrap();
    store.create_job(&job).await.unwrap();
    // As it was written before.
    let text = |value: &dyn erased::Json| value.json().replace('\'', "''");
    for (table, column, value) in [
        ("devboxes", "setup", text(&devbox.setup)),
        ("runs", "particulars", text(&run.particulars)),
        ("task_runs", "particulars", text(&task_run.particulars)),
        ("jobs", "plan", text(&job.plan)),
    ] {
        fixture
            .tamper(&format!(
                "UPDATE {table} SET {column} = '{value}' WHERE {column} LIKE '%sealed%'"
            ))
            .await;
    }
    fixture.tamper("DELETE FROM upkeep").await;
    assert_eq!(
        store.run(run.id).await.unwrap().unwrap().value.particulars,
        run.particulars,
        "it is read as it is"
    );
    let later = fixture.second_node().await;
    for table in TABLES {
        // SQLite leaves old bytes in free pages until somebody asks it to tidy up.
        if let On::Sqlite = on {
            fixture.tamper("VACUUM").await;
        }
        for secret in [VALUE, TOKEN] {
            assert!(
                !fixture.table_contains(table, secret).await,
                "{secret} is in {table}"
            );
        }
    }
    let found = later.run(run.id).await.unwrap().unwrap();
    assert_eq!(found.value.particulars, run.particulars);
    let found = later.devbox(devbox.id).await.unwrap().unwrap();
    assert_eq!(found.value.setup.environment, variables());
    let found = later.job(job.id).await.unwrap().unwrap();
    assert_eq!(found.value.plan, job.plan);
}

mod erased {
    /// Anything that is stored as a document.
    pub(super) trait Json {
        fn json(&self) -> String;
    }

    impl<T: serde::Serialize> Json for T {
        fn json(&self) -> String {
            serde_json::to_string(self).unwrap()
        }
    }
}

#[rstest]
#[tokio::test]
async fn answers_that_are_kept_for_repetitions_are_sealed(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let body = Digest::of_bytes(b"request");
    let link = "https://proctor.example/v1/objects/obj_1/content?signature=of-an-upload";
    let begin = async |store: &Store| {
        store
            .begin_request("somebody/objects", "id-1", body, None)
            .await
            .unwrap()
    };
    let Begun::Fresh(claim) = begin(store).await else {
        panic!("nobody asked before");
    };
    let answer = Answer {
        status: 200,
        content_type: Some("application/json".to_owned()),
        body: format!("{{\"upload_url\":\"{link}\"}}").into_bytes(),
    };
    store.finish_request(claim, &answer).await.unwrap();
    assert!(!fixture.table_contains("idempotency", "of-an-upload").await);
    for store in [store, &fixture.second_node().await] {
        let Begun::Done(kept) = begin(store).await else {
            panic!("it was answered");
        };
        assert_eq!(kept.body, answer.body);
    }
    // One that an earlier version kept.
    let kind = match on {
        On::Sqlite => "BLOB",
        On::Postgres => "BYTEA",
    };
    fixture
        .tamper(&format!(
            "UPDATE idempotency SET answer = CAST('{{}}' AS {kind})"
        ))
        .await;
    let Begun::Done(kept) = begin(store).await else {
        panic!("it was answered");
    };
    assert_eq!(kept.body, b"{}");
}

#[tokio::test]
async fn the_data_directory_and_the_database_are_for_their_owner_only() {
    let (options, directory) = Fixture::options_for(On::Sqlite);
    let mode =
        |path: &std::path::Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    let loosen = |path: &std::path::Path, mode| {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    loosen(directory.path(), 0o755);
    let database = directory.path().join("proctor.db");
    for _ in 0..2 {
        let clock = Arc::new(proctor_core::time::ManualClock::at(START));
        let store = Store::open(&options, clock, Arc::new(RandomIds::default()))
            .await
            .unwrap();
        store.create_organization("Clinic").await.ok();
        assert_eq!(mode(directory.path()), 0o700);
        for entry in fs_err::read_dir(directory.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().contains("proctor.db")
                && !path.to_string_lossy().ends_with(".lock")
            {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
        store.close().await;
        // As an earlier version left them.
        loosen(directory.path(), 0o755);
        loosen(&database, 0o644);
    }
}

#[tokio::test]
async fn a_directory_for_blobs_elsewhere_is_for_its_owner_only() {
    let (mut options, _directory) = Fixture::options_for(On::Sqlite);
    let elsewhere = tempfile::tempdir().unwrap();
    let blobs = elsewhere.path().join("deep").join("blobs");
    options.blobs = Some(BlobPlace::Directory(blobs.clone()));
    let clock = Arc::new(proctor_core::time::ManualClock::at(START));
    let store = Store::open(&options, clock, Arc::new(RandomIds::default()))
        .await
        .unwrap();
    let mode = fs_err::metadata(&blobs).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    store.close().await;
}
