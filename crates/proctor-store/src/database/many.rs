//! Reading for many ids at once.

use proctor_core::id::{Id, Kind};

use super::{Database, Param, Query, Row};
use crate::StoreError;

/// The most ids in one statement.
const MOST: usize = 128;

impl Database {
    /// The rows that there are for `ids`, however many these are. `text` is a query that is given what stands between the brackets of its
    /// `IN (…)`; its other values are `given`, from `$1` on. What it orders is ordered within each id.
    ///
    /// Lists come in powers of two, filled up with their last id again, so that a few prepared statements serve any number. Long ones would also
    /// be slow: SQLite takes `$1` for a name and searches all names before it for every value.
    pub(crate) async fn read_for<K: Kind>(
        &self,
        ids: &[Id<K>],
        given: &[Param],
        text: impl Fn(&str) -> String,
    ) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        for part in ids.chunks(MOST) {
            let (places, mut params) = (list(part, given.len()), given.to_vec());
            params.extend(filled_up(part));
            let query = Query::assembled(text(&places), params);
            rows.extend(self.read_all(query).await?);
        }
        Ok(rows)
    }
}

/// Placeholders for `ids` behind so many others.
fn list<K: Kind>(ids: &[Id<K>], behind: usize) -> String {
    let places: Vec<String> = (1..=ids.len().next_power_of_two())
        .map(|place| format!("${}", behind + place))
        .collect();
    places.join(", ")
}

/// `ids`, and the last of them again up to a power of two.
fn filled_up<K: Kind>(ids: &[Id<K>]) -> impl Iterator<Item = Param> {
    let again = ids.last().into_iter().cycle();
    let all = ids.iter().chain(again).take(ids.len().next_power_of_two());
    all.map(|id| (*id).into())
}

#[cfg(test)]
mod tests {
    use proctor_core::id::kinds::TaskRunId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn lists_have_few_lengths_and_every_id() {
        for number in 1..=MOST {
            let ids: Vec<TaskRunId> = (0..number as u128)
                .map(|id| TaskRunId::from_uuid(Uuid::from_u128(id)))
                .collect();
            let (places, params) = (list(&ids, 1), filled_up(&ids).count());
            assert!(params.is_power_of_two() && params >= number && params < 2 * number);
            assert_eq!(places.split(", ").count(), params);
            assert!(places.starts_with("$2") && places.ends_with(&format!("${}", params + 1)));
        }
    }
}
