//! What each page shows. The templates lay it out and decide nothing.

use askama::Template;

use super::{form::Shortcomings, words::Words};
use crate::skin::Item;

/// What surrounds every page.
pub(super) struct Frame {
    pub(super) title: String,
    /// The way from this page to the portal, relative, so that the portal works wherever it is
    /// mounted.
    pub(super) root: String,
    pub(super) user: Option<String>,
    pub(super) csrf: String,
    pub(super) payer: String,
    pub(super) words: &'static Words,
}

/// A step in the list of steps.
pub(super) struct StepMark {
    pub(super) name: &'static str,
    pub(super) slug: &'static str,
    pub(super) is_current: bool,
}

/// Somebody to choose.
pub(super) struct Choice {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) detail: String,
}

#[derive(Template)]
#[template(path = "payer/login.html")]
pub(super) struct LoginPage {
    pub(super) frame: Frame,
    pub(super) notice: &'static str,
    pub(super) is_wrong: bool,
    pub(super) username: String,
}

#[derive(Template)]
#[template(path = "payer/message.html")]
pub(super) struct MessagePage {
    pub(super) frame: Frame,
    pub(super) message: String,
}

/// A request in a list.
pub(super) struct Line {
    /// Its id, as addresses write it.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) patient: String,
    pub(super) service: String,
    pub(super) status: &'static str,
    pub(super) decision: &'static str,
    pub(super) changed: String,
    /// The step that a draft is at.
    pub(super) next: &'static str,
}

#[derive(Template)]
#[template(path = "payer/requests.html")]
pub(super) struct RequestsPage {
    pub(super) frame: Frame,
    pub(super) notice: &'static str,
    pub(super) here: &'static str,
    pub(super) is_drafts: bool,
    pub(super) member_id: String,
    pub(super) status: String,
    pub(super) decisions: Vec<(&'static str, &'static str)>,
    pub(super) rows: Vec<Line>,
}

#[derive(Template)]
#[template(path = "payer/request.html")]
pub(super) struct RequestPage {
    pub(super) frame: Frame,
    pub(super) notice: String,
    pub(super) problems: Shortcomings,
    pub(super) id: String,
    pub(super) is_draft: bool,
    pub(super) next: &'static str,
    pub(super) facts: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "payer/patient.html")]
pub(super) struct PatientPage {
    pub(super) frame: Frame,
    pub(super) steps: Vec<StepMark>,
    pub(super) problems: Shortcomings,
    pub(super) here: String,
    pub(super) current: String,
    pub(super) has_members: bool,
    pub(super) is_search: bool,
    pub(super) found: Vec<Choice>,
    pub(super) member_id: String,
    pub(super) last_name: String,
    pub(super) dob: String,
    pub(super) procedure_code: String,
}

#[derive(Template)]
#[template(path = "payer/prescriber.html")]
pub(super) struct PrescriberPage {
    pub(super) frame: Frame,
    pub(super) steps: Vec<StepMark>,
    pub(super) problems: Shortcomings,
    pub(super) here: String,
    pub(super) current: String,
    pub(super) is_search: bool,
    pub(super) found: Vec<Choice>,
    pub(super) provider_name: String,
    pub(super) npi: String,
}

#[derive(Template)]
#[template(path = "payer/medication.html")]
pub(super) struct MedicationPage<'d> {
    pub(super) frame: Frame,
    pub(super) steps: Vec<StepMark>,
    pub(super) problems: Shortcomings,
    pub(super) here: String,
    pub(super) items: &'d [Item],
    pub(super) procedure_code: String,
    pub(super) quantity: String,
    pub(super) days_supply: String,
}

/// A question with the answer so far.
pub(super) struct Asked<'d> {
    pub(super) name: String,
    pub(super) text: &'d str,
    pub(super) options: &'d [String],
    pub(super) answer: String,
}

#[derive(Template)]
#[template(path = "payer/clinical.html")]
pub(super) struct ClinicalPage<'d> {
    pub(super) frame: Frame,
    pub(super) steps: Vec<StepMark>,
    pub(super) problems: Shortcomings,
    pub(super) here: String,
    pub(super) asks_for_item: bool,
    pub(super) items: &'d [Item],
    pub(super) procedure_code: String,
    pub(super) diagnosis_codes: String,
    pub(super) questions: Vec<Asked<'d>>,
    pub(super) clinical_notes: String,
}

#[derive(Template)]
#[template(path = "payer/summary.html")]
pub(super) struct SummaryPage {
    pub(super) frame: Frame,
    pub(super) steps: Vec<StepMark>,
    pub(super) problems: Shortcomings,
    pub(super) here: String,
    pub(super) id: String,
    pub(super) facts: Vec<(String, String)>,
}

/// A medication of the formulary.
pub(super) struct Medication<'d> {
    pub(super) code: &'d str,
    pub(super) name: &'d str,
    pub(super) note: &'d str,
}

#[derive(Template)]
#[template(path = "payer/formulary.html")]
pub(super) struct FormularyPage<'d> {
    pub(super) frame: Frame,
    pub(super) q: String,
    pub(super) items: Vec<Medication<'d>>,
}
