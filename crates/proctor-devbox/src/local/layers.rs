//! Read-only layers: what snapshots keep, and the stacks that boxes stand on.

use super::plan::{Bottom, LayerFile, Places, read_json, write_json};
use crate::{
    error::{Error, Result},
    name::LayerId,
    record::LayerRecord,
};

const FILE: &str = "layer.json";

/// The layer's own account of itself.
pub(super) fn read(places: &Places, id: &LayerId) -> Result<LayerFile> {
    let directory = places.layer(id);
    if !directory.exists() {
        return Err(Error::NoSuchLayer(id.clone()));
    }
    read_json(&directory.join(FILE))
}

/// What a box on that layer stands on: the layers, topmost first, and the bottom.
pub(super) fn stack(places: &Places, id: &LayerId) -> Result<(Vec<LayerId>, Bottom)> {
    let file = read(places, id)?;
    let mut layers = vec![id.clone()];
    layers.extend(file.below);
    Ok((layers, file.bottom))
}

/// Every layer there is.
pub(super) fn list(places: &Places) -> Result<Vec<LayerFile>> {
    let mut layers = Vec::new();
    let entries = fs_err::read_dir(places.layers())
        .map_err(|source| Error::platform("listing layers", source))?;
    for entry in entries.flatten() {
        // A layer that is still being made has another kind of name.
        if let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| LayerId::new(name).ok())
        {
            match read(places, &id) {
                Ok(file) => layers.push(file),
                Err(error) => tracing::warn!(layer = %id, %error, "a layer cannot be read"),
            }
        }
    }
    Ok(layers)
}

/// Writes a layer's account into the directory that will be it.
pub(super) fn describe(directory: &std::path::Path, file: &LayerFile) -> std::io::Result<()> {
    write_json(&directory.join(FILE), file)
}

/// The records of layers.
pub(super) fn records(files: Vec<LayerFile>) -> Vec<LayerRecord> {
    files.into_iter().map(|file| file.record).collect()
}
