//! What a refusal to freeze or publish means to a client.

use proctor_engine::authoring::NotFrozen;

use super::{FieldErrors, Problem};

impl From<NotFrozen> for Problem {
    fn from(error: NotFrozen) -> Self {
        match error {
            NotFrozen::NoSuchBenchmark(_) | NotFrozen::NoSuchScenario(_) => {
                Self::not_found(error.to_string())
            }
            NotFrozen::Unfit(problems) => {
                let mut errors = FieldErrors::default();
                for problem in problems {
                    errors.add(problem.place, problem.message);
                }
                Self::unmet(errors)
            }
            NotFrozen::Store(error) => error.into(),
            NotFrozen::BrokenOff(error) => Self::internal(error),
        }
    }
}
