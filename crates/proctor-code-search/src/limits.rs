//! What the program gives up before it reads anything: other files, the network, other processes, time and memory without end.

use std::collections::BTreeMap;

use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// The most memory that a search may map, in bytes. The program itself is 45 MB of it; the tree of a 2 MB file took up to 700 MB.
const MEMORY: u64 = 2 << 30;

/// The system calls that searching and ending need. What else is tried fails as if it were not permitted.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    // How a process ends itself by a signal, such as when memory is used up.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Why the limits do not hold.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// A limit on resources could not be set.
    #[error("limits on resources")]
    Resources(#[from] rustix::io::Errno),
    /// System calls could not be filtered.
    #[error("system call filter")]
    Filter(#[from] seccompiler::Error),
    /// There is no filter for this kind of machine.
    #[error("system call filter")]
    Machine(#[from] seccompiler::BackendError),
}

/// Sets all limits, for good. `seconds` are of processor time.
pub fn set(seconds: u64) -> Result<(), LimitsError> {
    for (resource, most) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, seconds.max(1)),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nofile, 3),
    ] {
        let most = Some(most);
        let limit = Rlimit {
            current: most,
            maximum: most,
        };
        setrlimit(resource, limit)?;
    }
    let rules: BTreeMap<i64, Vec<seccompiler::SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let machine = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, machine)?;
    let filter: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&filter)?;
    Ok(())
}
