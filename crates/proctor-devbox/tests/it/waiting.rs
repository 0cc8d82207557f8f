//! The process that waits in a used box to become the next program: nobody notices it, and nobody can use it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proctor_devbox::{
    Devbox, ExecId, ExecSpec, LayerId, Limits, SnapshotWay, conformance::Subject as _,
};

use crate::support::{EVERY_LIMIT, Local, output, sh};

/// Ends when a process of the box waits: one that is neither the first, nor the script, nor a child of it, nor one that has been ended and is not
/// gone yet (it is exiting, or SIGKILL is pending).
const UNTIL_ONE_WAITS: &str = r#"
    ended() {
        set -- $(cut -d' ' -f9 /proc/$1/stat 2>/dev/null; sed -n 's/^SigPnd:[[:space:]]*//p' /proc/$1/status 2>/dev/null)
        [ $# != 2 ] || [ $(($1 & 4)) != 0 ] || [ $((0x$2 & 0x100)) != 0 ]
    }
    waiting() { for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = 1 ] || [ $p = $$ ] || ended $p ||
        [ "$(cut -d' ' -f4 /proc/$p/stat 2>/dev/null)" != 0 ] || echo $p; done; }
    until [ -n "$(waiting)" ]; do sleep 0.01; done
"#;

async fn used_box(local: &Local, limits: Limits) -> Arc<dyn Devbox> {
    let devbox = local.start("used", limits).await;
    for _ in 0..3 {
        assert_eq!(sh(&devbox, "echo used").await, (0, "used\n".to_owned()));
    }
    devbox
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_whose_processes_are_all_ended_or_stopped_runs_more() {
    let local = Local::new();
    let devbox = used_box(&local, EVERY_LIMIT).await;
    for signal in ["KILL", "STOP", "TERM", "KILL"] {
        let script = format!("{UNTIL_ONE_WAITS} kill -{signal} -1; echo done");
        let (status, said) = sh(&devbox, &script).await;
        assert_eq!((status, said.as_str()), (0, "done\n"), "{signal}");
        for _ in 0..3 {
            assert_eq!(sh(&devbox, "echo on").await, (0, "on\n".to_owned()));
        }
    }
    local.end().await;
}

/// A snapshot of a box at rest with many files copies nothing, where the host allows that.
async fn assert_nothing_runs(local: &Local, devbox: &Arc<dyn Devbox>) {
    let many = "mkdir /root/many; cd /root/many; seq 200 | split -l 1 -a 5 -";
    assert_eq!(sh(devbox, many).await, (0, String::new()));
    let layer = LayerId::new("layer").unwrap();
    let taken = devbox.snapshot(layer, BTreeMap::new()).await.unwrap();
    if local.backend().doctor().await.usable() && rustix::process::geteuid().is_root() {
        assert_eq!(taken.way, SnapshotWay::Renamed);
    }
}

/// The kernel takes a moment to end a process; whoever is told something in that moment never hears it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_was_given_to_a_process_that_had_been_ended_runs_all_the_same() {
    let local = Local::new();
    let devbox = used_box(&local, Limits::default()).await;
    for _ in 0..50 {
        let (status, said) = sh(&devbox, &format!("{UNTIL_ONE_WAITS} kill -KILL -1")).await;
        assert_eq!((status, said.as_str()), (0, ""));
        assert_eq!(sh(&devbox, "echo on").await, (0, "on\n".to_owned()));
    }
    assert_nothing_runs(&local, &devbox).await;
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_cannot_be_looked_into() {
    let local = Local::new();
    let devbox = used_box(&local, Limits::default()).await;
    let script = format!(
        "{UNTIL_ONE_WAITS} for p in $(waiting); do
            for what in fd/0 exe cwd root ns/mnt; do readlink /proc/$p/$what && echo $what; done
            for what in environ mem maps auxv syscall; do head -c 1 /proc/$p/$what >/tmp/seen && [ -s /tmp/seen ] && echo $what; done
            ls /proc/$p/fd
        done 2>/dev/null; true"
    );
    let (status, said) = sh(&devbox, &script).await;
    assert_eq!((status, said.as_str()), (0, ""));
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_becomes_any_program_with_all_that_belongs_to_it() {
    let local = Local::new();
    let limits = Limits {
        open_files: Some(16),
        ..EVERY_LIMIT
    };
    let devbox = used_box(&local, limits).await;
    for (number, length) in [10, 100_000, 20, 60_000].into_iter().enumerate() {
        let argument = "x".repeat(length);
        let id = ExecId::new(format!("long-{number}")).unwrap();
        let mut spec = ExecSpec::new(
            id,
            ["/bin/sh", "-c", "cat; echo ${#1} $V; pwd; ulimit -n", "sh"],
        );
        spec.argv.push(argument);
        spec.env.insert("V".to_owned(), number.to_string());
        spec.cwd = Some("/usr/bin".to_owned());
        spec.stdin = true;
        let execution = devbox.exec(spec).await.unwrap();
        execution.write_stdin(b"in\n").await.unwrap();
        execution.close_stdin().await.unwrap();
        assert!(execution.wait().await.unwrap().success());
        let expected = format!("in\n{length} {number}\n/usr/bin\n16\n");
        assert_eq!(output(&execution).await, expected);
    }
    for number in 0..3 {
        let id = ExecId::new(format!("missing-{number}")).unwrap();
        let refused = devbox.exec(ExecSpec::new(id, ["/no/such/program"])).await;
        assert!(refused.is_err());
        assert_eq!(sh(&devbox, "echo on").await, (0, "on\n".to_owned()));
    }
    assert_nothing_runs(&local, &devbox).await;
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_in_nobodys_way() {
    let local = Local::new();
    let devbox = used_box(&local, EVERY_LIMIT).await;
    let usage = async || devbox.usage().await.unwrap().pids;
    sh(&devbox, UNTIL_ONE_WAITS).await;
    // It has only what it needs: the input of another program ends when its writer says so.
    let mut reader = ExecSpec::shell(ExecId::new("reader").unwrap(), "cat");
    reader.stdin = true;
    let reader = devbox.exec(reader).await.unwrap();
    sh(&devbox, UNTIL_ONE_WAITS).await;
    reader.close_stdin().await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(50), reader.wait());
    assert!(ended.await.unwrap().unwrap().success());

    sh(&devbox, UNTIL_ONE_WAITS).await;
    devbox.suspend().await.unwrap();
    let left = usage().await;
    assert!(left <= Some(1), "only the first process is left: {left:?}");
    devbox.resume().await.unwrap();
    assert_eq!(sh(&devbox, UNTIL_ONE_WAITS).await.0, 0);
    assert_nothing_runs(&local, &devbox).await;
    assert_eq!(sh(&devbox, "echo on").await, (0, "on\n".to_owned()));
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_of_a_forgotten_execution_is_still_known_to_be_there() {
    let local = Local::new();
    let devbox = local.start("daemon", EVERY_LIMIT).await;
    let script =
        "(setsid sh -c 'while :; do date +%N >/root/alive; sleep 0.02; done' >/dev/null 2>&1 &)";
    let spec = ExecSpec::shell(ExecId::new("parent").unwrap(), script);
    let parent = devbox.exec(spec).await.unwrap();
    parent.wait().await.unwrap();
    parent.forget().await.unwrap();
    let layer = LayerId::new("layer").unwrap();
    let taken = devbox.snapshot(layer, BTreeMap::new()).await.unwrap();
    assert_eq!(taken.way, SnapshotWay::Copied, "something runs");
    let script = "until [ -s /root/alive ]; do sleep 0.01; done; a=$(cat /root/alive); until [ \"$(cat /root/alive)\" != \"$a\" ]; do sleep 0.01; done; echo alive";
    assert_eq!(sh(&devbox, script).await, (0, "alive\n".to_owned()));
    local.end().await;
}
