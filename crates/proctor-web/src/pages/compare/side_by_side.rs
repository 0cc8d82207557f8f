//! `/ui/compare/task-runs`: two task runs beside each other, their criteria and their timelines aligned.

use std::collections::HashMap;

use askama::Template;
use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use proctor_core::{
    causes::with_causes,
    criterion_run::CriterionRun,
    definition::Criterion,
    id::kinds::{CriterionId, CriterionRunId, TaskRunId},
    time::Timestamp,
};
use proctor_engine::EngineError;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::{
    error::PageError,
    html::{self, Html, Mark},
    pages::{
        page,
        task_run::{Found, task_run_id},
    },
    query::Params,
    run_model::{counted_score, mark_of, why},
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
    timeline::describe::{Line, line},
};

/// How many events of each side are aligned; each timeline has all of them.
const EVENTS: usize = 3_000;
/// How many rows are shown.
const ROWS: usize = 500;
/// How many equal rows stay beside a difference.
const AROUND: usize = 3;

#[derive(Template)]
#[template(path = "side_by_side.html")]
struct SideBySidePage {
    shell: Shell,
    task: Html,
    back: String,
    swap: String,
    a: Head,
    b: Head,
    criteria: Vec<CriterionPair>,
    rows: Vec<Aligned>,
    /// How many rows are not shown.
    more: usize,
    /// How many events are on both sides, only on A, only on B.
    counts: [usize; 3],
    /// Whether the two differ in any event.
    is_diverged: bool,
    /// Why there is no timeline.
    no_timeline: Option<&'static str>,
    is_other_task: bool,
}

impl SideBySidePage {
    fn heads(&self) -> Vec<(&'static str, &'static str, &Head)> {
        vec![("A", "side-a", &self.a), ("B", "side-b", &self.b)]
    }
}

/// What stands above a side.
struct Head {
    href: String,
    taker: Html,
    benchmark: Html,
    mark: Mark,
    score: String,
    took: Option<String>,
    why: Option<String>,
    critical: usize,
}

/// A criterion on both sides.
struct CriterionPair {
    label: Html,
    axis: Option<String>,
    weight: String,
    is_critical: bool,
    is_flipped: bool,
    sides: [Option<CriterionSide>; 2],
}

/// A criterion on one side.
struct CriterionSide {
    id: CriterionRunId,
    mark: Mark,
    score: f64,
    details: Html,
}

impl CriterionSide {
    fn href(&self) -> String {
        format!("/ui/criterion-runs/{}", self.id)
    }
}

/// A row of the aligned timelines.
enum Aligned {
    /// Events of both sides, or of one.
    Events {
        cells: Vec<Option<EventCell>>,
        is_same: bool,
        /// Whether the sides part here.
        is_first: bool,
    },
    /// Events that are the same on both sides and are not shown.
    Folded(usize),
}

/// An event in the aligned timelines.
struct EventCell {
    href: String,
    at: String,
    lane: &'static str,
    title: Html,
    more: Option<Html>,
    answer: Html,
    is_error: bool,
    is_write: bool,
}

pub(super) async fn task_runs(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::read(query.as_deref());
    let wanted = |name: &str| {
        let text = params.get(name);
        let missing = || PageError::bad_request("Two task runs are compared, A and B.");
        task_run_id(text.ok_or_else(missing)?)
    };
    let a = Found::find(&state, &visitor, wanted("a")?).await?;
    let b = Found::find(&state, &visitor, wanted("b")?).await?;
    let shows = a.model.shows_evidence && b.model.shows_evidence;
    let (mut criteria, mut aligned) = (Vec::new(), Alignment::default());
    let is_in_box = a.task_run.devbox.is_some() || b.task_run.devbox.is_some();
    if shows {
        let of_a = state.store().criterion_runs(a.task_run.id).await?;
        let of_b = state.store().criterion_runs(b.task_run.id).await?;
        criteria = pairs(&a, &of_a, &b, &of_b)?;
        if !is_in_box {
            aligned = align(&lines(&state, &a).await, &lines(&state, &b).await);
        }
    }
    let task = a.task()?;
    let back = format!("/ui/compare?a={}&b={}", a.model.run.id, b.model.run.id);
    page(&SideBySidePage {
        shell: visitor.shell(format!("{}: side by side", task.name), Section::Compare),
        task: html::short(&task.name, 120),
        back,
        swap: format!(
            "/ui/compare/task-runs?a={}&b={}",
            b.task_run.id, a.task_run.id
        ),
        is_other_task: a.task_run.task != b.task_run.task,
        no_timeline: match (shows, is_in_box) {
            (false, _) => Some("One of these runs shows scores only."),
            (true, true) => Some(
                "Tasks in boxes have no timeline of events; their logs and scorers are on their own pages.",
            ),
            (true, false) => None,
        },
        a: head(&a),
        b: head(&b),
        criteria,
        is_diverged: aligned.is_diverged,
        counts: aligned.counts,
        more: aligned.more,
        rows: aligned.rows,
    })
}

