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
    /// 837P: a professional claim to the payer.
    ProfessionalClaim,
    /// 277CA: whether each claim of an 837 was taken into adjudication.
    ClaimAcknowledgment,
    /// 835: what was paid for claims, and why not more.
    Remittance,
    /// 999: was a group readable?
    Acknowledgment,
}

impl TransactionSet {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::EligibilityInquiry,
        Self::EligibilityResponse,
        Self::ClaimStatusRequest,
        Self::ClaimStatusResponse,
        Self::ReviewRequest,
        Self::ReviewResponse,
        Self::ProfessionalClaim,
        Self::ClaimAcknowledgment,
        Self::Remittance,
        Self::Acknowledgment,
    ];

    /// The set that a transaction claims to be: by ST01 and, for the two directions of a 278, by
    /// the purpose in BHT02; for the two kinds of a 277, by the structure in BHT01.
    pub fn of(segments: &[Segment]) -> Option<Self> {
        let header = segments.first().filter(|first| first.tag == "ST")?;
        let second = segments.get(1).filter(|second| second.tag == "BHT");
        let told = |number: usize| second.map_or("", |second| second.text(number));
        match header.text(1) {
            "278" if told(2) == "11" => Some(Self::ReviewResponse),
            "278" => Some(Self::ReviewRequest),
            "277" if told(1) == "0085" => Some(Self::ClaimAcknowledgment),
            "277" => Some(Self::ClaimStatusResponse),
            id => Self::ALL.into_iter().find(|set| set.id() == id),
        }
    }

    /// What people call it: ST01, but for the 277 that acknowledges claims.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaimAcknowledgment => "277CA",
            _ => self.id(),
        }
    }

    /// What people call a transaction; ST01 where the set is not known.
    pub fn name_of(segments: &[Segment]) -> &str {
        match Self::of(segments) {
            Some(set) => set.name(),
            None => segments.first().map_or("", |header| header.text(1)),
        }
    }

    /// ST01.
    pub const fn id(self) -> &'static str {
        match self {
            Self::EligibilityInquiry => "270",
            Self::EligibilityResponse => "271",
            Self::ClaimStatusRequest => "276",
            Self::ClaimStatusResponse => "277",
            Self::ClaimAcknowledgment => "277",
            Self::ReviewRequest | Self::ReviewResponse => "278",
            Self::ProfessionalClaim => "837",
            Self::Remittance => "835",
            Self::Acknowledgment => "999",
        }
    }

    /// GS08 and, where the set has one, ST03.
    pub const fn version(self) -> &'static str {
        match self {
            Self::EligibilityInquiry | Self::EligibilityResponse => "005010X279A1",
            Self::ClaimStatusRequest | Self::ClaimStatusResponse => "005010X212",
            Self::ReviewRequest | Self::ReviewResponse => "005010X217",
            Self::ProfessionalClaim => "005010X222A1",
            Self::ClaimAcknowledgment => "005010X214",
            Self::Remittance => "005010X221A1",
            Self::Acknowledgment => "005010X231A1",
        }
    }

    /// ST03: the guide once more; the 835 says it in GS08 only.
    pub const fn guide(self) -> &'static str {
        match self {
            Self::Remittance => "",
            _ => self.version(),
        }
    }

    /// GS01.
    pub const fn functional_id(self) -> &'static str {
        match self {
            Self::EligibilityInquiry => "HS",
            Self::EligibilityResponse => "HB",
            Self::ClaimStatusRequest => "HR",
            Self::ClaimStatusResponse | Self::ClaimAcknowledgment => "HN",
            Self::ReviewRequest | Self::ReviewResponse => "HI",
            Self::ProfessionalClaim => "HC",
            Self::Remittance => "HP",
            Self::Acknowledgment => "FA",
        }
    }

    /// The answer a payer gives to this set, if it is a question.
    pub const fn answer(self) -> Option<Self> {
        match self {
            Self::EligibilityInquiry => Some(Self::EligibilityResponse),
            Self::ClaimStatusRequest => Some(Self::ClaimStatusResponse),
            Self::ReviewRequest => Some(Self::ReviewResponse),
            Self::ProfessionalClaim => Some(Self::ClaimAcknowledgment),
            Self::EligibilityResponse
            | Self::ClaimStatusResponse
            | Self::ReviewResponse
            | Self::ClaimAcknowledgment
            | Self::Remittance
            | Self::Acknowledgment => None,
        }
    }
}
