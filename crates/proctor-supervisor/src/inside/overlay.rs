//! One mount of a stack of layers, with what the box changes on top.

use std::{
    os::fd::{AsRawFd as _, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags},
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags},
};

use super::{
    failure::{Failure, While},
    mounts::attach,
};
use crate::plan::Plan;

/// How long the options of a mount may be in one piece: the kernel takes a page.
const LONGEST_OPTIONS: usize = 4000;

/// Mounts the layers of `part` (their directories are called `upper`) over `bottom` at `target`.
pub(super) fn mount(
    plan: &Plan,
    part: &str,
    upper: &str,
    bottom: &str,
    target: &str,
) -> Result<(), Failure> {
    let own = format!("boxes/{}", plan.spec.id);
    let mut below: Vec<String> = plan
        .layers
        .iter()
        .map(|layer| format!("layers/{layer}"))
        .filter(|layer| has_part(layer, upper))
        .map(|layer| format!("{layer}/{upper}"))
        .collect();
    below.push(bottom.to_owned());
    let work = match plan.exact_disk {
        true => format!("{own}/disk/work-{part}"),
        false => format!("{own}/work-{part}"),
    };
    let stack = Stack::open(&below, &format!("{own}/disk/{upper}"), &work);
    let mounted = stack.and_then(|stack| stack.mount(target));
    mounted.doing(format_args!(
        "mounting the overlay of /{}",
        part.trim_start_matches("root")
    ))
}

/// Whether a layer changes anything in this part. What cannot be looked at is left for the mount to complain about, as is a layer that is not there.
fn has_part(layer: &str, upper: &str) -> bool {
    let is_missing = |path: &Path| {
        path.symlink_metadata()
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    let layer = Path::new(layer);
    is_missing(layer) || !is_missing(&layer.join(upper))
}

/// The directories of an overlay. The kernel shows everybody in the box how they were named, so they are named by descriptors: their own names
/// hold ids of the box and of what it stands on.
struct Stack {
    /// The topmost first.
    below: Vec<String>,
    upper: String,
    work: String,
    /// Keeps the descriptors open until the overlay is mounted.
    _open: Vec<OwnedFd>,
}

impl Stack {
    fn open(below: &[String], upper: &str, work: &str) -> std::io::Result<Self> {
        let mut open = Vec::with_capacity(below.len() + 2);
        let mut name = |path: &str| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory = rustix::fs::open(path, flags, Mode::empty())?;
            let name = format!("/proc/self/fd/{}", directory.as_raw_fd());
            open.push(directory);
            Ok::<_, std::io::Error>(name)
        };
        let below = below
            .iter()
            .map(|path| name(path))
            .collect::<Result<_, _>>()?;
        let (upper, work) = (name(upper)?, name(work)?);
        Ok(Self {
            below,
            upper,
            work,
            _open: open,
        })
    }

    fn mount(&self, target: &str) -> std::io::Result<()> {
        // Synchronising a box's disk is for nobody: it does not outlive the machine's crash anyway, and waiting for the
        // disk would be the largest part of destroying a box.
        let options = format!(
            "lowerdir={},upperdir={},workdir={},userxattr,volatile,xino=off",
            self.below.join(":"),
            self.upper,
            self.work
        );
        if options.len() > LONGEST_OPTIONS {
            return Ok(self.mount_piece_by_piece(target)?);
        }
        let options = std::ffi::CString::new(options).map_err(std::io::Error::other)?;
        let flags = MountFlags::empty();
        Ok(rustix::mount::mount(
            "overlay",
            target,
            "overlay",
            flags,
            Some(options.as_c_str()),
        )?)
    }

    /// The same with one call for each option, which takes any number of layers that overlayfs can have.
    fn mount_piece_by_piece(&self, target: &str) -> rustix::io::Result<()> {
        use rustix::mount::{fsconfig_create, fsconfig_set_flag, fsconfig_set_string};
        let overlay = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        for layer in &self.below {
            fsconfig_set_string(&overlay, "lowerdir+", layer.as_str())?;
        }
        fsconfig_set_string(&overlay, "upperdir", self.upper.as_str())?;
        fsconfig_set_string(&overlay, "workdir", self.work.as_str())?;
        fsconfig_set_string(&overlay, "xino", "off")?;
        fsconfig_set_flag(&overlay, "userxattr")?;
        fsconfig_set_flag(&overlay, "volatile")?;
        fsconfig_create(&overlay)?;
        let mount = rustix::mount::fsmount(
            &overlay,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::empty(),
        )?;
        attach(&mount, target)
    }
}
