//! The system calls that no safe wrapper covers. The only module of the workspace with `unsafe` in it.
//!
//! Every function here is safe to call from the single-threaded processes of [`inside`](crate::inside); those that are not
//! safe in a process with threads say so. Nothing here decides anything: policy is elsewhere.
#![expect(
    unsafe_code,
    reason = "fork, clone3, execve, seccomp and signal masks have no safe interface"
)]

use std::{
    convert::Infallible,
    ffi::{CStr, CString},
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

use rustix::process::Pid;

/// Which side of a fork this is.
#[derive(Debug)]
pub(crate) enum Fork {
    /// The process that forked, and the id of its child.
    Parent(Pid),
    /// The new process.
    Child,
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn fork_result(result: libc::c_long) -> io::Result<Fork> {
    let raw = i32::try_from(check(result)?).map_err(io::Error::other)?;
    Ok(Pid::from_raw(raw).map_or(Fork::Child, Fork::Parent))
}

/// Copies the process, into the control group (of version 2) with this directory if there is one. Only for processes with one thread:
/// a lock that another thread held would stay locked in the child for ever.
pub(crate) fn fork_into(group: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    fork_with(0, group)
}

/// Copies the process where it is. Only for processes with one thread.
pub(crate) fn fork() -> io::Result<Fork> {
    fork_with(0, None)
}

/// Copies the process into new namespaces (`CLONE_NEW…`) and a control group. Only for processes with one thread.
pub(crate) fn fork_with(
    namespaces: libc::c_int,
    group: Option<BorrowedFd<'_>>,
) -> io::Result<Fork> {
    let into = if group.is_some() {
        CLONE_INTO_CGROUP
    } else {
        0
    };
    let args = libc::clone_args {
        flags: u64::from(namespaces.cast_unsigned()) | into,
        pidfd: 0,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: group.map_or(0, |group| group.as_raw_fd().cast_unsigned().into()),
    };
    // SAFETY: no memory is shared with the child (no CLONE_VM), so this is a fork; the caller has one thread, so the child
    // finds the allocator and every lock in a usable state. `args` is a whole `clone_args` and its true size is passed. libc's
    // cached thread id, which is the parent's in the child, is not used by this crate.
    fork_result(unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) })
}

/// Not in `libc` as a number of this width.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Moves this process into new namespaces (`CLONE_NEW…`). Only for processes with one thread.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointers; with one thread nothing else can see the change half-done.
    check(libc::c_long::from(unsafe { libc::unshare(flags) })).map(drop)
}

/// Ends the process at once, without running destructors that belong to the process it was copied from.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` takes no pointers and does not return.
    unsafe { libc::_exit(code) }
}

/// Replaces the program. Returns only if that failed.
pub(crate) fn execve(program: &CStr, argv: &[CString], env: &[CString]) -> io::Error {
    match try_execve(program, argv, env) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn try_execve(program: &CStr, argv: &[CString], env: &[CString]) -> io::Result<Infallible> {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts
            .iter()
            .map(|text| text.as_ptr())
            .chain([ptr::null()])
            .collect()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    // SAFETY: both arrays end with a null pointer, and the strings they point to outlive the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    Err(io::Error::last_os_error())
}

/// Gives the detached mount `mount` the ids of the user namespace `users`.
pub(crate) fn idmap_mount(mount: BorrowedFd<'_>, users: BorrowedFd<'_>) -> io::Result<()> {
    set_mount_attributes(mount, c"", libc::MOUNT_ATTR_IDMAP, Some(users))
}

/// Makes a detached mount and all below it read-only, without devices, without privileges gained by running its programs.
pub(crate) fn seal_mount(mount: BorrowedFd<'_>) -> io::Result<()> {
    const SEALED: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    set_mount_attributes(mount, c"", SEALED, None)
}

/// Makes a detached mount and all below it one without devices and without privileges gained by running its programs.
pub(crate) fn tame_mount(mount: BorrowedFd<'_>) -> io::Result<()> {
    set_mount_attributes(
        mount,
        c"",
        libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        None,
    )
}

/// Makes the mount at `path` read-only, without devices, without privileges gained by running its programs.
pub(crate) fn harden_mount(path: &CStr) -> io::Result<()> {
    const HARD: u64 = libc::MOUNT_ATTR_RDONLY
        | libc::MOUNT_ATTR_NOSUID
        | libc::MOUNT_ATTR_NODEV
        | libc::MOUNT_ATTR_NOEXEC;
    set_mount_attributes(rustix::fs::CWD, path, HARD, None)
}

fn set_mount_attributes(
    at: BorrowedFd<'_>,
    path: &CStr,
    attributes: u64,
    users: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let args = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: users.map_or(0, |users| users.as_raw_fd().cast_unsigned().into()),
    };
    let flags = if path.is_empty() {
        libc::AT_EMPTY_PATH | libc::AT_RECURSIVE
    } else {
        0
    };
    // SAFETY: `path` ends with a null byte, `args` is a whole `mount_attr` and its true size is passed.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const args,
            size_of_val(&args),
        )
    })
    .map(drop)
}

/// Makes `fd` the descriptor `target` of this process, open across `execve`.
pub(crate) fn install_fd(fd: BorrowedFd<'_>, target: RawFd) -> io::Result<()> {
    if fd.as_raw_fd() == target {
        // SAFETY: takes no pointers; clears the close-on-exec flag of a descriptor that is borrowed.
        return check(libc::c_long::from(unsafe {
            libc::fcntl(target, libc::F_SETFD, 0)
        }))
        .map(drop);
    }
    // SAFETY: takes no pointers. Used only on the standard descriptors, which no Rust value owns.
    check(libc::c_long::from(unsafe {
        libc::dup2(fd.as_raw_fd(), target)
    }))
    .map(drop)
}

