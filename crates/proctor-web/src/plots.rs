//! Pictures of numbers, drawn here. Shapes stretch with the page and dots stay round (`vector-effect`), so words stand beside them in HTML and are as
//! large as all others. Every picture has a title, and its numbers stand in a table on the same page.

use std::collections::BTreeMap;

use crate::html::{self, Html};

/// How many dots are elements of their own, with a name and a link each.
const NAMED_DOTS: usize = 300;

/// A task in a picture of differences.
pub(crate) struct Dot {
    /// B − A.
    pub(crate) difference: f64,
    /// What it is called when the pointer is over it.
    pub(crate) title: String,
    /// Where it leads.
    pub(crate) href: Option<String>,
}

fn class_of(difference: f64) -> &'static str {
    if difference > 1e-9 {
        "better"
    } else if difference < -1e-9 {
        "worse"
    } else {
        "same"
    }
}

/// Differences of tasks as sorted dots, with the interval around their mean as a band. The picture is 100 wide, from −1 (below) to +1.
pub(crate) fn differences(mut dots: Vec<Dot>, mean: f64, low: f64, high: f64) -> Html {
    dots.sort_by(|one, other| one.difference.total_cmp(&other.difference));
    let count = dots.len();
    let y = |value: f64| 100.0 - value.clamp(-1.0, 1.0) * 100.0;
    let x = |place: usize| (place as f64 + 0.5) / count.max(1) as f64 * 1000.0;
    let mut out = format!(
        "<svg class=\"plot differences\" viewBox=\"0 0 1000 200\" preserveAspectRatio=none role=group aria-label=\"Differences of {count} tasks, sorted; \
         their mean is {} with an interval from {} to {}\"><title>B − A for each task, sorted</title>\
         <rect class=band x=0 width=1000 y={:.2} height={:.2} /><path class=rule d=\"M0 50H1000M0 150H1000\"/><path class=zero d=\"M0 100H1000\"/>\
         <path class=mean d=\"M0 {m:.2}H1000\"/>",
        html::difference(mean),
        html::difference(low),
        html::difference(high),
        y(high),
        (y(low) - y(high)).max(0.5),
        m = y(mean),
    );
    match count <= NAMED_DOTS {
        true => {
            for (place, dot) in dots.iter().enumerate() {
                let shape = format!(
                    "<path class=\"dot {}\" d=\"M{:.1} {:.2}h0\"><title>{}</title></path>",
                    class_of(dot.difference),
                    x(place),
                    y(dot.difference),
                    escaped(&dot.title)
                );
                match &dot.href {
                    None => out.push_str(&shape),
                    Some(href) => {
                        out.push_str(&format!(
                            "<a href=\"{}\" tabindex=-1>{shape}</a>",
                            escaped(href)
                        ));
                    }
                }
            }
        }
        false => {
            // Equal neighbours are one stroke: most tasks of a large run are the same on both sides.
            let mut paths: BTreeMap<&str, String> = BTreeMap::new();
            let height = |dot: &Dot| format!("{:.1}", y(dot.difference));
            let mut place = 0;
            while place < count {
                let here = height(&dots[place]);
                let same = dots[place..].iter().take_while(|dot| height(dot) == here);
                let last = place + same.count() - 1;
                let path = paths.entry(class_of(dots[place].difference)).or_default();
                path.push_str(&format!("M{:.1} {here}H{:.1}", x(place), x(last)));
                place = last + 1;
            }
            for (class, path) in paths {
                out.push_str(&format!("<path class=\"dot small {class}\" d=\"{path}\"/>"));
            }
        }
    }
    out.push_str("</svg>");
    Html::trusted(out)
}

/// Scores of tasks on two sides. Equal ones are one dot, larger the more there are.
pub(crate) fn scatter(pairs: &[(f64, f64)]) -> Html {
    let mut places: BTreeMap<(i32, i32), usize> = BTreeMap::new();
    let bin = |value: f64| (value.clamp(0.0, 1.0) * 100.0).round() as i32;
    for (a, b) in pairs {
        *places.entry((bin(*a), bin(*b))).or_default() += 1;
    }
    let most = places.values().copied().max().unwrap_or(1) as f64;
    let mut paths: BTreeMap<(u8, &str), String> = BTreeMap::new();
    for ((a, b), count) in &places {
        let size = 1 + ((*count as f64 / most).sqrt() * 3.0).round() as u8;
        let path = paths.entry((size, class_of(f64::from(b - a)))).or_default();
        path.push_str(&format!("M{a} {}h0", 100 - b));
    }
    let mut out = format!(
        "<svg class=\"plot scatter\" viewBox=\"-4 -4 108 108\" preserveAspectRatio=none role=img aria-label=\"Scores of {} tasks, A from left to right and B from below to above\">\
         <title>Score of A (left to right) and of B (below to above); above the line B is better</title>\
         <path class=rule d=\"M0 0V100H100M50 0V100M0 50H100\"/><path class=zero d=\"M0 100L100 0\"/>",
        pairs.len()
    );
    for ((size, class), path) in paths {
        out.push_str(&format!(
            "<path class=\"dot s{size} {class}\" d=\"{path}\"/>"
        ));
    }
    out.push_str("</svg>");
    Html::trusted(out)
}

