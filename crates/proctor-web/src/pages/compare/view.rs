//! A comparison as a page.

use std::collections::{BTreeSet, HashMap};

use askama::Template;
use axum::response::Response;
use proctor_core::{
    id::kinds::{ComparisonId, TaskId},
    scoring::{DEFAULT_AXIS, Score, Verdict},
};
use proctor_engine::comparisons::ComparedTask;

use super::{
    report::{CriterionFlip, Flip, Report, p_value},
    sides::{Compared, Question, Ratio, mark},
};
use crate::{
    error::PageError,
    html::{self, Given, Html, Mark},
    plots::{self, Dot},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many tasks that differ are on a page.
const A_PAGE: usize = 100;
/// How many criteria that flipped stand beside a task.
const CRITERIA: usize = 4;
/// How many tasks in which only B missed something critical are named.
const HARMS: usize = 8;
/// How many void tasks, and tasks on one side only, are listed.
const APART: usize = 50;

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage<'c> {
    shell: Shell,
    params: Params,
    report: &'c Report,
    time: Ratio,
    cost: Ratio,
    differences: Html,
    scatter: Option<Html>,
    flips: Vec<FlipRow<'c>>,
    found: usize,
    part: usize,
    parts: usize,
    /// Tasks in which B missed something critical and A did not, and the other way round.
    harms: [Vec<Harm>; 2],
    /// The name of one that was kept.
    kept: Option<ComparisonId>,
    is_organization: bool,
    shows_criteria: bool,
}

/// A task in which only one side missed something critical.
struct Harm {
    name: Html,
    href: Option<String>,
}

/// A task that differs.
struct FlipRow<'c> {
    flip: &'c Flip,
    a: Mark,
    b: Mark,
    critical: [bool; 2],
    side_by_side: Option<String>,
}

impl FlipRow<'_> {
    fn criteria(&self) -> impl Iterator<Item = &CriterionFlip> {
        self.flip.criteria.iter().flatten().take(CRITERIA)
    }

    fn more(&self) -> usize {
        let all = self.flip.criteria.as_ref().map_or(0, Vec::len);
        all.saturating_sub(CRITERIA)
    }

    fn tone(&self) -> &'static str {
        if self.flip.difference < 0.0 {
            "worse"
        } else {
            "better"
        }
    }
}

/// Two task runs beside each other.
pub(super) fn side_by_side(flip: &Flip) -> Option<String> {
    let (a, b) = (flip.task_runs_a.first()?, flip.task_runs_b.first()?);
    Some(format!("/ui/compare/task-runs?a={a}&b={b}"))
}

