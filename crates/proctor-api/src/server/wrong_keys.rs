//! An address that shows wrong credentials again and again is told to wait.
//!
//! Only those answers are changed that refuse a credential: somebody with a right one behind the same address notices nothing.

use std::{net::IpAddr, num::NonZeroU32};

use axum::response::Response;
use http::StatusCode;

use crate::{
    dialect::Dialect,
    error::render,
    frame::NotLetIn,
    rate_limit::{Limiter, RateLimit},
    request_id::REQUEST_ID,
};

/// How often in the long run, and how often at once: a program with an old key must be able to try a few things.
const LIMIT: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(60).expect("it is not zero"),
    burst: NonZeroU32::new(200).expect("it is not zero"),
};

/// Counts wrong credentials by the address that shows them.
pub(super) struct WrongKeys(Limiter<IpAddr>);

impl WrongKeys {
    pub(super) fn new() -> Self {
        Self(Limiter::of(LIMIT, "this address may show wrong keys"))
    }

    /// The answer, or one that says to wait.
    pub(super) fn answer(&self, peer: IpAddr, dialect: Dialect, response: Response) -> Response {
        if response.status() != StatusCode::UNAUTHORIZED
            || response.extensions().get::<NotLetIn>().is_none()
        {
            return response;
        }
        match self.0.check(&network_of(peer)) {
            Ok(()) => response,
            Err(refusal) => {
                let mut wait = render::response(&refusal, dialect);
                if let Some(id) = response.headers().get(REQUEST_ID) {
                    wait.headers_mut().insert(REQUEST_ID, id.clone());
                }
                wait
            }
        }
    }
}

/// Whoever has one address of IPv6 has a network of them.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}
