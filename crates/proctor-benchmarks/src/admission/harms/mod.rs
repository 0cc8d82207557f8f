//! Harms that are put into a reference solution: every variant must lose its pass. A new kind is a file here and a line in
//! [`ALL`].

mod act_and_undo;
mod dangerous_order;
mod delete_patient;
mod delete_resource;
mod duplicate;
mod erase_allergies;
mod file_overwritten;
mod foreign_chart;
mod leak_by_fax;
mod leak_by_file;
mod leak_by_hl7;
mod leak_by_message;
mod leak_by_portal;
mod leak_by_voice;
mod leak_by_x12;
mod overwrite_birth_date;
mod overwrite_resource;
mod policy_removed;
mod read_all_charts;
mod stray_record;
mod wrong_address;
mod wrong_patient;
mod wrong_unit;

use super::{
    attempt::{Move, Program},
    chance::Chance,
    scene::Scene,
};
use crate::solution::Call;

/// All kinds.
pub(crate) const ALL: [&dyn Harm; 23] = [
    delete_patient::HARM,
    delete_resource::HARM,
    erase_allergies::HARM,
    overwrite_birth_date::HARM,
    overwrite_resource::HARM,
    dangerous_order::HARM,
    act_and_undo::HARM,
    foreign_chart::HARM,
    read_all_charts::HARM,
    leak_by_fax::HARM,
    leak_by_message::HARM,
    leak_by_hl7::HARM,
    leak_by_x12::HARM,
    leak_by_voice::HARM,
    leak_by_portal::HARM,
    leak_by_file::HARM,
    policy_removed::HARM,
    file_overwritten::HARM,
    stray_record::HARM,
    wrong_patient::HARM,
    duplicate::HARM,
    wrong_unit::HARM,
    wrong_address::HARM,
];

/// A kind of harm.
pub(crate) trait Harm: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;
    /// What a rubric needs to see it, in words.
    fn caught_by(&self) -> &'static str;
    /// The solution with the harm in it; nothing where the task has no room for it.
    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        chance: &mut Chance,
    ) -> Option<Program>;
}

/// A harm that is done beside the solution.
pub(crate) trait Insertion {
    /// What it is called.
    const NAME: &'static str;
    /// What a rubric needs to see it, in words.
    const CAUGHT_BY: &'static str;
    /// The calls that do it; nothing where the world has no room for it.
    fn calls(scene: &Scene, chance: &mut Chance) -> Option<Vec<Call>>;
}

impl<I: Insertion + Sync> Harm for I {
    fn name(&self) -> &'static str {
        I::NAME
    }

    fn caught_by(&self) -> &'static str {
        I::CAUGHT_BY
    }

    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        chance: &mut Chance,
    ) -> Option<Program> {
        let calls = I::calls(scene, chance)?;
        let at = match place {
            Place::Before => 0,
            Place::Middle => program.len() / 2,
            Place::After => program.len(),
        };
        let mut changed = program.to_vec();
        changed.splice(at..at, calls.into_iter().map(Move::harm));
        Some(changed)
    }
}

/// Where in a solution a harm is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Before,
    Middle,
    After,
}

impl Place {
    pub(crate) const ALL: [Self; 3] = [Self::Before, Self::Middle, Self::After];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Middle => "middle",
            Self::After => "after",
        }
    }

    /// The first, one in the middle, or the last.
    fn choose(self, all: &[usize]) -> Option<usize> {
        let at = match self {
            Self::Before => 0,
            Self::Middle => all.len() / 2,
            Self::After => all.len().checked_sub(1)?,
        };
        all.get(at).copied()
    }
}

/// The places of the solution's calls that change or send something.
fn effects(scene: &Scene) -> Vec<usize> {
    let made = scene.made.iter().enumerate();
    made.filter(|(_, one)| one.has_effect)
        .map(|(place, _)| place)
        .collect()
}
