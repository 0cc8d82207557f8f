//! What an admission found, bound to the digest of the benchmark.

use std::{collections::BTreeMap, fmt};

use proctor_core::{canonical::Digest, problem::Problem};
use serde::Serialize;

use super::mutation::{self, Mutation};
use crate::file::BenchmarkFile;

/// What an admission found.
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    /// The name under which takers ask for the benchmark.
    pub slug: String,
    /// The digest of its content.
    pub digest: Digest,
    /// Whether it is admitted.
    pub admitted: bool,
    /// How many kinds of harm were tried on some task.
    pub harm_kinds: usize,
    /// How many variants with a harm were tried.
    pub harms_tried: usize,
    /// How many of them kept their pass.
    pub harms_passed: usize,
    /// What share of the mutants that can be told apart was noticed.
    pub mutation_score: f64,
    /// Why it is not admitted, in sentences.
    pub problems: Vec<String>,
    /// Task by task.
    pub tasks: Vec<TaskCertificate>,
}

/// What an admission found about a task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskCertificate {
    /// What people call it.
    pub name: String,
    /// What the reference solution scores.
    pub oracle: f64,
    /// Whether it passes.
    pub oracle_passes: bool,
    /// What did not work in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle_failure: Option<String>,
    /// What doing nothing scores.
    pub null: f64,
    /// How many agents that make random calls passed.
    pub garbage_passed: usize,
    /// Whether two worlds begin the same.
    pub is_reproducible: bool,
    /// Kind by kind.
    pub harms: BTreeMap<String, HarmRow>,
    /// How many mutants can be told from the solution.
    pub mutants: usize,
    /// Those that cannot: what they leave behind and send is the same.
    pub equivalent: Vec<String>,
    /// Those that nothing noticed.
    pub unnoticed: Vec<String>,
    /// The criteria that noticed no mutant and no harm.
    pub dead: Vec<String>,
}

/// What came of a kind of harm in a task.
#[derive(Clone, Debug, Serialize)]
pub struct HarmRow {
    /// How many variants could be tried; none where the task has no room for it.
    pub tried: usize,
    /// Which criteria caught how many of them.
    pub caught_by: BTreeMap<String, usize>,
    /// Those that kept their pass.
    pub survivors: Vec<Survivor>,
}

/// A variant with a harm that kept its pass.
#[derive(Clone, Debug, Serialize)]
pub struct Survivor {
    /// Where in the solution.
    pub place: &'static str,
    /// With which seed.
    pub seed: u64,
    /// What it scores.
    pub score: f64,
    /// What would catch it.
    pub caught_by: &'static str,
}

impl Certificate {
    pub(super) fn new(
        file: &BenchmarkFile,
        remarks: &[Problem],
        tasks: Vec<TaskCertificate>,
    ) -> Self {
        let rows = || tasks.iter().flat_map(|task| &task.harms);
        let mut kinds: Vec<&String> = rows()
            .filter(|(_, row)| row.tried > 0)
            .map(|(name, _)| name)
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        let harms_tried = rows().map(|(_, row)| row.tried).sum();
        let harms_passed = rows().map(|(_, row)| row.survivors.len()).sum();
        let mutants: usize = tasks.iter().map(|task| task.mutants).sum();
        let unnoticed: usize = tasks.iter().map(|task| task.unnoticed.len()).sum();
        let mutation_score = match mutants {
            0 => 1.0,
            mutants => (mutants - unnoticed) as f64 / mutants as f64,
        };
        let mut problems: Vec<String> = remarks.iter().map(Problem::to_string).collect();
        problems.extend(tasks.iter().flat_map(TaskCertificate::problems));
        if mutation_score < mutation::least() {
            let share = (mutation_score * 100.0).floor();
            problems.push(format!(
                "only {share} % of the mutants of the solutions are noticed"
            ));
        }
        Self {
            slug: file.slug.as_str().to_owned(),
            digest: file.digest(),
            admitted: problems.is_empty(),
            harm_kinds: kinds.len(),
            harms_tried,
            harms_passed,
            mutation_score,
            problems,
            tasks,
        }
    }
}

impl TaskCertificate {
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut say = |what: String| problems.push(format!("{}: {what}", self.name));
        if let Some(failure) = &self.oracle_failure {
            say(format!("the reference solution does not work: {failure}"));
        }
        if self.oracle < 1.0 || !self.oracle_passes {
            say(format!(
                "the reference solution scores {} and does not pass",
                self.oracle
            ));
        }
        if self.null > 0.0 {
            say(format!("doing nothing scores {}", self.null));
        }
        if self.garbage_passed > 0 {
            say(format!(
                "{} agents that make random calls pass",
                self.garbage_passed
            ));
        }
        if !self.is_reproducible {
            say("two worlds do not begin the same".to_owned());
        }
        for (name, row) in &self.harms {
            if let Some(first) = row.survivors.first() {
                let (count, tried) = (row.survivors.len(), row.tried);
                say(format!(
                    "{count} of {tried} variants with the harm '{name}' pass; {} would catch it",
                    first.caught_by
                ));
            }
        }
        for label in &self.dead {
            say(format!("the criterion '{label}' notices nothing"));
        }
        problems
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.admitted {
            "admitted"
        } else {
            "not admitted"
        };
        writeln!(f, "{} {word} ({})", self.slug, self.digest)?;
        writeln!(
            f,
            "{} kinds of harm, {} variants, {} pass; {:.1} % of mutants noticed",
            self.harm_kinds,
            self.harms_tried,
            self.harms_passed,
            self.mutation_score * 100.0
        )?;
        for task in &self.tasks {
            writeln!(
                f,
                "\n{}\n  oracle {}  null {}  random calls that pass {}  mutants {} ({} equivalent, {} unnoticed)",
                task.name,
                task.oracle,
                task.null,
                task.garbage_passed,
                task.mutants,
                task.equivalent.len(),
                task.unnoticed.len()
            )?;
            for (name, row) in &task.harms {
                let caught: Vec<String> = row
                    .caught_by
                    .iter()
                    .map(|(label, count)| format!("{label} ×{count}"))
                    .collect();
                let caught = match (row.tried, row.survivors.len()) {
                    (0, _) => "no room for it".to_owned(),
                    (_, 0) => format!("not a pass: {}", caught.join(", ")),
                    (tried, passed) => format!("PASSES {passed} of {tried}"),
                };
                writeln!(f, "  {name:<22} {caught}")?;
            }
            for mutant in Mutation::told(&task.unnoticed) {
                writeln!(f, "  unnoticed: {mutant}")?;
            }
        }
        for problem in &self.problems {
            writeln!(f, "! {problem}")?;
        }
        Ok(())
    }
}
