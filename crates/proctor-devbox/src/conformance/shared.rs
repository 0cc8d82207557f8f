//! Directories of the host in a box: seen, and never changed.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use super::{Failed, Outcome::Passed, Probe, Verdict, probe::ensure};
use crate::{
    backend::Devbox,
    error::Error,
    spec::{Base, BoxSpec, Shared},
};

const SCRIPT: &str = "echo judged\n";

/// A directory of the host with a program in it.
fn scorer(probe: &Probe) -> Result<PathBuf, Failed> {
    let directory = probe.scratch().join("scorer");
    fs_err::create_dir_all(directory.join("sub"))?;
    fs_err::write(directory.join("score.sh"), SCRIPT)?;
    fs_err::write(directory.join("sub/data"), "data\n")?;
    Ok(directory)
}

async fn sharing(
    probe: &mut Probe,
    base: Option<Base>,
    places: &[&str],
) -> Result<(Arc<dyn Devbox>, PathBuf), Failed> {
    let host = scorer(probe)?;
    let mut spec = probe.spec()?;
    spec.base = base.unwrap_or(spec.base);
    spec.read_only = places
        .iter()
        .map(|at| Shared {
            host: host.clone(),
            at: (*at).to_owned(),
        })
        .collect();
    Ok((probe.start(spec).await?, host))
}

pub(super) async fn a_shared_directory_is_seen(probe: &mut Probe) -> Verdict {
    let (devbox, host) =
        sharing(probe, None, &["/scorer", "/opt/deep/er", "/opt/deep/est"]).await?;
    let script = "sh /scorer/score.sh; cat /scorer/sub/data; ls /opt/deep/er /opt/deep/est";
    let expected = "judged\ndata\n/opt/deep/er:\nscore.sh\nsub\n\n/opt/deep/est:\nscore.sh\nsub\n";
    let seen = probe.sh(&devbox, script).await?;
    ensure!(seen.stdout == expected, "{seen:?}");
    // What the host changes is seen too: it is the directory, not a copy.
    fs_err::write(host.join("later"), "later\n")?;
    let seen = probe.sh(&devbox, "cat /scorer/later").await?;
    ensure!(seen.stdout == "later\n", "{seen:?}");
    fs_err::remove_file(host.join("later"))?;
    // It is there again after a snapshot and after a stop.
    devbox.snapshot(probe.layer()?, BTreeMap::new()).await?;
    let seen = probe.sh(&devbox, script).await?;
    ensure!(seen.stdout == expected, "after a snapshot: {seen:?}");
    devbox.stop().await?;
    devbox.start().await?;
    let seen = probe.sh(&devbox, script).await?;
    ensure!(seen.stdout == expected, "after a stop: {seen:?}");
    Ok(Passed)
}

pub(super) async fn a_shared_directory_cannot_be_changed(probe: &mut Probe) -> Verdict {
    let (devbox, host) = sharing(probe, None, &["/scorer"]).await?;
    let script = "try() { sh -c \"$1\" 2>/dev/null && echo \"worked: $1\"; }
        try 'echo true > /scorer/score.sh'
        try 'echo true >> /scorer/score.sh'
        try 'echo true > /scorer/new'
        try 'mkdir /scorer/new'
        try 'rm /scorer/score.sh'
        try 'rm -r /scorer/sub'
        try 'mv /scorer/score.sh /scorer/other'
        try 'cp /bin/true /scorer/score.sh'
        try 'chmod 777 /scorer/score.sh'
        try 'chown 1:1 /scorer'
        try 'touch /scorer/score.sh'
        try 'ln /scorer/score.sh /tmp/link'
        try 'ln -s /tmp /scorer/link'
        try 'mount -o remount,rw /scorer'
        try 'mount -o remount,bind,rw /scorer'
        try 'mount -t tmpfs none /scorer'
        try 'mount --bind /tmp /scorer'
        try 'umount /scorer'
        try 'umount -l /scorer'
        try 'umount -l /proc/self/root/scorer'
        grep -c ' /scorer ro,nosuid,nodev' /proc/self/mountinfo";
    let seen = probe.sh(&devbox, script).await?;
    ensure!(seen.stdout == "1\n", "{seen:?}");
    let written = devbox
        .write_file(
            "/scorer/score.sh",
            &crate::spec::User::Root,
            None,
            &mut &b"true"[..],
        )
        .await;
    ensure!(
        matches!(written, Err(Error::File { .. })),
        "a file was written: {written:?}"
    );
    let now = fs_err::read_to_string(host.join("score.sh"))?;
    ensure!(now == SCRIPT, "the host's file is {now:?}");
    let names = fs_err::read_dir(&host)?.count();
    ensure!(names == 2, "{names} names in the host's directory");
    Ok(Passed)
}

