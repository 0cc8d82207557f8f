//! `/v1/accounts/me`: who is calling.

use proctor_core::{id::kinds::OrganizationId, time::Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{auth::OrganizationCaller, extract::Json};

/// The account behind the key that was shown.
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountView {
    #[schema(value_type = String, example = "org_01K0000000000000000000000A")]
    id: OrganizationId,
    name: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Always enabled: a self-hosted server has no other.
    #[schema(example = "ACCOUNT_STATUS_ENABLED")]
    account_status: &'static str,
    /// Always the highest: a self-hosted server has no other.
    #[schema(example = "ACCOUNT_TIER_ENTERPRISE")]
    tier: &'static str,
    billing: BillingView,
}

/// How an account pays: not at all.
#[derive(Serialize, ToSchema)]
pub(crate) struct BillingView {
    /// The word that clients have for "none of the known ones".
    #[schema(example = "UNRECOGNIZED")]
    account_billing_type: &'static str,
}

/// Shows the account behind the key.
#[utoipa::path(
    get,
    path = "/v1/accounts/me",
    tag = "Runloop: account",
    security(("organization_key" = [])),
    responses((status = 200, description = "The account", body = AccountView)),
)]
pub(crate) async fn get_my_account(caller: OrganizationCaller) -> Json<AccountView> {
    let organization = caller.organization();
    Json(AccountView {
        id: organization.id,
        name: organization.name.clone(),
        created_at: organization.created_at,
        account_status: "ACCOUNT_STATUS_ENABLED",
        tier: "ACCOUNT_TIER_ENTERPRISE",
        billing: BillingView {
            account_billing_type: "UNRECOGNIZED",
        },
    })
}
