//! Frozen disks: what a devbox held when its work was judged, kept for as long as there is room, so that it can be judged again.
//!
//! A frozen disk is a layer of the backend that belongs to a task run. It is written down before it is taken, so that no end of the process leaves a
//! layer without an owner, and it outlives its devbox. A power cut may take the row and leave the layer; such strays are removed at the next
//! start (`settle_frozen`). The oldest ones are given up when there are too many or they are too large, but
//! none that something stands on. What was given up goes as deleted snapshots do: when nothing needs its layer any more.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use proctor_core::causes::with_causes;
use proctor_core::id::kinds::{DevboxId, DevboxKind, TaskRunId};
use proctor_devbox::{BoxSpec, DiskChange, Error, LayerId, User};
use proctor_macros::boxed_futures;
use proctor_store::{
    StoreError,
    frozen_disks::{FrozenDisk, FrozenStatus, FrozenTotal},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::FleetError,
    fleet::Fleet,
    masks::Masks,
    workplace::{Workplace, resolve},
};

/// How the layers of frozen disks begin.
const PREFIX: &str = "frozen-";

/// How many frozen disks a devbox may stand on. A box that is judged while nothing runs in it goes on with an empty disk over the frozen
/// one, and the kernel mounts only so many.
const MOST_OF_ONE: usize = 32;

/// How long counting a disk may hold up its scoring.
const QUICK: Duration = Duration::from_millis(100);

/// How long what can be tidied up waits for more of it.
const MOMENT: Duration = Duration::from_millis(100);

/// How many frozen disks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepFrozen {
    /// So many at most.
    pub disks: usize,
    /// So many bytes at most, all together.
    pub bytes: u64,
}

impl Default for KeepFrozen {
    /// What a laptop can spare.
    fn default() -> Self {
        Self {
            disks: 256,
            bytes: 4 << 30,
        }
    }
}

impl KeepFrozen {
    fn fits(self, total: &FrozenTotal) -> bool {
        total.kept <= self.disks as u64 && total.bytes <= self.bytes
    }
}

/// What is written down about a frozen disk, besides whose it is. The values of secrets are not: they are looked up again.
#[derive(Debug, Serialize, Deserialize)]
struct Origin {
    spec: BoxSpec,
    user: User,
    home: String,
}

/// A disk that is kept, with what is needed to work on it as its devbox did. It is not given up while this is held.
pub struct KeptDisk {
    /// The layer that it is.
    pub layer: LayerId,
    /// The box that it was the disk of.
    pub spec: BoxSpec,
    /// Who worked in that box.
    pub user: User,
    /// Where that user is at home.
    pub home: String,
    /// The environment of every command, with the values that secrets have now.
    pub environment: BTreeMap<String, String>,
    /// What must not show in anything that people read.
    pub masks: Masks,
    _in_use: InUse,
}

impl KeptDisk {
    /// A path as the user means it: `~` is home, and so is where relative paths begin.
    pub fn resolve(&self, path: &str) -> String {
        resolve(&self.home, path)
    }
}

/// A disk that is about to be frozen.
#[derive(Debug)]
pub struct Freezing {
    /// As what, if it is.
    pub layer: Option<LayerId>,
    /// Why it will not be kept, if it will not.
    pub not_kept: Option<String>,
}

/// The layers that somebody works on, and how many do.
#[derive(Default)]
pub(crate) struct Uses(Mutex<HashMap<String, usize>>);

impl Uses {
    fn all(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn contains(&self, layer: &str) -> bool {
        self.all().contains_key(layer)
    }
}

struct InUse {
    fleet: Fleet,
    layer: String,
}

impl InUse {
    fn begin(fleet: &Fleet, layer: &str) -> Self {
        let mut uses = fleet.inner.frozen_uses.all();
        *uses.entry(layer.to_owned()).or_default() += 1;
        Self {
            fleet: fleet.clone(),
            layer: layer.to_owned(),
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut uses = self.fleet.inner.frozen_uses.all();
        if let Some(count) = uses.get_mut(&self.layer) {
            *count -= 1;
            if *count == 0 {
                uses.remove(&self.layer);
            }
        }
    }
}

#[boxed_futures]
impl Fleet {
    /// Whether so many further disks can be kept for good; or why not.
    pub async fn check_room_for_disks(
        &self,
        wanted: u64,
    ) -> Result<Result<(), String>, FleetError> {
        let KeepFrozen { disks, bytes } = self.inner.keep_frozen;
        let total = self.store().frozen_total(&self.inner.node).await?;
        let left = (disks as u64).saturating_sub(total.pinned);
        if bytes == 0 || wanted > left {
            return Ok(Err(format!(
                "{wanted} disks would have to be kept, and there is room for {left} (--keep-frozen {disks})"
            )));
        }
        Ok(Ok(()))
    }

