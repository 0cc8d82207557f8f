//! Limits: what exceeds them ends, and nobody else notices.

use super::{
    Outcome::{Passed, Skipped},
    Probe, Verdict,
    probe::{ensure, within},
};
use crate::{
    error::Error,
    record::{ExitCause, How, Property},
    spec::{Base, ExecSpec, Limits},
};

async fn limited(
    probe: &mut Probe,
    limits: Limits,
) -> Result<std::sync::Arc<dyn crate::backend::Devbox>, super::Failed> {
    let mut spec = probe.spec()?;
    spec.limits = limits;
    probe.start(spec).await
}

pub(super) async fn memory_beyond_the_limit_ends_the_program(probe: &mut Probe) -> Verdict {
    let limits = Limits {
        memory_bytes: Some(48 << 20),
        ..Limits::default()
    };
    let devbox = limited(probe, limits).await?;
    let skipped = probe.lacks(&devbox, Property::MemoryLimit).await?;
    // Each step doubles what the shell holds in memory.
    let hog = probe
        .sh(&devbox, "x=0123456789abcdef; while :; do x=$x$x; done")
        .await?;
    ensure!(
        !hog.exit.success(),
        "a gigabyte fitted into 48 MB: {:?}",
        hog.exit
    );
    ensure!(
        probe.sh(&devbox, "true").await?.exit.success(),
        "the box did not survive its hog"
    );
    if let Some(skipped) = skipped {
        return Ok(skipped);
    }
    ensure!(hog.exit.cause == ExitCause::OutOfMemory, "{:?}", hog.exit);
    let usage = devbox.usage().await?;
    ensure!(
        usage.memory_bytes.is_some_and(|bytes| bytes <= 48 << 20),
        "{usage:?}"
    );
    Ok(Passed)
}

pub(super) async fn a_fork_bomb_stays_in_its_box(probe: &mut Probe) -> Verdict {
    let limits = Limits {
        pids: Some(40),
        ..Limits::default()
    };
    let devbox = limited(probe, limits).await?;
    let other = probe.plain().await?;
    if let Some(skipped) = probe.lacks(&devbox, Property::PidsLimit).await? {
        return Ok(skipped);
    }
    let bomb = probe
        .launch(&devbox, "b() { b | b & }; b; sleep 600")
        .await?;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let usage = devbox.usage().await?;
    ensure!(usage.pids.is_some_and(|pids| pids <= 41), "{usage:?}");
    ensure!(
        probe.sh(&other, "true").await?.exit.success(),
        "another box was harmed"
    );
    bomb.kill().await?;
    within(bomb.wait()).await??;
    within(devbox.destroy()).await??;
    Ok(Passed)
}

pub(super) async fn disk_beyond_the_limit_ends_the_program(probe: &mut Probe) -> Verdict {
    let limits = Limits {
        disk_bytes: Some(8 << 20),
        ..Limits::default()
    };
    let devbox = limited(probe, limits).await?;
    let record = devbox.record().await?;
    ensure!(
        record.enforcement.iter().any(
            |line| line.property == Property::DiskLimit && !matches!(line.how, How::Missing(_))
        ),
        "{record:?}"
    );
    let script = "n=0; while n=$((n+1)); do head -c 1000000 /dev/urandom > /tmp/$n || exit 5; sleep 0.02; done";
    let filler = probe.sh(&devbox, script).await?;
    ensure!(!filler.exit.success(), "{:?}", filler.exit);
    ensure!(
        filler.exit.cause == ExitCause::OutOfDisk || filler.exit.code == Some(5),
        "{:?}",
        filler.exit
    );
    let freed = probe.sh(&devbox, "rm -f /tmp/*; echo room").await?;
    ensure!(
        freed.stdout == "room\n",
        "no room could be made again: {freed:?}"
    );
    Ok(Passed)
}

pub(super) async fn many_small_files_count_too(probe: &mut Probe) -> Verdict {
    let limits = Limits {
        disk_files: Some(500),
        ..Limits::default()
    };
    let devbox = limited(probe, limits).await?;
    let script = "n=0; while n=$((n+1)); do : > /tmp/$n || exit 5; test $((n % 100)) = 0 && sleep 0.02; done";
    let filler = probe.sh(&devbox, script).await?;
    ensure!(
        filler.exit.cause == ExitCause::OutOfDisk || filler.exit.code == Some(5),
        "{:?}",
        filler.exit
    );
    Ok(Passed)
}

pub(super) async fn a_file_of_holes_is_bounded(probe: &mut Probe) -> Verdict {
    let limits = Limits {
        disk_bytes: Some(8 << 20),
        ..Limits::default()
    };
    let devbox = limited(probe, limits).await?;
    let ran = probe
        .sh(
            &devbox,
            "truncate -s 100G /tmp/huge; stat -c %s /tmp/huge 2>/dev/null || echo 0",
        )
        .await?;
    let size: u64 = ran.stdout.trim().parse().unwrap_or(0);
    ensure!(size <= 8 << 20, "a file of {size} bytes in a box of 8 MB");
    Ok(Passed)
}

