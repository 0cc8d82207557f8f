//! The box that a devbox asks for, and what it did not get of it.

use proctor_core::{
    blueprint::ImageDisk,
    devbox::{DevboxBase, DevboxSetup},
    id::Dialect,
};
use proctor_devbox::{Base, BaseName, BoxRecord, BoxSpec, How, LayerId, Limits, Property, Volume};
use proctor_store::devboxes::DevboxRecord;

use crate::{accounts, devboxes::box_id, error::FleetError};

/// So many processes and threads may a devbox have at once.
const MOST_PROCESSES: u32 = 4096;

/// The box that a devbox asks for.
pub(super) fn spec(record: &DevboxRecord) -> Result<BoxSpec, FleetError> {
    let layer = |name: String| {
        LayerId::new(name).map_err(|error| FleetError::invalid("base", error.to_string()))
    };
    let base = match &record.setup.base {
        DevboxBase::Host => Base::Host,
        DevboxBase::Snapshot(id) => Base::Layer(layer(id.wire(Dialect::Runloop))?),
        DevboxBase::Blueprint { image, .. } => match &image.disk {
            ImageDisk::Host => Base::Host,
            ImageDisk::Layer(name) => Base::Layer(layer(name.clone())?),
            ImageDisk::RootFs(name) => Base::RootFs(
                BaseName::new(name.clone())
                    .map_err(|error| FleetError::invalid("base", error.to_string()))?,
            ),
        },
    };
    let resources = record.setup.launch.sizing.resources();
    let mut spec = BoxSpec::new(box_id(record.id), base);
    spec.limits = Limits {
        cpu_millis: Some(resources.cpu_millis()),
        memory_bytes: Some(resources.memory_bytes()),
        pids: Some(MOST_PROCESSES),
        disk_bytes: Some(resources.disk_bytes()),
        disk_files: None,
        open_files: None,
    };
    let volumes = record.setup.volumes.iter();
    spec.volumes = volumes
        .map(|(at, name)| Volume {
            name: name.clone(),
            at: at.clone(),
        })
        .collect();
    // Root of a box is root of nothing else.
    spec.allow_sudo = true;
    Ok(spec)
}

/// What the box has not, or not quite, of what it should have, in words.
pub(super) fn caveats(known: &BoxRecord, setup: &DevboxSetup) -> Vec<String> {
    let mut caveats: Vec<String> = known
        .enforcement
        .iter()
        // Nobody asks for it here.
        .filter(|line| line.property != Property::ExactDisk)
        .filter_map(|line| match &line.how {
            How::Enforced => None,
            How::Soft(why) => Some(format!("{}: {why}", named(line.property))),
            How::Missing(why) => Some(format!("{}: none; {why}", named(line.property))),
        })
        .collect();
    if setup.launch.user.is_some() && !accounts::has_many_users(known) {
        caveats.push("user: this server's devboxes have one user only, root".to_owned());
    }
    caveats
}

fn named(property: Property) -> &'static str {
    match property {
        Property::Isolation => "isolation",
        Property::DistinctUsers => "users apart from the host's",
        Property::ManyUsers => "several users",
        Property::SystemCallFilter => "system call filter",
        Property::CpuLimit => "processor limit",
        Property::MemoryLimit => "memory limit",
        Property::PidsLimit => "limit on processes",
        Property::DiskLimit => "disk limit",
        Property::OpenFilesLimit => "limit on open files",
        Property::TreeKill => "ending everything an execution started",
        Property::Suspend => "suspending",
        Property::ExactDisk => "disk limit to the byte",
        Property::Egress => "network policy",
        Property::WritableBase => "writable base",
    }
}
