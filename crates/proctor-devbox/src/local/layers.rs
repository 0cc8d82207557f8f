//! Read-only layers: what snapshots keep, and the stacks that boxes stand on.

use super::plan::{Bottom, LayerFile, Places, read_json};
use crate::{
    error::{Error, Result},
    name::LayerId,
    record::LayerRecord,
};
use proctor_core::causes::with_causes;

const FILE: &str = "layer.json";

/// How high layers can be stacked here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heights {
    /// Boxes with as many layers as this get no more by their own snapshots, which are copies then.
    pub(super) own: usize,
    /// Boxes on more layers than this are not made.
    pub(super) most: usize,
}

impl Heights {
    /// What the kernel of this machine takes.
    pub(super) fn here() -> Self {
        let kernel = rustix::system::uname();
        Self::of_kernel(&kernel.release().to_string_lossy())
    }

    fn of_kernel(release: &str) -> Self {
        let mut numbers = release
            .split(|character: char| !character.is_ascii_digit())
            .map_while(|number| number.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        // Before, the names of all layers had to fit into one page. Overlayfs takes 500.
        if version >= (6, 8) {
            Self {
                own: 400,
                most: 450,
            }
        } else {
            Self { own: 40, most: 60 }
        }
    }
}

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
    let most = Heights::here().most;
    if layers.len() > most {
        return Err(Error::Invalid(format!(
            "the layer {id} is the top of {}; a devbox can stand on {most} at most",
            layers.len()
        )));
    }
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
                Err(error) => {
                    tracing::warn!(layer = %id, error = %with_causes(&error), "a layer cannot be read");
                }
            }
        }
    }
    Ok(layers)
}

/// Writes a layer's account into the directory that will be it. Nobody reads it before that, so it need not be whole at every moment.
pub(super) fn describe(directory: &std::path::Path, file: &LayerFile) -> std::io::Result<()> {
    fs_err::write(directory.join(FILE), serde_json::to_vec(file)?)
}

/// The records of layers.
pub(super) fn records(files: Vec<LayerFile>) -> Vec<LayerRecord> {
    files.into_iter().map(|file| file.record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_decides_how_high_layers_can_be_stacked() {
        let high =
            ["6.18.44-fc-v445", "6.8.0", "7.0"].map(|release| Heights::of_kernel(release).own);
        let low = ["6.1.0-18-amd64", "5.19", "6.7.9", "odd"]
            .map(|release| Heights::of_kernel(release).own);
        assert_eq!((high, low), ([400; 3], [40; 4]));
        // The longest names that there can be still fit into a page.
        let name = LayerId::new(format!("snp_{}", "0".repeat(26))).unwrap();
        let all = format!("layers/{name}/upper-root:").len() * Heights::of_kernel("6.1").most;
        assert!(all < 3600, "{all}");
    }
}
