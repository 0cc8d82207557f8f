//! What a payer knows: itself, its members, their coverages and claims. Plain data that a data set
//! or a scenario is read into; unknown fields are refused.

use serde::{Deserialize, Serialize};

use super::Amount;
use proctor_x12::day::Day;

/// The payer and its rules about who may ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payer {
    /// Its name.
    pub name: String,
    /// Its payer id, as in NM109 with qualifier PI.
    pub id: String,
    /// The NPIs of the providers on file; empty means every valid NPI.
    #[serde(default)]
    pub providers: Vec<String>,
    /// Whether it cannot answer at the moment: every question is rejected with 42.
    #[serde(default)]
    pub unavailable: bool,
    /// Where it is, as remittances say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Whom to call about remittances: ten digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// Its tax id: nine digits, which remittances are traced by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_id: Option<String>,
}

/// A subscriber.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The id on the card.
    pub member_id: String,
    /// Family name.
    pub last_name: String,
    /// Given name.
    pub first_name: String,
    /// Middle name or initial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<String>,
    /// Day of birth, `YYYY-MM-DD`.
    pub birth_date: Day,
    /// Administrative gender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gender: Option<Gender>,
    /// Where the member lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// What the member and the dependents are insured for.
    #[serde(default)]
    pub coverages: Vec<Coverage>,
    /// Who is insured through the member.
    #[serde(default)]
    pub dependents: Vec<Dependent>,
}

/// Administrative gender, DMG03.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gender {
    /// `F`.
    Female,
    /// `M`.
    Male,
    /// `U`.
    Unknown,
}

/// A postal address in the United States.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Street and number.
    pub line: String,
    /// City.
    pub city: String,
    /// Two letters.
    pub state: String,
    /// ZIP code.
    pub postal_code: String,
}

/// Somebody insured through a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dependent {
    /// Family name.
    pub last_name: String,
    /// Given name.
    pub first_name: String,
    /// Day of birth.
    pub birth_date: Day,
    /// Administrative gender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gender: Option<Gender>,
    /// What the dependent is to the member.
    pub relationship: Relationship,
}

/// What a dependent is to the member, INS02.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relationship {
    /// `01`.
    Spouse,
    /// `19`.
    Child,
    /// `53`.
    LifePartner,
    /// `G8`.
    Other,
}

/// A plan that a member is or was enrolled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// The plan's name, at most 50 characters of which are sent.
    pub plan_name: String,
    /// The group's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_number: Option<String>,
    /// The insurance type, EB04: `HM`, `PR`, `MA`, `MC`, `C1`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insurance_type: Option<String>,
    /// First day.
    pub start: Day,
    /// Last day; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Day>,
    /// Whom it covers.
    #[serde(default)]
    pub level: CoverageLevel,
    /// The service types it covers; empty means all.
    #[serde(default)]
    pub service_types: Vec<String>,
    /// What the member pays, and how much is allowed.
    #[serde(default)]
    pub benefits: Vec<Benefit>,
}

impl Coverage {
    /// Whether it holds on a day.
    pub fn is_active(&self, day: Day) -> bool {
        self.start <= day && self.end.is_none_or(|end| day <= end)
    }

    /// Whether it covers a service type; 30 asks for the plan as a whole.
    pub fn covers(&self, service_type: &str) -> bool {
        service_type == "30"
            || self.service_types.is_empty()
            || self.service_types.iter().any(|one| one == service_type)
    }
}

/// Whom a coverage covers, EB02.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageLevel {
    /// `IND`.
    #[default]
    Individual,
    /// `FAM`.
    Family,
}

/// One line of a plan's benefits: an EB segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benefit {
    /// What it is about.
    pub kind: BenefitKind,
    /// The service types it is about; empty means the plan as a whole.
    #[serde(default)]
    pub service_types: Vec<String>,
    /// In dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// In percent: 20 means that the member pays a fifth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<Amount>,
    /// How many units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<Amount>,
    /// Of what; sent only with a quantity.
    #[serde(default)]
    pub quantity_unit: QuantityUnit,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Period>,
    /// Whether an authorization is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_required: Option<bool>,
    /// Whether it is about providers in the plan's network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_network: Option<bool>,
    /// Free text, at most 264 characters of which are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What a benefit is about, EB01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenefitKind {
    /// `B`.
    Copay,
    /// `A`.
    Coinsurance,
    /// `C`.
    Deductible,
    /// `G`.
    OutOfPocket,
    /// `F`.
    Limit,
}

