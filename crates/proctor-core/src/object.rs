//! Objects: bytes that an organization uploads once and then only reads.
//!
//! Where the bytes lie is the store's business; here is what may happen to an object and in which order.

use std::collections::BTreeMap;

use crate::{
    canonical::Digest,
    id::kinds::{ObjectId, OrganizationId},
    refused::Step,
    time::Timestamp,
};

/// What an uploader says the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// Nothing was said.
    Unspecified,
    /// Text in UTF-8.
    Text,
    /// Any bytes.
    Binary,
    /// One compressed file.
    Gzip,
    /// An archive.
    Tar,
    /// A compressed archive.
    Tgz,
}

impl ContentType {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Unspecified,
        Self::Text,
        Self::Binary,
        Self::Gzip,
        Self::Tar,
        Self::Tgz,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Gzip => "gzip",
            Self::Tar => "tar",
            Self::Tgz => "tgz",
        }
    }

    /// What a word names.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == word)
    }

    /// What browsers and other programs call it.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Unspecified | Self::Binary => "application/octet-stream",
            Self::Text => "text/plain; charset=utf-8",
            Self::Gzip | Self::Tgz => "application/gzip",
            Self::Tar => "application/x-tar",
        }
    }
}

/// The bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// What they hash to.
    pub digest: Digest,
    /// How many they are.
    pub size: u64,
}

/// Where an object is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectState {
    /// It waits for its bytes, or for the word that they are complete.
    Uploading(Option<Content>),
    /// Its bytes are there and never change.
    ReadOnly(Content),
    /// It is no more.
    Deleted,
}

/// What a list can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectStatus {
    /// It waits for its bytes.
    Uploading,
    /// It can be read.
    ReadOnly,
    /// It is no more.
    Deleted,
    /// Its upload failed for good. Uploads can be tried again here, so no object is ever in it.
    Error,
}

impl ObjectStatus {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Uploading, Self::ReadOnly, Self::Deleted, Self::Error];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uploading => "UPLOADING",
            Self::ReadOnly => "READ_ONLY",
            Self::Deleted => "DELETED",
            Self::Error => "ERROR",
        }
    }

    /// What a word names.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == word)
    }
}

/// Why something cannot be done with an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectRefused {
    /// It is no more.
    #[error("the object was deleted")]
    Deleted,
    /// Its bytes are final.
    #[error("the object is complete and can only be read")]
    Complete,
    /// Its bytes have not come.
    #[error("nothing has been uploaded to the object's upload_url yet")]
    Empty,
    /// It has not been completed.
    #[error("the object is not complete; complete it first")]
    NotComplete,
}

/// An object and all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// Its name for programs.
    pub id: ObjectId,
    /// Whose it is.
    pub organization: OrganizationId,
    /// Its name for people.
    pub name: String,
    /// What its bytes are.
    pub content_type: ContentType,
    /// Notes of its owner.
    pub metadata: BTreeMap<String, String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it goes away by itself.
    pub delete_after: Option<Timestamp>,
    /// Where it is in its life.
    pub state: ObjectState,
}

impl StoredObject {
    /// The word for its state.
    pub const fn status(&self) -> ObjectStatus {
        match self.state {
            ObjectState::Uploading(_) => ObjectStatus::Uploading,
            ObjectState::ReadOnly(_) => ObjectStatus::ReadOnly,
            ObjectState::Deleted => ObjectStatus::Deleted,
        }
    }

    /// Its bytes as far as they are there.
    pub const fn content(&self) -> Option<Content> {
        match self.state {
            ObjectState::Uploading(content) => content,
            ObjectState::ReadOnly(content) => Some(content),
            ObjectState::Deleted => None,
        }
    }

