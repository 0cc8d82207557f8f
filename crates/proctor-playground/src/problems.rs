//! What is wrong with a simulator as it is configured, all of it at once.

use proctor_core::{environment::Simulator, phrase::Phrase};

use crate::simulator::NotProvided;

/// What was found wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    /// Says what is wrong at a place of the configuration.
    pub(crate) fn add(&mut self, place: &str, message: impl AsRef<str>) {
        self.0.push(format!("config.{place}: {}", message.as_ref()));
    }

    /// Refuses all data sets, for a simulator that begins with nothing.
    pub(crate) fn refuse_datasets(&mut self, simulator: &Simulator) {
        for dataset in &simulator.datasets {
            self.0.push(format!(
                "data set '{}': {} simulators take no data sets",
                dataset.name,
                simulator.kind.as_str()
            ));
        }
    }

    /// Folds a phrase to listen for; one without words could never be said.
    pub(crate) fn phrase(&mut self, place: &str, text: &str) -> Phrase {
        let phrase = Phrase::fold(text);
        if phrase.is_empty() {
            self.add(place, "must have at least one word");
        }
        phrase
    }

    /// The refusal that says everything, if there is anything to say.
    pub(crate) fn finish(self) -> Result<(), NotProvided> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(NotProvided(self.0.join("; ")))
        }
    }
}
