//! Keys and tokens: who is calling.
//!
//! A credential is shown once, when it is made. The store keeps its SHA-256: the text carries 256
//! random bits, so there is nothing that a slow hash would protect. A lookup goes by eight bytes
//! of the hash and then compares the whole hash in constant time.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use proctor_core::{
    id::kinds::{CredentialId, CredentialKind, OrganizationId, RunId, SolverId, TaskRunId},
    time::Timestamp,
};
use rand::Rng as _;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::{
    Store, StoreError,
    database::{Query, Row},
    operator_keys::FoundOperator,
    organizations::Organization,
    page::{Listing, Page, PageRequest},
};
use proctor_macros::boxed_futures;

pub use crate::credential_cache::FRESHNESS;

/// Whom a credential speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// The organization itself.
    Organization,
    /// One of its Solvers.
    Solver(SolverId),
    /// One run, until it is over.
    Run(RunId),
    /// One task run of a run: its world or its box, and nothing else.
    Attempt {
        /// The run.
        run: RunId,
        /// The task run.
        task_run: TaskRunId,
    },
}

impl Who {
    const fn kind(self) -> &'static str {
        match self {
            Self::Organization => "organization",
            Self::Solver(_) => "solver",
            Self::Run(_) => "run",
            Self::Attempt { .. } => "attempt",
        }
    }

    /// What the texts of this kind begin with.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Organization => "vk_",
            Self::Solver(_) => "vrl_slv_",
            Self::Run(_) => "vrl_run_",
            Self::Attempt { .. } => "vrl_att_",
        }
    }

    fn subject(self) -> Option<String> {
        match self {
            Self::Organization => None,
            Self::Solver(solver) => Some(solver.bare()),
            Self::Run(run) => Some(run.bare()),
            Self::Attempt { run, task_run } => Some(format!("{}.{}", run.bare(), task_run.bare())),
        }
    }

    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        let missing = || StoreError::Corrupt("a credential without a subject".to_owned());
        match row.text("kind")?.as_str() {
            "organization" => Ok(Self::Organization),
            "solver" => Ok(Self::Solver(row.opt_id("subject")?.ok_or_else(missing)?)),
            "run" => Ok(Self::Run(row.opt_id("subject")?.ok_or_else(missing)?)),
            "attempt" => {
                let subject = row.text("subject")?;
                let (run, task_run) = subject.split_once('.').ok_or_else(missing)?;
                Ok(Self::Attempt {
                    run: RunId::from_bare(run).map_err(|_| missing())?,
                    task_run: TaskRunId::from_bare(task_run).map_err(|_| missing())?,
                })
            }
            other => Err(StoreError::Corrupt(format!(
                "a credential of kind '{other}'"
            ))),
        }
    }
}

/// Who is calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The credential that was shown.
    pub credential: CredentialId,
    /// The organization behind it.
    pub organization: Organization,
    /// Whom it speaks for.
    pub who: Who,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// What became of a credential that was shown.
#[derive(Clone, Debug)]
pub enum Authentication {
    /// It is good.
    Known(Arc<Principal>),
    /// It was good once.
    Expired,
    /// It was taken back.
    Revoked,
    /// Nobody made it.
    Unknown,
    /// It is the key of whoever runs the server, which speaks for no organization.
    Operator(CredentialId),
}

/// Whose keys are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOwner {
    /// The organization's own.
    Organization,
    /// A Solver's.
    Solver(SolverId),
}

impl From<KeyOwner> for Who {
    fn from(owner: KeyOwner) -> Self {
        match owner {
            KeyOwner::Organization => Self::Organization,
            KeyOwner::Solver(solver) => Self::Solver(solver),
        }
    }
}

/// What is kept and may be shown of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub id: CredentialId,
    /// What people call it.
    pub name: Option<String>,
    /// How the text begins.
    pub prefix: String,
    /// How the text ends.
    pub suffix: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// A key that was just made: the only time its text is known.
