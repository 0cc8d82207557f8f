//! Several statements that hold together.

use sqlx::{Connection as _, Postgres, pool::PoolConnection};

use super::{
    Query, Row,
    sqlite::{self, Reader, Writer},
};
use crate::{StoreError, error::DatabaseError, fault::Writes};

/// Several statements that hold together: all of them after [`Transaction::commit`], none of
/// them when it is dropped.
pub(crate) struct Transaction {
    statements: Statements,
    writes: Writes,
}

/// Where the statements are carried out.
pub(super) enum Statements {
    Sqlite(sqlite::Statements<Writer>),
    /// Only reads.
    Moment(sqlite::Statements<Reader>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Transaction {
    pub(super) fn on(statements: Statements) -> Self {
        Self {
            statements,
            writes: Writes::default(),
        }
    }

    pub(crate) async fn read_optional(&mut self, query: Query) -> Result<Option<Row>, StoreError> {
        self.writes.note(&query);
        match &mut self.statements {
            Statements::Sqlite(statements) => Ok(statements.read(query, 1).await?.pop()),
            Statements::Moment(statements) => Ok(statements.read(query, 1).await?.pop()),
            Statements::Postgres(transaction) => query.fetch_optional(&mut **transaction).await,
        }
    }

    pub(crate) async fn read_all(&mut self, query: Query) -> Result<Vec<Row>, StoreError> {
        self.writes.note(&query);
        match &mut self.statements {
            Statements::Sqlite(statements) => statements.read(query, usize::MAX).await,
            Statements::Moment(statements) => statements.read(query, usize::MAX).await,
            Statements::Postgres(transaction) => query.fetch_all(&mut **transaction).await,
        }
    }

    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64, StoreError> {
        self.writes.note(&query);
        match &mut self.statements {
            Statements::Sqlite(statements) => statements.execute(query).await,
            Statements::Moment(statements) => statements.execute(query).await,
            Statements::Postgres(transaction) => query.execute(&mut **transaction).await,
        }
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
            Statements::Sqlite(statements) => statements.commit().await,
            Statements::Moment(statements) => statements.commit().await,
            Statements::Postgres(transaction) => Ok(transaction.commit().await?),
        }?;
        self.writes.after_commit();
        Ok(())
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
        let writes = Writes::of(&queries);
        writes.before_commit();
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
                    transaction.commit().await.map_err(StoreError::from)
                }
            },
        }?;
        writes.after_commit();
        Ok(())
    }
}
