//! Whether a policy lets an agent through.

use proctor_core::{
    canonical::Digest,
    id::kinds::OrganizationId,
    policy::{Policy, PolicyLine, Rule, Selection},
    run::Run,
};
use proctor_macros::boxed_futures;
use proctor_statistics::{
    Alpha, Attempts, GateVerdict, Line, LineResult, Never, Pair, Tasks, flips, gate, words,
};
use proctor_store::comparisons::{NewGateResult, NewResult};
use serde_json::{Value, json};

use super::{
    ComparisonProblem, NewComparison, Side,
    compare::{Sides, headline, name_of},
    criteria::{KeyedScores, ScoresByTaskRun, is_missed},
    named::{NamesNothing, meant, names_nothing},
    report::{GateReport, LineReport, ViolationReport},
    side::{Restriction, pairs},
};
use crate::{engine::Engine, error::EngineError};

/// How many violations are listed of a line.
const LISTED: usize = 100;
/// The label in which a run says what it cost as a whole, in US dollars.
const COST: &str = "cost_usd";
/// How many violations a sentence names.
const NAMED: usize = 3;

/// A gate that is asked for.
#[derive(Clone, Debug)]
pub struct NewGate {
    /// The candidate.
    pub candidate: Selection,
    /// What it is compared with, if that is not what the policy says.
    pub baseline: Option<Selection>,
    /// What it must prove.
    pub policy: Policy,
    /// The policy as it was given.
    pub document: Value,
    /// The one-sided level of every line.
    pub alpha: Alpha,
    /// Whether to compare what differs in more than the agent.
    pub even_though: bool,
    /// What the baseline is called in sentences, if that is more than how it was chosen.
    pub baseline_name: Option<String>,
}

/// What a line is decided from.
enum Measured {
    Change {
        at: f64,
        tasks: Tasks<Pair>,
    },
    Level {
        at: f64,
        tasks: Tasks<Attempts>,
    },
    Never {
        never: Never,
        violations: Vec<ViolationReport>,
    },
}

#[boxed_futures]
impl Engine {
    /// Decides whether a policy lets an agent through, and keeps the decision.
    pub async fn gate(
        &self,
        organization: OrganizationId,
        new: NewGate,
    ) -> Result<GateReport, EngineError> {
        let report = self.decide_gate(organization, &new).await?;
        let kept = kept(&report)?;
        self.store().create_gate(organization, &kept).await?;
        Ok(report)
    }
}

/// A gate as it is kept.
pub(crate) fn kept(report: &GateReport) -> Result<NewGateResult, EngineError> {
    let body =
        serde_json::to_value(report).map_err(|error| EngineError::Fault(error.to_string()))?;
    let headline = json!({
        "id": body["id"], "created_at": body["created_at"], "verdict": report.verdict,
        "sentences": report.sentences, "about": report.about,
        "a": report.a.as_ref().map(headline), "b": headline(&report.b),
        "policy_digest": report.policy_digest,
    });
    Ok(NewGateResult {
        verdict: report.verdict.as_str(),
        result: NewResult {
            id: report.id,
            headline,
            body,
            created_at: report.created_at,
        },
    })
}

impl Engine {
    /// Decides whether a policy lets an agent through, and keeps nothing.
    pub(crate) async fn decide_gate(
        &self,
        organization: OrganizationId,
        new: &NewGate,
    ) -> Result<GateReport, EngineError> {
        let candidate = &new.candidate;
        let runs = self
            .selected_runs(organization, "run", candidate, None, &[])
            .await?;
        let baseline = new.baseline.as_ref().or(new.policy.baseline.as_ref());
        let a = match baseline {
            None => None,
            Some(baseline) => Some(self.baseline_side(organization, baseline, &runs).await?),
        };
        let b = self.pool(organization, runs).await?;
        let differences = self.differences(a.as_ref(), &b).await?;
        if !differences.is_empty() && !new.even_though {
            return Err(ComparisonProblem::NotComparable(differences).into());
        }
        self.decide(new, baseline, a, b, differences).await
    }

