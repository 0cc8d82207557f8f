//! Which layers stand on which, in memory: a layer goes only when nothing stands on it, and reading every file there is for that
//! would make the removal of one layer as dear as there are others.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::plan::LayerFile;
use crate::name::LayerId;

/// What every layer stands on, as soon as somebody wanted to know. The directory of layers is this process's alone, so what is known
/// once stays true as long as every change is told.
#[derive(Debug, Default)]
pub(super) struct Stacks(Mutex<Option<HashMap<LayerId, Vec<LayerId>>>>);

impl Stacks {
    fn known(&self) -> MutexGuard<'_, Option<HashMap<LayerId, Vec<LayerId>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A layer that stands on `id`. `read` reads them all, the first time.
    pub(super) fn above<E>(
        &self,
        id: &LayerId,
        read: impl FnOnce() -> Result<Vec<LayerFile>, E>,
    ) -> Result<Option<LayerId>, E> {
        // Held while they are read, so that what is made meanwhile is told afterwards.
        let mut known = self.known();
        let stacks = match &mut *known {
            Some(stacks) => stacks,
            none => none.insert(
                read()?
                    .into_iter()
                    .map(|file| (file.record.id, file.below))
                    .collect(),
            ),
        };
        let mut all = stacks.iter();
        Ok(all
            .find(|(_, below)| below.contains(id))
            .map(|(above, _)| above.clone()))
    }

    /// Notes a layer that is there now.
    pub(super) fn made(&self, file: &LayerFile) {
        if let Some(stacks) = &mut *self.known() {
            stacks.insert(file.record.id.clone(), file.below.clone());
        }
    }

    /// Notes that a layer is gone.
    pub(super) fn removed(&self, id: &LayerId) {
        if let Some(stacks) = &mut *self.known() {
            stacks.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, convert::Infallible};

    use super::*;
    use crate::{
        local::plan::Bottom,
        record::{LayerRecord, SnapshotWay},
    };

    fn id(name: &str) -> LayerId {
        LayerId::new(name).unwrap()
    }

    fn layer(name: &str, below: &[&str]) -> LayerFile {
        LayerFile {
            record: LayerRecord {
                id: id(name),
                way: SnapshotWay::Renamed,
                labels: BTreeMap::new(),
                bytes: None,
            },
            bottom: Bottom::Host {
                skeleton: "s".to_owned(),
            },
            below: below.iter().map(|name| id(name)).collect(),
        }
    }

    #[test]
    fn what_is_told_before_and_after_the_first_question_counts() {
        let stacks = Stacks::default();
        // Nobody knows anything yet; it is on the disk, where the first question finds it.
        stacks.made(&layer("a", &[]));
        let read = || Ok::<_, Infallible>(vec![layer("a", &[]), layer("b", &["a"])]);
        assert_eq!(stacks.above(&id("a"), read), Ok(Some(id("b"))));
        let never = || -> Result<_, Infallible> { unreachable!("they were read") };
        assert_eq!(stacks.above(&id("b"), never), Ok(None));
        stacks.made(&layer("c", &["b", "a"]));
        assert_eq!(stacks.above(&id("b"), never), Ok(Some(id("c"))));
        stacks.removed(&id("c"));
        stacks.removed(&id("b"));
        assert_eq!(stacks.above(&id("a"), never), Ok(None));
    }

    #[test]
    fn what_could_not_be_read_is_read_again() {
        let stacks = Stacks::default();
        assert_eq!(
            stacks.above(&id("a"), || Err("unreadable")),
            Err("unreadable")
        );
        let read = || Ok::<_, &str>(vec![layer("b", &["a"])]);
        assert_eq!(stacks.above(&id("a"), read), Ok(Some(id("b"))));
    }
}
