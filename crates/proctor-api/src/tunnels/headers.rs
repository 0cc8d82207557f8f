//! Which headers pass a tunnel.
//!
//! What is meant for one hop stays on it; what opens this server does not leave it; what a page could do to this server's origin
//! is taken away where it is shown in it.

use axum::extract::Request;
use http::{
    HeaderMap, HeaderName, HeaderValue, Version,
    header::{self, Entry},
};

use super::proxy::Way;

/// What shows the token of a tunnel.
pub(super) const TOKEN: &str = "x-runloop-tunnel-authorization";

/// What credentials of this server begin with.
const OWN_CREDENTIALS: [&str; 2] = ["vk_", "vrl_"];

const ONE_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
];

/// What others may have said on the way, and nobody can check.
const SAID_BY_OTHERS: [&str; 6] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-real-ip",
];

/// What is said to a browser about a whole origin, or changes what it keeps for it.
const ABOUT_THE_ORIGIN: [&str; 4] = [
    "set-cookie",
    "clear-site-data",
    "strict-transport-security",
    "service-worker-allowed",
];

/// Makes browsers treat a page as one of an origin of its own.
const APART: &str = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts";

/// The host that a request is for: that of its own address goes before the header. `None` if there is none, or several.
pub(super) fn host(request: &Request) -> Option<&str> {
    if let Some(authority) = request.uri().authority() {
        return Some(authority.as_str());
    }
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    }
}

/// Whether all that a request says of its host is the same. Two answers to that are how requests are smuggled.
pub(super) fn has_one_host(request: &Request) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (said, more) = (hosts.next(), hosts.next());
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    match (said, more, authority) {
        (_, Some(_), _) => false,
        (Some(said), None, Some(authority)) => said.as_bytes() == authority.as_bytes(),
        (Some(said), None, None) => !said.is_empty(),
        (None, None, Some(_)) => true,
        (None, None, None) => request.version() < Version::HTTP_11,
    }
}

/// What the client wants the connection to become, if it may.
pub(super) fn upgrade(headers: &HeaderMap, version: Version) -> Option<HeaderValue> {
    let says_so = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|word| word.trim().eq_ignore_ascii_case("upgrade"));
    let wanted = headers.get(header::UPGRADE)?.clone();
    (says_so && version == Version::HTTP_11).then_some(wanted)
}

/// Takes away what is meant for one hop, and what the connection header calls so.
fn keep_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // These are not the client's to take away.
        .filter(|name| *name != header::CONTENT_LENGTH && *name != header::HOST && *name != TOKEN)
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in ONE_HOP {
        headers.remove(name);
    }
}

/// Makes the headers of a request those that the devbox gets.
pub(super) fn to_devbox(
    headers: &mut HeaderMap,
    way: &Way,
    host: Option<&HeaderValue>,
    port: u16,
    is_https: bool,
) {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        // How long it is was said another way, which is the one that counts.
        headers.remove(header::CONTENT_LENGTH);
    }
    keep_hop(headers);
    headers.remove(TOKEN);
    for name in SAID_BY_OTHERS {
        headers.remove(name);
    }
    if headers.get_all(header::AUTHORIZATION).iter().any(opens_us) {
        headers.remove(header::AUTHORIZATION);
    }
    let scheme = if is_https { "https" } else { "http" };
    headers.insert("x-forwarded-proto", HeaderValue::from_static(scheme));
    if let Some(host) = host {
        headers.insert("x-forwarded-host", host.clone());
    }
    let local = || HeaderValue::from_str(&format!("localhost:{port}"));
    match way {
        Way::Host => {
            if let Some(host) = host {
                headers.insert(header::HOST, host.clone());
            }
        }
        Way::Path { prefix, .. } => {
            headers.remove(header::COOKIE);
            if let Ok(host) = local() {
                headers.insert(header::HOST, host);
            }
            if let Ok(prefix) = HeaderValue::from_str(prefix) {
                headers.insert("x-forwarded-prefix", prefix);
            }
        }
    }
}

