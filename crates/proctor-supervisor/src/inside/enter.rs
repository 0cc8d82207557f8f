//! How a process that the supervisor forked becomes a process of the box.
//!
//! The order matters and is the heart of the isolation: control groups while still privileged outside, then all
//! namespaces, capabilities, system call filter; then limits, groups, user, and no way back. Everything but the user is the same for
//! all programs of a box, so it can be done before anybody knows which program it will be.

use std::{io, os::fd::AsFd};

use rustix::process::{Gid, Resource, Rlimit, Uid};

use super::{
    capabilities,
    failure::{Failure, While},
    first::First,
    identity::Identity,
    seccomp::Filter,
};
use crate::{
    cgroup::Doors,
    plan::{Ids, Plan},
    spec::{Limits, User},
    sys,
};

/// Takes on user and group 0 of the user namespace that this process is in.
pub(super) fn become_root(ids: Ids) -> rustix::io::Result<()> {
    if matches!(ids, Ids::Range { .. }) {
        rustix::thread::set_thread_groups(&[])?;
    }
    rustix::thread::set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT)?;
    rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)
}

/// Moves this process into the box: its groups (through `doors`) and its namespaces. It is root of the box then, with every
/// capability there. The process id namespace is not among them: the supervisor's children are born in it.
///
/// Its groups become the root of what it sees of control groups, in all hierarchies, so that none of their names shows: they hold the box's id.
pub(super) fn join(first: &First, doors: &Doors, ids: Ids) -> Result<(), Failure> {
    doors.join(0).doing("joining a control group")?;
    for (space, kind) in &first.spaces {
        rustix::thread::move_into_link_name_space(space.as_fd(), Some(*kind))
            .doing("entering the box")?;
    }
    sys::unshare(libc::CLONE_NEWCGROUP).doing("hiding the control groups")?;
    become_root(ids).doing("becoming root of the box")
}

/// Gives up everything that nobody in the box shall have, but for root of the box.
pub(super) fn renounce(plan: &Plan, filter: &Filter) -> Result<(), Failure> {
    capabilities::drop_bounding_set(capabilities::KEPT).doing("dropping capabilities")?;
    if !plan.spec.allow_sudo {
        rustix::thread::set_no_new_privs(true).doing("giving up new privileges")?;
    }
    // Needs either no new privileges or a capability that is given up with the user.
    filter.install().doing("filtering system calls")
}

/// Becomes `user` of the box, for good. Answers who that is.
pub(super) fn become_user(plan: &Plan, user: &User) -> Result<Identity, Failure> {
    let mut identity = Identity::find(user)
        .ok_or(io::ErrorKind::NotFound)
        .doing(format_args!("finding the user {user:?}"))?;
    if plan.ids == Ids::Single {
        // There is nobody else to be; the box's record says so.
        (identity.uid, identity.gid) = (0, 0);
    }
    limit(&plan.spec.limits, plan).doing("setting limits")?;
    if matches!(plan.ids, Ids::Range { .. }) {
        let groups: Vec<Gid> = identity
            .groups
            .iter()
            .copied()
            .filter(usable)
            .map(Gid::from_raw)
            .collect();
        rustix::thread::set_thread_groups(&groups).doing("setting groups")?;
    }
    if !usable(&identity.uid) || !usable(&identity.gid) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput)).doing("a user id beyond 65534");
    }
    let gid = Gid::from_raw(identity.gid);
    rustix::thread::set_thread_res_gid(gid, gid, gid).doing("setting the group")?;
    let uid = Uid::from_raw(identity.uid);
    rustix::thread::set_thread_res_uid(uid, uid, uid).doing("setting the user")?;
    if identity.uid == 0 {
        capabilities::keep_capabilities(capabilities::KEPT).doing("dropping capabilities")?;
    }
    Ok(identity)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that `filter` wants"
)]
fn usable(id: &u32) -> bool {
    *id < 65_535
}

fn limit(limits: &Limits, plan: &Plan) -> rustix::io::Result<()> {
    let set = |resource, most: u64| {
        let hard = rustix::process::getrlimit(resource)
            .maximum
            .unwrap_or(u64::MAX);
        let most = Some(most.min(hard));
        rustix::process::setrlimit(
            resource,
            Rlimit {
                current: most,
                maximum: most,
            },
        )
    };
    set(Resource::Core, 0)?;
    if let Some(most) = limits.open_files {
        set(Resource::Nofile, u64::from(most))?;
    }
    if let Some(bytes) = limits.disk_bytes {
        set(Resource::Fsize, bytes)?;
    }
    // Where no control group does it, these are better than nothing; the record says what they leave open.
    if let Some(most) = limits.pids
        && !plan.limits_pids()
    {
        set(Resource::Nproc, u64::from(most))?;
    }
    if let Some(bytes) = limits.memory_bytes
        && !plan.limits_memory()
    {
        set(Resource::As, bytes)?;
    }
    Ok(())
}
