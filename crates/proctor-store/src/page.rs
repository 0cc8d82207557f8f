//! Lists, newest first, one page at a time. Both dialects' lists are thin layers over this.

use proctor_core::id::{Id, Kind};

use crate::{
    StoreError,
    database::{Database, Param, Query, Row},
    runs::document,
};

/// Which part of a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest<K: Kind> {
    /// At most how many.
    pub limit: u32,
    /// Where to begin.
    pub from: PageStart<K>,
    /// Whether to count the whole list too.
    pub count: bool,
}

/// Where a page begins. The place of an id that is gone is still a place: paging goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStart<K: Kind> {
    /// At the newest.
    Newest,
    /// With the next older than this one.
    After(Id<K>),
    /// So that it ends with the next newer than this one.
    Before(Id<K>),
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it, newest first.
    pub items: Vec<T>,
    /// Whether older ones follow.
    pub has_more: bool,
    /// Whether newer ones precede.
    pub has_previous: bool,
    /// How long the whole list is, if asked for.
    pub total: Option<u64>,
}

impl<T> Page<T> {
    /// The same page of something else.
    pub fn map<U>(self, each: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(each).collect(),
            has_more: self.has_more,
            has_previous: self.has_previous,
            total: self.total,
        }
    }
}

/// By what a list is sorted, if not by age: an expression over its columns that is never NULL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortKey {
    /// The expression; a fixed text without parameters.
    pub(crate) expression: &'static str,
    /// Whether the greatest comes first.
    pub(crate) is_descending: bool,
}

/// A list in the database: rows of one table that pass all filters.
#[derive(Clone)]
pub(crate) struct Listing {
    columns: &'static str,
    table: &'static str,
    filters: Vec<String>,
    params: Vec<Param>,
}

impl Listing {
    /// All rows of `table`, of which `columns` (with `id` among them) are read.
    pub(crate) fn new(columns: &'static str, table: &'static str) -> Self {
        Self {
            columns,
            table,
            filters: Vec::new(),
            params: Vec::new(),
        }
    }

    /// Only those where `column` has this value.
    pub(crate) fn filter(mut self, column: &'static str, value: impl Into<Param>) -> Self {
        self.params.push(value.into());
        self.filters
            .push(format!("{column} = ${}", self.params.len()));
        self
    }

    /// Only those among the ids that `select` finds, which ends with the name of the column that
    /// has this value.
    pub(crate) fn among(mut self, select: &'static str, value: impl Into<Param>) -> Self {
        self.params.push(value.into());
        self.filters
            .push(format!("id IN ({select} = ${})", self.params.len()));
        self
    }

    /// Only those where this holds; each `?` of the fixed text stands for the next of `values`.
    pub(crate) fn when(mut self, condition: &'static str, values: Vec<Param>) -> Self {
        let mut pieces = condition.split('?');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for (piece, value) in pieces.zip(values) {
            self.params.push(value);
            text.push_str(&format!("${}{piece}", self.params.len()));
        }
        self.filters.push(text);
        self
    }

    /// Only those where `column` has one of these values.
    pub(crate) fn any_of(mut self, column: &'static str, values: Vec<Param>) -> Self {
        let first = self.params.len() + 1;
        self.params.extend(values);
        let places: Vec<_> = (first..=self.params.len())
            .map(|place| format!("${place}"))
            .collect();
        self.filters.push(match places.is_empty() {
            true => "1 = 0".to_owned(),
            false => format!("{column} IN ({})", places.join(", ")),
        });
        self
    }

    /// Only those whose labels in `column`, which is an object of texts as this store writes JSON, have one of these values under `name`.
    ///
    /// Within a text a quotation mark never follows a brace or a comma directly, so a member is found as what it is written as.
    pub(crate) fn labelled(
        mut self,
        column: &'static str,
        name: &str,
        values: &[String],
    ) -> Result<Self, StoreError> {
        let mut ways = Vec::new();
        for value in values {
            ways.extend(self.ways_to_label(column, name, value)?);
        }
        self.filters.push(match ways.is_empty() {
            true => "1 = 0".to_owned(),
            false => format!("({})", ways.join(" OR ")),
        });
        Ok(self)
    }

    /// Only those that have this label, or the same value in a column of their own.
    pub(crate) fn labelled_or(
        mut self,
        column: &'static str,
        name: &str,
        value: &str,
        own: Option<&'static str>,
    ) -> Result<Self, StoreError> {
        let mut ways = self.ways_to_label(column, name, value)?;
        if let Some(own) = own {
            self.params.push(value.into());
            ways.push(format!("{own} = ${}", self.params.len()));
        }
        self.filters.push(format!("({})", ways.join(" OR ")));
        Ok(self)
    }

    /// The conditions under which a label is among those in `column`.
    fn ways_to_label(
        &mut self,
        column: &'static str,
        name: &str,
        value: &str,
    ) -> Result<Vec<String>, StoreError> {
        let member = format!("{}:{}", document(&name)?, document(&value)?);
        let mut ways = Vec::new();
        for before in ['{', ','] {
            self.params.push(format!("{before}{member}").into());
            // The one function that finds a text exactly in every database.
            let place = self.params.len();
            ways.push(format!("replace({column}, ${place}, '') <> {column}"));
        }
        Ok(ways)
    }

