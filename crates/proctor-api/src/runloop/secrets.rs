//! `/v1/secrets`: values that devboxes get as environment variables. No answer holds a value.

use axum::extract::State;
use proctor_core::id::{
    Dialect,
    kinds::{SecretId, SecretKind},
};
use proctor_store::secrets::Secret;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::page::{RunloopPage, RunloopPageQuery};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, PathParameter, shortened},
    state::ApiState,
};

/// A secret without its value.
#[derive(Serialize, ToSchema)]
pub(crate) struct SecretView {
    #[schema(value_type = String, example = "sec_01K0000000000000000000000A")]
    id: SecretId,
    /// What it is called.
    name: String,
    create_time_ms: i64,
    update_time_ms: i64,
}

impl SecretView {
    fn of(secret: Secret) -> Self {
        Self {
            id: secret.id,
            name: secret.name,
            create_time_ms: secret.created_at.as_millis(),
            update_time_ms: secret.updated_at.as_millis(),
        }
    }
}

/// A part of the list of secrets, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct SecretListView {
    secrets: Vec<SecretView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

/// What a new secret is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SecretCreateParameters {
    /// What it is called: any text on one line. Which variable holds it is said where it is used.
    #[schema(value_type = String, required, min_length = 1, max_length = 255, example = "database-password")]
    name: Option<String>,
    /// At most 65536 bytes.
    #[schema(value_type = String, required)]
    value: Option<PlainValue>,
}

/// What a secret becomes.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SecretUpdateParameters {
    /// At most 65536 bytes.
    #[schema(value_type = String, required)]
    value: Option<PlainValue>,
}

/// A value on its way in. Unlike a plain string's, its refusal does not quote what was sent.
struct PlainValue(String);

impl<'de> Deserialize<'de> for PlainValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            _ => Err(serde::de::Error::custom("must be a string")),
        }
    }
}

const LONGEST_NAME: usize = 255;
const LONGEST_VALUE: usize = 64 << 10;

/// What a secret can be called: any text that has one line and can stand in a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SecretName(String);

impl SecretName {
    fn read(text: &str) -> Option<Self> {
        // Clients take dots for places in a path.
        let is_good = !matches!(text.trim(), "" | "." | "..")
            && text.chars().count() <= LONGEST_NAME
            && !text.chars().any(char::is_control);
        is_good.then(|| Self(text.to_owned()))
    }
}

impl PathParameter for SecretName {
    fn parse(text: &str, _: Dialect) -> Result<Self, ApiError> {
        Self::read(text).ok_or_else(|| not_found(text))
    }
}

fn not_found(name: &str) -> ApiError {
    ApiError::not_found(format!("no secret named '{}'", shortened(name)))
}

fn checked_name(checks: &mut Checks, name: Option<String>) -> Option<SecretName> {
    let Some(name) = name else {
        checks.refuse("name", "is required");
        return None;
    };
    let read = SecretName::read(&name);
    if read.is_none() {
        checks.refuse(
            "name",
            format!(
                "must be a text without line breaks and other control characters, neither blank nor '.' nor '..', \
                 of at most {LONGEST_NAME} characters"
            ),
        );
    }
    read
}

fn checked_value(checks: &mut Checks, value: Option<PlainValue>) -> SecretString {
    let PlainValue(value) = value.unwrap_or_else(|| {
        checks.refuse("value", "is required");
        PlainValue(String::new())
    });
    if value.len() > LONGEST_VALUE {
        checks.refuse("value", format!("must have at most {LONGEST_VALUE} bytes"));
    }
    if value.contains('\0') {
        checks.refuse(
            "value",
            "must not contain a NUL, which no environment variable can hold",
        );
    }
    value.into()
}

/// Lists the secrets.
#[utoipa::path(
    get,
    path = "/v1/secrets",
    tag = "Runloop: secrets",
    params(RunloopPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The secrets without their values, newest first",
            body = SecretListView,
        ),
    ),
)]
pub(crate) async fn list_secrets(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    RunloopPage(page): RunloopPage<SecretKind>,
) -> Result<Json<SecretListView>, ApiError> {
    let page = state.store().secrets(caller.id(), page).await?;
    Ok(Json(SecretListView {
        secrets: page.items.into_iter().map(SecretView::of).collect(),
        has_more: page.has_more,
        total_count: page.total,
    }))
}

/// Makes a secret.
#[utoipa::path(
    post,
    path = "/v1/secrets",
    tag = "Runloop: secrets",
    request_body = SecretCreateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The secret without its value", body = SecretView)),
)]
pub(crate) async fn create_secret(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<SecretCreateParameters>,
) -> Result<Json<SecretView>, ApiError> {
    let mut checks = Checks::default();
    let name = checked_name(&mut checks, body.name);
    let value = checked_value(&mut checks, body.value);
    checks.finish()?;
    let name = name.expect("a name that is missing was refused").0;
    let secret = state
        .store()
        .create_secret(caller.id(), &name, &value)
        .await?;
    Ok(Json(SecretView::of(secret)))
}

/// Shows a secret.
#[utoipa::path(
    get,
    path = "/v1/secrets/{name}",
    tag = "Runloop: secrets",
    params(("name" = String, Path, description = "The secret's name")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The secret without its value", body = SecretView)),
)]
pub(crate) async fn get_secret(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(SecretName(name)): Path<SecretName>,
) -> Result<Json<SecretView>, ApiError> {
    let secret = state.store().secret(caller.id(), &name).await?;
    let secret = secret.ok_or_else(|| not_found(&name))?;
    Ok(Json(SecretView::of(secret)))
}

/// Gives a secret another value.
#[utoipa::path(
    post,
    path = "/v1/secrets/{name}",
    tag = "Runloop: secrets",
    params(("name" = String, Path, description = "The secret's name")),
    request_body = SecretUpdateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The secret without its value", body = SecretView)),
)]
pub(crate) async fn update_secret(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(SecretName(name)): Path<SecretName>,
    Json(body): Json<SecretUpdateParameters>,
) -> Result<Json<SecretView>, ApiError> {
    let mut checks = Checks::default();
    let value = checked_value(&mut checks, body.value);
    checks.finish()?;
    let secret = state
        .store()
        .update_secret(caller.id(), &name, &value)
        .await?;
    let secret = secret.ok_or_else(|| not_found(&name))?;
    Ok(Json(SecretView::of(secret)))
}

/// Removes a secret.
#[utoipa::path(
    post,
    path = "/v1/secrets/{name}/delete",
    tag = "Runloop: secrets",
    params(("name" = String, Path, description = "The secret's name")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What the secret was", body = SecretView)),
)]
pub(crate) async fn delete_secret(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(SecretName(name)): Path<SecretName>,
) -> Result<Json<SecretView>, ApiError> {
    let secret = state.store().delete_secret(caller.id(), &name).await?;
    let secret = secret.ok_or_else(|| not_found(&name))?;
    Ok(Json(SecretView::of(secret)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_any_text_on_one_line() {
        for good in [
            "A",
            "_",
            "my-secret-1",
            "a.b c",
            "1A",
            "Ä/ö",
            "...",
            &"Ä".repeat(255),
        ] {
            assert!(SecretName::read(good).is_some(), "{good}");
        }
        for bad in ["", " ", ".", "..", "A\0", "A\nB", &"A".repeat(256)] {
            assert!(SecretName::read(bad).is_none(), "{bad}");
        }
    }
}
