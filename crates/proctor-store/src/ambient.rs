//! The outside world's clock and randomness: the only place where they are read.

use std::{
    sync::Mutex,
    time::{SystemTime, UNIX_EPOCH},
};

use proctor_core::{
    id::IdSource,
    time::{Clock, Timestamp},
};
use uuid::{ContextV7, NoContext, Uuid};

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the injected clock itself"
    )]
    fn now(&self) -> Timestamp {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Fresh ids: unpredictable, and each above the one before.
#[derive(Debug)]
pub struct RandomIds(Mutex<ContextV7>);

impl Default for RandomIds {
    fn default() -> Self {
        Self(Mutex::new(ContextV7::new()))
    }
}

impl RandomIds {
    fn uuid(order: impl uuid::ClockSequence<Output = impl Into<u128>>) -> Uuid {
        let millis = u64::try_from(SystemClock.now().as_millis()).unwrap_or(0);
        let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
        Uuid::new_v7(uuid::Timestamp::from_unix(order, millis / 1000, nanos))
    }
}

impl IdSource for RandomIds {
    fn next_uuid(&self) -> Uuid {
        let order = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        Self::uuid(&*order)
    }

    fn unordered_uuid(&self) -> Uuid {
        Self::uuid(NoContext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_and_carry_their_time() {
        let (ids, before) = (RandomIds::default(), SystemClock.now());
        let made: Vec<Uuid> = (0..10_000).map(|_| ids.next_uuid()).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
        let millis = i64::try_from(made[0].as_u128() >> 80).unwrap();
        assert!(
            millis - before.as_millis() < 60_000,
            "{millis} is the time of its making"
        );
    }
}