impl ComparePage<'_> {
    fn difference(&self) -> String {
        html::difference(self.report.comparison.difference)
    }

    fn ends(&self) -> (String, String) {
        let numbers = &self.report.comparison;
        (
            html::difference(numbers.low),
            html::difference(numbers.high),
        )
    }

    fn p(&self) -> String {
        p_value(self.report.comparison.p)
    }

    /// Worse, same and better as one bar.
    fn split(&self) -> Html {
        let numbers = &self.report.comparison;
        let total = numbers.tasks.max(1) as f64;
        let mut at = 0.0;
        let mut bar = String::new();
        for (class, count) in [
            ("fill-worse", numbers.worse),
            ("fill-line", numbers.same),
            ("fill-better", numbers.better),
        ] {
            let width = count as f64 / total * 100.0;
            bar.push_str(&format!(
                "<rect class={class} x={at:.2} width={width:.2} height=12 />"
            ));
            at += width;
        }
        Html::trusted(format!(
            "<svg class=split viewBox=\"0 0 100 12\" preserveAspectRatio=none role=img aria-label=\"{} worse, {} the same, {} better\">{bar}</svg>",
            numbers.worse, numbers.same, numbers.better
        ))
    }

    /// The rows of the table of axes: name, A, B, difference, picture, p.
    fn axes(&self) -> Vec<(String, Option<AxisRow>, String)> {
        let reach = self.report.reach();
        let axes = self.report.axes.iter().flatten();
        axes.map(|axis| {
            let name = match axis.axis == DEFAULT_AXIS {
                true => "general".to_owned(),
                false => axis.axis.clone(),
            };
            let row = axis.comparison.as_ref().map(|numbers| AxisRow {
                a: html::score(numbers.mean_a),
                b: html::score(numbers.mean_b),
                difference: html::difference(numbers.difference),
                low: html::difference(numbers.low),
                high: html::difference(numbers.high),
                picture: plots::forest(numbers.difference, numbers.low, numbers.high, reach),
                p: axis.p_holm.map_or_else(String::new, p_value),
                tone: match axis.p_holm {
                    Some(p) if p <= 0.05 && numbers.difference > 0.0 => "better",
                    Some(p) if p <= 0.05 => "worse",
                    _ => "",
                },
            });
            (name, row, axis.sentence.clone())
        })
        .collect()
    }

    /// The axis over everything, for the last row of the table.
    fn overall(&self) -> Html {
        let numbers = &self.report.comparison;
        plots::forest(
            numbers.difference,
            numbers.low,
            numbers.high,
            self.report.reach(),
        )
    }

    fn reach(&self) -> String {
        format!("{:.2}", self.report.reach())
    }

    fn swapped(&self) -> String {
        let mut params = Params::default();
        for (name, value) in self.params.pairs() {
            let name = match name {
                "a" => "b",
                "b" => "a",
                other => other,
            };
            params = params.and(name, value);
        }
        format!("/ui/compare{}", params.link())
    }

    /// The address of this comparison, without what is only how it is looked at.
    fn plain(&self) -> String {
        let mut params = Params::default();
        for (name, value) in self.params.pairs() {
            if matches!(name, "a" | "b" | "about" | "even-though") {
                params = params.and(name, value);
            }
        }
        params.link()
    }

    /// The same comparison of what the report was made of, computed now.
    fn anew(&self) -> String {
        format!(
            "/ui/compare?{}&{}",
            self.report.a.query("a"),
            self.report.b.query("b")
        )
    }

    fn sorts(&self) -> Vec<(&'static str, String, bool)> {
        let plain = self.params.without("part");
        let current = self.params.get("sort").unwrap_or("worst");
        [
            ("worst", "worse first"),
            ("best", "better first"),
            ("size", "largest change"),
            ("name", "name"),
        ]
        .into_iter()
        .map(|(word, label)| (label, plain.link_with("sort", word), word == current))
        .collect()
    }

    /// Axes on which any criterion flipped, as filters.
    fn axis_chips(&self) -> Vec<(String, String, bool)> {
        let plain = self.params.without("part");
        let names: BTreeSet<&str> = self
            .report
            .flips
            .iter()
            .flat_map(|flip| flip.criteria.iter().flatten())
            .map(axis_of)
            .collect();
        if names.len() < 2 {
            return Vec::new();
        }
        let chip = |name: &str| {
            let is_on = self.params.is("axis", name);
            let link = plain.link_with("axis", if is_on { "" } else { name });
            (name.to_owned(), link, is_on)
        };
        names.into_iter().map(chip).collect()
    }

    fn part_link(&self, part: impl Given<usize>) -> String {
        self.params.link_with("part", &part.given().to_string())
    }

    fn of_side<'s, T>(&self, all: &'s [T], side: &str, is_of: impl Fn(&T) -> &str) -> Vec<&'s T> {
        all.iter().filter(|one| is_of(one) == side).collect()
    }

    /// What is void: task, side, cause.
    fn voids(&self) -> Vec<&super::report::VoidTask> {
        let mut all = self.of_side(&self.report.void, "a", |one| &one.side);
        all.extend(self.of_side(&self.report.void, "b", |one| &one.side));
        all.truncate(APART);
        all
    }

    /// What only one side has.
    fn unpaired(&self) -> Vec<&super::report::OnOneSide> {
        self.report.unpaired.iter().take(APART).collect()
    }

    fn about_link(&self, word: &str) -> String {
        self.params.without("part").link_with("about", word)
    }

    /// In how many tasks only B missed something critical.
    fn harms_of_b(&self) -> usize {
        self.harms[0].len()
    }

    /// In how many tasks only A did.
    fn harms_of_a(&self) -> usize {
        self.harms[1].len()
    }

    /// The first tasks in which only B did.
    fn first_harms(&self) -> Vec<&Harm> {
        self.harms[0].iter().take(HARMS).collect()
    }

    fn headline(&self) -> &'static str {
        match self.report.tone() {
            "better" => "B is better",
            "worse" => "B is worse",
            _ => "No difference can be seen",
        }
    }
}

