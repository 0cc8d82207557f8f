//! What the two faces of the portal call things, and the order in which they ask.

use crate::{skin::Skin, x12::DeterminationStatus};

/// The words of a face.
pub(super) struct Words {
    /// What the portal is called.
    pub(super) brand: &'static str,
    /// The class that colours it.
    pub(super) class: &'static str,
    /// What is asked for.
    pub(super) service: &'static str,
    /// Who asks.
    pub(super) provider: &'static str,
    /// The button that sends a request.
    pub(super) send: &'static str,
    /// Whether it shows a formulary.
    pub(super) has_formulary: bool,
    /// Its steps, in order.
    pub(super) steps: &'static [Named],
}

/// A step of a request, as a face names it.
pub(super) struct Named {
    /// What is asked.
    pub(super) step: Step,
    /// Its place in addresses.
    pub(super) slug: &'static str,
    /// Its name.
    pub(super) name: &'static str,
}

/// What a step of a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// For whom.
    Patient,
    /// For which medication.
    Medication,
    /// By whom.
    Prescriber,
    /// Why.
    Clinical,
    /// Whether it is right.
    Summary,
}

const fn named(step: Step, slug: &'static str, name: &'static str) -> Named {
    Named { step, slug, name }
}

static IMAGING: Words = Words {
    brand: "Imaging Authorization Portal",
    class: "radmd",
    service: "Procedure",
    provider: "Physician",
    send: "Submit request",
    has_formulary: false,
    steps: &[
        named(Step::Patient, "patient", "Patient"),
        named(Step::Prescriber, "physician", "Physician"),
        named(Step::Clinical, "clinical", "Clinical questions"),
        named(Step::Summary, "summary", "Summary"),
    ],
};

static MEDICATION: Words = Words {
    brand: "Medication Authorization Portal",
    class: "covermymeds",
    service: "Medication",
    provider: "Prescriber",
    send: "Send to plan",
    has_formulary: true,
    steps: &[
        named(Step::Patient, "patient", "Patient"),
        named(Step::Medication, "medication", "Medication"),
        named(Step::Prescriber, "prescriber", "Prescriber"),
        named(Step::Clinical, "clinical", "Clinical questions"),
        named(Step::Summary, "review", "Review"),
    ],
};

impl Words {
    pub(super) fn of(skin: Skin) -> &'static Self {
        match skin {
            Skin::RadMd => &IMAGING,
            Skin::CoverMyMeds => &MEDICATION,
        }
    }

    /// The step with this place in addresses.
    pub(super) fn step(&self, slug: &str) -> Option<Step> {
        let named = self.steps.iter().find(|one| one.slug == slug)?;
        Some(named.step)
    }

    /// How a step is named here; the last one stands for a step that this face has not.
    pub(super) fn named(&self, step: Step) -> &Named {
        let found = self.steps.iter().find(|one| one.step == step);
        found.unwrap_or(&self.steps[self.steps.len() - 1])
    }

    /// The step after this one.
    pub(super) fn after(&self, step: Step) -> &Named {
        let after = self.steps.iter().skip_while(|one| one.step != step).nth(1);
        after.unwrap_or(&self.steps[self.steps.len() - 1])
    }
}

/// All decisions, with the word in addresses and the word for people.
pub(super) const DECISIONS: [(&str, DeterminationStatus, &str); 6] = [
    ("pending", DeterminationStatus::Pending, "Pending"),
    ("approved", DeterminationStatus::Approved, "Approved"),
    ("denied", DeterminationStatus::Denied, "Denied"),
    (
        "need_more_info",
        DeterminationStatus::NeedMoreInfo,
        "More information needed",
    ),
    (
        "partially_approved",
        DeterminationStatus::PartiallyApproved,
        "Partially approved",
    ),
    (
        "modified",
        DeterminationStatus::Modified,
        "Approved with changes",
    ),
];

/// A decision in words for people.
pub(super) fn decision(status: DeterminationStatus) -> &'static str {
    let found = DECISIONS.iter().find(|(_, one, _)| *one == status);
    found.map_or("", |(_, _, name)| name)
}
