//! What is wrong with a simulator as it is configured, all of it at once.

use proctor_core::{
    environment::{Dataset, Simulator},
    phrase::Phrase,
    problem::{Problem, Problems},
};

/// How a data set is named where something is wrong with it.
pub fn place_of(dataset: &Dataset) -> String {
    format!("data set '{}'", dataset.name)
}

/// What was found wrong so far.
#[derive(Debug, Default)]
pub struct ConfigProblems(Vec<Problem>);

impl ConfigProblems {
    /// Says what is wrong at a place of the configuration.
    pub fn add(&mut self, place: &str, message: impl Into<String>) {
        let place = format!("config.{place}");
        self.0.push(Problem::error(place, message));
    }

    /// Refuses all data sets, for a simulator that begins with nothing.
    pub fn refuse_datasets(&mut self, simulator: &Simulator) {
        for dataset in &simulator.datasets {
            self.0.push(Problem::error(
                place_of(dataset),
                format!("{} simulators take no data sets", simulator.kind.as_str()),
            ));
        }
    }

    /// Folds a phrase to listen for; one without words could never be said.
    pub fn phrase(&mut self, place: &str, text: &str) -> Phrase {
        let phrase = Phrase::fold(text);
        if phrase.is_empty() {
            self.add(place, "must have at least one word");
        }
        phrase
    }

    /// The refusal that says everything, if there is anything to say.
    pub fn finish(self) -> Result<(), Problems> {
        Problems::none_of(self.0)
    }
}
