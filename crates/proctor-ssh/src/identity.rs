//! The server's own key, and the keys that it makes.

use std::{io, net::SocketAddr};

use proctor_fleet::{Fleet, NewSshKey, SshEndpoint, SshService};
use russh::keys::{
    HashAlg, PrivateKey, PublicKey,
    ssh_key::{LineEnding, private::Ed25519Keypair},
};

/// What clients know a server by, and where they find it.
#[derive(Debug)]
pub struct SshIdentity {
    key: PrivateKey,
    endpoint: SshEndpoint,
}

impl SshIdentity {
    /// The identity of an installation: its key follows from the installation's secret, so that it is the same after a restart and on
    /// every node.
    pub(crate) fn of(fleet: &Fleet, listens: SocketAddr, public: Option<(String, u16)>) -> Self {
        let seed = fleet.store().derive_secret("key of the SSH server", &[]);
        let key = PrivateKey::from(Ed25519Keypair::from_seed(&seed));
        let host_key = key.public_key().to_openssh().unwrap_or_default();
        Self {
            key,
            endpoint: SshEndpoint {
                public,
                listens,
                host_key,
            },
        }
    }

    pub(crate) fn key(&self) -> &PrivateKey {
        &self.key
    }
}

impl SshService for SshIdentity {
    fn endpoint(&self) -> SshEndpoint {
        self.endpoint.clone()
    }

    fn generate(&self) -> io::Result<NewSshKey> {
        let key = PrivateKey::from(Ed25519Keypair::from_seed(&rand::random()));
        let private = key.to_openssh(LineEnding::LF).map_err(io::Error::other)?;
        Ok(NewSshKey {
            private: private.to_string(),
            fingerprint: fingerprint(key.public_key()),
        })
    }
}

/// SHA-256 of a public key, as hexadecimal digits.
pub(crate) fn fingerprint(key: &PublicKey) -> String {
    let fingerprint = key.fingerprint(HashAlg::Sha256);
    let digits = fingerprint.as_bytes().iter();
    digits.map(|byte| format!("{byte:02x}")).collect()
}