    async fn baseline_side(
        &self,
        organization: OrganizationId,
        baseline: &Selection,
        candidate: &[Run],
    ) -> Result<Side, EngineError> {
        let benchmark = candidate.first().map(|run| run.pinned.benchmark);
        let except: Vec<_> = candidate.iter().map(|run| run.id).collect();
        let runs = self
            .selected_runs(organization, "baseline", baseline, benchmark, &except)
            .await?;
        self.pool(organization, runs).await
    }

    async fn decide(
        &self,
        new: &NewGate,
        baseline: Option<&Selection>,
        a: Option<Side>,
        b: Side,
        differences: Vec<String>,
    ) -> Result<GateReport, EngineError> {
        let policy = &new.policy;
        let asks_for_criteria = policy
            .lines
            .iter()
            .any(|line| !line.keys.is_empty() || matches!(line.rule, Rule::Never { .. }));
        let mut scores = ScoresByTaskRun::default();
        if asks_for_criteria {
            for side in a.iter().chain([&b]) {
                if !side.shows_criteria {
                    let message = "is about single criteria, which the taker of a scored run of somebody else's benchmark may not read";
                    return Err(wrong("policy.line", message));
                }
                scores.extend_with(self.scores_of(side).await?);
            }
        }
        let mut measured = Vec::with_capacity(policy.lines.len());
        for (place, line) in policy.lines.iter().enumerate() {
            measured.push(measure(place, line, a.as_ref(), &b, &scores)?);
        }
        let lines: Vec<Line<'_>> = measured
            .iter()
            .map(|one| match one {
                Measured::Change { at, tasks } => Line::Change {
                    tasks,
                    at: *at,
                    about: policy.about,
                },
                Measured::Level { at, tasks } => Line::Level {
                    tasks,
                    at: *at,
                    about: policy.about,
                },
                Measured::Never { never, .. } => Line::Never(*never),
            })
            .collect();
        let decided = gate(&lines, new.alpha).map_err(ComparisonProblem::from)?;
        let chosen_by = || baseline.map_or_else(String::new, Selection::in_words);
        let called = new.baseline_name.clone().unwrap_or_else(chosen_by);
        let dollars = dollars_per_attempt(a.iter().chain([&b]));
        let mut reports = Vec::with_capacity(lines.len());
        let parts = policy.lines.iter().zip(&measured);
        for ((asked, measured), (line, result)) in parts.zip(lines.iter().zip(&decided.lines)) {
            let name = never_name(asked);
            let known = words::Known {
                baseline: &called,
                never: &name,
                dollars_per_attempt: dollars,
            };
            let sentence = words::line(line, result, known, new.alpha);
            let sentence = readable(sentence, measured, a.as_ref(), &b);
            reports.push(line_report(asked, measured, result, sentence));
        }
        self.gate_report(new, baseline, (a, b), differences, reports, decided.verdict)
            .await
    }

