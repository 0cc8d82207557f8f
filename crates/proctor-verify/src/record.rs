//! What happened in a world, as checks ask for it.

use proctor_simulation::{exhibits::Exhibits, record::WorldRecord};

/// What is said where nobody kept what happened.
pub(crate) const NOT_RECORDED: &str = "nothing is known of what happened in this world";

/// What happened in the world, if it is known.
pub(crate) fn record<'w>(exhibits: &'w Exhibits<'w>) -> Option<&'w WorldRecord> {
    exhibits.evidence()?.first().copied()
}
