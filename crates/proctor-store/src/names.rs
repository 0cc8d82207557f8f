//! Looking for things by what people call them.
//!
//! Tables whose rows are looked for repeat the name as it is and in lower case: neither database folds all letters,
//! and the two do not fold alike.

use proctor_core::id::{Dialect, Kind};

use crate::{StoreError, database::Database, page::Listing};

/// By what something is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// Its name: those that have exactly this, or, if none has, those that contain it in any case.
    pub name: Option<String>,
    /// The beginning of its id, or a part of its name in any case.
    pub search: Option<String>,
}

impl Listing {
    /// Only those of a kind `K` that are sought.
    pub(crate) async fn sought<K: Kind>(
        mut self,
        database: &Database,
        sought: &Sought,
    ) -> Result<Self, StoreError> {
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
