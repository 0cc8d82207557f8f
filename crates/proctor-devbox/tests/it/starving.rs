//! Attempts of one box to use up what the kernel has only once, or once for each user: the other boxes and the host must go on.
//!
//! Each takes all it can get of one thing, keeps it, and then somebody else tries to have one. Where the server is not root its boxes have the server's
//! user, whose share they have in common; there the host must go on, and what a box may take of the share is bounded.
#![cfg(target_arch = "x86_64")]

use std::{
    process::{Command, Stdio},
    sync::Arc,
};

use proctor_devbox::{
    Devbox, ExecId, ExecSpec, Execution, How, Limits, Property, Stream, User, local::TotalLimits,
};
use rstest::rstest;

use crate::support::{Local, sh, sh_as};

/// A perl program that takes things until none is left, says how many it got, and keeps them.
fn hog(setup: &str, take_one: &str, most: u32) -> String {
    format!(
        "perl -e '$| = 1; my @kept; my $b = \"\\0\" x 4096; {setup} my $n = 0; while ($n < {most}) {{ ({take_one}) or last; $n++ }} print \"$n\\n\"; sleep 600'"
    )
}

/// The same for one thing, given back at once. Answers 0 if it was to be had.
fn one(setup: &str, take_one: &str) -> String {
    format!(
        "perl -e 'my @kept; my $b = \"\\0\" x 4096; my $n = 0; {setup} exit(({take_one}) ? 0 : 1)'"
    )
}

/// Starts a program that keeps what it took; answers it and how much it got.
async fn start_hog(
    devbox: &Arc<dyn Devbox>,
    user: &User,
    script: &str,
) -> (Arc<dyn Execution>, u32) {
    let mut spec = ExecSpec::shell(ExecId::new("hog").unwrap(), script);
    spec.user = user.clone();
    let hog = devbox.exec(spec).await.unwrap();
    let said = hog.read_output(Stream::Stdout, 0, 20).await.unwrap();
    let said = String::from_utf8_lossy(&said.bytes).trim().to_owned();
    let taken = said.parse().unwrap_or_else(|_| panic!("{said:?}"));
    (hog, taken)
}

/// Whether a script succeeds outside of any box, as the user who runs the tests.
fn on_the_host(script: &str) -> bool {
    let status = Command::new("/bin/sh")
        .args(["-c", script])
        .stdin(Stdio::null())
        .status();
    status.unwrap().success()
}

async fn users_are_apart(devbox: &Arc<dyn Devbox>) -> bool {
    let record = devbox.record().await.unwrap();
    record
        .enforcement
        .iter()
        .any(|line| line.property == Property::DistinctUsers && line.how == How::Enforced)
}

const INOTIFY: (&str, &str) = ("", "syscall(294, 0) >= 0");
const TIMERS: (&str, &str) = ("", "syscall(222, 0, 0, $b) == 0");
/// A signal that nobody takes, sent to itself again and again.
const SIGNALS: (&str, &str) = (
    "use POSIX (); my $p = 0 + $$; POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(40)); my $i = pack(\"iii\", 40, 0, -1) . (\"\\0\" x 116);",
    "syscall(129, $p, 40, $i) == 0",
);
const TERMINALS: (&str, &str) = ("", "open($kept[$n], \"+<\", \"/dev/ptmx\")");
/// Names of queues differ from process to process; each may hold ten messages of eight kilobytes. A queue outlives its process, so
/// what exits removes its own: the host's would be fewer with every run of this test.
const QUEUES: (&str, &str) = (
    "my $a = pack(\"q4\", 0, 10, 8192, 0) . (\"\\0\" x 32); END { syscall(241, $_) for @kept }",
    "$kept[$n] = \"q$$-$n\", syscall(240, $kept[$n], 0102, 0600, $a) >= 0",
);
const LOCKED_MEMORY: (&str, &str) = (
    "",
    "syscall(149, syscall(9, 0, 65536, 3, 0x22, -1, 0), 65536) == 0",
);

