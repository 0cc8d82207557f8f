//! What people see while attempts are made: one redrawn line on a terminal, a line for each change elsewhere.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::drive::Todo;
use crate::{report::text::line, terminal};

/// How much of a name is shown.
const NAME: usize = 60;
/// How much of a reason is shown.
const REASON: usize = 160;

/// What came of a try, in words.
pub(super) struct TryReport {
    text: String,
    is_repeated: bool,
}

impl TryReport {
    /// What is told of a task run that is over.
    pub(super) fn of(seen: &Value, is_repeated: bool, log: &Path) -> Self {
        let mut text = match (seen["cause"].as_str(), seen["score"].as_f64()) {
            (Some(cause), _) => {
                let reason = seen["reason"].as_str().unwrap_or_default();
                let log = match cause.starts_with("agent_") && log.is_file() {
                    true => format!(" (log: {})", log.display()),
                    false => String::new(),
                };
                format!("{cause}: {}{log}", line(reason, REASON))
            }
            (None, Some(score)) => {
                let verdict = seen["verdict"].as_str().unwrap_or_default();
                format!("{score:.3} {verdict}")
            }
            (None, None) => "no score".to_owned(),
        };
        if is_repeated {
            text += "; it is void and is tried again";
        }
        Self { text, is_repeated }
    }
}

/// Who is told.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    attempts: u32,
    planned: AtomicUsize,
    done: AtomicUsize,
    warnings: Mutex<Vec<String>>,
}

impl Progress {
    /// Begins to tell people about attempts at each task.
    pub(super) fn new(attempts: u32, is_quiet: bool) -> Self {
        let is_drawn = !is_quiet && terminal::is_for_people();
        let bar = is_drawn.then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")
            {
                bar.set_style(style);
            }
            bar
        });
        Self {
            bar,
            is_quiet,
            attempts,
            planned: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            warnings: Mutex::default(),
        }
    }

    /// So many attempts are to be made, besides those that are known.
    pub(super) fn plan(&self, count: usize) {
        self.planned.fetch_add(count, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.inc_length(count as u64);
        }
    }

    /// A try begins.
    pub(super) fn began(&self, todo: &Todo) {
        if let Some(bar) = &self.bar {
            bar.set_message(self.name(todo));
        }
    }

    /// A try is over.
    pub(super) fn ended(&self, todo: &Todo, said: &TryReport) {
        if !said.is_repeated {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        let text = format!("{}: {}", self.name(todo), said.text);
        match &self.bar {
            Some(bar) => {
                if !said.is_repeated {
                    bar.inc(1);
                }
                bar.println(text);
            }
            None if self.is_quiet => {}
            None => {
                let done = self.done.load(Ordering::Relaxed);
                eprintln!("{done}/{} {text}", self.planned.load(Ordering::Relaxed));
            }
        }
    }

    fn name(&self, todo: &Todo) -> String {
        let name = line(&todo.task, NAME);
        match self.attempts {
            1 => name,
            all => format!("{name} (attempt {} of {all})", todo.attempt),
        }
    }

    /// Something is not as it should be, and costs no result.
    pub(super) fn warn(&self, warning: String) {
        let text = format!("warning: {warning}");
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(warning);
    }

    /// What is not as it should be.
    pub(super) fn warnings(&self) -> Vec<String> {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.clone()
    }

    /// Everything is over.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