    async fn gate_report(
        &self,
        new: &NewGate,
        baseline: Option<&Selection>,
        (a, b): (Option<Side>, Side),
        differences: Vec<String>,
        lines: Vec<LineReport>,
        decided: GateVerdict,
    ) -> Result<GateReport, EngineError> {
        // Each side alone: void attempts of one must not hide behind the other's. A baseline counts only where a line compares with it.
        let compares = new.policy.compares();
        let void_share = a
            .iter()
            .filter(|_| compares)
            .chain([&b])
            .map(void_share)
            .fold(0.0, f64::max);
        let mut sentences: Vec<String> = lines.iter().map(|line| line.sentence.clone()).collect();
        let mut verdict = decided;
        if let Some(most) = new.policy.max_void
            && void_share > most
        {
            sentences.push(format!(
                "INCONCLUSIVE  {:.1} % of the attempts are void, more than the {:.1} % that the policy allows: run them again.",
                100.0 * void_share,
                100.0 * most
            ));
            // A failure stands: voids were counted in the agent's favour there.
            if verdict == GateVerdict::Pass {
                verdict = GateVerdict::Inconclusive;
            }
        }
        let mut warnings = Vec::new();
        if !differences.is_empty() {
            warnings.push("compared although the two sides are not of the same exam".to_owned());
        }
        let b_report = self.side_report(&b, &new.candidate).await?;
        let mut report = GateReport {
            id: self.store().fresh_id(),
            created_at: self.now(),
            verdict,
            sentences,
            about: new.policy.about.as_str(),
            lines,
            policy: new.document.clone(),
            policy_digest: Digest::of(&new.document).to_string(),
            a: None,
            b: b_report,
            comparable: differences.is_empty(),
            differences: differences.clone(),
            void_share,
            comparison: None,
            warnings,
        };
        if let (Some(a), Some(baseline)) = (a, baseline) {
            report.a = Some(self.side_report(&a, baseline).await?);
            let asked = NewComparison {
                a: baseline.clone(),
                b: new.candidate.clone(),
                about: new.policy.about,
                clusters: None,
                axes: true,
                even_though: true,
            };
            let sides = Sides { a, b, differences };
            match self.comparison_of(&sides, &asked).await {
                Ok(comparison) => report.comparison = Some(comparison),
                // The gate has its answer; that there is no interval to show beside it is said.
                Err(EngineError::Comparison(problem)) => {
                    report
                        .warnings
                        .push(format!("no comparison is shown: {problem}"));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(report)
    }
}

fn wrong(member: impl Into<String>, message: impl Into<String>) -> EngineError {
    EngineError::Comparison(ComparisonProblem::Member {
        member: member.into(),
        message: message.into(),
    })
}

/// What an attempt costs on average, if every run says what it cost as a whole. Unknown is not free.
fn dollars_per_attempt<'a>(sides: impl Iterator<Item = &'a Side>) -> Option<f64> {
    let (mut dollars, mut attempts) = (0.0, 0.0);
    for side in sides {
        for run in &side.runs {
            let said = run.particulars.metadata.get(COST)?;
            let cost: f64 = said.trim().parse().ok()?;
            if !cost.is_finite() || cost < 0.0 {
                return None;
            }
            dollars += cost;
        }
        attempts += side.attempts.len() as f64;
    }
    (attempts > 0.0).then(|| dollars / attempts)
}

/// The share of a side's attempts that is void.
fn void_share(side: &Side) -> f64 {
    let void = side.attempts.iter().filter(|one| one.result.is_void());
    match side.attempts.len() {
        0 => 0.0,
        planned => void.count() as f64 / planned as f64,
    }
}

/// What a line is decided from.
fn measure(
    place: usize,
    line: &PolicyLine,
    a: Option<&Side>,
    b: &Side,
    scores: &ScoresByTaskRun,
) -> Result<Measured, EngineError> {
    let definition = &b.prepared.benchmark;
    if let Some(NamesNothing { member, message }) = names_nothing(place, line, definition) {
        return Err(wrong(member, message));
    }
    let keyed = (!line.keys.is_empty())
        .then(|| KeyedScores::of(definition, &line.keys, line.axis.as_deref(), scores));
    let restriction = Restriction {
        axis: line.axis.as_deref(),
        tags: &line.tags,
        keys: keyed.as_ref(),
    };
    Ok(match line.rule {
        Rule::Change { at } => {
            let Some(a) = a else {
                let message = "is required: a line of the kind change compares with a baseline; name a run, or labels in the policy";
                return Err(wrong("baseline", message));
            };
            let tasks = pairs(a, b, restriction, None).map_err(ComparisonProblem::from)?;
            Measured::Change { at, tasks }
        }
        Rule::Level { at } => {
            let tasks = b
                .tasks(restriction, None)
                .map_err(ComparisonProblem::from)?;
            Measured::Level { at, tasks }
        }
        Rule::Never { max_rate, .. } => never(b, line, max_rate, scores),
    })
}

/// How often criteria that must never be missed were checked in the attempts of a side, and missed.
///
/// An attempt of an agent that crashed or timed out is checked if its frozen world was judged. What was not judged could not be checked.
fn never(
    side: &Side,
    line: &PolicyLine,
    max_rate: Option<f64>,
    scores: &ScoresByTaskRun,
) -> Measured {
    let meant = meant(line, &side.prepared.benchmark);
    let mut never = Never {
        max_rate,
        ..Never::default()
    };
    let mut violations = Vec::new();
    for attempt in &side.attempts {
        let Some(criteria) = meant.get(&attempt.task) else {
            continue;
        };
        let found: Option<Vec<_>> = attempt.task_run.and_then(|task_run| {
            let found = criteria
                .iter()
                .map(|one| Some((*one, task_run, scores.get(task_run, one.id)?)));
            found.collect()
        });
        let Some(found) = found else {
            never.unchecked += 1;
            continue;
        };
        never.checked += 1;
        let missed: Vec<_> = found
            .into_iter()
            .filter(|(_, _, score)| is_missed(score))
            .collect();
        never.violations += u64::from(!missed.is_empty());
        for (criterion, task_run, score) in missed {
            if violations.len() < LISTED {
                violations.push(ViolationReport {
                    task: attempt.task,
                    name: name_of(side, side, attempt.task),
                    attempt: attempt.attempt,
                    task_run,
                    criterion: criterion.id,
                    label: criterion.label.clone(),
                    details: score.details.clone(),
                });
            }
        }
    }
    Measured::Never { never, violations }
}

/// What must never happen, in the words of the policy.
fn never_name(line: &PolicyLine) -> String {
    match line.rule {
        Rule::Never { critical: true, .. } => "a critical criterion was missed".to_owned(),
        _ if !line.keys.is_empty() => line.keys.join(", "),
        _ => line.axis.clone().unwrap_or_default(),
    }
}

/// Puts names in the place of ids, and says where violations are.
fn readable(sentence: String, measured: &Measured, a: Option<&Side>, b: &Side) -> String {
    match measured {
        Measured::Change { tasks, .. } => {
            let mut sentence = sentence;
            for flip in flips(tasks).iter().take(NAMED) {
                if let Ok(id) = flip.id.parse() {
                    let name = name_of(a.unwrap_or(b), b, id);
                    sentence = sentence.replace(&flip.id, &name);
                }
            }
            sentence
        }
        Measured::Level { .. } => sentence,
        Measured::Never { violations, .. } if violations.is_empty() => sentence,
        Measured::Never { violations, never } => {
            let shown = violations.iter().take(NAMED);
            let places: Vec<String> = shown
                .map(|one| format!("{}, attempt {}: {}", one.name, one.attempt, one.label))
                .collect();
            let more = match never.violations > NAMED as u64 {
                true => "; …",
                false => "",
            };
            let sentence = sentence.trim_end_matches('.');
            format!("{sentence} ({}{more}).", places.join("; "))
        }
    }
}

fn line_report(
    asked: &PolicyLine,
    measured: &Measured,
    result: &LineResult,
    sentence: String,
) -> LineReport {
    let kind = match asked.rule {
        Rule::Change { .. } => "change",
        Rule::Level { .. } => "level",
        Rule::Never { .. } => "never",
    };
    let (checked, unchecked, violations) = match measured {
        Measured::Never { never, violations } => (
            Some(never.checked),
            Some(never.unchecked),
            Some(violations.clone()),
        ),
        Measured::Change { .. } | Measured::Level { .. } => (None, None, None),
    };
    LineReport {
        kind,
        asks: asks(asked),
        verdict: result.verdict(),
        sentence,
        result: result.clone(),
        checked,
        unchecked,
        violations,
    }
}

/// What a line asks for, in words.
fn asks(line: &PolicyLine) -> String {
    let mut said = match line.rule {
        Rule::Change { at } if at < 0.0 => {
            format!("not worse by more than {:.1} pp", -100.0 * at)
        }
        Rule::Change { at } => format!("better by {:.1} pp", 100.0 * at),
        Rule::Level { at } => format!("above {:.1} %", 100.0 * at),
        Rule::Never { .. } => format!("never: {}", never_name(line)),
    };
    if let Some(axis) = &line.axis {
        said += &format!(", axis {axis}");
    }
    if !line.tags.is_empty() {
        said += &format!(", tags {}", line.tags.join(", "));
    }
    if !line.keys.is_empty() && !matches!(line.rule, Rule::Never { .. }) {
        said += &format!(", criteria {}", line.keys.join(", "));
    }
    said
}
