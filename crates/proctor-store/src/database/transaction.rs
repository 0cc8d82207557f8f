//! Several statements that hold together.

use sqlx::{Connection as _, Postgres, Sqlite, pool::PoolConnection};

use super::{Query, Row};
use crate::StoreError;

/// Several statements that hold together: all of them after [`Transaction::commit`], none of
/// them when it is dropped.
pub(crate) enum Transaction {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

macro_rules! on_either {
    ($self:expr, |$connection:ident| $body:expr) => {
        match $self {
            Transaction::Sqlite(transaction) => {
                let $connection = &mut **transaction;
                $body
            }
            Transaction::Postgres(transaction) => {
                let $connection = &mut **transaction;
                $body
            }
        }
    };
}

impl Transaction {
    pub(crate) async fn read_optional(&mut self, query: Query) -> Result<Option<Row>, StoreError> {
        on_either!(self, |connection| query.fetch_optional(connection).await)
    }

    pub(crate) async fn read_all(&mut self, query: Query) -> Result<Vec<Row>, StoreError> {
        on_either!(self, |connection| query.fetch_all(connection).await)
    }

    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64, StoreError> {
        on_either!(self, |connection| query.execute(connection).await)
    }

    /// Lets nobody else write to `table` until the end. SQLite's one writer has that already.
    pub(crate) async fn lock_table(&mut self, table: &'static str) -> Result<(), StoreError> {
        if let Self::Postgres(_) = self {
            let text = format!("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE");
            self.execute(Query::assembled(text, Vec::new())).await?;
        }
        Ok(())
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(transaction) => transaction.commit().await?,
            Self::Postgres(transaction) => transaction.commit().await?,
        }
        Ok(())
    }
}

/// A connection that is kept for a series of writes: a pool would look after it between any two.
pub(crate) enum WriteConnection {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

impl WriteConnection {
    /// Carries out all of `queries`, or none of them.
    pub(crate) async fn execute_all(&mut self, queries: Vec<Query>) -> Result<(), StoreError> {
        match (self, <[Query; 1]>::try_from(queries)) {
            // A single statement is a transaction of its own.
            (Self::Sqlite(connection), Ok([query])) => {
                query.execute(&mut **connection).await?;
            }
            (Self::Postgres(connection), Ok([query])) => {
                query.execute(&mut **connection).await?;
            }
            (Self::Sqlite(connection), Err(queries)) => {
                let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
                for query in queries {
                    query.execute(&mut *transaction).await?;
                }
                transaction.commit().await?;
            }
            (Self::Postgres(connection), Err(queries)) => {
                let mut transaction = connection.begin().await?;
                for query in queries {
                    query.execute(&mut *transaction).await?;
                }
                transaction.commit().await?;
            }
        }
        Ok(())
    }
}
