//! A row for each criterion run, as CSV and as JSON lines.

use std::{collections::VecDeque, io};

use bytes::Bytes;
use futures::{Stream, stream};
use proctor_core::criterion_run::CriterionRun;
use serde_json::{Value, json};

use super::Export;
use crate::{error::PageError, html, run_model::TaskRow};

const COLUMNS: [&str; 19] = [
    "run_id",
    "benchmark",
    "agent",
    "task_run_id",
    "task_id",
    "task",
    "verdict",
    "task_score",
    "why",
    "criterion_run_id",
    "criterion_id",
    "criterion",
    "axis",
    "weight",
    "critical",
    "score",
    "passed",
    "details",
    "completed_at",
];

pub(super) fn csv(export: Export) -> impl Stream<Item = io::Result<Bytes>> {
    rows(export, Some(line(COLUMNS.map(str::to_owned))), |row| {
        line(COLUMNS.map(|name| match &row[name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }))
    })
}

pub(super) fn json_lines(export: Export) -> impl Stream<Item = io::Result<Bytes>> {
    rows(export, None, |row| format!("{row}\n").into_bytes())
}

/// The rows, read and written task run by task run.
fn rows(
    export: Export,
    head: Option<Vec<u8>>,
    write: impl Fn(Value) -> Vec<u8> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> {
    let places: VecDeque<usize> = (0..export.model.rows.len()).collect();
    let begin = (export, places, head, write);
    stream::unfold(begin, async |(export, mut places, mut head, write)| {
        if let Some(head) = head.take() {
            return Some((Ok(Bytes::from(head)), (export, places, None, write)));
        }
        let place = places.pop_front()?;
        let part = match rows_of(&export, &export.model.rows[place]).await {
            Ok(rows) => Ok(Bytes::from(
                rows.into_iter().flat_map(&write).collect::<Vec<u8>>(),
            )),
            Err(error) => {
                places.clear();
                Err(io::Error::other(error.message.into_owned()))
            }
        };
        Some((part, (export, places, None, write)))
    })
}

async fn rows_of(export: &Export, row: &TaskRow) -> Result<Vec<Value>, PageError> {
    let (Some(id), true) = (row.id, export.model.shows_evidence) else {
        return Ok(Vec::new());
    };
    let found = export.state.store().criterion_runs(id).await?;
    let rows = found.iter().map(|found| row_of(export, row, found));
    Ok(rows.collect())
}

fn row_of(export: &Export, row: &TaskRow, found: &CriterionRun) -> Value {
    let model = &export.model;
    let task = model.prepared.task(row.task).ok();
    let criterion = task.and_then(|(task, _)| {
        let mut criteria = task.criteria.iter();
        criteria.find(|one| one.id == found.criterion)
    });
    let mut out = json!({
        "run_id": model.run.id,
        "benchmark": model.benchmark,
        "agent": model.taker,
        "task_run_id": row.id,
        "task_id": row.task,
        "task": row.name,
        "verdict": row.mark.word(),
        "task_score": row.score,
        "why": row.why,
        "criterion_run_id": found.id,
        "criterion_id": found.criterion,
        "criterion": criterion.map(|one| &one.label),
        "axis": criterion.and_then(|one| one.axis.as_ref()),
        "weight": criterion.map(|one| one.weight.value()),
        "critical": criterion.map(|one| one.critical),
        "score": found.score,
        "passed": found.passed,
        "details": found.details,
        "evidence": found.evidence,
        "completed_at": found.completed_at,
    });
    export.redaction.value(&mut out);
    out
}

/// A line of CSV. A cell that a spreadsheet would compute begins with a quote, and hidden characters are shown by their code points.
fn line<const N: usize>(cells: [String; N]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let cells = cells.map(|cell| {
        let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
        let cell = html::attribute(cell);
        match is_formula {
            true => format!("'{cell}"),
            false => cell,
        }
    });
    // Writing to memory does not fail.
    let _ = writer.write_record(&cells);
    writer.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_no_cell_ends_its_row() {
        let hostile = [
            "=1+1",
            "+1",
            "-1",
            "@x",
            "\t=1",
            "a,b\"c\nd",
            "\u{202e}x",
            "plain",
        ];
        let text = String::from_utf8(line(hostile.map(str::to_owned))).unwrap();
        assert_eq!(
            text,
            "'=1+1,'+1,'-1,'@x,' =1,\"a,b\"\"c d\",[U+202E]x,plain\n"
        );
    }
}
