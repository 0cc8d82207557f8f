//! The style sheet and the scripts, in the binary. Their address names their content, so browsers keep them for ever.

use std::sync::LazyLock;

use axum::{
    Router,
    extract::Path,
    response::{IntoResponse as _, Response},
    routing::get,
};
use bytes::Bytes;
use flate2::Compression;
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest as _, Sha256};

use crate::{
    error::PageError,
    guard::{accepts_gzip, gzip},
    state::WebState,
};

/// The files, by name.
const FILES: &[(&str, &str, &[u8])] = &[
    (
        "proctor.css",
        "text/css; charset=utf-8",
        include_bytes!("../assets/proctor.css"),
    ),
    (
        "compare.css",
        "text/css; charset=utf-8",
        include_bytes!("../assets/compare.css"),
    ),
    (
        "live.css",
        "text/css; charset=utf-8",
        include_bytes!("../assets/live.css"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_bytes!("../assets/icon.svg"),
    ),
    ("page.js", JAVASCRIPT, include_bytes!("../assets/page.js")),
    ("dom.js", JAVASCRIPT, include_bytes!("../assets/dom.js")),
    ("keys.js", JAVASCRIPT, include_bytes!("../assets/keys.js")),
    ("live.js", JAVASCRIPT, include_bytes!("../assets/live.js")),
    ("time.js", JAVASCRIPT, include_bytes!("../assets/time.js")),
    ("table.js", JAVASCRIPT, include_bytes!("../assets/table.js")),
    ("grid.js", JAVASCRIPT, include_bytes!("../assets/grid.js")),
    (
        "timeline.js",
        JAVASCRIPT,
        include_bytes!("../assets/timeline.js"),
    ),
    ("log.js", JAVASCRIPT, include_bytes!("../assets/log.js")),
];
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The name of all content together: scripts load one another from beside themselves.
static DIGEST: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    for (name, _, content) in FILES {
        digest.update(name.as_bytes());
        digest.update((content.len() as u64).to_be_bytes());
        digest.update(content);
    }
    let hex = digest.finalize();
    hex.iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
});

struct Packed {
    name: &'static str,
    kind: &'static str,
    plain: Bytes,
    gzip: Option<Bytes>,
}

static PACKED: LazyLock<Vec<Packed>> = LazyLock::new(|| {
    let pack = |&(name, kind, content): &(&'static str, &'static str, &'static [u8])| Packed {
        name,
        kind,
        plain: Bytes::from_static(content),
        gzip: gzip(content, Compression::best()).ok().map(Bytes::from),
    };
    FILES.iter().map(pack).collect()
});

/// The address of an asset.
pub(crate) fn url(name: &str) -> String {
    format!("/ui/assets/{}/{name}", *DIGEST)
}

/// All style sheets as one text, for pages that stand by themselves.
pub(crate) fn styles() -> String {
    let sheets = FILES.iter().filter(|(name, ..)| name.ends_with(".css"));
    let texts = sheets.map(|(_, _, content)| String::from_utf8_lossy(content));
    texts.collect()
}

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/assets/{digest}/{name}", get(asset))
}

async fn asset(
    Path((digest, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let found = PACKED.iter().find(|packed| packed.name == name);
    let packed = found.filter(|_| digest == *DIGEST);
    let packed = packed.ok_or_else(|| PageError::not_found("file"))?;
    let body = match &packed.gzip {
        Some(gzip) if accepts_gzip(&headers) => {
            let mut response = gzip.clone().into_response();
            let encoding = HeaderValue::from_static("gzip");
            response
                .headers_mut()
                .insert(header::CONTENT_ENCODING, encoding);
            response
        }
        _ => packed.plain.clone().into_response(),
    };
    let mut response = body;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(packed.kind));
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=31536000, immutable"),
    );
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_and_scripts_are_within_their_budgets() {
        let size = |ends: &str| -> usize {
            let packed = PACKED.iter().filter(|packed| packed.name.ends_with(ends));
            packed
                .map(|packed| packed.gzip.as_ref().unwrap().len())
                .sum()
        };
        let (css, js) = (size(".css"), size(".js"));
        println!("gzip: css {css} bytes, js {js} bytes");
        assert!(css <= 12 << 10, "{css}");
        assert!(js <= 14 << 10, "{js}");
    }

    #[test]
    fn nothing_in_them_leads_elsewhere_or_makes_code_of_text() {
        for (name, _, content) in FILES {
            let text = std::str::from_utf8(content).unwrap();
            for banned in [
                "http://",
                "https://",
                "eval(",
                "new Function",
                "document.write",
                "@import",
            ] {
                let text = text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(banned), "{name}: {banned}");
            }
        }
    }
}