/// A row of the table of axes.
struct AxisRow {
    a: String,
    b: String,
    difference: String,
    low: String,
    high: String,
    picture: Html,
    p: String,
    tone: &'static str,
}

fn axis_of(criterion: &CriterionFlip) -> &str {
    match criterion.axis.as_deref() {
        None | Some(DEFAULT_AXIS) => "general",
        Some(axis) => axis,
    }
}

/// The mark of a score where nothing else is known of the task.
fn mark_of(score: f64, (passed, counted): (usize, usize)) -> Mark {
    let verdict = Score::new(score.clamp(0.0, 1.0)).map(Verdict::of);
    match verdict {
        // What would pass by its score and does not missed something critical.
        Ok(Verdict::Pass) if counted > 0 && passed == 0 => Mark::Fail,
        Ok(verdict) => verdict.into(),
        Err(_) => Mark::Fail,
    }
}

/// A comparison that was just made.
pub(super) fn page(
    _state: &WebState,
    visitor: &Visitor,
    params: Params,
    compared: &Compared,
    question: &Question,
) -> Result<Response, PageError> {
    let shows = question.shows_criteria;
    draw(
        visitor,
        params,
        &compared.report,
        &compared.tasks,
        [compared.time, compared.cost],
        None,
        shows,
    )
}

/// A comparison that was kept.
pub(super) fn kept_page(
    visitor: &Visitor,
    params: Params,
    report: &Report,
    id: ComparisonId,
) -> Result<Response, PageError> {
    let unknown = [Ratio::default(); 2];
    draw(visitor, params, report, &[], unknown, Some(id), true)
}

fn draw(
    visitor: &Visitor,
    params: Params,
    report: &Report,
    tasks: &[ComparedTask],
    [time, cost]: [Ratio; 2],
    kept: Option<ComparisonId>,
    shows_criteria: bool,
) -> Result<Response, PageError> {
    let known: HashMap<TaskId, &ComparedTask> = tasks.iter().map(|one| (one.task, one)).collect();
    let row = |flip| flip_row(flip, &known, shows_criteria);
    let mut flips: Vec<FlipRow<'_>> = chosen(report, &params).into_iter().map(row).collect();
    let found = flips.len();
    let parts = found.div_ceil(A_PAGE).max(1);
    let part = params.number("part").unwrap_or(1);
    let part = usize::try_from(part).unwrap_or(1).clamp(1, parts);
    flips = flips
        .into_iter()
        .skip((part - 1) * A_PAGE)
        .take(A_PAGE)
        .collect();
    let numbers = &report.comparison;
    let title = format!("{} against {}", report.b.name(), report.a.name());
    crate::pages::page(&ComparePage {
        shell: visitor.shell(title, Section::Compare),
        differences: plots::differences(
            dots(report, tasks, shows_criteria),
            numbers.difference,
            numbers.low,
            numbers.high,
        ),
        scatter: (!tasks.is_empty()).then(|| plots::scatter(&pairs(tasks))),
        report,
        time,
        cost,
        flips,
        found,
        part,
        parts,
        harms: harms(tasks, shows_criteria),
        kept,
        is_organization: visitor.solver().is_none(),
        shows_criteria,
        params,
    })
}

