//! Boxes of Linux namespaces on this machine, without a container engine.
//!
//! [`LocalBackend`] is the server's side: it plans boxes on disk, has them brought up by its launcher, and talks to their
//! supervisors. `proctor-supervisor` is the other side: the launcher, the supervisors and what happens in a box. The two talk by the plan
//! on disk ([`plan`]), the messages ([`wire`]), and the orders and what an execution leaves ([`inside`]). They also have in common what both do
//! to files, disks and control groups ([`tree`], [`image`], [`cgroup`]). docs/devboxes.md has the design and the threat model.

mod backend;
mod devbox;
mod disk_changes;
mod enforcement;
mod entrance;
mod execution;
mod host_base;
mod id_ranges;
mod launch;
mod layers;
mod link;
mod outlet;
mod output_secret;
mod probe;
mod root_file_systems;
mod snapshot;
mod stacks;
mod transfer;

use std::{path::PathBuf, sync::Arc, time::Duration};

pub use backend::LocalBackend;
pub use output_secret::OutputSecret;
pub use proctor_supervisor::cgroup::TotalLimits;
use proctor_supervisor::{cgroup, image, inside, output_key, plan, tree, wire};
pub use root_file_systems::{forget_rootfs, user_of_rootfs};

use crate::{
    egress::{Names, OwnServer, SystemNames},
    registry::{Factory, Settings},
};

/// How the registry opens this backend.
pub const FACTORY: Factory = Factory {
    name: "local",
    about: "Linux namespaces on this machine; needs no container engine and no image",
    open: |settings: &Settings| {
        let config = LocalConfig {
            exact_disk: settings.exact_disks,
            totals: settings.totals,
            output_secret: settings.output_secret,
            server: settings.server.clone(),
            ..LocalConfig::new(settings.data.join("local"))
        };
        Ok(Arc::new(LocalBackend::open(config)?))
    },
};

/// How a [`LocalBackend`] works.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// Where boxes and layers are kept. One process at a time.
    pub data: PathBuf,
    /// Where the names lead that boxes want to reach.
    pub names: Arc<dyn Names>,
    /// The server that boxes ask whose policy lists paths of it.
    pub server: OwnServer,
    /// Whether every box with a limit on its disk gets one that is exact, where the host can: a file system of its own. Such a box takes longer to
    /// make and its snapshots are copies. Boxes that require it get one in any case.
    pub exact_disk: bool,
    /// What all boxes may have together; what is not said follows from the machine.
    pub totals: TotalLimits,
    /// What the keys follow from that the output of programs is enciphered with on disk; without it, it is kept as it is.
    pub output_secret: Option<OutputSecret>,
    /// A box whose server has been gone for this long is suspended.
    pub orphan_freeze: Duration,
    /// A box whose server has been gone for this long is stopped.
    pub orphan_stop: Duration,
}

impl LocalConfig {
    /// The usual settings, with files in `data`.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            names: Arc::new(SystemNames),
            server: OwnServer::default(),
            exact_disk: false,
            totals: TotalLimits::default(),
            output_secret: None,
            orphan_freeze: Duration::from_secs(2 * 3600),
            orphan_stop: Duration::from_secs(24 * 3600),
        }
    }
}
