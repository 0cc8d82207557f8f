//! What a box could learn of the server or leave behind that is none of its business.

use proctor_devbox::{
    Base, BoxId, BoxSpec, Error, ExecId, ExecSpec, LayerId, Limits, User, conformance::Subject as _,
};
use tokio::io::AsyncReadExt as _;

use crate::support::{Local, output, sh};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_groups_and_mounts_do_not_tell_a_box_its_ids() {
    let local = Local::new();
    let first = local.start("first-box-77", Limits::default()).await;
    sh(&first, "echo kept > /root/note").await;
    let layer = LayerId::new("layer-of-order-77").unwrap();
    first
        .snapshot(layer.clone(), Default::default())
        .await
        .unwrap();
    let mut spec = BoxSpec::new(BoxId::new("second-box-77").unwrap(), Base::Layer(layer));
    spec.limits = crate::support::EVERY_LIMIT;
    let second = local.backend().create(spec).await.unwrap();
    second.start().await.unwrap();
    let script = "cat /proc/self/cgroup /proc/1/cgroup /proc/[0-9]*/cgroup /proc/self/mountinfo /proc/self/mounts /proc/1/mountinfo /proc/self/mountstats; \
         cat /root/note; echo end";
    for devbox in [&first, &second] {
        for id in ["execution-77", "execution-78"] {
            let spec = ExecSpec::shell(ExecId::new(id).unwrap(), script);
            let execution = devbox.exec(spec).await.unwrap();
            execution.wait().await.unwrap();
            let seen = output(&execution).await;
            assert!(seen.ends_with("kept\nend\n"), "{seen}");
            let data = local.directory.path().file_name().unwrap();
            for hidden in ["-77", "-78", "proctor", data.to_str().unwrap()] {
                assert!(!seen.contains(hidden), "{hidden} is in\n{seen}");
            }
        }
    }
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_kernel_are_not_served_as_files_of_the_box() {
    let local = Local::new();
    let devbox = local.start("kernel", Limits::default()).await;
    sh(
        &devbox,
        "ln -s /proc/version /tmp/link; ln -s /proc /tmp/dir",
    )
    .await;
    for path in [
        "/proc/version",
        "/proc/1/status",
        "/proc/self/environ",
        "/proc/self/maps",
        "/proc/sys/kernel/hostname",
        "/tmp/link",
        "/tmp/dir/self/cgroup",
    ] {
        let refused = devbox.read_file(path, &User::Root, None).await;
        assert!(matches!(refused, Err(Error::File { .. })), "{path}");
        let said = refused.err().unwrap().to_string();
        assert!(
            said.contains("the kernel") || said.contains("denied"),
            "{path}: {said}"
        );
    }
    for path in [
        "/proc/self/oom_score_adj",
        "/tmp/dir/new",
        "/proc/sys/kernel/hostname",
    ] {
        let refused = devbox
            .write_file(path, &User::Root, None, &mut &b"0"[..])
            .await;
        assert!(matches!(refused, Err(Error::File { .. })), "{path}");
    }
    // Files in memory are files.
    sh(&devbox, "echo kept > /dev/shm/note").await;
    let mut file = devbox
        .read_file("/dev/shm/note", &User::Root, None)
        .await
        .unwrap();
    let mut text = String::new();
    file.reader.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "kept\n");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attributes_that_the_kernel_takes_for_security_cannot_be_set() {
    let local = Local::new();
    let devbox = local.start("labels", Limits::default()).await;
    let script = r#"
        touch /tmp/f /dev/shm/f; cp /bin/true /usr/bin/copy
        for file in /tmp/f /dev/shm/f /usr/bin/copy; do
            for name in security.capability security.selinux security.ima security.evm security.SMACK64 security.apparmor security.own trusted.own trusted.overlay.opaque; do
                perl -e 'my ($f, $n) = @ARGV;
                    for my $value ("x", pack("V5", 0x02000001, 1, 0, 0, 0), pack("V6", 0x03000001, 1, 0, 0, 0, 0)) {
                        open(my $h, "<", $f); my $v = $value;
                        print "$n on $f\n" if syscall(188, $f, $n, $v, length($v), 0) == 0 || syscall(189, $f, $n, $v, length($v), 0) == 0 || syscall(190, fileno($h), $n, $v, length($v), 0) == 0 }' $file $name
            done
        done
        setcap cap_net_bind_service+ep /usr/bin/copy 2>/dev/null && echo setcap
        cp -a /tmp/f /tmp/g && cp --preserve=all /usr/bin/copy /tmp/h && tar -C /tmp -cf - f | tar -C /tmp -xpf - && echo copies"#;
    assert_eq!(sh(&devbox, script).await.1, "copies\n");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_control_groups_go_with_it_when_they_are_empty() {
    let local = Local::new();
    let name = "last-of-the-servers-boxes";
    let devbox = local.start(name, crate::support::EVERY_LIMIT).await;
    sh(&devbox, "true").await;
    let mut groups = proctor_testkit::traces::traces_of(local.directory.path(), |is| is == name);
    groups.retain(|path| path.starts_with("/sys/fs/cgroup"));
    let backend = local.backend();
    devbox.destroy().await.unwrap();
    // Whoever still holds the backend holds no groups: the server has let go.
    backend.drain().await;
    for group in groups {
        let parent = std::path::Path::new(&group).parent().unwrap();
        assert!(!parent.exists(), "{} stays", parent.display());
    }
    drop(backend);
}
