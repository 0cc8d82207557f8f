//! One statement on one connection.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rusqlite::{
    CachedStatement, Connection, ffi,
    types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef},
};

use crate::{
    StoreError,
    database::{Param, Query, Row, row::Cells},
};

/// How long others on the same thread wait for a statement that reads, and after how many of SQLite's own steps that is looked at.
const BRIEF: Duration = Duration::from_millis(1);
const STEPS: i32 = 1000;

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

/// How long others may have to wait for a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Not long: what only reads is broken off.
    Brief,
    /// As long as it takes.
    Patient,
}

/// At most so `many` rows that `query` finds.
pub(super) fn read(
    on: &Connection,
    query: &Query,
    many: usize,
    pace: Pace,
) -> Result<Vec<Row>, StoreError> {
    let mut statement = prepare(on, query)?;
    let only_reads = statement.readonly();
    let watch = match pace {
        Pace::Brief if only_reads => Some(Watch::begin(on)?),
        Pace::Brief | Pace::Patient => None,
    };
    let names = statement.column_names();
    let columns: Arc<[String]> = names.into_iter().map(str::to_owned).collect();
    let mut rows = statement.raw_query();
    let mut read = Vec::new();
    while read.len() < many
        && let Some(row) = rows.next()?
    {
        let cells = (0..columns.len()).map(|index| row.get_ref(index).map(Cell::from));
        read.push(Row::from(Cells::Sqlite(SqliteRow {
            columns: Arc::clone(&columns),
            cells: cells.collect::<Result<_, _>>()?,
        })));
        if watch.as_ref().is_some_and(Watch::is_over) {
            return Err(interrupted().into());
        }
    }
    if !only_reads {
        // What is wrong with a statement that writes may show itself only at its end.
        while rows.next()?.is_some() {}
    }
    Ok(read)
}

/// Breaks off what a connection reads when it takes too long.
struct Watch<'on> {
    on: &'on Connection,
    until: Instant,
}

impl<'on> Watch<'on> {
    fn begin(on: &'on Connection) -> rusqlite::Result<Self> {
        let until = Instant::now() + BRIEF;
        on.progress_handler(STEPS, Some(move || Instant::now() > until))?;
        Ok(Self { on, until })
    }

    /// SQLite itself takes few steps for rows that are large.
    fn is_over(&self) -> bool {
        Instant::now() > self.until
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        // Fails only for connections that are not ours.
        let _ = self.on.progress_handler(0, None::<fn() -> bool>);
    }
}

fn interrupted() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
}

/// Carries `query` out; how many rows it touched.
pub(super) fn execute(on: &Connection, query: &Query) -> Result<u64, StoreError> {
    Ok(prepare(on, query)?.raw_execute()? as u64)
}

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Int(Some(value)) => ValueRef::Integer(*value),
            Self::Real(Some(value)) => ValueRef::Real(*value),
            Self::Text(Some(value)) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(Some(value)) => ValueRef::Blob(value),
            Self::Int(None) | Self::Real(None) | Self::Text(None) | Self::Bytes(None) => {
                ValueRef::Null
            }
        }))
    }
}

/// A row that was read.
pub(crate) struct SqliteRow {
    columns: Arc<[String]>,
    cells: Vec<Cell>,
}

/// A value as it was read: text is not looked at before somebody wants it as such.
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl From<ValueRef<'_>> for Cell {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(value) => Self::Integer(value),
            ValueRef::Real(value) => Self::Real(value),
            ValueRef::Text(text) => Self::Text(text.to_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_owned()),
        }
    }
}

impl SqliteRow {
    pub(in crate::database) fn get<T: FromSql>(&self, column: &str) -> FromSqlResult<T> {
        T::column_result(self.value(column)?)
    }

    /// Bytes, also where somebody wrote text in their place.
    pub(in crate::database) fn bytes(&self, column: &str) -> FromSqlResult<Option<&[u8]>> {
        self.value(column)?.as_bytes_or_null()
    }

    fn value(&self, column: &str) -> FromSqlResult<ValueRef<'_>> {
        let index = self.columns.iter().position(|name| name == column);
        match index.and_then(|index| self.cells.get(index)) {
            Some(Cell::Null) => Ok(ValueRef::Null),
            Some(Cell::Integer(value)) => Ok(ValueRef::Integer(*value)),
            Some(Cell::Real(value)) => Ok(ValueRef::Real(*value)),
            Some(Cell::Text(text)) => Ok(ValueRef::Text(text)),
            Some(Cell::Blob(bytes)) => Ok(ValueRef::Blob(bytes)),
            None => Err(FromSqlError::Other("there is no such column".into())),
        }
    }
}
