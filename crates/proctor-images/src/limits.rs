//! How large images may be.

/// Bounds of what is taken over.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a layer, as it is sent and as it is unpacked.
    pub layer_bytes: u64,
    /// Bytes of an image's files.
    pub image_bytes: u64,
    /// Files, directories and links of an image.
    pub members: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            layer_bytes: 8 << 30,
            image_bytes: 20 << 30,
            members: 2_000_000,
        }
    }
}

/// The largest index, manifest or configuration.
pub(crate) const LARGEST_DOCUMENT: u64 = 8 << 20;