/// Whether a value of `Authorization` is a credential of this server.
fn opens_us(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    let credential = text
        .split_once(' ')
        .map_or(text, |(_, credential)| credential);
    let credential = credential.trim_start();
    OWN_CREDENTIALS
        .iter()
        .any(|own| credential.starts_with(own))
}

/// Makes the headers of a response those that the client gets.
pub(super) fn to_client(headers: &mut HeaderMap, way: &Way) {
    keep_hop(headers);
    let Way::Path { prefix, .. } = way else {
        return;
    };
    for name in ABOUT_THE_ORIGIN {
        headers.remove(name);
    }
    headers.append(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(APART),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if let Entry::Occupied(mut location) = headers.entry(header::LOCATION) {
        // A service does not know below which path it is shown.
        let to = location.get().to_str().unwrap_or_default();
        let is_path = to.starts_with('/') && !to.starts_with("//");
        if is_path && let Ok(to) = HeaderValue::from_str(&format!("{prefix}{to}")) {
            location.insert(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> Way {
        Way::Path {
            prefix: "/tunnel/80-k".to_owned(),
            rest: "/".to_owned(),
        }
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn what_is_for_one_hop_and_what_opens_this_server_stays() {
        let mut sent = headers(&[
            ("connection", "close, x-secret, content-length, host"),
            ("x-secret", "1"),
            ("transfer-encoding", "chunked"),
            ("content-length", "3"),
            ("te", "trailers"),
            ("authorization", "Bearer vk_abc"),
            (TOKEN, "Bearer t"),
            ("cookie", "a=b"),
            ("x-forwarded-for", "1.2.3.4"),
            ("accept", "*/*"),
        ]);
        to_devbox(&mut sent, &path(), None, 80, false);
        let mut names: Vec<_> = sent.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["accept", "host", "x-forwarded-prefix", "x-forwarded-proto"]
        );
        assert_eq!(sent["host"], "localhost:80");
    }

    #[test]
    fn what_a_client_sends_for_the_service_passes() {
        let mut sent = headers(&[
            ("authorization", "Bearer of-the-service"),
            ("cookie", "a=b"),
            ("content-length", "3"),
        ]);
        let host = HeaderValue::from_static("80-k.example.org");
        to_devbox(&mut sent, &Way::Host, Some(&host), 80, true);
        assert_eq!(sent["authorization"], "Bearer of-the-service");
        assert_eq!(
            (&sent["cookie"], &sent["content-length"]),
            (
                &HeaderValue::from_static("a=b"),
                &HeaderValue::from_static("3")
            )
        );
        assert_eq!(
            (&sent["host"], &sent["x-forwarded-proto"]),
            (&host, &HeaderValue::from_static("https"))
        );
    }

    #[test]
    fn below_a_path_a_service_cannot_speak_for_the_origin() {
        let mut sent = headers(&[
            ("set-cookie", "portal=x; Path=/"),
            ("clear-site-data", "\"*\""),
            ("location", "/login"),
        ]);
        to_client(&mut sent, &path());
        assert!(!sent.contains_key("set-cookie") && !sent.contains_key("clear-site-data"));
        assert_eq!(sent["location"], "/tunnel/80-k/login");
        assert_eq!(sent["content-security-policy"], APART);
        let mut sent = headers(&[("location", "//elsewhere.example.org/")]);
        to_client(&mut sent, &path());
        assert_eq!(sent["location"], "//elsewhere.example.org/");
    }

    #[test]
    fn two_answers_to_the_host_are_none() {
        let request = |uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header("host", *host);
            }
            request.body(axum::body::Body::empty()).unwrap()
        };
        assert!(has_one_host(&request("/", &["a"])));
        assert!(has_one_host(&request("http://a/", &["a"])));
        assert!(!has_one_host(&request("/", &["a", "a"])));
        assert!(!has_one_host(&request("http://a/", &["b"])));
        assert!(!has_one_host(&request("/", &[])));
    }
}
