//! Files in and out.

use std::{io, sync::Arc};

use tokio::io::{AsyncReadExt as _, ReadBuf};

use super::{
    Failed,
    Outcome::Passed,
    Probe, Verdict,
    probe::{ensure, within},
};
use crate::{
    backend::Devbox,
    error::{Error, FileProblem},
    record::Property,
    spec::{FileMode, User},
};

async fn put(
    devbox: &Arc<dyn Devbox>,
    path: &str,
    mode: Option<u32>,
    content: &[u8],
) -> crate::Result<u64> {
    let mut content = content;
    devbox
        .write_file(path, &User::Root, mode.map(FileMode), &mut content)
        .await
}

async fn get(devbox: &Arc<dyn Devbox>, path: &str) -> Result<Vec<u8>, Failed> {
    let mut file = devbox.read_file(path, &User::Root, None).await?;
    let mut bytes = Vec::new();
    within(file.reader.read_to_end(&mut bytes)).await??;
    ensure!(
        bytes.len() as u64 == file.size,
        "{} bytes of {}",
        bytes.len(),
        file.size
    );
    Ok(bytes)
}

fn problem<T>(result: &crate::Result<T>) -> Option<FileProblem> {
    match result {
        Err(Error::File { kind, .. }) => Some(*kind),
        _ => None,
    }
}

pub(super) async fn what_goes_in_comes_out(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let large: Vec<u8> = (0..5_000_000_u32)
        .map(|number| u8::try_from(number % 253).unwrap_or(0))
        .collect();
    for (path, content) in [
        ("/tmp/text", &b"hello\n"[..]),
        ("/tmp/empty", b""),
        ("/root/new/deep/file with space", b"\xff\x00"),
        ("/tmp/large", &large),
    ] {
        let written = put(&devbox, path, None, content).await?;
        ensure!(
            written == content.len() as u64,
            "{path}: {written} bytes written"
        );
        ensure!(
            get(&devbox, path).await? == content,
            "{path} came back different"
        );
    }
    let seen = probe
        .sh(&devbox, "cat /tmp/text; wc -c < /tmp/large")
        .await?;
    ensure!(
        seen.stdout.starts_with("hello\n") && seen.stdout.contains("5000000"),
        "{seen:?}"
    );
    probe
        .sh(&devbox, "printf made-inside > /tmp/inside")
        .await?;
    ensure!(
        get(&devbox, "/tmp/inside").await? == b"made-inside",
        "a file made inside"
    );
    Ok(Passed)
}

pub(super) async fn a_written_file_can_be_run_and_keeps_its_mode(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    put(
        &devbox,
        "/tmp/tool",
        Some(0o755),
        b"#!/bin/sh\necho first\n",
    )
    .await?;
    let ran = probe.sh(&devbox, "/tmp/tool").await?;
    ensure!(ran.stdout == "first\n", "{ran:?}");
    put(&devbox, "/tmp/tool", None, b"#!/bin/sh\necho second\n").await?;
    let ran = probe.sh(&devbox, "/tmp/tool; stat -c %a /tmp/tool").await?;
    ensure!(ran.stdout == "second\n755\n", "{ran:?}");
    let mode = devbox.read_file("/tmp/tool", &User::Root, None).await?.mode;
    ensure!(mode == FileMode(0o755), "{mode:?}");
    Ok(Passed)
}

pub(super) async fn what_cannot_be_read_is_told_apart(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    probe
        .sh(
            &devbox,
            "mkfifo /tmp/pipe; mkdir /tmp/dir; printf 12345 > /tmp/five; ln -s loop /tmp/loop",
        )
        .await?;
    let read = async |path: &str, limit| problem(&devbox.read_file(path, &User::Root, limit).await);
    for (path, limit, expected) in [
        ("/no/such/file", None, FileProblem::NotFound),
        ("/tmp/dir", None, FileProblem::NotRegular),
        ("/tmp/pipe", None, FileProblem::NotRegular),
        ("/dev/zero", None, FileProblem::NotRegular),
        ("/tmp/five", Some(4), FileProblem::TooLarge),
        ("/tmp/loop", None, FileProblem::Other),
    ] {
        let got = within(read(path, limit)).await?;
        ensure!(got == Some(expected), "{path}: {got:?}");
    }
    ensure!(
        devbox
            .read_file("/tmp/five", &User::Root, Some(5))
            .await
            .is_ok(),
        "a file of the wanted size"
    );
    for path in ["/tmp/dir", "/tmp/pipe", "/tmp/five/below", "relative", "/"] {
        let got = within(put(&devbox, path, None, b"x")).await?;
        ensure!(problem(&got).is_some(), "{path} was written");
    }
    Ok(Passed)
}

