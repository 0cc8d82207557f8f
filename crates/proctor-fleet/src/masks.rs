//! Secrets do not show in what people read.

/// What stands where a secret stood.
const MASK: &str = "********";
/// A shorter line of a secret is in too many words to be hidden.
const SHORTEST_LINE: usize = 4;

/// The texts that must not show.
#[derive(Clone, Default)]
pub struct Masks {
    /// The longest first, so that no part of one is left when another is its beginning.
    texts: Vec<String>,
}

impl Masks {
    /// Hides these secrets, and every line of those that have several.
    pub(crate) fn of<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let lines = |secret: &'a str| {
            let lines = secret.lines().map(str::trim_end);
            lines.filter(|line| line.len() >= SHORTEST_LINE)
        };
        let mut texts: Vec<String> = secrets
            .into_iter()
            .flat_map(|secret| std::iter::once(secret.trim_end()).chain(lines(secret)))
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect();
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        Self { texts }
    }

    /// The same, and hides these besides.
    #[must_use]
    pub fn and<'a>(&'a self, secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let known = self.texts.iter().map(String::as_str);
        Self::of(known.chain(secrets))
    }

    /// The text without secrets.
    pub fn apply(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.texts {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), MASK);
            }
        }
        masked
    }

    /// The bytes without secrets; none if there are none in them.
    pub fn apply_to_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut masked: Option<Vec<u8>> = None;
        for secret in &self.texts {
            let (secret, before) = (secret.as_bytes(), masked.as_deref().unwrap_or(bytes));
            let mut after = Vec::with_capacity(before.len());
            let mut from = 0;
            while let Some(at) = find(&before[from..], secret) {
                after.extend_from_slice(&before[from..from + at]);
                after.extend_from_slice(MASK.as_bytes());
                from += at + secret.len();
            }
            if from > 0 {
                after.extend_from_slice(&before[from..]);
                masked = Some(after);
            }
        }
        masked
    }

    /// The beginning of `bytes`, about `most` of them, as a text without secrets. To be sure of a secret that is cut off there, [`Masks::longest`]
    /// bytes more must be known.
    pub fn beginning(&self, bytes: &[u8], most: usize) -> String {
        let end = match bytes.len() {
            length if length <= most => length,
            _ => self.cut_before_secret(bytes, most),
        };
        self.apply(&String::from_utf8_lossy(&bytes[..end]))
    }

    /// Where to cut `bytes` at the latest before `at` so that no secret is cut in two; behind one that begins them.
    pub(crate) fn cut_before_secret(&self, bytes: &[u8], at: usize) -> usize {
        let from = at.saturating_sub(self.longest());
        let to = (at + self.longest()).min(bytes.len());
        let across = |secret: &String| {
            let secret = secret.as_bytes();
            bytes[from..to]
                .windows(secret.len())
                .enumerate()
                .filter(|(_, window)| *window == secret)
                .map(|(start, _)| (from + start, from + start + secret.len()))
                .find(|(start, end)| *start < at && at < *end)
        };
        match self.texts.iter().filter_map(across).min() {
            Some((0, end)) => end,
            Some((start, _)) => start,
            None => at,
        }
    }

    /// How long the longest secret is: what ends earlier may be the beginning of one.
    pub fn longest(&self) -> usize {
        self.texts.first().map_or(0, String::len)
    }
}

/// Where `wanted`, which is not empty, is first.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted[0];
    let mut from = 0;
    loop {
        let at = from + bytes[from..].iter().position(|byte| *byte == first)?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Masks({})", self.texts.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_and_their_lines_do_not_show() {
        let masks = Masks::of(["hush", "hush-hush", "first line\nsecond line\n}", "abc", ""]);
        assert_eq!(
            masks.apply("hush-hush hush second line abc }"),
            "******** ******** ******** ******** }"
        );
        assert_eq!(masks.longest(), "first line\nsecond line\n}".len());
    }

    #[test]
    fn a_secret_is_not_cut_in_two() {
        let masks = Masks::of(["s3cr3t-value"]);
        let text = b"before s3cr3t-value";
        for most in 0..=text.len() {
            let shown = masks.beginning(text, most);
            assert!(!shown.contains("s3"), "{most}: {shown}");
        }
        assert_eq!(masks.beginning(text, 6), "before");
        assert_eq!(masks.beginning(text, text.len()), "before ********");
    }

    proptest! {
        #[test]
        fn no_secret_is_left_in_any_text(secret in "[a-z]{4,8}", before in ".{0,20}", after in ".{0,20}") {
            let masks = Masks::of([secret.as_str()]);
            let text = format!("{before}{secret}{after}");
            let masked = masks.apply(&text);
            prop_assert!(!masked.contains(&secret));
            let bytes = masks.apply_to_bytes(text.as_bytes());
            prop_assert_eq!(bytes.as_deref(), Some(masked.as_bytes()));
            prop_assert_eq!(masks.apply_to_bytes(masked.as_bytes()), None);
        }
    }
}
