//! Signed links: who has one may upload or download one object until it expires.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use proctor_core::{id::kinds::ObjectId, time::Timestamp};
use proctor_store::Store;
use subtle::ConstantTimeEq as _;

/// What a link is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Sending the object's bytes.
    Upload,
    /// Reading them.
    Download,
}

impl Direction {
    const fn purpose(self) -> &'static str {
        match self {
            Self::Upload => "object upload link",
            Self::Download => "object download link",
        }
    }
}

/// The part of a link that proves something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Until when it is good, in milliseconds since 1970.
    pub expires: i64,
    /// The proof.
    pub signature: String,
}

/// Why a link is no good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadGrant {
    /// It was good once.
    #[error("the link has expired; ask for a new one")]
    Expired,
    /// It never was.
    #[error("the link's signature is not right")]
    Wrong,
}

fn signature(store: &Store, direction: Direction, id: ObjectId, expires: i64) -> [u8; 32] {
    let subject = format!("{id}\n{expires}");
    store.derive_secret(direction.purpose(), subject.as_bytes())
}

/// Signs a link.
pub fn grant(store: &Store, direction: Direction, id: ObjectId, until: Timestamp) -> Grant {
    let expires = until.as_millis();
    Grant {
        expires,
        signature: URL_SAFE_NO_PAD.encode(signature(store, direction, id, expires)),
    }
}

/// Checks a link at this moment.
pub fn check(
    store: &Store,
    direction: Direction,
    id: ObjectId,
    grant: &Grant,
) -> Result<(), BadGrant> {
    let shown = URL_SAFE_NO_PAD
        .decode(&grant.signature)
        .map_err(|_| BadGrant::Wrong)?;
    let right = signature(store, direction, id, grant.expires);
    if !bool::from(shown.ct_eq(&right)) {
        return Err(BadGrant::Wrong);
    }
    if store.now().as_millis() >= grant.expires {
        return Err(BadGrant::Expired);
    }
    Ok(())
}
