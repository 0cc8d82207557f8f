//! All tasks of a run as one picture: a path for each mark instead of an element for each task, so 10,000 tasks are a handful of nodes.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{
    html::{self, Html, Mark},
    run_model::TaskRow,
};

/// From how many tasks on the picture says more than the table.
const FEWEST: usize = 9;

/// The picture, and what its cells are called.
pub(super) struct HeatMap {
    pub(super) picture: Html,
    pub(super) names: Html,
}

/// Draws the tasks in their order.
pub(super) fn draw(rows: &[TaskRow]) -> Option<HeatMap> {
    if rows.len() < FEWEST {
        return None;
    }
    // Wide, and cells of about 16 pixels where there are few, 8 where there are thousands.
    let (columns, cell) = match rows.len() {
        0..=160 => (rows.len().min(40), 22),
        161..=1000 => (64, 16),
        _ => (144, 10),
    };
    let mut paths: BTreeMap<Mark, String> = BTreeMap::new();
    let size = cell - 2;
    for (place, row) in rows.iter().enumerate() {
        let (x, y) = (place % columns * cell, place / columns * cell);
        let path = paths.entry(row.mark).or_default();
        path.push_str(&format!("M{x} {y}h{size}v{size}h-{size}z"));
        if row.mark == Mark::Void {
            path.push_str(&format!("M{x} {y}l{size} {size}"));
        }
    }
    let width = columns * cell;
    let height = rows.len().div_ceil(columns) * cell;
    let mut out = format!(
        "<svg class=grid viewBox=\"-1 -1 {} {}\" tabindex=0 role=application aria-label=\"Heat map of {} tasks; arrow keys move, Enter opens. The table below has the same.\" \
         data-columns={columns} data-cell={cell} data-count={} data-names=cells data-place=cell-name>",
        width + 2,
        height + 2,
        rows.len(),
        rows.len()
    );
    for (mark, path) in &paths {
        let hatch = if *mark == Mark::Void { " hatch" } else { "" };
        out.push_str(&format!(
            "<path class=\"fill-{}{hatch}\" d=\"{path}\"/>",
            mark.word()
        ));
    }
    out.push_str(&format!(
        "<rect class=at width={size} height={size} visibility=hidden /></svg>"
    ));
    let names: Vec<serde_json::Value> = rows
        .iter()
        .map(|row| {
            let words = match row.score {
                Some(score) => format!(
                    "{} {} {}",
                    row.mark.sign(),
                    row.mark.word(),
                    html::score(score)
                ),
                None => format!("{} {}", row.mark.sign(), row.mark.word()),
            };
            json!([
                html::attribute(row.name.chars().take(60).collect::<String>()),
                words
            ])
        })
        .collect();
    // No text in it may end the element.
    let names = json!(names)
        .to_string()
        .replace('<', "\\u003c")
        .replace('&', "\\u0026");
    Some(HeatMap {
        picture: Html::trusted(out),
        names: Html::trusted(names),
    })
}
