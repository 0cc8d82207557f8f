//! Frozen definitions, named by their content: written once, never changed.

use proctor_core::{
    canonical::{self, Digest},
    definition::Benchmark,
    environment::Environment,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Store, StoreError, database::Query};
use proctor_macros::boxed_futures;

#[boxed_futures]
impl Store {
    /// Keeps a frozen benchmark; its digest is the name to find it by.
    pub async fn put_definition(&self, benchmark: &Benchmark) -> Result<Digest, StoreError> {
        self.put_document(&benchmark.to_value()).await
    }

    /// Keeps a frozen environment; its digest is the name to find it by.
    pub async fn put_environment_definition(
        &self,
        environment: &Environment,
    ) -> Result<Digest, StoreError> {
        self.put_document(&environment.to_value()).await
    }

    /// The frozen benchmark with this digest, checked against it.
    pub async fn definition(&self, digest: &Digest) -> Result<Option<Benchmark>, StoreError> {
        self.document(digest).await
    }

    /// The frozen environment with this digest, checked against it.
    pub async fn environment_definition(
        &self,
        digest: &Digest,
    ) -> Result<Option<Environment>, StoreError> {
        self.document(digest).await
    }

    async fn put_document(&self, document: &Value) -> Result<Digest, StoreError> {
        let body = canonical::to_bytes(document);
        let digest = Digest::of_bytes(&body);
        // What is started again and again is there already, and reading waits for no writer.
        let query =
            Query::new("SELECT 1 FROM definitions WHERE digest = $1").bind(digest.to_string());
        if self.database().read_optional(query).await?.is_some() {
            return Ok(digest);
        }
        let body =
            String::from_utf8(body).map_err(|error| StoreError::corrupt("definition", error))?;
        let query = Query::new("INSERT INTO definitions (digest, body) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING")
            .bind(digest.to_string())
            .bind(body);
        self.database().execute(query).await?;
        Ok(digest)
    }

    async fn document<T: DeserializeOwned>(
        &self,
        digest: &Digest,
    ) -> Result<Option<T>, StoreError> {
        let query =
            Query::new("SELECT body FROM definitions WHERE digest = $1").bind(digest.to_string());
        let Some(row) = self.database().read_optional(query).await? else {
            return Ok(None);
        };
        if Digest::of_bytes(row.text("body")?.as_bytes()) != *digest {
            return Err(StoreError::Corrupt(format!(
                "the definition {digest} has other content than its name says"
            )));
        }
        row.json("body").map(Some)
    }
}
