//! The two faces of the portal, and what each asks for where an author says nothing.

use serde::Deserialize;

/// What the portal's pages look and work like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Skin {
    /// Imaging: a wizard from patient to summary.
    #[default]
    RadMd,
    /// Medications: drafts, a formulary, a prescriber.
    CoverMyMeds,
}

/// A question that the portal asks about the patient's condition.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What the answer is kept under.
    pub id: String,
    /// The question.
    pub text: String,
    /// The answers to choose from; free text where there are none.
    #[serde(default)]
    pub options: Vec<String>,
    /// Whether a request cannot be sent without an answer.
    #[serde(default)]
    pub required: bool,
}

/// Something that can be asked for: a procedure or a medication.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its code: CPT, HCPCS or NDC.
    pub code: String,
    /// What people call it.
    pub name: String,
    /// How the plan covers it, in words.
    #[serde(default)]
    pub note: Option<String>,
}

impl Skin {
    pub(super) fn usual_questions(self) -> Vec<Question> {
        let yes_no = || vec!["Yes".to_owned(), "No".to_owned()];
        let ask = |id: &str, text: &str, options: Vec<String>| Question {
            id: id.to_owned(),
            text: text.to_owned(),
            options,
            required: false,
        };
        match self {
            Self::RadMd => vec![
                ask(
                    "conservative_treatment",
                    "Has the patient had at least six weeks of conservative treatment?",
                    yes_no(),
                ),
                ask(
                    "earlier_imaging",
                    "Was the same region imaged in the last twelve months?",
                    yes_no(),
                ),
                ask(
                    "red_flags",
                    "Are there signs that call for urgent imaging?",
                    yes_no(),
                ),
            ],
            Self::CoverMyMeds => vec![
                ask(
                    "tried_alternatives",
                    "Has the patient tried a preferred medication first?",
                    yes_no(),
                ),
                ask(
                    "continuation",
                    "Is this the continuation of a therapy under way?",
                    yes_no(),
                ),
            ],
        }
    }

    pub(super) fn usual_items(self) -> Vec<Item> {
        let list: &[(&str, &str)] = match self {
            Self::RadMd => &[
                ("70450", "CT of the head, without contrast"),
                ("70551", "MRI of the brain, without contrast"),
                ("70553", "MRI of the brain, without and with contrast"),
                ("72141", "MRI of the neck spine, without contrast"),
                ("72148", "MRI of the lower back, without contrast"),
                ("73221", "MRI of an arm joint, without contrast"),
                ("73721", "MRI of a leg joint, without contrast"),
                ("74177", "CT of abdomen and pelvis, with contrast"),
                ("78815", "PET with CT, skull base to mid-thigh"),
            ],
            Self::CoverMyMeds => &[
                ("J0135", "Adalimumab, 20 mg"),
                ("J1438", "Etanercept, 25 mg"),
                ("J1745", "Infliximab, 10 mg"),
                ("J2357", "Omalizumab, 5 mg"),
                ("J3262", "Tocilizumab, 1 mg"),
                ("J3380", "Vedolizumab, 1 mg"),
            ],
        };
        list.iter()
            .map(|(code, name)| Item {
                code: (*code).to_owned(),
                name: (*name).to_owned(),
                note: None,
            })
            .collect()
    }
}
