//! What clients know and this server does not offer: terminals over HTTP, and proxies out of a devbox. Axons, gateways and MCP
//! configurations are outside of the contract that this server keeps.

use crate::{
    auth::OrganizationCaller,
    error::{ApiError, ApiErrorKind},
    extract::Json,
    runloop::devboxes::views::EmptyView,
};

/// Says so, whatever is asked of a devbox.
macro_rules! not_offered {
    ($($(#[$doc:meta])* $name:ident: $method:ident $path:literal ($($params:tt)*), $message:literal;)*) => {$(
        $(#[$doc])*
        #[utoipa::path(
            $method,
            path = $path,
            tag = "Runloop: devboxes",
            params($($params)*),
            security(("organization_key" = [])),
            responses((status = 501, description = "Not offered by this server")),
        )]
        pub(crate) async fn $name(_: OrganizationCaller) -> Result<Json<EmptyView>, ApiError> {
            Err(ApiError::new(ApiErrorKind::NotImplemented, $message))
        }
    )*};
}

not_offered! {
    /// Not offered: terminals are for SSH.
    create_devbox_pty_tunnel: post "/v1/devboxes/{id}/create_pty_tunnel" (("id" = String, Path, description = "The devbox's id")),
        "terminals are not offered over HTTP; use SSH (create_ssh_key)";
    /// Not offered: there are no gateways.
    create_devbox_gateway_token: post "/v1/devboxes/{id}/create_gateway_token" (("id" = String, Path, description = "The devbox's id")),
        "gateways are not offered by this server";
    /// Not offered: there is no hub for MCP servers.
    create_devbox_mcp_token: post "/v1/devboxes/{id}/create_mcp_token" (("id" = String, Path, description = "The devbox's id")),
        "MCP servers are not offered by this server";
    /// Not offered: no devbox of this server is ever evicted.
    watch_devbox_evictions: get "/v1/devboxes/evictions/watch" (),
        "devboxes of this server are never evicted";
}
