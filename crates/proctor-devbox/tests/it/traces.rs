//! What boxes leave behind that can be seen from outside: mounts, processes, control groups, loop devices, files.

use std::path::{Path, PathBuf};

/// Everything that belongs to the backend on `data`, or to boxes whose names begin with `prefix`.
pub(crate) fn traces(data: &Path, prefix: &str) -> Vec<String> {
    let mut traces = mounts(data);
    traces.extend(processes(data, prefix));
    traces.extend(groups(prefix));
    traces.extend(loop_files(data));
    traces
}

/// Files of the backend that a loop device has.
pub(crate) fn loop_files(data: &Path) -> Vec<String> {
    let devices = fs_err::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .flatten();
    devices
        .filter_map(|device| fs_err::read_to_string(device.path().join("loop/backing_file")).ok())
        .filter(|file| file.contains(data.to_str().unwrap()))
        .collect()
}

fn mounts(data: &Path) -> Vec<String> {
    let data = data.to_str().unwrap();
    let mounts = fs_err::read_to_string("/proc/self/mountinfo").unwrap();
    let ours = mounts.lines().filter(|line| line.contains(data));
    ours.map(str::to_owned).collect()
}

/// Processes that have a file of the backend open, or live on the disk of one of the boxes. This one does not count.
fn processes(data: &Path, prefix: &str) -> Vec<String> {
    let data = data.to_str().unwrap();
    let disk = format!("upperdir=boxes/{prefix}");
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for process in fs_err::read_dir("/proc").unwrap().flatten() {
        let name = process.file_name().into_string().unwrap();
        if name == own || name.parse::<u32>().is_err() {
            continue;
        }
        if fs_err::read_to_string(process.path().join("mountinfo"))
            .is_ok_and(|mounts| mounts.contains(&disk))
        {
            found.push(format!("process {name} is in a box"));
        }
        let fds = fs_err::read_dir(process.path().join("fd"));
        for fd in fds.into_iter().flatten().flatten() {
            if fs_err::read_link(fd.path()).is_ok_and(|link| link.to_string_lossy().contains(data))
            {
                found.push(format!("process {name} has {fd:?}"));
            }
        }
    }
    found
}

/// Control groups of such boxes.
fn groups(prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![Path::new("/sys/fs/cgroup").to_owned()];
    while let Some(directory) = pending.pop() {
        let entries = fs_err::read_dir(&directory);
        for entry in entries.into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let ours = directory.to_string_lossy().contains("/proctor-")
                    && entry.file_name().to_string_lossy().starts_with(prefix);
                if ours {
                    found.push(entry.path().display().to_string());
                }
                pending.push(entry.path());
            }
        }
    }
    found
}

/// Every file and directory below `root`.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs_err::read_dir(&directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}