    /// Writes down that the disk of a devbox is about to be frozen for a task run, and says as what. One that would not be kept is frozen
    /// only if `is_needed` for the scoring itself. One that `is_pinned` is kept however many newer ones there are.
    pub async fn begin_freezing(
        &self,
        task_run: TaskRunId,
        devbox: DevboxId,
        workplace: &Workplace,
        is_needed: bool,
        is_pinned: bool,
    ) -> Result<Freezing, FleetError> {
        let before = self.store().frozen_disks_of(task_run).await?;
        let not_kept = self.reason_not_to_keep(before.len());
        let layer = match not_kept.is_none() || is_needed {
            true => {
                let of = (task_run, devbox);
                let layer = self.layer_to_freeze(of, workplace, before, is_pinned);
                Some(layer.await?)
            }
            false => None,
        };
        Ok(Freezing { layer, not_kept })
    }

    /// Why no disk would be kept now for a task run that was scored so many times, if none would.
    fn reason_not_to_keep(&self, before: usize) -> Option<String> {
        let KeepFrozen { disks, bytes } = self.inner.keep_frozen;
        if disks == 0 || bytes == 0 {
            return Some("this server keeps no disks".to_owned());
        }
        (before >= MOST_OF_ONE).then(|| {
            format!("its devbox was scored {before} times, which is as often as disks are kept")
        })
    }

    /// The name of a disk that is about to be frozen, written down. One that a server was taking for the same task run when it died is
    /// named again: what is there is the disk before anything was run on it.
    async fn layer_to_freeze(
        &self,
        (task_run, devbox): (TaskRunId, DevboxId),
        workplace: &Workplace,
        before: Vec<FrozenDisk>,
        is_pinned: bool,
    ) -> Result<LayerId, FleetError> {
        let interrupted = before.into_iter().rfind(|disk| {
            disk.status == FrozenStatus::Taking && self.is_here(disk) && disk.devbox == devbox
        });
        if let Some(interrupted) = interrupted {
            return layer(interrupted.layer);
        }
        let name = self.store().fresh_id::<DevboxKind>().bare();
        let layer = layer(format!("{PREFIX}{}", name.to_lowercase()))?;
        let origin = Origin {
            spec: workplace.devbox.record().await?.spec,
            user: workplace.user.clone(),
            home: workplace.home.clone(),
        };
        let disk = FrozenDisk {
            layer: layer.to_string(),
            node: self.inner.node.clone(),
            task_run,
            devbox,
            status: FrozenStatus::Taking,
            size_bytes: None,
            created_at: self.now(),
            is_pinned,
        };
        let origin = serde_json::to_value(&origin).map_err(std::io::Error::other)?;
        self.store().create_frozen_disk(&disk, &origin).await?;
        Ok(layer)
    }

    /// Keeps a disk that was frozen, in place of the one that its task run had before. What must go for it is found out in the
    /// background, and so is how large it is, if that is not known and takes long.
    pub async fn keep_frozen(
        &self,
        layer: &LayerId,
        known_bytes: Option<u64>,
    ) -> Result<(), FleetError> {
        let bytes = match known_bytes {
            Some(bytes) => Some(bytes),
            // A small one is written down at once, and not twice.
            None => {
                let counted = self.backend()?.layer_bytes(layer);
                let counted = tokio::time::timeout(QUICK, counted).await;
                counted.ok().transpose()?
            }
        };
        self.store().keep_frozen_disk(layer.as_str(), bytes).await?;
        if bytes.is_some() {
            self.tidy_up_soon();
            return Ok(());
        }
        let (fleet, layer) = (self.clone(), layer.clone());
        self.inner.tasks.spawn(async move {
            if let Err(error) = fleet.measure(&layer).await {
                tracing::warn!(error = %with_causes(&error), %layer, "how much a frozen disk takes is not known");
            }
            fleet.tidy_up_soon();
        });
        Ok(())
    }

    /// Gives up a disk that was, or was to be, frozen.
    pub async fn drop_frozen(&self, layer: &LayerId) -> Result<(), FleetError> {
        self.store().drop_frozen_disks(&[layer.to_string()]).await?;
        self.remove_deleted_layers().await;
        Ok(())
    }

    /// What was changed on the disk that is kept of a task run, against what its box began with, and what must not show of it.
    pub async fn disk_changes(
        &self,
        task_run: TaskRunId,
    ) -> Result<Option<(Vec<DiskChange>, Masks)>, FleetError> {
        let Some(disk) = self.kept_disk(task_run).await? else {
            return Ok(None);
        };
        let changes = self.backend()?.layer_changes(&disk.layer, PREFIX).await?;
        Ok(Some((changes, disk.masks.clone())))
    }

