//! What clients know and this server does not offer: ways into a devbox from outside, and proxies out of it.

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
    /// Not offered: devboxes have no network that a shell could be reached by.
    create_devbox_ssh_key: post "/v1/devboxes/{id}/create_ssh_key" (("id" = String, Path, description = "The devbox's id")),
        "this server's devboxes cannot be reached by SSH; run commands with execute";
    /// Not offered: devboxes have no network that a service could be reached by.
    enable_devbox_tunnel: post "/v1/devboxes/{id}/enable_tunnel" (("id" = String, Path, description = "The devbox's id")),
        "tunnels are not offered by this server";
    /// Not offered: there are no tunnels.
    remove_devbox_tunnel: post "/v1/devboxes/{id}/remove_tunnel" (("id" = String, Path, description = "The devbox's id")),
        "tunnels are not offered by this server";
    /// Not offered: there are no tunnels.
    create_devbox_pty_tunnel: post "/v1/devboxes/{id}/create_pty_tunnel" (("id" = String, Path, description = "The devbox's id")),
        "terminals are not offered by this server; run commands with execute";
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