#[derive(Debug)]
pub struct IssuedKey {
    /// What is kept.
    pub key: Key,
    /// The text.
    pub secret: SecretString,
}

/// The text of a key that is to be made.
#[derive(Clone, Debug)]
pub enum PlainKey {
    /// A fresh random one.
    Random,
    /// One that was chosen outside.
    Given(GivenKey),
}

/// A key's text that was chosen outside.
#[derive(Clone, Debug)]
pub struct GivenKey(SecretString);

/// A text that will not do as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is at least 16 visible ASCII characters without spaces")]
pub struct BadKey;

impl TryFrom<String> for GivenKey {
    type Error = BadKey;

    fn try_from(text: String) -> Result<Self, BadKey> {
        if text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.into()))
        } else {
            Err(BadKey)
        }
    }
}

pub(crate) type Hash = [u8; 32];

/// A key that is about to be stored.
pub(crate) struct NewKey {
    key: Key,
    who: Who,
    secret: SecretString,
}

impl NewKey {
    pub(crate) fn insert(&self, organization: OrganizationId) -> Query {
        let hash = hash(self.secret.expose_secret());
        Query::new(
            "INSERT INTO credentials (id, organization, kind, subject, name, prefix, suffix, fingerprint, hash, \
             created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(self.key.id)
        .bind(organization)
        .bind(self.who.kind())
        .bind(self.who.subject())
        .bind(self.key.name.clone())
        .bind(self.key.prefix.as_str())
        .bind(self.key.suffix.as_str())
        .bind(fingerprint(&hash))
        .bind(hash.to_vec())
        .bind(self.key.created_at)
        .bind(self.key.expires_at)
    }

    pub(crate) fn into_issued(self) -> IssuedKey {
        IssuedKey {
            key: self.key,
            secret: self.secret,
        }
    }
}

pub(crate) fn hash(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

pub(crate) fn fingerprint(hash: &Hash) -> i64 {
    let (first, _) = hash.split_first_chunk().expect("a hash has 32 bytes");
    i64::from_be_bytes(*first)
}

/// What the keys of operators begin with.
pub(crate) const OPERATOR_PREFIX: &str = "vk_op_";

const KEY_COLUMNS: &str = "id, name, prefix, suffix, created_at, expires_at";

impl Key {
    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            name: row.opt_text("name")?,
            prefix: row.text("prefix")?,
            suffix: row.text("suffix")?,
            created_at: row.time("created_at")?,
            expires_at: row.opt_time("expires_at")?,
        })
    }
}

#[boxed_futures]
impl Store {
    pub(crate) fn new_key(
        &self,
        who: impl Into<Who>,
        name: Option<String>,
        expires_at: Option<Timestamp>,
        plain: PlainKey,
    ) -> NewKey {
        let who = who.into();
        let (issued, _) = self.new_secret(who.prefix(), name, plain);
        NewKey {
            key: Key {
                expires_at,
                ..issued.key
            },
            who,
            secret: issued.secret,
        }
    }

    /// A key whose text begins with `prefix` unless it was chosen outside, and the hash of its text.
    pub(crate) fn new_secret(
        &self,
        prefix: &str,
        name: Option<String>,
        plain: PlainKey,
    ) -> (IssuedKey, Hash) {
        let secret = match plain {
            PlainKey::Given(GivenKey(text)) => text,
            PlainKey::Random => {
                let mut bits = [0; 32];
                rand::rng().fill_bytes(&mut bits);
                format!("{prefix}{}", BASE64_URL_SAFE_NO_PAD.encode(bits)).into()
            }
        };
        let text = secret.expose_secret();
        // Enough to recognise a key by, far too little to guess the rest. Keys are ASCII.
        let announced = if text.starts_with(prefix) {
            prefix.len()
        } else {
            0
        };
        let key = Key {
            id: self.fresh_id(),
            name,
            prefix: text[..announced + 4].to_owned(),
            suffix: text[text.len() - 4..].to_owned(),
            created_at: self.now(),
            expires_at: None,
        };
        let hash = hash(text);
        (IssuedKey { key, secret }, hash)
    }