    /// The disk that is kept of a task run, if there is one.
    pub async fn kept_disk(&self, task_run: TaskRunId) -> Result<Option<KeptDisk>, FleetError> {
        // Nothing is given up while we look.
        let _giving_up = self.inner.giving_up_frozen.lock().await;
        let Some(disk) = self.store().kept_disk_of(task_run).await? else {
            return Ok(None);
        };
        if !self.is_here(&disk) {
            let message = "the disk that was kept is on another machine";
            return Err(FleetError::invalid("id", message));
        }
        let in_use = InUse::begin(self, &disk.layer);
        let Some(origin) = self.store().origin_of_frozen_disk(&disk.layer).await? else {
            return Ok(None);
        };
        let origin: Origin = serde_json::from_value(origin)
            .map_err(|error| StoreError::Corrupt(format!("a frozen disk: {error}")))?;
        let record = self.store().devbox(disk.devbox).await?;
        let record = record
            .ok_or_else(|| crate::devboxes::no_devbox(disk.devbox))?
            .value;
        let outfit = self.outfit(&record, &origin.home).await?;
        Ok(Some(KeptDisk {
            layer: layer(disk.layer)?,
            spec: origin.spec,
            user: origin.user,
            home: origin.home,
            environment: outfit.environment,
            masks: outfit.masks,
            _in_use: in_use,
        }))
    }

    fn is_here(&self, disk: &FrozenDisk) -> bool {
        disk.node == self.inner.node
    }

    async fn measure(&self, layer: &LayerId) -> Result<(), FleetError> {
        let bytes = self.backend()?.layer_bytes(layer).await?;
        self.store()
            .measure_frozen_disk(layer.as_str(), bytes)
            .await?;
        Ok(())
    }

    /// Gives up what is too much, and removes what nothing needs, in a moment and in the background: what ends until then is tidied up after
    /// together.
    pub(crate) fn tidy_up_soon(&self) {
        if self.inner.tidying_up.swap(true, Ordering::SeqCst) {
            return;
        }
        let fleet = self.clone();
        self.inner.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(MOMENT) => {}
                () = fleet.closing().cancelled() => {}
            }
            // Whatever ends from now on needs somebody else.
            fleet.inner.tidying_up.store(false, Ordering::SeqCst);
            fleet.give_up_frozen().await;
        });
    }

    /// Gives up the oldest disks until no more are kept than may be, and removes what nothing needs.
    pub(crate) async fn give_up_frozen(&self) {
        let given_up = async {
            let _giving_up = self.inner.giving_up_frozen.lock().await;
            let (keep, node) = (self.inner.keep_frozen, &self.inner.node);
            if keep.fits(&self.store().frozen_total(node).await?) {
                return Ok(());
            }
            let disks = self.store().frozen_disks_on(node).await?;
            let in_use = |disk: &FrozenDisk| {
                let live = self.find_live(disk.devbox);
                disk.is_pinned
                    || self.inner.frozen_uses.contains(&disk.layer)
                    || live.is_some_and(|live| !live.record().life.is_over())
            };
            let excess = excess(keep, &disks, in_use);
            self.store().drop_frozen_disks(&excess).await
        };
        if let Err(error) = given_up.await {
            tracing::warn!(error = %with_causes(&error), "old frozen disks stay for now");
        }
        self.remove_deleted_layers().await;
    }

    /// Removes the layers of frozen disks that nobody wants and nothing needs; how many went.
    pub(crate) async fn remove_dropped_disks(&self) -> Result<usize, FleetError> {
        let backend = self.backend()?;
        let dropped = self.store().dropped_disks_on(&self.inner.node).await?;
        let mut removed = Vec::new();
        // The newest first: a layer needs those that it stands on.
        for disk in dropped.into_iter().rev() {
            if self.inner.frozen_uses.contains(&disk.layer) {
                continue;
            }
            match backend.delete_layer(&layer(disk.layer.clone())?).await {
                Ok(()) | Err(Error::NoSuchLayer(_)) => removed.push(disk.layer),
                Err(Error::InUse { .. }) => {}
                Err(error) => {
                    tracing::warn!(layer = disk.layer, error = %with_causes(&error), "a frozen disk that nobody wants stays for now");
                }
            }
        }
        if !removed.is_empty() {
            self.store().forget_frozen_disks(&removed).await?;
        }
        Ok(removed.len())
    }

    /// Brings what is written down and what is there together, after an earlier process ended.
    pub(crate) async fn settle_frozen(&self) -> Result<(), FleetError> {
        let (backend, node) = (self.backend()?, &self.inner.node);
        self.store().drop_unfinished_disks(node).await?;
        let there = backend.layers().await?.into_iter().map(|layer| layer.id);
        let there: BTreeSet<LayerId> = there
            .filter(|layer| layer.as_str().starts_with(PREFIX))
            .collect();
        let (mut known, mut lost) = (BTreeSet::new(), Vec::new());
        for disk in self.store().frozen_disks_on(node).await? {
            let layer = layer(disk.layer)?;
            if disk.status == FrozenStatus::Kept && !there.contains(&layer) {
                lost.push(layer.to_string());
            }
            known.insert(layer);
        }
        if !lost.is_empty() {
            self.store().forget_frozen_disks(&lost).await?;
        }
        // The newest first: a layer needs those that it stands on.
        for stray in there.iter().rev().filter(|layer| !known.contains(*layer)) {
            match backend.delete_layer(stray).await {
                Ok(()) | Err(Error::NoSuchLayer(_)) => {}
                Err(error) => {
                    tracing::warn!(layer = %stray, error = %with_causes(&error), "a frozen disk of nobody stays for now");
                }
            }
        }
        self.give_up_frozen().await;
        Ok(())
    }
}

