//! Secrets at rest: sealed with XChaCha20-Poly1305 under the installation's master key.

use std::{io, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use hmac::{Hmac, Mac as _};
use rand::Rng as _;
use secrecy::{ExposeSecret as _, SecretBox};
use sha2::Sha256;

use crate::StoreError;

/// The key that seals every stored secret. Whoever has it and the database can read them; who
/// loses it has lost them.
#[derive(Debug)]
pub struct MasterKey(SecretBox<[u8; 32]>);

impl Clone for MasterKey {
    fn clone(&self) -> Self {
        Self(SecretBox::new(Box::new(*self.0.expose_secret())))
    }
}

/// A text that is no master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a master key is 32 bytes in base64 (44 characters), such as `openssl rand -base64 32` prints"
)]
pub struct BadMasterKey;

impl MasterKey {
    /// The key written as base64.
    pub fn from_base64(text: &str) -> Result<Self, BadMasterKey> {
        let bytes = BASE64_STANDARD
            .decode(text.trim())
            .map_err(|_| BadMasterKey)?;
        let key: [u8; 32] = bytes.try_into().map_err(|_| BadMasterKey)?;
        Ok(Self(SecretBox::new(Box::new(key))))
    }

    /// The key in the file at `path`; a fresh one, readable by its owner only, if there is none.
    pub fn load_or_create(path: &Path) -> io::Result<Self> {
        loop {
            match fs_err::read_to_string(path) {
                Ok(text) => {
                    return Self::from_base64(&text)
                        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => match Self::create(path) {
                    // Another process was first: its key is the key.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    created => return created,
                },
                Err(error) => return Err(error),
            }
        }
    }

    fn create(path: &Path) -> io::Result<Self> {
        use std::io::Write as _;

        let mut key = [0; 32];
        rand::rng().fill_bytes(&mut key);
        let directory = path.parent().unwrap_or(Path::new("."));
        // Written aside and linked into place, so that nobody ever reads half a key.
        let mut file = tempfile::Builder::new()
            .prefix(".master")
            .tempfile_in(directory)?;
        writeln!(file, "{}", BASE64_STANDARD.encode(key))?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map_err(|error| error.error)?;
        Ok(Self(SecretBox::new(Box::new(key))))
    }
}

/// Seals and opens secrets, and derives what only this installation can know.
pub(crate) struct Vault {
    cipher: XChaCha20Poly1305,
    key: MasterKey,
}

const NONCE_BYTES: usize = 24;

impl Vault {
    pub(crate) fn new(key: &MasterKey) -> Self {
        Self {
            cipher: XChaCha20Poly1305::new(key.0.expose_secret().into()),
            key: key.clone(),
        }
    }

    /// Bytes that follow from `purpose` and `subject`, and that nobody without the master key can tell.
    pub(crate) fn derive(&self, purpose: &str, subject: &[u8]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.0.expose_secret())
            .expect("a key of any length will do");
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(subject);
        mac.finalize().into_bytes().into()
    }

    /// Seals `plain`. `owner` is bound in: what was sealed for one owner does not open for another.
    pub(crate) fn seal(&self, owner: &str, plain: &str) -> Vec<u8> {
        self.seal_bytes(owner, plain.as_bytes())
    }

    /// Seals any bytes.
    pub(crate) fn seal_bytes(&self, owner: &str, plain: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE_BYTES];
        rand::rng().fill_bytes(&mut nonce);
        let payload = Payload {
            msg: plain,
            aad: owner.as_bytes(),
        };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .expect("a secret is far below the cipher's limit");
        [&nonce[..], &sealed].concat()
    }

    /// Opens what was sealed for `owner`.
    pub(crate) fn open(&self, owner: &str, sealed: &[u8]) -> Result<String, StoreError> {
        String::from_utf8(self.open_bytes(owner, sealed)?).map_err(|_| does_not_open())
    }

    /// Opens any bytes.
    pub(crate) fn open_bytes(&self, owner: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let (nonce, sealed) = sealed
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or_else(does_not_open)?;
        let payload = Payload {
            msg: sealed,
            aad: owner.as_bytes(),
        };
        self.cipher
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| does_not_open())
    }
}

fn does_not_open() -> StoreError {
    StoreError::Corrupt(
        "a secret does not open: it is damaged, or the master key is another one".to_owned(),
    )
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_key_file_is_made_once_and_for_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("master.key");
        let made = MasterKey::load_or_create(&path).unwrap();
        let read = MasterKey::load_or_create(&path).unwrap();
        assert_eq!(made.0.expose_secret(), read.0.expose_secret());
        assert_eq!(
            fs_err::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs_err::write(&path, "nonsense").unwrap();
        let error = MasterKey::load_or_create(&path).unwrap_err().to_string();
        assert!(
            error.contains("master.key") && error.contains("base64"),
            "{error}"
        );
    }

    #[test]
    fn a_secret_opens_only_with_its_key_and_for_its_owner() {
        let vault = |byte: u8| Vault::new(&MasterKey(SecretBox::new(Box::new([byte; 32]))));
        let sealed = vault(1).seal("org/TOKEN", "s3cr3t");
        assert_ne!(
            sealed,
            vault(1).seal("org/TOKEN", "s3cr3t"),
            "every sealing has its own nonce"
        );
        assert!(!sealed.windows(6).any(|window| window == b"s3cr3t"));
        assert_eq!(vault(1).open("org/TOKEN", &sealed).unwrap(), "s3cr3t");
        assert!(vault(2).open("org/TOKEN", &sealed).is_err());
        assert!(vault(1).open("other/TOKEN", &sealed).is_err());
        for length in 0..sealed.len() {
            assert!(vault(1).open("org/TOKEN", &sealed[..length]).is_err());
        }
    }
}
