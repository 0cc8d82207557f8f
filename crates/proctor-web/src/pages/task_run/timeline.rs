//! The timeline: events by stable position, 200 at a time. Filters and jumps are answered by the world's index; only what is shown, or
//! searched for a text, is read from the journal.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proctor_core::{causes::with_causes, id::kinds::EventId, time::Timestamp};
use proctor_playground::world::OpenError;

use super::{criteria::CriterionView, offset};
use crate::{
    html::{self, Html},
    query::Params,
    timeline::{
        Lane,
        describe::{Line, line},
        detail::{Part, parts},
        index::{Entry, WorldIndex},
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
    /// How many events the filter leaves; unknown for a search, which stops when the page is full.
    pub(crate) found: Option<usize>,
    /// Up to which place a search has looked, if it has not looked at all.
    pub(crate) searched: Option<u64>,
    pub(crate) lanes: Vec<(Lane, usize, String, bool)>,
    pub(crate) shows: Vec<(&'static str, &'static str, usize, String, bool)>,
    pub(crate) overview: Html,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) end: Option<String>,
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
    pub(crate) ended: Option<String>,
    pub(crate) is_behind: bool,
    /// Why the rest cannot be read.
    pub(crate) problem: Option<String>,
    /// What was asked to be gone to, and is nowhere.
    pub(crate) nowhere: bool,
}

/// Which part of the events is on the page.
struct Window {
    places: Vec<u64>,
    /// Where the page before begins.
    previous: Option<u64>,
    /// Where the page after begins.
    next: Option<u64>,
    found: Option<usize>,
    searched: Option<u64>,
}

impl Timeline {
    pub(crate) async fn of(
        index: &WorldIndex,
        criteria: &[CriterionView],
        params: &Params,
        began: Timestamp,
        ended: Option<Timestamp>,
    ) -> Self {
        let entries = index.entries();
        let because = because(criteria);
        let selected = criteria.iter().find(|one| one.is_selected);
        let event: Option<EventId> = params.get("event").and_then(|id| id.parse().ok());
        let chosen = event.and_then(|event| index.place(event));
        let gone = params.get("go").map(|go| place_of(go, entries, began));
        let from = gone.flatten().or_else(|| params.number("from"));
        let mut problem = index.problem().map(str::to_owned);
        let window = match Window::of(index, &because, params, from, chosen).await {
            Ok(window) => window,
            Err(error) => {
                problem = Some(with_causes(&error).to_string());
                Window::nothing()
            }
        };
        let events = match index.at(&window.places).await {
            Ok(events) => events,
            Err(error) => {
                problem = Some(with_causes(&error).to_string());
                Vec::new()
            }
        };
        let plain = params.without("from").without("go");
        let mut rows = Vec::with_capacity(events.len());
        let mut before: Option<Timestamp> = None;
        for event_of_row in &events {
            let line = line(event_of_row);
            let silent = before.map(|before| line.at.since(before));
            before = Some(line.at);
            let of = because.get(&line.id).map_or(&[][..], Vec::as_slice);
            let in_focus = match selected {
                Some(selected) => selected.links.has(line.id),
                None => of.iter().any(|&place| criteria[place].is_failed),
            };
            rows.push(EventRow {
                at: offset(line.at, began),
                href: format!(
                    "{}#{}",
                    params.link_with("event", &line.id.to_string()),
                    line.id
                ),
                gap: silent
                    .filter(|silent| silent.as_millis() as u64 > GAP_MS)
                    .map(html::duration),
                because: of.iter().map(|&place| reason(&criteria[place])).collect(),
                is_hit: in_focus,
                is_bad: selected.is_none_or(|selected| selected.is_failed),
                parts: (event == Some(line.id)).then(|| parts(event_of_row)),
                line,
            });
        }
        let part = |place: u64| {
            let query = plain.without("event");
            query.link_with("from", &place.to_string())
        };
        let is_filtered = ["lane", "show", "q"]
            .iter()
            .any(|name| params.get(name).is_some());
        let last_part = (entries.len() as u64).saturating_sub(A_PAGE as u64);
        Self {
            total: entries.len(),
            found: window.found,
            searched: window.searched,
            lanes: lanes(entries, params),
            shows: shows(entries, &because, params),
            overview: overview(entries, &because, criteria, began),
            previous: window.previous.map(part),
            next: window.next.map(part),
            end: (window.next.is_some() && !is_filtered).then(|| part(last_part)),
            first: window.places.first().copied(),
            last: window.places.last().copied(),
            ended: ended.map(|ended| offset(ended, began)),
            is_behind: index.is_behind(),
            nowhere: gone == Some(None),
            problem,
            rows,
        }
    }
}

impl Window {
    fn nothing() -> Self {
        Self {
            places: Vec::new(),
            previous: None,
            next: None,
            found: None,
            searched: None,
        }
    }