/// The disks that must be given up, by their layers; `disks` are the oldest first. Those in use count, and stay.
fn excess(
    keep: KeepFrozen,
    disks: &[FrozenDisk],
    in_use: impl Fn(&FrozenDisk) -> bool,
) -> Vec<String> {
    let is_kept = |disk: &&FrozenDisk| disk.status == FrozenStatus::Kept;
    let mut total = FrozenTotal {
        kept: disks.iter().filter(is_kept).count() as u64,
        // What was given up and is still needed takes its room too.
        bytes: disks.iter().map(size).sum(),
        pinned: 0,
    };
    let mut given_up = Vec::new();
    for disk in disks.iter().filter(is_kept) {
        if keep.fits(&total) {
            break;
        }
        if !in_use(disk) {
            total.kept -= 1;
            total.bytes -= size(disk);
            given_up.push(disk.layer.clone());
        }
    }
    given_up
}

fn size(disk: &FrozenDisk) -> u64 {
    disk.size_bytes.unwrap_or_default()
}

fn layer(name: String) -> Result<LayerId, FleetError> {
    LayerId::new(name).map_err(|error| StoreError::Corrupt(error.to_string()).into())
}

#[cfg(test)]
mod tests {
    use proctor_core::{id::Id, time::Timestamp};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn disk(number: u64, status: FrozenStatus, size: Option<u64>) -> FrozenDisk {
        FrozenDisk {
            layer: format!("frozen-{number:04}"),
            node: "here".to_owned(),
            task_run: Id::from_uuid(Uuid::from_u128(u128::from(number))),
            devbox: Id::from_uuid(Uuid::from_u128(u128::from(number))),
            status,
            size_bytes: size,
            created_at: Timestamp::from_millis(1_790_000_000_000),
            is_pinned: false,
        }
    }

    fn any_disks() -> impl Strategy<Value = Vec<FrozenDisk>> {
        let status = prop::sample::select(vec![
            FrozenStatus::Taking,
            FrozenStatus::Kept,
            FrozenStatus::Dropped,
        ]);
        let one = (status, prop::option::of(0_u64..100));
        prop::collection::vec(one, 0..20).prop_map(|all| {
            let numbered = all.into_iter().zip(0..);
            numbered
                .map(|((status, size), number)| disk(number, status, size))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn as_few_as_needed_are_given_up_and_the_oldest_first(
            disks in any_disks(),
            (most, bytes) in (0_usize..12, 0_u64..600),
            used in prop::collection::vec(any::<bool>(), 20),
        ) {
            let keep = KeepFrozen { disks: most, bytes };
            let number = |disk: &FrozenDisk| disk.layer["frozen-".len()..].parse::<usize>().unwrap();
            let in_use = |disk: &FrozenDisk| used[number(disk)];
            let gone = excess(keep, &disks, in_use);
            let is_gone = |disk: &FrozenDisk| gone.contains(&disk.layer);
            let fits = |gone: &[String]| {
                let left: Vec<&FrozenDisk> = disks.iter().filter(|disk| !gone.contains(&disk.layer)).collect();
                let kept = left.iter().filter(|disk| disk.status == FrozenStatus::Kept).count();
                kept <= most && left.iter().copied().map(size).sum::<u64>() <= bytes
            };
            let could_go = |disk: &FrozenDisk| disk.status == FrozenStatus::Kept && !in_use(disk);
            prop_assert!(disks.iter().filter(|disk| is_gone(disk)).all(could_go));
            // Either it fits now, or nothing more can go.
            prop_assert!(fits(&gone) || disks.iter().filter(|disk| could_go(disk)).all(is_gone));
            if let Some((_, without_last)) = gone.split_last() {
                prop_assert!(!fits(without_last), "one too many");
            }
            let oldest: Vec<String> = disks.iter().filter(|disk| could_go(disk)).map(|disk| disk.layer.clone()).collect();
            prop_assert_eq!(&gone[..], &oldest[..gone.len()]);
        }
    }
}
