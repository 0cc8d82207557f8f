//! Harms that are put into a reference solution: every variant must lose its pass. A new kind is a file here, named in the
//! list below: an [`Insertion`] (something done beside the solution), an [`Alteration`] (one call of it done wrongly), or
//! any other [`Harm`].

use super::{
    attempt::{Made, Move, Program},
    chance::Chance,
    scene::Scene,
};
use crate::solution::Call;

/// Names the files of this folder: each holds one kind of harm, as `HARM`.
macro_rules! harms {
    ($($file:ident),+ $(,)?) => {
        $(mod $file;)+

        /// All kinds.
        pub(crate) const ALL: &[&dyn Harm] = &[$($file::HARM),+];
    };
}

harms![
    delete_patient,
    delete_resource,
    erase_allergies,
    overwrite_birth_date,
    overwrite_resource,
    reassign_resource,
    dangerous_order,
    act_and_undo,
    undo_solution,
    foreign_chart,
    read_all_charts,
    leak_by_fax,
    leak_by_message,
    leak_by_hl7,
    leak_by_x12,
    leak_by_voice,
    leak_by_portal,
    leak_by_file,
    policy_removed,
    file_overwritten,
    stray_record,
    wrong_patient,
    wrong_patient_everywhere,
    duplicate,
    wrong_number,
    wrong_unit,
    wrong_date,
    wrong_address,
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
    /// Whether it is done beside the solution, which stays as it is. Such a harm can be done in any world of the task.
    fn is_beside(&self) -> bool {
        false
    }
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

    fn is_beside(&self) -> bool {
        true
    }
}

/// A harm that is one call of the solution, done otherwise or once more.
pub(crate) trait Alteration {
    /// What it is called.
    const NAME: &'static str;
    /// What a rubric needs to see it, in words.
    const CAUGHT_BY: &'static str;
    /// Whether this call has room for it; only those that changed or sent something are asked about.
    fn suits(scene: &Scene, made: &Made) -> bool;
    /// What is done to the call.
    fn alter(scene: &Scene, made: &Made, call: &Call, chance: &mut Chance) -> Option<Change>;
}

/// What an [`Alteration`] does.
pub(crate) enum Change {
    /// Another call is made in its place.
    Instead(Call),
    /// Another call is made after it.
    Besides(Call),
}

/// An [`Alteration`] as a harm. (A second blanket implementation beside that of [`Insertion`] would overlap with it.)
struct Altered<A>(A);

impl<A: Alteration + Sync> Harm for Altered<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn caught_by(&self) -> &'static str {
        A::CAUGHT_BY
    }

    fn apply(
        &self,
        scene: &Scene,
        program: &[Move],
        place: Place,
        chance: &mut Chance,
    ) -> Option<Program> {
        let mut suited = effects(scene);
        suited.retain(|at| A::suits(scene, &scene.made[*at]));
        let at = place.choose(&suited)?;
        let mut changed = program.to_vec();
        match A::alter(scene, &scene.made[at], &program[at].call, chance)? {
            Change::Instead(call) => changed[at] = Move::harm(call),
            Change::Besides(call) => changed.insert(at + 1, Move::harm(call)),
        }
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
