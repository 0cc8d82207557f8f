//! The timeline: events by stable position, 200 at a time, filtered and searched here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proctor_core::{id::kinds::EventId, time::Timestamp};
use proctor_playground::world::WorldEvent;

use super::{criteria::CriterionView, offset};
use crate::{
    html::{self, Html},
    query::Params,
    timeline::{
        Lane,
        describe::{Line, line},
        detail::{Part, parts},
    },
};

/// How many events are on a page.
const A_PAGE: usize = 200;
/// A pause that is worth a line.
const GAP_MS: u64 = 5_000;
/// How many columns the overview has.
const BINS: usize = 250;
const LANE_HEIGHT: usize = 16;
const LABELS: usize = 56;

/// An event with what the page knows about it.
pub(crate) struct EventRow {
    pub(crate) line: Line,
    pub(crate) at: String,
    pub(crate) href: String,
    /// How long nothing happened before it.
    pub(crate) gap: Option<String>,
    /// The criteria that rest on it.
    pub(crate) because: Vec<Because>,
    pub(crate) is_hit: bool,
    pub(crate) is_bad: bool,
    pub(crate) parts: Option<Vec<Part>>,
}

/// A criterion that rests on an event.
pub(crate) struct Because {
    pub(crate) href: String,
    pub(crate) label: Html,
    pub(crate) is_failed: bool,
}

/// The timeline of a world.
pub(crate) struct Timeline {
    pub(crate) rows: Vec<EventRow>,
    pub(crate) total: usize,
    pub(crate) found: usize,
    pub(crate) lanes: Vec<(Lane, usize, String, bool)>,
    pub(crate) shows: Vec<(&'static str, &'static str, usize, String, bool)>,
    pub(crate) overview: Html,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
    pub(crate) ended: Option<String>,
}

impl Timeline {
    pub(crate) fn of(
        events: &[WorldEvent],
        criteria: &[CriterionView],
        params: &Params,
        began: Timestamp,
        ended: Option<Timestamp>,
    ) -> Self {
        let lines: Vec<Line> = events.iter().map(line).collect();
        let because = because(criteria);
        let selected = criteria.iter().find(|one| one.is_selected);
        let lane = params.get("lane");
        let show = params.get("show").unwrap_or("all");
        let sought = params.get("q").map(str::to_lowercase);
        let matching: Vec<usize> = (0..events.len())
            .filter(|&at| {
                let line = &lines[at];
                let is_lane = lane.is_none_or(|lane| line.lane.label().eq_ignore_ascii_case(lane));
                let is_shown = is_shown(line, show, &because);
                let is_sought = sought
                    .as_ref()
                    .is_none_or(|text| contains(&events[at], text));
                is_lane && is_shown && is_sought
            })
            .collect();
        let event: Option<EventId> = params.get("event").and_then(|id| id.parse().ok());
        let begin = begin(&matching, events, event, params);
        let window = &matching[begin..(begin + A_PAGE).min(matching.len())];
        let plain = params.without("from");
        let mut rows = Vec::with_capacity(window.len());
        let mut before: Option<Timestamp> = None;
        for &at in window {
            let line = lines[at].clone();
            let silent = before.map(|before| line.at.since(before));
            before = Some(line.at);
            let of = because.get(&line.id).map_or(&[][..], Vec::as_slice);
            let in_focus = match selected {
                Some(selected) => selected.links.events.contains(&line.id),
                None => of.iter().any(|&place| criteria[place].is_failed),
            };
            let is_bad = match selected {
                Some(selected) => selected.is_failed,
                None => true,
            };
            rows.push(EventRow {
                at: offset(line.at, began),
                href: format!(
                    "{}#{}",
                    plain.link_with("event", &line.id.to_string()),
                    line.id
                ),
                gap: silent
                    .filter(|silent| silent.as_millis() as u64 > GAP_MS)
                    .map(html::duration),
                because: of.iter().map(|&place| reason(&criteria[place])).collect(),
                is_hit: in_focus,
                is_bad,
                parts: (event == Some(line.id)).then(|| parts(&events[at])),
                line,
            });
        }
        let seq = |place: usize| matching.get(place).map(|&at| lines[at].seq);
        let part = |place: usize| {
            let query = plain.without("event");
            seq(place).map(|seq| query.link_with("from", &seq.to_string()))
        };
        let end = begin + window.len();
        Self {
            total: events.len(),
            found: matching.len(),
            lanes: lanes(&lines, params),
            shows: shows(&lines, &because, params),
            overview: overview(&lines, &because, criteria, began),
            previous: (begin > 0)
                .then(|| part(begin.saturating_sub(A_PAGE)))
                .flatten(),
            next: (end < matching.len()).then(|| part(end)).flatten(),
            first: window.first().map(|&at| lines[at].seq),
            last: window.last().map(|&at| lines[at].seq),
            ended: ended.map(|ended| offset(ended, began)),
            rows,
        }
    }
}

/// Which criteria rest on an event, by their places.
fn because(criteria: &[CriterionView]) -> HashMap<EventId, Vec<usize>> {
    let mut because: HashMap<EventId, Vec<usize>> = HashMap::new();
    for (place, criterion) in criteria.iter().enumerate() {
        for event in &criterion.links.events {
            because.entry(*event).or_default().push(place);
        }
    }
    because
}

