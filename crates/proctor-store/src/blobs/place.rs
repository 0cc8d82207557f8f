//! Where blobs lie: a directory of this machine, or a bucket that several machines share.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::StreamExt as _;
use object_store::{
    ObjectStore, ObjectStoreExt as _, RetryConfig, aws::AmazonS3Builder, local::LocalFileSystem,
    prefix::PrefixStore,
};
use proctor_core::causes::with_causes;
use proctor_core::time::Timestamp;

use super::Blobs;
use crate::{StoreError, store::for_the_owner_only};

/// Where uploads lie until they are whole.
pub(super) const UNFINISHED: &str = "unfinished";

/// How long a request that fails is made again: clients wait meanwhile, and try again themselves.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where blobs lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobPlace {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A bucket that speaks S3. Its address, region and credentials are what the `AWS_…` variables of the
    /// environment say, so that none of them stands in a file or among a process's arguments.
    Bucket {
        /// The bucket's name.
        name: String,
        /// What the names of all our objects begin with; empty for the whole bucket.
        prefix: String,
    },
}

/// A text that names no place for blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected s3://BUCKET, s3://BUCKET/PREFIX or a directory")]
pub struct NoBlobPlace;

impl FromStr for BlobPlace {
    type Err = NoBlobPlace;

    fn from_str(text: &str) -> Result<Self, NoBlobPlace> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return match text {
                "" => Err(NoBlobPlace),
                directory => Ok(Self::Directory(directory.into())),
            };
        };
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if scheme != "s3" || name.is_empty() || name.contains(['@', ':', '?', '#']) {
            return Err(NoBlobPlace);
        }
        Ok(Self::Bucket {
            name: name.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
        })
    }
}

impl fmt::Display for BlobPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(directory) => directory.display().fmt(f),
            Self::Bucket { name, prefix } if prefix.is_empty() => write!(f, "s3://{name}"),
            Self::Bucket { name, prefix } => write!(f, "s3://{name}/{prefix}"),
        }
    }
}

impl BlobPlace {
    /// The blobs there.
    pub(crate) fn open(&self) -> Result<Blobs, StoreError> {
        Ok(Blobs {
            objects: match self {
                Self::Directory(directory) => Arc::new(files(directory)?),
                Self::Bucket { name, prefix } if prefix.is_empty() => Arc::new(bucket(name)?),
                Self::Bucket { name, prefix } => {
                    Arc::new(PrefixStore::new(bucket(name)?, prefix.as_str()))
                }
            },
            area: None,
        })
    }

    /// Makes sure that blobs can be kept there, so that a wrong name or key is told at the start and not by the
    /// first request that needs it.
    pub(crate) async fn prove(&self, blobs: &Blobs) -> Result<(), StoreError> {
        let Self::Bucket { .. } = self else {
            return Ok(());
        };
        let probe = object_store::path::Path::from(format!(
            "{UNFINISHED}/probe-{:032x}",
            rand::random::<u128>()
        ));
        let unusable = |error: object_store::Error| {
            StoreError::Configuration(format!(
                "blobs cannot be kept in {self}: {}",
                with_causes(&error)
            ))
        };
        blobs
            .objects
            .put(&probe, b"proctor".as_slice().into())
            .await
            .map_err(unusable)?;
        blobs.objects.delete(&probe).await.map_err(unusable)
    }

    /// Removes what uploads left that began before `before` and were never finished: their process was killed.
    pub(crate) async fn forget_unfinished(
        &self,
        blobs: &Blobs,
        before: Timestamp,
    ) -> Result<(), StoreError> {
        let before = SystemTime::UNIX_EPOCH
            + Duration::from_millis(before.as_millis().max(0).unsigned_abs());
        match self {
            // Half-written files are none of the objects that a listing would show.
            Self::Directory(directory) => forget_files(&directory.join(UNFINISHED), before)
                .map_err(|error| StoreError::Configuration(error.to_string())),
            Self::Bucket { .. } => {
                let mut listed = blobs.objects.list(Some(&UNFINISHED.into()));
                while let Some(object) = listed.next().await {
                    let object = object?;
                    if SystemTime::from(object.last_modified) < before {
                        blobs.objects.delete(&object.location).await?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn files(directory: &Path) -> Result<LocalFileSystem, StoreError> {
    let unusable = |error: std::io::Error| {
        StoreError::Configuration(format!("the directory for blobs cannot be used: {error}"))
    };
    fs_err::create_dir_all(directory).map_err(unusable)?;
    // One that somebody else owns stays as its owner wants it.
    if let Err(error) = for_the_owner_only(directory) {
        tracing::warn!(path = %directory.display(), error = %with_causes(&error), "others may look into the directory for blobs");
    }
    Ok(LocalFileSystem::new_with_prefix(directory)?.with_fsync(true))
}

fn bucket(name: &str) -> Result<impl ObjectStore, StoreError> {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(name);
    // A bucket of one's own on the same network often has no certificate; whoever writes `http://` means it.
    let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
        .into_iter()
        .find_map(|variable| std::env::var(variable).ok());
    if let Some(endpoint) = endpoint {
        builder = builder
            .with_allow_http(endpoint.starts_with("http://"))
            .with_endpoint(endpoint);
    }
    let retry = RetryConfig {
        retry_timeout: PATIENCE,
        ..RetryConfig::default()
    };
    builder.with_retry(retry).build().map_err(|error| {
        StoreError::Configuration(format!(
            "the bucket {name} cannot be used: {}",
            with_causes(&error)
        ))
    })
}

fn forget_files(unfinished: &Path, before: SystemTime) -> std::io::Result<()> {
    if !unfinished.exists() {
        return Ok(());
    }
    for entry in fs_err::read_dir(unfinished)? {
        let entry = entry?;
        if entry.metadata()?.modified()? < before {
            fs_err::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_directory_or_a_bucket_and_is_shown_as_it_was_written() {
        for (text, place) in [
            ("/srv/blobs", BlobPlace::Directory("/srv/blobs".into())),
            (
                "s3://proctor",
                BlobPlace::Bucket {
                    name: "proctor".to_owned(),
                    prefix: String::new(),
                },
            ),
            (
                "s3://proctor/one/two",
                BlobPlace::Bucket {
                    name: "proctor".to_owned(),
                    prefix: "one/two".to_owned(),
                },
            ),
        ] {
            assert_eq!(text.parse(), Ok(place.clone()), "{text}");
            assert_eq!(place.to_string(), text);
        }
        assert_eq!(
            "s3://proctor/one/"
                .parse::<BlobPlace>()
                .unwrap()
                .to_string(),
            "s3://proctor/one"
        );
    }

    #[test]
    fn what_names_no_place_is_refused() {
        for text in [
            "",
            "s3://",
            "s3:///prefix",
            "gs://bucket",
            "s3://key:secret@bucket",
        ] {
            assert_eq!(text.parse::<BlobPlace>(), Err(NoBlobPlace), "{text}");
        }
    }
}
