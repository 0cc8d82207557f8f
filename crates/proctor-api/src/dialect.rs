//! Which dialect a request speaks.
//!
//! The path alone decides, so that an error raised anywhere (also before a handler was found) is
//! rendered with the manners of the API that the client thinks it is talking to.

use axum::extract::OriginalUri;
use http::request::Parts;
pub use proctor_core::id::Dialect;

/// Collections below `/v1` that belong to the Verial dialect; all others there are Runloop's.
const VERIAL_COLLECTIONS: [&str; 2] = ["benchmark-runs", "task-runs"];

/// The dialect of a request path.
pub fn of_path(path: &str) -> Dialect {
    let Some(rest) = path.strip_prefix("/v1/") else {
        return Dialect::Verial;
    };
    let collection = rest.split('/').next().unwrap_or(rest);
    if VERIAL_COLLECTIONS.contains(&collection) {
        Dialect::Verial
    } else {
        Dialect::Runloop
    }
}

/// Whether a path belongs to the pages for people.
pub(crate) fn is_page(path: &str) -> bool {
    path == "/ui" || path.starts_with("/ui/")
}

/// The dialect of a request that may already be inside a nested router.
pub(crate) fn of_parts(parts: &Parts) -> Dialect {
    match parts.extensions.get::<OriginalUri>() {
        Some(OriginalUri(uri)) => of_path(uri.path()),
        None => of_path(parts.uri.path()),
    }
}

/// The dialect's name in logs and metrics.
pub(crate) fn name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Verial => "verial",
        Dialect::Runloop => "runloop",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/", Dialect::Verial)]
    #[case("/solvers", Dialect::Verial)]
    #[case("/v1", Dialect::Verial)]
    #[case("/v1/benchmark-runs", Dialect::Verial)]
    #[case("/v1/benchmark-runs/br_1/fhir/Patient", Dialect::Verial)]
    #[case("/v1/task-runs/tr_1/start", Dialect::Verial)]
    #[case("/v1/", Dialect::Runloop)]
    #[case("/v1/secrets", Dialect::Runloop)]
    #[case("/v1/benchmark_runs", Dialect::Runloop)]
    #[case("/v1/benchmark-runs-old", Dialect::Runloop)]
    #[case("/v1/nothing/here", Dialect::Runloop)]
    #[case("/v2/secrets", Dialect::Verial)]
    fn the_path_decides(#[case] path: &str, #[case] dialect: Dialect) {
        assert_eq!(of_path(path), dialect);
    }
}
