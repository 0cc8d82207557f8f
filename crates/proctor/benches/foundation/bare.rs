//! The limit of this machine: an axum server that does nothing but answer.

use std::{net::SocketAddr, path::Path};

use axum::{Router, http::header::CONTENT_TYPE, routing::get};
use tokio::{net::TcpListener, runtime::Runtime};

/// How this program is told to be the bare server.
pub(crate) const ROLE: &str = "bare-server";
/// What `GET /healthz` answers, byte for byte.
pub(crate) const HEALTH: &str = "ready\n";
/// As long as what `GET /v1/accounts/me` answers.
pub(crate) const ACCOUNT: &str = concat!(
    r#"{"id":"org_01M7GH9SMVE0VAGDPHH28XHZRP","name":"default","created_at":"2026-11-15T21:20:05.787Z","#,
    r#""account_status":"ACCOUNT_STATUS_ENABLED","tier":"ACCOUNT_TIER_ENTERPRISE","billing":{"account_billing_type":"UNRECOGNIZED"}}"#
);

pub(crate) fn serve(address_file: &Path) {
    Runtime::new().unwrap().block_on(async {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new().route("/healthz", get(async || HEALTH)).route(
            "/v1/accounts/me",
            get(async || ([(CONTENT_TYPE, "application/json")], ACCOUNT)),
        );
        fs_err::write(address_file.with_extension("new"), address).unwrap();
        fs_err::rename(address_file.with_extension("new"), address_file).unwrap();
        axum::serve(listener, router).await.unwrap();
    });
}
