//! The way out of a box: a proxy that asks a policy before it connects.
//!
//! A backend gives every box with [`Network::Allow`](crate::Network::Allow) a listener that only the box can reach, accepts on it outside, and hands each
//! connection to [`serve`]. Whether and where to connect is decided by the [`Gate`]: by name first, then by the address that the
//! name has at that moment, and the address that was checked is the one that is dialled. Nothing here ever runs in a box.

mod addresses;
mod gate;
mod names;
mod proxy;

pub use gate::{Gate, Refused};
pub use names::{Names, SystemNames};
pub use proxy::serve;

/// The port of a box's own loopback address on which its proxy listens.
pub const PORT: u16 = 3128;

/// Environment that points programs at the proxy; many read only one spelling.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("HTTP_PROXY", "http://127.0.0.1:3128"),
    ("HTTPS_PROXY", "http://127.0.0.1:3128"),
    ("NO_PROXY", "localhost,127.0.0.1,::1"),
    ("http_proxy", "http://127.0.0.1:3128"),
    ("https_proxy", "http://127.0.0.1:3128"),
    ("no_proxy", "localhost,127.0.0.1,::1"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_port() {
        let named = ENVIRONMENT
            .iter()
            .filter(|(_, value)| value.ends_with(&format!(":{PORT}")));
        assert_eq!(named.count(), 4);
    }
}
