//! The versions of the standard.

/// A version of HL7 v2, in order of publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is named after the version")]
pub enum Version {
    V2_1,
    V2_2,
    V2_3,
    V2_3_1,
    V2_4,
    V2_5,
    V2_5_1,
    V2_6,
    V2_7,
    V2_7_1,
    V2_8,
    V2_8_1,
    V2_8_2,
}

impl Version {
    /// Reads MSH-12, as in `2.5.1`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "2.1" => Self::V2_1,
            "2.2" => Self::V2_2,
            "2.3" => Self::V2_3,
            "2.3.1" => Self::V2_3_1,
            "2.4" => Self::V2_4,
            "2.5" => Self::V2_5,
            "2.5.1" => Self::V2_5_1,
            "2.6" => Self::V2_6,
            "2.7" => Self::V2_7,
            "2.7.1" => Self::V2_7_1,
            "2.8" => Self::V2_8,
            "2.8.1" => Self::V2_8_1,
            "2.8.2" => Self::V2_8_2,
            _ => return None,
        })
    }
}
