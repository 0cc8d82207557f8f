//! One statement on one connection.

use std::sync::Arc;

use rusqlite::{
    CachedStatement, Connection,
    types::{FromSql, FromSqlError, ToSql, ToSqlOutput, Value, ValueRef},
};

use crate::{
    StoreError,
    database::{Param, Query, Row},
};

fn prepare<'on>(on: &'on Connection, query: &Query) -> Result<CachedStatement<'on>, StoreError> {
    let (text, params) = query.for_sqlite();
    let mut statement = on.prepare_cached(text)?;
    for index in 1..=statement.parameter_count() {
        // `$7` is a name for SQLite, which numbers names as they come.
        let number = match statement.parameter_name(index) {
            Some(name) => name[1..].parse().unwrap_or(0),
            None => index,
        };
        let param = params.get(number.wrapping_sub(1));
        let param = param.ok_or(rusqlite::Error::InvalidParameterCount(number, params.len()))?;
        statement.raw_bind_parameter(index, param)?;
    }
    Ok(statement)
}

/// At most so `many` rows that `query` finds.
pub(super) fn read(on: &Connection, query: &Query, many: usize) -> Result<Vec<Row>, StoreError> {
    let mut statement = prepare(on, query)?;
    let names = statement.column_names();
    let columns: Arc<[String]> = names.into_iter().map(str::to_owned).collect();
    let mut rows = statement.raw_query();
    let mut read = Vec::new();
    while read.len() < many
        && let Some(row) = rows.next()?
    {
        let values = (0..columns.len()).map(|index| row.get_ref(index).map(Value::try_from));
        let values = values.map(|value| Ok(value?.map_err(rusqlite::Error::from)?));
        read.push(Row::Sqlite(SqliteRow {
            columns: Arc::clone(&columns),
            values: values.collect::<Result<_, StoreError>>()?,
        }));
    }
    Ok(read)
}

/// Carries `query` out; how many rows it touched.
pub(super) fn execute(on: &Connection, query: &Query) -> Result<u64, StoreError> {
    Ok(prepare(on, query)?.raw_execute()? as u64)
}

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Int(Some(value)) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(Some(value)) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(Some(value)) => ValueRef::Blob(value),
            Self::Int(None) | Self::Text(None) | Self::Bytes(None) => ValueRef::Null,
        }))
    }
}

/// A row that was read.
pub(crate) struct SqliteRow {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl SqliteRow {
    pub(in crate::database) fn get<T: FromSql>(&self, column: &str) -> Result<T, FromSqlError> {
        let index = self.columns.iter().position(|name| name == column);
        let value = index.and_then(|index| self.values.get(index));
        let value = value.ok_or_else(|| FromSqlError::Other("there is no such column".into()))?;
        T::column_result(ValueRef::from(value))
    }
}
