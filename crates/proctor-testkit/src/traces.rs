//! What boxes leave behind that can be seen from outside: mounts, processes, control groups, loop devices, files.

use std::path::{Path, PathBuf};

/// Everything that belongs to the backend on `data`, or to boxes whose names begin with `prefix`.
#[must_use]
pub fn traces(data: &Path, prefix: &str) -> Vec<String> {
    traces_of(data, |name| name.starts_with(prefix))
}

/// Everything that belongs to the backend on `data`, or to boxes with these names.
#[must_use]
pub fn traces_of(data: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<String> {
    let mut traces = mounts(data);
    traces.extend(processes(data, &is_ours));
    traces.extend(groups(&is_ours));
    traces.extend(loop_files(data));
    traces
}

/// Files of the backend that a loop device has.
#[must_use]
pub fn loop_files(data: &Path) -> Vec<String> {
    let data = text(data);
    let devices = fs_err::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .flatten();
    devices
        .filter_map(|device| fs_err::read_to_string(device.path().join("loop/backing_file")).ok())
        .filter(|file| file.contains(data))
        .collect()
}

fn text(path: &Path) -> &str {
    path.to_str()
        .expect("temporary directories have plain names")
}

fn mounts(data: &Path) -> Vec<String> {
    let data = text(data);
    let mounts = fs_err::read_to_string("/proc/self/mountinfo").expect("every process has mounts");
    let ours = mounts.lines().filter(|line| line.contains(data));
    ours.map(str::to_owned).collect()
}

/// Processes that have a file of the backend open, or are in a control group of one of the boxes. This one does not count.
fn processes(data: &Path, is_ours: &impl Fn(&str) -> bool) -> Vec<String> {
    let data = text(data);
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    let processes = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let name = process.file_name().to_string_lossy().into_owned();
        if name == own || name.parse::<u32>().is_err() {
            continue;
        }
        // One that has ended and waits to be reaped is still in its groups, but sees no mounts.
        if fs_err::read_to_string(process.path().join("mountinfo")).is_err() {
            continue;
        }
        let groups = fs_err::read_to_string(process.path().join("cgroup")).unwrap_or_default();
        let mut boxes = groups.lines().filter_map(|line| {
            let (_, below) = line.split_once("/proctor-")?;
            below.split('/').nth(1)
        });
        if boxes.any(is_ours) {
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
fn groups(is_ours: &impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![Path::new("/sys/fs/cgroup").to_owned()];
    while let Some(directory) = pending.pop() {
        let entries = fs_err::read_dir(&directory);
        for entry in entries.into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let ours = directory.to_string_lossy().contains("/proctor-")
                    && is_ours(&entry.file_name().to_string_lossy());
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
#[must_use]
pub fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        let entries = fs_err::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}
