//! What happened in a world, for people: one timeline of all protocols, and which of its events a piece of evidence rests on.

pub mod describe;
pub mod detail;
pub mod index;
pub mod links;

/// The protocol that an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// FHIR requests, and what the world began with.
    Fhir,
    /// HL7 v2 messages.
    Hl7,
    /// X12 interchanges.
    X12,
    /// The payer's portal.
    Portal,
    /// Telephone calls.
    Voice,
    /// Files.
    Files,
    /// Faxes.
    Fax,
    /// Messages to patients.
    Messages,
    /// CDS Hooks.
    Cds,
    /// A simulator that is not one of ours.
    Other,
}

impl Lane {
    /// The lane of a kind of event.
    pub fn of_kind(kind: &str) -> Self {
        let family = kind.split('_').next().unwrap_or(kind);
        match family {
            "fhir" => Self::Fhir,
            "hl7" => Self::Hl7,
            "x12" | "clearinghouse" => Self::X12,
            "portal" => Self::Portal,
            "voice" | "voicemail" => Self::Voice,
            "file" => Self::Files,
            "fax" => Self::Fax,
            "message" => Self::Messages,
            "cds" => Self::Cds,
            _ => Self::Other,
        }
    }

    /// What stands beside its events.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Fhir => "FHIR",
            Self::Hl7 => "HL7",
            Self::X12 => "X12",
            Self::Portal => "PORTAL",
            Self::Voice => "VOICE",
            Self::Files => "FILES",
            Self::Fax => "FAX",
            Self::Messages => "MSG",
            Self::Cds => "CDS",
            Self::Other => "OTHER",
        }
    }
}