/// For how long a benefit counts, EB06.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// `22`.
    ServiceYear,
    /// `23`.
    CalendarYear,
    /// `27`.
    Visit,
    /// `29`: what is left.
    Remaining,
    /// `32`.
    Lifetime,
    /// `7`.
    Day,
}

/// What a quantity counts, EB09.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuantityUnit {
    /// `VS`.
    #[default]
    Visits,
    /// `DY`.
    Days,
    /// `HS`.
    Hours,
    /// `P6`: number of services or procedures.
    Services,
}

/// A claim that the payer received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The payer's control number.
    pub claim_id: String,
    /// The subscriber.
    pub member_id: String,
    /// The given name of the dependent it is for; none for the subscriber.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependent_first_name: Option<String>,
    /// The provider's account number for the patient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patient_account: Option<String>,
    /// The NPI of the provider who billed; none means any may ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_npi: Option<String>,
    /// First day of service.
    pub service_from: Day,
    /// Last day of service, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_to: Option<Day>,
    /// What was billed.
    pub charge: Amount,
    /// What was paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid: Option<Amount>,
    /// Where it stands.
    pub status: ClaimStatus,
    /// A status code (code source 508) instead of the one that goes with the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_code: Option<String>,
    /// Since when.
    pub status_date: Day,
    /// When it was paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_date: Option<Day>,
    /// The check or transfer it was paid with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_number: Option<String>,
    /// Its services.
    #[serde(default)]
    pub lines: Vec<ClaimLine>,
}

/// Where a claim stands: an STC category and the status code that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    /// A1: received.
    Received,
    /// A2: accepted into adjudication.
    Accepted,
    /// A3: returned as unprocessable.
    Rejected,
    /// P1: in process.
    Pending,
    /// P2: under review.
    InReview,
    /// P3: waiting for information from the provider.
    NeedMoreInfo,
    /// F1: paid.
    Paid,
    /// F2: denied.
    Denied,
}

/// One service of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimLine {
    /// HCPCS or CPT code.
    pub procedure_code: String,
    /// What was billed.
    pub charge: Amount,
    /// What was paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid: Option<Amount>,
    /// How many units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<Amount>,
    /// Where it stands, if not where the claim does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ClaimStatus>,
}

macro_rules! codes {
    ($kind:ident: $doc:literal, $($value:ident => $code:literal),+) => {
        impl $kind {
            #[doc = $doc]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$value => $code),+ }
            }
        }
    };
}

codes!(Gender: "DMG03.", Female => "F", Male => "M", Unknown => "U");
codes!(Relationship: "INS02.", Spouse => "01", Child => "19", LifePartner => "53", Other => "G8");
codes!(CoverageLevel: "EB02.", Individual => "IND", Family => "FAM");
codes!(BenefitKind: "EB01.", Copay => "B", Coinsurance => "A", Deductible => "C", OutOfPocket => "G", Limit => "F");
codes!(Period: "EB06.", ServiceYear => "22", CalendarYear => "23", Visit => "27", Remaining => "29", Lifetime => "32", Day => "7");
codes!(QuantityUnit: "EB09.", Visits => "VS", Days => "DY", Hours => "HS", Services => "P6");
codes!(ClaimStatus: "The category, STC01-1.", Received => "A1", Accepted => "A2", Rejected => "A3", Pending => "P1", InReview => "P2", NeedMoreInfo => "P3", Paid => "F1", Denied => "F2");

impl ClaimStatus {
    /// The status code (code source 508) that goes with it unless the claim names another.
    pub const fn usual_status_code(self) -> &'static str {
        match self {
            Self::Received => "19",
            Self::Accepted => "20",
            Self::Rejected => "21",
            Self::Pending => "40",
            Self::InReview => "46",
            Self::NeedMoreInfo => "286",
            Self::Paid => "65",
            Self::Denied => "585",
        }
    }
}