pub(super) async fn an_exact_disk_is_full_when_it_is_full(probe: &mut Probe) -> Verdict {
    let mut spec = probe.spec()?;
    spec.require = vec![Property::ExactDisk];
    spec.limits = Limits {
        disk_bytes: Some(16 << 20),
        disk_files: Some(400),
        ..Limits::default()
    };
    if let Err(Error::Unsupported { why, .. }) = probe.backend().create(spec.clone()).await {
        return Ok(Skipped(format!("{:?}: {why}", Property::ExactDisk)));
    }
    let devbox = probe.found(&spec.id).await?;
    devbox.start().await?;
    let fill = "head -c 100000000 /dev/zero > /root/a; head -c 100000000 /dev/zero > /root/b; cat /root/a /root/b | wc -c";
    let filled = probe.sh(&devbox, fill).await?;
    let size: u64 = filled.stdout.trim().parse().unwrap_or(u64::MAX);
    ensure!(
        (12 << 20..=16 << 20).contains(&size) && filled.stderr.contains("No space left"),
        "{size} bytes on a disk of 16 MB: {filled:?}"
    );
    ensure!(
        filled.exit.cause == ExitCause::Itself,
        "a full disk ends nobody: {:?}",
        filled.exit
    );
    let usage = devbox.usage().await?;
    ensure!(
        usage.disk_bytes.is_some_and(|bytes| bytes >= size),
        "{usage:?} with {size} bytes"
    );
    let many = "rm /root/a /root/b; n=0; while true > /root/$n; do n=$((n+1)); done; echo $n";
    let made = probe.sh(&devbox, many).await?;
    let files: u64 = made.stdout.trim().parse().unwrap_or(u64::MAX);
    ensure!(
        (300..=400).contains(&files),
        "{files} files on a disk of 400: {made:?}"
    );
    // What is on it survives a stop, and becomes a layer like any other.
    probe
        .sh(&devbox, "rm /root/*; echo kept > /root/file")
        .await?;
    let layer = probe.layer()?;
    devbox.snapshot(layer.clone(), Default::default()).await?;
    devbox.stop().await?;
    devbox.start().await?;
    let kept = probe.sh(&devbox, "cat /root/file").await?;
    ensure!(kept.stdout == "kept\n", "{kept:?}");
    let mut spec = probe.spec()?;
    spec.base = Base::Layer(layer);
    let restored = probe.start(spec).await?;
    let kept = probe.sh(&restored, "cat /root/file").await?;
    ensure!(kept.stdout == "kept\n", "{kept:?}");
    Ok(Passed)
}

pub(super) async fn open_files_are_limited(probe: &mut Probe) -> Verdict {
    let limits = Limits {
        open_files: Some(32),
        ..Limits::default()
    };
    let devbox = limited(probe, limits).await?;
    let ran = probe
        .sh(
            &devbox,
            "ulimit -n; ulimit -n 64 2>/dev/null && echo raised",
        )
        .await?;
    ensure!(ran.stdout == "32\n", "{ran:?}");
    Ok(Passed)
}

pub(super) async fn processor_time_is_limited(probe: &mut Probe) -> Verdict {
    let limits = Limits {
        cpu_millis: Some(100),
        ..Limits::default()
    };
    let devbox = limited(probe, limits).await?;
    if let Some(skipped) = probe.lacks(&devbox, Property::CpuLimit).await? {
        return Ok(skipped);
    }
    let mut spec = ExecSpec::shell(probe.exec_id()?, "while :; do :; done");
    spec.timeout = Some(std::time::Duration::from_millis(1500));
    let spun = probe.finish(&devbox.exec(spec).await?).await?;
    let usage = devbox.usage().await?;
    // Whole idle seconds are far from the limit; only a processor without limit would come near the wall clock.
    ensure!(
        usage.cpu_micros.is_none_or(|micros| micros < 800_000),
        "{usage:?} in {:?}",
        spun.exit.wall
    );
    Ok(Passed)
}

pub(super) async fn a_limit_that_cannot_be_is_refused(probe: &mut Probe) -> Verdict {
    let zero = Some(0);
    for limits in [
        Limits {
            memory_bytes: zero,
            ..Limits::default()
        },
        Limits {
            disk_bytes: zero,
            ..Limits::default()
        },
        Limits {
            pids: Some(0),
            ..Limits::default()
        },
        Limits {
            cpu_millis: Some(0),
            ..Limits::default()
        },
        Limits {
            open_files: Some(0),
            ..Limits::default()
        },
    ] {
        let mut spec = probe.spec()?;
        spec.limits = limits;
        let refused = probe.backend().create(spec).await;
        ensure!(
            matches!(refused, Err(Error::Invalid(_))),
            "{limits:?} was accepted"
        );
    }
    Ok(Passed)
}

pub(super) async fn what_is_required_and_not_there_is_refused(probe: &mut Probe) -> Verdict {
    let mut spec = probe.spec()?;
    // No limit is set, so it cannot be enforced.
    spec.require = vec![Property::MemoryLimit];
    let id = spec.id.clone();
    let refused = probe.backend().create(spec.clone()).await;
    ensure!(
        matches!(
            refused,
            Err(Error::Unsupported {
                property: Property::MemoryLimit,
                ..
            })
        ),
        "a box was made without what it requires"
    );
    ensure!(
        matches!(probe.backend().open(&id).await, Err(Error::NoSuchBox(_))),
        "the refused box exists"
    );
    spec.require = vec![Property::Isolation];
    probe.start(spec).await?;
    Ok(Passed)
}
