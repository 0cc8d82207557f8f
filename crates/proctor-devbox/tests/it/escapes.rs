//! Attempts to get out of a box, to look out of it, or to hurt what is outside. Each shows the attempt fail and the others unharmed.

use std::{
    io::Write as _, net::TcpListener, os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration,
};

use proctor_devbox::{Devbox, ExecId, ExecSpec, Limits, Stream, User, conformance::Subject as _};
use tokio::io::AsyncReadExt as _;

use crate::support::{Local, sh, sh_as};

async fn a_box() -> (Local, Arc<dyn Devbox>) {
    let local = Local::new();
    let devbox = local.start("target", Limits::default()).await;
    (local, devbox)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hosts_secrets_homes_and_data_are_not_there() {
    let (local, devbox) = a_box().await;
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("proctor-host-secret");
    fs_err::write(&secret, "the secret").unwrap();
    let (_, seen) = sh(
        &devbox,
        &format!(
            "cat /etc/shadow /etc/gshadow /etc/ssh/* /etc/gitconfig /etc/npmrc /etc/pip.conf {secret}; ls -A /root /home /srv /opt /var/lib; \
             ls {data}; find / -xdev \\( -name proctor-host-secret -o -name box.json -o -name '*.sqlite*' \\) 2>/dev/null | grep -v ^/usr/",
            secret = secret.display(),
            data = local.directory.path().display(),
        ),
    )
    .await;
    assert!(
        !seen.contains("the secret") && !seen.contains("root:x") && !seen.contains("root:*"),
        "{seen}"
    );
    let found: Vec<&str> = seen
        .lines()
        .filter(|line| !line.is_empty() && !line.contains("No such file") && !line.ends_with(':'))
        .collect();
    assert_eq!(found, ["user", "apt", "dpkg"], "{seen}");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_processes_and_environment_are_not_there() {
    let (local, devbox) = a_box().await;
    let own = std::process::id();
    let (_, seen) = sh(
        &devbox,
        &format!("kill -0 {own}; kill -0 99999999; cat /proc/{own}/cmdline; cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c CARGO"),
    )
    .await;
    assert!(
        seen.contains("No such process") || seen.contains("No such file"),
        "{seen}"
    );
    assert!(seen.ends_with("0\n"), "{seen}");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_process_can_neither_be_killed_nor_looked_into() {
    let (local, devbox) = a_box().await;
    let (_, seen) = sh(
        &devbox,
        "for s in KILL STOP TERM INT HUP SEGV; do kill -$s 1; done
         for f in exe root cwd fd environ mem maps auxv; do
             test \"$(readlink /proc/1/$f)\" && echo readlink $f; ls -A /proc/1/$f/ 2>/dev/null; head -c 1 /proc/1/$f 2>/dev/null
         done
         echo 1000 > /proc/1/oom_score_adj 2>/dev/null && echo adjusted
         (echo x > /proc/1/exe) 2>/dev/null && echo written
         echo alive",
    )
    .await;
    let seen: Vec<&str> = seen
        .lines()
        .filter(|line| !line.contains("not permitted") && !line.contains("denied"))
        .collect();
    assert_eq!(seen, ["alive"]);
    // Everything that may be killed is killed; the box goes on.
    sh(&devbox, "sleep 600 & kill -KILL -1").await;
    assert_eq!(sh(&devbox, "echo on").await, (0, "on\n".to_owned()));
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kernels_settings_cannot_be_written() {
    let (local, devbox) = a_box().await;
    let (_, seen) = sh(
        &devbox,
        "for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/overcommit_memory /proc/sys/net/ipv4/ip_forward \
            /proc/sys/kernel/modprobe /proc/sys/fs/binfmt_misc/register /proc/sys/user/max_user_namespaces /proc/sysrq-trigger /proc/irq/default_smp_affinity \
            /sys/kernel/uevent_helper /proc/self/attr/current; do
             (echo 1 > $f) 2>/dev/null && test ! -c $f && echo written $f
         done; head -c 1 /proc/kcore /proc/kmsg 2>/dev/null | wc -c",
    )
    .await;
    assert!(!seen.contains("written"), "{seen}");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mounts_and_namespaces_cannot_be_made() {
    let (local, devbox) = a_box().await;
    for attempt in [
        "mount -t tmpfs none /mnt",
        "mount --bind /etc /mnt",
        "mount -t proc proc /mnt",
        "mount -o remount,rw /proc/sys",
        "umount /proc/sys",
        "umount -l /dev",
        "unshare -U true",
        "unshare -m true",
        "unshare -n true",
        "nsenter -t 1 -m true",
        "hostname other",
        "mknod /tmp/disk b 254 0",
        "mknod /tmp/mem c 1 1",
    ] {
        let (status, seen) = sh(&devbox, attempt).await;
        assert_ne!(status, 0, "{attempt}: {seen}");
    }
    local.end().await;
}

/// System calls by number on x86-64, with arguments that would succeed where they are allowed.
#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dangerous_system_calls_are_refused() {
    let (local, devbox) = a_box().await;
    let calls = [
        ("keyctl", "250, 0, -3, 0, 0, 0"),
        ("add_key", "248, $b, $b, $b, 0, -3"),
        ("bpf", "321, 0, $b, 72"),
        ("userfaultfd", "323, 1"),
        ("io_uring_setup", "425, 1, $b"),
        ("perf_event_open", "298, $b, 0, -1, -1, 0"),
        ("ptrace", "101, 0, 0, 0, 0"),
        ("ptrace attach", "101, 16, getppid(), 0, 0"),
        ("process_vm_readv", "310, $$, $b, 1, $b, 1, 0"),
        ("open_by_handle_at", "304, 0, $b, 0"),
        ("name_to_handle_at", "303, -100, $b, $b, $b, 0"),
        ("unshare user", "272, 0x10000000"),
        ("clone user", "56, 0x10000011, 0, 0, 0, 0"),
        ("clone3", "435, $b, 88"),
        ("setns", "308, 0, 0"),
        ("mount", "165, $b, $b, $b, 0, 0"),
        ("open_tree", "428, -100, $b, 1"),
        ("fsopen", "430, $b, 0"),
        ("move_mount", "429, 0, $b, 0, $b, 0"),
        ("pivot_root", "155, $b, $b"),
        ("init_module", "175, $b, 0, $b"),
        ("kexec_load", "246, 0, 0, 0, 0"),
        ("reboot", "169, 0xfee1dead, 672274793, 0"),
        ("swapon", "167, $b, 0"),
        ("syslog", "103, 3, $b, 10"),
        ("quotactl", "179, 0, $b, 0, 0"),
        ("pidfd_getfd", "438, 0, 0, 0"),
        ("socket vsock", "41, 40, 1, 0"),
        ("socket packet", "41, 17, 3, 0"),
        ("socket alg", "41, 38, 5, 0"),
        ("a call of the other ABI", "0x40000000 + 39"),
    ];
    for (name, arguments) in calls {
        let script = format!(
            "perl -e 'my $b = \"\\0\" x 4096; my $r = syscall({arguments}); print $r < 0 ? 0 + $! : \"worked: $r\"'"
        );
        let (status, seen) = sh(&devbox, &script).await;
        // EPERM, or ENOSYS where the call does not exist for a box.
        assert!(
            status == 0 && (seen == "1" || seen == "38"),
            "{name}: {status} {seen}"
        );
    }
    // A socket of the kinds that programs use works.
    let (_, seen) = sh(&devbox, "perl -e 'print syscall(41, 2, 1, 0) > 0 ? 1 : 0'").await;
    assert_eq!(seen, "1");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hosts_ports_and_other_boxes_cannot_be_reached() {
    let (local, devbox) = a_box().await;
    let other = local.start("other", Limits::default()).await;
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port();
    let listen = "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(4567, INADDR_ANY)); listen(S, 5);
        socket(U, PF_UNIX, SOCK_STREAM, 0); bind(U, pack(\"S a*\", 1, \"\\0box-socket\")); listen(U, 5); $| = 1; print \"up\\n\"; sleep 600'";
    let listening = other
        .exec(ExecSpec::shell(ExecId::new("listen").unwrap(), listen))
        .await
        .unwrap();
    assert_eq!(
        &listening
            .read_output(Stream::Stdout, 0, 10)
            .await
            .unwrap()
            .bytes[..],
        b"up\n"
    );
    let reach = |port: u16| {
        format!(
            "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); print connect(S, sockaddr_in({port}, INADDR_LOOPBACK)) ? \"reached\" : \"no\"'"
        )
    };
    let abstract_socket = "perl -MSocket -e 'socket(U, PF_UNIX, SOCK_STREAM, 0); print connect(U, pack(\"S a*\", 1, \"\\0box-socket\")) ? \"reached\" : \"no\"'";
    assert_eq!(sh(&other, &reach(4567)).await.1, "reached");
    assert_eq!(sh(&other, abstract_socket).await.1, "reached");
    for attempt in [reach(port), reach(4567), abstract_socket.to_owned()] {
        assert_eq!(sh(&devbox, &attempt).await.1, "no");
    }
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changing_the_hosts_programs_changes_only_the_box() {
    let (local, devbox) = a_box().await;
    let before = fs_err::read("/usr/bin/true").unwrap();
    sh(&devbox, "cp /usr/bin/false /usr/bin/true; rm -rf /usr/share/doc /bin/ls; echo evil > /usr/lib/evil.so; rm -f /etc/ld.so.cache").await;
    let other = local.start("other", Limits::default()).await;
    assert_eq!(fs_err::read("/usr/bin/true").unwrap(), before);
    assert!(
        std::path::Path::new("/bin/ls").exists()
            && !std::path::Path::new("/usr/lib/evil.so").exists()
    );
    assert_eq!(
        sh(
            &other,
            "true && ls /usr/bin/true && test -e /etc/ld.so.cache"
        )
        .await
        .0,
        0
    );
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_with_the_set_user_id_bit_cannot_be_reached_from_outside() {
    let (local, devbox) = a_box().await;
    sh(&devbox, "cp /bin/sh /tmp/rootsh; chmod 4755 /tmp/rootsh").await;
    let mode = fs_err::metadata(local.directory.path())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_becomes_a_link_while_it_is_read_shows_nothing_of_the_host() {
    let (local, devbox) = a_box().await;
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs_err::File::create(&secret)
        .unwrap()
        .write_all(b"host secret")
        .unwrap();
    let script = format!(
        "mkdir -p /tmp/a; echo mine > /tmp/a/f; ln -s {} /tmp/b; echo up
         while :; do mv -T /tmp/a /tmp/c; mv -T /tmp/b /tmp/a; mv -T /tmp/a /tmp/b; mv -T /tmp/c /tmp/a; done",
        outside.path().display()
    );
    let racing = devbox
        .exec(ExecSpec::shell(ExecId::new("race").unwrap(), script))
        .await
        .unwrap();
    racing.read_output(Stream::Stdout, 0, 10).await.unwrap();
    for _ in 0..100 {
        for path in [
            "/tmp/a/f",
            "/tmp/a/secret",
            &format!("/tmp/b/../..{}", secret.display()),
        ] {
            if let Ok(mut file) = devbox.read_file(path, &User::Root, None).await {
                let mut text = String::new();
                file.reader.read_to_string(&mut text).await.unwrap();
                // Its own file, or what was written to a path of its own below.
                assert!(text == "mine\n" || text == "overwritten", "{text:?}");
            }
        }
        let _ = devbox
            .write_file("/tmp/a/secret", &User::Root, None, &mut &b"overwritten"[..])
            .await;
    }
    assert_eq!(fs_err::read(&secret).unwrap(), b"host secret");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hard_links_and_foreign_owners_do_not_help() {
    let (local, devbox) = a_box().await;
    let user = User::Ids {
        uid: 1000,
        gid: 1000,
    };
    let (_, seen) = sh_as(
        &devbox,
        &user,
        "ln /etc/passwd /tmp/p; echo x >> /tmp/p; chown 0:0 /tmp; id -u",
    )
    .await;
    if seen.ends_with("1000\n") {
        assert!(
            !sh(&devbox, "cat /etc/passwd").await.1.contains("\nx\n"),
            "{seen}"
        );
    }
    // Ids beyond the box's own do not exist.
    let (status, seen) = sh(&devbox, "touch /tmp/f; chown 70000:70000 /tmp/f").await;
    assert_ne!(status, 0, "{seen}");
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_memory_and_devices_are_bounded() {
    let (local, devbox) = a_box().await;
    let (_, seen) = sh(
        &devbox,
        "head -c 200000000 /dev/zero > /dev/shm/f; stat -c %s /dev/shm/f",
    )
    .await;
    let size: u64 = seen.lines().last().unwrap().parse().unwrap();
    assert!(size <= 64 << 20, "{seen}");
    assert_eq!(
        sh(
            &devbox,
            "ls /dev/vda /dev/sda /dev/mem /dev/kmsg /dev/kvm /dev/fuse /dev/loop0 2>/dev/null"
        )
        .await
        .1,
        ""
    );
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_too_deep_to_walk_is_removed_with_its_box() {
    let (local, devbox) = a_box().await;
    let (status, seen) = sh(
        &devbox,
        "perl -e 'chdir \"/tmp\"; for (1..5000) { mkdir \"d\" or die; chdir \"d\" or die }'",
    )
    .await;
    assert_eq!(status, 0, "{seen}");
    let backend = local.backend();
    devbox.destroy().await.unwrap();
    backend.drain().await;
    let trash = local.directory.path().join("trash");
    assert_eq!(fs_err::read_dir(trash).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_output_does_not_hold_up_other_programs() {
    let (local, devbox) = a_box().await;
    let mut spec = ExecSpec::shell(ExecId::new("flood").unwrap(), "yes & yes >&2");
    spec.output_limit = 100_000;
    let flood = devbox.exec(spec).await.unwrap();
    for number in 0..10 {
        assert_eq!(
            sh(&devbox, &format!("echo {number}")).await,
            (0, format!("{number}\n"))
        );
    }
    flood.kill().await.unwrap();
    let exit = tokio::time::timeout(Duration::from_secs(30), flood.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(exit.signal, Some(9));
    let progress = flood.progress();
    assert_eq!((progress.stdout, progress.stderr), (100_000, 100_000));
    assert!(progress.stdout_dropped > 0);
    local.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_daemons_that_hide_end_with_their_box() {
    let (local, devbox) = a_box().await;
    let script = "for i in $(seq 100); do setsid env -i setsid sh -c 'trap \"\" TERM HUP; (sleep 5555 & sleep 5555) & exit' & done; wait; \
        until [ \"$(grep -l sleep /proc/[0-9]*/comm 2>/dev/null | wc -l)\" -ge 200 ]; do :; done; grep -l sleep /proc/[0-9]*/comm | wc -l";
    let (_, seen) = sh(&devbox, script).await;
    assert_eq!(seen.trim(), "200");
    devbox.destroy().await.unwrap();
    let left = fs_err::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            fs_err::read(entry.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x005555\0")
        })
        .count();
    assert_eq!(left, 0);
    local.end().await;
}