/// Marks every descriptor from `first` on to be closed by `execve`.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: takes no pointers and closes nothing before `execve`.
    check(unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    })
    .map(drop)
}

/// Closes every descriptor from `first` on but `keep`, whoever opened them.
///
/// Only for a process that was just made by [`fork`] and owns none of them through a value it will still use:
/// such values must have been forgotten.
pub(crate) fn close_all_but(first: u32, keep: BorrowedFd<'_>) -> io::Result<()> {
    let keep = keep.as_raw_fd().cast_unsigned();
    let close = |from: u32, to: u32| {
        if from > to {
            return Ok(());
        }
        // SAFETY: takes no pointers; the caller forgot every value that owns one of these descriptors.
        check(unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) }).map(drop)
    };
    if keep > first {
        close(first, keep - 1)?;
    }
    close((keep + 1).max(first), u32::MAX)
}

/// Takes ownership of the descriptor that the parent passed as `raw`. `None` if it is not open.
pub(crate) fn adopt_fd(raw: RawFd) -> Option<OwnedFd> {
    // SAFETY: takes no pointers.
    if unsafe { libc::fcntl(raw, libc::F_GETFD) } < 0 {
        return None;
    }
    // SAFETY: it is open, and called once at the start of the process, before anything else can own it.
    Some(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Installs a system call filter for this process and all it will start.
pub(crate) fn install_seccomp(program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let args = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies `len` instructions, checks them and writes nothing.
    check(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const args,
        )
    })
    .map(drop)
}

/// Whether the kernel knows `SECCOMP_SET_MODE_FILTER`.
pub fn seccomp_available() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: reads one `u32` that outlives the call.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        ) == 0
    }
}

fn signal_set(fill: bool) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: both functions initialise the whole set they are given.
    unsafe {
        if fill {
            libc::sigfillset(set.as_mut_ptr());
        } else {
            libc::sigemptyset(set.as_mut_ptr());
        }
        set.assume_init()
    }
}

/// Blocks every signal that can be blocked.
pub(crate) fn block_signals() -> io::Result<()> {
    set_mask(&signal_set(true))
}

/// Forgets the signals that came while they were blocked.
pub(crate) fn discard_signals() {
    let set = signal_set(true);
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `set` and the time are initialised and outlive the call; the kernel is asked for no details.
    while unsafe { libc::sigtimedwait(&raw const set, ptr::null_mut(), &raw const at_once) } > 0 {}
}

/// Lets every signal through.
pub(crate) fn unblock_signals() -> io::Result<()> {
    set_mask(&signal_set(false))
}

fn set_mask(set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: `set` is initialised and outlives the call; the old mask is not asked for.
    check(libc::c_long::from(unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, set, ptr::null_mut())
    }))
    .map(drop)
}

/// Gives every signal its default action, as a fresh program expects.
pub(crate) fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: installs no handler. SIGKILL, SIGSTOP and libc's own signals refuse, which is fine.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Lets the kernel reap the children of this process by itself.
pub(crate) fn ignore_children() {
    // SAFETY: installs no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Waits for any blocked signal.
pub(crate) fn wait_for_signal() {
    let set = signal_set(true);
    // SAFETY: `set` is initialised; the kernel is asked for no details.
    unsafe { libc::sigwaitinfo(&raw const set, ptr::null_mut()) };
}

/// A descriptor that becomes readable when a child of this process ends. `SIGCHLD` must be blocked.
pub(crate) fn child_signal_fd() -> io::Result<OwnedFd> {
    let mut set = signal_set(false);
    // SAFETY: `set` is initialised.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGCHLD) };
    // SAFETY: -1 asks for a new descriptor, and `set` outlives the call.
    let raw = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    check(libc::c_long::from(raw))?;
    // SAFETY: the kernel just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Brings the loopback interface of the current network namespace up.
pub(crate) fn raise_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: an all-zero `ifreq` is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed();
    request.ifr_name[1] = b'o'.cast_signed();
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads one `ifreq` with the name and the flags set.
    check(libc::c_long::from(unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    }))
    .map(drop)
}

/// The number of a loop device that is free now; made if there is none. `control` is `/dev/loop-control`.
pub(crate) fn free_loop_device(control: BorrowedFd<'_>) -> io::Result<libc::c_long> {
    const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4c82;
    // SAFETY: takes no pointers.
    check(libc::c_long::from(unsafe {
        libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE)
    }))
}

/// Gives `file` to the loop device `device`, until nobody uses the device any more.
pub(crate) fn configure_loop_device(
    device: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
) -> io::Result<()> {
    const LOOP_CONFIGURE: libc::Ioctl = 0x4c0a;
    const AUTOCLEAR: u32 = 4;
    /// `struct loop_config` with its `struct loop_info64`, of which only the flags are set.
    #[repr(C)]
    struct Config {
        fd: u32,
        block_size: u32,
        numbers: [u64; 5],
        number_and_encryption: [u32; 3],
        flags: u32,
        names_and_key: [u8; 160],
        init: [u64; 2],
        reserved: [u64; 8],
    }
    let config = Config {
        fd: file.as_raw_fd().cast_unsigned(),
        block_size: 0,
        numbers: [0; 5],
        number_and_encryption: [0; 3],
        flags: AUTOCLEAR,
        names_and_key: [0; 160],
        init: [0; 2],
        reserved: [0; 8],
    };
    // SAFETY: the kernel reads one `loop_config`, which `Config` is, field by field.
    check(libc::c_long::from(unsafe {
        libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config)
    }))
    .map(drop)
}
