//! Signed-in browsers, and the one-time links that sign them in.
//!
//! The text of a session or a ticket carries 256 random bits and is known to its browser alone: the store keeps its SHA-256. Both
//! belong to a credential and are good only as long as it is.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use proctor_core::{id::kinds::CredentialId, time::Timestamp};
use proctor_macros::boxed_futures;
use rand::Rng as _;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    Store, StoreError,
    credentials::{Principal, Who, hash},
    database::Query,
    organizations::Organization,
};

/// How long a session lasts that nobody uses.
pub const IDLE: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a session lasts at most.
pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long a ticket can be spent.
pub const TICKET: Duration = Duration::from_secs(10 * 60);
/// How exactly the last use of a session is known: every use would be a write otherwise.
const USE_GRAIN: Duration = Duration::from_secs(60);

#[boxed_futures]
impl Store {
    /// Opens a session for a credential that was just shown, and returns the text of its cookie.
    pub async fn open_web_session(
        &self,
        credential: CredentialId,
    ) -> Result<SecretString, StoreError> {
        let text = random_text();
        let query = Query::new(
            "INSERT INTO web_sessions (hash, credential, created_at, used_at) VALUES ($1, $2, $3, $3)",
        )
        .bind(hash(&text).to_vec())
        .bind(credential)
        .bind(self.now());
        self.database().execute(query).await?;
        Ok(text.into())
    }

    /// Who is signed in with this cookie; none if the session is unknown or over, or its credential is revoked or has expired.
    pub async fn web_session(&self, cookie: &str) -> Result<Option<Principal>, StoreError> {
        let query = Query::new(
            "SELECT credentials.id AS id, kind, subject, expires_at, web_sessions.created_at AS began, used_at, \
             organizations.id AS organization_id, organizations.name AS organization_name, \
             organizations.created_at AS organization_created_at, organizations.limits AS limits \
             FROM web_sessions JOIN credentials ON credentials.id = web_sessions.credential \
             JOIN organizations ON organizations.id = credentials.organization \
             WHERE web_sessions.hash = $1 AND revoked_at IS NULL",
        )
        .bind(hash(cookie).to_vec());
        let Some(row) = self.database().read_optional(query).await? else {
            return Ok(None);
        };
        let now = self.now();
        let expires_at = row.opt_time("expires_at")?;
        let used_at = row.time("used_at")?;
        let is_over = row.time("began")?.plus(LONGEST) <= now
            || used_at.plus(IDLE) <= now
            || expires_at.is_some_and(|end| end <= now);
        if is_over {
            return Ok(None);
        }
        if used_at.plus(USE_GRAIN) <= now {
            let query = Query::new("UPDATE web_sessions SET used_at = $1 WHERE hash = $2")
                .bind(now)
                .bind(hash(cookie).to_vec());
            self.database().execute(query).await?;
        }
        Ok(Some(Principal {
            credential: row.id("id")?,
            organization: Organization::read(
                &row,
                "organization_id",
                "organization_name",
                "organization_created_at",
            )?,
            who: Who::read(&row)?,
            expires_at,
        }))
    }

    /// Ends a session.
    pub async fn close_web_session(&self, cookie: &str) -> Result<(), StoreError> {
        let query =
            Query::new("DELETE FROM web_sessions WHERE hash = $1").bind(hash(cookie).to_vec());
        self.database().execute(query).await?;
        Ok(())
    }

    /// Makes a one-time link's text, which opens a session of this credential.
    pub async fn issue_web_ticket(
        &self,
        credential: CredentialId,
    ) -> Result<SecretString, StoreError> {
        let text = random_text();
        let query = Query::new(
            "INSERT INTO web_tickets (hash, credential, expires_at) VALUES ($1, $2, $3)",
        )
        .bind(hash(&text).to_vec())
        .bind(credential)
        .bind(self.now().plus(TICKET));
        self.database().execute(query).await?;
        Ok(text.into())
    }

    /// Spends a ticket for a session, and returns the text of its cookie; none if the ticket is unknown, spent or too old, or its
    /// credential is revoked. Of two who spend it at once, one gets a session.
    pub async fn spend_web_ticket(&self, ticket: &str) -> Result<Option<SecretString>, StoreError> {
        let ticket = hash(ticket).to_vec();
        let mut transaction = self.database().begin().await?;
        let query = Query::new(
            "SELECT credential, web_tickets.expires_at AS ends FROM web_tickets \
             JOIN credentials ON credentials.id = web_tickets.credential \
             WHERE web_tickets.hash = $1 AND revoked_at IS NULL",
        )
        .bind(ticket.clone());
        let Some(row) = transaction.read_optional(query).await? else {
            return Ok(None);
        };
        let credential: CredentialId = row.id("credential")?;
        let ends: Timestamp = row.time("ends")?;
        let query = Query::new("DELETE FROM web_tickets WHERE hash = $1").bind(ticket);
        let is_ours = transaction.execute(query).await? == 1;
        let now = self.now();
        if !is_ours || ends <= now {
            return Ok(None);
        }
        let text: SecretString = random_text().into();
        let query = Query::new(
            "INSERT INTO web_sessions (hash, credential, created_at, used_at) VALUES ($1, $2, $3, $3)",
        )
        .bind(hash(text.expose_secret()).to_vec())
        .bind(credential)
        .bind(now);
        transaction.execute(query).await?;
        transaction.commit().await?;
        Ok(Some(text))
    }

    /// Removes sessions and tickets that are over.
    pub async fn forget_old_web_sessions(&self) -> Result<(), StoreError> {
        let now = self.now().as_millis();
        let before = |span: Duration| now - i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let sessions =
            Query::new("DELETE FROM web_sessions WHERE used_at <= $1 OR created_at <= $2")
                .bind(before(IDLE))
                .bind(before(LONGEST));
        self.database().execute(sessions).await?;
        let tickets = Query::new("DELETE FROM web_tickets WHERE expires_at <= $1").bind(now);
        self.database().execute(tickets).await?;
        Ok(())
    }
}

fn random_text() -> String {
    let mut bits = [0; 32];
    rand::rng().fill_bytes(&mut bits);
    BASE64_URL_SAFE_NO_PAD.encode(bits)
}