pub(super) async fn a_shared_directory_cannot_be_replaced(probe: &mut Probe) -> Verdict {
    let (devbox, _) = sharing(probe, None, &["/scorer", "/a/b/c"]).await?;
    let script = "try() { sh -c \"$1\" 2>/dev/null && echo \"worked: $1\"; }
        mkdir /tmp/fake; echo 'echo bribed' > /tmp/fake/score.sh
        for path in /scorer /a/b/c /a/b /a; do
            try \"mv $path /moved\"
            try \"mv -T /tmp/fake $path\"
            try \"rmdir $path\"
            try \"rm -rf $path\"
            try \"ln -sfn /tmp/fake $path\"
        done 2>/dev/null
        perl -e 'print syscall(316, -100, \"/tmp/fake\", -100, \"/scorer\", 2) == 0 ? \"exchanged\\n\" : \"\"' 2>/dev/null
        sh /scorer/score.sh; sh /a/b/c/score.sh";
    let seen = probe.sh(&devbox, script).await?;
    let worked: Vec<&str> = seen
        .stdout
        .lines()
        // Putting something into a directory beside the shared one is fine.
        .filter(|line| {
            ![
                "worked: ln -sfn /tmp/fake /a/b",
                "worked: ln -sfn /tmp/fake /a",
            ]
            .contains(line)
        })
        .collect();
    ensure!(worked == ["judged", "judged"], "{seen:?}");
    Ok(Passed)
}

pub(super) async fn a_shared_directory_that_is_not_there_is_refused(probe: &mut Probe) -> Verdict {
    let host = scorer(probe)?;
    for (host, at) in [
        (host.join("no-such-directory"), "/scorer"),
        (host.join("score.sh"), "/scorer"),
        (PathBuf::from("relative"), "/scorer"),
        (host.clone(), "scorer"),
        (host.clone(), "/a/../scorer"),
        (host.clone(), "/proc/scorer"),
        (host.clone(), "/"),
    ] {
        let mut spec = probe.spec()?;
        spec.read_only = vec![Shared {
            host,
            at: at.to_owned(),
        }];
        let shown = spec.read_only.clone();
        let refused = probe.backend().create(spec).await;
        ensure!(
            matches!(refused, Err(Error::Invalid(_))),
            "{shown:?} was accepted"
        );
    }
    // Gone since: the box does not start without it, and does once it is back.
    let mut spec = probe.spec()?;
    spec.read_only = vec![Shared {
        host: host.clone(),
        at: "/scorer".to_owned(),
    }];
    let devbox = probe.make(spec).await?;
    let away = probe.scratch().join("away");
    fs_err::rename(&host, &away)?;
    let started = devbox.start().await;
    ensure!(started.is_err(), "a box started without what it shall see");
    fs_err::rename(&away, &host)?;
    devbox.start().await?;
    let seen = probe.sh(&devbox, "sh /scorer/score.sh").await?;
    ensure!(seen.stdout == "judged\n", "{seen:?}");
    Ok(Passed)
}

pub(super) async fn a_link_in_a_layer_does_not_lead_a_shared_directory_astray(
    probe: &mut Probe,
) -> Verdict {
    let trap = probe.plain().await?;
    let made = probe
        .sh(
            &trap,
            "ln -s /tmp /scorer; ln -s / /way; mkdir -p /real/tmp; ln -s ../../../../etc /real/out",
        )
        .await?;
    ensure!(made.exit.success(), "{made:?}");
    let layer = probe.layer()?;
    trap.snapshot(layer.clone(), BTreeMap::new()).await?;
    let host = scorer(probe)?;
    for at in ["/scorer", "/way/tmp", "/real/out/x"] {
        let spec = BoxSpec {
            base: Base::Layer(layer.clone()),
            read_only: vec![Shared {
                host: host.clone(),
                at: at.to_owned(),
            }],
            ..probe.spec()?
        };
        let devbox = probe.make(spec).await?;
        ensure!(devbox.start().await.is_err(), "{at} was followed");
    }
    let (devbox, _) = sharing(probe, Some(Base::Layer(layer)), &["/real/tmp"]).await?;
    let seen = probe.sh(&devbox, "sh /real/tmp/score.sh").await?;
    ensure!(seen.stdout == "judged\n", "{seen:?}");
    Ok(Passed)
}