fn head(found: &Found) -> Head {
    let task_run = &found.task_run;
    let span = task_run.started_at().zip(task_run.ended_at());
    Head {
        href: format!("/ui/task-runs/{}", task_run.id),
        taker: html::short(found.model.title(), 60),
        benchmark: html::short(&found.model.benchmark, 60),
        mark: mark_of(task_run),
        score: html::score(counted_score(task_run)),
        took: span.map(|(began, ended)| html::duration(ended.since(began))),
        why: why(task_run),
        critical: task_run.card().map_or(0, |card| card.critical_misses.len()),
    }
}

/// The criteria of both sides: what flipped first, and of that what is worse on B.
fn pairs(
    a: &Found,
    of_a: &[CriterionRun],
    b: &Found,
    of_b: &[CriterionRun],
) -> Result<Vec<CriterionPair>, PageError> {
    let find = |runs: &[CriterionRun], id: CriterionId| -> Option<CriterionSide> {
        let run = runs.iter().find(|run| run.criterion == id)?;
        let score = run.score.value();
        Some(CriterionSide {
            id: run.id,
            mark: Mark::of_score(score),
            score,
            details: html::short(run.details.lines().next().unwrap_or_default(), 240),
        })
    };
    let mut criteria: Vec<&Criterion> = a.task()?.criteria.iter().collect();
    let known: HashMap<CriterionId, ()> = criteria.iter().map(|one| (one.id, ())).collect();
    let others = b.task()?.criteria.iter();
    criteria.extend(others.filter(|one| !known.contains_key(&one.id)));
    let mut rows: Vec<(f64, CriterionPair)> = criteria
        .into_iter()
        .map(|criterion| {
            let sides = [find(of_a, criterion.id), find(of_b, criterion.id)];
            let score = |side: &Option<CriterionSide>| side.as_ref().map(|one| one.score);
            let change = match (score(&sides[0]), score(&sides[1])) {
                (Some(a), Some(b)) => b - a,
                _ => 0.0,
            };
            let pair = CriterionPair {
                label: html::short(&criterion.label, 160),
                axis: criterion.axis.clone(),
                weight: criterion.weight.value().to_string(),
                is_critical: criterion.critical,
                is_flipped: change.abs() > 1e-9,
                sides,
            };
            (change, pair)
        })
        .collect();
    rows.sort_by(|(one, _), (other, _)| {
        let rank = |change: f64| change.abs() <= 1e-9;
        rank(*one).cmp(&rank(*other)).then(one.total_cmp(other))
    });
    Ok(rows.into_iter().map(|(_, pair)| pair).collect())
}

/// The events of a side as lines, and when it began.
async fn lines(state: &WebState, found: &Found) -> (Vec<Line>, Timestamp, String) {
    let task_run = &found.task_run;
    let lines = first_lines(state, task_run.id)
        .await
        .unwrap_or_else(|error| {
            let error = with_causes(&error);
            tracing::warn!(task_run = %task_run.id, %error, "the events of a world cannot be read");
            Vec::new()
        });
    let began = task_run.started_at().unwrap_or(task_run.created_at);
    (lines, began, format!("/ui/task-runs/{}", task_run.id))
}

/// The first events of a world.
async fn first_lines(state: &WebState, id: TaskRunId) -> Result<Vec<Line>, EngineError> {
    let mut lines = Vec::new();
    let Some(mut reader) = state.engine().task_run_reader(id).await? else {
        return Ok(lines);
    };
    while lines.len() < EVENTS && reader.read_on(|event| lines.push(line(&event))).await? {}
    lines.truncate(EVENTS);
    Ok(lines)
}

#[derive(Default)]
struct Alignment {
    rows: Vec<Aligned>,
    more: usize,
    counts: [usize; 3],
    is_diverged: bool,
}

/// What an event did, without what is made anew for every world: ids and control numbers.
fn key(line: &Line) -> String {
    let words = line
        .title
        .split_inclusive(|letter: char| !letter.is_alphanumeric());
    let mut out = format!("{} {} ", line.lane.label(), line.answer);
    for word in words {
        let core = word.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        let digits = core.chars().filter(char::is_ascii_digit).count();
        let is_made = (core.len() >= 16 && digits > 0) || (digits >= 9 && digits == core.len());
        match is_made {
            true => out.push('#'),
            false => out.push_str(word),
        }
    }
    out
}

