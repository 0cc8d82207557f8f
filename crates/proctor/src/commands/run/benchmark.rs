//! Which benchmark is meant: a shipped name, a file, a directory of scenarios, or a version on the server.

use std::path::Path;

use anyhow::Context as _;
use proctor_benchmarks::{Api, BenchmarkFile, push, push_scenarios};
use proctor_scenarios::{ScenarioSet, read_file};
use serde_json::{Value, json};

use crate::{
    commands::{benchmark as files, compare::refused},
    exit::WrongUse,
};

/// How like a name must be to be offered instead, from 0 to 1.
const LIKE: f64 = 0.8;

/// A benchmark that is to be taken.
pub(super) enum Exam {
    /// Tasks in simulated worlds, with their solutions.
    Clinical(Box<BenchmarkFile>),
    /// Scenarios in boxes, with their references.
    Coding(ScenarioSet),
    /// A version on the server.
    Published(String),
}

/// A benchmark that is on the server.
pub(super) struct ServerBenchmark {
    /// What people call it.
    pub(super) name: String,
    /// How a request for a run names it.
    pub(super) request: Value,
}

impl Exam {
    /// Finds what a name on the command line means that are no Harbor tasks.
    pub(super) fn find(named: &str) -> anyhow::Result<Self> {
        let path = Path::new(named);
        if path.is_dir() {
            return directory(path);
        }
        if path.is_file() {
            return file(path);
        }
        if let Some(shipped) = shipped(named)? {
            return Ok(shipped);
        }
        match named.split_once('@') {
            Some((slug, version)) if !slug.is_empty() && version.parse::<u32>().is_ok() => {
                Ok(Self::Published(named.to_owned()))
            }
            _ => Err(unknown(named).into()),
        }
    }

    /// Whether some of its tasks are done in boxes, as far as that is known here.
    pub(super) const fn needs_boxes(&self) -> bool {
        matches!(self, Self::Coding(_))
    }

    /// Brings it to the server, unless it is there.
    pub(super) async fn place(&self, api: &Api) -> anyhow::Result<ServerBenchmark> {
        Ok(match self {
            Self::Published(named) => ServerBenchmark {
                name: named.clone(),
                request: json!({"benchmark": named}),
            },
            Self::Clinical(file) => {
                let pushed = push(api, file, true).await.map_err(refused)?;
                let version = pushed.version.context("the server published no version")?;
                let named = format!("{}@{version}", file.slug.as_str());
                ServerBenchmark {
                    request: json!({"benchmark": named}),
                    name: named,
                }
            }
            Self::Coding(set) => {
                let pushed = push_scenarios(api, set).await.map_err(refused)?;
                let id = pushed.benchmark_id.replacen("bmd_", "bench_", 1);
                ServerBenchmark {
                    name: set.name.clone(),
                    request: json!({"benchmark_id": id, "draft": true}),
                }
            }
        })
    }
}

/// The names of what is part of the program.
fn names() -> impl Iterator<Item = &'static str> {
    let clinical = proctor_benchmarks::SHIPPED.iter().map(|one| one.name);
    let coding = proctor_scenarios::SHIPPED.iter().map(|one| one.name);
    clinical.chain(coding).map(stem)
}

/// `fax-referral` of `benchmarks/clinical/fax-referral.yaml`.
fn stem(path: &'static str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".yaml").unwrap_or(name)
}

fn shipped(named: &str) -> anyhow::Result<Option<Exam>> {
    let mut clinical = proctor_benchmarks::SHIPPED.iter();
    if let Some(found) = clinical.find(|one| stem(one.name) == named) {
        return Ok(Some(Exam::Clinical(Box::new(found.read()?.content))));
    }
    let mut coding = proctor_scenarios::SHIPPED.iter();
    match coding.find(|one| stem(one.name) == named) {
        Some(found) => Ok(Some(Exam::Coding(found.read().context(found.name)?))),
        None => Ok(None),
    }
}

