//! Looking for things by what people call them.
//!
//! Tables whose rows are looked for repeat the name as it is and in lower case: neither database folds all letters,
//! and the two do not fold alike.

use std::collections::BTreeMap;

use proctor_core::id::{Dialect, Kind};

use crate::{
    StoreError,
    database::{Database, Param, Query},
    drafts::Column,
    page::Listing,
    runs::document,
};

/// Labels that something must have: under each name one of the values.
pub type WantedLabels = BTreeMap<String, Vec<String>>;

/// By what something is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// Its name: those that have exactly this, or, if none has, those that contain it in any case.
    pub name: Option<String>,
    /// The beginning of its id, or a part of its name in any case.
    pub search: Option<String>,
    /// Its labels. Only where its table has a column `metadata`.
    pub labels: WantedLabels,
}

/// The columns that repeat a name.
pub(crate) fn columns(name: Option<&str>) -> Vec<Column> {
    vec![
        ("name", name.map(str::to_owned).into()),
        ("folded_name", name.map(str::to_lowercase).into()),
    ]
}

/// The column that repeats labels; none where there are none.
pub(crate) fn labels(labels: &BTreeMap<String, String>) -> Param {
    let text = match labels.is_empty() {
        true => None,
        false => serde_json::to_string(labels).ok(),
    };
    text.into()
}

impl Listing {
    /// Only those of a kind `K` that are sought.
    pub(crate) async fn sought<K: Kind>(
        mut self,
        database: &Database,
        sought: &Sought,
    ) -> Result<Self, StoreError> {
        for (name, values) in &sought.labels {
            self = self.labelled("metadata", name, values)?;
        }
        if let Some(search) = given(sought.search.as_deref()) {
            let values = vec![prefix(&bare::<K>(search)).into(), part(search).into()];
            self = self.when(
                "(id LIKE ? ESCAPE '\\' OR folded_name LIKE ? ESCAPE '\\')",
                values,
            );
        }
        if let Some(name) = given(sought.name.as_deref()) {
            let exact = self.clone().filter("name", name);
            self = if exact.is_empty(database).await? {
                self.when("folded_name LIKE ? ESCAPE '\\'", vec![part(name).into()])
            } else {
                exact
            };
        }
        Ok(self)
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// What may be the beginning of an id, as it is stored.
fn bare<K: Kind>(text: &str) -> String {
    let rest = text
        .strip_prefix(K::prefix(Dialect::Runloop))
        .and_then(|rest| rest.strip_prefix('_'));
    rest.unwrap_or(text).to_uppercase()
}

fn prefix(text: &str) -> String {
    format!("{}%", literal(text))
}

fn part(text: &str) -> String {
    format!("%{}%", literal(&text.to_lowercase()))
}

/// The text with nothing in it that a pattern would read as its own.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            literal.push('\\');
        }
        literal.push(letter);
    }
    literal
}

/// How many rows are completed at a time.
const BATCH: u32 = 500;

/// Fills the columns of rows that are older than the columns.
pub(crate) async fn complete(database: &Database) -> Result<(), StoreError> {
    #[derive(serde::Deserialize)]
    struct Body {
        name: String,
        #[serde(default)]
        metadata: BTreeMap<String, String>,
    }
    for table in ["benchmarks", "tasks"] {
        loop {
            let text = format!("SELECT id, body FROM {table} WHERE name IS NULL LIMIT $1");
            let rows = database
                .read_all(Query::assembled(text, vec![BATCH.into()]))
                .await?;
            if rows.is_empty() {
                break;
            }
            let mut transaction = database.begin().await?;
            for row in &rows {
                let body: Body = row.json("body")?;
                let text = format!(
                    "UPDATE {table} SET name = $1, folded_name = $2, metadata = $3 WHERE id = $4 AND name IS NULL"
                );
                let query = Query::assembled(text, Vec::new())
                    .bind(body.name.as_str())
                    .bind(body.name.to_lowercase())
                    .bind(labels(&body.metadata))
                    .bind(row.text("id")?);
                transaction.execute(query).await?;
            }
            transaction.commit().await?;
        }
    }
    for (table, column) in [
        ("runs", "particulars"),
        ("task_runs", "particulars"),
        ("blueprints", "recipe"),
    ] {
        complete_labels(database, table, column).await?;
    }
    Ok(())
}

/// Fills `metadata` of rows that are older than the column from the document in `column`.
async fn complete_labels(database: &Database, table: &str, column: &str) -> Result<(), StoreError> {
    #[derive(Default, serde::Deserialize)]
    struct Labelled {
        #[serde(default)]
        metadata: BTreeMap<String, String>,
    }
    loop {
        let text = format!("SELECT id, {column} FROM {table} WHERE metadata IS NULL LIMIT $1");
        let rows = database
            .read_all(Query::assembled(text, vec![BATCH.into()]))
            .await?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut transaction = database.begin().await?;
        for row in &rows {
            let labelled: Labelled = match row.opt_text(column)? {
                Some(_) => row.json(column)?,
                None => Labelled::default(),
            };
            let text =
                format!("UPDATE {table} SET metadata = $1 WHERE id = $2 AND metadata IS NULL");
            let query = Query::assembled(text, Vec::new())
                .bind(document(&labelled.metadata)?)
                .bind(row.text("id")?);
            transaction.execute(query).await?;
        }
        transaction.commit().await?;
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::id::kinds::TaskKind;

    use super::*;

    #[test]
    fn patterns_mean_what_they_say() {
        assert_eq!(part("50%_A\\"), "%50\\%\\_a\\\\%");
        assert_eq!(prefix(&bare::<TaskKind>("scn_01ab")), "01AB%");
        assert_eq!(prefix(&bare::<TaskKind>("01ab")), "01AB%");
    }
}
