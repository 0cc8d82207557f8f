//! What two agents differ by, task by task.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proctor_core::{
    canonical::Digest,
    id::kinds::{OrganizationId, TaskId, TaskRunId},
    policy::Selection,
    results::AttemptResult,
    scoring::{DEFAULT_AXIS, Verdict},
};
use proctor_macros::boxed_futures;
use proctor_statistics::{About, Alpha, Comparison, Flip, Refusal, compare, flips, holm, words};
use proctor_store::comparisons::NewResult;
use serde_json::{Value, json};

use super::{
    ComparisonProblem, Side,
    criteria::ScoresByTaskRun,
    report::{
        AxisReport, ComparisonReport, CriterionFlip, DifferenceReport, FlipReport, SideReport,
        SideScore, TaskOnOneSide, VoidReport,
    },
    side::{ClusterBy, Restriction, pairs},
};
use crate::{engine::Engine, error::EngineError};

/// How many tasks that differ are listed.
const LISTED: usize = 500;
/// How much of a finding is kept with a comparison.
const LONGEST_DETAILS: usize = 500;

/// A comparison that is asked for.
#[derive(Clone, Debug)]
pub struct NewComparison {
    /// The baseline.
    pub a: Selection,
    /// What is compared with it.
    pub b: Selection,
    /// Which question is asked.
    pub about: About,
    /// By what tasks belong together: `tag:NAME`.
    pub clusters: Option<String>,
    /// Whether every axis is compared too.
    pub axes: bool,
    /// Whether to compare what differs in more than the agent.
    pub even_though: bool,
}

/// Two sides that may be compared.
pub(super) struct Sides {
    pub(super) a: Side,
    pub(super) b: Side,
    pub(super) differences: Vec<String>,
}

#[boxed_futures]
impl Engine {
    /// Compares two agents, and keeps what was found.
    pub async fn compare(
        &self,
        organization: OrganizationId,
        new: NewComparison,
    ) -> Result<ComparisonReport, EngineError> {
        let sides = self.sides(organization, &new).await?;
        let mut report = self.comparison_of(&sides, &new).await?;
        let id = self.store().fresh_id();
        report.id = Some(id);
        let body =
            serde_json::to_value(&report).map_err(|error| EngineError::Fault(error.to_string()))?;
        let headline = json!({
            "id": body["id"], "created_at": body["created_at"], "about": report.about,
            "sentence": report.sentence, "a": headline(&report.a), "b": headline(&report.b),
            "difference": report.comparison.difference, "low": report.comparison.low,
            "high": report.comparison.high, "p": report.comparison.p,
        });
        let kept = NewResult {
            id,
            headline,
            body,
            created_at: report.created_at,
        };
        self.store().create_comparison(organization, &kept).await?;
        Ok(report)
    }
}

/// A side in a list.
pub(super) fn headline(side: &SideReport) -> Value {
    json!({
        "runs": side.runs, "agent": side.agent, "benchmark": side.benchmark,
        "score": side.summary.score,
    })
}

impl Engine {
    /// The runs of both sides, if they can be compared.
    pub(super) async fn sides(
        &self,
        organization: OrganizationId,
        new: &NewComparison,
    ) -> Result<Sides, EngineError> {
        // What is named decides which benchmark labels mean.
        let (a, b) = match (&new.a, &new.b) {
            (Selection::Runs(_), Selection::Labelled { .. }) => {
                let a = self
                    .selected_runs(organization, "a", &new.a, None, &[])
                    .await?;
                let benchmark = a.first().map(|run| run.pinned.benchmark);
                let b = self
                    .selected_runs(organization, "b", &new.b, benchmark, &[])
                    .await?;
                (a, b)
            }
            _ => {
                let b = self
                    .selected_runs(organization, "b", &new.b, None, &[])
                    .await?;
                let benchmark = b.first().map(|run| run.pinned.benchmark);
                let a = self
                    .selected_runs(organization, "a", &new.a, benchmark, &[])
                    .await?;
                (a, b)
            }
        };
        let a = self.pool(organization, a).await?;
        let b = self.pool(organization, b).await?;
        let differences = self.differences(Some(&a), &b).await?;
        if !differences.is_empty() && !new.even_though {
            return Err(ComparisonProblem::NotComparable(differences).into());
        }
        Ok(Sides { a, b, differences })
    }

