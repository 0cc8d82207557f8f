//! What a simulator says to a request before it reaches a world: who comes in with credentials of
//! the simulator's own.
//!
//! It follows from the playground's seed alone, so asking costs no world. Whom a simulator does not
//! know, the platform may know.

use http::{HeaderMap, Method, header};
use proctor_core::{environment::SimulatorType, time::Timestamp};

pub use crate::fhir::entrance::TokenRequest;
use crate::{
    environment::word,
    fhir::{entrance as store, smart::Smart},
    payer,
    seed::Seed,
};

/// The entrance of a simulator.
pub struct Entrance(Kind);

enum Kind {
    /// A FHIR store: whoever shows one of its tokens comes in.
    Fhir { smart: Smart, base_url: String },
    /// A payer's portal: its pages have a login of their own.
    Portal,
    /// Only whoever the platform knows comes in.
    Closed,
}

/// What becomes of a request at an entrance.
pub enum Admission<'e> {
    /// It may go on to the world.
    Admitted,
    /// It is about the simulator's tokens; the world has nothing to do with it.
    Tokens(TokenRequest<'e>),
    /// It shows nothing that the simulator knows.
    Unknown,
}

impl Entrance {
    /// The entrance of a simulator whose type has no credentials of its own; nothing for a type
    /// that has: see [`Entrance::seeded`].
    pub fn unseeded(kind: SimulatorType) -> Option<Self> {
        match kind {
            SimulatorType::Fhir => None,
            SimulatorType::Payer => Some(Self(Kind::Portal)),
            SimulatorType::Hl7
            | SimulatorType::Files
            | SimulatorType::Voice
            | SimulatorType::Clearinghouse
            | SimulatorType::Fax
            | SimulatorType::Message
            | SimulatorType::CdsHooks => Some(Self(Kind::Closed)),
        }
    }

    /// The entrance of the `number`-th simulator of a type in the playground with this seed, whose
    /// addresses begin with `prefix`.
    pub fn seeded(kind: SimulatorType, seed: Seed, number: usize, prefix: &str) -> Self {
        Self::unseeded(kind).unwrap_or_else(|| {
            Self(Kind::Fhir {
                smart: Smart::of_store(seed, number),
                base_url: format!("{prefix}/{}", word(kind)),
            })
        })
    }

    /// Decides from the head of a request to `path`, which is below the playground.
    pub fn admit(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Admission<'_> {
        match &self.0 {
            Kind::Fhir { smart, base_url } => {
                match store::admit(smart, base_url, method, path, headers, now) {
                    store::Admission::Admitted => Admission::Admitted,
                    store::Admission::Tokens(request) => Admission::Tokens(request),
                    store::Admission::Unknown(_) => Admission::Unknown,
                }
            }
            // A browser shows no credential of the platform.
            Kind::Portal
                if payer::is_page(path) && !headers.contains_key(header::AUTHORIZATION) =>
            {
                Admission::Admitted
            }
            Kind::Portal | Kind::Closed => Admission::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;
    use serde_json::Value;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_776_790_800_000);

    fn store(seed: u64, number: usize) -> Entrance {
        let seed = Seed::from_number(seed);
        Entrance::seeded(SimulatorType::Fhir, seed, number, "/sandboxes/sbx_1")
    }

    fn said(entrance: &Entrance, method: &Method, path: &str, headers: &HeaderMap) -> &'static str {
        match entrance.admit(method, path, headers, NOW) {
            Admission::Admitted => "admitted",
            Admission::Tokens(_) => "tokens",
            Admission::Unknown => "unknown",
        }
    }

    fn with(authorization: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_str(authorization).unwrap();
        headers.insert(header::AUTHORIZATION, value);
        headers
    }

    #[test]
    fn a_store_shows_everybody_what_it_can_do_and_where_tokens_are_had() {
        let entrance = store(1, 0);
        for (method, path, expected) in [
            (Method::GET, "fhir/metadata", "admitted"),
            (Method::PUT, "fhir/metadata", "unknown"),
            (
                Method::GET,
                "fhir/.well-known/smart-configuration",
                "tokens",
            ),
            (
                Method::PUT,
                "fhir/.well-known/smart-configuration",
                "unknown",
            ),
            (Method::POST, "fhir/token", "tokens"),
            (Method::GET, "fhir/token", "unknown"),
            (Method::GET, "fhir/Patient", "unknown"),
            (Method::GET, "fhir", "unknown"),
        ] {
            let headers = HeaderMap::new();
            assert_eq!(said(&entrance, &method, path, &headers), expected, "{path}");
        }
        let asked = (&Method::GET, "fhir/.well-known/smart-configuration");
        let Admission::Tokens(about) = entrance.admit(asked.0, asked.1, &HeaderMap::new(), NOW)
        else {
            panic!("nobody answers");
        };
        let told = about.answer(&HeaderMap::new(), b"", NOW);
        let told: Value = serde_json::from_slice(&told.body).unwrap();
        assert_eq!(told["token_endpoint"], "/sandboxes/sbx_1/fhir/token");
    }

    #[test]
    fn a_token_opens_the_store_that_gave_it_out_and_no_other() {
        let smart = Smart::of_store(Seed::from_number(1), 0);
        let headers = with(&format!("Bearer {}", smart.issue(NOW)));
        let patient = |entrance: &Entrance| said(entrance, &Method::GET, "fhir/Patient", &headers);
        assert_eq!(patient(&store(1, 0)), "admitted");
        assert_eq!(patient(&store(1, 1)), "unknown");
        assert_eq!(patient(&store(2, 0)), "unknown");
        let later = NOW.plus(Duration::from_secs(3_601));
        let ended = store(1, 0);
        let admission = ended.admit(&Method::GET, "fhir/Patient", &headers, later);
        assert!(matches!(admission, Admission::Unknown));
    }

    #[test]
    fn browsers_come_to_the_pages_of_a_portal_and_to_nothing_else() {
        let portal = Entrance::unseeded(SimulatorType::Payer).unwrap();
        let (nobody, somebody) = (HeaderMap::new(), with("Bearer x"));
        assert_eq!(
            said(&portal, &Method::GET, "portal/login", &nobody),
            "admitted"
        );
        assert_eq!(
            said(&portal, &Method::GET, "portal/login", &somebody),
            "unknown"
        );
        assert_eq!(
            said(&portal, &Method::GET, "portal/prior-auths", &nobody),
            "unknown"
        );
        let interface = Entrance::unseeded(SimulatorType::Hl7).unwrap();
        assert_eq!(
            said(&interface, &Method::GET, "hl7/inbox", &nobody),
            "unknown"
        );
    }
}
