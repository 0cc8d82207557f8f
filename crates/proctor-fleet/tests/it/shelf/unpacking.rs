use std::time::Duration;

use proctor_devbox::{Base, User};
use proctor_fleet::archives::{ArchiveError, Limits, Owner, Unpacker, unpack};

use super::support::{Shelf, sh, tar_of, worker};

fn unpacker(target: &str, user: &User) -> Unpacker {
    Unpacker {
        exec: format!(
            "unpack-{}",
            target.trim_start_matches('/').replace('/', "-")
        )
        .parse()
        .unwrap(),
        user: user.clone(),
        target: target.to_owned(),
        owner: Owner::Unpacker,
        time_limit: Duration::from_secs(60),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_becomes_a_directory_of_the_user_who_unpacks_it() {
    let shelf = Shelf::open().await;
    let devbox = shelf.start("unpacking", Base::Host).await;
    let user = worker(&devbox).await;
    let many: Vec<(String, String)> = (0..3000)
        .map(|n| (format!("many/f{n}"), n.to_string()))
        .collect();
    let mut files: Vec<(&str, &str)> = many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let long = format!("{}/end", "long-name".repeat(20));
    files.push((&long, "deep"));
    let archive = std::io::Cursor::new(tar_of(&files));
    let totals = unpack(
        &*devbox,
        unpacker("/tmp/new/place", &user),
        archive,
        Limits::default(),
    )
    .await
    .unwrap();
    assert_eq!(totals.members, 3001);
    let script = format!(
        "ls /tmp/new/place/many | wc -l; cat /tmp/new/place/many/f42 /tmp/new/place/{long}; stat -c %U /tmp/new/place"
    );
    let (status, seen) = sh(&devbox, &script).await;
    assert_eq!(status, 0, "{seen}");
    let owner = if user == User::Root { "root" } else { "user" };
    assert_eq!(seen, format!("3000\n42deep{owner}\n"));
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_that_leads_out_writes_nothing_outside() {
    let shelf = Shelf::open().await;
    let devbox = shelf.start("attacked", Base::Host).await;
    let mut archive = tar::Builder::new(Vec::new());
    for (name, kind, target) in [
        ("link", tar::EntryType::Symlink, "../.."),
        ("link/escaped", tar::EntryType::Regular, ""),
    ] {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, &[][..]).unwrap();
    }
    let archive = std::io::Cursor::new(archive.into_inner().unwrap());
    let refused = unpack(
        &*devbox,
        unpacker("/tmp/a/b", &User::Root),
        archive,
        Limits::default(),
    )
    .await;
    assert!(
        matches!(refused, Err(ArchiveError::Member { .. })),
        "{refused:?}"
    );
    assert_ne!(sh(&devbox, "ls /tmp/escaped /escaped").await.0, 0);
    shelf.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_box_says_about_a_failure_is_told() {
    let shelf = Shelf::open().await;
    let devbox = shelf.start("refusing", Base::Host).await;
    let archive = std::io::Cursor::new(tar_of(&[("a", "b")]));
    let refused = unpack(
        &*devbox,
        unpacker("/etc/passwd/below", &User::Root),
        archive,
        Limits::default(),
    )
    .await;
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("/etc/passwd/below") && told.contains("mkdir"),
        "{told}"
    );
    shelf.end().await;
}