    /// What two sides differ by; it has no name yet.
    pub(super) async fn comparison_of(
        &self,
        sides: &Sides,
        new: &NewComparison,
    ) -> Result<ComparisonReport, EngineError> {
        let Sides { a, b, differences } = sides;
        let clusters = read_clusters(new.clusters.as_deref(), a, b)?;
        let clusters = clusters.as_ref();
        let problem = |refusal: Refusal| EngineError::from(ComparisonProblem::from(refusal));
        let tasks = pairs(a, b, Restriction::default(), clusters).map_err(problem)?;
        let found = compare(&tasks, new.about, Alpha::FIVE_PERCENT).map_err(problem)?;
        let flipped = flips(&tasks);
        let flips_total = flipped.len();
        let listed = &flipped[..flips_total.min(LISTED)];
        let axes = match new.axes {
            true => Some(axes_of(a, b, new.about, clusters).map_err(problem)?),
            false => None,
        };
        Ok(ComparisonReport {
            id: None,
            created_at: self.now(),
            about: new.about.as_str(),
            sentence: words::comparison(&found, new.about, Alpha::FIVE_PERCENT),
            comparable: differences.is_empty(),
            differences: differences.clone(),
            clusters: new.clusters.clone(),
            comparison: found,
            axes,
            settings: settings(a, b),
            flips: self.flips_of(a, b, listed).await?,
            flips_total,
            unpaired: unpaired(a, b),
            void: [("a", a), ("b", b)]
                .into_iter()
                .flat_map(|(name, side)| voids(name, side))
                .collect(),
            a: self.side_report(a, &new.a).await?,
            b: self.side_report(b, &new.b).await?,
        })
    }

    /// A side as it is shown.
    pub(super) async fn side_report(
        &self,
        side: &Side,
        chosen_by: &Selection,
    ) -> Result<SideReport, EngineError> {
        let first = side
            .runs
            .first()
            .ok_or_else(|| EngineError::Fault("a side without runs".to_owned()))?;
        Ok(SideReport {
            runs: side.runs.iter().map(|run| run.id).collect(),
            chosen_by: chosen_by.in_words(),
            agent: side.agent.clone(),
            benchmark: self.version_name(first).await?,
            digest: first.pinned.digest.to_string(),
            rubric: side.prepared.rubric_digest().to_string(),
            attempts_digest: attempts_digest(&side.attempts).to_string(),
            summary: SideScore::from(&side.summary()),
        })
    }

    /// The tasks that differ, with the criteria that flipped.
    async fn flips_of(
        &self,
        a: &Side,
        b: &Side,
        flipped: &[Flip],
    ) -> Result<Vec<FlipReport>, EngineError> {
        let wanted: HashMap<TaskId, &Flip> = flipped
            .iter()
            .filter_map(|flip| Some((flip.id.parse().ok()?, flip)))
            .collect();
        let (of_a, of_b) = (attempts_at(a, &wanted), attempts_at(b, &wanted));
        let shows_criteria = a.shows_criteria && b.shows_criteria;
        let mut scores = ScoresByTaskRun::default();
        if shows_criteria {
            let attempts = of_a.values().chain(of_b.values()).flatten();
            let task_runs: Vec<TaskRunId> = attempts.filter_map(|one| one.task_run).collect();
            scores.extend(self.store().criterion_scores_of(&task_runs).await?);
        }
        let mut reports = Vec::with_capacity(flipped.len());
        for flip in flipped {
            let Ok(task) = flip.id.parse::<TaskId>() else {
                continue;
            };
            let nothing = Vec::new();
            let (in_a, in_b) = (
                of_a.get(&task).unwrap_or(&nothing),
                of_b.get(&task).unwrap_or(&nothing),
            );
            reports.push(FlipReport {
                task,
                name: name_of(a, b, task),
                a: flip.mean_a,
                b: flip.mean_b,
                difference: flip.difference,
                passes_a: passes(in_a),
                passes_b: passes(in_b),
                task_runs_a: in_a.iter().filter_map(|one| one.task_run).collect(),
                task_runs_b: in_b.iter().filter_map(|one| one.task_run).collect(),
                criteria: shows_criteria.then(|| criteria_of(b, task, in_a, in_b, &scores)),
            });
        }
        Ok(reports)
    }
}

