//! Statements that insert many rows.

use super::{Param, Query};

/// The most rows in one statement.
const WIDEST: usize = 128;

/// How rows are inserted into one table. Statements come in powers of two, so that a few prepared
/// ones serve any number of rows.
pub(crate) struct Inserts {
    /// For 1, 2, 4 … [`WIDEST`] rows.
    texts: Vec<Texts>,
}

/// The same statement with the placeholders of either database. SQLite reads `$1` as well, but
/// takes it for a name and searches all names before it for every value: in the square of their
/// number, which here is large.
struct Texts {
    sqlite: String,
    postgres: String,
}

impl Inserts {
    pub(crate) fn into_table(table: &str, columns: &[&str]) -> Self {
        let text = |rows: usize, placeholder: &dyn Fn(usize) -> String| {
            let row = |row: usize| {
                let values: Vec<String> = (1..=columns.len())
                    .map(|column| placeholder(row * columns.len() + column))
                    .collect();
                format!("({})", values.join(", "))
            };
            let rows: Vec<String> = (0..rows).map(row).collect();
            format!(
                "INSERT INTO {table} ({}) VALUES {}",
                columns.join(", "),
                rows.join(", ")
            )
        };
        let texts = (0..=WIDEST.ilog2()).map(|log| Texts {
            sqlite: text(1 << log, &|_| "?".to_owned()),
            postgres: text(1 << log, &|number| format!("${number}")),
        });
        Self {
            texts: texts.collect(),
        }
    }

    /// The rows in as few statements as their number has binary digits.
    pub(crate) fn of<const COLUMNS: usize>(
        &'static self,
        rows: impl ExactSizeIterator<Item = [Param; COLUMNS]>,
    ) -> Vec<Query> {
        let mut statements = Vec::new();
        let mut rows = rows;
        while rows.len() > 0 {
            let log = WIDEST.min(rows.len()).ilog2();
            let texts = &self.texts[log as usize];
            let params = rows.by_ref().take(1 << log).flatten().collect();
            statements.push(Query::of_either(&texts.sqlite, &texts.postgres, params));
        }
        statements
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    #[test]
    fn any_number_of_rows_becomes_a_few_statements() {
        static INSERTS: LazyLock<Inserts> = LazyLock::new(|| Inserts::into_table("t", &["a", "b"]));
        assert_eq!(
            INSERTS.texts[1].sqlite,
            "INSERT INTO t (a, b) VALUES (?, ?), (?, ?)"
        );
        assert_eq!(
            INSERTS.texts[1].postgres,
            "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)"
        );
        for (count, statements) in [(0, 0), (1, 1), (127, 7), (128, 1), (300, 5)] {
            let rows = (0..count).map(|_| [Param::from(1i64), Param::from(2i64)]);
            assert_eq!(INSERTS.of(rows).len(), statements, "{count} rows");
        }
    }
}
