//! The criteria of a task run, what cost most first.

use proctor_core::{
    criterion_run::CriterionRun,
    definition::{Check, Task},
    id::kinds::{CriterionRunId, EventId},
};

use crate::{
    evidence::{self, Row},
    html::{self, Html, Mark},
    query::Params,
    timeline::{
        Lane,
        index::WorldIndex,
        links::{Linked, Links},
    },
};

/// How many differences stand beside a criterion; its own page has all.
const DIFFERENCES: usize = 4;

/// How many events are named beside a criterion; its own page has more.
const EVENTS: usize = 8;

/// A criterion of a task run.
pub(crate) struct CriterionView {
    pub(crate) id: Option<CriterionRunId>,
    pub(crate) label: Html,
    pub(crate) mark: Mark,
    pub(crate) weight: String,
    pub(crate) axis: Option<String>,
    pub(crate) is_critical: bool,
    pub(crate) is_failed: bool,
    pub(crate) is_held_back: bool,
    pub(crate) score: f64,
    pub(crate) details: Html,
    pub(crate) differences: Vec<Row>,
    pub(crate) more: usize,
    pub(crate) never_said: Vec<Html>,
    pub(crate) output: Option<Html>,
    pub(crate) links: Links,
    /// The events by name and place, with their addresses.
    pub(crate) events: Vec<EventLink>,
    pub(crate) nearest: Vec<EventLink>,
    /// How many further events there are.
    pub(crate) more_events: usize,
    /// Whether the journal is not read to its end, so that nothing is known of its events.
    pub(crate) is_pending: bool,
    pub(crate) is_selected: bool,
    pub(crate) href: String,
}

/// A link to an event on the same page.
pub(crate) struct EventLink {
    pub(crate) href: String,
    pub(crate) seq: u64,
    pub(crate) id: EventId,
}

impl CriterionView {
    /// What is said where no event did it.
    pub(crate) fn no_event(&self) -> String {
        if self.is_pending {
            return "Its events are known when the journal is read".to_owned();
        }
        // Only where nothing of the protocol was written or refused is it known that the agent left it alone.
        match self.links.lane.filter(|_| self.nearest.is_empty()) {
            Some(lane) => format!(
                "Nothing in the journal did this; the agent left {} as it was",
                name(lane)
            ),
            None if self.links.lane.is_some() => "Nothing in the journal did this".to_owned(),
            None => "This rests on no single event".to_owned(),
        }
    }
}

fn name(lane: Lane) -> &'static str {
    match lane {
        Lane::Fhir => "the chart",
        Lane::Hl7 => "the HL7 interface",
        Lane::X12 => "the clearinghouse",
        Lane::Portal => "the portal",
        Lane::Voice => "the telephone",
        Lane::Files => "the files",
        Lane::Fax => "the fax",
        Lane::Messages => "the messages",
        Lane::Cds => "the hooks",
        Lane::Other => "the service",
    }
}

/// The criteria of a task with what was found, what cost most first.
pub(crate) fn views(
    task: &Task,
    found: &[CriterionRun],
    index: &WorldIndex,
    selected: Option<CriterionRunId>,
    params: &Params,
) -> Vec<CriterionView> {
    let link = |criterion: CriterionRunId, linked: &Linked| {
        let params = params.with("criterion", &criterion.to_string());
        let params = params
            .without("show")
            .without("lane")
            .without("q")
            .without("from")
            .without("go");
        let query = params.link_with("event", &linked.id.to_string());
        EventLink {
            href: format!("{query}#{}", linked.id),
            seq: linked.seq,
            id: linked.id,
        }
    };
    let mut views: Vec<(f64, CriterionView)> = Vec::new();
    for criterion in &task.criteria {
        let weight = criterion.weight.value();
        let Some(run) = found.iter().find(|run| run.criterion == criterion.id) else {
            continue;
        };
        let read = evidence::read(&run.evidence);
        let is_scorer = matches!(criterion.check, Check::Scorer(_));
        let score = run.score.value();
        let is_held_back = score < 1.0 && !run.is_missed();
        let links = index.links(run.id);
        let failing: Vec<Row> = read
            .rows
            .iter()
            .filter(|row| !row.passed)
            .cloned()
            .collect();
        let more = failing.len().saturating_sub(DIFFERENCES);
        let never_said = read.phrases.iter().filter(|phrase| phrase.turn.is_none());
        let lost = weight * (1.0 - score)
            + if criterion.critical && score < 1.0 {
                1e6
            } else {
                0.0
            };
        let lost = if is_held_back { lost / 1e9 } else { lost };
        let view = CriterionView {
            id: Some(run.id),
            label: html::short(&criterion.label, 200),
            mark: Mark::of_score(score),
            weight: format!("{weight}"),
            axis: criterion.axis.clone(),
            is_critical: criterion.critical,
            is_failed: run.is_missed(),
            is_held_back,
            score,
            details: match is_scorer {
                true => html::short(run.details.lines().next().unwrap_or_default(), 200),
                false => html::short(&run.details, 400),
            },
            differences: failing.into_iter().take(DIFFERENCES).collect(),
            more,
            never_said: never_said
                .take(DIFFERENCES)
                .map(|one| html::short(&one.phrase, 120))
                .collect(),
            output: match is_scorer {
                true => Some(html::text(tail(&run.details))),
                false => read.output.map(|output| html::text(tail(&output))),
            },
            events: links
                .events
                .iter()
                .take(EVENTS)
                .map(|linked| link(run.id, linked))
                .collect(),
            is_pending: index.is_behind(),
            more_events: links.events.len().saturating_sub(EVENTS),
            nearest: links
                .nearest
                .iter()
                .map(|linked| link(run.id, linked))
                .collect(),
            links,
            is_selected: selected == Some(run.id),
            href: {
                let params = params.without("event");
                format!(
                    "{}#{}",
                    params.link_with("criterion", &run.id.to_string()),
                    run.id
                )
            },
        };
        views.push((lost, view));
    }
    views.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    views.into_iter().map(|(_, view)| view).collect()
}

/// The end of what a scorer printed, which says most.
fn tail(output: &str) -> &str {
    let begin = output.len().saturating_sub(4000);
    let begin = (begin..output.len()).find(|at| output.is_char_boundary(*at));
    &output[begin.unwrap_or(0)..]
}
