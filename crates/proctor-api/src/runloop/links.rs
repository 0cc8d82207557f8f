//! Links to this server in its own answers.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::{header, request::Parts};

use crate::state::ApiState;

/// Where the server is, as the client sees it: as configured, else where the request went.
#[derive(Clone, Debug)]
pub(crate) struct PublicAddress(String);

impl PublicAddress {
    /// The address of a path on this server.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl FromRequestParts<ApiState> for PublicAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Infallible> {
        if let Some(configured) = state.public_url() {
            return Ok(Self(configured.trim_end_matches('/').to_owned()));
        }
        // HTTP/2 has the host in the request's own address.
        let host = parts.uri.authority().map(|authority| authority.as_str());
        let host = host.or_else(|| parts.headers.get(header::HOST)?.to_str().ok());
        Ok(Self(format!("http://{}", host.unwrap_or("localhost"))))
    }
}
