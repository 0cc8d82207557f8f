//! Several statements that hold together.

use std::sync::Arc;

use sqlx::{Connection as _, Postgres, pool::PoolConnection};

use super::{
    Query, Row,
    counters::Counters,
    sqlite::{self, Reader, Writer},
};
use crate::{StoreError, error::DatabaseError, fault::Writes, vault::Vault};

/// Several statements that hold together: all of them after [`Transaction::commit`], none of
/// them when it is dropped.
pub(crate) struct Transaction {
    statements: Statements,
    writes: Writes,
    counters: Arc<Counters>,
    vault: Arc<Vault>,
}

/// Where the statements are carried out.
pub(super) enum Statements {
    Sqlite(sqlite::Statements<Writer>),
    /// Only reads.
    Moment(sqlite::Statements<Reader>),
    Postgres(sqlx::Transaction<'static, Postgres>),
    /// Only reads.
    PostgresMoment(sqlx::Transaction<'static, Postgres>),
}

impl Transaction {
    pub(super) fn on(statements: Statements, counters: Arc<Counters>, vault: Arc<Vault>) -> Self {
        Self {
            statements,
            writes: Writes::default(),
            counters,
            vault,
        }
    }

    /// What seals what may be secret.
    pub(crate) fn vault(&self) -> &Vault {
        &self.vault
    }

    pub(crate) async fn read_optional(&mut self, query: Query) -> Result<Option<Row>, StoreError> {
        self.writes.note(&query);
        let row = match &mut self.statements {
            Statements::Sqlite(statements) => statements.read(query, 1).await?.pop(),
            Statements::Moment(statements) => statements.read(query, 1).await?.pop(),
            Statements::Postgres(transaction) | Statements::PostgresMoment(transaction) => {
                query.fetch_optional(&mut **transaction).await?
            }
        };
        self.counters.read(usize::from(row.is_some()));
        Ok(row.map(|row| row.with(&self.vault)))
    }

    pub(crate) async fn read_all(&mut self, query: Query) -> Result<Vec<Row>, StoreError> {
        self.writes.note(&query);
        let rows = match &mut self.statements {
            Statements::Sqlite(statements) => statements.read(query, usize::MAX).await,
            Statements::Moment(statements) => statements.read(query, usize::MAX).await,
            Statements::Postgres(transaction) | Statements::PostgresMoment(transaction) => {
                query.fetch_all(&mut **transaction).await
            }
        }?;
        self.counters.read(rows.len());
        Ok(rows.into_iter().map(|row| row.with(&self.vault)).collect())
    }

    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64, StoreError> {
        self.writes.note(&query);
        let changed = match &mut self.statements {
            Statements::Sqlite(statements) => statements.execute(query).await,
            Statements::Moment(statements) => statements.execute(query).await,
            Statements::Postgres(transaction) | Statements::PostgresMoment(transaction) => {
                query.execute(&mut **transaction).await
            }
        }?;
        self.counters.wrote(1);
        Ok(changed)
    }

    /// Lets nobody else write to `table` until the end. SQLite's one writer has that already.
    pub(crate) async fn lock_table(&mut self, table: &'static str) -> Result<(), StoreError> {
        if let Statements::Postgres(_) = self.statements {
            let text = format!("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE");
            self.execute(Query::assembled(text, Vec::new())).await?;
        }
        Ok(())
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.writes.before_commit();
        match self.statements {
            Statements::Sqlite(statements) => statements.commit().await?,
            Statements::Postgres(transaction) => transaction.commit().await?,
            // What only reads has nothing to keep.
            Statements::Moment(statements) => return statements.commit().await,
            Statements::PostgresMoment(transaction) => return Ok(transaction.commit().await?),
        }
        self.writes.after_commit();
        self.counters.committed();
        Ok(())
    }
}

/// A connection that is kept for a series of writes.
pub(crate) struct WriteConnection {
    connection: Connection,
    counters: Arc<Counters>,
}

pub(super) enum Connection {
    /// None if whoever carried statements out on it never came back.
    Sqlite(Option<Writer>),
    Postgres(PoolConnection<Postgres>),
}

impl WriteConnection {
    pub(super) const fn new(connection: Connection, counters: Arc<Counters>) -> Self {
        Self {
            connection,
            counters,
        }
    }

    /// Carries out all of `queries`, or none of them.
    pub(crate) async fn execute_all(&mut self, queries: Vec<Query>) -> Result<(), StoreError> {
        let (writes, statements) = (Writes::of(&queries), queries.len());
        writes.before_commit();
        match &mut self.connection {
            Connection::Sqlite(kept) => {
                let writer = kept.take().ok_or(DatabaseError::Closed)?;
                let (writer, written) = writer.execute_all(queries).await;
                *kept = writer;
                written?;
            }
            Connection::Postgres(connection) => match <[Query; 1]>::try_from(queries) {
                // A single statement is a transaction of its own.
                Ok([query]) => {
                    query.execute(&mut **connection).await?;
                }
                Err(queries) => {
                    let mut transaction = connection.begin().await?;
                    for query in queries {
                        query.execute(&mut *transaction).await?;
                    }
                    transaction.commit().await?;
                }
            },
        }
        writes.after_commit();
        self.counters.wrote(statements);
        self.counters.committed();
        Ok(())
    }
}