/// A difference with its interval on a line from −`reach` to +`reach`.
pub(crate) fn forest(difference: f64, low: f64, high: f64, reach: f64) -> Html {
    let reach = if reach > 0.0 { reach } else { 1.0 };
    let x = |value: f64| (value / reach).clamp(-1.0, 1.0) * 100.0;
    let class = match (low > 0.0, high < 0.0) {
        (true, _) => "better",
        (_, true) => "worse",
        _ => "same",
    };
    Html::trusted(format!(
        "<svg class=\"plot forest\" viewBox=\"-102 0 204 20\" preserveAspectRatio=none role=img aria-label=\"{} ({} to {})\">\
         <path class=zero d=\"M0 0V20\"/><path class=\"whisker {class}\" d=\"M{:.2} 10H{:.2}\"/><path class=\"dot {class}\" d=\"M{:.2} 10h0\"/></svg>",
        html::difference(difference),
        html::difference(low),
        html::difference(high),
        x(low),
        x(high),
        x(difference),
    ))
}

/// A score with its interval on a line from 0 to 1.
pub(crate) fn score_bar(score: f64, interval: Option<(f64, f64)>) -> Html {
    let x = |value: f64| value.clamp(0.0, 1.0) * 100.0;
    let whisker = interval.map_or_else(String::new, |(low, high)| {
        format!(
            "<path class=whisker d=\"M{:.2} 10H{:.2}M{:.2} 5V15M{:.2} 5V15\"/>",
            x(low),
            x(high),
            x(low),
            x(high)
        )
    });
    Html::trusted(format!(
        "<svg class=\"plot score\" viewBox=\"0 0 100 20\" preserveAspectRatio=none aria-hidden=true><rect class=track width=100 height=20 />\
         <rect class=fill width={:.2} height=20 />{whisker}</svg>",
        x(score)
    ))
}

/// Scores over time, the oldest first, as a line without axes.
pub(crate) fn sparkline(scores: &[f64]) -> Html {
    let y = |score: f64| 22.0 - score.clamp(0.0, 1.0) * 20.0;
    let step = 96.0 / scores.len().saturating_sub(1).max(1) as f64;
    let points: Vec<String> = scores
        .iter()
        .enumerate()
        .map(|(place, score)| format!("{:.1} {:.1}", 2.0 + place as f64 * step, y(*score)))
        .collect();
    let words: Vec<String> = scores.iter().map(html::score).collect();
    let line = match points.len() {
        0 | 1 => return Html::default(),
        _ => format!("<path class=line d=\"M{}\"/>", points.join("L")),
    };
    let last = points.last().map_or("", String::as_str);
    Html::trusted(format!(
        "<svg class=\"plot spark\" viewBox=\"0 0 100 24\" preserveAspectRatio=none role=img aria-label=\"Scores, oldest first: {}\">{line}<path class=\"dot\" d=\"M{last}h0\"/></svg>",
        words.join(", ")
    ))
}

/// Text inside an attribute or a title of a picture.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    html::attribute(text)
        .chars()
        .for_each(|letter| html::push(&mut out, letter));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text_in_pictures() {
        let dot = Dot {
            difference: 0.5,
            title: "</title><script>\u{202e}".to_owned(),
            href: Some("/ui/compare?a=\"><script>".to_owned()),
        };
        let drawn = differences(vec![dot], 0.5, 0.2, 0.8).to_string();
        assert!(!drawn.contains("<script"), "{drawn}");
        assert!(drawn.contains("[U+202E]"), "{drawn}");
    }

    #[test]
    fn many_dots_are_few_elements() {
        let dots = (0..10_000).map(|place| Dot {
            difference: f64::from(place % 3 - 1),
            title: String::new(),
            href: None,
        });
        let drawn = differences(dots.collect(), 0.0, -0.1, 0.1).to_string();
        assert!(drawn.matches('<').count() < 20);
        let pairs: Vec<(f64, f64)> = (0..10_000)
            .map(|place| (f64::from(place % 11) / 10.0, f64::from(place % 7) / 6.0))
            .collect();
        assert!(scatter(&pairs).to_string().matches('<').count() < 30);
    }

    #[test]
    fn swapping_the_sides_mirrors_the_picture() {
        let one = forest(0.1, 0.05, 0.15, 1.0).to_string();
        let other = forest(-0.1, -0.15, -0.05, 1.0).to_string();
        assert!(one.contains("M5.00 10H15.00") && other.contains("M-15.00 10H-5.00"));
    }
}
