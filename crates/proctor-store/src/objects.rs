//! Objects: their records here, their bytes among the blobs.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{ObjectId, ObjectKind, OrganizationId},
    limits::Resource,
    object::{Content, ContentType, ObjectState, ObjectStatus, StoredObject},
    time::Timestamp,
};

use crate::{
    Store, StoreError,
    blobs::Blobs,
    database::{Query, Row},
    names::Sought,
    page::{Listing, Page, PageRequest},
    repeatable::Made,
    runs::{Revised, document},
};
use proctor_macros::boxed_futures;

/// What a new object is.
#[derive(Clone, Debug)]
pub struct NewObject {
    /// Its name for people.
    pub name: String,
    /// What its bytes will be.
    pub content_type: ContentType,
    /// Notes of its owner.
    pub metadata: BTreeMap<String, String>,
    /// After how many milliseconds it goes away by itself.
    pub ttl_ms: Option<u64>,
}

/// Which objects a list shows.
#[derive(Clone, Debug, Default)]
pub struct ObjectFilter {
    /// Called so.
    pub sought: Sought,
    /// Of this type.
    pub content_type: Option<ContentType>,
    /// In this state; without one, all that are not deleted.
    pub status: Option<ObjectStatus>,
}

const COLUMNS: &str = "id, organization, name, content_type, metadata, status, digest, size_bytes, created_at, \
     delete_after, revision";

fn read(row: &Row) -> Result<Revised<StoredObject>, StoreError> {
    let damaged = |what: &str| StoreError::Corrupt(format!("an object's {what} cannot be read"));
    let content = match row.opt_text("digest")? {
        None => None,
        Some(_) => Some(Content {
            digest: row.parsed("digest")?,
            size: u64::try_from(row.int("size_bytes")?).map_err(|_| damaged("size"))?,
        }),
    };
    let status = ObjectStatus::read(&row.text("status")?).ok_or_else(|| damaged("state"))?;
    let state = match (status, content) {
        (ObjectStatus::Uploading, content) => ObjectState::Uploading(content),
        (ObjectStatus::ReadOnly, Some(content)) => ObjectState::ReadOnly(content),
        (ObjectStatus::Deleted, _) => ObjectState::Deleted,
        (ObjectStatus::ReadOnly, None) | (ObjectStatus::Error, _) => return Err(damaged("state")),
    };
    Ok(Revised {
        value: StoredObject {
            id: row.id("id")?,
            organization: row.id("organization")?,
            name: row.text("name")?,
            content_type: ContentType::read(&row.text("content_type")?)
                .ok_or_else(|| damaged("content type"))?,
            metadata: row.json("metadata")?,
            created_at: row.time("created_at")?,
            delete_after: row.opt_time("delete_after")?,
            state,
        },
        revision: row.int("revision")?,
    })
}

#[boxed_futures]
impl Store {
    /// Makes an object that waits for its bytes.
    pub async fn create_object(
        &self,
        organization: OrganizationId,
        new: NewObject,
    ) -> Result<StoredObject, StoreError> {
        let made = self.make_once(|id| self.object(organization, id));
        let id = match made.await? {
            Made::Before(object) => return Ok(object.value),
            Made::New(id) => id,
        };
        let now = self.now();
        let ends = |ms: u64| {
            let span = i64::try_from(ms).unwrap_or(i64::MAX);
            Timestamp::from_millis(now.as_millis().saturating_add(span))
        };
        let object = StoredObject {
            id,
            organization,
            name: new.name,
            content_type: new.content_type,
            metadata: new.metadata,
            created_at: now,
            delete_after: new.ttl_ms.map(ends),
            state: ObjectState::Uploading(None),
        };
        let query = Query::new(
            "INSERT INTO objects (id, organization, name, content_type, metadata, status, created_at, delete_after, \
             folded_name, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)",
        )
        .bind(object.id)
        .bind(organization)
        .bind(object.name.as_str())
        .bind(object.content_type.name())
        .bind(document(&object.metadata)?)
        .bind(object.status().name())
        .bind(now)
        .bind(object.delete_after)
        .bind(object.name.to_lowercase());
        self.database().execute(query).await?;
        Ok(object)
    }

