//! The patterns by which tasks of a data set and files of logs are chosen: `*`, `?` and `[…]` as Python's `fnmatch` has them, with
//! regard to case. A star stands for slashes too.

/// Whether `name` matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut seen) = (0, 0);
    // Where to go on if what follows the last star does not fit: the star takes one more character.
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at + 1, seen));
                at += 1;
                continue;
            }
            Some('?') => Some(at + 1),
            Some('[') => set(&pattern, at, name[seen]),
            Some(letter) if *letter == name[seen] => Some(at + 1),
            _ => None,
        };
        match (step, star) {
            (Some(next), _) => (at, seen) = (next, seen + 1),
            (None, Some((after, taken))) => {
                (at, seen) = (after, taken + 1);
                star = Some((after, taken + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// Whether any of `patterns` matches.
pub fn matches_any<'p>(patterns: impl IntoIterator<Item = &'p String>, name: &str) -> bool {
    patterns.into_iter().any(|pattern| matches(pattern, name))
}

/// Where the pattern goes on after the set at `at`, if `letter` is in it. A bracket that is never closed stands for itself.
fn set(pattern: &[char], at: usize, letter: char) -> Option<usize> {
    let mut from = at + 1;
    let is_negated = pattern.get(from) == Some(&'!');
    if is_negated {
        from += 1;
    }
    // A closing bracket in the first place is one of the letters.
    let close = (from + 1..pattern.len()).find(|place| pattern[*place] == ']');
    let Some(close) = close else {
        return (letter == '[').then_some(at + 1);
    };
    let letters = &pattern[from..close];
    let mut place = 0;
    let mut is_in = false;
    while place < letters.len() {
        if place + 2 < letters.len() && letters[place + 1] == '-' {
            is_in |= (letters[place]..=letters[place + 2]).contains(&letter);
            place += 3;
        } else {
            is_in |= letters[place] == letter;
            place += 1;
        }
    }
    (is_in != is_negated).then_some(close + 1)
}

/// Which of several names are kept: those that an `include` pattern matches (all of them without one), without those that an
/// `exclude` pattern matches.
pub fn is_chosen(name: &str, include: &[String], exclude: &[String]) -> bool {
    (include.is_empty() || matches_any(include, name)) && !matches_any(exclude, name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("*", "", true)]
    #[case("*", "a/b", true)]
    #[case("a*c", "abbbc", true)]
    #[case("a*c", "abbbd", false)]
    #[case("a?c", "abc", true)]
    #[case("a?c", "ac", false)]
    #[case("[ab]x", "bx", true)]
    #[case("[!ab]x", "bx", false)]
    #[case("[!ab]x", "cx", true)]
    #[case("[a-c]", "b", true)]
    #[case("[a-c]", "-", false)]
    #[case("[]]", "]", true)]
    #[case("[a", "[a", true)]
    #[case("[]", "[]", true)]
    #[case("Hello*", "hello-world", false)]
    #[case("*-*-*", "a-b-c", true)]
    #[case("", "", true)]
    #[case("", "a", false)]
    fn patterns_are_those_of_fnmatch(
        #[case] pattern: &str,
        #[case] name: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(matches(pattern, name), expected);
    }

    proptest! {
        #[test]
        fn a_name_without_wildcards_matches_itself_alone(name in "[a-z0-9/-]{0,12}", other in "[a-z0-9/-]{0,12}") {
            prop_assert!(matches(&name, &name));
            prop_assert_eq!(matches(&name, &other), name == other);
        }

        #[test]
        fn any_pattern_comes_to_an_end(pattern in "[a*?\\[\\]!-]{0,20}", name in "[a-c\\[\\]-]{0,20}") {
            let _ = matches(&pattern, &name);
            let with_stars = format!("*{}*", name.replace(['[', '*', '?'], "?"));
            prop_assert!(matches(&with_stars, &name));
        }
    }
}
