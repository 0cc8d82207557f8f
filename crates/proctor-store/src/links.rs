//! Ordered links between drafts: which simulators an environment has, which tasks a benchmark.

use std::collections::BTreeMap;

use proctor_core::id::{Id, Kind};

use crate::{
    StoreError,
    database::{Database, Query, Transaction},
};

/// A table whose rows are an owner, an item, and the item's position.
pub(crate) struct Links {
    pub(crate) table: &'static str,
    pub(crate) owner: &'static str,
    pub(crate) item: &'static str,
}

impl Links {
    /// Puts `item` behind all others of `owner`, unless it is there. [`StoreError::Stale`] when
    /// one of the two is gone.
    pub(crate) async fn append<O: Kind, I: Kind>(
        &self,
        transaction: &mut Transaction,
        owner: Id<O>,
        item: Id<I>,
    ) -> Result<(), StoreError> {
        let Self {
            table,
            owner: owners,
            item: items,
        } = self;
        let text = format!(
            "INSERT INTO {table} ({owners}, {items}, position) \
             SELECT $1, $2, COALESCE(MAX(position), 0) + 1 FROM {table} WHERE {owners} = $1 \
             ON CONFLICT ({owners}, {items}) DO NOTHING"
        );
        transaction
            .execute(Query::assembled(text, vec![owner.into(), item.into()]))
            .await
            .map_err(StoreError::or_stale)?;
        Ok(())
    }

    /// Takes `item` from `owner`; `false` when it was not there.
    pub(crate) async fn remove<O: Kind, I: Kind>(
        &self,
        database: &Database,
        owner: Id<O>,
        item: Id<I>,
    ) -> Result<bool, StoreError> {
        let text = format!(
            "DELETE FROM {} WHERE {} = $1 AND {} = $2",
            self.table, self.owner, self.item
        );
        let query = Query::assembled(text, vec![owner.into(), item.into()]);
        Ok(database.execute(query).await? > 0)
    }

    /// Takes everything from `owner`.
    pub(crate) async fn clear<O: Kind>(
        &self,
        transaction: &mut Transaction,
        owner: Id<O>,
    ) -> Result<(), StoreError> {
        let text = format!("DELETE FROM {} WHERE {} = $1", self.table, self.owner);
        transaction
            .execute(Query::assembled(text, vec![owner.into()]))
            .await?;
        Ok(())
    }

    /// The items of each of `owners`, in order.
    pub(crate) async fn items_of<O: Kind, I: Kind>(
        &self,
        database: &Database,
        owners: &[Id<O>],
    ) -> Result<BTreeMap<Id<O>, Vec<Id<I>>>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT {owner} AS owner, {item} AS item FROM {table} WHERE {owner} IN ({list}) \
                 ORDER BY {owner}, position, {item}",
                table = self.table,
                owner = self.owner,
                item = self.item
            )
        };
        let mut items = BTreeMap::new();
        for row in database.read_for(owners, &[], text).await? {
            let of: &mut Vec<_> = items.entry(row.id("owner")?).or_default();
            of.push(row.id("item")?);
        }
        Ok(items)
    }
}
