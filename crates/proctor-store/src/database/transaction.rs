//! Several statements that hold together.

use sqlx::{Postgres, Sqlite};

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
