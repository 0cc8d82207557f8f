//! Large bytes: logs, layers, files. Named by their content, kept outside of the database.

use std::path::Path;

use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::{
    ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, local::LocalFileSystem,
};
use proctor_core::canonical::Digest;

use crate::StoreError;

/// Large bytes by their digest; cheap to clone.
#[derive(Clone, Debug)]
pub struct Blobs {
    objects: std::sync::Arc<dyn ObjectStore>,
}

/// Bytes as they arrive.
pub type ByteStream = BoxStream<'static, Result<Bytes, object_store::Error>>;

impl Blobs {
    /// Blobs in a directory of this machine.
    pub(crate) fn in_directory(directory: &Path) -> Result<Self, StoreError> {
        fs_err::create_dir_all(directory).map_err(|error| {
            StoreError::Configuration(format!("the directory for blobs cannot be used: {error}"))
        })?;
        let objects = LocalFileSystem::new_with_prefix(directory)?.with_fsync(true);
        Ok(Self {
            objects: std::sync::Arc::new(objects),
        })
    }

    /// Stores bytes; storing the same bytes again costs nothing.
    pub async fn put(&self, bytes: Bytes) -> Result<Digest, StoreError> {
        let digest = Digest::of_bytes(&bytes);
        let options = PutOptions::from(PutMode::Create);
        match self
            .objects
            .put_opts(&path(&digest), PutPayload::from_bytes(bytes), options)
            .await
        {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => Ok(digest),
            Err(error) => Err(error.into()),
        }
    }

    /// The bytes with this digest, checked against it.
    pub async fn get(&self, digest: &Digest) -> Result<Option<Bytes>, StoreError> {
        let bytes = match self.objects.get(&path(digest)).await {
            Ok(found) => found.bytes().await?,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if Digest::of_bytes(&bytes) != *digest {
            return Err(StoreError::Corrupt(format!(
                "the blob {digest} has other content than its name says"
            )));
        }
        Ok(Some(bytes))
    }

    /// The bytes with this digest, piece by piece and unchecked: for what does not fit in memory.
    pub async fn stream(&self, digest: &Digest) -> Result<Option<ByteStream>, StoreError> {
        match self.objects.get(&path(digest)).await {
            Ok(found) => Ok(Some(found.into_stream())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the bytes with this digest, if they are there.
    pub async fn delete(&self, digest: &Digest) -> Result<(), StoreError> {
        match self.objects.delete(&path(digest)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Spread over 256 directories, because some file systems are slow in large ones.
fn path(digest: &Digest) -> object_store::path::Path {
    let hex = digest.hex();
    object_store::path::Path::from(format!("{}/{hex}", &hex[..2]))
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt as _;

    use super::*;

    #[tokio::test]
    async fn bytes_come_back_by_their_digest_until_they_are_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::in_directory(directory.path()).unwrap();
        let digest = blobs.put(Bytes::from_static(b"log")).await.unwrap();
        assert_eq!(blobs.put(Bytes::from_static(b"log")).await.unwrap(), digest);
        assert_eq!(blobs.get(&digest).await.unwrap().unwrap(), "log");
        let pieces: Vec<Bytes> = blobs
            .stream(&digest)
            .await
            .unwrap()
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(pieces.concat(), b"log");
        blobs.delete(&digest).await.unwrap();
        blobs.delete(&digest).await.unwrap();
        assert!(blobs.get(&digest).await.unwrap().is_none());
        assert!(blobs.stream(&digest).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn damaged_bytes_are_found_out() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::in_directory(directory.path()).unwrap();
        let digest = blobs.put(Bytes::from_static(b"log")).await.unwrap();
        fs_err::write(directory.path().join(path(&digest).as_ref()), "lag").unwrap();
        assert!(matches!(
            blobs.get(&digest).await,
            Err(StoreError::Corrupt(_))
        ));
    }
}