fn reason(criterion: &CriterionView) -> Because {
    Because {
        href: criterion.href.clone(),
        label: criterion.label.clone(),
        is_failed: criterion.is_failed,
    }
}

fn is_shown(line: &Line, show: &str, because: &HashMap<EventId, Vec<usize>>) -> bool {
    match show {
        "writes" => line.is_write,
        "errors" => line.is_error,
        "criteria" => because.contains_key(&line.id),
        _ => true,
    }
}

fn contains(event: &WorldEvent, text: &str) -> bool {
    event.kind.contains(text) || event.payload.to_string().to_lowercase().contains(text)
}

/// Where the window begins: at a position, or so that the chosen event is in its middle.
fn begin(
    matching: &[usize],
    events: &[WorldEvent],
    event: Option<EventId>,
    params: &Params,
) -> usize {
    let from = params
        .number("from")
        .map(|from| matching.partition_point(|&at| events[at].seq < from));
    let chosen = event.and_then(|event| matching.iter().position(|&at| events[at].id == event));
    let begin = match (from, chosen) {
        (Some(from), Some(chosen)) if (from..from + A_PAGE).contains(&chosen) => from,
        (_, Some(chosen)) if chosen >= A_PAGE => chosen - A_PAGE / 2,
        (_, Some(_)) => 0,
        (Some(from), None) => from,
        (None, None) => 0,
    };
    begin.min(matching.len())
}

fn lanes(lines: &[Line], params: &Params) -> Vec<(Lane, usize, String, bool)> {
    let mut counts: BTreeMap<Lane, usize> = BTreeMap::new();
    for line in lines {
        *counts.entry(line.lane).or_default() += 1;
    }
    let plain = params.without("from").without("event");
    counts
        .into_iter()
        .map(|(lane, count)| {
            let is_on = params
                .get("lane")
                .is_some_and(|word| lane.label().eq_ignore_ascii_case(word));
            let word = lane.label().to_lowercase();
            let link = plain.link_with("lane", if is_on { "" } else { &word });
            (lane, count, link, is_on)
        })
        .collect()
}

fn shows(
    lines: &[Line],
    because: &HashMap<EventId, Vec<usize>>,
    params: &Params,
) -> Vec<(&'static str, &'static str, usize, String, bool)> {
    let plain = params.without("from").without("event");
    let current = params.get("show").unwrap_or("all");
    [
        ("all", "all"),
        ("writes", "writes"),
        ("errors", "refused"),
        ("criteria", "behind criteria"),
    ]
    .into_iter()
    .map(|(word, label)| {
        let count = lines
            .iter()
            .filter(|line| is_shown(line, word, because))
            .count();
        let link = plain.link_with("show", if word == "all" { "" } else { word });
        (word, label, count, link, current == word)
    })
    .collect()
}

/// All events on one axis of time, a row for each protocol: what was refused in red, what failed a criterion as a full column.
fn overview(
    lines: &[Line],
    because: &HashMap<EventId, Vec<usize>>,
    criteria: &[CriterionView],
    began: Timestamp,
) -> Html {
    let used: BTreeSet<Lane> = lines.iter().map(|line| line.lane).collect();
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return Html::default();
    };
    let begin = first.at.min(began);
    let span = last.at.since(begin).as_millis().max(1);
    let place = |at: Timestamp| (at.since(begin).as_millis() * (BINS as u128 - 1) / span) as usize;
    let rows: HashMap<Lane, usize> = used.iter().copied().zip(0..).collect();
    let mut bins: BTreeMap<(usize, usize), &str> = BTreeMap::new();
    for line in lines {
        let of = because.get(&line.id).map_or(&[][..], Vec::as_slice);
        let is_bad = of.iter().any(|&place| criteria[place].is_failed);
        let class = match (is_bad || line.is_error, line.is_write) {
            (true, _) => "fill-fail",
            (false, true) => "fill-accent",
            (false, false) => "fill-soft",
        };
        let row = rows.get(&line.lane).copied().unwrap_or_default();
        let bin = bins.entry((row, place(line.at))).or_insert(class);
        let rank = |class: &str| {
            ["fill-soft", "fill-accent", "fill-fail"]
                .iter()
                .position(|one| *one == class)
        };
        if rank(class) > rank(bin) {
            *bin = class;
        }
    }
    let height = used.len() * LANE_HEIGHT;
    let width = LABELS + BINS * 4;
    let mut paths: BTreeMap<&str, String> = BTreeMap::new();
    for ((row, bin), class) in &bins {
        let (x, y) = (LABELS + bin * 4, row * LANE_HEIGHT + 3);
        paths
            .entry(class)
            .or_default()
            .push_str(&format!("M{x} {y}h3v10h-3z"));
    }
    let mut out = format!(
        "<svg class=lanes viewBox=\"0 0 {width} {height}\" role=img aria-label=\"{} events over {} on {} protocols\">",
        lines.len(),
        html::duration(last.at.since(begin)),
        used.len()
    );
    for (row, lane) in used.iter().enumerate() {
        let y = row * LANE_HEIGHT;
        out.push_str(&format!(
            "<text x=0 y={}>{}</text><rect class=fill-line x={LABELS} y={} width={} height=1 />",
            y + 11,
            lane.label(),
            y + 8,
            BINS * 4
        ));
    }
    for (class, path) in paths {
        out.push_str(&format!("<path class={class} d=\"{path}\"/>"));
    }
    out.push_str("</svg>");
    Html::trusted(out)
}