fn align(
    (of_a, began_a, page_a): &(Vec<Line>, Timestamp, String),
    (of_b, began_b, page_b): &(Vec<Line>, Timestamp, String),
) -> Alignment {
    let (keys_a, keys_b): (Vec<String>, Vec<String>) = (
        of_a.iter().map(key).collect(),
        of_b.iter().map(key).collect(),
    );
    let cell_a = |place: usize| event_cell(&of_a[place], *began_a, page_a);
    let cell_b = |place: usize| event_cell(&of_b[place], *began_b, page_b);
    let ops = capture_diff_slices(Algorithm::Myers, &keys_a, &keys_b);
    let mut found = Alignment::default();
    let last = ops.len().saturating_sub(1);
    for (number, op) in ops.iter().enumerate() {
        let (range_a, range_b) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            found.counts[0] += range_a.len();
            // Only what is near a difference helps to read it.
            let begin = if number == 0 { 0 } else { AROUND };
            let end = if number == last { 0 } else { AROUND };
            let folded = range_a.len().saturating_sub(begin + end);
            let is_folded = folded > 1;
            for offset in 0..range_a.len() {
                if is_folded && (begin..begin + folded).contains(&offset) {
                    if offset == begin {
                        found.rows.push(Aligned::Folded(folded));
                    }
                    continue;
                }
                found.rows.push(Aligned::Events {
                    cells: vec![
                        Some(cell_a(range_a.start + offset)),
                        Some(cell_b(range_b.start + offset)),
                    ],
                    is_same: true,
                    is_first: false,
                });
            }
            continue;
        }
        found.counts[1] += range_a.len();
        found.counts[2] += range_b.len();
        for offset in 0..range_a.len().max(range_b.len()) {
            let is_first = !found.is_diverged;
            found.is_diverged = true;
            found.rows.push(Aligned::Events {
                cells: vec![
                    (offset < range_a.len()).then(|| cell_a(range_a.start + offset)),
                    (offset < range_b.len()).then(|| cell_b(range_b.start + offset)),
                ],
                is_same: false,
                is_first,
            });
        }
    }
    found.more = found.rows.len().saturating_sub(ROWS);
    found.rows.truncate(ROWS);
    found
}

fn event_cell(line: &Line, began: Timestamp, page: &str) -> EventCell {
    EventCell {
        href: format!("{page}?event={}#{}", line.id, line.id),
        at: html::offset(line.at, began),
        lane: line.lane.label(),
        title: html::text(&line.title),
        more: line.more.as_ref().map(|more| html::short(more, 120)),
        answer: html::short(&line.answer, 12),
        is_error: line.is_error,
        is_write: line.is_write,
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::id::kinds::EventId;

    use super::*;
    use crate::timeline::Lane;

    fn told(titles: &[&str]) -> (Vec<Line>, Timestamp, String) {
        let line = |(seq, title): (usize, &&str)| Line {
            id: EventId::from_uuid(Default::default()),
            seq: seq as u64,
            at: Timestamp::from_millis(0),
            lane: Lane::Fhir,
            title: (*title).to_owned(),
            more: None,
            answer: "200".to_owned(),
            is_write: false,
            is_error: false,
        };
        let lines = titles.iter().enumerate().map(line).collect();
        (
            lines,
            Timestamp::from_millis(0),
            "/ui/task-runs/x".to_owned(),
        )
    }

    #[test]
    fn the_first_difference_is_marked_and_what_is_equal_is_folded() {
        let same: Vec<String> = (0..10).map(|place| format!("GET step{place}")).collect();
        let mut a: Vec<&str> = same.iter().map(String::as_str).collect();
        let mut b = a.clone();
        a.push("POST ServiceRequest");
        b.push("DELETE Patient/x");
        a.push("GET Patient/01M7PWNWATEWBSZ0MWY8WHBY0G");
        b.push("GET Patient/01M8PWNWATEWBSZ0MWY8WHBY0G");
        let found = align(&told(&a), &told(&b));
        assert_eq!(found.counts, [11, 1, 1]);
        assert!(found.is_diverged);
        assert!(matches!(found.rows[0], Aligned::Folded(7)));
        let firsts = found
            .rows
            .iter()
            .filter(|row| matches!(row, Aligned::Events { is_first: true, .. }));
        assert_eq!(firsts.count(), 1);
        let none = align(&told(&a), &told(&a));
        assert!(!none.is_diverged && none.counts[1] == 0);
    }
}