    /// Makes a key; `None` when the Solver is not one of the organization's.
    pub async fn create_key(
        &self,
        organization: OrganizationId,
        owner: KeyOwner,
        name: Option<String>,
        plain: PlainKey,
    ) -> Result<Option<IssuedKey>, StoreError> {
        let new = self.new_key(owner, name, None, plain);
        let mut transaction = self.database().begin().await?;
        if let KeyOwner::Solver(solver) = owner {
            let query = Query::new(
                "SELECT id FROM solvers WHERE organization = $1 AND id = $2 AND deleted_at IS NULL",
            )
            .bind(organization)
            .bind(solver);
            if transaction.read_optional(query).await?.is_none() {
                return Ok(None);
            }
        }
        transaction.execute(new.insert(organization)).await?;
        transaction.commit().await?;
        Ok(Some(new.into_issued()))
    }

    /// The keys that are in force.
    pub async fn keys(
        &self,
        organization: OrganizationId,
        owner: KeyOwner,
        page: PageRequest<CredentialKind>,
    ) -> Result<Page<Key>, StoreError> {
        let who = Who::from(owner);
        let mut listing = Listing::new(KEY_COLUMNS, "credentials")
            .filter("organization", organization)
            .filter("kind", who.kind())
            .only("revoked_at IS NULL");
        if let Some(subject) = who.subject() {
            listing = listing.filter("subject", subject);
        }
        listing.page(self.database(), page, Key::read).await
    }

    /// One key that is in force.
    pub async fn key(
        &self,
        organization: OrganizationId,
        owner: KeyOwner,
        id: CredentialId,
    ) -> Result<Option<Key>, StoreError> {
        let who = Who::from(owner);
        let query = Query::new(
            "SELECT id, name, prefix, suffix, created_at, expires_at FROM credentials \
             WHERE organization = $1 AND kind = $2 AND COALESCE(subject, '') = $3 AND id = $4 AND revoked_at IS NULL",
        )
        .bind(organization)
        .bind(who.kind())
        .bind(who.subject().unwrap_or_default())
        .bind(id);
        self.database()
            .read_optional(query)
            .await?
            .map(|row| Key::read(&row))
            .transpose()
    }

    /// Trusts verified credentials for this long instead of [`FRESHNESS`], from the next look at the database on. For tests that count
    /// statements: on a loaded machine a look that lapses in between would be counted too.
    pub fn trust_credentials_for(&self, freshness: std::time::Duration) {
        self.credential_cache().trust_for(freshness);
    }

    /// Takes a key back, at once on this node and within [`FRESHNESS`] on
    /// others. `false` when no such key is in force.
    pub async fn revoke_key(
        &self,
        organization: OrganizationId,
        owner: KeyOwner,
        id: CredentialId,
    ) -> Result<bool, StoreError> {
        let who = Who::from(owner);
        let query = Query::new(
            "UPDATE credentials SET revoked_at = $1 \
             WHERE organization = $2 AND kind = $3 AND COALESCE(subject, '') = $4 AND id = $5 AND revoked_at IS NULL",
        )
        .bind(self.now())
        .bind(organization)
        .bind(who.kind())
        .bind(who.subject().unwrap_or_default())
        .bind(id);
        let revoked = self.database().execute(query).await? > 0;
        self.credential_cache().forget_all();
        Ok(revoked)
    }

    /// Makes one more token of a run.
    pub async fn issue_run_token(
        &self,
        organization: OrganizationId,
        run: RunId,
        expires_at: Timestamp,
    ) -> Result<IssuedKey, StoreError> {
        let new = self.new_key(Who::Run(run), None, Some(expires_at), PlainKey::Random);
        self.database().execute(new.insert(organization)).await?;
        Ok(new.into_issued())
    }

