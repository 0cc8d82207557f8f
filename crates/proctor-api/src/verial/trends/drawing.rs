//! Scores over time as SVG: a line for each agent.
//!
//! Agents are told apart by the shape of their marks and by their names beside the lines, never by colour alone. Names come from takers and are escaped.

use proctor_core::{canonical::Digest, run::Run};

/// A run with a score.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) run: String,
    pub(super) agent: Option<String>,
    pub(super) version: Option<u32>,
    /// Of the frozen definition: scores of two are not of one exam.
    pub(super) digest: Digest,
    pub(super) score: f64,
    /// The ends of the 95 % interval.
    pub(super) interval: Option<(f64, f64)>,
    pub(super) planned: u32,
    pub(super) scored: u32,
    pub(super) void: u32,
}

impl Point {
    /// A run as a point; none if it has no score.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let numbers = run.own_numbers()?;
        Some(Self {
            run: run.id.to_string(),
            agent: run.agent.clone(),
            version: run.pinned.version,
            digest: run.pinned.digest,
            score: numbers.score?,
            interval: numbers.interval.map(|ends| (ends.low, ends.high)),
            planned: numbers.planned,
            scored: numbers.scored,
            void: numbers.void,
        })
    }

    fn version(&self) -> String {
        match self.version {
            Some(version) => format!("version {version}"),
            None => "draft".to_owned(),
        }
    }

    fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or(UNNAMED)
    }

    /// Everything about the point in words.
    fn in_words(&self) -> String {
        let interval = self.interval.map_or_else(String::new, |(low, high)| {
            format!(" ({low:.3} to {high:.3}, 95 %)")
        });
        format!(
            "{}, {}, {}: {:.3}{interval}, {} of {} scored, {} void",
            self.agent(),
            self.run,
            self.version(),
            self.score,
            self.scored,
            self.planned,
            self.void
        )
    }
}

const WIDTH: f64 = 900.0;
/// Of the plot, without the legend.
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 40.0;
/// For the names beside the lines.
const RIGHT: f64 = 160.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 20.0;
const LINE: f64 = 14.0;
const LEGEND_COLUMNS: usize = 4;
/// How much of an agent's name is written beside its line and in the legend.
const NAME: usize = 24;
/// What runs of nobody in particular are called.
const UNNAMED: &str = "unnamed agent";
/// How many agents have a line of their own; the others share the last look.
const MOST_SERIES: usize = 7;

/// How the marks of a series look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Plus,
    Cross,
    Ring,
    Bar,
}

const LOOKS: [(Shape, &str); MOST_SERIES + 1] = [
    (Shape::Circle, "#1565c0"),
    (Shape::Square, "#c62828"),
    (Shape::Triangle, "#2e7d32"),
    (Shape::Diamond, "#6a1b9a"),
    (Shape::Plus, "#a04000"),
    (Shape::Cross, "#00695c"),
    (Shape::Ring, "#ad1457"),
    (Shape::Bar, "#5f6368"),
];

impl Shape {
    /// A mark in the middle of (x, y), with what is shown for it by hovering.
    fn mark(self, x: f64, y: f64, colour: &str, title: &str) -> String {
        let filled = format!("fill=\"{colour}\"");
        let stroked = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\"");
        let (begin, look, end) = match self {
            Self::Circle => (
                format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\""),
                filled,
                "circle",
            ),
            Self::Ring => (
                format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\""),
                stroked,
                "circle",
            ),
            Self::Square => (path(x, y, "m-4-4h8v8h-8z"), filled, "path"),
            Self::Triangle => (path(x, y, "m0-5l5 9h-10z"), filled, "path"),
            Self::Diamond => (
                path(x, y, "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z"),
                filled,
                "path",
            ),
            Self::Plus => (path(x, y, "m-5 0h10m-5-5v10"), stroked, "path"),
            Self::Cross => (path(x, y, "m-4-4l8 8m0-8l-8 8"), stroked, "path"),
            Self::Bar => (path(x, y, "m-5 0h10"), stroked, "path"),
        };
        format!("{begin} {look}><title>{}</title></{end}>", escaped(title))
    }
}

fn path(x: f64, y: f64, shape: &str) -> String {
    format!("<path d=\"M{x:.1} {y:.1}{shape}\"")
}

/// The points of an agent, by their places in time.
struct Series<'a> {
    name: String,
    points: Vec<(usize, &'a Point)>,
    shape: Shape,
    colour: &'static str,
    /// Whether its points are of one agent, and joined by a line.
    is_one: bool,
}

