//! What a refusal to freeze or publish means to a client.

use proctor_engine::authoring::NotFrozen;

use super::ApiError;

impl From<NotFrozen> for ApiError {
    fn from(error: NotFrozen) -> Self {
        match error {
            NotFrozen::NoSuchBenchmark(_) | NotFrozen::NoSuchScenario(_) => {
                Self::not_found(error.to_string())
            }
            NotFrozen::Unfit(obstacles) => {
                let obstacles = obstacles.into_iter();
                Self::unmet(obstacles.map(|obstacle| obstacle.problem).collect())
            }
            NotFrozen::Store(error) => error.into(),
            NotFrozen::BrokenOff(error) => Self::internal(error),
        }
    }
}