    /// The object as it is at `now`: one whose time is over is no more.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        if self.delete_after.is_some_and(|end| end <= now) {
            self.state = ObjectState::Deleted;
        }
        self
    }

    /// Whether bytes may come now.
    pub const fn check_upload(&self) -> Result<(), ObjectRefused> {
        match self.state {
            ObjectState::Uploading(_) => Ok(()),
            ObjectState::ReadOnly(_) => Err(ObjectRefused::Complete),
            ObjectState::Deleted => Err(ObjectRefused::Deleted),
        }
    }

    /// The bytes have come; until the object is complete, later ones replace earlier ones.
    pub fn upload(mut self, content: Content) -> Result<Self, ObjectRefused> {
        self.check_upload()?;
        self.state = ObjectState::Uploading(Some(content));
        Ok(self)
    }

    /// The bytes are final.
    pub fn complete(mut self) -> Result<Step<Self>, ObjectRefused> {
        match self.state {
            ObjectState::Uploading(Some(content)) => {
                self.state = ObjectState::ReadOnly(content);
                Ok(Step::Changed(self))
            }
            ObjectState::Uploading(None) => Err(ObjectRefused::Empty),
            ObjectState::ReadOnly(_) => Ok(Step::Unchanged(self)),
            ObjectState::Deleted => Err(ObjectRefused::Deleted),
        }
    }

    /// The object goes away.
    #[must_use]
    pub fn delete(mut self) -> Step<Self> {
        match self.state {
            ObjectState::Deleted => Step::Unchanged(self),
            ObjectState::Uploading(_) | ObjectState::ReadOnly(_) => {
                self.state = ObjectState::Deleted;
                Step::Changed(self)
            }
        }
    }

    /// The bytes, if they are final.
    pub const fn readable(&self) -> Result<Content, ObjectRefused> {
        match self.state {
            ObjectState::ReadOnly(content) => Ok(content),
            ObjectState::Uploading(_) => Err(ObjectRefused::NotComplete),
            ObjectState::Deleted => Err(ObjectRefused::Deleted),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    fn object() -> StoredObject {
        StoredObject {
            id: ObjectId::from_uuid(Uuid::from_u128(1)),
            organization: OrganizationId::from_uuid(Uuid::from_u128(2)),
            name: "notes".to_owned(),
            content_type: ContentType::Text,
            metadata: BTreeMap::new(),
            created_at: Timestamp::from_millis(1000),
            delete_after: None,
            state: ObjectState::Uploading(None),
        }
    }

    fn content(text: &str) -> Content {
        Content {
            digest: Digest::of_bytes(text.as_bytes()),
            size: text.len() as u64,
        }
    }

    #[test]
    fn bytes_may_be_replaced_until_the_object_is_complete() {
        let object = object();
        assert_eq!(object.readable(), Err(ObjectRefused::NotComplete));
        assert_eq!(object.clone().complete(), Err(ObjectRefused::Empty));
        let object = object.upload(content("a")).unwrap();
        let object = object.upload(content("b")).unwrap();
        let Step::Changed(object) = object.complete().unwrap() else {
            panic!("completing changes the object");
        };
        assert_eq!(object.readable(), Ok(content("b")));
        assert!(!object.clone().complete().unwrap().is_changed());
        assert_eq!(object.upload(content("c")), Err(ObjectRefused::Complete));
    }

    #[test]
    fn a_deleted_object_stays_deleted() {
        let object = object().upload(content("a")).unwrap();
        let Step::Changed(object) = object.delete() else {
            panic!("deleting changes the object");
        };
        assert_eq!(object.readable(), Err(ObjectRefused::Deleted));
        assert_eq!(object.clone().complete(), Err(ObjectRefused::Deleted));
        assert_eq!(
            object.clone().upload(content("b")),
            Err(ObjectRefused::Deleted)
        );
        assert!(!object.delete().is_changed());
    }

    #[test]
    fn an_object_ends_when_its_time_is_over() {
        let mut object = object();
        let end = object.created_at.plus(Duration::from_secs(1));
        object.delete_after = Some(end);
        let before = Timestamp::from_millis(end.as_millis() - 1);
        assert_eq!(object.clone().at(before).status(), ObjectStatus::Uploading);
        assert_eq!(object.at(end).status(), ObjectStatus::Deleted);
    }

    #[test]
    fn every_word_reads_as_what_it_names() {
        for one in ContentType::ALL {
            assert_eq!(ContentType::read(one.name()), Some(*one));
        }
        for one in ObjectStatus::ALL {
            assert_eq!(ObjectStatus::read(one.name()), Some(*one));
        }
        assert_eq!(ContentType::read("zip"), None);
    }
}
