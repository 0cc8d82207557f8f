//! The transaction sets this crate knows, with the names and versions they travel under.

use crate::segment::Segment;

/// A transaction set in the direction it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionSet {
    /// 270: is this person insured, and for what?
    EligibilityInquiry,
    /// 271: the answer to a 270.
    EligibilityResponse,
    /// 276: what became of this claim?
    ClaimStatusRequest,
    /// 277: the answer to a 276.
    ClaimStatusResponse,
    /// 278 to the payer: may this service be given?
    ReviewRequest,
    /// 278 from the payer: the answer.
    ReviewResponse,
    /// 999: was a group readable?
    Acknowledgment,
}

impl TransactionSet {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::EligibilityInquiry,
        Self::EligibilityResponse,
        Self::ClaimStatusRequest,
        Self::ClaimStatusResponse,
        Self::ReviewRequest,
        Self::ReviewResponse,
        Self::Acknowledgment,
    ];

    /// The set that a transaction claims to be: by ST01 and, for the two directions of a 278, by
    /// the purpose in BHT02.
    pub fn of(segments: &[Segment]) -> Option<Self> {
        let header = segments.first().filter(|first| first.tag == "ST")?;
        let purpose = segments
            .get(1)
            .filter(|second| second.tag == "BHT")
            .map_or("", |second| second.text(2));
        match (header.text(1), purpose) {
            ("278", "11") => Some(Self::ReviewResponse),
            ("278", _) => Some(Self::ReviewRequest),
            (id, _) => Self::ALL.into_iter().find(|set| set.id() == id),
        }
    }

    /// ST01.
    pub const fn id(self) -> &'static str {
        match self {
            Self::EligibilityInquiry => "270",
            Self::EligibilityResponse => "271",
            Self::ClaimStatusRequest => "276",
            Self::ClaimStatusResponse => "277",
            Self::ReviewRequest | Self::ReviewResponse => "278",
            Self::Acknowledgment => "999",
        }
    }

    /// GS08 and ST03.
    pub const fn version(self) -> &'static str {
        match self {
            Self::EligibilityInquiry | Self::EligibilityResponse => "005010X279A1",
            Self::ClaimStatusRequest | Self::ClaimStatusResponse => "005010X212",
            Self::ReviewRequest | Self::ReviewResponse => "005010X217",
            Self::Acknowledgment => "005010X231A1",
        }
    }

    /// GS01.
    pub const fn functional_id(self) -> &'static str {
        match self {
            Self::EligibilityInquiry => "HS",
            Self::EligibilityResponse => "HB",
            Self::ClaimStatusRequest => "HR",
            Self::ClaimStatusResponse => "HN",
            Self::ReviewRequest | Self::ReviewResponse => "HI",
            Self::Acknowledgment => "FA",
        }
    }

    /// The answer a payer gives to this set, if it is a question.
    pub const fn answer(self) -> Option<Self> {
        match self {
            Self::EligibilityInquiry => Some(Self::EligibilityResponse),
            Self::ClaimStatusRequest => Some(Self::ClaimStatusResponse),
            Self::ReviewRequest => Some(Self::ReviewResponse),
            Self::EligibilityResponse
            | Self::ClaimStatusResponse
            | Self::ReviewResponse
            | Self::Acknowledgment => None,
        }
    }
}
