//! What a box on this host has and has not, in words.

use super::{
    cgroup::{Groups, Role},
    plan::{Bottom, Ids},
};
use crate::{
    error::{Error, Result},
    network::Network,
    record::{Enforcement, How, Property},
    spec::BoxSpec,
};

/// Whether a box's disk is a file system of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExactDisk {
    /// It is.
    Made,
    /// Nobody asked for it.
    NotAsked,
    /// The host cannot, for this reason.
    Cannot(String),
}

/// The statement for a box with this plan.
pub(super) fn statement(
    spec: &BoxSpec,
    ids: Ids,
    bottom: &Bottom,
    groups: &Groups,
    exact_disk: &ExactDisk,
) -> Vec<Enforcement> {
    use Property as P;
    let limits = &spec.limits;
    let mut statement = Vec::new();
    let mut say = |property, how| statement.push(Enforcement { property, how });
    say(P::Isolation, How::Enforced);
    say(P::SystemCallFilter, How::Enforced);
    match ids {
        Ids::Range { .. } => {
            say(P::DistinctUsers, How::Enforced);
            say(P::ManyUsers, How::Enforced);
            say(P::WritableBase, How::Enforced);
        }
        Ids::Single => {
            let why = "the server is not root: the box's root is the server's user, and nobody else is in the box";
            say(P::DistinctUsers, How::Missing(why.to_owned()));
            say(P::ManyUsers, How::Missing(why.to_owned()));
            let why = match bottom {
                Bottom::Host { .. } => {
                    "the server is not root: what the host's root owns, as all of /usr, cannot be changed"
                }
                Bottom::RootFs { .. } => {
                    "the server is not root: files of the base that it does not own cannot be changed"
                }
            };
            say(P::WritableBase, How::Missing(why.to_owned()));
        }
    }
    if groups.has(&[Role::Unified, Role::KillAndFreeze, Role::Freezer]) {
        say(P::TreeKill, How::Enforced);
        say(P::Suspend, How::Enforced);
    } else {
        say(P::TreeKill, How::Soft("no writable cgroup: a program that hides its parentage and environment ends only with the box".to_owned()));
        say(
            P::Suspend,
            How::Soft(
                "no writable cgroup: processes are stopped by a signal, which they can notice"
                    .to_owned(),
            ),
        );
    }
    if limits.memory_bytes.is_some() {
        say(
            P::MemoryLimit,
            if groups.has(&[Role::Unified, Role::Memory]) {
                How::Enforced
            } else {
                How::Soft("no writable cgroup: each process by itself is held to the limit (address space)".to_owned())
            },
        );
    }
    if limits.pids.is_some() {
        say(
            P::PidsLimit,
            if groups.has(&[Role::Unified, Role::Pids]) {
                How::Enforced
            } else {
                How::Soft(
                    "no writable cgroup: the number of processes is limited per user of the box"
                        .to_owned(),
                )
            },
        );
    }
    if limits.cpu_millis.is_some() {
        say(
            P::CpuLimit,
            if groups.limits_cpu() {
                How::Enforced
            } else {
                How::Missing("no writable cgroup for processor time".to_owned())
            },
        );
    }
    if limits.disk_bytes.is_some() || limits.disk_files.is_some() {
        let soft = "counted several times a second: a fast writer may exceed the limit for a moment before it is ended";
        let (limit, exact) = match exact_disk {
            ExactDisk::Made => (How::Enforced, How::Enforced),
            ExactDisk::NotAsked => (
                How::Soft(soft.to_owned()),
                How::Missing("the box does not require it".to_owned()),
            ),
            ExactDisk::Cannot(why) => (How::Soft(soft.to_owned()), How::Missing(why.clone())),
        };
        say(P::DiskLimit, limit);
        say(P::ExactDisk, exact);
    }
    if matches!(spec.network, Network::Allow(_)) {
        say(P::Egress, How::Enforced);
    }
    if limits.open_files.is_some() {
        say(P::OpenFilesLimit, How::Enforced);
    }
    statement
}

/// Refuses a box that requires what its statement does not have.
pub(super) fn check(required: &[Property], statement: &[Enforcement]) -> Result<()> {
    for &property in required {
        let line = statement.iter().find(|line| line.property == property);
        let why = match line.map(|line| &line.how) {
            Some(How::Enforced) => continue,
            Some(How::Soft(why) | How::Missing(why)) => why.clone(),
            None => "the box sets no such limit".to_owned(),
        };
        return Err(Error::Unsupported { property, why });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{name::BoxId, spec::Base};

    #[test]
    fn what_is_required_and_missing_is_refused_with_the_reason() {
        let mut spec = BoxSpec::new(BoxId::new("a").unwrap(), Base::Host);
        spec.limits.memory_bytes = Some(1 << 30);
        let bottom = Bottom::Host {
            skeleton: "host-x".to_owned(),
        };
        let statement = statement(
            &spec,
            Ids::Single,
            &bottom,
            &Groups::default(),
            &ExactDisk::NotAsked,
        );
        assert!(
            check(
                &[Property::Isolation, Property::SystemCallFilter],
                &statement
            )
            .is_ok()
        );
        for property in [
            Property::MemoryLimit,
            Property::ManyUsers,
            Property::CpuLimit,
        ] {
            let refused = check(&[property], &statement).unwrap_err();
            assert!(
                matches!(refused, Error::Unsupported { property: p, .. } if p == property),
                "{refused}"
            );
        }
    }
}
