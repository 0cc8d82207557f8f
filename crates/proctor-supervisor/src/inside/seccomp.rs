//! Which system calls a program in a box may make, as a program for the kernel.
//!
//! An allow-list: what is not on it does not exist (`ENOSYS`), so that programs fall back as on an older kernel. What is
//! known and dangerous is refused (`EPERM`) instead. New namespaces are refused in `clone`; `clone3`, whose
//! flags a filter cannot see, does not exist, and every C library then uses `clone`.
//!
//! The kernel runs a new filter once for every system call there is, in order to remember those it always allows. So the filter is a
//! search tree and not a list: a few steps for each call instead of hundreds.

use std::{collections::BTreeMap, io};

use libc::sock_filter;

use super::system_calls::{ALLOWED, ALLOWED_OLD, NOT_SUPPORTED, REFUSED};
use crate::sys;

/// What happens to a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Allow,
    Refuse,
    NotThere,
    /// Answered as by a file system that cannot do it.
    NotSupported,
    /// Refused if its first argument has one of these bits.
    RefuseBits(u32),
    /// Refused unless its first argument is one of these.
    AllowFirst(&'static [u32]),
    /// Refused if its second argument is one of these.
    RefuseSecond(&'static [u32]),
}

/// Every flag of `clone` that makes a namespace.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned();

/// The families of sockets that programs use. AF_VSOCK is not among them: it reaches the host whatever the network namespace.
const FAMILIES: &[u32] = &[
    libc::AF_UNIX.cast_unsigned(),
    libc::AF_INET.cast_unsigned(),
    libc::AF_INET6.cast_unsigned(),
    libc::AF_NETLINK.cast_unsigned(),
];

/// Typing into a terminal that belongs to somebody else.
#[expect(clippy::cast_possible_truncation, reason = "the kernel takes 32 bits")]
const TYPING: &[u32] = &[libc::TIOCSTI as u32, libc::TIOCLINUX as u32];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// A filter, compiled once per launcher.
pub(crate) struct Filter {
    program: Vec<sock_filter>,
}

impl Filter {
    /// Compiles the filter for this processor.
    pub(crate) fn compile() -> Self {
        let mut program = vec![
            load(AT_ARCHITECTURE),
            jump(EQUAL, ARCHITECTURE, 1, 0),
            answer(libc::SECCOMP_RET_KILL_PROCESS),
            load(AT_NUMBER),
        ];
        search(&segments(), &mut program);
        Self { program }
    }

    /// Installs the filter for this process and all it will start.
    pub(crate) fn install(&self) -> io::Result<()> {
        sys::install_seccomp(&self.program)
    }
}

/// What happens to every system call that is in a list.
fn verdicts() -> BTreeMap<u32, Verdict> {
    let numbers = |calls: &'static [i64]| calls.iter().filter_map(|&call| u32::try_from(call).ok());
    let mut verdicts: BTreeMap<u32, Verdict> = numbers(ALLOWED)
        .chain(numbers(ALLOWED_OLD))
        .map(|call| (call, Verdict::Allow))
        .collect();
    verdicts.extend(numbers(REFUSED).map(|call| (call, Verdict::Refuse)));
    verdicts.extend(numbers(NOT_SUPPORTED).map(|call| (call, Verdict::NotSupported)));
    for (call, verdict) in [
        (libc::SYS_clone, Verdict::RefuseBits(NAMESPACES)),
        (libc::SYS_socket, Verdict::AllowFirst(FAMILIES)),
        (libc::SYS_socketpair, Verdict::AllowFirst(FAMILIES)),
        (libc::SYS_ioctl, Verdict::RefuseSecond(TYPING)),
    ] {
        verdicts.extend(u32::try_from(call).map(|call| (call, verdict)));
    }
    verdicts
}

/// The same for all numbers: from where on which verdict holds, in order.
fn segments() -> Vec<(u32, Verdict)> {
    let verdicts = verdicts();
    let end = verdicts.keys().last().map_or(0, |last| last + 1);
    let mut segments: Vec<(u32, Verdict)> = Vec::new();
    for call in 0..=end {
        let verdict = verdicts.get(&call).copied().unwrap_or(Verdict::NotThere);
        if segments.last().is_none_or(|(_, last)| *last != verdict) {
            segments.push((call, verdict));
        }
    }
    segments
}

const AT_NUMBER: u32 = 0;
const AT_ARCHITECTURE: u32 = 4;
/// The lower half of an argument, which is all that the kernel looks at in the calls we ask about.
const fn at_argument(number: u32) -> u32 {
    16 + 8 * number
}

const LOAD: u16 = 0x20;
const ALWAYS: u16 = 0x05;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const fn load(offset: u32) -> sock_filter {
    sock_filter {
        code: LOAD,
        jt: 0,
        jf: 0,
        k: offset,
    }
}

const fn jump(code: u16, value: u32, then: u8, otherwise: u8) -> sock_filter {
    sock_filter {
        code,
        jt: then,
        jf: otherwise,
        k: value,
    }
}

const fn answer(value: u32) -> sock_filter {
    sock_filter {
        code: RETURN,
        jt: 0,
        jf: 0,
        k: value,
    }
}

const ALLOW: sock_filter = answer(libc::SECCOMP_RET_ALLOW);
const REFUSE: sock_filter = answer(libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned());
const NOT_THERE: sock_filter = answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned());
const NOT_SUPPORTED_HERE: sock_filter =
    answer(libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP.cast_unsigned());

