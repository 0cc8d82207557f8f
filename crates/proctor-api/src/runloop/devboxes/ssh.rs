//! Keys for coming into a devbox by SSH. The protocol itself is not here.

use axum::extract::State;
use proctor_core::id::kinds::DevboxId;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    runloop::{ids, links::PublicAddress},
    state::ApiState,
};

/// Where keys are made.
pub(super) const PATH: &str = "/v1/devboxes/{id}/create_ssh_key";

/// A key that leads into a devbox. It is shown once and kept nowhere.
#[derive(Serialize, ToSchema)]
pub(crate) struct SshKeyView {
    /// The devbox's id.
    id: String,
    /// The private key, in OpenSSH's form.
    ssh_private_key: String,
    /// The user to come as.
    ssh_user: String,
    /// The host to connect to.
    url: String,
    /// The port to connect to.
    port: u16,
    /// The server's public key, for a line of known_hosts.
    host_key: String,
}

/// Makes a key that leads into a devbox by SSH, and ends with it.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/create_ssh_key",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The key", body = SshKeyView)),
)]
pub(crate) async fn create_devbox_ssh_key(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
    here: PublicAddress,
) -> Result<Json<SshKeyView>, ApiError> {
    let fleet = state.fleet()?;
    let service = state.ssh()?;
    let key = service.generate().map_err(ApiError::internal)?;
    let ssh_user = fleet.add_ssh_key(caller.id(), id, &key.fingerprint).await?;
    let endpoint = service.endpoint();
    let listens = endpoint.listens;
    let (url, port) = endpoint.public.unwrap_or_else(|| {
        let host = if listens.ip().is_unspecified() {
            // It listens everywhere: whoever came here by some name comes there by the same.
            here.host()
        } else {
            listens.ip().to_string()
        };
        (host, listens.port())
    });
    Ok(Json(SshKeyView {
        id: ids::wire(id),
        ssh_private_key: key.private,
        ssh_user,
        url,
        port,
        host_key: endpoint.host_key,
    }))
}
