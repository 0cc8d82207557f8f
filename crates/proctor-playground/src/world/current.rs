//! The state of a world in memory, and how far it can be trusted.

use proctor_core::time::Timestamp;

use super::Contents;
use crate::recorder::Epoch;

/// The state, and the epoch of the journal that it follows from.
pub(super) struct Current {
    pub(super) contents: Contents,
    epoch: Option<Epoch>,
    phase: Phase,
}

/// What may be done with the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It may hold what the journal does not: it is made anew before anybody sees it.
    Void,
    /// It can be read and changed.
    Open,
    /// The seal is being written. It can be read; what would change it waits.
    Freezing,
    /// It is what the sealed journal says, and stays so.
    Frozen(Timestamp),
}

/// Why a state cannot be read or changed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// It has to be made anew first.
    Void,
    /// It is being frozen.
    Freezing,
    /// It is frozen.
    Frozen,
}

impl Current {
    /// A state that nobody may see.
    pub(super) fn void(contents: Contents) -> Self {
        Self {
            contents,
            epoch: None,
            phase: Phase::Void,
        }
    }

    /// A state that is what the journal says at the beginning of `epoch`.
    pub(super) fn of_journal(
        contents: Contents,
        epoch: Epoch,
        frozen_at: Option<Timestamp>,
    ) -> Self {
        Self {
            contents,
            epoch: Some(epoch),
            phase: frozen_at.map_or(Phase::Open, Phase::Frozen),
        }
    }

    /// Replaces the state, unless it follows from a later epoch already: two may have made it anew
    /// at once.
    pub(super) fn replace_by_later(&mut self, other: Self) {
        if self.epoch < other.epoch {
            *self = other;
        }
    }

    /// The epoch that the state follows from, if it can be read.
    pub(super) fn trusted(&self) -> Result<Epoch, Closed> {
        match (self.phase, self.epoch) {
            (Phase::Void, _) | (_, None) => Err(Closed::Void),
            (Phase::Open | Phase::Freezing | Phase::Frozen(_), Some(epoch)) => Ok(epoch),
        }
    }

    /// The epoch that the state follows from, if it can be changed.
    pub(super) fn open(&self) -> Result<Epoch, Closed> {
        let epoch = self.trusted()?;
        match self.phase {
            Phase::Void => Err(Closed::Void),
            Phase::Open => Ok(epoch),
            Phase::Freezing => Err(Closed::Freezing),
            Phase::Frozen(_) => Err(Closed::Frozen),
        }
    }

    pub(super) fn is_void(&self) -> bool {
        self.trusted().is_err()
    }

    pub(super) fn frozen_at(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Frozen(at) => Some(at),
            Phase::Void | Phase::Open | Phase::Freezing => None,
        }
    }

    /// Lets nothing change any more until the seal is written or refused. Everything that changed
    /// the state before was given to the recorder before.
    pub(super) fn begin_freezing(&mut self) -> Result<Epoch, Closed> {
        let epoch = self.open()?;
        self.phase = Phase::Freezing;
        Ok(epoch)
    }

    /// The seal was written behind all that happened in `epoch`. Whether this is that state.
    pub(super) fn end_freezing(&mut self, epoch: Epoch, at: Timestamp) -> bool {
        let is_sealed = self.phase == Phase::Freezing && self.epoch == Some(epoch);
        if is_sealed {
            self.phase = Phase::Frozen(at);
        }
        is_sealed
    }

    /// What happened since `epoch` began may not be in the journal. A frozen state is what its
    /// journal says whatever was refused later.
    pub(super) fn distrust(&mut self, epoch: Epoch) {
        if self.epoch == Some(epoch) && self.frozen_at().is_none() {
            self.phase = Phase::Void;
        }
    }
}