/// Every agent that has a line, in the order of their first runs; those with the fewest runs share the last entry if there are too many.
fn series(points: &[Point]) -> Vec<Series<'_>> {
    let mut agents: Vec<(&str, Vec<(usize, &Point)>)> = Vec::new();
    for (place, point) in points.iter().enumerate() {
        match agents.iter_mut().find(|(name, _)| *name == point.agent()) {
            Some((_, own)) => own.push((place, point)),
            None => agents.push((point.agent(), vec![(place, point)])),
        }
    }
    let mut by_size: Vec<usize> = (0..agents.len()).collect();
    by_size.sort_by_key(|agent| std::cmp::Reverse(agents[*agent].1.len()));
    let shown: Vec<usize> = by_size.into_iter().take(MOST_SERIES).collect();
    let mut all: Vec<Series<'_>> = Vec::new();
    let mut others: Vec<(usize, &Point)> = Vec::new();
    let hidden = agents.len() - shown.len();
    for (agent, (name, points)) in agents.into_iter().enumerate() {
        if shown.contains(&agent) {
            let (shape, colour) = LOOKS[all.len()];
            all.push(Series {
                name: shortened(name),
                points,
                shape,
                colour,
                is_one: true,
            });
        } else {
            others.extend(points);
        }
    }
    if hidden > 0 {
        let (shape, colour) = LOOKS[MOST_SERIES];
        others.sort_by_key(|(place, _)| *place);
        let noun = if hidden == 1 { "agent" } else { "agents" };
        all.push(Series {
            name: format!("{hidden} other {noun}"),
            points: others,
            shape,
            colour,
            is_one: false,
        });
    }
    all
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        None => name.to_owned(),
        Some(_) => name.chars().take(NAME - 1).chain(['…']).collect(),
    }
}

/// Scores with their intervals in the order of time: a line for each agent with its name at the end, a legend, and a dashed line wherever another
/// version of the benchmark begins.
pub(super) fn drawn(points: &[Point]) -> String {
    let series = series(points);
    let step = (WIDTH - LEFT - RIGHT) / points.len().max(2).saturating_sub(1) as f64;
    let x = |place: usize| LEFT + place as f64 * step;
    let y = |score: f64| TOP + (1.0 - score) * (HEIGHT - TOP - BOTTOM);
    let legend_rows = series.len().div_ceil(LEGEND_COLUMNS);
    let height = HEIGHT + legend_rows as f64 * LINE + 8.0;
    let names: Vec<String> = series
        .iter()
        .map(|one| format!("{}: {} runs", one.name, one.points.len()))
        .collect();
    let mut drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"11\">\
         <title>Scores of {} runs over time by agent, with 95 % intervals</title><desc>{}</desc>",
        points.len(),
        escaped(&names.join("; "))
    );
    for score in [0.0, 0.25, 0.5, 0.75, 1.0] {
        drawing += &format!(
            "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"4\" y=\"{text:.1}\">{score:.2}</text>",
            end = WIDTH - RIGHT,
            at = y(score),
            text = y(score) + 4.0
        );
    }
    for (place, pair) in points.windows(2).enumerate() {
        if pair[0].digest != pair[1].digest {
            let at = x(place + 1);
            drawing += &format!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{:.1}\" stroke=\"#767676\" stroke-dasharray=\"4\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - BOTTOM,
                TOP - 6.0,
                escaped(&pair[1].version())
            );
        }
    }
    for one in &series {
        drawing += &lines(one, x, y);
        for (place, point) in &one.points {
            if let Some((low, high)) = point.interval {
                drawing += &format!(
                    "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{}\" stroke-width=\"1.5\"/>",
                    y(high),
                    y(low),
                    one.colour,
                    at = x(*place)
                );
            }
            drawing += &one
                .shape
                .mark(x(*place), y(point.score), one.colour, &point.in_words());
        }
    }
    drawing += &labels(&series, x, y);
    drawing += &legend(&series);
    drawing + "</svg>\n"
}

/// The line through the points of an agent; it ends where another version begins.
fn lines(series: &Series<'_>, x: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) -> String {
    if !series.is_one {
        return String::new();
    }
    let versions = series
        .points
        .chunk_by(|(_, one), (_, other)| one.digest == other.digest);
    versions
        .filter(|points| points.len() > 1)
        .map(|points| {
            let corners: Vec<String> = points
                .iter()
                .map(|(place, point)| format!("{:.1},{:.1}", x(*place), y(point.score)))
                .collect();
            format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>",
                corners.join(" "),
                series.colour
            )
        })
        .collect()
}

/// The names of the agents beside their last points, moved apart where they would cover each other.
fn labels(all: &[Series<'_>], x: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut ends: Vec<(f64, f64, &Series<'_>)> = all
        .iter()
        .filter(|one| one.is_one)
        .filter_map(|one| {
            let (place, point) = one.points.last()?;
            Some((x(*place), y(point.score), one))
        })
        .collect();
    ends.sort_by(|(_, one, _), (_, other, _)| one.total_cmp(other));
    // Down from the top, as far as needed; then up again from the bottom, if that was too far.
    let mut at: Vec<f64> = ends.iter().map(|(_, y, _)| *y).collect();
    for place in 1..at.len() {
        at[place] = at[place].max(at[place - 1] + LINE);
    }
    let mut lowest = HEIGHT - BOTTOM;
    for place in at.iter_mut().rev() {
        *place = place.min(lowest);
        lowest = *place - LINE;
    }
    let text = WIDTH - RIGHT + 14.0;
    ends.iter()
        .zip(at)
        .map(|((x, y, one), at)| {
            format!(
                "<line x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"{colour}\" stroke-width=\"0.75\" stroke-dasharray=\"1 2\"/>\
                 <text x=\"{text:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
                x + 6.0,
                text - 3.0,
                at + 4.0,
                escaped(&one.name),
                colour = one.colour
            )
        })
        .collect()
}

