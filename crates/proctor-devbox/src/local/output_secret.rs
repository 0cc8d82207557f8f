//! What the keys to the output of programs follow from.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::output_key::OutputKey;
use crate::name::{BoxId, ExecId};

/// A secret of the installation. Whoever has it can read the output of every program; without it, files of output are noise.
#[derive(Clone, Copy)]
pub struct OutputSecret([u8; 32]);

impl OutputSecret {
    /// The secret with these bytes, which must be the same after every restart.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key to the output of one execution.
    pub(super) fn key(&self, within: &BoxId, execution: &ExecId) -> OutputKey {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length will do");
        mac.update(within.as_str().as_bytes());
        mac.update(&[0]);
        mac.update(execution.as_str().as_bytes());
        OutputKey::new(mac.finalize().into_bytes().into())
    }
}

impl std::fmt::Debug for OutputSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OutputSecret")
    }
}
