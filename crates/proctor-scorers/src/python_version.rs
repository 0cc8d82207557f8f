//! Which version of Python a scorer wants: `>=3.10,<3.13`, `==3.12.*`, `~=3.11`. Pure.
//!
//! Versions and specifiers are those of Python packages (PEP 440), on plain releases only: there are no interpreters that a scorer could need by an
//! epoch, a local label or a candidate for a release. A bare version means its whole series, as on a command line.

use std::{fmt, str::FromStr};

use pep440_rs::{Version, VersionSpecifier};

/// No series of Python 3 after this one is looked for, far beyond what there is.
const LAST_SERIES: u64 = 40;
/// No series has a release after this one.
const LAST_RELEASE: u64 = 40;
/// How many parts the version of an interpreter has at most.
const MOST_PARTS: usize = 4;

/// The release of an interpreter, such as 3.11.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release(Version);

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Release {
    type Err = BadConstraint;

    fn from_str(text: &str) -> Result<Self, BadConstraint> {
        let version = text.parse().ok().filter(is_plain);
        version
            .map(Self)
            .ok_or_else(|| BadConstraint(text.to_owned()))
    }
}

/// A text that does not say which versions are meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no version of Python; say '>=3.10,<3.13', '==3.12.*' or '3.12'")]
pub struct BadConstraint(String);

/// Which versions of Python will do. All clauses must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    text: String,
    clauses: Vec<VersionSpecifier>,
}

impl Constraint {
    /// Whether `version` will do.
    pub fn allows(&self, version: &Release) -> bool {
        let mut clauses = self.clauses.iter();
        clauses.all(|clause| clause.contains(&version.0))
    }

    /// Whether any interpreter of Python 3 could do, of those that exist and those that may come.
    pub fn can_be_met(&self) -> bool {
        (0..=LAST_SERIES).any(|series| {
            let mut releases = 0..=LAST_RELEASE;
            releases.any(|release| self.allows(&Release(Version::new([3, series, release]))))
        })
    }
}

impl FromStr for Constraint {
    type Err = BadConstraint;

    fn from_str(text: &str) -> Result<Self, BadConstraint> {
        let clauses = text.split(',').map(read_clause);
        Ok(Self {
            text: text.trim().to_owned(),
            clauses: clauses.collect::<Result<_, _>>()?,
        })
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn read_clause(text: &str) -> Result<VersionSpecifier, BadConstraint> {
    let text = text.trim();
    let is_bare = text.starts_with(|letter: char| letter.is_ascii_digit());
    let is_series = !text.ends_with(".*") && text.split('.').count() < 3;
    let clause: Option<VersionSpecifier> = match (is_bare, is_series) {
        (true, true) => format!("=={text}.*").parse().ok(),
        (true, false) => format!("=={text}").parse().ok(),
        (false, _) => text.parse().ok(),
    };
    clause
        .filter(|clause| is_plain(clause.version()))
        .ok_or_else(|| BadConstraint(text.to_owned()))
}

fn is_plain(version: &Version) -> bool {
    version.is_stable()
        && !version.is_post()
        && !version.is_local()
        && version.epoch() == 0
        && version.release().len() <= MOST_PARTS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_constraint_allows_what_it_says() {
        for (constraint, allowed, refused) in [
            ("==3.12.10", "3.12.10", "3.12.9"),
            ("==3.12", "3.12.0", "3.12.1"),
            ("==3.12.*", "3.12.7", "3.13.0"),
            ("!=3.12.*", "3.11.0", "3.12.1"),
            (">=3.10,<3.13", "3.12.9", "3.13.0"),
            (">= 3.10 , < 3.13", "3.10", "3.9.9"),
            ("~=3.11", "3.14.1", "4.0"),
            ("~=3.11.2", "3.11.9", "3.12.0"),
            (">3.11", "3.11.2", "3.11.0"),
            ("<=3.11", "3.11.0", "3.11.1"),
            ("3.12", "3.12.4", "3.11.4"),
            ("3", "3.1", "4.0"),
            ("3.12.4", "3.12.4", "3.12.5"),
            ("===3.12.4", "3.12.4", "3.12.5"),
            ("!=3.11.2", "3.11.3", "3.11.2"),
        ] {
            let constraint: Constraint = constraint.parse().unwrap();
            assert!(constraint.allows(&allowed.parse().unwrap()), "{constraint}");
            assert!(
                !constraint.allows(&refused.parse().unwrap()),
                "{constraint}"
            );
        }
    }

    #[test]
    fn what_is_no_constraint_is_refused() {
        for text in [
            "",
            "newest",
            ">=",
            "~=3",
            ">=3.*",
            "3..1",
            "=3.1",
            "3.1.2.3.4",
            ",",
        ] {
            assert!(text.parse::<Constraint>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_constraint_that_contradicts_itself_or_is_not_of_python_3_cannot_be_met() {
        for text in [
            ">=3.12,<3.10",
            "==3.12.*,!=3.12.*",
            "==2.7.*",
            ">=4",
            "<3",
            ">=3.99",
            "==3.12.99",
            "3.11,3.12",
            "==3.12.1.4",
        ] {
            assert!(!text.parse::<Constraint>().unwrap().can_be_met(), "{text}");
        }
        for text in [
            ">=3.8",
            "==3.12.10",
            "3",
            "~=3.11",
            "<3.1",
            "===3.12.4",
            ">3.14",
        ] {
            assert!(text.parse::<Constraint>().unwrap().can_be_met(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn exactly_one_of_below_equal_above_holds(a in 0_u32..4, b in 0_u32..4, c in 0_u32..4, d in 0_u32..4) {
            let version: Release = format!("3.{a}.{b}").parse().unwrap();
            let holds = |operator: &str| {
                let constraint: Constraint = format!("{operator}3.{c}.{d}").parse().unwrap();
                constraint.allows(&version)
            };
            let kinds = [holds("<"), holds("=="), holds(">")];
            prop_assert_eq!(kinds.iter().filter(|holds| **holds).count(), 1);
            prop_assert_eq!(holds("<="), holds("<") || holds("=="));
            prop_assert_eq!(holds("!="), !holds("=="));
        }

        #[test]
        fn no_text_makes_reading_fail_otherwise_than_by_refusing(text in ".{0,20}") {
            let _ = text.parse::<Constraint>();
        }
    }
}
