//! The process around an agent's command: it ends everything that the agent started, and bounds what it prints.
//!
//! It is this program once more, started for each attempt as `proctor agent-supervisor LOG LIMIT_MS GRACE_MS COMMAND`. It adopts
//! orphans (a subreaper), so that no daemon escapes it. Its standard input is a pipe that nobody writes to: when the pipe ends,
//! whoever started it is gone or has had enough, and everything is killed. Its standard output is one line, the [`Ending`].

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io::{Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use serde::{Deserialize, Serialize};

/// What this program is asked for as its first argument.
pub(crate) const NAME: &str = "agent-supervisor";
/// How many bytes of a log are kept: so many of its beginning, and as many of its end.
pub(crate) const LOG_PART: usize = 1024 * 1024;
/// How long everything may take to die after it was killed.
const DYING: Duration = Duration::from_secs(10);
/// How often is looked whether everything is dead.
const LOOK: Duration = Duration::from_millis(5);
/// How long the end of a log is waited for: something outside may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How the agent's command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// With this status.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// By us: its time was over.
    TimedOut,
    /// By us: whoever started it is gone or has had enough.
    Abandoned,
    /// It never began, for this reason.
    NotStarted(String),
}

/// What the threads tell.
enum Event {
    /// The command ended so.
    Ended(Ending),
    /// Nobody waits for it any more.
    Abandoned,
}

struct Orders {
    log: PathBuf,
    limit: Duration,
    grace: Duration,
    command: OsString,
}

/// Does what the arguments after the program's name and [`NAME`] say.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(orders) = read(arguments) else {
        eprintln!("error: this command is part of `proctor run`");
        return ExitCode::from(2);
    };
    let ending = supervise(&orders).unwrap_or_else(|error| Ending::NotStarted(error.to_string()));
    let line = serde_json::to_string(&ending).unwrap_or_default();
    let _ = writeln!(std::io::stdout(), "{line}");
    ExitCode::SUCCESS
}

fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Orders> {
    let log = PathBuf::from(arguments.next()?);
    let mut milliseconds = || {
        let text = arguments.next()?.into_string().ok()?;
        text.parse().ok().map(Duration::from_millis)
    };
    let (limit, grace) = (milliseconds()?, milliseconds()?);
    Some(Orders {
        log,
        limit,
        grace,
        command: arguments.next()?,
    })
}

fn supervise(orders: &Orders) -> std::io::Result<Ending> {
    set_child_subreaper(Some(getpid()))?;
    let (output, input) = std::io::pipe()?;
    let log = fs_err::File::create(&orders.log)?;
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(&orders.command)
        .stdin(Stdio::null())
        .stdout(input.try_clone()?)
        .stderr(input)
        .process_group(0);
    let child = command.spawn()?;
    // The ends of the pipe that this process has.
    drop(command);
    let child = Pid::from_child(&child);
    let (log_done, log_is_done) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = log_done.send(keep_log(output, log));
    });
    let (tell, events) = mpsc::channel();
    let tell_end = tell.clone();
    std::thread::spawn(move || watch_children(child, &tell_end));
    std::thread::spawn(move || {
        let mut sink = [0; 64];
        while matches!(std::io::stdin().read(&mut sink), Ok(1..)) {}
        let _ = tell.send(Event::Abandoned);
    });
    let ending = match events.recv_timeout(orders.limit) {
        Ok(Event::Ended(ending)) => ending,
        Ok(Event::Abandoned) | Err(RecvTimeoutError::Disconnected) => Ending::Abandoned,
        Err(RecvTimeoutError::Timeout) => {
            signal(&descendants(), Signal::TERM);
            // Whatever it does with this time, its time was over.
            let _ = events.recv_timeout(orders.grace);
            Ending::TimedOut
        }
    };
    kill_everything();
    let _ = log_is_done.recv_timeout(LAST_WORDS);
    Ok(ending)
}

/// Waits for every process that is or becomes a child of this one, and tells how the command ended.
fn watch_children(child: Pid, tell: &mpsc::Sender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let ending = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Ending::Exited(code),
                    (None, Some(signal)) => Ending::Signalled(signal),
                    (None, None) => continue,
                };
                let _ = tell.send(Event::Ended(ending));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // No children are left; orphans may still arrive from processes that are being killed.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// Kills what the command left, until nothing is left.
fn kill_everything() {
    let until = Instant::now() + DYING;
    loop {
        let left = descendants();
        if left.is_empty() || Instant::now() > until {
            return;
        }
        signal(&left, Signal::KILL);
        std::thread::sleep(LOOK);
    }
}

fn signal(processes: &BTreeSet<i32>, signal: Signal) {
    for pid in processes.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// Every living process that descends from this one.
fn descendants() -> BTreeSet<i32> {
    let own = getpid().as_raw_nonzero().get();
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let mut dead = BTreeSet::new();
    let entries = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let Some((state, parent)) = state_and_parent(pid) else {
            continue;
        };
        children.entry(parent).or_default().push(pid);
        if state == 'Z' {
            dead.insert(pid);
        }
    }
    let mut found = BTreeSet::new();
    let mut open = vec![own];
    while let Some(pid) = open.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(*child) {
                open.push(*child);
            }
        }
    }
    found.difference(&dead).copied().collect()
}

/// The state of a process and its parent, from `/proc/PID/stat`. The name in it may hold anything, so what follows is read from
/// its last bracket on.
fn state_and_parent(pid: i32) -> Option<(char, i32)> {
    let stat =
        fs_err::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?))
}

/// Copies what is printed to the log: its beginning as it comes, and its end when all is over.
fn keep_log(mut output: impl std::io::Read, mut log: fs_err::File) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    let (mut written, mut left_out) = (0, 0_u64);
    let mut tail: Vec<u8> = Vec::new();
    loop {
        let count = match output.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let head = count.min(LOG_PART - written);
        // A disk that is full must not stop the agent: what it prints is read all the same.
        let _ = log.write_all(&buffer[..head]);
        written += head;
        tail.extend_from_slice(&buffer[head..count]);
        if tail.len() > 2 * LOG_PART {
            let cut = tail.len() - LOG_PART;
            left_out += cut as u64;
            tail.drain(..cut);
        }
    }
    if tail.len() > LOG_PART {
        let cut = tail.len() - LOG_PART;
        left_out += cut as u64;
        tail.drain(..cut);
    }
    if left_out > 0 {
        writeln!(log, "\n[… {left_out} bytes are left out …]")?;
    }
    log.write_all(&tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_keeps_its_beginning_and_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut printed = b"first\n".to_vec();
        printed.resize(5 * LOG_PART, b'x');
        printed.extend_from_slice(b"\nlast");
        keep_log(&*printed, fs_err::File::create(&path).unwrap()).unwrap();
        let kept = fs_err::read_to_string(&path).unwrap();
        assert!(kept.starts_with("first\n") && kept.ends_with("\nlast"));
        assert!(kept.len() < 2 * LOG_PART + 100);
        let left_out = printed.len() - 2 * LOG_PART;
        assert!(kept.contains(&format!("[… {left_out} bytes are left out …]")));
    }

    #[test]
    fn a_short_log_is_kept_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        keep_log(&b"hello\n"[..], fs_err::File::create(&path).unwrap()).unwrap();
        assert_eq!(fs_err::read_to_string(&path).unwrap(), "hello\n");
    }
}
