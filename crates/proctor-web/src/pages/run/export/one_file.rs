//! One file: the run page, the task runs that did not pass with their evidence, and the events behind them. It needs no script and loads
//! nothing; where it would be too large it is cut, and says so.

use askama::Template;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest as _, Sha256};

use super::{
    Export,
    task::{Events, section},
};
use crate::{
    assets,
    error::PageError,
    html::{self, Html, Mark},
    pages::run::{RunPage, chosen},
    query::Params,
    run_model::{RunModel, TaskRow},
};

/// How large the file may be.
const LARGEST: usize = 10 << 20;
/// How much of that is kept for the run itself.
const FOR_THE_RUN: usize = 2 << 20;
/// How many tasks the table has.
const MOST_ROWS: usize = 2000;

/// The page of a run, in one file or in an archive.
#[derive(Template)]
#[template(path = "export.html")]
pub(super) struct ExportPage<'e> {
    pub(super) title: String,
    pub(super) frame: Frame,
    pub(super) run: RunPage<'e>,
    pub(super) model: &'e RunModel,
    pub(super) rows: Vec<(&'e TaskRow, Option<String>)>,
    pub(super) sections: Vec<String>,
    pub(super) notices: Vec<String>,
    pub(super) taken_at: Html,
}

impl ExportPage<'_> {
    fn section(&self, drawn: &str) -> Html {
        Html::trusted(drawn.to_owned())
    }
}

/// What makes a page that stands by itself: its style, and what browsers may do with it.
pub(super) struct Frame {
    style: String,
    policy: String,
}

impl Frame {
    pub(super) fn new() -> Self {
        let style = assets::styles();
        let digest = BASE64_STANDARD.encode(Sha256::digest(style.as_bytes()));
        Self {
            policy: format!(
                "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
            ),
            style,
        }
    }

    /// The style sheet, inside its element.
    pub(super) fn style(&self) -> Html {
        Html::trusted(self.style.clone())
    }

    pub(super) fn policy(&self) -> &str {
        &self.policy
    }
}

/// Draws the file.
pub(super) async fn draw(export: &Export) -> Result<String, PageError> {
    let taken = export.taken();
    let wanted: Vec<_> = taken
        .iter()
        .filter(|(row, _)| !matches!(row.mark, Mark::Pass | Mark::Waiting))
        .collect();
    let mut sections = Vec::new();
    let mut shown = Vec::new();
    let mut size = 0;
    for (row, id) in &wanted {
        let drawn = section(export, row, *id, Events::Linked).await?.render()?;
        let drawn = export.redaction.page(drawn);
        if size + drawn.len() > LARGEST - FOR_THE_RUN {
            break;
        }
        size += drawn.len();
        sections.push(drawn);
        shown.push(*id);
    }
    let mut notices = Vec::new();
    if sections.len() < wanted.len() {
        notices.push(format!(
            "This file is cut at 10 MB: {} that did not pass are shown in full, {} are not. The zip has all of them.",
            html::counted(sections.len(), "task run"),
            html::count((wanted.len() - sections.len()) as u64),
        ));
    }
    if export.redaction.is_on {
        notices.push(
            "Values that the benchmark's author marked secret, and credentials, were taken out."
                .to_owned(),
        );
    }
    let anchor = |row: &&TaskRow| row.id.filter(|id| shown.contains(id));
    page(export, sections, notices, |row| {
        anchor(&row).map(|id| format!("#{id}"))
    })
}

/// Draws the page of a run around its task runs; `link` says where a task's own part is.
pub(super) fn page(
    export: &Export,
    sections: Vec<String>,
    mut notices: Vec<String>,
    link: impl Fn(&TaskRow) -> Option<String>,
) -> Result<String, PageError> {
    let model = &*export.model;
    let params = Params::default();
    let all = chosen(model, &params);
    let found = all.len();
    if found > MOST_ROWS {
        notices.push(format!(
            "The table has the first {} of {} tasks, worst first. The CSV has all of them.",
            html::count(MOST_ROWS as u64),
            html::count(found as u64)
        ));
    }
    let rows = all.iter().take(MOST_ROWS).map(|row| (*row, link(row)));
    let drawn = ExportPage {
        title: format!("{} on {}", model.title(), model.benchmark),
        frame: Frame::new(),
        rows: rows.collect(),
        run: RunPage::alone(model),
        model,
        sections,
        notices,
        taken_at: html::time(export.state.store().now()),
    };
    Ok(export.redaction.page(drawn.render()?))
}
