//! Fault points: places in the code where a test can end the process, as `kill -9` would.
//!
//! A test of crash safety should not hope that a sleep ends at the right moment. It runs a server once with
//! `PROCTOR_FAULT_TRACE=file`, which appends every point that is reached as `name:n` (the n-th time), and then
//! once for each line with `PROCTOR_FAULT=name:n`, which kills the process there. `*:n` is the n-th point of any name.
//!
//! Every commit has a point before and after it, named by what it writes, so that a new one cannot be forgotten:
//! `runs.update+task_runs.insert/before`. Whatever else must be told apart calls [`point`] with a name of its own.
//! Builds without debug assertions have no points.

use std::{
    collections::HashMap,
    env,
    io::Write as _,
    sync::{LazyLock, Mutex, PoisonError},
};

use crate::database::Query;

/// Stands for a point of any name.
const ANY: &str = "*";

/// Ends the process here if `PROCTOR_FAULT` names this point.
pub fn point(name: &str) {
    if let Some(faults) = armed() {
        faults.reach(name);
    }
}

/// What the environment asks for; none in a release build, whatever it asks for.
fn armed() -> Option<&'static Faults> {
    static FAULTS: LazyLock<Option<Faults>> = LazyLock::new(Faults::of_environment);
    match cfg!(debug_assertions) {
        true => FAULTS.as_ref(),
        false => None,
    }
}

struct Faults {
    /// The point that is fatal, and which time it is.
    fatal: Option<(String, u32)>,
    trace: Option<fs_err::File>,
    reached: Mutex<HashMap<String, u32>>,
}

impl Faults {
    fn of_environment() -> Option<Self> {
        let fatal = env::var("PROCTOR_FAULT").ok();
        let trace = env::var_os("PROCTOR_FAULT_TRACE");
        if fatal.is_none() && trace.is_none() {
            return None;
        }
        let trace = trace.map(|path| {
            let mut options = fs_err::OpenOptions::new();
            let opened = options.create(true).append(true).open(path);
            opened.expect("PROCTOR_FAULT_TRACE names a file that can be written")
        });
        Some(Self {
            fatal: fatal.as_deref().map(parse),
            trace,
            reached: Mutex::default(),
        })
    }

    fn reach(&self, name: &str) {
        // Held until the line is written: the trace has the order in which points were reached.
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = |name: &str| {
            let times = reached.entry(name.to_owned()).or_default();
            *times += 1;
            *times
        };
        let (times, in_all) = (count(name), count(ANY));
        if let Some(mut trace) = self.trace.as_ref() {
            let written = trace.write_all(format!("{name}:{times}\n").as_bytes());
            written.expect("the trace of fault points can be written");
        }
        if self.is_fatal(name, times, in_all) {
            end_process();
        }
    }

    fn is_fatal(&self, name: &str, times: u32, in_all: u32) -> bool {
        self.fatal.as_ref().is_some_and(|(fatal, time)| {
            (fatal == name && *time == times) || (fatal == ANY && *time == in_all)
        })
    }
}

/// `name:n`, or `name` for the first time.
fn parse(text: &str) -> (String, u32) {
    let counted = text
        .rsplit_once(':')
        .and_then(|(name, times)| Some((name, times.parse().ok()?)));
    let (name, times) = counted.unwrap_or((text, 1));
    (name.to_owned(), times)
}

/// Nothing is closed, flushed or undone, as when somebody else ends the process.
fn end_process() -> ! {
    let killed =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    killed.expect("a process may end itself");
    loop {
        std::thread::park();
    }
}

/// What a commit writes, in the order of the first mention: the name of its two points.
#[derive(Default)]
pub(crate) struct Writes(Vec<String>);

impl Writes {
    pub(crate) fn of<'a>(queries: impl IntoIterator<Item = &'a Query>) -> Self {
        let mut writes = Self::default();
        for query in queries {
            writes.note(query);
        }
        writes
    }

    /// Notes what a statement of the commit does.
    pub(crate) fn note(&mut self, query: &Query) {
        if armed().is_none() {
            return;
        }
        if let Some(write) = described(query.for_sqlite().0)
            && !self.0.contains(&write)
        {
            self.0.push(write);
        }
    }

    pub(crate) fn before_commit(&self) {
        self.reach("before");
    }

    pub(crate) fn after_commit(&self) {
        self.reach("after");
    }

    fn reach(&self, side: &str) {
        if armed().is_some() && !self.0.is_empty() {
            point(&format!("{}/{side}", self.0.join("+")));
        }
    }
}

/// `table.verb` of a statement that writes.
fn described(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let verb = words.next()?;
    let table = match verb {
        "UPDATE" => words.next()?,
        "INSERT" | "DELETE" => words.nth(1)?,
        _ => return None,
    };
    Some(format!("{table}.{}", verb.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_its_point_and_which_time() {
        assert_eq!(
            parse("runs.update/before:3"),
            ("runs.update/before".to_owned(), 3)
        );
        assert_eq!(parse("request.done"), ("request.done".to_owned(), 1));
    }

    #[test]
    fn a_commit_is_named_by_what_it_writes() {
        let named = |text| described(text);
        assert_eq!(
            named("INSERT INTO runs (id) VALUES ($1)").as_deref(),
            Some("runs.insert")
        );
        assert_eq!(
            named("UPDATE runs SET a = 1").as_deref(),
            Some("runs.update")
        );
        assert_eq!(
            named("DELETE FROM runs WHERE id = $1").as_deref(),
            Some("runs.delete")
        );
        assert_eq!(named("SELECT id FROM runs"), None);
        assert_eq!(named("WITH RECURSIVE n (i) AS (SELECT 1)"), None);
    }

    #[test]
    fn every_time_a_point_is_reached_is_a_line_of_the_trace() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace");
        let faults = Faults {
            fatal: Some(("two".to_owned(), 2)),
            trace: Some(fs_err::File::create(&path).unwrap()),
            reached: Mutex::default(),
        };
        for name in ["one", "two", "one"] {
            faults.reach(name);
        }
        assert_eq!(
            fs_err::read_to_string(&path).unwrap(),
            "one:1\ntwo:1\none:2\n"
        );
    }

    #[test]
    fn a_fault_is_at_a_point_of_its_name_or_at_the_nth_of_any() {
        let faults = |fatal| Faults {
            fatal: Some(parse(fatal)),
            trace: None,
            reached: Mutex::default(),
        };
        assert!(faults("one:2").is_fatal("one", 2, 5));
        assert!(!faults("one:2").is_fatal("two", 2, 2));
        assert!(faults("*:5").is_fatal("one", 2, 5));
        assert!(!faults("*:5").is_fatal("one", 5, 6));
    }
}