    /// One of the organization's objects, also one that is deleted.
    pub async fn object(
        &self,
        organization: OrganizationId,
        id: ObjectId,
    ) -> Result<Option<Revised<StoredObject>>, StoreError> {
        let found = self.any_object(id).await?;
        Ok(found.filter(|object| object.value.organization == organization))
    }

    /// An object by its id alone, for those who prove in another way that they may.
    pub async fn any_object(
        &self,
        id: ObjectId,
    ) -> Result<Option<Revised<StoredObject>>, StoreError> {
        let query = Query::new(
            "SELECT id, organization, name, content_type, metadata, status, digest, size_bytes, created_at, \
             delete_after, revision FROM objects WHERE id = $1",
        )
        .bind(id);
        let row = self.database().read_optional(query).await?;
        let found = row.map(|row| read(&row)).transpose()?;
        Ok(found.map(|object| Revised {
            value: object.value.at(self.now()),
            revision: object.revision,
        }))
    }

    /// The organization's objects.
    pub async fn objects(
        &self,
        organization: OrganizationId,
        filter: &ObjectFilter,
        page: PageRequest<ObjectKind>,
    ) -> Result<Page<StoredObject>, StoreError> {
        let now = self.now();
        let mut listing = Listing::new(COLUMNS, "objects").filter("organization", organization);
        listing = match filter.status {
            Some(ObjectStatus::Deleted) => listing.when(
                "(status = 'DELETED' OR delete_after <= ?)",
                vec![now.into()],
            ),
            other => {
                let live = listing.when(
                    "status <> 'DELETED' AND (delete_after IS NULL OR delete_after > ?)",
                    vec![now.into()],
                );
                match other {
                    Some(status) => live.filter("status", status.name()),
                    None => live,
                }
            }
        };
        if let Some(content_type) = filter.content_type {
            listing = listing.filter("content_type", content_type.name());
        }
        listing = listing
            .sought::<ObjectKind>(self.database(), &filter.sought)
            .await?;
        let page = listing.page(self.database(), page, read).await?;
        Ok(page.map(|object| object.value.at(now)))
    }

    /// Writes a new state over what was read; [`StoreError::Stale`] if somebody else was first, [`StoreError::Limit`] if its
    /// bytes are more than its organization may store.
    pub async fn write_object(
        &self,
        read: &Revised<StoredObject>,
        new: &StoredObject,
    ) -> Result<(), StoreError> {
        let content = new.content();
        let size = content.map(|content| i64::try_from(content.size).unwrap_or(i64::MAX));
        let query = Query::new(
            "UPDATE objects SET status = $1, digest = $2, size_bytes = $3, revision = revision + 1 \
             WHERE id = $4 AND revision = $5",
        )
        .bind(new.status().name())
        .bind(content.map(|content| content.digest.to_string()))
        .bind(size)
        .bind(new.id)
        .bind(read.revision);
        let mut transaction = self.database().begin().await?;
        let more = content.map_or(0, |content| content.size);
        let before = read.value.content().map_or(0, |content| content.size);
        if more > before {
            let more = more - before;
            self.check_room(&mut transaction, new.organization, Resource::Storage, more)
                .await?;
        }
        match transaction.execute(query).await? {
            0 => Err(StoreError::Stale),
            _ => transaction.commit().await,
        }
    }

    /// Objects whose time is over and which are not yet marked so, a few at a time.
    pub async fn objects_past_their_end(&self) -> Result<Vec<Revised<StoredObject>>, StoreError> {
        let query = Query::new(
            "SELECT id, organization, name, content_type, metadata, status, digest, size_bytes, created_at, \
             delete_after, revision FROM objects \
             WHERE delete_after <= $1 AND status <> 'DELETED' ORDER BY delete_after LIMIT 500",
        )
        .bind(self.now());
        let rows = self.database().read_all(query).await?;
        rows.iter().map(read).collect()
    }

    /// Where an object's bytes lie: an area of its own, so that removing them needs to ask nobody else.
    pub fn object_content(&self, id: ObjectId) -> Blobs {
        let bare = id.bare();
        let spread = &bare[bare.len() - 2..];
        self.blobs().area(&format!("objects/{spread}/{bare}"))
    }
}
