//! What a program in a box sees around it.

use super::{
    Outcome::Passed,
    Probe, Verdict,
    probe::{ensure, within},
};
use crate::{
    error::Error,
    record::Property,
    spec::{ExecSpec, User},
};

pub(super) async fn a_box_has_its_own_processes_and_host_name(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let seen = probe.sh(&devbox, "cat /proc/sys/kernel/hostname; ls -d /proc/[0-9]* | wc -l; id -u; test $$ -lt 100 && echo low").await?;
    let lines: Vec<&str> = seen.stdout.lines().collect();
    ensure!(lines.first() == Some(&devbox.id().as_str()), "{seen:?}");
    let processes: u32 = lines
        .get(1)
        .and_then(|line| line.trim().parse().ok())
        .unwrap_or(0);
    ensure!(
        (2..10).contains(&processes),
        "{processes} processes are seen"
    );
    ensure!(
        lines.get(2) == Some(&"0") && lines.get(3) == Some(&"low"),
        "{seen:?}"
    );
    Ok(Passed)
}

pub(super) async fn there_is_no_network_but_loopback(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let seen = probe.sh(&devbox, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; tail -n +2 /proc/net/route | wc -l").await?;
    ensure!(seen.stdout == "lo\n0\n", "{seen:?}");
    // A connection to a closed port of its own is refused at once, one to elsewhere has no way.
    let script = "(exec 3<>/dev/tcp/127.0.0.1/9) 2>&1; (exec 3<>/dev/tcp/192.0.2.1/80) 2>&1; true";
    let bash = devbox
        .exec(ExecSpec::new(probe.exec_id()?, ["bash", "-c", script]))
        .await;
    let Ok(bash) = bash else { return Ok(Passed) };
    let ran = probe.finish(&bash).await?;
    ensure!(
        ran.stdout.contains("refused") && ran.stdout.contains("unreachable"),
        "{ran:?}"
    );
    Ok(Passed)
}

pub(super) async fn a_named_user_is_that_user_without_privileges(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let mut spec = ExecSpec::shell(probe.exec_id()?, "true");
    spec.user = User::Named("no-such-user".to_owned());
    let refused = devbox.exec(spec).await;
    ensure!(
        matches!(refused, Err(Error::CannotRun { .. })),
        "an unknown user ran a program"
    );
    if let Some(skipped) = probe.lacks(&devbox, Property::ManyUsers).await? {
        return Ok(skipped);
    }
    let made = probe.sh(&devbox, "grep -q ^someone: /etc/passwd || echo someone:x:1234:1234::/tmp:/bin/sh >> /etc/passwd").await?;
    ensure!(made.exit.success(), "{made:?}");
    let someone = User::Named("someone".to_owned());
    let seen = probe.sh_as(&devbox, &someone, "id -u; id -g; pwd; grep CapEff /proc/self/status; touch /etc/x 2>/dev/null || echo denied").await?;
    ensure!(
        seen.stdout == "1234\n1234\n/tmp\nCapEff:\t0000000000000000\ndenied\n",
        "{seen:?}"
    );
    let ids = probe
        .sh_as(&devbox, &User::Ids { uid: 77, gid: 78 }, "id -u; id -g")
        .await?;
    ensure!(ids.stdout == "77\n78\n", "{ids:?}");
    Ok(Passed)
}

pub(super) async fn privileges_cannot_be_gained(probe: &mut Probe) -> Verdict {
    let devbox = probe.plain().await?;
    let seen = probe
        .sh(
            &devbox,
            "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status",
        )
        .await?;
    ensure!(seen.stdout == "NoNewPrivs:\t1\nSeccomp:\t2\n", "{seen:?}");
    if let Some(skipped) = probe.lacks(&devbox, Property::ManyUsers).await? {
        return Ok(skipped);
    }
    let script = "cp /usr/bin/id /tmp/id && chmod 4755 /tmp/id";
    ensure!(
        probe.sh(&devbox, script).await?.exit.success(),
        "a tool with the set-user-id bit"
    );
    let somebody = User::Ids {
        uid: 1000,
        gid: 1000,
    };
    let ran = within(probe.sh_as(&devbox, &somebody, "/tmp/id -u")).await??;
    ensure!(ran.stdout == "1000\n", "the bit gave a privilege: {ran:?}");

    let mut spec = probe.spec()?;
    spec.allow_sudo = true;
    let devbox = probe.start(spec).await?;
    ensure!(
        probe.sh(&devbox, script).await?.exit.success(),
        "a tool with the set-user-id bit"
    );
    let ran = probe
        .sh_as(
            &devbox,
            &somebody,
            "/tmp/id -u; grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status",
        )
        .await?;
    ensure!(
        ran.stdout == "0\nNoNewPrivs:\t0\nSeccomp:\t2\n",
        "where it is allowed it must work: {ran:?}"
    );
    Ok(Passed)
}
