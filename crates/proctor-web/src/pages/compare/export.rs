//! A comparison for spreadsheets and for pull requests.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use proctor_engine::comparisons::{ComparedTask, TaskOutcome};

use super::{
    report::{Report, Side},
    sides::{Compared, NotCompared, compared, find_runs, mark, question},
};
use crate::{
    error::PageError,
    html::{self, Mark},
    query::Params,
    session::Visitor,
    spreadsheet::{Csv, number},
    state::WebState,
};

/// How many tasks that differ are listed in Markdown.
const FLIPS: usize = 50;

async fn read(
    state: &WebState,
    visitor: &Visitor,
    query: Option<&str>,
) -> Result<Arc<Compared>, PageError> {
    let params = Params::read(query);
    let a = find_runs(state, visitor, &params.all("a")).await?;
    let b = find_runs(state, visitor, &params.all("b")).await?;
    if a.is_empty() || b.is_empty() {
        return Err(PageError::bad_request("Two sides are compared, A and B."));
    }
    let asked = question(state, visitor, &a, &b, &params).await?;
    compared(state, &asked).await?.map_err(|why| {
        let why = match why {
            NotCompared::Refused(why) => why,
            NotCompared::Differ(differences) => {
                format!("not comparable: {}", differences.join("; "))
            }
        };
        PageError::new(http::StatusCode::CONFLICT, why)
    })
}

/// Every task of either side.
pub(super) async fn csv(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let found = read(&state, &visitor, query.as_deref()).await?;
    let mut csv = Csv::new(&[
        "task_id",
        "task",
        "compared",
        "a_score",
        "b_score",
        "difference",
        "a_verdict",
        "b_verdict",
        "a_critical_misses",
        "b_critical_misses",
        "a_void",
        "b_void",
        "a_seconds",
        "b_seconds",
        "a_task_runs",
        "b_task_runs",
    ]);
    for task in &found.tasks {
        csv.row(row(task));
    }
    let name = |side: &Side| {
        side.runs
            .first()
            .map_or_else(String::new, ToString::to_string)
    };
    let Report { a, b, .. } = &found.report;
    Ok(csv.file(&format!("compare-{}-{}.csv", name(a), name(b))))
}

fn row(task: &ComparedTask) -> Vec<String> {
    let [a, b] = &task.sides;
    let score = |side: &Option<TaskOutcome>| side.as_ref()?.score;
    let both = score(a).zip(score(b));
    let compared = match (a, b, both) {
        (_, _, Some(_)) => "yes",
        (None, _, _) => "no: only B has it",
        (_, None, _) => "no: only A has it",
        _ => "no: void",
    };
    let of = |side: &Option<TaskOutcome>, say: &dyn Fn(&TaskOutcome) -> String| {
        side.as_ref().map_or_else(String::new, say)
    };
    let verdict = |one: &TaskOutcome| mark(one).word().to_owned();
    let critical = |one: &TaskOutcome| one.critical_misses.to_string();
    let void = |one: &TaskOutcome| one.void.to_string();
    let seconds = |one: &TaskOutcome| number(one.took.map(|took| took.as_secs_f64()));
    let runs = |one: &TaskOutcome| {
        let runs = one.task_runs.iter().map(ToString::to_string);
        runs.collect::<Vec<_>>().join(" ")
    };
    vec![
        task.task.to_string(),
        task.name.clone(),
        compared.to_owned(),
        number(score(a)),
        number(score(b)),
        number(both.map(|(a, b)| b - a)),
        of(a, &verdict),
        of(b, &verdict),
        of(a, &critical),
        of(b, &critical),
        of(a, &void),
        of(b, &void),
        of(a, &seconds),
        of(b, &seconds),
        of(a, &runs),
        of(b, &runs),
    ]
}

/// The sentence, the counts and what flipped, for a pull request.
pub(super) async fn markdown(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let found = read(&state, &visitor, query.as_deref()).await?;
    let mut response = written(&found.report).into_response();
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    Ok(response)
}

fn written(report: &Report) -> String {
    let numbers = &report.comparison;
    let mut out = format!(
        "### Proctor: {} against {} on {}\n\n{}\n\n{} now, {} before; {} better, {} worse, {} the same\n\n",
        code(report.b.name()),
        code(report.a.name()),
        code(&report.b.benchmark),
        report.sentence,
        html::score(numbers.mean_b),
        html::score(numbers.mean_a),
        numbers.better,
        numbers.worse,
        numbers.same
    );
    for difference in &report.differences {
        out.push_str(&format!("> not the same exam: {}\n\n", code(difference)));
    }
    if !report.flips.is_empty() {
        out.push_str(
            "| worse first | A | B | change | criterion that flipped |\n|---|---|---|---|---|\n",
        );
    }
    for flip in report.flips.iter().take(FLIPS) {
        let criterion = flip.criteria.iter().flatten().next();
        let criterion = criterion.map_or_else(String::new, |one| match one.details.is_empty() {
            true => code(&one.label),
            false => format!("{}: {}", code(&one.label), code(&one.details)),
        });
        out.push_str(&format!(
            "| {} | {} | {} | {} | {criterion} |\n",
            code(&flip.name),
            scored(flip.a),
            scored(flip.b),
            html::difference(flip.difference)
        ));
    }
    let more = report.flips_total.saturating_sub(FLIPS);
    if more > 0 {
        out.push_str(&format!("\nand {more} more\n"));
    }
    for one in &report.void {
        let side = one.side.to_uppercase();
        out.push_str(&format!(
            "\n- void, not counted: {} on {side} ({})",
            code(&one.name),
            one.why()
        ));
    }
    for one in &report.unpaired {
        let side = one.side.to_uppercase();
        out.push_str(&format!(
            "\n- only on {side}, not compared: {}",
            code(&one.name)
        ));
    }
    out.push('\n');
    out
}

fn scored(score: f64) -> String {
    format!("{} {}", Mark::of_score(score).sign(), html::score(score))
}

/// Text of strangers as a code span: nothing in it is a mention, a link or a cell of a table.
fn code(text: &str) -> String {
    let text: String = html::attribute(text).chars().take(300).collect();
    let text = text.replace('|', "\\|");
    let longest = text.split(|letter| letter != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0) + 1);
    match text.starts_with('`') || text.ends_with('`') {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn text_of_strangers_stays_in_its_span() {
        assert_eq!(code("@all | #12"), "`@all \\| #12`");
        assert_eq!(code("a ``b`` c"), "```a ``b`` c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a\nb\u{202e}"), "`a b[U+202E]`");
    }
}
