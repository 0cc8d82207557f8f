//! Links to this server in its own answers.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::{HeaderMap, Uri, header, request::Parts};

use crate::state::ApiState;

/// Where the server is, as the client sees it: as configured, else where the request went.
#[derive(Clone, Debug)]
pub(crate) struct PublicAddress(String);

impl PublicAddress {
    /// Where a request went.
    pub(crate) fn asked(uri: &Uri, headers: &HeaderMap, state: &ApiState) -> Self {
        if let Some(configured) = state.public_url() {
            return Self(configured.trim_end_matches('/').to_owned());
        }
        // HTTP/2 has the host in the request's own address.
        let host = uri.authority().map(|authority| authority.as_str());
        let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
        Self(format!("http://{}", host.unwrap_or("localhost")))
    }

    /// The address of a path on this server.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl FromRequestParts<ApiState> for PublicAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Infallible> {
        Ok(Self::asked(&parts.uri, &parts.headers, state))
    }
}
