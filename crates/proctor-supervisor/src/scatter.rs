//! Where on a disk directories go.

use std::path::Path;

use rustix::fs::{IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags};

/// Asks the file system to put the directories in this one far from each other, where it has such a wish (ext4 does).
///
/// Boxes make and remove many small files. In one place, every new one is looked for among all that were just removed.
pub fn scatter(directory: &Path) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(handle) = rustix::fs::open(directory, flags, Mode::empty())
        && let Ok(flags) = ioctl_getflags(&handle)
    {
        // Only a wish: without it everything works as well.
        let _ = ioctl_setflags(&handle, flags | IFlags::TOPDIR);
    }
}
