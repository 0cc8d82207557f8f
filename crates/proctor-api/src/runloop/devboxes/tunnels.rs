//! Tunnels of devboxes: given and taken away. What passes through them is not here.

use axum::extract::State;
use proctor_core::{
    devbox::{TunnelAuth, TunnelSettings},
    id::kinds::DevboxId,
};
use proctor_fleet::DevboxRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::views::EmptyView;
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, shortened},
    state::ApiState,
    tunnels,
};

/// Where a tunnel is given.
pub(super) const ENABLE: &str = "/v1/devboxes/{id}/enable_tunnel";

/// How a tunnel shall work.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct TunnelParameters {
    /// open (the default): for everybody who knows the key; authenticated: for those who also show the token.
    #[schema(example = "authenticated")]
    auth_mode: Option<String>,
    /// Whether what passes counts as use of the devbox; true when absent.
    http_keep_alive: Option<bool>,
    /// Whether a request brings a suspended devbox back; false when absent. `lifecycle.resume_triggers.http` goes before it.
    wake_on_http: Option<bool>,
}

impl TunnelParameters {
    /// What the client means; `place` stands before the fields.
    pub(super) fn read(self, checks: &mut Checks, place: &str) -> TunnelSettings {
        let usual = TunnelSettings::default();
        let auth = match self.auth_mode {
            None => usual.auth,
            Some(word) => TunnelAuth::from_name(&word).unwrap_or_else(|| {
                let message = format!("'{}' is none of open, authenticated", shortened(&word));
                checks.refuse(&format!("{place}auth_mode"), message);
                usual.auth
            }),
        };
        TunnelSettings {
            auth,
            http_keep_alive: self.http_keep_alive.unwrap_or(usual.http_keep_alive),
            wake_on_http: self.wake_on_http.unwrap_or(usual.wake_on_http),
        }
    }
}

/// A tunnel: how services in a devbox can be reached from outside.
#[derive(Serialize, ToSchema)]
pub(crate) struct TunnelView {
    /// open or authenticated.
    auth_mode: &'static str,
    /// What users of an authenticated tunnel show, as `X-Runloop-Tunnel-Authorization: Bearer …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_token: Option<String>,
    create_time_ms: i64,
    http_keep_alive: bool,
    tunnel_key: String,
    wake_on_http: bool,
    /// Where a port is, with `{port}` in its place; a path of this server unless it knows its own address.
    #[schema(example = "https://{port}-4f….tunnel.example.org")]
    url: String,
}

impl TunnelView {
    /// The tunnel of a devbox, if it has one and has not ended.
    pub(super) fn of(state: &ApiState, record: &DevboxRecord) -> Option<Self> {
        let tunnel = record.tunnel.as_ref().filter(|_| !record.life.is_over())?;
        let address = state.fleet().ok()?.tunnel_address(record.id, tunnel);
        let settings = tunnel.settings;
        Some(Self {
            auth_mode: settings.auth.as_str(),
            auth_token: address.token,
            create_time_ms: tunnel.created_at.as_millis(),
            http_keep_alive: settings.http_keep_alive,
            wake_on_http: settings.wake_on_http,
            url: tunnels::url(state, &address.key),
            tunnel_key: address.key,
        })
    }
}

/// Gives a devbox a tunnel. One that has a tunnel keeps its key, and works as asked from now on.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/enable_tunnel",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = TunnelParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The tunnel", body = TunnelView)),
)]
pub(crate) async fn enable_devbox_tunnel(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<TunnelParameters>,
) -> Result<Json<TunnelView>, ApiError> {
    let mut checks = Checks::default();
    let settings = body.read(&mut checks, "");
    checks.finish()?;
    let fleet = state.fleet()?;
    let record = fleet.enable_tunnel(caller.id(), id, settings).await?;
    let view = TunnelView::of(&state, &record);
    view.map(Json)
        .ok_or_else(|| ApiError::not_found("the devbox ended before its tunnel was there"))
}

/// Takes the tunnel of a devbox away, and ends what goes through it. A devbox without one stays as it is.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/remove_tunnel",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "There is no tunnel", body = EmptyView)),
)]
pub(crate) async fn remove_devbox_tunnel(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
) -> Result<Json<EmptyView>, ApiError> {
    state.fleet()?.remove_tunnel(caller.id(), id).await?;
    Ok(Json(EmptyView {}))
}
