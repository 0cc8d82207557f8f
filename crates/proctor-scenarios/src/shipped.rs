//! The scenarios that are part of the program.

use crate::{
    file::{BadFile, read_file},
    scenario::ScenarioSet,
};

/// A file of scenarios that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// The name of its file.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

/// Names and embeds files of `benchmarks/coding`.
macro_rules! coding {
    ($($name:literal),+ $(,)?) => {
        &[$(Shipped {
            name: concat!("benchmarks/coding/", $name),
            text: include_str!(concat!("../../../benchmarks/coding/", $name)),
        }),+]
    };
}

/// All of them.
pub const SHIPPED: &[Shipped] = coding!["repairs.yaml", "tools.yaml", "systems.yaml"];

impl Shipped {
    /// Reads it.
    pub fn read(&self) -> Result<ScenarioSet, BadFile> {
        read_file(self.text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_shipped_file_is_right_and_together_they_use_every_kind_of_scorer() {
        let mut kinds = BTreeSet::new();
        let mut scenarios = 0;
        for shipped in SHIPPED {
            let set = shipped
                .read()
                .unwrap_or_else(|bad| panic!("{}: {bad}", shipped.name));
            for scenario in &set.scenarios {
                assert!(scenario.reference_output.is_some(), "{}", scenario.name);
                kinds.extend(
                    scenario
                        .scorers()
                        .unwrap()
                        .iter()
                        .map(|one| one.scorer.kind()),
                );
                scenarios += 1;
            }
        }
        assert_eq!(kinds.len(), 6, "{kinds:?}");
        assert!(scenarios >= 8);
    }

    #[test]
    fn every_file_of_the_directory_is_shipped() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/coding");
        let there: BTreeSet<String> = fs_err::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let shipped = SHIPPED.iter().filter_map(|one| one.name.rsplit('/').next());
        assert_eq!(there, shipped.map(str::to_owned).collect());
    }
}
