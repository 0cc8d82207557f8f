//! The media type of a file, guessed from its name.

/// The media type that the end of a path suggests.
pub(super) fn guessed(path: &str) -> &'static str {
    let ending = path
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'));
    let ending = ending.map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("txt" | "log" | "md") => "text/plain; charset=utf-8",
        Some("csv") => "text/csv; charset=utf-8",
        Some("html" | "htm") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        Some("ndjson") => "application/x-ndjson",
        Some("xml") => "application/xml",
        Some("yaml" | "yml") => "application/yaml",
        Some("pdf") => "application/pdf",
        Some("hl7") => "x-application/hl7-v2+er7",
        Some("x12" | "edi") => "application/edi-x12",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("tif" | "tiff") => "image/tiff",
        Some("dcm") => "application/dicom",
        Some("zip") => "application/zip",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_and_a_directory_does_not() {
        assert_eq!(guessed("a/b.JSON"), "application/json");
        assert_eq!(guessed("a.json/b"), "application/octet-stream");
        assert_eq!(guessed("referral.pdf"), "application/pdf");
    }
}
