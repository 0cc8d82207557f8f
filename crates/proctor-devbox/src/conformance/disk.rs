//! Disks: private, kept, snapshotted, stacked.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Failed,
    Outcome::Passed,
    Probe, Verdict,
    probe::{ensure, wait_for, within},
};
use crate::{
    backend::Devbox,
    error::Error,
    name::LayerId,
    record::SnapshotWay,
    spec::{Base, BoxSpec},
};

async fn on_layer(probe: &mut Probe, layer: &LayerId) -> Result<Arc<dyn Devbox>, Failed> {
    let spec = probe.spec()?;
    probe
        .start(BoxSpec {
            base: Base::Layer(layer.clone()),
            ..spec
        })
        .await
}

pub(super) async fn boxes_do_not_see_each_others_files(probe: &mut Probe) -> Verdict {
    let (one, other) = (probe.plain().await?, probe.plain().await?);
    probe
        .sh(&one, "echo mine > /tmp/file; echo mine > /root/file")
        .await?;
    let seen = probe
        .sh(&other, "ls /tmp/file /root/file 2>/dev/null | wc -l")
        .await?;
    ensure!(seen.stdout.trim() == "0", "{seen:?}");
    Ok(Passed)
}

pub(super) async fn a_snapshot_keeps_additions_and_removals(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let script = "mkdir -p /root/d/sub /root/replaced; echo kept > /root/d/sub/file; ln -s file /root/d/sub/link; \
        ln /root/d/sub/file /root/d/hard; chmod 751 /root/d; truncate -s 1M /root/hole; \
        rm /etc/services; rm -r /etc/profile.d; mkdir /etc/profile.d; echo new > /etc/profile.d/new.sh";
    let made = probe.sh(&devbox, script).await?;
    ensure!(made.exit.success(), "{made:?}");
    let layer = probe.layer()?;
    let labels = BTreeMap::from([("why".to_owned(), "test".to_owned())]);
    let record = devbox.snapshot(layer.clone(), labels.clone()).await?;
    ensure!(record.id == layer && record.labels == labels, "{record:?}");
    ensure!(
        probe.backend().layers().await?.contains(&record),
        "the layer is not listed"
    );
    let bytes = probe.backend().layer_bytes(&layer).await?;
    ensure!(
        (1..1 << 20).contains(&bytes),
        "{bytes} bytes: a hole takes nothing"
    );
    let restored = on_layer(probe, &layer).await?;
    let script = "cat /root/d/sub/link; stat -c '%a %h' /root/d /root/d/hard; stat -c %s /root/hole; \
        test -e /etc/services || echo removed; ls /etc/profile.d; ls /root/d/sub";
    let seen = probe.sh(&restored, script).await?;
    ensure!(
        seen.stdout == "kept\n751 3\n644 2\n1048576\nremoved\nnew.sh\nfile\nlink\n",
        "{seen:?}"
    );
    let again = devbox.snapshot(layer, labels).await;
    ensure!(
        matches!(again, Err(Error::Exists { .. })),
        "a layer was made twice"
    );
    Ok(Passed)
}

pub(super) async fn a_snapshot_leaves_what_is_in_memory(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    probe.sh(&devbox, "echo remembered > /dev/shm/file").await?;
    let layer = probe.layer()?;
    within(devbox.snapshot(layer.clone(), BTreeMap::new())).await??;
    let seen = probe.sh(&devbox, "cat /dev/shm/file").await?;
    ensure!(seen.stdout == "remembered\n", "{seen:?}");
    let restored = on_layer(probe, &layer).await?;
    let seen = probe.sh(&restored, "ls -A /dev/shm").await?;
    ensure!(
        seen.stdout.is_empty(),
        "it is no part of the disk: {seen:?}"
    );
    Ok(Passed)
}

pub(super) async fn a_box_goes_on_after_its_snapshot(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    probe.sh(&devbox, "echo before > /root/file").await?;
    let layer = probe.layer()?;
    within(devbox.snapshot(layer.clone(), BTreeMap::new())).await??;
    let seen = probe
        .sh(
            &devbox,
            "cat /root/file; echo after > /root/file; cat /root/file",
        )
        .await?;
    ensure!(seen.stdout == "before\nafter\n", "{seen:?}");
    let restored = on_layer(probe, &layer).await?;
    let seen = probe
        .sh(&restored, "cat /root/file; echo changed > /root/file")
        .await?;
    ensure!(seen.stdout == "before\n", "{seen:?}");
    let seen = probe.sh(&devbox, "cat /root/file").await?;
    ensure!(seen.stdout == "after\n", "{seen:?}");
    Ok(Passed)
}

