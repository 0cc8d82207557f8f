//! A statement with its values.

use proctor_core::{
    id::{Id, Kind},
    time::Timestamp,
};
use sqlx::{AssertSqlSafe, Executor, Postgres, postgres::PgArguments};

use super::{Row, row::Cells};
use crate::StoreError;

/// A value to put into a statement.
#[derive(Clone, Debug)]
pub(crate) enum Param {
    Int(Option<i64>),
    Real(Option<f64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

macro_rules! param_from {
    ($($type:ty => |$value:ident| $param:expr;)*) => {
        $(impl From<$type> for Param {
            fn from($value: $type) -> Self {
                $param
            }
        })*
    };
}

param_from! {
    i64 => |value| Self::Int(Some(value));
    Option<i64> => |value| Self::Int(value);
    u32 => |value| Self::Int(Some(value.into()));
    Option<u32> => |value| Self::Int(value.map(i64::from));
    bool => |value| Self::Int(Some(value.into()));
    f64 => |value| Self::Real(Some(value));
    Option<f64> => |value| Self::Real(value);
    &str => |value| Self::Text(Some(value.to_owned()));
    String => |value| Self::Text(Some(value));
    Option<String> => |value| Self::Text(value);
    Vec<u8> => |value| Self::Bytes(Some(value));
    Option<Vec<u8>> => |value| Self::Bytes(value);
    Timestamp => |value| Self::Int(Some(value.as_millis()));
    Option<Timestamp> => |value| Self::Int(value.map(Timestamp::as_millis));
}

impl<K: Kind> From<Id<K>> for Param {
    fn from(id: Id<K>) -> Self {
        Self::Text(Some(id.bare()))
    }
}

impl<K: Kind> From<Option<Id<K>>> for Param {
    fn from(id: Option<Id<K>>) -> Self {
        Self::Text(id.map(Id::bare))
    }
}

/// A statement with its values.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    text: Text,
    params: Vec<Param>,
}

#[derive(Clone, Debug)]
enum Text {
    Fixed(&'static str),
    Assembled(String),
    Either {
        sqlite: &'static str,
        postgres: &'static str,
    },
}

impl Query {
    /// A statement with a fixed text.
    pub(crate) const fn new(text: &'static str) -> Self {
        Self {
            text: Text::Fixed(text),
            params: Vec::new(),
        }
    }

    /// A statement put together from fixed pieces. No value may be in the text.
    pub(crate) const fn assembled(text: String, params: Vec<Param>) -> Self {
        Self {
            text: Text::Assembled(text),
            params,
        }
    }

    /// A statement whose placeholders are written as each database reads them fastest.
    pub(super) const fn of_either(
        sqlite: &'static str,
        postgres: &'static str,
        params: Vec<Param>,
    ) -> Self {
        Self {
            text: Text::Either { sqlite, postgres },
            params,
        }
    }

    /// Fills the next placeholder.
    pub(crate) fn bind(mut self, value: impl Into<Param>) -> Self {
        self.params.push(value.into());
        self
    }

    /// How large its values are, about.
    pub(super) fn size(&self) -> usize {
        let sizes = self.params.iter().map(|param| match param {
            Param::Int(_) | Param::Real(_) => 0,
            Param::Text(text) => text.as_ref().map_or(0, String::len),
            Param::Bytes(bytes) => bytes.as_ref().map_or(0, Vec::len),
        });
        sizes.sum()
    }

    /// The text that SQLite reads, and its values.
    pub(crate) fn for_sqlite(&self) -> (&str, &[Param]) {
        let text = match &self.text {
            Text::Fixed(text) | Text::Either { sqlite: text, .. } => text,
            Text::Assembled(text) => text.as_str(),
        };
        (text, &self.params)
    }

    fn for_postgres(self) -> sqlx::query::Query<'static, Postgres, PgArguments> {
        let statement = match self.text {
            Text::Fixed(text) | Text::Either { postgres: text, .. } => sqlx::query(text),
            Text::Assembled(text) => sqlx::query(AssertSqlSafe(text)),
        };
        self.params
            .into_iter()
            .fold(statement, |statement, param| match param {
                Param::Int(value) => statement.bind(value),
                Param::Real(value) => statement.bind(value),
                Param::Text(value) => statement.bind(value),
                Param::Bytes(value) => statement.bind(value),
            })
    }

    pub(super) async fn fetch_all<'c>(
        self,
        executor: impl Executor<'c, Database = Postgres>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.for_postgres().fetch_all(executor).await?;
        Ok(rows
            .into_iter()
            .map(|row| Cells::Postgres(row).into())
            .collect())
    }

    pub(super) async fn fetch_optional<'c>(
        self,
        executor: impl Executor<'c, Database = Postgres>,
    ) -> Result<Option<Row>, StoreError> {
        let row = self.for_postgres().fetch_optional(executor).await?;
        Ok(row.map(|row| Cells::Postgres(row).into()))
    }

    pub(super) async fn execute<'c>(
        self,
        executor: impl Executor<'c, Database = Postgres>,
    ) -> Result<u64, StoreError> {
        Ok(self.for_postgres().execute(executor).await?.rows_affected())
    }
}