fn file(path: &Path) -> anyhow::Result<Exam> {
    let text = fs_err::read_to_string(path).map_err(|error| WrongUse(error.to_string()))?;
    if text.lines().any(|line| line.starts_with("scenarios:")) {
        return Ok(Exam::Coding(scenarios(path, &text)?));
    }
    Ok(Exam::Clinical(Box::new(files::content_of(path)?)))
}

fn scenarios(path: &Path, text: &str) -> Result<ScenarioSet, WrongUse> {
    read_file(text).map_err(|bad| WrongUse(format!("{}: {bad}", path.display())))
}

/// The scenarios of all files of a directory, as one benchmark.
fn directory(path: &Path) -> anyhow::Result<Exam> {
    let shown = path.display();
    let entries = fs_err::read_dir(path).map_err(|error| WrongUse(error.to_string()))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    let is_yaml = |file: &&std::path::PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        file.is_file() && matches!(extension, Some("yaml" | "yml"))
    };
    let mut all = ScenarioSet {
        name: match path.canonicalize() {
            Ok(whole) => whole
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            Err(_) => shown.to_string(),
        },
        ..ScenarioSet::default()
    };
    for file in files.iter().filter(is_yaml) {
        let text = fs_err::read_to_string(file).map_err(|error| WrongUse(error.to_string()))?;
        let set = scenarios(file, &text)?;
        for scenario in set.scenarios {
            if all.scenarios.iter().any(|one| one.name == scenario.name) {
                return Err(WrongUse(format!(
                    "{shown} has two scenarios named '{}'",
                    scenario.name
                ))
                .into());
            }
            all.scenarios.push(scenario);
        }
        for (kind, script) in set.custom {
            if all
                .custom
                .insert(kind.clone(), script.clone())
                .is_some_and(|other| other != script)
            {
                return Err(WrongUse(format!("{shown} has two scorers of type '{kind}'")).into());
            }
        }
    }
    match all.scenarios.is_empty() {
        true => Err(WrongUse(format!(
            "{shown} has no file of scenarios (*.yaml) and no Harbor task (task.toml)"
        ))
        .into()),
        false => Ok(Exam::Coding(all)),
    }
}

/// Why a name means nothing, with those that are like it.
fn unknown(named: &str) -> WrongUse {
    let mut like: Vec<(f64, &str)> = names()
        .map(|name| (strsim::jaro_winkler(named, name), name))
        .filter(|(score, _)| *score >= LIKE)
        .collect();
    like.sort_by(|one, other| other.0.total_cmp(&one.0));
    let like: Vec<&str> = like.into_iter().take(3).map(|(_, name)| name).collect();
    let advice = match like.is_empty() {
        true => format!("shipped are {}", names().collect::<Vec<_>>().join(", ")),
        false => format!("did you mean {}?", like.join(" or ")),
    };
    WrongUse(format!(
        "there is no benchmark '{named}': {advice} A file, a directory of scenarios, or slug@version on a server will do as well"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_benchmark_is_found_by_its_name() {
        for name in names() {
            assert!(Exam::find(name).is_ok(), "{name}");
        }
        assert!(matches!(Exam::find("mine@3"), Ok(Exam::Published(_))));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let told = |name: &str| Exam::find(name).err().unwrap().to_string();
        assert!(
            told("fax-referal").contains("did you mean fax-referral?"),
            "{}",
            told("fax-referal")
        );
        assert!(
            told("zzzz").contains("shipped are fax-referral, "),
            "{}",
            told("zzzz")
        );
        assert!(told("x@y").contains("there is no benchmark 'x@y'"));
    }

    #[test]
    fn the_files_of_a_directory_are_one_benchmark() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/coding");
        let Ok(Exam::Coding(set)) = Exam::find(directory) else {
            panic!("they are scenarios")
        };
        assert_eq!(set.name, "coding");
        assert!(set.scenarios.len() >= 8);
        let empty = tempfile::tempdir().unwrap();
        let told = Exam::find(empty.path().to_str().unwrap()).err().unwrap();
        assert!(told.to_string().contains("no file of scenarios"));
    }
}
