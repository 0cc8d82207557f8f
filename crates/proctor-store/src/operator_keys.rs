//! The keys of whoever runs the server. They belong to no organization and open none: an operator makes organizations and limits
//! them, and sees nothing of what is inside.

use proctor_core::id::kinds::{CredentialId, CredentialKind};
use proctor_macros::boxed_futures;
use subtle::ConstantTimeEq as _;

use crate::{
    Store, StoreError,
    credentials::{Hash, IssuedKey, Key, OPERATOR_PREFIX, PlainKey, fingerprint},
    database::Query,
    page::{Listing, Page, PageRequest},
};

const COLUMNS: &str =
    "id, name, prefix, suffix, created_at, CAST(NULL AS BIGINT) AS expires_at, revoked_at";

/// An operator's key that somebody showed.
pub(crate) enum FoundOperator {
    Good(CredentialId),
    Revoked,
    Nothing,
}

#[boxed_futures]
impl Store {
    /// Makes an operator's key.
    pub async fn create_operator_key(
        &self,
        name: Option<String>,
        plain: PlainKey,
    ) -> Result<IssuedKey, StoreError> {
        let (issued, hash) = self.new_secret(OPERATOR_PREFIX, name, plain);
        let key = &issued.key;
        let query = Query::new(
            "INSERT INTO operator_keys (id, name, prefix, suffix, fingerprint, hash, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(key.id)
        .bind(key.name.clone())
        .bind(key.prefix.as_str())
        .bind(key.suffix.as_str())
        .bind(fingerprint(&hash))
        .bind(hash.to_vec())
        .bind(key.created_at);
        self.database().execute(query).await?;
        Ok(issued)
    }

    /// The operator's keys that are in force, newest first.
    pub async fn operator_keys(
        &self,
        page: PageRequest<CredentialKind>,
    ) -> Result<Page<Key>, StoreError> {
        Listing::new(COLUMNS, "operator_keys")
            .only("revoked_at IS NULL")
            .page(self.database(), page, Key::read)
            .await
    }

    /// Takes an operator's key back; `false` when no such key is in force.
    pub async fn revoke_operator_key(&self, id: CredentialId) -> Result<bool, StoreError> {
        let query = Query::new(
            "UPDATE operator_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL",
        )
        .bind(self.now())
        .bind(id);
        Ok(self.database().execute(query).await? > 0)
    }

    pub(crate) async fn find_operator(&self, shown: &Hash) -> Result<FoundOperator, StoreError> {
        let query =
            Query::new("SELECT id, hash, revoked_at FROM operator_keys WHERE fingerprint = $1")
                .bind(fingerprint(shown));
        for row in self.database().read_all(query).await? {
            if !bool::from(row.bytes("hash")?.as_slice().ct_eq(shown)) {
                continue;
            }
            return Ok(match row.opt_time("revoked_at")? {
                None => FoundOperator::Good(row.id("id")?),
                Some(_) => FoundOperator::Revoked,
            });
        }
        Ok(FoundOperator::Nothing)
    }
}