/// By what tasks belong together, if these sides know it.
pub(super) fn read_clusters(
    text: Option<&str>,
    a: &Side,
    b: &Side,
) -> Result<Option<ClusterBy>, EngineError> {
    let Some(text) = text else {
        return Ok(None);
    };
    let wrong = |message: String| ComparisonProblem::Member {
        member: "clusters".to_owned(),
        message,
    };
    let clusters = ClusterBy::read(text).ok_or_else(|| {
        wrong("must be tag:NAME, such as tag:patient for tasks with the tag patient:7".to_owned())
    })?;
    if !clusters.is_known_to(a) && !clusters.is_known_to(b) {
        let name = clusters.name();
        let message = format!("no task has a tag '{name}:…' or a label '{name}'");
        return Err(wrong(message).into());
    }
    Ok(Some(clusters))
}

/// The digest of everything that a side was measured by, in whatever order.
fn attempts_digest(attempts: &[AttemptResult]) -> Digest {
    let mut rows: Vec<String> = attempts
        .iter()
        .map(|one| {
            let result = match (one.fault(), one.score()) {
                (Some(fault), _) => fault.cause.as_str().to_owned(),
                (None, Some(score)) => format!("{:?}", score.value()),
                (None, None) => "pending".to_owned(),
            };
            format!("{} {} {result}\n", one.task, one.run)
        })
        .collect();
    rows.sort_unstable();
    Digest::of_bytes(rows.concat().as_bytes())
}

/// What two sides differ by on every axis that both have.
fn axes_of(
    a: &Side,
    b: &Side,
    about: About,
    clusters: Option<&ClusterBy>,
) -> Result<Vec<AxisReport>, Refusal> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for side in [a, b] {
        for task in &side.prepared.benchmark.tasks {
            let axes = task.criteria.iter();
            names.extend(axes.map(|one| one.axis.as_deref().unwrap_or(DEFAULT_AXIS)));
        }
    }
    let mut compared: Vec<(&str, Result<Comparison, Refusal>)> = Vec::new();
    for axis in names {
        let restriction = Restriction {
            axis: Some(axis),
            ..Restriction::default()
        };
        let tasks = pairs(a, b, restriction, clusters)?;
        compared.push((axis, compare(&tasks, about, Alpha::FIVE_PERCENT)));
    }
    let p_values: Vec<f64> = compared
        .iter()
        .filter_map(|(_, found)| found.as_ref().ok().map(|found| found.p))
        .collect();
    let mut corrected = holm(&p_values).into_iter();
    Ok(compared
        .into_iter()
        .map(|(axis, found)| match found {
            Ok(found) => AxisReport {
                axis: axis.to_owned(),
                sentence: words::comparison(&found, about, Alpha::FIVE_PERCENT),
                comparison: Some(found),
                p_holm: corrected.next(),
            },
            Err(refusal) => AxisReport {
                axis: axis.to_owned(),
                sentence: refusal.to_string(),
                comparison: None,
                p_holm: None,
            },
        })
        .collect())
}

/// What was said about the two sides and is not the same.
fn settings(a: &Side, b: &Side) -> Vec<DifferenceReport> {
    let mut said: Vec<(String, Value, Value)> =
        vec![("agent".to_owned(), json!(a.agent), json!(b.agent))];
    let labels = |side: &Side| -> BTreeMap<String, String> {
        let first = side.runs.first();
        first.map_or_else(BTreeMap::new, |run| run.particulars.metadata.clone())
    };
    let (of_a, of_b) = (labels(a), labels(b));
    let names: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    for name in names {
        said.push((
            format!("label {name}"),
            json!(of_a.get(name)),
            json!(of_b.get(name)),
        ));
    }
    said.into_iter()
        .filter(|(_, a, b)| a != b)
        .map(|(what, a, b)| DifferenceReport { what, a, b })
        .collect()
}

/// What a task is called.
pub(super) fn name_of(a: &Side, b: &Side, task: TaskId) -> String {
    let found = b.task(task).or_else(|| a.task(task));
    found.map_or_else(|| task.to_string(), |task| task.name.clone())
}

