//! Requests that carry their own id: done once, answered the same for a day.
//!
//! Doing a request and keeping its answer are two commits. A process that ends in between leaves a claim without an answer;
//! whoever claims the request again is told so, and finds what was made before ([`crate::repeatable`]).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use proctor_core::{canonical::Digest, time::Timestamp};
use tokio::sync::OwnedMutexGuard;

use crate::{
    Store, StoreError,
    database::{Query, Row},
    repeatable::Repeatable,
};
use proctor_macros::boxed_futures;

/// How long an answer is kept.
pub const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How much longer than its request may take a claim is good, so that it is void only when its
/// node is gone: for what comes before and after the request itself, and for clocks that differ.
const MARGIN: Duration = Duration::from_secs(30);
/// How often to look whether another node has answered.
const GLANCE: Duration = Duration::from_millis(100);

/// An answer as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The type of the body, if it has one.
    pub content_type: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// What is to be done with a request.
#[derive(Debug)]
pub enum Begun {
    /// Do it, then [`Store::finish_request`] or [`Store::abandon_request`].
    Fresh(Claim),
    /// It was done: answer this.
    Done(Answer),
    /// The id was used for another request.
    OtherBody,
}

/// The right to do a request. Others with the same id wait until it is given up.
#[derive(Debug)]
pub struct Claim {
    request: Repeatable,
    _waiting: OwnedMutexGuard<()>,
}

impl Claim {
    /// The request that is to be carried out.
    pub fn request(&self) -> Repeatable {
        self.request.clone()
    }
}

/// How a request ended without an answer that could be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Nothing was done.
    NotDone,
    /// Something may have been done. Whoever repeats the request finds it.
    PerhapsDone,
}

/// The requests that this node is doing.
#[derive(Default)]
pub(crate) struct InFlight(Mutex<HashMap<(String, String), Turn>>);

/// Held by whoever is doing a request; the others with its id wait for it.
type Turn = Arc<tokio::sync::Mutex<()>>;

impl InFlight {
    /// Waits until nobody on this node is doing the request.
    async fn enter(&self, scope: &str, request_id: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody but this map holds what is over.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(
                turns
                    .entry((scope.to_owned(), request_id.to_owned()))
                    .or_default(),
            )
        };
        turn.lock_owned().await
    }
}

#[boxed_futures]
impl Store {
    /// Claims a request: `scope` is who asks for what, `request_id` the caller's own id of it,
    /// `body` what tells it from other requests, `longest` how long it may take, if there is a
    /// limit. Waits while somebody else is doing it.
    pub async fn begin_request(
        &self,
        scope: &str,
        request_id: &str,
        body: Digest,
        longest: Option<Duration>,
    ) -> Result<Begun, StoreError> {
        let good_for = longest.map_or(KEPT, |longest| longest.saturating_add(MARGIN));
        let waiting = self.in_flight().enter(scope, request_id).await;
        let claim = |begun_at, begun_before| Claim {
            request: Repeatable {
                scope: scope.to_owned(),
                request_id: request_id.to_owned(),
                begun_at,
                begun_before,
            },
            _waiting: waiting,
        };
        loop {
            let now = self.now();
            let query = Query::new(
                "INSERT INTO idempotency (scope, request_id, body_digest, begun_at, expires_at) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (scope, request_id) DO NOTHING",
            )
            .bind(scope)
            .bind(request_id)
            .bind(body.to_string())
            .bind(now)
            .bind(now.plus(good_for));
            if self.database().execute(query).await? > 0 {
                return Ok(Begun::Fresh(claim(now, false)));
            }
            let query = Query::new(
                "SELECT body_digest, begun_at, status, content_type, answer, expires_at FROM idempotency \
                 WHERE scope = $1 AND request_id = $2",
            )
            .bind(scope)
            .bind(request_id);
            let Some(row) = self.database().read_optional(query).await? else {
                continue;
            };
            let expires_at = row.time("expires_at")?;
            let answer = self.read_answer(&row, scope, request_id)?;
            // An unfinished claim on a database of our own is of a process that is gone: this
            // one's are known, and it is the only one that serves.
            let void = expires_at <= now || (answer.is_none() && self.database().is_ours_alone());
            let first = row.time("begun_at")?;
            let same_body = row.parsed::<Digest>("body_digest")? == body;
            if void {
                let begun_before = answer.is_none() && same_body && first.plus(KEPT) > now;
                let begun_at = match begun_before {
                    true => first,
                    // What another request with this id made is not taken for this one's.
                    false => now.max(first.plus(Duration::from_millis(1))),
                };
                let query = Query::new(
                    "UPDATE idempotency SET body_digest = $1, begun_at = $2, expires_at = $3, status = NULL, \
                     content_type = NULL, answer = NULL WHERE scope = $4 AND request_id = $5 AND expires_at = $6",
                )
                .bind(body.to_string())
                .bind(begun_at)
                .bind(now.plus(good_for))
                .bind(scope)
                .bind(request_id)
                .bind(expires_at);
                if self.database().execute(query).await? > 0 {
                    return Ok(Begun::Fresh(claim(begun_at, begun_before)));
                }
            } else if !same_body {
                return Ok(Begun::OtherBody);
            } else if let Some(answer) = answer {
                return Ok(Begun::Done(answer));
            } else {
                tokio::time::sleep(GLANCE).await;
            }
        }
    }