    /// Makes a token of one task run of a run.
    pub async fn issue_attempt_token(
        &self,
        organization: OrganizationId,
        run: RunId,
        task_run: TaskRunId,
        expires_at: Option<Timestamp>,
    ) -> Result<IssuedKey, StoreError> {
        let who = Who::Attempt { run, task_run };
        let new = self.new_key(who, None, expires_at, PlainKey::Random);
        self.database().execute(new.insert(organization)).await?;
        Ok(new.into_issued())
    }

    /// Ends the tokens of a run.
    pub async fn revoke_run_tokens(&self, run: RunId) -> Result<(), StoreError> {
        self.database().execute(self.end_tokens(run)).await?;
        self.credential_cache().forget_all();
        Ok(())
    }

    /// The statement that ends the tokens of a run, and those of its attempts.
    pub(crate) fn end_tokens(&self, run: RunId) -> Query {
        Query::new(
            "UPDATE credentials SET revoked_at = $1 WHERE revoked_at IS NULL AND ((kind = 'run' AND subject = $2) \
             OR (kind = 'attempt' AND subject LIKE $3))",
        )
        .bind(self.now())
        .bind(run)
        // The subject of an attempt is the run's id, a dot and the task run's id.
        .bind(format!("{}.%", run.bare()))
    }

    /// Who shows this credential.
    pub async fn authenticate(&self, shown: &str) -> Result<Authentication, StoreError> {
        let hash = hash(shown);
        let principal = match self.credential_cache().get(&hash) {
            Some(principal) => principal,
            None => {
                let generation = self.credential_cache().generation();
                match self.find_credential(&hash).await? {
                    Found::Good(principal) => {
                        let principal = Arc::new(principal);
                        self.credential_cache()
                            .put(hash, Arc::clone(&principal), generation);
                        principal
                    }
                    Found::Revoked => return Ok(Authentication::Revoked),
                    Found::Nothing if shown.starts_with(OPERATOR_PREFIX) => {
                        return Ok(match self.find_operator(&hash).await? {
                            FoundOperator::Good(key) => Authentication::Operator(key),
                            FoundOperator::Revoked => Authentication::Revoked,
                            FoundOperator::Nothing => Authentication::Unknown,
                        });
                    }
                    Found::Nothing => return Ok(Authentication::Unknown),
                }
            }
        };
        if principal.expires_at.is_some_and(|end| end <= self.now()) {
            return Ok(Authentication::Expired);
        }
        Ok(Authentication::Known(principal))
    }

    async fn find_credential(&self, shown: &Hash) -> Result<Found, StoreError> {
        let query = Query::new(
            "SELECT credentials.id AS id, kind, subject, hash, expires_at, revoked_at, \
             organizations.id AS organization_id, organizations.name AS organization_name, \
             organizations.created_at AS organization_created_at, organizations.limits AS limits \
             FROM credentials JOIN organizations ON organizations.id = credentials.organization \
             WHERE fingerprint = $1",
        )
        .bind(fingerprint(shown));
        for row in self.database().read_all(query).await? {
            if !bool::from(row.bytes("hash")?.as_slice().ct_eq(shown)) {
                continue;
            }
            if row.opt_time("revoked_at")?.is_some() {
                return Ok(Found::Revoked);
            }
            return Ok(Found::Good(Principal {
                credential: row.id("id")?,
                organization: Organization::read(
                    &row,
                    "organization_id",
                    "organization_name",
                    "organization_created_at",
                )?,
                who: Who::read(&row)?,
                expires_at: row.opt_time("expires_at")?,
            }));
        }
        Ok(Found::Nothing)
    }
}

enum Found {
    Good(Principal),
    Revoked,
    Nothing,
}