/// The tasks that differ, filtered and sorted as the address says.
fn chosen<'r>(report: &'r Report, params: &Params) -> Vec<&'r Flip> {
    let axis = params.get("axis");
    let is_on_axis = |flip: &&Flip| {
        axis.is_none_or(|axis| {
            let mut criteria = flip.criteria.iter().flatten();
            criteria.any(|one| axis_of(one) == axis)
        })
    };
    let mut flips: Vec<&Flip> = report.flips.iter().filter(is_on_axis).collect();
    match params.get("sort").unwrap_or("worst") {
        "best" => flips.reverse(),
        "size" => flips.sort_by(|one, other| {
            let size = |flip: &Flip| flip.difference.abs();
            size(other).total_cmp(&size(one))
        }),
        "name" => flips.sort_by(|one, other| one.name.cmp(&other.name)),
        _ => {}
    }
    flips
}

fn flip_row<'r>(
    flip: &'r Flip,
    known: &HashMap<TaskId, &ComparedTask>,
    shows_criteria: bool,
) -> FlipRow<'r> {
    let task = known.get(&flip.task);
    let side = |place: usize| task.and_then(|task| task.sides[place].as_ref());
    let mark_at =
        |place: usize, score, passes| side(place).map_or_else(|| mark_of(score, passes), mark);
    let is_critical = |place: usize| side(place).is_some_and(|one| one.critical_misses > 0);
    FlipRow {
        a: mark_at(0, flip.a, flip.passes_a),
        b: mark_at(1, flip.b, flip.passes_b),
        critical: [is_critical(0), is_critical(1)],
        side_by_side: side_by_side(flip).filter(|_| shows_criteria),
        flip,
    }
}

/// The tasks in which only B, and only A, missed something critical.
fn harms(tasks: &[ComparedTask], links: bool) -> [Vec<Harm>; 2] {
    let missed = |task: &ComparedTask, place: usize| {
        let side = task.sides[place].as_ref();
        side.map(|one| one.critical_misses > 0)
    };
    let harm = |task: &ComparedTask| {
        let run = |place: usize| task.sides[place].as_ref()?.task_runs.first().copied();
        let runs = run(0).zip(run(1)).filter(|_| links);
        Harm {
            name: html::short(&task.name, 100),
            href: runs.map(|(a, b)| format!("/ui/compare/task-runs?a={a}&b={b}")),
        }
    };
    let only = |one: usize, other: usize| {
        let tasks = tasks.iter();
        let harmed = tasks
            .filter(|task| missed(task, one) == Some(true) && missed(task, other) == Some(false));
        harmed.map(harm).collect()
    };
    [only(1, 0), only(0, 1)]
}

fn pairs(tasks: &[ComparedTask]) -> Vec<(f64, f64)> {
    let score = |task: &ComparedTask, place: usize| task.sides[place].as_ref()?.score;
    let tasks = tasks.iter();
    tasks
        .filter_map(|task| score(task, 0).zip(score(task, 1)))
        .collect()
}

fn dots(report: &Report, tasks: &[ComparedTask], links: bool) -> Vec<Dot> {
    let title = |name: &str, a: f64, b: f64| {
        let name: String = name.chars().take(80).collect();
        let difference = html::difference(b - a);
        format!(
            "{name}: {} → {}, {difference}",
            html::score(a),
            html::score(b)
        )
    };
    if tasks.is_empty() {
        // One that was kept knows the tasks that differ, and how many are the same.
        let same = (0..report.comparison.same).map(|_| Dot {
            difference: 0.0,
            title: "the same".to_owned(),
            href: None,
        });
        let flips = report.flips.iter().map(|flip| Dot {
            difference: flip.difference,
            title: title(&flip.name, flip.a, flip.b),
            href: side_by_side(flip).filter(|_| links),
        });
        return flips.chain(same).collect();
    }
    let dot = |task: &ComparedTask| {
        let [a, b] = &task.sides;
        let (a, b) = (a.as_ref()?, b.as_ref()?);
        let (of_a, of_b) = a.score.zip(b.score)?;
        let runs = a.task_runs.first().zip(b.task_runs.first());
        Some(Dot {
            difference: of_b - of_a,
            title: title(&task.name, of_a, of_b),
            href: runs
                .filter(|_| links)
                .map(|(a, b)| format!("/ui/compare/task-runs?a={a}&b={b}")),
        })
    };
    tasks.iter().filter_map(dot).collect()
}
