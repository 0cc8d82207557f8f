//! What boxes are compared with: a bare program, and bwrap on an overlay.

use std::{path::Path, process::Stdio};

use rustix::mount::{MountFlags, UnmountFlags};

/// `/bin/true`, started and waited for.
pub(crate) async fn bare() {
    let status = tokio::task::spawn_blocking(|| std::process::Command::new("/bin/true").status());
    assert!(status.await.unwrap().unwrap().success());
}

/// Whether bwrap is installed and we may mount the overlay that it has not.
pub(crate) fn has_bwrap() -> bool {
    let found = std::process::Command::new("bwrap")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    rustix::process::geteuid().is_root() && found.is_ok_and(|status| status.success())
}

/// A fresh overlay on the host's `/usr`, `/bin/true` in bwrap with every namespace, and nothing left.
pub(crate) async fn bwrap(data: &Path, round: usize) {
    let place = data.join(format!("bwrap-{round}"));
    tokio::task::spawn_blocking(move || {
        for name in ["upper", "work", "merged"] {
            fs_err::create_dir_all(place.join(name)).unwrap();
        }
        let merged = place.join("merged");
        let options = format!(
            "lowerdir=/usr,upperdir={0}/upper,workdir={0}/work,volatile",
            place.display()
        );
        let options = std::ffi::CString::new(options).unwrap();
        rustix::mount::mount(
            "overlay",
            &merged,
            "overlay",
            MountFlags::empty(),
            Some(options.as_c_str()),
        )
        .unwrap();
        let status = std::process::Command::new("bwrap")
            .args([
                "--unshare-all",
                "--die-with-parent",
                "--new-session",
                "--bind",
            ])
            .arg(&merged)
            .args([
                "/usr",
                "--symlink",
                "usr/bin",
                "/bin",
                "--symlink",
                "usr/lib",
                "/lib",
                "--symlink",
                "usr/lib64",
                "/lib64",
            ])
            .args([
                "--proc",
                "/proc",
                "--dev",
                "/dev",
                "--tmpfs",
                "/tmp",
                "/bin/true",
            ])
            .stdin(Stdio::null())
            .status();
        rustix::mount::unmount(&merged, UnmountFlags::empty()).unwrap();
        fs_err::remove_dir_all(&place).unwrap();
        assert!(status.unwrap().success());
    })
    .await
    .unwrap();
}
