//! Attacks on whoever runs the boxes, beside those of the conformance suite: each shows the attack fail and the others unharmed.

use std::{
    io,
    pin::Pin,
    process::Command,
    sync::Arc,
    task::{Context, Poll},
};

use proctor_devbox::{
    Devbox, Error, ExecId, ExecSpec, ExitCause, How, Limits, Property, Stream, User,
};
use tokio::io::{AsyncRead, ReadBuf};

use crate::support::{Local, sh, sh_as};

/// An upload that begins and never goes on, so that the process which writes the file stays in the box.
struct Stalled(bool);

impl AsyncRead for Stalled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Pending;
        }
        buffer.put_slice(b"beginning");
        Poll::Ready(Ok(()))
    }
}

async fn enforced(devbox: &Arc<dyn Devbox>, property: Property) -> bool {
    let record = devbox.record().await.unwrap();
    record
        .enforcement
        .iter()
        .any(|line| line.property == property && line.how == How::Enforced)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writing_through_its_own_exe_does_not_reach_the_hosts_program() {
    let local = Local::new();
    let devbox = local.start("exe", Limits::default()).await;
    let host = fs_err::canonicalize("/usr/bin/perl").unwrap();
    let before = fs_err::read(&host).unwrap();
    // While it runs, after it has become something else, and through a descriptor that was opened before.
    let script = "perl -e 'print open(my $f, \">>\", \"/proc/self/exe\") ? \"open\\n\" : \"no: $!\\n\"'
        perl -e 'open(my $f, \"<\", \"/proc/self/exe\"); exec \"sh\", \"-c\", \"(echo evil > /proc/self/fd/\" . fileno($f) . \") 2>&1; echo\"'
        (perl -e 'sleep 600' & echo evil > /proc/$!/exe; kill $!) 2>&1
        echo end";
    let (_, seen) = sh(&devbox, script).await;
    assert!(
        seen.ends_with("end\n") && !seen.contains("open\n"),
        "{seen}"
    );
    assert!(fs_err::read(&host).unwrap() == before);
    // Even a box that destroys its own copy leaves the others theirs.
    sh(
        &devbox,
        "cp /bin/true /tmp/t; cat /tmp/t > \"$(readlink -f /usr/bin/perl)\"",
    )
    .await;
    let other = local.start("other", Limits::default()).await;
    assert_eq!(sh(&other, "perl -e 'print 42'").await, (0, "42".to_owned()));
    assert!(fs_err::read(&host).unwrap() == before);
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_that_writes_files_into_a_box_can_be_neither_read_nor_written_nor_traced_there()
{
    let local = Local::new();
    let devbox = local.start("helper", Limits::default()).await;
    let uploading = Arc::clone(&devbox);
    let tasks = tokio_util::task::TaskTracker::new();
    let upload = tasks.spawn(async move {
        let mut stalled = Stalled(false);
        uploading
            .write_file("/tmp/never", &User::Root, None, &mut stalled)
            .await
    });
    let script = "for n in $(seq 500); do ls /tmp/.proctor-upload-* >/dev/null 2>&1 && break; sleep 0.01; done
        pid=$(ls -A /tmp | sed -n 's/^.proctor-upload-//p'); test -d /proc/$pid || exit 3
        for f in exe cwd root; do readlink /proc/$pid/$f && echo \"seen: $f\"; done
        for f in mem maps environ auxv stack syscall; do head -c 1 /proc/$pid/$f 2>/dev/null | grep -q . && echo \"read: $f\"; done
        ls -A /proc/$pid/fd 2>/dev/null | grep -q . && echo 'seen: fd'
        (echo evil > /proc/$pid/exe) 2>/dev/null && echo written
        (echo evil > /proc/$pid/mem) 2>/dev/null && echo written
        cp /proc/$pid/exe /tmp/copy 2>/dev/null && echo copied
        perl -e \"print syscall(101, 16, $pid, 0, 0) == 0 ? 'traced' : ''\"
        echo end";
    let (status, seen) = sh(&devbox, script).await;
    assert_eq!((status, seen.as_str()), (0, "end\n"));
    // It may be ended, which is the box's own loss; the server hears of it and goes on.
    sh(
        &devbox,
        "kill -9 $(ls -A /tmp | sed -n 's/^.proctor-upload-//p')",
    )
    .await;
    upload.abort();
    let written = devbox
        .write_file("/tmp/file", &User::Root, None, &mut &b"fine"[..])
        .await
        .unwrap();
    assert_eq!(written, 4);
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_of_the_host_can_be_neither_signalled_nor_traced() {
    let local = Local::new();
    let devbox = local.start("killer", Limits::default()).await;
    let other = local.start("other", Limits::default()).await;
    let mut bystander = Command::new("sleep").arg("600").spawn().unwrap();
    let (own, theirs) = (std::process::id(), bystander.id());
    let script = format!(
        "perl -e 'my $n = 0; for my $p (2..70000, {own}, {theirs}) {{ next if $p == $$ || $p == getppid(); $n++ if kill(9, $p) }} print $n'
         perl -e 'for my $p ({own}, {theirs}) {{ print syscall(101, 16, $p, 0, 0) == 0 ? \"traced\" : \".\" }}'"
    );
    let (_, seen) = sh(&devbox, &script).await;
    assert_eq!(seen, "0..");
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert_eq!(sh(&other, "echo well").await, (0, "well\n".to_owned()));
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hard_link_does_not_let_the_file_interface_write_what_the_user_may_not() {
    let local = Local::new();
    let devbox = local.start("links", Limits::default()).await;
    if !enforced(&devbox, Property::ManyUsers).await {
        return local.end().await;
    }
    sh(
        &devbox,
        "echo precious > /root-file; chmod 644 /root-file; mkdir /tmp/mine; ln /root-file /tmp/mine/hard; \
         ln -s /root-file /tmp/mine/soft; ln -s /etc /tmp/mine/dir; chown -h 1000:1000 /tmp/mine /tmp/mine/soft /tmp/mine/dir",
    )
    .await;
    let user = User::Ids {
        uid: 1000,
        gid: 1000,
    };
    for path in [
        "/tmp/mine/hard",
        "/tmp/mine/soft",
        "/tmp/mine/dir/passwd",
        "/root-file",
    ] {
        let _ = devbox
            .write_file(path, &user, None, &mut &b"evil"[..])
            .await;
    }
    let (_, seen) = sh(&devbox, "cat /root-file; grep -c evil /etc/passwd").await;
    assert_eq!(seen, "precious\n0\n");
    let (_, seen) = sh_as(
        &devbox,
        &user,
        "ln /etc/shells /tmp/mine/shells; echo evil >> /tmp/mine/shells",
    )
    .await;
    assert!(
        seen.contains("denied") || seen.contains("not permitted"),
        "{seen}"
    );
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_memory_count_as_memory_and_others_go_on() {
    let local = Local::new();
    let limits = Limits {
        memory_bytes: Some(96 << 20),
        ..Limits::default()
    };
    let devbox = local.start("memory", limits).await;
    let other = local.start("other", Limits::default()).await;
    if !enforced(&devbox, Property::MemoryLimit).await {
        return local.end().await;
    }
    // A file without a name, in memory, far beyond the limit.
    let script = "perl -e 'my $fd = syscall(319, \"hog\", 0); open(my $f, \">&=\", $fd) or die; my $b = \"x\" x 1048576;
        for (1..1000) { syswrite($f, $b) or last }; print \"all of it\"'";
    let hog = devbox
        .exec(ExecSpec::shell(ExecId::new("hog").unwrap(), script))
        .await
        .unwrap();
    let exit = hog.wait().await.unwrap();
    assert!(!exit.success(), "{exit:?}");
    assert_eq!(hog.progress().stdout, 0);
    assert_eq!(sh(&devbox, "echo well").await, (0, "well\n".to_owned()));
    assert_eq!(sh(&other, "echo well").await, (0, "well\n".to_owned()));
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_files_of_holes_take_no_more_disk_than_the_limit() {
    let local = Local::new();
    let limits = Limits {
        disk_bytes: Some(8 << 20),
        disk_files: Some(500),
        ..Limits::default()
    };
    let devbox = local.start("holes", limits).await;
    let other = local.start("other", Limits::default()).await;
    // Each within the limit of a file, without number.
    let script = "n=0; while n=$((n+1)); do truncate -s 8M /tmp/hole-$n || exit 5; done";
    let filler = devbox
        .exec(ExecSpec::shell(ExecId::new("fill").unwrap(), script))
        .await
        .unwrap();
    let exit = filler.wait().await.unwrap();
    assert!(
        exit.cause == ExitCause::OutOfDisk || exit.code == Some(5),
        "{exit:?}"
    );
    // Copying them does not blow them up on the host.
    let layer = proctor_devbox::LayerId::new("holes").unwrap();
    devbox
        .snapshot(layer.clone(), Default::default())
        .await
        .unwrap();
    let layer = local.directory.path().join("layers/holes");
    let taken: u64 = proctor_testkit::traces::files(&layer)
        .iter()
        .filter_map(|path| fs_err::symlink_metadata(path).ok())
        .map(|metadata| std::os::unix::fs::MetadataExt::blocks(&metadata) * 512)
        .sum();
    assert!(taken < 64 << 20, "{taken} bytes");
    assert_eq!(sh(&other, "echo well").await, (0, "well\n".to_owned()));
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_megabytes_of_broken_text_are_kept_byte_by_byte_and_can_be_read_in_pieces() {
    let local = Local::new();
    let devbox = local.start("flood", Limits::default()).await;
    let script =
        "perl -e 'my $b = \"\\xff\\x00\\xc3\\x28\" x 262144; syswrite(STDOUT, $b) for 1..100'";
    let flood = devbox
        .exec(ExecSpec::shell(ExecId::new("flood").unwrap(), script))
        .await
        .unwrap();
    assert!(flood.wait().await.unwrap().success());
    let progress = flood.progress();
    assert_eq!((progress.stdout, progress.stdout_dropped), (100 << 20, 0));
    let pattern = [0xff, 0x00, 0xc3, 0x28];
    for offset in [0, 1 << 20, 50_000_004, (100 << 20) - 4096] {
        let chunk = flood
            .read_output(Stream::Stdout, offset, 4096)
            .await
            .unwrap();
        assert!(chunk.bytes.chunks(4).all(|piece| piece == pattern));
    }
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_too_large_for_the_system_are_an_answer() {
    let local = Local::new();
    let devbox = local.start("large", Limits::default()).await;
    let id = |name: &str| ExecId::new(name).unwrap();
    let huge = "x".repeat(3 << 20);
    let refused = devbox
        .exec(ExecSpec::new(id("huge"), ["/bin/echo", &huge]))
        .await;
    assert!(matches!(refused, Err(Error::CannotRun { .. })));
    let refused = devbox
        .exec(ExecSpec::new(
            id("enormous"),
            ["/bin/echo", &huge.repeat(4)],
        ))
        .await;
    assert!(refused.is_err());
    let many = std::iter::repeat_n("x".to_owned(), 200_000);
    let ran = devbox
        .exec(ExecSpec::new(
            id("many"),
            ["/bin/true".to_owned()].into_iter().chain(many),
        ))
        .await;
    assert!(ran.is_ok() || matches!(ran, Err(Error::CannotRun { .. })));
    assert_eq!(sh(&devbox, "echo well").await, (0, "well\n".to_owned()));
    local.end().await;
}
