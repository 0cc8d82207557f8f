//! What browsers are told about every answer: not to guess what it is, and not to run anything in it.
//!
//! Much of what the server sends was written by agents and their authors: files of boxes, uploaded objects, pages of simulated portals.

use http::{HeaderMap, HeaderValue, header};

/// For what is HTML: styles and pictures from here, forms to here, no scripts, and as if it came from elsewhere: people are signed in to the
/// pages of this origin (`/ui/`), which nothing that others wrote may read or ask.
const PAGE: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'; sandbox allow-forms",
);
/// For everything else: nothing, and as if it came from elsewhere.
const FILE: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Adds what every answer says. A handler that said more about its page is left alone.
pub(super) fn secure(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map_or(&b""[..], HeaderValue::as_bytes);
    let policy = match kind.starts_with(b"text/html") {
        true => PAGE,
        false => FILE,
    };
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(policy);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(kind: &'static str, own: Option<&'static str>) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(own) = own {
            let own = HeaderValue::from_static(own);
            headers.insert(header::CONTENT_SECURITY_POLICY, own);
        }
        secure(&mut headers);
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        let policy = headers.get(header::CONTENT_SECURITY_POLICY)?;
        Some(policy.to_str().unwrap().to_owned())
    }

    #[test]
    fn every_page_and_file_has_a_policy() {
        for kind in [
            "text/plain",
            "application/octet-stream",
            "image/svg+xml",
            "application/zip",
            "application/json",
            "application/fhir+json",
        ] {
            assert!(policy(kind, None).unwrap().contains("sandbox"), "{kind}");
        }
        let page = policy("text/html; charset=utf-8", None).unwrap();
        assert!(page.contains("default-src 'none'") && page.contains("sandbox"));
        assert!(!page.contains("allow-scripts") && !page.contains("allow-same-origin"));
        assert_eq!(
            policy("text/html", Some("script-src 'self'")).unwrap(),
            "script-src 'self'"
        );
    }
}
