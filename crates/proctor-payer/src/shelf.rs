//! Records that many desks share until one of them changes some.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// A record that is told from others of its kind by a key.
pub(super) trait Kept: Clone + PartialEq {
    /// What tells it apart, folded so that spellings of one key are equal.
    fn key(&self) -> String;
}

/// The records that a desk begins with, in order; shared, never changed.
#[derive(Debug, PartialEq)]
pub(super) struct Stock<T> {
    items: Vec<T>,
    places: HashMap<String, usize>,
}

impl<T: Kept> Stock<T> {
    /// The records, and the keys that were there more than once; the first of each is kept.
    pub(super) fn collect(all: impl IntoIterator<Item = T>) -> (Self, Vec<String>) {
        let mut stock = Self {
            items: Vec::new(),
            places: HashMap::new(),
        };
        let mut repeated = Vec::new();
        for item in all {
            let key = item.key();
            if stock.places.contains_key(&key) {
                repeated.push(key);
            } else {
                stock.places.insert(key, stock.items.len());
                stock.items.push(item);
            }
        }
        (stock, repeated)
    }

    fn get(&self, key: &str) -> Option<&T> {
        self.places.get(key).map(|place| &self.items[*place])
    }
}

/// One desk's records: a stock, and what the desk has of its own.
#[derive(Debug, PartialEq)]
pub(super) struct Shelf<T> {
    stock: Arc<Stock<T>>,
    own: Vec<T>,
    /// Keys of the stock that this desk replaced or took out.
    hidden: BTreeSet<String>,
}

impl<T: Kept> Shelf<T> {
    pub(super) fn of(stock: Arc<Stock<T>>) -> Self {
        Self {
            stock,
            own: Vec::new(),
            hidden: BTreeSet::new(),
        }
    }

    /// The record with this (folded) key.
    pub(super) fn get(&self, key: &str) -> Option<&T> {
        let own = self.own.iter().find(|one| one.key() == key);
        own.or_else(|| self.stock.get(key).filter(|_| !self.hidden.contains(key)))
    }

    /// All records: those of the stock, then the desk's own.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let visible = |one: &&T| self.hidden.is_empty() || !self.hidden.contains(&one.key());
        self.stock.items.iter().filter(visible).chain(&self.own)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Puts a record in, in place of the one with its key.
    pub(super) fn put(&mut self, item: T) {
        let key = item.key();
        match self.own.iter_mut().find(|one| one.key() == key) {
            Some(one) => *one = item,
            None => {
                self.hide(key);
                self.own.push(item);
            }
        }
    }

    /// Takes a record out.
    pub(super) fn remove(&mut self, key: &str) {
        self.own.retain(|one| one.key() != key);
        self.hide(key.to_owned());
    }

    fn hide(&mut self, key: String) {
        if self.stock.places.contains_key(&key) {
            self.hidden.insert(key);
        }
    }

    /// All records in one slice: the stock's own, unless the desk differs from it.
    pub(super) fn slice(&self) -> Cow<'_, [T]> {
        if self.own.is_empty() && self.hidden.is_empty() {
            Cow::Borrowed(&self.stock.items)
        } else {
            Cow::Owned(self.iter().cloned().collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    use super::*;

    impl Kept for (u8, u8) {
        fn key(&self) -> String {
            self.0.to_string()
        }
    }

    proptest! {
        #[test]
        fn a_shelf_is_a_map_that_leaves_its_stock_alone(
            stock in prop::collection::vec((0_u8..8, any::<u8>()), 0..8),
            steps in prop::collection::vec((0_u8..8, prop::option::of(any::<u8>())), 0..30),
        ) {
            let (stock, _) = Stock::collect(stock);
            let stock = Arc::new(stock);
            let mut model: BTreeMap<u8, u8> = stock.items.iter().copied().collect();
            let mut shelf = Shelf::of(stock.clone());
            let untouched = stock.items.clone();
            for (key, value) in steps {
                match value {
                    Some(value) => {
                        shelf.put((key, value));
                        model.insert(key, value);
                    }
                    None => {
                        shelf.remove(&key.to_string());
                        model.remove(&key);
                    }
                }
                let seen: BTreeMap<u8, u8> = shelf.iter().copied().collect();
                prop_assert_eq!(&seen, &model);
                prop_assert_eq!(shelf.slice().len(), model.len());
                prop_assert_eq!(shelf.is_empty(), model.is_empty());
                prop_assert_eq!(
                    shelf.get(&key.to_string()).map(|one| one.1),
                    model.get(&key).copied()
                );
            }
            prop_assert_eq!(&untouched, &stock.items);
        }
    }
}
