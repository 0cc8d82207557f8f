//! SFTP and `scp`, as OpenSSH's clients speak them.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Place, told};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scp_carries_files_and_directories_both_ways() {
    let place = Place::open().await;
    let key = place.ready().await;
    let tree = place.file("tree");
    fs_err::create_dir_all(tree.join("below")).unwrap();
    let content: Vec<u8> = (0..3_000_000u32)
        .map(|number| (number % 253) as u8)
        .collect();
    fs_err::write(tree.join("below/large.bin"), &content).unwrap();
    fs_err::write(tree.join("run me.sh"), "echo ran").unwrap();
    fs_err::set_permissions(
        tree.join("run me.sh"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let remote = |path: &str| format!("{}@127.0.0.1:{path}", key.user);
    let from = tree.display().to_string();
    let there = place.copy("scp", &key, &["-r", "-p", &from, &remote("copied")]);
    let said = told({ there }.output().await.unwrap());
    assert_eq!(said.0, 0, "{said:?}");
    let said = place
        .run(
            &key,
            "cd copied && './run me.sh' && stat -c '%s %U' below/large.bin",
        )
        .await;
    assert_eq!(said.1, format!("ran\n3000000 {}\n", key.user), "{said:?}");
    let back = place.file("back").display().to_string();
    let mut here = place.copy("scp", &key, &["-r", &remote("copied/below"), &back]);
    let said = told(here.output().await.unwrap());
    assert_eq!(said.0, 0, "{said:?}");
    assert!(fs_err::read(place.file("back/large.bin")).unwrap() == content);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sftp_does_what_people_do_with_files_and_no_more_than_the_user_may() {
    let place = Place::open().await;
    let key = place.ready().await;
    let local = place.file("note");
    fs_err::write(&local, "a note\n").unwrap();
    let script = place.file("batch");
    let got = place.file("got");
    let batch = format!(
        "pwd\nmkdir papers\nput {0} papers/note\nrename papers/note papers/renamed\nchmod 600 papers/renamed\n\
         symlink renamed papers/link\nls -l papers\nget papers/link {1}\nrm papers/link\nrm papers/renamed\nrmdir papers\n\
         -ls papers\n-get /etc/shadow {1}.shadow\n-put {0} /etc/note\n-mkdir /new\nls /etc/hostname\n",
        local.display(),
        got.display()
    );
    fs_err::write(&script, batch).unwrap();
    let host = format!("{}@127.0.0.1", key.user);
    let script = script.display().to_string();
    let mut sftp = place.copy("sftp", &key, &["-b", &script, &host]);
    let (status, said, errors) = told(sftp.output().await.unwrap());
    assert_eq!(status, 0, "{said}{errors}");
    assert!(
        said.contains("Remote working directory: /home/user"),
        "{said}"
    );
    assert!(
        said.contains("-rw-------") && said.contains("renamed"),
        "{said}"
    );
    assert_eq!(fs_err::read_to_string(&got).unwrap(), "a note\n");
    assert!(!place.file("got.shadow").exists());
    let left = place
        .run(&key, "ls -A ~ | grep papers; ls /etc/note /new")
        .await;
    assert_eq!(left.1, "", "{left:?}");
    place.end().await;
}
