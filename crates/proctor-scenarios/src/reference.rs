//! What a reference output is: a patch, or commands.

/// How a scenario is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    /// A unified diff, for `patch -p1` in the working directory.
    Patch(&'a str),
    /// Commands for a shell in the working directory.
    Commands(&'a str),
}

impl<'a> Reference<'a> {
    /// What `text` is. A patch is known by a file header that is followed by a hunk.
    pub fn of(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let is_patch = lines.windows(3).any(|three| {
            three[0].starts_with("--- ")
                && three[1].starts_with("+++ ")
                && three[2].starts_with("@@ ")
        });
        if is_patch {
            Self::Patch(text)
        } else {
            Self::Commands(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_known_by_its_headers() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(Reference::of(patch), Reference::Patch(patch));
        for commands in ["echo '--- a'", "cat > x <<END\n--- a\nEND\n", ""] {
            assert_eq!(Reference::of(commands), Reference::Commands(commands));
        }
    }
}