pub(super) async fn a_snapshot_of_a_busy_box_leaves_its_programs_running(
    probe: &mut Probe,
) -> Verdict {
    let devbox = probe.plain().await?;
    let script =
        "echo state > /root/file; n=0; while :; do n=$((n+1)); echo tick $n; sleep 0.05; done";
    let execution = probe.launch(&devbox, script).await?;
    wait_for(&execution, "tick 2").await?;
    let layer = probe.layer()?;
    let record = within(devbox.snapshot(layer.clone(), BTreeMap::new())).await??;
    ensure!(record.way == SnapshotWay::Copied, "{record:?}");
    let now = execution.progress().stdout;
    within(execution.read_output(crate::spec::Stream::Stdout, now, 100)).await??;
    ensure!(
        execution.progress().exit.is_none(),
        "the program ended: {:?}",
        execution.progress()
    );
    let restored = on_layer(probe, &layer).await?;
    let seen = probe
        .sh(&restored, "cat /root/file; ls /proc | grep -c '^[0-9]'")
        .await?;
    ensure!(seen.stdout.starts_with("state\n"), "{seen:?}");
    Ok(Passed)
}

pub(super) async fn snapshots_stand_on_snapshots(probe: &mut Probe) -> Verdict {
    let mut devbox = probe.plain().await?;
    for number in 0..4 {
        let script = format!(
            "echo {number} >> /root/all; echo {number} > /root/{number}; rm -f /root/{}",
            number - 2
        );
        probe.sh(&devbox, &script).await?;
        let layer = probe.layer()?;
        devbox.snapshot(layer.clone(), BTreeMap::new()).await?;
        devbox = on_layer(probe, &layer).await?;
    }
    let seen = probe.sh(&devbox, "cat /root/all; ls /root").await?;
    ensure!(seen.stdout == "0\n1\n2\n3\n2\n3\nall\n", "{seen:?}");
    Ok(Passed)
}

pub(super) async fn what_changed_nothing_is_a_layer_like_any_other(probe: &mut Probe) -> Verdict {
    let mut devbox = probe.plain().await?;
    for number in 0..3 {
        let (untouched, touched) = (probe.layer()?, probe.layer()?);
        devbox.snapshot(untouched.clone(), BTreeMap::new()).await?;
        devbox = on_layer(probe, &untouched).await?;
        // In one part of the disk only, and in the other the next time.
        let place = ["/root", "/usr/share", "/root"][number];
        let written = probe
            .sh(&devbox, &format!("echo {number} > {place}/{number}"))
            .await?;
        ensure!(written.exit.success(), "{written:?}");
        devbox.snapshot(touched.clone(), BTreeMap::new()).await?;
        devbox = on_layer(probe, &touched).await?;
    }
    let seen = probe
        .sh(&devbox, "cat /root/0 /usr/share/1 /root/2")
        .await?;
    ensure!(seen.stdout == "0\n1\n2\n", "{seen:?}");
    Ok(Passed)
}

pub(super) async fn a_layer_that_is_needed_is_not_removed(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let layer = probe.layer()?;
    devbox.snapshot(layer.clone(), BTreeMap::new()).await?;
    let user = on_layer(probe, &layer).await?;
    devbox.destroy().await?;
    let refused = probe.backend().delete_layer(&layer).await;
    ensure!(
        matches!(refused, Err(Error::InUse { .. })),
        "a layer was removed under a box: {refused:?}"
    );
    user.destroy().await?;
    probe.backend().delete_layer(&layer).await?;
    let gone = probe.backend().delete_layer(&layer).await;
    ensure!(matches!(gone, Err(Error::NoSuchLayer(_))), "{gone:?}");
    let spec = probe.spec()?;
    let refused = probe
        .backend()
        .create(BoxSpec {
            base: Base::Layer(layer),
            ..spec
        })
        .await;
    ensure!(
        matches!(refused, Err(Error::NoSuchLayer(_))),
        "a box on a layer that is no more"
    );
    Ok(Passed)
}

pub(super) async fn the_disk_outlives_a_stop(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    probe.sh(&devbox, "echo kept > /root/file").await?;
    devbox.stop().await?;
    // A stopped box can be snapshotted too.
    let layer = probe.layer()?;
    let record = devbox.snapshot(layer, BTreeMap::new()).await?;
    ensure!(record.way == SnapshotWay::Renamed, "{record:?}");
    devbox.start().await?;
    let seen = probe.sh(&devbox, "cat /root/file").await?;
    ensure!(seen.stdout == "kept\n", "{seen:?}");
    Ok(Passed)
}
