//! What this host offers to local boxes, found out by doing it.

use std::path::Path;

use proctor_core::causes::with_causes;
use proctor_supervisor::seccomp_available;

use super::{
    backend::LocalBackend,
    cgroup::{Groups, Role},
    id_ranges,
};
use crate::{
    backend::Backend,
    doctor::{Finding, Report, Severity},
    error::{Error, Result},
    name::{BoxId, ExecId},
    record::{How, Property},
    spec::{Base, BoxSpec, ExecSpec, Limits},
};

/// Tries everything, most basic first; last of all a real box.
pub(super) async fn report(backend: &LocalBackend, groups: &Groups) -> Report {
    let mut findings = vec![privileges(), user_namespaces(), system_call_filter()];
    findings.extend(control_groups(groups));
    findings.push(exact_disk(backend).await);
    findings.push(a_box(backend).await);
    Report {
        backend: backend.name().to_owned(),
        findings,
    }
}

fn finding(
    what: &str,
    severity: Severity,
    found: impl Into<String>,
    costs: Option<&str>,
) -> Finding {
    Finding {
        what: what.to_owned(),
        severity,
        found: found.into(),
        costs: costs.map(str::to_owned),
    }
}

fn privileges() -> Finding {
    if id_ranges::available() {
        return finding(
            "privileges",
            Severity::Fine,
            "root: every box has user ids of its own",
            None,
        );
    }
    finding(
        "privileges",
        Severity::Weaker,
        "not root of this machine",
        Some(
            "one user per box, which is the server's own outside; /usr read-only; limits only with a delegated cgroup. Run the server as root, or under systemd with Delegate=yes",
        ),
    )
}

fn user_namespaces() -> Finding {
    let read = |path: &str| {
        fs_err::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let what = "user namespaces";
    if read("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        let costs = "no boxes: set user.max_user_namespaces above 0";
        return finding(
            what,
            Severity::Blocking,
            "user.max_user_namespaces is 0",
            Some(costs),
        );
    }
    let root = id_ranges::available();
    for (path, forbids) in [
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
        ),
    ] {
        if !root && read(path).as_deref() == Some(forbids) {
            let costs = "no boxes without root: allow unprivileged user namespaces, or run the server as root";
            return finding(
                what,
                Severity::Blocking,
                format!("{path} is {forbids}"),
                Some(costs),
            );
        }
    }
    finding(what, Severity::Fine, "allowed", None)
}

fn system_call_filter() -> Finding {
    if seccomp_available() {
        return finding("system call filter", Severity::Fine, "seccomp", None);
    }
    let costs = "no boxes: the kernel must be built with CONFIG_SECCOMP_FILTER";
    finding(
        "system call filter",
        Severity::Blocking,
        "the kernel has none",
        Some(costs),
    )
}

fn control_groups(groups: &Groups) -> Vec<Finding> {
    let any = |roles: &[Role]| {
        groups
            .hierarchies
            .iter()
            .find(|known| roles.contains(&known.role))
    };
    let one = |what, roles: &[Role], costs| match any(roles) {
        Some(known) => finding(what, Severity::Fine, at(&known.parent), None),
        None => finding(what, Severity::Weaker, "no writable cgroup", Some(costs)),
    };
    vec![
        one(
            "memory limit",
            &[Role::Unified, Role::Memory],
            "each process by itself is limited, the box is not",
        ),
        one(
            "process limit",
            &[Role::Unified, Role::Pids],
            "limited per user of the box",
        ),
        one(
            "processor limit",
            &[Role::Unified, Role::Cpu],
            "none: a box may use every processor",
        ),
        one(
            "ending and suspending everything at once",
            &[Role::Unified, Role::KillAndFreeze, Role::Freezer],
            "done by looking for processes, which a hostile program can evade until its box ends",
        ),
    ]
}

fn at(path: &Path) -> String {
    path.parent().unwrap_or(path).display().to_string()
}

async fn exact_disk(backend: &LocalBackend) -> Finding {
    let what = "exact disk limit";
    match try_box(backend, "doctor-disk", &[Property::ExactDisk]).await {
        Ok(_) => finding(
            what,
            Severity::Fine,
            "a file system per box, for boxes that require it",
            None,
        ),
        Err(error) => finding(
            what,
            Severity::Weaker,
            with_causes(&error).to_string(),
            Some("disk limits are counted several times a second and can be exceeded for a moment"),
        ),
    }
}

async fn a_box(backend: &LocalBackend) -> Finding {
    match try_box(backend, "doctor", &[]).await {
        Ok(soft) if soft.is_empty() => finding(
            "a box on the host base",
            Severity::Fine,
            "made, used and destroyed",
            None,
        ),
        Ok(soft) => finding(
            "a box on the host base",
            Severity::Weaker,
            "made, used and destroyed",
            Some(&soft.join("; ")),
        ),
        Err(error) => finding(
            "a box on the host base",
            Severity::Blocking,
            with_causes(&error).to_string(),
            Some("no boxes"),
        ),
    }
}

/// Makes, uses and destroys a box with every limit. Answers what was not enforced.
async fn try_box(backend: &LocalBackend, name: &str, require: &[Property]) -> Result<Vec<String>> {
    let id = BoxId::new(format!("{name}-{}", std::process::id()))
        .map_err(|error| Error::Invalid(error.to_string()))?;
    let mut spec = BoxSpec::new(id, Base::Host);
    spec.limits = Limits {
        cpu_millis: Some(1000),
        memory_bytes: Some(256 << 20),
        pids: Some(64),
        disk_bytes: Some(64 << 20),
        disk_files: Some(10_000),
        open_files: Some(256),
    };
    spec.require = require.to_vec();
    let devbox = backend.create(spec).await?;
    let used = async {
        devbox.start().await?;
        let exec = ExecId::new("probe").map_err(|error| Error::Invalid(error.to_string()))?;
        let exit = devbox
            .exec(ExecSpec::new(exec, ["/bin/true"]))
            .await?
            .wait()
            .await?;
        if !exit.success() {
            return Err(Error::Invalid(format!(
                "/bin/true ended with {}",
                exit.status()
            )));
        }
        devbox.record().await
    };
    let used = used.await;
    devbox.destroy().await?;
    let lines = used?
        .enforcement
        .into_iter()
        // That has a finding of its own.
        .filter(|line| line.property != Property::ExactDisk)
        .filter_map(|line| match line.how {
            How::Enforced => None,
            How::Soft(why) | How::Missing(why) => Some(format!("{:?}: {why}", line.property)),
        });
    Ok(lines.collect())
}
