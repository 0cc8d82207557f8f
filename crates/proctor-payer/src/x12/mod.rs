//! A payer in X12: what it knows, and the answers that follow from it.
//!
//! * [`exchange`]: a whole interchange in, everything a clearinghouse answers out.
//!
//! Every answer is a function of the data, the question, the time and (for a 278) the determination
//! that the caller supplies. Nothing is remembered here.

mod amount;
mod claim_status;
pub mod claims;
mod data;
mod eligibility;
pub mod exchange;
mod find;
mod outline;
mod question;
mod review;

pub use amount::Amount;
pub use claim_status::answer as claim_status_response;
pub use data::{
    Address, Benefit, BenefitKind, Claim, ClaimLine, ClaimStatus, Coverage, CoverageLevel,
    Dependent, Gender, Member, Payer, Period, QuantityUnit, Relationship,
};
pub use eligibility::answer as eligibility_response;
pub use find::{Rejection, is_npi};
pub use question::{ClaimStatusQuestion, EligibilityQuestion, Person, ReviewQuestion};
pub use review::{
    Determination, DeterminationStatus, Determine, ReviewRequest, ReviewService,
    answer as review_response,
};