fn attempts_at<'a, T>(
    side: &'a Side,
    wanted: &HashMap<TaskId, T>,
) -> HashMap<TaskId, Vec<&'a AttemptResult>> {
    let mut found: HashMap<TaskId, Vec<&AttemptResult>> = HashMap::new();
    for attempt in &side.attempts {
        if wanted.contains_key(&attempt.task) {
            found.entry(attempt.task).or_default().push(attempt);
        }
    }
    found
}

/// How many of the attempts that count passed.
fn passes(attempts: &[&AttemptResult]) -> (usize, usize) {
    let verdicts: Vec<Verdict> = attempts.iter().filter_map(|one| one.verdict()).collect();
    let passed = verdicts.iter().filter(|one| **one == Verdict::Pass);
    (passed.count(), verdicts.len())
}

/// The criteria of a task that the two sides did not meet equally well, the worst for B first.
fn criteria_of(
    b: &Side,
    task: TaskId,
    in_a: &[&AttemptResult],
    in_b: &[&AttemptResult],
    scores: &ScoresByTaskRun,
) -> Vec<CriterionFlip> {
    let Some(definition) = b.task(task) else {
        return Vec::new();
    };
    let mut flipped: Vec<(f64, CriterionFlip)> = Vec::new();
    for criterion in &definition.criteria {
        let found = |attempts: &[&AttemptResult]| {
            let scores = attempts.iter().filter_map(|one| {
                let found = scores.get(one.task_run?, criterion.id)?;
                Some((found.score, found.details.clone()))
            });
            scores.collect::<Vec<(f64, String)>>()
        };
        let mean = |found: &[(f64, String)]| {
            let total: f64 = found.iter().map(|(score, _)| score).sum();
            (!found.is_empty()).then(|| total / found.len() as f64)
        };
        let (of_a, of_b) = (found(in_a), found(in_b));
        let (a, b) = (mean(&of_a), mean(&of_b));
        let difference = b.unwrap_or(0.0) - a.unwrap_or(0.0);
        if difference.abs() <= proctor_statistics::TIE {
            continue;
        }
        let worse = if difference < 0.0 { &of_b } else { &of_a };
        let details = worse.iter().find(|(score, _)| *score < 1.0);
        let details = details.map_or("", |(_, details)| details.as_str());
        flipped.push((
            difference,
            CriterionFlip {
                criterion: criterion.id,
                key: criterion.key.clone(),
                label: criterion.label.clone(),
                axis: criterion.axis.clone(),
                a,
                b,
                details: details.chars().take(LONGEST_DETAILS).collect(),
            },
        ));
    }
    flipped.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    flipped.into_iter().map(|(_, flip)| flip).collect()
}

fn unpaired(a: &Side, b: &Side) -> Vec<TaskOnOneSide> {
    let tasks =
        |side: &Side| -> BTreeSet<TaskId> { side.attempts.iter().map(|one| one.task).collect() };
    let (of_a, of_b) = (tasks(a), tasks(b));
    let only = |side: &'static str, one: &BTreeSet<TaskId>, other: &BTreeSet<TaskId>| {
        let tasks = one.difference(other);
        tasks
            .map(|task| TaskOnOneSide {
                task: *task,
                name: name_of(a, b, *task),
                side,
            })
            .collect::<Vec<_>>()
    };
    let mut found = only("a", &of_a, &of_b);
    found.extend(only("b", &of_b, &of_a));
    found.truncate(LISTED);
    found
}

fn voids(name: &'static str, side: &Side) -> Vec<VoidReport> {
    let mut found: BTreeMap<TaskId, BTreeMap<&'static str, u32>> = BTreeMap::new();
    for attempt in side.attempts.iter().filter(|one| one.result.is_void()) {
        if let Some(fault) = attempt.fault() {
            let causes = found.entry(attempt.task).or_default();
            *causes.entry(fault.cause.as_str()).or_default() += 1;
        }
    }
    let reports = found.into_iter().map(|(task, causes)| VoidReport {
        task,
        name: name_of(side, side, task),
        side: name,
        causes,
    });
    reports.take(LISTED).collect()
}
