//! Which public keys lead into which devbox. Private keys are never here.

use proctor_core::id::kinds::DevboxId;

use crate::{Store, StoreError, database::Query};
use proctor_macros::boxed_futures;

#[boxed_futures]
impl Store {
    /// Notes that the key with this fingerprint leads into a devbox.
    pub async fn add_ssh_key(&self, devbox: DevboxId, fingerprint: &str) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO devbox_ssh_keys (fingerprint, devbox, created_at) VALUES ($1, $2, $3)",
        )
        .bind(fingerprint)
        .bind(devbox)
        .bind(self.now());
        self.database().execute(query).await?;
        Ok(())
    }

    /// The devbox that the key with this fingerprint leads into.
    pub async fn devbox_of_ssh_key(
        &self,
        fingerprint: &str,
    ) -> Result<Option<DevboxId>, StoreError> {
        let query = Query::new("SELECT devbox FROM devbox_ssh_keys WHERE fingerprint = $1")
            .bind(fingerprint);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.id("devbox")).transpose()
    }

    /// Forgets every key of a devbox. Most have none, and looking is cheaper than a commit that changes nothing.
    pub async fn forget_ssh_keys(&self, devbox: DevboxId) -> Result<(), StoreError> {
        let any =
            Query::new("SELECT devbox FROM devbox_ssh_keys WHERE devbox = $1 LIMIT 1").bind(devbox);
        if self.database().read_optional(any).await?.is_none() {
            return Ok(());
        }
        let query = Query::new("DELETE FROM devbox_ssh_keys WHERE devbox = $1").bind(devbox);
        self.database().execute(query).await?;
        Ok(())
    }
}
