//! Interpreters of Python: those that a system has, and those that somebody gives.

use std::{
    io::{Read as _, Write},
    path::{Path, PathBuf},
};

use crate::{
    documents::RunConfig,
    error::{Doing as _, ImageError},
    store::StoredImage,
    tree_reader::{TreeEntry, TreeReader, TreeWriter},
};

/// Where an interpreter goes, as in the usual images.
const PLACE: &str = "usr/local";

/// An interpreter in a directory of its own: `bin/pythonX.Y`, `lib/pythonX.Y`.
#[derive(Debug)]
pub struct Interpreter {
    directory: PathBuf,
    tree: TreeReader,
    version: String,
}

impl Interpreter {
    /// The interpreter in `directory`, which must be of this version.
    pub(super) fn open(directory: &Path, version: &str) -> Result<Self, ImageError> {
        let directory =
            fs_err::canonicalize(directory).doing(format!("opening {}", directory.display()))?;
        let tree = TreeReader::open(&directory)?;
        let program = tree.look(&format!("/bin/python{version}"))?;
        let library = tree.look(&format!("/lib/python{version}/os.py"))?;
        if (program, library) != (Some(TreeEntry::File), Some(TreeEntry::File)) {
            return Err(ImageError::invalid(format!(
                "{} has no Python {version}: bin/python{version} and lib/python{version}/os.py are expected",
                directory.display()
            )));
        }
        Ok(Self {
            directory,
            tree,
            version: version.to_owned(),
        })
    }

    /// What an image with it starts with.
    pub(super) fn add_to(&self, run: &mut RunConfig) {
        run.env.retain(|line| !line.starts_with("LANG="));
        run.env.push("LANG=C.UTF-8".to_owned());
        run.cmd = vec!["python3".to_owned()];
    }

    /// Writes it to where it goes.
    pub(super) fn append<W: Write>(
        &self,
        writer: &mut TreeWriter<'_, W>,
    ) -> Result<(), ImageError> {
        for part in ["bin", "include", "lib", "share"] {
            if self.tree.look(part)? == Some(TreeEntry::Directory) {
                self.tree.append(writer, part, &format!("{PLACE}/{part}"))?;
            }
        }
        for (name, target) in [
            ("python3", format!("python{}", self.version)),
            ("python", "python3".to_owned()),
        ] {
            writer.symlink(&format!("{PLACE}/bin/{name}"), &target)?;
        }
        // The loader looks here without being told; a program that was built elsewhere names elsewhere.
        for path in self.tree.matching("/lib/libpython*.so*")? {
            let name = path.trim_start_matches("/lib/");
            writer.symlink(&format!("usr/lib/{name}"), &format!("/{PLACE}{path}"))?;
        }
        self.mend_scripts(writer)
    }

    /// Scripts name their interpreter by where it was: they are written again with where it is.
    fn mend_scripts<W: Write>(&self, writer: &mut TreeWriter<'_, W>) -> Result<(), ImageError> {
        let old = format!("#!{}/bin/python", self.directory.display());
        for path in self.tree.matching("/bin/*")? {
            if self.tree.look(&path)? != Some(TreeEntry::File) {
                continue;
            }
            let whole = self.directory.join(path.trim_start_matches('/'));
            let mut file = fs_err::File::open(&whole).doing("reading the interpreter")?;
            let mut first = vec![0; old.len()];
            if file.read_exact(&mut first).is_err() || first != old.as_bytes() {
                continue;
            }
            let text = fs_err::read(&whole).doing("reading the interpreter")?;
            let end = text
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(text.len());
            let mut mended = format!("#!/{PLACE}/bin/python{}", self.version).into_bytes();
            mended.extend_from_slice(&text[end..]);
            writer.bytes(&format!("{PLACE}{path}"), &mended, 0o755)?;
        }
        Ok(())
    }
}

/// The interpreter that a system's packages brought must be of this version.
pub(super) fn check(image: &StoredImage, version: &str) -> Result<(), ImageError> {
    let tree = TreeReader::open(&image.root)?;
    match tree.look(&format!("/usr/bin/python{version}"))? {
        Some(TreeEntry::File) => Ok(()),
        _ => Err(ImageError::invalid(format!(
            "the packages that were installed have no Python {version}"
        ))),
    }
}