    /// Whether there is any.
    pub(crate) async fn is_empty(&self, database: &Database) -> Result<bool, StoreError> {
        let query = self.query::<proctor_core::id::kinds::OrganizationKind>("id", None, "LIMIT 1");
        Ok(database.read_optional(query).await?.is_none())
    }

    /// Only those where this holds; a fixed text without parameters.
    pub(crate) fn only(mut self, condition: &'static str) -> Self {
        self.filters.push(condition.to_owned());
        self
    }

    /// Reads the page.
    pub(crate) async fn page<K: Kind, T>(
        self,
        database: &Database,
        request: PageRequest<K>,
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Page<T>, StoreError> {
        let total = if request.count {
            let row = database
                .read_one(self.query::<K>("COUNT(*) AS total", None, ""))
                .await?;
            Some(u64::try_from(row.int("total")?).unwrap_or(0))
        } else {
            None
        };
        let limit = request.limit as usize;
        // One row more than asked for tells whether the list goes on in that direction.
        let (place, order) = match request.from {
            PageStart::Newest => (None, "DESC"),
            PageStart::After(id) => (Some(("<", id)), "DESC"),
            PageStart::Before(id) => (Some((">", id)), "ASC"),
        };
        let tail = format!("ORDER BY id {order} LIMIT {}", limit + 1);
        let mut rows = database
            .read_all(self.query(self.columns, place, &tail))
            .await?;
        let goes_on = rows.len() > limit;
        rows.truncate(limit);
        let (has_more, has_previous) = match request.from {
            PageStart::Newest => (goes_on, false),
            PageStart::After(id) => (goes_on, self.exists(database, ">=", id).await?),
            PageStart::Before(id) => {
                rows.reverse();
                (self.exists(database, "<=", id).await?, goes_on)
            }
        };
        let items = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Page {
            items,
            has_more,
            has_previous,
            total,
        })
    }

    /// Reads the page of a list in another order. The list goes on after a run with the same key by age, so no row is missed or shown twice.
    pub(crate) async fn page_by<K: Kind, T>(
        self,
        database: &Database,
        request: PageRequest<K>,
        key: SortKey,
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Page<T>, StoreError> {
        let total = match request.count {
            false => None,
            true => {
                let row = database
                    .read_one(self.query::<K>("COUNT(*) AS total", None, ""))
                    .await?;
                Some(u64::try_from(row.int("total")?).unwrap_or(0))
            }
        };
        let limit = request.limit as usize;
        let (place, is_backwards) = match request.from {
            PageStart::Newest => (None, false),
            PageStart::After(id) => (Some(id), false),
            PageStart::Before(id) => (Some(id), true),
        };
        let is_descending = key.is_descending != is_backwards;
        let mut listing = self.clone();
        if let Some(id) = place {
            listing.beyond(key, is_descending, id);
        }
        let order = if is_descending { "DESC" } else { "ASC" };
        let tail = format!(
            "ORDER BY {} {order}, id {order} LIMIT {}",
            key.expression,
            limit + 1
        );
        let query = listing.query::<K>(self.columns, None, &tail);
        let mut rows = database.read_all(query).await?;
        let goes_on = rows.len() > limit;
        rows.truncate(limit);
        let came_from = place.is_some();
        if is_backwards {
            rows.reverse();
        }
        let (has_more, has_previous) = match is_backwards {
            false => (goes_on, came_from),
            true => (came_from, goes_on),
        };
        let items = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Page {
            items,
            has_more,
            has_previous,
            total,
        })
    }

    /// Only those that come after a row in the order of a key.
    fn beyond<K: Kind>(&mut self, key: SortKey, is_descending: bool, id: Id<K>) {
        self.params.push(id.into());
        let relation = if is_descending { "<" } else { ">" };
        let SortKey { expression, .. } = key;
        self.filters.push(format!(
            "({expression}, id) {relation} (SELECT {expression}, id FROM {} WHERE id = ${})",
            self.table,
            self.params.len()
        ));
    }

    /// How many rows have each value of a column.
    pub(crate) async fn grouped(
        &self,
        database: &Database,
        column: &'static str,
    ) -> Result<Vec<Row>, StoreError> {
        let columns = format!("{column}, COUNT(*) AS total");
        let tail = format!("GROUP BY {column}");
        let query = self.query::<proctor_core::id::kinds::OrganizationKind>(&columns, None, &tail);
        database.read_all(query).await
    }

    async fn exists<K: Kind>(
        &self,
        database: &Database,
        relation: &str,
        id: Id<K>,
    ) -> Result<bool, StoreError> {
        Ok(database
            .read_optional(self.query("id", Some((relation, id)), "LIMIT 1"))
            .await?
            .is_some())
    }

    /// The text is put together from fixed pieces only; values are always parameters.
    fn query<K: Kind>(&self, columns: &str, place: Option<(&str, Id<K>)>, tail: &str) -> Query {
        let mut filters = self.filters.clone();
        let mut params = self.params.clone();
        if let Some((relation, id)) = place {
            params.push(id.into());
            filters.push(format!("id {relation} ${}", params.len()));
        }
        let condition = if filters.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", filters.join(" AND "))
        };
        Query::assembled(
            format!("SELECT {columns} FROM {} {condition} {tail}", self.table),
            params,
        )
    }
}
