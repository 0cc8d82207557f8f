//! Requests that may be repeated, and the ids of what they make.
//!
//! A request that carries its own id is done once, also if the server ends after it was done and before its answer is kept.
//! What such a request makes has an id that follows from the request, so whoever repeats it finds what was made before:
//! [`Store::make_once`] looks for it and says under which id to make it if it is not there.
//!
//! The request travels with its task ([`Repeatable::carry_out`]), because ids are made far below whoever knows of requests.
//! A task that is spawned on the way is not part of it and makes fresh ids: it goes on after the answer, and what it leaves
//! behind in a crash is taken up by recovery, not by the request's repetition.

use proctor_core::{
    id::{Id, Kind},
    time::Timestamp,
};

use crate::Store;
use proctor_macros::boxed_futures;

tokio::task_local! {
    static CURRENT: Repeatable;
}

/// A request that may be repeated.
#[derive(Clone, Debug)]
pub struct Repeatable {
    /// Who asks for what.
    pub(crate) scope: String,
    /// The caller's own id of the request.
    pub(crate) request_id: String,
    /// When it was first begun.
    pub(crate) begun_at: Timestamp,
    /// Whether it was begun before and nobody knows what came of it.
    pub(crate) begun_before: bool,
}

impl Repeatable {
    /// Carries the request out: `work` is what it does.
    pub async fn carry_out<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// What ids follow from: each part with its length, so that no two requests share it.
    fn subject(&self, kind: &str) -> Vec<u8> {
        let begun_at = self.begun_at.as_millis().to_string();
        let parts = [self.scope.as_str(), &self.request_id, &begun_at, kind];
        let parts = parts.iter().map(|part| format!("{}:{part}", part.len()));
        parts.collect::<String>().into_bytes()
    }
}

/// Whether the request that is being carried out was begun before, and nobody knows what came of it. For what cannot be
/// repeated, and leaves nothing behind that could be found.
pub fn was_begun_before() -> bool {
    CURRENT
        .try_with(|request| request.begun_before)
        .unwrap_or(false)
}

/// What a request is to make.
pub enum Made<K, T> {
    /// It was made when the request was first carried out.
    Before(T),
    /// It is to be made under this id.
    New(Id<K>),
}

#[boxed_futures]
impl Store {
    /// The id of what the current request makes: always the same one of a kind for the same request. A fresh one outside
    /// of requests that may be repeated.
    pub fn repeatable_id<K: Kind>(&self) -> Id<K> {
        let derived = CURRENT.try_with(|request| {
            let secret = self.derive_secret("ids of requests", &request.subject(K::PREFIX));
            let mut random = [0; 10];
            random.copy_from_slice(&secret[..10]);
            // The time of the first try, as other ids have the time of their making: lists go by it.
            let millis = u64::try_from(request.begun_at.as_millis()).unwrap_or(0);
            uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
        });
        match derived {
            Ok(uuid) => Id::from_uuid(uuid),
            Err(_) => self.fresh_id(),
        }
    }

    /// Says under which id the current request is to make something, or what it made before; `find` looks for that.
    pub async fn make_once<K: Kind, T, E, F>(
        &self,
        find: impl FnOnce(Id<K>) -> F,
    ) -> Result<Made<K, T>, E>
    where
        F: Future<Output = Result<Option<T>, E>>,
    {
        let id = self.repeatable_id();
        if was_begun_before()
            && let Some(made) = find(id).await?
        {
            return Ok(Made::Before(made));
        }
        Ok(Made::New(id))
    }
}
