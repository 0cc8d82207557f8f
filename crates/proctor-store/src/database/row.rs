//! A row that was read.

use std::sync::Arc;

use proctor_core::{
    id::{Id, Kind},
    time::Timestamp,
};
use serde::de::DeserializeOwned;
use sqlx::{Row as _, postgres::PgRow};

use super::sqlite::SqliteRow;
use crate::{
    StoreError,
    sealed::{self, Confidential},
    vault::Vault,
};

/// A row that was read. Columns are asked for by name and type; what does not fit is damage.
pub(crate) struct Row {
    cells: Cells,
    /// Opens what is sealed in it.
    vault: Option<Arc<Vault>>,
}

/// What was read, by which driver.
pub(super) enum Cells {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl From<Cells> for Row {
    fn from(cells: Cells) -> Self {
        Self { cells, vault: None }
    }
}

macro_rules! get {
    ($self:ident, $column:ident, $type:ty) => {
        match &$self.cells {
            Cells::Sqlite(row) => row
                .get::<$type>($column)
                .map_err(|error| StoreError::corrupt($column, error)),
            Cells::Postgres(row) => row
                .try_get::<$type, _>($column)
                .map_err(|error| StoreError::corrupt($column, error)),
        }
    };
}

impl Row {
    pub(crate) fn int(&self, column: &str) -> Result<i64, StoreError> {
        get!(self, column, i64)
    }

    pub(crate) fn opt_int(&self, column: &str) -> Result<Option<i64>, StoreError> {
        get!(self, column, Option<i64>)
    }

    pub(crate) fn real(&self, column: &str) -> Result<f64, StoreError> {
        get!(self, column, f64)
    }

    pub(crate) fn opt_real(&self, column: &str) -> Result<Option<f64>, StoreError> {
        get!(self, column, Option<f64>)
    }

    pub(crate) fn text(&self, column: &str) -> Result<String, StoreError> {
        get!(self, column, String)
    }

    pub(crate) fn opt_text(&self, column: &str) -> Result<Option<String>, StoreError> {
        get!(self, column, Option<String>)
    }

    pub(crate) fn bytes(&self, column: &str) -> Result<Vec<u8>, StoreError> {
        let missing = || StoreError::Corrupt(format!("{column}: nothing is there"));
        self.opt_bytes(column)?.ok_or_else(missing)
    }

    pub(crate) fn opt_bytes(&self, column: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match &self.cells {
            Cells::Sqlite(row) => {
                let bytes = row.bytes(column);
                let bytes = bytes.map_err(|error| StoreError::corrupt(column, error))?;
                Ok(bytes.map(<[u8]>::to_vec))
            }
            Cells::Postgres(_) => get!(self, column, Option<Vec<u8>>),
        }
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool, StoreError> {
        Ok(self.int(column)? != 0)
    }

    pub(crate) fn number(&self, column: &str) -> Result<u32, StoreError> {
        u32::try_from(self.int(column)?).map_err(|error| StoreError::corrupt(column, error))
    }

    pub(crate) fn opt_number(&self, column: &str) -> Result<Option<u32>, StoreError> {
        self.opt_int(column)?
            .map(|value| u32::try_from(value).map_err(|error| StoreError::corrupt(column, error)))
            .transpose()
    }

    pub(crate) fn time(&self, column: &str) -> Result<Timestamp, StoreError> {
        self.int(column).map(Timestamp::from_millis)
    }

    pub(crate) fn opt_time(&self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.opt_int(column)?.map(Timestamp::from_millis))
    }

    pub(crate) fn id<K: Kind>(&self, column: &str) -> Result<Id<K>, StoreError> {
        Id::from_bare(&self.text(column)?).map_err(|error| StoreError::corrupt(column, error))
    }

    pub(crate) fn opt_id<K: Kind>(&self, column: &str) -> Result<Option<Id<K>>, StoreError> {
        self.opt_text(column)?
            .map(|text| Id::from_bare(&text).map_err(|error| StoreError::corrupt(column, error)))
            .transpose()
    }

    /// A value that has a text form, such as a digest.
    pub(crate) fn parsed<T>(&self, column: &str) -> Result<T, StoreError>
    where
        T: std::str::FromStr,
        T::Err: std::error::Error,
    {
        self.text(column)?
            .parse()
            .map_err(|error| StoreError::corrupt(column, error))
    }

    /// A document.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, StoreError> {
        serde_json::from_str(&self.text(column)?)
            .map_err(|error| StoreError::corrupt(column, error))
    }

    /// A document of `owner` that may hold secrets.
    pub(crate) fn confidential<T: Confidential>(
        &self,
        column: &str,
        owner: impl FnOnce() -> String,
    ) -> Result<T, StoreError> {
        let value: T = self.json(column)?;
        match &self.vault {
            Some(vault) if value.has_parts() => sealed::open(vault, &owner(), value),
            Some(_) | None => Ok(value),
        }
    }

    /// The row with what opens what is sealed in it.
    pub(super) fn with(mut self, vault: &Arc<Vault>) -> Self {
        self.vault = Some(Arc::clone(vault));
        self
    }
}
