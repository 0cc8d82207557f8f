//! Archives that a server answered with.

use std::io::{Cursor, Read as _};

/// The files of a zip archive, names and texts, in its order.
///
/// # Panics
/// If it is none, or a file in it is no text.
pub fn unzipped(bytes: impl AsRef<[u8]>) -> Vec<(String, String)> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip archive");
    (0..archive.len())
        .map(|number| {
            let mut file = archive.by_index(number).expect("a file of the archive");
            let mut text = String::new();
            file.read_to_string(&mut text).expect("a text");
            let name = file.name().expect("a name").into_owned();
            (name, text)
        })
        .collect()
}
