//! Large bytes: logs, layers, files. Named by their content, kept outside of the database.

mod place;

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream::BoxStream};
use object_store::{
    ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, WriteMultipart,
};
use proctor_core::canonical::{Digest, Hasher};
use proctor_core::causes::with_causes;

use crate::{StoreError, fault};
use proctor_macros::boxed_futures;

pub use place::BlobPlace;

/// Large bytes by their digest; cheap to clone.
#[derive(Clone, Debug)]
pub struct Blobs {
    objects: std::sync::Arc<dyn ObjectStore>,
    /// What the names of its blobs begin with, if it is not the common area.
    area: Option<String>,
}

/// Why bytes that come one by one were not stored.
#[derive(Debug, thiserror::Error)]
pub enum PutError<E> {
    /// They stopped coming.
    #[error("the bytes could not be read to their end")]
    Source(#[source] E),
    /// They are more than allowed.
    #[error("there are more than {0} bytes")]
    TooLarge(u64),
    /// They could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many parts of an upload may be on their way to the disk at once.
const PARTS_AT_ONCE: usize = 4;

/// Bytes as they arrive.
pub type ByteStream = BoxStream<'static, Result<Bytes, object_store::Error>>;

#[boxed_futures]
impl Blobs {
    /// Blobs apart from all others, although they may have the same content: whoever owns the area can delete them
    /// without asking.
    #[must_use]
    pub fn area(&self, name: &str) -> Self {
        Self {
            objects: std::sync::Arc::clone(&self.objects),
            area: Some(name.to_owned()),
        }
    }

    /// Stores bytes as they come, at most `limit` of them, never all in memory. Until the last has come there is no blob.
    pub async fn put_stream<E>(
        &self,
        mut bytes: impl Stream<Item = Result<Bytes, E>> + Unpin,
        limit: u64,
    ) -> Result<(Digest, u64), PutError<E>> {
        let unfinished = object_store::path::Path::from(format!(
            "{}/{:032x}",
            place::UNFINISHED,
            rand::random::<u128>()
        ));
        let upload = self
            .objects
            .put_multipart(&unfinished)
            .await
            .map_err(StoreError::from)?;
        let mut upload = WriteMultipart::new(upload);
        let mut hasher = Hasher::default();
        let mut size = 0u64;
        let refused = loop {
            match bytes.next().await {
                None => break None,
                Some(Err(error)) => break Some(PutError::Source(error)),
                Some(Ok(piece)) => {
                    size += piece.len() as u64;
                    if size > limit {
                        break Some(PutError::TooLarge(limit));
                    }
                    if let Err(error) = upload.wait_for_capacity(PARTS_AT_ONCE).await {
                        break Some(PutError::Store(error.into()));
                    }
                    hasher.update(&piece);
                    upload.put(piece);
                }
            }
        };
        if let Some(refused) = refused {
            if let Err(error) = upload.abort().await {
                tracing::warn!(error = %with_causes(&error), "an upload that was given up leaves something behind");
            }
            return Err(refused);
        }
        let digest = hasher.finish();
        if size == 0 {
            // An upload without parts is not known to every kind of object store.
            drop(upload.abort().await);
            self.put(Bytes::new()).await?;
            return Ok((digest, 0));
        }
        upload.finish().await.map_err(StoreError::from)?;
        fault::point("blobs.put/before");
        self.objects
            .rename(&unfinished, &self.path(&digest))
            .await
            .map_err(StoreError::from)?;
        fault::point("blobs.put/after");
        Ok((digest, size))
    }

    /// Whether something can be put here now.
    pub async fn try_writing(&self) -> Result<(), StoreError> {
        let probe = object_store::path::Path::from(format!("{}/probe", place::UNFINISHED));
        self.objects
            .put(&probe, b"proctor".as_slice().into())
            .await?;
        self.objects.delete(&probe).await?;
        Ok(())
    }

    /// Stores bytes; storing the same bytes again costs nothing.
    pub async fn put(&self, bytes: Bytes) -> Result<Digest, StoreError> {
        let digest = Digest::of_bytes(&bytes);
        let options = PutOptions::from(PutMode::Create);
        fault::point("blobs.put/before");
        match self
            .objects
            .put_opts(&self.path(&digest), PutPayload::from_bytes(bytes), options)
            .await
        {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        fault::point("blobs.put/after");
        Ok(digest)
    }

    /// The bytes with this digest, checked against it.
    pub async fn get(&self, digest: &Digest) -> Result<Option<Bytes>, StoreError> {
        let bytes = match self.objects.get(&self.path(digest)).await {
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
        match self.objects.get(&self.path(digest)).await {
            Ok(found) => Ok(Some(found.into_stream())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the bytes with this digest, if they are there.
    pub async fn delete(&self, digest: &Digest) -> Result<(), StoreError> {
        fault::point("blobs.delete/before");
        match self.objects.delete(&self.path(digest)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        fault::point("blobs.delete/after");
        Ok(())
    }

    /// The common area is spread over 256 directories, because some file systems are slow in large ones.
    fn path(&self, digest: &Digest) -> object_store::path::Path {
        let hex = digest.hex();
        object_store::path::Path::from(match &self.area {
            None => format!("{}/{hex}", &hex[..2]),
            Some(area) => format!("{area}-{hex}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures::TryStreamExt as _;

    use super::*;

    fn blobs_in(directory: &Path) -> Blobs {
        BlobPlace::Directory(directory.to_owned()).open().unwrap()
    }

    #[tokio::test]
    async fn bytes_come_back_by_their_digest_until_they_are_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = blobs_in(directory.path());
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
        let blobs = blobs_in(directory.path());
        let digest = blobs.put(Bytes::from_static(b"log")).await.unwrap();
        fs_err::write(directory.path().join(blobs.path(&digest).as_ref()), "lag").unwrap();
        assert!(matches!(
            blobs.get(&digest).await,
            Err(StoreError::Corrupt(_))
        ));
    }

    fn pieces(
        pieces: &[&'static str],
    ) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Unpin {
        futures::stream::iter(
            pieces
                .iter()
                .map(|piece| Ok(Bytes::from_static(piece.as_bytes())))
                .collect::<Vec<_>>(),
        )
    }

    fn files(directory: &Path) -> Vec<String> {
        let mut names = Vec::new();
        let mut open = vec![directory.to_owned()];
        while let Some(next) = open.pop() {
            for entry in fs_err::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        names
    }

    #[tokio::test]
    async fn bytes_that_come_piece_by_piece_are_the_same_blob() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = blobs_in(directory.path());
        let whole = blobs.put(Bytes::from_static(b"abc")).await.unwrap();
        let (digest, size) = blobs.put_stream(pieces(&["a", "", "bc"]), 3).await.unwrap();
        assert_eq!((digest, size), (whole, 3));
        assert_eq!(files(directory.path()).len(), 1);
        let (empty, size) = blobs.put_stream(pieces(&[]), 0).await.unwrap();
        assert_eq!(size, 0);
        assert_eq!(blobs.get(&empty).await.unwrap().unwrap(), "");
    }

    #[tokio::test]
    async fn bytes_beyond_the_limit_or_broken_off_leave_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = blobs_in(directory.path());
        let refused = blobs.put_stream(pieces(&["ab", "cd"]), 3).await;
        assert!(matches!(refused, Err(PutError::TooLarge(3))));
        let broken = futures::stream::iter([
            Ok(Bytes::from_static(b"ab")),
            Err(std::io::Error::other("gone")),
        ]);
        let refused = blobs.put_stream(broken, 10).await;
        assert!(matches!(refused, Err(PutError::Source(_))));
        assert_eq!(files(directory.path()), Vec::<String>::new());
    }

    #[tokio::test]
    async fn areas_do_not_share_blobs() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = blobs_in(directory.path());
        let (one, two) = (blobs.area("objects/AA/one"), blobs.area("objects/AA/two"));
        let (digest, _) = one.put_stream(pieces(&["x"]), 9).await.unwrap();
        two.put_stream(pieces(&["x"]), 9).await.unwrap();
        one.delete(&digest).await.unwrap();
        assert!(one.get(&digest).await.unwrap().is_none());
        assert_eq!(two.get(&digest).await.unwrap().unwrap(), "x");
        assert!(blobs.get(&digest).await.unwrap().is_none());
    }
}
