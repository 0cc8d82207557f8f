//! Statements that hold together.

use rusqlite::Connection;

use super::{
    Holder, Writer, asks_for_patience, finish,
    statement::{Pace, execute, read},
    undo,
};
use crate::{
    StoreError,
    database::{Query, Row},
    error::DatabaseError,
};

/// Statements that hold together: all of them after [`Statements::commit`], none of them when it is dropped.
pub(crate) struct Statements<H>(Option<H>);

impl<H: Holder> Statements<H> {
    pub(super) async fn begin(holder: H, statement: &'static str) -> Result<Self, StoreError> {
        let mut statements = Self(Some(holder));
        let begin = move |on: &Connection, _| Ok(on.execute_batch(statement)?);
        statements.carry_out(begin, Pace::Brief).await?;
        Ok(statements)
    }

    pub(crate) async fn read(&mut self, query: Query, many: usize) -> Result<Vec<Row>, StoreError> {
        let search = move |on: &Connection, pace| read(on, &query, many, pace);
        self.carry_out(search, Pace::Brief).await
    }

    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64, StoreError> {
        let pace = query.pace();
        let write = move |on: &Connection, _| execute(on, &query);
        self.carry_out(write, pace).await
    }

    /// Does `work` here; if it is or turns out to be nothing brief, on a thread that may wait.
    async fn carry_out<T: Send + 'static>(
        &mut self,
        work: impl Fn(&Connection, Pace) -> Result<T, StoreError> + Send + 'static,
        pace: Pace,
    ) -> Result<T, StoreError> {
        tokio::task::consume_budget().await;
        let holder = self.0.take().ok_or(DatabaseError::Closed)?;
        if pace == Pace::Brief {
            let done = holder.connection().and_then(|on| work(on, pace));
            if !asks_for_patience(&done) {
                return self.go_on(holder, done);
            }
        }
        let waited = holder.elsewhere().carry_out(move || {
            let done = holder.patiently(|on| work(on, Pace::Patient));
            Ok((holder, done))
        });
        let (holder, done) = waited.await?;
        self.go_on(holder, done)
    }

    /// Takes the connection back, unless SQLite has undone everything by itself: what came after would not hold together with what came before.
    fn go_on<T>(&mut self, holder: H, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if done.is_ok() || !holder.connection()?.is_autocommit() {
            self.0 = Some(holder);
        }
        done
    }

    pub(crate) async fn commit(mut self) -> Result<(), StoreError> {
        let holder = self.0.take().ok_or(DatabaseError::Closed)?;
        let pace = holder.pace_of_commit();
        finish(holder, pace, |on| Ok(on.execute_batch("COMMIT")?)).await
    }
}

impl Writer {
    /// Carries out all of `queries`, or none of them. Without a writer its connection is gone.
    pub(crate) async fn execute_all(
        self,
        queries: Vec<Query>,
    ) -> (Option<Self>, Result<(), StoreError>) {
        let all = move |on: &Connection| {
            if let [query] = queries.as_slice() {
                // A single statement is a transaction of its own.
                return execute(on, query).map(drop);
            }
            on.execute_batch("BEGIN IMMEDIATE")?;
            for query in &queries {
                execute(on, query)?;
            }
            Ok(on.execute_batch("COMMIT")?)
        };
        let done = self.elsewhere().carry_out(move || {
            let done = self.patiently(all);
            if done.is_err() {
                self.connection().map(undo)?;
            }
            Ok((self, done))
        });
        match done.await {
            Ok((writer, done)) => (Some(writer), done),
            Err(error) => (None, Err(error)),
        }
    }
}
