//! How much a box has added to its base. What is soon counted is counted at once; the rest is counted by a process of its own, so that nobody waits for it.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::process::Pid;

use crate::{
    sys::{self, Fork},
    tree,
};

/// How often a busy box is counted, at most.
const SHORTEST_PAUSE: Duration = Duration::from_millis(150);
/// How often is looked whether an idle box is still idle, at least.
const LONGEST_PAUSE: Duration = Duration::from_millis(600);
/// How many files are counted at once, in less time than a process would take to begin.
const FEW: u64 = 64;
/// Of processor time: from here on it is left to a process. A directory that was once large takes its time even if it is empty.
const LONG: Duration = Duration::from_millis(2);
/// How soon a process must have counted few files for that to be tried without one again. It may have had to wait for a processor.
const SOON: Duration = Duration::from_millis(50);
/// How much of the time counting may take: one part in this many.
const SHARE: u32 = 8;

/// Bytes and files on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

/// Counts a box's disk again and again.
#[derive(Debug)]
pub(super) struct DiskWatch {
    disk: PathBuf,
    pub(super) last: Option<Count>,
    next: Instant,
    /// Until the next look at a box that does nothing.
    pause: Duration,
    /// How much processor time the box had used when it was last counted.
    used: Option<u64>,
    /// Whether the last count found few files, in a short time.
    is_small: bool,
    counting: Option<Counting>,
}

#[derive(Debug)]
struct Counting {
    pid: Pid,
    result: OwnedFd,
    since: Instant,
}

impl DiskWatch {
    pub(super) fn new(disk: PathBuf, now: Instant) -> Self {
        Self {
            disk,
            last: None,
            next: now,
            pause: SHORTEST_PAUSE,
            used: None,
            is_small: true,
            counting: None,
        }
    }

    /// When to count again; `None` while counting.
    pub(super) fn due(&self) -> Option<Instant> {
        self.counting.is_none().then_some(self.next)
    }

    /// Counts, or begins to, if it is time; whether there is a new count. A box that has `used` no processor time since the last time, as far as that is known, has not
    /// written anything either and is not counted.
    pub(super) fn begin(&mut self, now: Instant, used: Option<u64>) -> bool {
        if self.counting.is_some() || now < self.next {
            return false;
        }
        if self.last.is_some() && used.is_some() && used == self.used {
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            self.next = now + self.pause;
            return false;
        }
        self.pause = SHORTEST_PAUSE;
        self.used = used;
        let is_counted = self.is_soon_counted();
        // A machine without processes or descriptors to spare may have some again soon.
        if is_counted || self.count(now).is_err() {
            self.next = now + self.pause;
        }
        is_counted
    }

    /// Counts a small disk. Not tried where it was not small the last time.
    fn is_soon_counted(&mut self) -> bool {
        if !self.is_small {
            return false;
        }
        let began = processor_time();
        let counted = tree::count_few(&self.disk, FEW);
        self.is_small = processor_time().saturating_sub(began) < LONG;
        let Ok(Some((bytes, files))) = counted else {
            self.is_small = false;
            return false;
        };
        self.last = Some(Count { bytes, files });
        true
    }

    fn count(&mut self, now: Instant) -> io::Result<()> {
        let (result, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        match sys::fork()? {
            Fork::Parent(pid) => {
                self.counting = Some(Counting {
                    pid,
                    result,
                    since: now,
                });
                Ok(())
            }
            Fork::Child => {
                // A tree that cannot be walked is made to be uncountable: more than any limit.
                let (bytes, files) = tree::count(&self.disk).unwrap_or((u64::MAX, u64::MAX));
                let mut message = [0; 16];
                message[..8].copy_from_slice(&bytes.to_le_bytes());
                message[8..].copy_from_slice(&files.to_le_bytes());
                let _ = rustix::io::write(&write, &message);
                sys::exit_now(0);
            }
        }
    }

    /// What to poll while counting.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.counting
            .as_ref()
            .map(|counting| counting.result.as_fd())
    }

    pub(super) fn pid(&self) -> Option<Pid> {
        self.counting.as_ref().map(|counting| counting.pid)
    }

    /// Takes the result of counting.
    pub(super) fn finish(&mut self, now: Instant) {
        let Some(counting) = self.counting.take() else {
            return;
        };
        let mut message = [0; 16];
        if let Ok(16) = rustix::io::read(&counting.result, &mut message) {
            let number = |at: usize| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&message[at..at + 8]);
                u64::from_le_bytes(bytes)
            };
            self.last = Some(Count {
                bytes: number(0),
                files: number(8),
            });
        }
        let cost = now.saturating_duration_since(counting.since);
        self.is_small = cost < SOON && self.last.is_some_and(|last| last.files <= FEW);
        self.next = now + SHORTEST_PAUSE.max(cost * SHARE);
    }
}

/// What this process has used, whoever else was on the processor.
fn processor_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(used).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_that_does_nothing_is_looked_at_ever_less_often_and_not_counted() {
        let mut now = Instant::now();
        let mut watch = DiskWatch::new(PathBuf::from("/no/such/directory"), now);
        // As if it had been counted when it had used this much.
        watch.last = Some(Count::default());
        watch.used = Some(7);
        let mut pauses = Vec::new();
        for _ in 0..4 {
            assert!(!watch.begin(now, Some(7)));
            assert!(watch.pid().is_none());
            let due = watch.due().unwrap();
            pauses.push((due - now).as_millis());
            now = due;
        }
        assert_eq!(pauses, [300, 600, 600, 600]);
    }

    #[test]
    fn few_files_are_counted_at_once_and_many_by_a_process() {
        let disk = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let mut watch = DiskWatch::new(disk.path().to_owned(), now);
        for number in 0..FEW {
            fs_err::write(disk.path().join(number.to_string()), "x").unwrap();
        }
        assert!(watch.begin(now, None));
        assert!(watch.pid().is_none());
        assert_eq!(watch.last.unwrap().files, FEW);
        assert_eq!(watch.due(), Some(now + SHORTEST_PAUSE));

        fs_err::write(disk.path().join("one more"), "x").unwrap();
        assert!(!watch.is_soon_counted());
        fs_err::remove_file(disk.path().join("one more")).unwrap();
        assert!(
            !watch.is_soon_counted(),
            "it is not tried where there were many"
        );
    }
}
