//! Objects: uploads and downloads by signed link, completion, deletion, the end of their time.
//!
//! The records and bytes are the store's. A link is good for one object, one direction and a limited time, and needs no
//! other credential; nothing else here looks at who is asking.

use bytes::Bytes;
use futures::Stream;
use proctor_core::{
    id::kinds::{ObjectId, OrganizationId},
    object::{Content, ObjectRefused, StoredObject},
    refused::Step,
};
use proctor_store::{
    Store, StoreError,
    blobs::{ByteStream, PutError},
    retry::retry_stale,
    runs::Revised,
};

pub mod links;

/// The largest object that is accepted unless the caller says otherwise.
pub const LARGEST: u64 = 5 << 30;

/// Why something could not be done with an object.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// There is none, as far as the organization may know.
    #[error("no object '{0}'")]
    NotFound(ObjectId),
    /// Its state does not allow it.
    #[error(transparent)]
    Refused(#[from] ObjectRefused),
    /// The upload is larger than allowed.
    #[error("the object is larger than the limit of {0} bytes")]
    TooLarge(u64),
    /// The uploader went away.
    #[error("the upload ended early: {0}")]
    Broken(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One of the organization's objects.
pub async fn find(
    store: &Store,
    organization: OrganizationId,
    id: ObjectId,
) -> Result<StoredObject, ObjectError> {
    Ok(revised(store, organization, id).await?.value)
}

async fn revised(
    store: &Store,
    organization: OrganizationId,
    id: ObjectId,
) -> Result<Revised<StoredObject>, ObjectError> {
    let found = store.object(organization, id).await?;
    found.ok_or(ObjectError::NotFound(id))
}

/// Takes the bytes of an object. Whoever calls has checked that the uploader may.
pub async fn upload<E: std::fmt::Display>(
    store: &Store,
    id: ObjectId,
    bytes: impl Stream<Item = Result<Bytes, E>> + Unpin,
    limit: u64,
) -> Result<StoredObject, ObjectError> {
    let object = async || {
        let found = store.any_object(id).await?;
        found.ok_or(ObjectError::NotFound(id))
    };
    // Before anything is written: a complete object takes no bytes, and a full store has no room for any.
    let before = object().await?.value;
    before.check_upload()?;
    let room = store.storage_room(before.organization).await?;
    let replaced = before.content().map_or(0, |content| content.size);
    let most = room.map_or(limit, |room| {
        limit.min(room.left().saturating_add(replaced))
    });
    let blobs = store.object_content(id);
    let (digest, size) =
        blobs
            .put_stream(bytes, most)
            .await
            .map_err(|error| match (error, room) {
                (PutError::Source(error), _) => ObjectError::Broken(error.to_string()),
                (PutError::TooLarge(most), Some(room)) if most < limit => {
                    StoreError::Limit(room.refusal()).into()
                }
                (PutError::TooLarge(limit), _) => ObjectError::TooLarge(limit),
                (PutError::Store(error), _) => error.into(),
            })?;
    let content = Content { digest, size };
    let uploaded = retry_stale(|| async {
        let read = object().await?;
        let new = match read.value.clone().upload(content) {
            Ok(new) => new,
            Err(refused) => {
                if read.value.content() != Some(content) {
                    blobs.delete(&digest).await?;
                }
                return Err(ObjectError::from(refused));
            }
        };
        let written = store.write_object(&read, &new).await;
        if let Err(StoreError::Limit(_)) = written
            && read.value.content() != Some(content)
        {
            blobs.delete(&digest).await?;
        }
        Ok(written.map(|()| (read.value.content(), new)))
    });
    let (old, new) = uploaded.await?;
    if let Some(old) = old
        && old.digest != digest
    {
        blobs.delete(&old.digest).await?;
    }
    Ok(new)
}

/// Declares the bytes of an object final.
pub async fn complete(
    store: &Store,
    organization: OrganizationId,
    id: ObjectId,
) -> Result<StoredObject, ObjectError> {
    retry_stale(|| async {
        let read = revised(store, organization, id).await?;
        let new = match read.value.clone().complete()? {
            Step::Unchanged(object) => return Ok(Ok(object)),
            Step::Changed(object) => object,
        };
        let written = store.write_object(&read, &new).await;
        Ok(written.map(|()| new))
    })
    .await
}

/// Deletes an object and its bytes; repeating it is fine.
pub async fn delete(
    store: &Store,
    organization: OrganizationId,
    id: ObjectId,
) -> Result<StoredObject, ObjectError> {
    retry_stale(|| async {
        let read = revised(store, organization, id).await?;
        Ok(remove(store, &read).await)
    })
    .await
}

async fn remove(store: &Store, read: &Revised<StoredObject>) -> Result<StoredObject, StoreError> {
    let Step::Changed(gone) = read.value.clone().delete() else {
        return Ok(read.value.clone());
    };
    store.write_object(read, &gone).await?;
    if let Some(content) = read.value.content() {
        store
            .object_content(gone.id)
            .delete(&content.digest)
            .await?;
    }
    Ok(gone)
}

/// Removes the objects whose time is over; how many there were. To be called now and then.
pub async fn sweep(store: &Store) -> Result<usize, StoreError> {
    let mut swept = 0;
    loop {
        let ended = store.objects_past_their_end().await?;
        if ended.is_empty() {
            return Ok(swept);
        }
        for object in ended {
            match remove(store, &object).await {
                Ok(_) => swept += 1,
                // Somebody else did it, or is about to.
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The bytes of a complete object.
pub async fn open(store: &Store, object: &StoredObject) -> Result<(u64, ByteStream), ObjectError> {
    let content = object.readable()?;
    let stream = store
        .object_content(object.id)
        .stream(&content.digest)
        .await?;
    let stream = stream.ok_or_else(|| {
        // Deleted since it was read, or damage; either way there is nothing to give.
        StoreError::Corrupt(format!("the content of {} is not there", object.id))
    })?;
    Ok((content.size, stream))
}
