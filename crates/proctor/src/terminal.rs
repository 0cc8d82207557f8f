//! Words for people and tables of data.

use std::{
    fmt::Display,
    io::{IsTerminal as _, Write as _},
};

use comfy_table::{ContentArrangement, Table, presets};

/// Says on standard error what went wrong, why, and what to do next.
pub(crate) fn report(failure: &anyhow::Error) {
    let mut said = failure.to_string();
    eprintln!("error: {said}");
    for cause in failure.chain().skip(1).map(ToString::to_string) {
        // Some libraries repeat the cause at the end of their own words.
        if !said.ends_with(&cause) {
            eprintln!("  because: {cause}");
        }
        said = cause;
    }
    if let Some(hint) = hint(failure) {
        eprintln!("  try: {hint}");
    }
}

fn hint(failure: &anyhow::Error) -> Option<&'static str> {
    let io = failure
        .chain()
        .find_map(|cause| cause.downcast_ref::<std::io::Error>())?;
    match io.kind() {
        std::io::ErrorKind::AddrInUse => {
            Some("another port with --listen 127.0.0.1:0, or stop what listens there")
        }
        std::io::ErrorKind::PermissionDenied => {
            Some("another place with --data DIR, or a port above 1023")
        }
        _ => None,
    }
}

/// A plain table that reads well in a terminal and in a log.
pub(crate) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(headings);
    table
}

/// Whether somebody watches: bars and drawings are only for people.
pub(crate) fn is_for_people() -> bool {
    std::io::stderr().is_terminal()
}

/// Writes data to standard output. Whoever stopped reading has read enough.
pub(crate) fn print(data: impl Display) {
    let _ = write!(std::io::stdout(), "{data}");
}