    async fn of(
        index: &WorldIndex,
        because: &HashMap<EventId, Vec<usize>>,
        params: &Params,
        from: Option<u64>,
        chosen: Option<u64>,
    ) -> Result<Self, OpenError> {
        let entries = index.entries();
        let total = entries.len() as u64;
        let lane = params.get("lane");
        let show = params.get("show").unwrap_or("all");
        let admits = |place: u64| {
            let Some(entry) = usize::try_from(place).ok().and_then(|at| entries.get(at)) else {
                return false;
            };
            let is_lane = lane.is_none_or(|lane| entry.lane.label().eq_ignore_ascii_case(lane));
            is_lane && is_shown(entry, show, because)
        };
        if let Some(text) = params.get("q") {
            let begin = from.unwrap_or(0);
            let text = text.to_lowercase();
            let found = index.search(&text, begin, A_PAGE, admits).await?;
            return Ok(Self {
                // Where earlier hits are is not known; the first page of them is.
                previous: (begin > 0).then_some(0),
                next: (found.end < total).then_some(found.end),
                searched: (found.end < total).then_some(found.end),
                found: (begin == 0 && found.end >= total).then_some(found.places.len()),
                places: found.places,
            });
        }
        let is_all = lane.is_none() && show == "all";
        let places: Vec<u64> = match is_all {
            true => (0..total).collect(),
            false => (0..total).filter(|place| admits(*place)).collect(),
        };
        let begin = begin(&places, from, chosen);
        let end = (begin + A_PAGE).min(places.len());
        Ok(Self {
            previous: (begin > 0).then(|| places[begin.saturating_sub(A_PAGE)]),
            next: places.get(end).copied(),
            found: Some(places.len()),
            searched: None,
            places: places[begin..end].to_vec(),
        })
    }
}

/// Where the reader wants to go: `87` or `#87`, `01:02.5` after the beginning, `end`.
fn place_of(go: &str, entries: &[Entry], began: Timestamp) -> Option<u64> {
    let go = go.trim();
    let total = entries.len() as u64;
    if go.eq_ignore_ascii_case("end") {
        return Some(total.saturating_sub(A_PAGE as u64));
    }
    if let Ok(number) = go.trim_start_matches('#').parse::<u64>() {
        return (number < total).then_some(number);
    }
    let mut seconds = 0.0;
    for part in go.split(':') {
        let part: f64 = part.parse().ok().filter(|part| (0.0..1e7).contains(part))?;
        seconds = seconds * 60.0 + part;
    }
    let is_time = go.contains(':');
    let wanted = began.as_millis() + (seconds * 1000.0) as i64;
    let place = entries
        .iter()
        .position(|entry| entry.at.as_millis() >= wanted);
    place.filter(|_| is_time).map(|place| place as u64)
}

/// Which criteria rest on an event, by their places.
fn because(criteria: &[CriterionView]) -> HashMap<EventId, Vec<usize>> {
    let mut because: HashMap<EventId, Vec<usize>> = HashMap::new();
    for (place, criterion) in criteria.iter().enumerate() {
        for event in &criterion.links.events {
            because.entry(event.id).or_default().push(place);
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

fn is_shown(entry: &Entry, show: &str, because: &HashMap<EventId, Vec<usize>>) -> bool {
    match show {
        "writes" => entry.is_write,
        "errors" => entry.is_error,
        "criteria" => because.contains_key(&entry.id),
        _ => true,
    }
}

/// Where the window begins: at a position, or so that the chosen event is in its middle.
fn begin(places: &[u64], from: Option<u64>, chosen: Option<u64>) -> usize {
    let from = from.map(|from| places.partition_point(|place| *place < from));
    let chosen = chosen.and_then(|chosen| places.binary_search(&chosen).ok());
    let begin = match (from, chosen) {
        (Some(from), Some(chosen)) if (from..from + A_PAGE).contains(&chosen) => from,
        (_, Some(chosen)) if chosen >= A_PAGE => chosen - A_PAGE / 2,
        (_, Some(_)) => 0,
        (Some(from), None) => from,
        (None, None) => 0,
    };
    begin.min(places.len())
}

fn lanes(lines: &[Entry], params: &Params) -> Vec<(Lane, usize, String, bool)> {
    let mut counts: BTreeMap<Lane, usize> = BTreeMap::new();
    for line in lines {
        *counts.entry(line.lane).or_default() += 1;
    }
    let plain = params.without("from").without("go").without("event");
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
    lines: &[Entry],
    because: &HashMap<EventId, Vec<usize>>,
    params: &Params,
) -> Vec<(&'static str, &'static str, usize, String, bool)> {
    let plain = params.without("from").without("go").without("event");
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
    lines: &[Entry],
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_a_number_a_time_or_the_end() {
        let began = Timestamp::from_millis(1_000_000);
        let entries: Vec<Entry> = (0..1000)
            .map(|number| Entry {
                id: crate::timeline::describe::tests::id(number),
                at: Timestamp::from_millis(1_000_000 + i64::try_from(number).unwrap() * 1000),
                lane: Lane::Fhir,
                is_write: false,
                is_error: false,
            })
            .collect();
        let place = |go: &str| place_of(go, &entries, began);
        assert_eq!(place("87"), Some(87));
        assert_eq!(place(" #87 "), Some(87));
        assert_eq!(place("01:02.5"), Some(63));
        assert_eq!(place("0:01:02"), Some(62));
        assert_eq!(place("end"), Some(800));
        for nowhere in ["1000", "99:00:00", "abc", "1.5", "-1", "", ":", "nan:1"] {
            assert_eq!(place(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn a_window_begins_at_its_position_or_around_the_chosen_event() {
        let places: Vec<u64> = (0..1000).step_by(2).collect();
        assert_eq!(begin(&places, None, None), 0);
        assert_eq!(begin(&places, Some(101), None), 51);
        assert_eq!(begin(&places, None, Some(998)), 399);
        assert_eq!(begin(&places, None, Some(999)), 0);
        assert_eq!(begin(&places, Some(900), Some(998)), 450);
        assert_eq!(begin(&places, Some(5000), None), 500);
        assert_eq!(begin(&[], Some(1), Some(1)), 0);
    }
}
