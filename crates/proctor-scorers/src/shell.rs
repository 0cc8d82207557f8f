//! How a script gets into a box without becoming a file there: through the standard input of a shell that was told nothing else.

use proctor_core::shell::quoted;

/// The shell, by its own path: the agent's `PATH` decides nothing.
pub(crate) const BASH: &str = "/bin/bash";

/// Where scorers look for programs, unless the run's environment says otherwise.
pub(crate) const TRUSTED_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Reads a script from the standard input to its end, empties that, and becomes the script. It uses nothing but what is built into
/// the shell.
pub(crate) const LOADER: &str =
    "IFS= read -r -d '' REPLY\nexec 0</dev/null\neval \"unset REPLY\n$REPLY\"";

/// The exit status by which our own parts of a script say that the scorer's part never ran. The scorer's part may end with it too; that is
/// why such scripts end by `finish`.
pub(crate) const NOT_RUN: i32 = 125;

/// The beginning of scripts that have something to prepare: `fail REASON` ends them before the scorer's part runs, and `finish STATUS` with
/// the status of that part afterwards. [`NOT_RUN`] becomes another failure there: whatever the scorer's part ends with, it ran.
pub(crate) const PRELUDE: &str = "fail() { printf '%s\\n' \"$1\" >&2; exit 125; }\n\
    finish() { if [ \"$1\" -eq 125 ]; then echo 'the exit status was 125' >&2; exit 1; fi; exit \"$1\"; }\n";

/// How a program starts a script that comes through its standard input.
pub(crate) fn loading_argv() -> [&'static str; 6] {
    [BASH, "--noprofile", "--norc", "-c", LOADER, "scorer"]
}

/// `text` as one word that no shell and no terminal takes for anything else.
pub(crate) fn encoded(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// The words that run a script of ours, which comes through a pipe, and end it after `seconds`.
pub(crate) fn limited_loader(seconds: f64) -> String {
    format!(
        "/usr/bin/timeout -s KILL {seconds:.3} {BASH} --noprofile --norc -c {} scorer",
        quoted(LOADER)
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn said_by_a_shell(script: &str) -> String {
        let output = Command::new(BASH).arg("-c").arg(script).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn only_our_own_part_of_a_script_says_that_the_scorers_part_never_ran() {
        let status = |script: &str| {
            let script = format!("{PRELUDE}{script}");
            let output = Command::new(BASH).arg("-c").arg(script).output().unwrap();
            output.status.code().unwrap()
        };
        assert_eq!(status("fail 'no room'"), NOT_RUN);
        for ended in [0, 1, 2, 124, 125, 126, 127, 128, 137, 255] {
            let finished = status(&format!("finish {ended}"));
            assert_ne!(finished, NOT_RUN);
            assert_eq!(finished, if ended == NOT_RUN { 1 } else { ended });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn a_quoted_word_is_the_text_itself(text in "[^\0]{0,30}") {
            prop_assert_eq!(said_by_a_shell(&format!("printf %s {}", quoted(&text))), text);
        }

        #[test]
        fn an_encoded_text_comes_back_as_it_was(text in "[^\0]{0,60}") {
            let script = format!("printf %s {} | base64 -d", encoded(&text));
            prop_assert_eq!(said_by_a_shell(&script), text);
        }
    }
}
