//! The files of one playground: those it began with, shared with others, and what became of them.

use std::{
    collections::BTreeMap,
    ops::Bound::{Included, Unbounded},
    sync::Arc,
};

use crate::files::StoredFile;

use super::{
    Blueprint,
    path::{FilePath, INBOX},
};

/// Files by their path, and how much they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Files {
    by_path: BTreeMap<String, StoredFile>,
}

impl Files {
    /// Adds a file, unless one with the path is there or a file and a directory would have the same
    /// name.
    pub(super) fn add(&mut self, path: &FilePath, file: StoredFile) -> Result<(), String> {
        let clash = path
            .directories()
            .chain([path.as_str()])
            .find(|name| self.by_path.contains_key(*name));
        if let Some(clash) = clash {
            return Err(format!("there is already a file '{clash}'"));
        }
        if path.as_str() == INBOX || below(&self.by_path, path.as_str()).next().is_some() {
            return Err(format!("'{}' is a directory", path.as_str()));
        }
        self.by_path.insert(path.as_str().to_owned(), file);
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &StoredFile)> {
        self.by_path
            .iter()
            .map(|(path, file)| (path.as_str(), file))
    }
}

/// The entries below a directory.
fn below<'t, T>(
    map: &'t BTreeMap<String, T>,
    directory: &str,
) -> impl Iterator<Item = (&'t str, &'t T)> + use<'t, T> {
    let prefix = format!("{directory}/");
    map.range::<str, _>((Included(prefix.as_str()), Unbounded))
        .map(|(path, value)| (path.as_str(), value))
        .take_while(move |(path, _)| path.starts_with(&prefix))
}

/// The files as they are now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    base: Arc<Blueprint>,
    /// What differs from the base; none is a file that was removed.
    changed: BTreeMap<String, Option<StoredFile>>,
    count: usize,
    bytes: usize,
}

impl Tree {
    pub(super) fn on(base: Arc<Blueprint>) -> Self {
        let files = &base.files.by_path;
        Self {
            count: files.len(),
            bytes: files.values().map(|file| file.content.len()).sum(),
            base,
            changed: BTreeMap::new(),
        }
    }

    pub(super) fn get(&self, path: &str) -> Option<&StoredFile> {
        match self.changed.get(path) {
            Some(changed) => changed.as_ref(),
            None => self.base.files.by_path.get(path),
        }
    }

    /// All files, by path.
    pub(super) fn all(&self) -> BTreeMap<&str, &StoredFile> {
        let kept = self.base.files.iter();
        self.merged(
            kept,
            self.changed
                .iter()
                .map(|(path, file)| (path.as_str(), file)),
        )
    }

    /// The files below a directory, by path.
    pub(super) fn below(&self, directory: &str) -> BTreeMap<&str, &StoredFile> {
        self.merged(
            below(&self.base.files.by_path, directory),
            below(&self.changed, directory),
        )
    }

    fn merged<'t>(
        &'t self,
        base: impl Iterator<Item = (&'t str, &'t StoredFile)>,
        changed: impl Iterator<Item = (&'t str, &'t Option<StoredFile>)>,
    ) -> BTreeMap<&'t str, &'t StoredFile> {
        let mut files: BTreeMap<_, _> = base
            .filter(|(path, _)| !self.changed.contains_key(*path))
            .collect();
        files.extend(changed.filter_map(|(path, file)| Some((path, file.as_ref()?))));
        files
    }

    /// Whether there are files below it. The inbox is always there.
    pub(super) fn is_directory(&self, path: &str) -> bool {
        path == INBOX || !self.below(path).is_empty()
    }

    /// The file that stands where `path` needs a directory.
    pub(super) fn file_above<'p>(&self, path: &'p FilePath) -> Option<&'p str> {
        path.directories()
            .find(|directory| self.get(directory).is_some())
    }

    /// How many files and bytes there would be with `size` more bytes in this file.
    pub(super) fn with(&self, path: &str, size: usize) -> (usize, usize) {
        match self.get(path) {
            Some(old) => (self.count, self.bytes - old.content.len() + size),
            None => (self.count + 1, self.bytes + size),
        }
    }

    pub(super) fn put(&mut self, path: String, file: StoredFile) {
        (self.count, self.bytes) = self.with(&path, file.content.len());
        self.changed.insert(path, Some(file));
    }

    pub(super) fn remove(&mut self, path: String) {
        let Some(old) = self.get(&path) else {
            return;
        };
        (self.count, self.bytes) = (self.count - 1, self.bytes - old.content.len());
        if self.base.files.by_path.contains_key(&path) {
            self.changed.insert(path, None);
        } else {
            self.changed.remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::time::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn file(text: &str) -> StoredFile {
        StoredFile {
            content: text.to_owned().into(),
            at: Timestamp::from_millis(0),
            is_given: true,
        }
    }

    fn base() -> Arc<Blueprint> {
        let mut files = Files::default();
        for path in ["a/b", "a/c", "ab", "a-b"] {
            let path = FilePath::parse(path).unwrap();
            files.add(&path, file("12345")).unwrap();
        }
        Arc::new(Blueprint { files })
    }

    #[test]
    fn what_was_removed_is_gone_and_what_was_put_is_there() {
        let mut tree = Tree::on(base());
        tree.remove("a/b".to_owned());
        tree.put("a/d".to_owned(), file("1"));
        let paths: Vec<&str> = tree.below("a").into_keys().collect();
        assert_eq!(paths, ["a/c", "a/d"]);
        assert_eq!(tree.get("a/b"), None);
        assert_eq!(Tree::on(base()).all().len(), 4);
        tree.remove("a/c".to_owned());
        tree.remove("a/d".to_owned());
        assert!(!tree.is_directory("a"));
        assert_eq!((tree.count, tree.bytes), (2, 10));
    }

    #[test]
    fn a_name_is_a_file_or_a_directory() {
        let mut files = Files::default();
        let mut add = |path| files.add(&FilePath::parse(path).unwrap(), file(""));
        add("a/b").unwrap();
        assert!(add("a").is_err());
        assert!(add("a/b").is_err());
        assert!(add("a/b/c").is_err());
        assert!(add("inbox").is_err());
        add("inbox/x").unwrap();
    }

    proptest! {
        #[test]
        fn the_totals_are_those_of_the_files(
            steps in prop::collection::vec((0..6usize, any::<bool>(), 0..9usize), 0..30),
        ) {
            let mut tree = Tree::on(base());
            for (path, is_put, size) in steps {
                let path = ["a/b", "a/c", "ab", "new", "x/y", "a-b"][path].to_owned();
                if is_put {
                    tree.put(path, file(&"x".repeat(size)));
                } else {
                    tree.remove(path);
                }
                let all = tree.all();
                prop_assert_eq!(all.len(), tree.count);
                prop_assert_eq!(all.values().map(|f| f.content.len()).sum::<usize>(), tree.bytes);
            }
        }
    }
}