    /// Keeps the answer.
    pub async fn finish_request(&self, claim: Claim, answer: &Answer) -> Result<(), StoreError> {
        let query = Query::new(
            "UPDATE idempotency SET status = $1, content_type = $2, answer = $3, expires_at = $4 \
             WHERE scope = $5 AND request_id = $6",
        )
        .bind(i64::from(answer.status))
        .bind(answer.content_type.clone())
        .bind(self.sealed_answer(&claim, &answer.body))
        .bind(self.now().plus(KEPT))
        .bind(claim.request.scope.as_str())
        .bind(claim.request.request_id.as_str());
        self.database().execute(query).await?;
        Ok(())
    }

    /// Gives the claim up without an answer: the next with this id does the request.
    pub async fn abandon_request(&self, claim: Claim, how: Unanswered) -> Result<(), StoreError> {
        let request = &claim.request;
        let query = if how == Unanswered::NotDone && !request.begun_before {
            Query::new(
                "DELETE FROM idempotency WHERE scope = $1 AND request_id = $2 AND status IS NULL",
            )
        } else {
            // This try or an earlier one may have done it: its ids stay.
            Query::new(
                "UPDATE idempotency SET expires_at = $1 WHERE scope = $2 AND request_id = $3 AND status IS NULL",
            )
            .bind(self.now())
        };
        let query = query
            .bind(request.scope.as_str())
            .bind(request.request_id.as_str());
        self.database().execute(query).await?;
        Ok(())
    }

    /// Forgets answers, and requests without one, that are too old; how many.
    pub async fn forget_old_requests(&self) -> Result<u64, StoreError> {
        let now = self.now();
        let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let query = Query::new("DELETE FROM idempotency WHERE expires_at <= $1 AND begun_at <= $2")
            .bind(now)
            .bind(Timestamp::from_millis(now.as_millis() - kept));
        self.database().execute(query).await
    }
}

/// What stands before a sealed answer. No body that was kept before answers were sealed begins so: they are JSON.
const SEALED: u8 = 1;

/// What an answer is sealed for.
fn owner(scope: &str, request_id: &str) -> String {
    format!("answer to {request_id} of {scope}")
}

impl Store {
    /// An answer as it is kept: it may hold links that open something, and what was shown once.
    fn sealed_answer(&self, claim: &Claim, body: &[u8]) -> Vec<u8> {
        let Repeatable {
            scope, request_id, ..
        } = &claim.request;
        let sealed = self.vault().seal_bytes(&owner(scope, request_id), body);
        [&[SEALED][..], &sealed].concat()
    }

    fn read_answer(
        &self,
        row: &Row,
        scope: &str,
        request_id: &str,
    ) -> Result<Option<Answer>, StoreError> {
        let Some(status) = row.opt_int("status")? else {
            return Ok(None);
        };
        let kept = row.opt_bytes("answer")?.unwrap_or_default();
        let body = match kept.split_first() {
            Some((&SEALED, sealed)) => {
                self.vault().open_bytes(&owner(scope, request_id), sealed)?
            }
            _ => kept,
        };
        Ok(Some(Answer {
            status: u16::try_from(status).map_err(|error| StoreError::corrupt("status", error))?,
            content_type: row.opt_text("content_type")?,
            body,
        }))
    }
}
