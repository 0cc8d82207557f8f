//! All tasks of a run as one picture: a path for each mark instead of an element for each task, so 10,000 tasks are a handful of nodes.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

use crate::{
    html::{self, Html, Mark},
    run_model::TaskRow,
};

/// From how many tasks on the picture says more than the table.
const FEWEST: usize = 9;

/// Up to how many cells their names are in the page; those of larger maps are fetched in blocks.
const NAMED: usize = 600;
/// How many names are in a block.
pub(super) const A_BLOCK: usize = 500;

/// The picture, and what its cells are called.
pub(super) struct HeatMap {
    pub(super) picture: Html,
    pub(super) names: Html,
}

/// Draws the tasks in their order. Neighbours with the same mark are one stroke, and the lines between cells are drawn over them.
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
    let size = cell - 2;
    let mut paths: BTreeMap<Mark, String> = BTreeMap::new();
    for (line, cells) in rows.chunks(columns).enumerate() {
        let mut column = 0;
        for same in cells.chunk_by(|one, other| one.mark == other.mark) {
            let (x, y) = (column * cell, line * cell);
            let width = same.len() * cell - 2;
            let path = paths.entry(same[0].mark).or_default();
            let _ = write!(path, "M{x} {y}h{width}v{size}h-{width}z");
            if same[0].mark == Mark::Void {
                for place in 0..same.len() {
                    let _ = write!(path, "M{} {y}l{size} {size}", x + place * cell);
                }
            }
            column += same.len();
        }
    }
    let width = columns * cell;
    let lines = rows.len().div_ceil(columns);
    let height = lines * cell;
    let is_named = rows.len() <= NAMED;
    let names = match is_named {
        true => "data-names=cells".to_owned(),
        false => format!("data-block={A_BLOCK}"),
    };
    let mut out = format!(
        "<svg class=grid viewBox=\"-1 -1 {} {}\" tabindex=0 role=application aria-label=\"Heat map of {} tasks; arrow keys move, Enter opens. The table below has the same.\" \
         data-columns={columns} data-cell={cell} data-count={} {names} data-place=cell-name>",
        width + 2,
        height + 2,
        rows.len(),
        rows.len()
    );
    for (mark, path) in &paths {
        let hatch = if *mark == Mark::Void { " hatch" } else { "" };
        let _ = write!(
            out,
            "<path class=\"fill-{}{hatch}\" d=\"{path}\"/>",
            mark.word()
        );
    }
    let mut between = String::new();
    for column in 1..columns {
        let _ = write!(between, "M{} 0v{height}", column * cell - 1);
    }
    let _ = write!(
        out,
        "<path class=between d=\"{between}\"/><rect class=at width={size} height={size} visibility=hidden /></svg>"
    );
    Some(HeatMap {
        picture: Html::trusted(out),
        names: match is_named {
            true => Html::trusted(in_script(&names_of(rows))),
            false => Html::default(),
        },
    })
}

/// What the cells of these rows are called, and what became of them.
pub(super) fn names_of(rows: &[TaskRow]) -> Value {
    let names = rows.iter().map(|row| {
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
    });
    names.collect()
}

/// JSON inside an element for scripts: no text in it may end the element.
fn in_script(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use proctor_core::id::kinds::TaskId;

    use super::*;

    #[test]
    fn ten_thousand_tasks_are_a_handful_of_elements() {
        let marks = [
            Mark::Pass,
            Mark::Pass,
            Mark::Partial,
            Mark::Fail,
            Mark::Void,
        ];
        let rows: Vec<TaskRow> = (0..10_000)
            .map(|place| TaskRow {
                place: place + 1,
                id: None,
                task: TaskId::from_uuid(uuid::Uuid::nil()),
                name: format!("</script>{place}"),
                mark: marks[place * 7919 % marks.len()],
                score: None,
                why: None,
                cells: Vec::new(),
                critical_misses: 0,
                started: None,
                took: None,
            })
            .collect();
        let map = draw(&rows).unwrap();
        assert!(map.picture.as_str().matches('<').count() < 12);
        assert!(map.names.is_empty());
        let small = draw(&rows[..20]).unwrap();
        assert!(!small.names.as_str().contains('<'));
        assert_eq!(names_of(&rows[..20]).as_array().unwrap().len(), 20);
    }
}
