//! A badge: one SVG that a README can show.

/// A letter's width in a badge, in pixels.
const LETTER: usize = 7;

/// The badge of a score or a verdict. All text is escaped.
pub(crate) fn badge(label: &str, value: &str, colour: &str) -> String {
    let (label, value) = (super::text::line(label, 40), super::text::line(value, 40));
    let width = |text: &str| text.chars().count() * LETTER + 12;
    let (left, right) = (width(&label), width(&value));
    let total = left + right;
    let (label, value) = (escaped(&label), escaped(&value));
    let (middle, other) = (left / 2, left + right / 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total}\" height=\"20\" role=\"img\" aria-label=\"{label}: {value}\">\
         <title>{label}: {value}</title>\
         <rect width=\"{left}\" height=\"20\" fill=\"#555\"/><rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,sans-serif\" font-size=\"11\">\
         <text x=\"{middle}\" y=\"14\">{label}</text><text x=\"{other}\" y=\"14\">{value}</text></g></svg>\n"
    )
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_is_text_in_a_badge() {
        let badge = badge("<script>\"", "PASS", "#2a2");
        assert!(badge.contains("&lt;script&gt;&quot;"), "{badge}");
        assert!(!badge.contains("<script"));
    }
}
