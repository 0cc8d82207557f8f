//! Registered root file systems, as programs beside the server see them: whether something stands on one, and forgetting one that is gone.

use std::path::{Path, PathBuf};

use super::{
    layers,
    plan::{Bottom, Places, read_json},
};
use crate::{error::Result, name::BoxId};

/// Where the boxes and layers of a server's devboxes are.
fn places(devboxes: &Path) -> Option<Places> {
    let data = devboxes.join(super::FACTORY.name);
    data.is_dir().then_some(Places { data })
}

/// A box or layer that stands on the root file system in `directory`, in words; `devboxes` is the directory of a server's devboxes.
pub fn user_of_rootfs(devboxes: &Path, directory: &Path) -> Result<Option<String>> {
    let Some(places) = places(devboxes) else {
        return Ok(None);
    };
    let stands = |bottom: &Bottom| matches!(bottom, Bottom::RootFs { directory: other, .. } if other == directory);
    let boxes = fs_err::read_dir(places.boxes()).into_iter().flatten();
    for entry in boxes.flatten() {
        let Some(Ok(id)) = entry.file_name().to_str().map(BoxId::new) else {
            continue;
        };
        // One that is being made or removed cannot be read; it is looked at again when it is there.
        if places
            .of(&id)
            .read_plan()
            .is_ok_and(|plan| stands(&plan.bottom))
        {
            return Ok(Some(format!("the devbox {id}")));
        }
    }
    if !places.layers().is_dir() {
        return Ok(None);
    }
    let layer = layers::list(&places)?
        .into_iter()
        .find(|layer| stands(&layer.bottom));
    Ok(layer.map(|layer| format!("the layer {}", layer.record.id)))
}

/// Forgets every name of the root file system in `directory`.
pub fn forget_rootfs(devboxes: &Path, directory: &Path) -> std::io::Result<()> {
    let Some(places) = places(devboxes) else {
        return Ok(());
    };
    for entry in fs_err::read_dir(places.data.join("rootfs"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let registered: Option<PathBuf> = read_json(&entry.path()).ok();
        if registered.as_deref() == Some(directory) {
            fs_err::remove_file(entry.path())?;
        }
    }
    Ok(())
}
