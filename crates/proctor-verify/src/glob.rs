//! Globs over paths, of bounded cost.

use globset::{Glob, GlobBuilder, GlobMatcher};

/// The longest glob, in bytes.
const LONGEST_GLOB: usize = 500;
/// The most alternatives (`{a,b}`) in a glob.
const MOST_ALTERNATIVES: usize = 100;

/// Compiles a glob: `*` and `?` stay inside a segment of a path, `**` does not.
pub(crate) fn compile(text: &str) -> Result<GlobMatcher, String> {
    if text.len() > LONGEST_GLOB {
        return Err(format!(
            "is longer than {LONGEST_GLOB} bytes, the most for a glob"
        ));
    }
    if text.matches([',', '{']).count() > MOST_ALTERNATIVES {
        return Err(format!("has more than {MOST_ALTERNATIVES} alternatives"));
    }
    let relative = text.trim_start_matches('/');
    if relative.is_empty() {
        return Err("must not be empty".to_owned());
    }
    let glob: Result<Glob, globset::Error> = GlobBuilder::new(relative)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    match glob {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(format!("is no glob: {}", error.kind())),
    }
}
