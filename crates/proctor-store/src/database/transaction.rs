//! Several statements that hold together.

use sqlx::{Connection as _, Postgres, pool::PoolConnection};

use super::{
    Query, Row,
    sqlite::{Reader, Statements, Writer},
};
use crate::{StoreError, error::DatabaseError};

/// Several statements that hold together: all of them after [`Transaction::commit`], none of
/// them when it is dropped.
pub(crate) enum Transaction {
    Sqlite(Statements<Writer>),
    /// One that only reads.
    Moment(Statements<Reader>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Transaction {
    pub(crate) async fn read_optional(&mut self, query: Query) -> Result<Option<Row>, StoreError> {
        match self {
            Self::Sqlite(statements) => Ok(statements.read(query, 1).await?.pop()),
            Self::Moment(statements) => Ok(statements.read(query, 1).await?.pop()),
            Self::Postgres(transaction) => query.fetch_optional(&mut **transaction).await,
        }
    }

    pub(crate) async fn read_all(&mut self, query: Query) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Sqlite(statements) => statements.read(query, usize::MAX).await,
            Self::Moment(statements) => statements.read(query, usize::MAX).await,
            Self::Postgres(transaction) => query.fetch_all(&mut **transaction).await,
        }
    }

    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(statements) => statements.execute(query).await,
            Self::Moment(statements) => statements.execute(query).await,
            Self::Postgres(transaction) => query.execute(&mut **transaction).await,
        }
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
            Self::Sqlite(statements) => statements.commit().await,
            Self::Moment(statements) => statements.commit().await,
            Self::Postgres(transaction) => Ok(transaction.commit().await?),
        }
    }
}

/// A connection that is kept for a series of writes.
pub(crate) enum WriteConnection {
    /// None if whoever carried statements out on it never came back.
    Sqlite(Option<Writer>),
    Postgres(PoolConnection<Postgres>),
}

impl WriteConnection {
    /// Carries out all of `queries`, or none of them.
    pub(crate) async fn execute_all(&mut self, queries: Vec<Query>) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(kept) => {
                let writer = kept.take().ok_or(DatabaseError::Closed)?;
                let (writer, written) = writer.execute_all(queries).await;
                *kept = writer;
                written
            }
            Self::Postgres(connection) => match <[Query; 1]>::try_from(queries) {
                // A single statement is a transaction of its own.
                Ok([query]) => query.execute(&mut **connection).await.map(drop),
                Err(queries) => {
                    let mut transaction = connection.begin().await?;
                    for query in queries {
                        query.execute(&mut *transaction).await?;
                    }
                    Ok(transaction.commit().await?)
                }
            },
        }
    }
}
