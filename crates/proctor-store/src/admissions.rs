//! What admissions found about frozen benchmarks.

use proctor_core::{canonical::Digest, time::Timestamp};
use proctor_macros::boxed_futures;
use serde_json::Value;

use crate::{Store, StoreError, database::Query, runs::document};

/// What an admission found, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptAdmission {
    /// The certificate.
    pub certificate: Value,
    /// When it was made.
    pub created_at: Timestamp,
}

#[boxed_futures]
impl Store {
    /// Keeps what an admission found about the definition with this digest, in place of what was found before.
    pub async fn keep_admission(
        &self,
        digest: &Digest,
        certificate: &Value,
    ) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO admissions (digest, certificate, created_at) VALUES ($1, $2, $3) \
             ON CONFLICT (digest) DO UPDATE SET certificate = excluded.certificate, created_at = excluded.created_at",
        )
        .bind(digest.to_string())
        .bind(document(certificate)?)
        .bind(self.now());
        self.database().execute(query).await.map(drop)
    }

    /// What was found about the definition with this digest, if anybody asked.
    pub async fn admission(&self, digest: &Digest) -> Result<Option<KeptAdmission>, StoreError> {
        let query = Query::new("SELECT certificate, created_at FROM admissions WHERE digest = $1")
            .bind(digest.to_string());
        let row = self.database().read_optional(query).await?;
        row.map(|row| {
            Ok(KeptAdmission {
                certificate: row.json("certificate")?,
                created_at: row.time("created_at")?,
            })
        })
        .transpose()
    }
}
