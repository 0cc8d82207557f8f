//! Who a user is, according to the box's own `/etc/passwd` and `/etc/group`.
//!
//! The files belong to the box and may hold or be anything; what does not parse is passed over.

use std::{fs::File, io::Read as _};

use rustix::fs::{FileType, Mode, OFlags};

use crate::spec::User;

/// How much of a list of accounts is looked at.
const LONGEST_LIST: u64 = 1 << 20;

/// The ids and home of somebody inside a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<u32>,
    pub(super) name: String,
    pub(super) home: String,
}

impl Identity {
    /// Finds `user`; `None` if there is no such account. Must run inside the box.
    pub(super) fn find(user: &User) -> Option<Self> {
        let passwd = list("/etc/passwd");
        let passwd = String::from_utf8_lossy(&passwd);
        let group = list("/etc/group");
        Self::look_up(user, &passwd, &String::from_utf8_lossy(&group))
    }

    fn look_up(user: &User, passwd: &str, group: &str) -> Option<Self> {
        let mut accounts = passwd.lines().filter_map(account);
        let found = match user {
            User::Named(name) => Some(accounts.find(|account| account.name == *name)?),
            User::Root => accounts.find(|account| account.uid == 0),
            User::Ids { uid, .. } => accounts.find(|account| account.uid == *uid),
        };
        let mut identity = found.unwrap_or_else(|| match user {
            User::Ids { uid, gid } => Self {
                uid: *uid,
                gid: *gid,
                groups: Vec::new(),
                name: uid.to_string(),
                home: "/".to_owned(),
            },
            User::Root | User::Named(_) => Self {
                uid: 0,
                gid: 0,
                groups: Vec::new(),
                name: "root".to_owned(),
                home: "/root".to_owned(),
            },
        });
        if let User::Ids { gid, .. } = user {
            identity.gid = *gid;
        }
        identity.groups = group
            .lines()
            .filter_map(|line| {
                let mut parts = line.split(':').skip(2);
                let gid = parts.next()?.parse().ok()?;
                let members = parts.next()?;
                members
                    .split(',')
                    .any(|member| member == identity.name)
                    .then_some(gid)
            })
            .collect();
        Some(identity)
    }
}

/// The beginning of a file; nothing if it is no regular one. Never waits for anybody: a pipe in its place has no content.
fn list(path: &str) -> Vec<u8> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut content = Vec::new();
    if let Ok(file) = rustix::fs::open(path, flags, Mode::empty())
        && let Ok(stat) = rustix::fs::fstat(&file)
        && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
    {
        // Room for all of it and for finding its end, so that it is read at once.
        let length = u64::try_from(stat.st_size).unwrap_or_default();
        content.reserve(length.min(LONGEST_LIST) as usize + 64);
        // What was read until something failed is as good as a file that ends there.
        let _ = File::from(file)
            .take(LONGEST_LIST)
            .read_to_end(&mut content);
    }
    content
}

fn account(line: &str) -> Option<Identity> {
    let parts: Vec<&str> = line.split(':').collect();
    Some(Identity {
        name: (*parts.first()?).to_owned(),
        uid: parts.get(2)?.parse().ok()?,
        gid: parts.get(3)?.parse().ok()?,
        groups: Vec::new(),
        home: (*parts.get(5)?).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/bash\nbroken\nuser:x:1000:1000::/home/user:/bin/bash\n";
    const GROUP: &str = "root:x:0:\naudio:x:29:user,other\nuser:x:1000:\n";

    #[test]
    fn an_account_is_found_by_name_with_its_groups() {
        let user = Identity::look_up(&User::Named("user".into()), PASSWD, GROUP).unwrap();
        assert_eq!(
            (user.uid, user.gid, user.groups.as_slice()),
            (1000, 1000, &[29][..])
        );
        assert_eq!(user.home, "/home/user");
    }

    #[test]
    fn an_unknown_name_is_nobody_but_root_always_is() {
        assert_eq!(
            Identity::look_up(&User::Named("none".into()), PASSWD, GROUP),
            None
        );
        assert_eq!(
            Identity::look_up(&User::Root, "", "").unwrap().home,
            "/root"
        );
    }

    #[test]
    fn ids_need_no_account() {
        let ids = Identity::look_up(&User::Ids { uid: 77, gid: 78 }, PASSWD, GROUP).unwrap();
        assert_eq!((ids.uid, ids.gid, ids.home.as_str()), (77, 78, "/"));
    }

    #[test]
    fn what_is_no_regular_file_has_no_accounts_and_keeps_nobody_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("passwd");
        let path = pipe.to_str().unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(list(path).is_empty());
        assert!(list("/dev/zero").is_empty());
        assert!(list("/no/such/file").is_empty());
    }

    proptest! {
        #[test]
        fn any_files_are_read_without_complaint(passwd in ".{0,200}", group in ".{0,200}") {
            let _ = Identity::look_up(&User::Named("a".into()), &passwd, &group);
        }
    }
}
