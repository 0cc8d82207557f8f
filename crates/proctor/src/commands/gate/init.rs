//! `proctor gate init`: a policy to begin with.

use std::path::Path;

use anyhow::Context as _;

use crate::exit::{Exit, WrongUse};

/// A policy that says what each of its members does.
pub(super) const TEMPLATE: &str = r#"# What an agent must prove before it is let through: `proctor gate RUN --policy gate.toml`.
# docs/statistics.md says what the numbers mean, docs/ci.md how a build server runs this.

# Which question the lines ask.
#   "suite": these very tasks, run again. Needs two attempts at each task. For "did this pull request break anything?"
#   "tasks": tasks like these. One attempt is enough. For "is the new model better?"
about = "suite"

# Above this share of void attempts (what the platform broke) nothing passes: INCONCLUSIVE.
max-void = 0.05

# What it is compared with: the newest completed runs with these labels, pooled by task. Or a run: { run = "br_…" }.
# The command line may say another: --baseline branch=main,newest=3
baseline = { labels = { branch = "main" }, newest = 3 }

# PASS needs every line. FAIL needs one.

# Not worse than the baseline by more than 5 points. A positive number asks for an improvement.
[[line]]
kind = "change"
at = -0.05
# axis = "accuracy"          # only what is scored on this axis
# tags = ["adult"]           # only tasks with all of these tags
# keys = ["said-allergies"]  # only these criteria, by key, id or label

# Above 80 %.
# [[line]]
# kind = "level"
# at = 0.8

# What must never happen, in no attempt.
# [[line]]
# kind = "never"
# criteria = "critical"      # those that the benchmark calls critical; or keys = ["wrong-patient"]
# max-rate = 0.01            # and a rate of 1 % must be ruled out: 299 clean attempts
"#;

pub(super) fn run(file: &Path, force: bool) -> anyhow::Result<Exit> {
    if !force && file.exists() {
        let message = format!(
            "{} is there already; --force writes over it",
            file.display()
        );
        return Err(WrongUse(message).into());
    }
    fs_err::write(file, TEMPLATE).context("the policy cannot be written")?;
    println!(
        "{}: written; every line of it says what it does",
        file.display()
    );
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use proctor_core::{policy::Policy, reader::Wording};
    use proctor_statistics::About;

    use super::*;

    fn read(text: &str) -> Policy {
        let table: toml::Table = toml::from_str(text).unwrap();
        let document = serde_json::to_value(table).unwrap();
        Policy::read(&document, Wording::File).unwrap()
    }

    #[test]
    fn the_policy_to_begin_with_is_one() {
        let policy = read(TEMPLATE);
        assert_eq!((policy.about, policy.lines.len()), (About::Suite, 1));
    }

    #[test]
    fn so_is_everything_that_it_offers_behind_comment_signs() {
        let offered = TEMPLATE
            .replace("# [[line]]", "[[line]]")
            .replace("# kind", "kind")
            .replace("# at", "at")
            .replace("# axis", "axis")
            .replace("# tags", "tags")
            .replace("# keys", "keys")
            .replace("# criteria", "criteria")
            .replace("# max-rate", "max-rate");
        assert_eq!(read(&offered).lines.len(), 3);
    }
}