/// Finds the number among `segments` by halving.
fn search(segments: &[(u32, Verdict)], program: &mut Vec<sock_filter>) {
    let (lower, upper) = segments.split_at(segments.len() / 2);
    let (Some((_, only)), true) = (upper.first(), lower.is_empty()) else {
        let mut below = Vec::new();
        search(lower, &mut below);
        let length = u32::try_from(below.len()).expect("a filter is short");
        program.push(jump(
            AT_LEAST,
            upper.first().map_or(0, |(first, _)| *first),
            0,
            1,
        ));
        // A conditional jump reaches only 255 instructions far.
        program.push(jump(ALWAYS, length, 0, 0));
        program.append(&mut below);
        search(upper, program);
        return;
    };
    match *only {
        Verdict::Allow => program.push(ALLOW),
        Verdict::Refuse => program.push(REFUSE),
        Verdict::NotThere => program.push(NOT_THERE),
        Verdict::NotSupported => program.push(NOT_SUPPORTED_HERE),
        Verdict::RefuseBits(bits) => {
            program.extend([
                load(at_argument(0)),
                jump(ANY_BIT, bits, 1, 0),
                ALLOW,
                REFUSE,
            ]);
        }
        Verdict::AllowFirst(values) => one_of(at_argument(0), values, [ALLOW, REFUSE], program),
        Verdict::RefuseSecond(values) => one_of(at_argument(1), values, [REFUSE, ALLOW], program),
    }
}

/// Answers `then` if the argument is one of `values`.
fn one_of(
    argument: u32,
    values: &[u32],
    [then, otherwise]: [sock_filter; 2],
    program: &mut Vec<sock_filter>,
) {
    program.push(load(argument));
    for value in values {
        program.extend([jump(EQUAL, *value, 0, 1), then]);
    }
    program.push(otherwise);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program as the kernel does. Answers what it returns and how many steps it took.
    fn run(
        program: &[sock_filter],
        architecture: u32,
        call: u32,
        arguments: [u32; 2],
    ) -> (u32, usize) {
        let (mut at, mut value) = (0, 0);
        for step in 1..10_000 {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let mut branch = |condition| at += usize::from(if condition { jt } else { jf });
            match code {
                LOAD => {
                    value = match k {
                        AT_NUMBER => call,
                        AT_ARCHITECTURE => architecture,
                        k if k == at_argument(0) => arguments[0],
                        k if k == at_argument(1) => arguments[1],
                        other => panic!("offset {other}"),
                    }
                }
                ALWAYS => at += k as usize,
                EQUAL => branch(value == k),
                AT_LEAST => branch(value >= k),
                ANY_BIT => branch(value & k != 0),
                RETURN => return (k, step),
                other => panic!("instruction {other}"),
            }
        }
        panic!("it does not end");
    }

    #[test]
    fn the_search_finds_every_verdict_in_a_few_steps() {
        let filter = Filter::compile();
        let verdicts = verdicts();
        for call in (0..1000).chain([u32::MAX, 0x4000_0000, 0x4000_0001]) {
            let (got, steps) = run(
                &filter.program,
                ARCHITECTURE,
                call,
                [libc::AF_INET as u32, 0],
            );
            let expected = match verdicts.get(&call) {
                None => NOT_THERE.k,
                Some(Verdict::Refuse) => REFUSE.k,
                Some(Verdict::NotSupported) => NOT_SUPPORTED_HERE.k,
                Some(_) => ALLOW.k,
            };
            assert_eq!(got, expected, "{call}");
            assert!(steps < 40, "{call} took {steps} steps");
        }
    }

    #[test]
    fn arguments_decide_where_they_matter() {
        let filter = Filter::compile();
        let with = |call: i64, arguments| {
            run(
                &filter.program,
                ARCHITECTURE,
                u32::try_from(call).unwrap(),
                arguments,
            )
            .0
        };
        assert_eq!(with(libc::SYS_clone, [0x0100_0011, 0]), ALLOW.k);
        for bit in 0..32 {
            let refused = NAMESPACES & (1 << bit) != 0;
            assert_eq!(
                with(libc::SYS_clone, [1 << bit, 0]) == REFUSE.k,
                refused,
                "bit {bit}"
            );
        }
        for family in 0..60 {
            let allowed = FAMILIES.contains(&family);
            assert_eq!(
                with(libc::SYS_socket, [family, 0]) == ALLOW.k,
                allowed,
                "family {family}"
            );
            assert_eq!(
                with(libc::SYS_socketpair, [family, 0]) == ALLOW.k,
                allowed,
                "family {family}"
            );
        }
        assert_eq!(with(libc::SYS_ioctl, [0, TYPING[0]]), REFUSE.k);
        assert_eq!(with(libc::SYS_ioctl, [0, 0x5401]), ALLOW.k);
    }

    #[test]
    fn calls_of_another_architecture_end_the_program() {
        let filter = Filter::compile();
        assert_eq!(
            run(&filter.program, 0x4000_0003, 1, [0, 0]).0,
            libc::SECCOMP_RET_KILL_PROCESS
        );
    }
}