pub(super) async fn links_resolve_inside_the_box(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    probe
        .sh(
            &devbox,
            "printf box > /tmp/target; ln -s /tmp/target /tmp/absolute; ln -s ../../../../../../../tmp/target /tmp/climbing; \
             ln -s /proc/1/root/tmp/target /tmp/through-proc; ln -s / /tmp/root; ln -s target /tmp/relative",
        )
        .await?;
    for path in [
        "/tmp/absolute",
        "/tmp/climbing",
        "/tmp/root/tmp/target",
        "/../../tmp/target",
        "/tmp/relative",
    ] {
        ensure!(get(&devbox, path).await? == b"box", "{path} led elsewhere");
    }
    // Where it leads to the first process at all it leads to nothing of the host's.
    if let Ok(bytes) = get(&devbox, "/tmp/through-proc").await {
        ensure!(bytes == b"box", "a link through /proc led elsewhere");
    }
    // Writing through a link writes what it points to, and leaves the link.
    put(&devbox, "/tmp/absolute", None, b"changed").await?;
    let seen = probe
        .sh(
            &devbox,
            "cat /tmp/target; test -L /tmp/absolute && echo link",
        )
        .await?;
    ensure!(seen.stdout == "changedlink\n", "{seen:?}");
    Ok(Passed)
}

/// Content that breaks off with an error.
struct Broken(&'static [u8]);

impl tokio::io::AsyncRead for Broken {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        if self.0.is_empty() {
            return std::task::Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        buffer.put_slice(self.0);
        self.0 = &[];
        std::task::Poll::Ready(Ok(()))
    }
}

pub(super) async fn an_interrupted_upload_leaves_the_old_file(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    put(&devbox, "/tmp/dir/file", None, b"old").await?;
    let broken = devbox
        .write_file("/tmp/dir/file", &User::Root, None, &mut Broken(b"half"))
        .await;
    ensure!(broken.is_err(), "half a file was accepted");
    ensure!(
        get(&devbox, "/tmp/dir/file").await? == b"old",
        "the old file is gone"
    );
    for _ in 0..100 {
        if probe.sh(&devbox, "ls -A /tmp/dir").await?.stdout == "file\n" {
            return Ok(Passed);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    Err(Failed("a part of the interrupted upload stays".to_owned()))
}

pub(super) async fn the_users_rights_decide(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    if let Some(skipped) = probe.lacks(&devbox, Property::ManyUsers).await? {
        return Ok(skipped);
    }
    let somebody = User::Ids {
        uid: 1000,
        gid: 1000,
    };
    probe
        .sh(
            &devbox,
            "printf secret > /root/secret; chmod 600 /root/secret",
        )
        .await?;
    let read = devbox.read_file("/root/secret", &somebody, None).await;
    ensure!(
        problem(&read) == Some(FileProblem::Denied),
        "a user read what root keeps"
    );
    let written = devbox
        .write_file("/etc/passwd", &somebody, None, &mut &b"x"[..])
        .await;
    ensure!(
        problem(&written) == Some(FileProblem::Denied),
        "a user wrote what root owns"
    );
    devbox
        .write_file("/tmp/own", &somebody, None, &mut &b"x"[..])
        .await?;
    let owner = probe.sh(&devbox, "stat -c %u:%g /tmp/own").await?;
    ensure!(owner.stdout == "1000:1000\n", "{owner:?}");
    Ok(Passed)
}
