//! Which version of Python a scorer wants: `>=3.10,<3.13`, `==3.12.*`, `~=3.11`. Pure.
//!
//! Of the specifiers that Python packages know, this reads those on plain releases; there are no interpreters that
//! a scorer could need by an epoch or a local label.

use std::{cmp::Ordering, fmt, str::FromStr};

/// The release of an interpreter, such as 3.11.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release(Vec<u32>);

impl Release {
    fn part(&self, place: usize) -> u32 {
        self.0.get(place).copied().unwrap_or(0)
    }

    /// Compares as if the shorter one went on with zeros.
    fn compare(&self, other: &Self) -> Ordering {
        let length = self.0.len().max(other.0.len());
        (0..length)
            .map(|place| self.part(place).cmp(&other.part(place)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Whether the first parts are those of `prefix`.
    fn begins_with(&self, prefix: &[u32]) -> bool {
        (0..prefix.len()).all(|place| self.part(place) == prefix[place])
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

impl FromStr for Release {
    type Err = BadConstraint;

    fn from_str(text: &str) -> Result<Self, BadConstraint> {
        let parts: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        match parts {
            Ok(parts) if (1..=4).contains(&parts.len()) => Ok(Self(parts)),
            _ => Err(BadConstraint(text.to_owned())),
        }
    }
}

/// A text that does not say which versions are meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no version of Python; say '>=3.10,<3.13', '==3.12.*' or '3.12'")]
pub struct BadConstraint(String);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Clause {
    Equal(Release),
    Unequal(Release),
    Within(Vec<u32>),
    Outside(Vec<u32>),
    AtLeast(Release),
    AtMost(Release),
    Above(Release),
    Below(Release),
    /// At least the release, and the same but for its last part.
    Compatible(Release),
}

impl Clause {
    fn holds(&self, version: &Release) -> bool {
        match self {
            Self::Equal(release) => version.compare(release).is_eq(),
            Self::Unequal(release) => version.compare(release).is_ne(),
            Self::Within(prefix) => version.begins_with(prefix),
            Self::Outside(prefix) => !version.begins_with(prefix),
            Self::AtLeast(release) => version.compare(release).is_ge(),
            Self::AtMost(release) => version.compare(release).is_le(),
            Self::Above(release) => version.compare(release).is_gt(),
            Self::Below(release) => version.compare(release).is_lt(),
            Self::Compatible(release) => {
                let fixed = release.0.len() - 1;
                version.compare(release).is_ge() && version.begins_with(&release.0[..fixed])
            }
        }
    }
}

impl FromStr for Clause {
    type Err = BadConstraint;

    fn from_str(text: &str) -> Result<Self, BadConstraint> {
        let bad = || BadConstraint(text.to_owned());
        let text = text.trim();
        let operator = ["===", "==", "!=", "~=", ">=", "<=", ">", "<"]
            .into_iter()
            .find(|operator| text.starts_with(operator))
            .unwrap_or("");
        let rest = text[operator.len()..].trim();
        if let Some(prefix) = rest.strip_suffix(".*") {
            let prefix = prefix.parse::<Release>()?.0;
            return match operator {
                "" | "==" => Ok(Self::Within(prefix)),
                "!=" => Ok(Self::Outside(prefix)),
                _ => Err(bad()),
            };
        }
        let release: Release = rest.parse()?;
        match operator {
            // A bare version means its whole series, as on a command line.
            "" if release.0.len() < 3 => Ok(Self::Within(release.0)),
            "" | "==" | "===" => Ok(Self::Equal(release)),
            "!=" => Ok(Self::Unequal(release)),
            ">=" => Ok(Self::AtLeast(release)),
            "<=" => Ok(Self::AtMost(release)),
            ">" => Ok(Self::Above(release)),
            "<" => Ok(Self::Below(release)),
            "~=" if release.0.len() >= 2 => Ok(Self::Compatible(release)),
            _ => Err(bad()),
        }
    }
}

/// Which versions of Python will do. All clauses must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    text: String,
    clauses: Vec<Clause>,
}

impl Constraint {
    /// Whether `version` will do.
    pub fn allows(&self, version: &Release) -> bool {
        self.clauses.iter().all(|clause| clause.holds(version))
    }
}

impl FromStr for Constraint {
    type Err = BadConstraint;

    fn from_str(text: &str) -> Result<Self, BadConstraint> {
        let clauses = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self {
            text: text.trim().to_owned(),
            clauses,
        })
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
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

    proptest! {
        #[test]
        fn exactly_one_of_below_equal_above_holds(a in 0_u32..4, b in 0_u32..4, c in 0_u32..4, d in 0_u32..4) {
            let version = Release(vec![3, a, b]);
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