/// Every mark with what it stands for.
fn legend(all: &[Series<'_>]) -> String {
    let width = WIDTH / LEGEND_COLUMNS as f64;
    all.iter()
        .enumerate()
        .map(|(place, one)| {
            let x = 14.0 + (place % LEGEND_COLUMNS) as f64 * width;
            let y = HEIGHT + (place / LEGEND_COLUMNS) as f64 * LINE;
            format!(
                "{}<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                one.shape.mark(x, y, one.colour, &one.name),
                x + 12.0,
                y + 4.0,
                escaped(&one.name)
            )
        })
        .collect()
}

/// Text in XML; what XML does not have is replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                safe.push('\u{fffd}');
            }
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(run: usize, agent: Option<&str>, version: u32, score: f64) -> Point {
        Point {
            run: format!("br_{run}"),
            agent: agent.map(str::to_owned),
            version: Some(version),
            digest: Digest::of_bytes(version.to_string().as_bytes()),
            score,
            interval: Some((score - 0.1, score + 0.1)),
            planned: 5,
            scored: 4,
            void: 1,
        }
    }

    #[test]
    fn every_agent_has_a_shape_a_name_and_a_line_of_its_own() {
        let points = [
            point(0, Some("night-shift"), 1, 0.5),
            point(1, Some("day <b>"), 1, 0.6),
            point(2, Some("night-shift"), 1, 0.6),
            point(3, Some("day <b>"), 1, 0.6),
            point(4, None, 1, 0.2),
        ];
        let svg = drawn(&points);
        assert_eq!(svg.matches("<polyline").count(), 2, "{svg}");
        // Two marks and one in the legend.
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
        assert_eq!(svg.matches("m-4-4h8v8h-8z").count(), 3, "{svg}");
        for name in ["night-shift", "day &lt;b&gt;", UNNAMED] {
            let text = format!(">{name}</text>");
            assert_eq!(svg.matches(&text).count(), 2, "{name} in {svg}");
        }
        assert!(!svg.contains("<b>"), "{svg}");
        let title = "<title>night-shift, br_2, version 1: 0.600 (0.500 to 0.700, 95 %), 4 of 5 scored, 1 void</title>";
        assert!(svg.contains(title), "{svg}");
    }

    #[test]
    fn names_of_equal_scores_do_not_cover_each_other() {
        let names = ["a", "b", "c", "d"];
        let points: Vec<Point> = names
            .iter()
            .enumerate()
            .map(|(place, name)| point(place, Some(name), 1, 0.0))
            .collect();
        let svg = drawn(&points);
        let (_, labels) = svg.split_once("stroke-dasharray=\"1 2\"").unwrap();
        let mut at: Vec<f64> = labels
            .split("<text x=\"754.0\" y=\"")
            .skip(1)
            .map(|part| part.split('"').next().unwrap().parse().unwrap())
            .collect();
        at.sort_by(f64::total_cmp);
        assert_eq!(at.len(), 4, "{svg}");
        assert!(
            at.windows(2).all(|pair| pair[1] - pair[0] >= LINE - 0.01),
            "{at:?}"
        );
        assert!(at[3] <= HEIGHT, "{at:?}");
    }

    #[test]
    fn another_version_ends_the_line_and_is_named() {
        let points = [
            point(0, Some("a"), 1, 0.5),
            point(1, Some("a"), 1, 0.6),
            point(2, Some("a"), 2, 0.7),
        ];
        let svg = drawn(&points);
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert!(svg.contains(">version 2</text>"), "{svg}");
    }

    #[test]
    fn too_many_agents_share_the_last_look() {
        let mut points: Vec<Point> = (0..10)
            .map(|agent| point(agent, Some(&format!("agent {agent}")), 1, 0.5))
            .collect();
        points.push(point(10, Some("agent 9"), 1, 0.5));
        let svg = drawn(&points);
        assert!(svg.contains(">3 other agents</text>"), "{svg}");
        assert!(
            svg.contains(">agent 9</text>"),
            "the one with most runs stays"
        );
        assert!(
            svg.contains("<title>agent 8, br_8"),
            "and every mark has its name"
        );
    }

    #[test]
    fn nothing_and_hostile_names_are_drawn_too() {
        assert!(drawn(&[]).ends_with("</svg>\n"));
        let svg = drawn(&[point(0, Some("\u{0}\"</svg><script>"), 1, 0.5)]);
        assert!(!svg.contains("<script>") && !svg.contains('\u{0}'), "{svg}");
    }
}
