//! A file of a devbox: as text, or in hexadecimal where it is none.

use std::fmt::Write as _;

use proctor_core::id::kinds::{DevboxId, OrganizationId};
use proctor_fleet::{Fleet, FleetError};
use tokio::io::AsyncReadExt as _;

use crate::html::{self, Html};

/// How much of a file is shown.
const SHOWN: u64 = 256 << 10;
/// How much of a file that is no text is shown.
const SHOWN_HEX: usize = 4 << 10;

/// What is shown of a file.
pub(super) struct FileShown {
    pub(super) size: u64,
    pub(super) is_cut: bool,
    pub(super) is_binary: bool,
    pub(super) content: Html,
}

pub(super) async fn read(
    fleet: &Fleet,
    organization: OrganizationId,
    devbox: DevboxId,
    path: &str,
) -> Result<FileShown, FleetError> {
    let file = fleet.read_file(organization, devbox, path, None).await?;
    let mut bytes = Vec::new();
    file.reader.take(SHOWN).read_to_end(&mut bytes).await?;
    let is_cut = file.size > bytes.len() as u64;
    Ok(show(&bytes, file.size, is_cut))
}

fn show(bytes: &[u8], size: u64, is_cut: bool) -> FileShown {
    let is_binary = bytes.contains(&0) || is_no_text(bytes);
    FileShown {
        size,
        is_cut: is_cut || (is_binary && bytes.len() > SHOWN_HEX),
        is_binary,
        content: match is_binary {
            true => hex(&bytes[..bytes.len().min(SHOWN_HEX)]),
            false => html::text(String::from_utf8_lossy(bytes)),
        },
    }
}

/// A cut may split the last character.
fn is_no_text(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => false,
        Err(error) => error.valid_up_to() + 4 < bytes.len(),
    }
}

fn hex(bytes: &[u8]) -> Html {
    let mut out = String::new();
    for (number, row) in bytes.chunks(16).enumerate() {
        let _ = write!(out, "{:08x} ", number * 16);
        for byte in row {
            let _ = write!(out, " {byte:02x}");
        }
        out.push_str(&"   ".repeat(16 - row.len()));
        out.push_str("  ");
        for byte in row {
            let letter = char::from(*byte);
            html::push(
                &mut out,
                if letter.is_ascii_graphic() {
                    letter
                } else {
                    '.'
                },
            );
        }
        out.push('\n');
    }
    Html::trusted(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_as_text_and_bytes_in_hexadecimal() {
        let text = show("<b>ü".as_bytes(), 5, false);
        assert_eq!(text.content.as_str(), "&lt;b&gt;ü");
        assert!(!show(&"ü".as_bytes()[..1], 2, true).is_binary);
        let bytes = show(b"\x7fELF\0<", 6, false);
        assert!(bytes.is_binary && bytes.content.as_str().contains("7f 45 4c 46 00 3c"));
        assert!(bytes.content.as_str().contains("&lt;"));
        assert!(show(&[0xff; 100], 100, false).is_binary);
    }
}
