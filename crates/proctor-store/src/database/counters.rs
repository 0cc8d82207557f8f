//! What is asked of the database, counted: so that a test can see when a step begins to cost more, or to cost more in a larger run.

use std::{
    ops::Sub,
    sync::atomic::{AtomicU64, Ordering},
};

/// What was asked of the database by one store since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseCounts {
    /// Statements that were carried out, those that begin and end transactions apart.
    pub statements: u64,
    /// Commits of what was written: transactions, and single statements that are transactions of their own.
    pub commits: u64,
    /// Rows that statements found for their callers.
    pub rows_read: u64,
}

impl Sub for DatabaseCounts {
    type Output = Self;

    /// What was asked between two looks.
    fn sub(self, earlier: Self) -> Self {
        Self {
            statements: self.statements - earlier.statements,
            commits: self.commits - earlier.commits,
            rows_read: self.rows_read - earlier.rows_read,
        }
    }
}

/// Counts as they rise. What failed is not counted.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    statements: AtomicU64,
    commits: AtomicU64,
    rows_read: AtomicU64,
}

impl Counters {
    pub(super) fn read(&self, rows: usize) {
        self.statements.fetch_add(1, Ordering::Relaxed);
        self.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(super) fn wrote(&self, statements: usize) {
        self.statements
            .fetch_add(statements as u64, Ordering::Relaxed);
    }

    pub(super) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> DatabaseCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DatabaseCounts {
            statements: read(&self.statements),
            commits: read(&self.commits),
            rows_read: read(&self.rows_read),
        }
    }
}
