//! Where the files are that a benchmark's file refers to: beside it or below, never outside.

use std::path::{Component, Path, PathBuf};

/// The folder of a benchmark's file.
#[derive(Clone, Debug)]
pub enum Folder {
    /// A directory on disk.
    Directory(PathBuf),
    /// Files that are part of the program, by relative path.
    Shipped(&'static [(&'static str, &'static str)]),
    /// Nothing can be referred to.
    Nowhere,
}

impl Folder {
    /// The text of a file below the folder, or why there is none.
    pub(crate) fn read(&self, relative: &str) -> Result<String, String> {
        let path = Path::new(relative);
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if relative.is_empty() || !is_plain {
            return Err(format!(
                "'{relative}' must be a path below the folder of this file, without '..'"
            ));
        }
        match self {
            Self::Directory(directory) => read_below(directory, path),
            Self::Shipped(files) => files
                .iter()
                .find(|(name, _)| *name == relative)
                .map(|(_, text)| (*text).to_owned())
                .ok_or_else(|| format!("'{relative}' is not part of the program")),
            Self::Nowhere => Err(format!(
                "'{relative}' cannot be read: the text has no folder"
            )),
        }
    }
}

/// Reads a file unless a link leads out of the directory.
fn read_below(directory: &Path, path: &Path) -> Result<String, String> {
    let in_words = |error: std::io::Error| error.to_string();
    let directory = fs_err::canonicalize(directory).map_err(in_words)?;
    let target = fs_err::canonicalize(directory.join(path)).map_err(in_words)?;
    if !target.starts_with(&directory) {
        return Err(format!(
            "'{}' leads out of the folder of this file",
            path.display()
        ));
    }
    fs_err::read_to_string(target).map_err(in_words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_the_folder_is_read() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        fs_err::create_dir(&inner).unwrap();
        fs_err::write(outer.path().join("secret.json"), "{}").unwrap();
        fs_err::write(inner.join("data.json"), "[]").unwrap();
        std::os::unix::fs::symlink(outer.path().join("secret.json"), inner.join("link.json"))
            .unwrap();
        let folder = Folder::Directory(inner);
        assert_eq!(folder.read("data.json").as_deref(), Ok("[]"));
        let absolute = outer.path().join("secret.json");
        for bad in [
            "../secret.json",
            "link.json",
            "./../secret.json",
            "",
            "missing.json",
            absolute.to_str().unwrap(),
        ] {
            assert!(folder.read(bad).is_err(), "{bad}");
        }
    }
}
