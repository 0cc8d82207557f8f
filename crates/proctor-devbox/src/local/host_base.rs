//! The host as a base: a skeleton of copied files around the host's `/usr`.
//!
//! An allow-list. What is not named here is not in a box: no home directories, no keys, no password hashes, no sockets, no data
//! directories, nothing that is installed later outside `/usr`.

use std::{
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use sha2::{Digest, Sha256};

use super::{id_ranges, plan::Places, tree};

/// What is copied from `/etc`: needed by programs, known to everybody who has the distribution.
const ETC: &[&str] = &[
    "adduser.conf",
    "alternatives",
    "bash.bashrc",
    "bash_completion.d",
    "ca-certificates",
    "ca-certificates.conf",
    "debconf.conf",
    "debian_version",
    "default/locale",
    "default/useradd",
    "deluser.conf",
    "dpkg",
    "fonts",
    "gai.conf",
    "groff",
    "host.conf",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.gen",
    "localtime",
    "login.defs",
    "magic",
    "magic.mime",
    "mime.types",
    "networks",
    "nsswitch.conf",
    "os-release",
    "pam.conf",
    "pam.d",
    "perl",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "rpc",
    "security",
    "services",
    "shells",
    "skel",
    "ssl/certs",
    "ssl/openssl.cnf",
    "sudo.conf",
    "terminfo",
    "timezone",
    "ucf.conf",
    "vim",
    "xattr.conf",
    "xml",
];

/// What is copied from `/var`: package managers know what is installed.
const VAR: &[&str] = &[
    "lib/dpkg/status",
    "lib/dpkg/diversions",
    "lib/dpkg/statoverride",
    "lib/rpm",
];

/// Directories that every system has, with their modes.
const DIRECTORIES: &[(&str, u32)] = &[
    ("dev", 0o755),
    ("etc", 0o755),
    ("home", 0o755),
    ("home/user", 0o755),
    ("media", 0o755),
    ("mnt", 0o755),
    ("opt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("run/lock", 0o1777),
    ("srv", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr", 0o755),
    ("var", 0o755),
    ("var/cache/apt/archives/partial", 0o755),
    ("var/lib/apt/lists/partial", 0o755),
    ("var/lib/dpkg/info", 0o755),
    ("var/lib/dpkg/updates", 0o755),
    ("var/lib/dpkg/triggers", 0o755),
    ("var/log/apt", 0o755),
    ("var/tmp", 0o1777),
];

/// The account that agents usually work with.
const USER: u32 = 1000;

/// The host's packages as they were when the skeleton was last looked at.
#[derive(Debug, Default)]
pub(super) struct HostBase {
    known: Mutex<Option<(SystemTime, String)>>,
}

impl HostBase {
    /// The name of the skeleton of the host as it is now, made if it is not there. Looking again costs one `stat`.
    pub(super) fn prepare(&self, places: &Places) -> io::Result<String> {
        let packages =
            std::fs::metadata("/var/lib/dpkg/status").and_then(|metadata| metadata.modified());
        let packages = packages.unwrap_or(SystemTime::UNIX_EPOCH);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((when, name)) if *when == packages => Ok(name.clone()),
            _ => {
                let name = prepare(places)?;
                *known = Some((packages, name.clone()));
                Ok(name)
            }
        }
    }
}

/// Makes the skeleton of the host as it is now, unless it is there. Answers its name, `host-` and a fingerprint.
fn prepare(places: &Places) -> io::Result<String> {
    let name = format!("host-{}", fingerprint()?);
    let done = places.bases().join(&name);
    if done.exists() {
        return Ok(name);
    }
    let fresh = places.bases().join(format!(".new-{name}"));
    tree::remove(&fresh)?;
    fs_err::create_dir_all(&fresh)?;
    build(&fresh)?;
    fs_err::rename(fresh, done)?;
    Ok(name)
}

/// Of the packages that are installed and of the files that are copied.
fn fingerprint() -> io::Result<String> {
    let mut hash = Sha256::new();
    hash.update(fs_err::read("/var/lib/dpkg/status").unwrap_or_default());
    let roots = ETC.iter().map(|name| format!("/etc/{name}"));
    for path in roots.chain(VAR.iter().map(|name| format!("/var/{name}"))) {
        if let Ok(metadata) = fs_err::symlink_metadata(&path) {
            hash.update(format!(
                "{path} {} {}.{}\n",
                metadata.len(),
                metadata.mtime(),
                metadata.mtime_nsec()
            ));
        }
    }
    hash.update(accounts("passwd")?);
    Ok(hash
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn build(root: &Path) -> io::Result<()> {
    fs_err::set_permissions(root, std::fs::Permissions::from_mode(0o755))?;
    for (name, mode) in DIRECTORIES {
        fs_err::create_dir_all(root.join(name))?;
        fs_err::set_permissions(root.join(name), std::fs::Permissions::from_mode(*mode))?;
    }
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        let path = Path::new("/").join(name);
        if let Ok(target) = fs_err::read_link(&path) {
            symlink(target, root.join(name))?;
        } else if path.is_dir() {
            return Err(io::Error::other(format!(
                "/{name} is not a link into /usr: this host's layout cannot be a base; register a root file system instead"
            )));
        }
    }
    symlink("/run", root.join("var/run"))?;
    symlink("/run/lock", root.join("var/lock"))?;
    for name in ETC {
        copy_allowed(&Path::new("/etc").join(name), &root.join("etc").join(name))?;
    }
    for name in VAR {
        copy_allowed(&Path::new("/var").join(name), &root.join("var").join(name))?;
    }
    let etc = root.join("etc");
    fs_err::write(etc.join("passwd"), accounts("passwd")?)?;
    fs_err::write(etc.join("group"), accounts("group")?)?;
    fs_err::write(etc.join("hosts"), "127.0.0.1 localhost\n::1 localhost\n")?;
    fs_err::write(etc.join("hostname"), "devbox\n")?;
    fs_err::write(etc.join("resolv.conf"), "")?;
    fs_err::write(etc.join("machine-id"), "")?;
    symlink("/proc/self/mounts", etc.join("mtab"))?;
    if id_ranges::available() {
        std::os::unix::fs::chown(root.join("home/user"), Some(USER), Some(USER))?;
        fs_err::create_dir_all(etc.join("sudoers.d"))?;
        fs_err::write(
            etc.join("sudoers"),
            "Defaults env_keep += \"PATH HOME\"\nroot ALL=(ALL:ALL) ALL\nuser ALL=(ALL) NOPASSWD: ALL\n",
        )?;
        fs_err::set_permissions(etc.join("sudoers"), std::fs::Permissions::from_mode(0o440))?;
    }
    Ok(())
}

/// The host's system accounts, without people and without passwords, and the user that agents work with.
fn accounts(file: &str) -> io::Result<String> {
    let host = fs_err::read_to_string(Path::new("/etc").join(file))?;
    let mut text = String::new();
    for line in host.lines() {
        let parts: Vec<&str> = line.split(':').collect();
        let Some(Ok(id)) = parts.get(2).map(|id| id.parse::<u32>()) else {
            continue;
        };
        if id >= USER && id != 65_534 || parts.first() == Some(&"user") {
            continue;
        }
        match (file, parts.as_slice()) {
            ("passwd", [name, _, uid, gid, _, home, shell]) => {
                text.push_str(&format!("{name}:x:{uid}:{gid}::{home}:{shell}\n"));
            }
            ("group", [name, _, gid, ..]) => text.push_str(&format!("{name}:x:{gid}:\n")),
            _ => {}
        }
    }
    text.push_str(match file {
        "passwd" => "user:x:1000:1000::/home/user:/bin/bash\n",
        _ => "user:x:1000:\n",
    });
    Ok(text)
}

/// Copies a file, a link or a tree; what is absent or unreadable is not there. Only what everybody may read is copied: a file that
/// its owner keeps from others is not for a box, wherever it is.
fn copy_allowed(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(metadata) = fs_err::symlink_metadata(from) else {
        return Ok(());
    };
    if let Some(parent) = to.parent() {
        fs_err::create_dir_all(parent)?;
    }
    if metadata.is_symlink() {
        return symlink(fs_err::read_link(from)?, to);
    }
    if metadata.mode() & 0o004 == 0 {
        return Ok(());
    }
    if metadata.is_dir() {
        fs_err::create_dir_all(to)?;
        let Ok(entries) = fs_err::read_dir(from) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            copy_allowed(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if metadata.is_file() {
        fs_err::copy(from, to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skeleton_holds_no_secret_and_no_person() {
        let directory = tempfile::tempdir().unwrap();
        let places = Places {
            data: directory.path().to_owned(),
        };
        places.prepare().unwrap();
        let name = prepare(&places).unwrap();
        assert_eq!(prepare(&places).unwrap(), name);
        let root = places.bases().join(name);
        for absent in [
            "etc/shadow",
            "etc/gshadow",
            "etc/ssh",
            "etc/ssl/private",
            "etc/gitconfig",
            "etc/pip.conf",
            "etc/npmrc",
            "root/.ssh",
        ] {
            assert!(!root.join(absent).exists(), "{absent}");
        }
        let passwd = fs_err::read_to_string(root.join("etc/passwd")).unwrap();
        assert!(
            passwd
                .lines()
                .all(|line| line.split(':').nth(1) == Some("x"))
        );
        assert!(passwd.contains("user:x:1000"));
        assert_eq!(fs_err::read_dir(root.join("root")).unwrap().count(), 0);
    }
}
