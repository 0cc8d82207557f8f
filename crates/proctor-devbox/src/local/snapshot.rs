//! How a box's disk becomes a layer.

use std::{
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    sync::PoisonError,
};

use super::{
    devbox::LocalBox,
    image, layers,
    plan::{LayerFile, UPPER_ROOT, UPPER_USR, write_json},
    tree,
};
use crate::{
    error::{Error, Result},
    record::{LayerRecord, SnapshotWay},
};

/// What is copied in about a millisecond.
const SOON_COPIED_FILES: u64 = 64;
const SOON_COPIED_BYTES: u64 = 1 << 20;

impl LocalBox {
    fn layer_file(&self, record: &LayerRecord) -> LayerFile {
        let plan = self.plan();
        LayerFile {
            record: record.clone(),
            bottom: plan.bottom,
            below: plan.layers,
        }
    }

    /// The disk becomes the layer, and the box goes on with an empty one over it.
    ///
    /// The plan names the layer first: if we die between the two, a layer that is not there is left out (and then the disk is
    /// still in its place).
    fn give_disk(&self, record: &LayerRecord) -> io::Result<()> {
        let layer = self.layer_file(record);
        let mut plan = self.plan();
        plan.layers.insert(0, record.id.clone());
        layers::describe(&self.places.disk(), &layer)?;
        write_json(&self.places.plan(), &plan)?;
        fs_err::rename(self.places.disk(), self.shared.places.layer(&record.id))?;
        // At once, whatever becomes of the rest: nobody may remove what the box stands on.
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
        self.shared.stacks.made(&layer);
        self.places.prepare_disk()
    }

    /// Whether the box has changed nothing, as far as that can be told at once.
    fn has_empty_disk(&self) -> bool {
        let disk = self.places.disk();
        let is_empty = |part| tree::is_soon_seen_empty(&disk.join(part)).is_ok_and(|empty| empty);
        !self.has_own_file_system() && [UPPER_ROOT, UPPER_USR].into_iter().all(is_empty)
    }

    fn has_own_file_system(&self) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.exact_disk
    }

    /// Whether a copy of the disk takes less time than making the box's world anew would.
    pub(super) async fn is_soon_copied(&self) -> Result<bool> {
        if self.has_empty_disk() {
            return Ok(true);
        }
        self.blocking("looking at the disk", |this| {
            tree::is_within(&this.places.disk(), SOON_COPIED_BYTES, SOON_COPIED_FILES)
        })
        .await
    }

    /// The layer is a copy of the disk as it is now; the record says how much it takes.
    fn copy_disk(&self, record: &mut LayerRecord) -> io::Result<()> {
        let fresh = self
            .shared
            .places
            .layers()
            .join(format!(".new-{}", record.id));
        tree::remove(&fresh)?;
        let image = if self.has_own_file_system() {
            Some(image::mount(&self.places.image())?)
        } else {
            None
        };
        let disk = image.as_ref().map_or_else(
            || self.places.disk(),
            |mount| PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())),
        );
        let copied = self.copy_parts(&disk, &fresh, record);
        if copied.is_err() {
            // At once and not in the background: the disk may be full because of it, and the box is about to go on.
            tree::remove(&fresh)?;
        }
        copied
    }

    fn copy_parts(&self, disk: &Path, fresh: &Path, record: &mut LayerRecord) -> io::Result<()> {
        fs_err::create_dir(fresh)?;
        let mut bytes = 0;
        for part in [UPPER_ROOT, UPPER_USR] {
            let from = disk.join(part);
            match tree::is_soon_seen_empty(&from) {
                // A layer is without what has not changed. A file system of its own is empty until the box was up once.
                Ok(true) => continue,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
                Ok(false) => {}
            }
            fs_err::create_dir(fresh.join(part))?;
            bytes += tree::copy(&from, &fresh.join(part))?;
        }
        record.bytes = Some(bytes);
        let layer = self.layer_file(record);
        layers::describe(fresh, &layer)?;
        fs_err::rename(fresh, self.shared.places.layer(&record.id))?;
        self.shared.stacks.made(&layer);
        Ok(())
    }

    /// Makes the layer; the box must stand still.
    pub(super) async fn take_snapshot(
        &self,
        way: SnapshotWay,
        record: LayerRecord,
    ) -> Result<LayerRecord> {
        const DOING: &str = "taking a snapshot";
        let mut record = LayerRecord { way, ..record };
        // Nothing can be written any more, and nothing is to be waited for.
        if way == SnapshotWay::Copied && self.has_empty_disk() {
            let copied = self.copy_disk(&mut record);
            return copied
                .map(|()| record)
                .map_err(|source| Error::platform(DOING, source));
        }
        self.blocking(DOING, move |this| {
            match way {
                SnapshotWay::Renamed => this.give_disk(&record)?,
                SnapshotWay::Copied => this.copy_disk(&mut record)?,
            }
            Ok(record)
        })
        .await
    }
}