#[rstest]
#[case::inotify_instances(INOTIFY)]
#[case::posix_timers(TIMERS)]
#[case::queued_signals(SIGNALS)]
#[case::terminals(TERMINALS)]
#[case::message_queues(QUEUES)]
#[case::locked_memory(LOCKED_MEMORY)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_box_takes_of_the_kernels_shares_is_missed_by_nobody_else(
    #[case] (setup, take_one): (&str, &str),
    #[values(User::Root, User::Ids { uid: 1000, gid: 1000 })] user: User,
) {
    let local = Local::new();
    let devbox = local.start("hog", Limits::default()).await;
    let other = local.start("other", Limits::default()).await;
    let attempt = one(setup, take_one);
    assert_eq!(sh(&other, &attempt).await.0, 0, "before");
    let (_hog, taken) = start_hog(&devbox, &user, &hog(setup, take_one, 200_000)).await;
    assert!((1..200_000).contains(&taken), "there is a bound: {taken}");
    assert!(on_the_host(&attempt), "the host, after {taken} were taken");
    if users_are_apart(&devbox).await {
        for user in [User::Root, user] {
            let (status, seen) = sh_as(&other, &user, &attempt).await;
            assert_eq!(status, 0, "another box, after {taken} were taken: {seen}");
        }
    }
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_no_asynchronous_io_of_which_the_kernel_has_a_fixed_number() {
    let local = Local::new();
    let devbox = local.start("hog", Limits::default()).await;
    for number in [206, 207, 208, 209, 210, 333] {
        let script = format!(
            "perl -e 'my $b = \"\\0\" x 4096; my $r = syscall({number}, 60000, $b, $b, 0, 0); print $r < 0 ? 0 + $! : \"worked\"'"
        );
        assert_eq!(sh(&devbox, &script).await, (0, "38".to_owned()), "{number}");
    }
    local.end().await;
}

/// By hand with everything that the machine has: `PROCTOR_BOMBS=4096`, which is what a devbox may have. Needs a control group for processes; without one
/// the record of a box says that it is not limited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_fork_bombs_at_once_leave_the_host_its_process_numbers() {
    let all: Option<u32> = std::env::var("PROCTOR_BOMBS")
        .ok()
        .and_then(|text| text.parse().ok());
    let each = all.unwrap_or(300);
    let totals = TotalLimits {
        // What follows from the machine, or less than the bombs want, so that the test is not felt.
        pids: all.is_none().then_some(1000),
        memory_bytes: None,
    };
    let local = Local::with(|config| config.totals = totals);
    let limits = Limits {
        pids: Some(each),
        memory_bytes: Some(4 << 30),
        cpu_millis: Some(500),
        ..Limits::default()
    };
    let mut boxes = Vec::new();
    for number in 0..8 {
        boxes.push(local.start(&format!("bomb-{number}"), limits).await);
    }
    let record = boxes[0].record().await.unwrap();
    let held = record
        .enforcement
        .iter()
        .any(|line| line.property == Property::PidsLimit && line.how == How::Enforced);
    if !held {
        return local.end().await;
    }
    // One more until there is no number left, and all of them stay.
    let bomb = "perl -e '$| = 1; my $n = 0; while (1) { my $p = fork(); if (!defined $p) { last } if ($p == 0) { sleep 600; exit } $n++ } print \"$n\\n\"; sleep 600'";
    let mut taken = 0;
    for devbox in &boxes {
        // Where the others have taken everything not even the shell comes to run.
        let spec = ExecSpec::shell(ExecId::new("bomb").unwrap(), bomb);
        let Ok(exploded) = devbox.exec(spec).await else {
            continue;
        };
        let said = exploded.read_output(Stream::Stdout, 0, 20).await.unwrap();
        let said = String::from_utf8_lossy(&said.bytes).into_owned();
        taken += said.trim().parse::<u32>().unwrap_or(0);
    }
    let text = fs_err::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    let machine: u32 = text.trim().parse().unwrap();
    let most = if all.is_none() { 1000 } else { machine / 4 * 3 };
    assert!(taken > each, "the bombs did go off: {taken}");
    assert!(taken <= most, "{taken} of {most}");
    for _ in 0..20 {
        assert!(on_the_host(
            "for n in 1 2 3 4 5 6 7 8; do /bin/true & done; wait"
        ));
    }
    // Boxes whose processes are all taken can still be ended, and then there is room for others.
    for devbox in &boxes {
        devbox.destroy().await.unwrap();
    }
    let after = local.start("after", Limits::default()).await;
    assert_eq!(sh(&after, "echo well").await, (0, "well\n".to_owned()));
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_without_limits_of_its_own_is_under_those_of_all_boxes() {
    let totals = TotalLimits {
        pids: Some(60),
        memory_bytes: Some(96 << 20),
    };
    let local = Local::with(|config| config.totals = totals);
    let limited = local.start("limited", crate::support::EVERY_LIMIT).await;
    let record = limited.record().await.unwrap();
    let held = |property| {
        let mut lines = record.enforcement.iter();
        lines.any(|line| line.property == property && line.how == How::Enforced)
    };
    if !held(Property::PidsLimit) || !held(Property::MemoryLimit) {
        return local.end().await;
    }
    let devbox = local.start("unlimited", Limits::default()).await;
    let bomb = "perl -e '$| = 1; my $n = 0; while ($n < 500) { my $p = fork(); if (!defined $p) { last } if ($p == 0) { sleep 600; exit } $n++ } print \"$n\\n\"; sleep 600'";
    let (hog, taken) = start_hog(&devbox, &User::Root, bomb).await;
    assert!(taken < 60, "{taken}");
    hog.kill().await.unwrap();
    hog.wait().await.unwrap();
    let eater =
        "perl -e 'my @kept; for (1..1000) { push @kept, \"x\" x 1048576 } print \"all of it\"'";
    assert!(!sh(&devbox, eater).await.1.contains("all of it"));
    local.end().await;
}
