//! Programs that see more of the host than the rest of their box does.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use proctor_devbox::{
    Devbox, Error, ExecId, ExecSpec, Execution, ExitCause, LayerId, Limits, Shared, Stream, View,
};

use crate::support::{Local, sh};

fn shared(host: &Path, at: &str) -> Shared {
    Shared {
        host: host.to_owned(),
        at: at.to_owned(),
    }
}

/// Runs a script with a view; none where boxes cannot have it.
async fn seeing(
    devbox: &Arc<dyn Devbox>,
    id: &str,
    script: &str,
    view: View,
) -> Option<(Arc<dyn Execution>, String)> {
    // More than any of them needs, however busy the machine is.
    seeing_within(Duration::from_secs(60), devbox, id, script, view).await
}

/// The same for a program that may take so long.
async fn seeing_within(
    limit: Duration,
    devbox: &Arc<dyn Devbox>,
    id: &str,
    script: &str,
    view: View,
) -> Option<(Arc<dyn Execution>, String)> {
    let mut spec = ExecSpec::shell(ExecId::new(id).unwrap(), script);
    spec.timeout = Some(limit);
    spec.view = Some(view);
    let execution = match devbox.exec(spec).await {
        Err(Error::NotOffered(why)) => {
            eprintln!("skipped: {why}");
            return None;
        }
        other => other.unwrap(),
    };
    execution.wait().await.unwrap();
    let mut all = Vec::new();
    loop {
        let chunk = execution.read_output(Stream::Stdout, all.len() as u64, 1 << 16);
        let chunk = chunk.await.unwrap();
        all.extend_from_slice(&chunk.bytes);
        if chunk.last {
            return Some((execution, String::from_utf8(all).unwrap()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_program_sees_what_its_view_shows_and_it_cannot_change_it() {
    let local = Local::new();
    let devbox = local.start("view", Limits::default()).await;
    let host = tempfile::tempdir().unwrap();
    fs_err::write(host.path().join("solve.sh"), "echo solved\n").unwrap();
    let view = View {
        read_only: vec![shared(host.path(), "/solution")],
        ..View::default()
    };
    let script =
        "sh /solution/solve.sh; touch /solution/x 2>/dev/null || echo refused; touch /made";
    let (_, seen) = seeing(&devbox, "seeing", script, view).await.unwrap();
    assert_eq!(seen, "solved\nrefused\n");
    let (_, others) = sh(&devbox, "ls /solution /made").await;
    assert_eq!(
        others, "/made\n\n/solution:\n",
        "the disk is the same, the view is not"
    );
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealed_programs_follow_each_other_and_disks_can_be_kept_in_between() {
    let local = Local::new();
    let devbox = local.start("sealed", Limits::default()).await;
    let host = tempfile::tempdir().unwrap();
    for number in 0..3 {
        let logs = host.path().join(number.to_string());
        fs_err::create_dir(&logs).unwrap();
        let view = View {
            writable: vec![shared(&logs, "/logs/verifier")],
            sealed: true,
            ..View::default()
        };
        let script =
            "ls /logs/verifier; echo said > /logs/verifier/log; echo $$; echo more >> /kept";
        let id = format!("sealed-{number}");
        let Some((execution, seen)) = seeing(&devbox, &id, script, view).await else {
            return local.end().await;
        };
        // The first process of its namespace looks after it.
        assert_eq!(seen, "2\n");
        let notes: &[&str] = match number {
            0 => &["/logs was missing", "/logs/verifier was missing"],
            _ => &[],
        };
        assert_eq!(execution.notes(), notes);
        let said = fs_err::read_to_string(logs.join("log")).unwrap();
        assert_eq!(said, "said\n");
        let layer = LayerId::new(format!("kept-{number}")).unwrap();
        devbox.snapshot(layer, BTreeMap::new()).await.unwrap();
    }
    let (_, kept) = sh(&devbox, "wc -l < /kept; ls /logs/verifier").await;
    assert_eq!(kept, "3\n");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sealed_program_that_takes_too_long_ends_with_everything_it_started() {
    let local = Local::new();
    let devbox = local.start("slow", Limits::default()).await;
    let host = tempfile::tempdir().unwrap();
    let view = View {
        writable: vec![shared(host.path(), "/logs/verifier")],
        sealed: true,
        ..View::default()
    };
    let script = "(setsid sh -c 'while :; do date +%s%N > /logs/verifier/alive; sleep 0.05; done' &); sleep 600";
    let limit = Duration::from_secs(5);
    let Some((execution, _)) = seeing_within(limit, &devbox, "slow", script, view).await else {
        return local.end().await;
    };
    let exit = execution.wait().await.unwrap();
    assert_eq!(exit.cause, ExitCause::TimedOut);
    let alive = || fs_err::read(host.path().join("alive")).unwrap();
    let before = alive();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(alive(), before, "nothing writes any more");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_of_what_cannot_be_is_refused() {
    let local = Local::new();
    let devbox = local.start("wrong", Limits::default()).await;
    let host = tempfile::tempdir().unwrap();
    for at in ["relative", "/", "/proc", "/a/../b", "/dev/x"] {
        let mut spec = ExecSpec::shell(ExecId::new("wrong").unwrap(), "true");
        spec.view = Some(View {
            read_only: vec![shared(host.path(), at)],
            ..View::default()
        });
        let refused = devbox.exec(spec).await.map(|_| ());
        assert!(
            matches!(refused, Err(Error::Invalid(_))),
            "{at}: {refused:?}"
        );
    }
    local.end().await;
}
