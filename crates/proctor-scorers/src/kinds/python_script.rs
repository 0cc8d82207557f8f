//! `python_script_scorer`: a Python program in an environment of its own, whose last line is the score.
//!
//! The environment has the wanted packages and nothing else: neither the box's packages nor the working directory are on its
//! path, so that nothing an agent left there is imported by accident. It is made for one scoring and removed by the script
//! that made it, with everything that was needed for it: nothing is kept for a next time, neither in the user's home nor beside
//! modules of the box.

use async_trait::async_trait;
use proctor_core::shell::quoted;

use super::Kind;
use crate::{
    bench::{Bench, Ended, Ran, Script},
    error::JudgeError,
    members::{Members, ReadMembers as _},
    output,
    python_version::{Constraint, Release},
    scored::{Finding, NoResult},
    shell::{PRELUDE, encoded},
};

/// A program, the packages it needs, and the versions of Python that it works with.
#[derive(Debug)]
pub(crate) struct PythonScript {
    program: String,
    requirements: Option<String>,
    constraint: Option<Constraint>,
}

#[async_trait]
impl Kind for PythonScript {
    const NAME: &'static str = "python_script_scorer";

    fn read(members: &Members<'_>) -> Option<Self> {
        let program = members.text("python_script");
        let requirements = members.optional_text("requirements_contents");
        let constraint = members
            .optional_text("python_version_constraint")
            .filter(|text| !text.trim().is_empty())
            .and_then(|text| {
                text.parse::<Constraint>()
                    .map_err(|bad| members.refuse("python_version_constraint", bad.to_string()))
                    .ok()
            });
        if let Some(constraint) = &constraint
            && !constraint.can_be_met()
        {
            let message = format!("no interpreter of Python 3 can meet '{constraint}'");
            members.refuse("python_version_constraint", message);
        }
        Some(Self {
            program: program?.to_owned(),
            requirements: requirements
                .filter(|text| names_anything(text))
                .map(str::to_owned),
            constraint,
        })
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        let found = match bench.run(&Script::new(SEARCH)).await? {
            Ran::Ended(ended) => Found::read(&ended.stdout),
            Ran::NotStarted(why) => return Ok(NoResult::not_started(why).into()),
        };
        let interpreter = match self.choose(&found) {
            Ok(interpreter) => interpreter,
            Err(why) => return Ok(NoResult::not_started(why).into()),
        };
        let undo = format!("place={}\n{UNDO}\n", quoted(&bench.scratch()));
        let text = format!(
            "{PRELUDE}{undo}{}",
            self.script(&interpreter, found.uv.as_deref(), bench.limit.as_secs_f64())
        );
        let script = Script::that_cleans_up(text, format!("{undo}undo\n"));
        bench.finding(&script, by_last_line).await
    }
}

/// Whether a requirements file names anything but comments.
fn names_anything(requirements: &str) -> bool {
    requirements
        .lines()
        .map(str::trim)
        .any(|line| !line.is_empty() && !line.starts_with('#'))
}

fn by_last_line(ended: &Ended) -> Result<f64, NoResult> {
    ended.check_run()?;
    match ended.exit.code {
        Some(0) => ended.by_output(output::of_last_line),
        _ => Err(NoResult::of_run(format!(
            "the program failed with status {}",
            ended.exit.status()
        ))),
    }
}

/// Names every interpreter and uv in the trusted directories. It asks no interpreter to load anything.
const SEARCH: &str = r#"
for python in /usr/local/bin/python3 /usr/bin/python3 /usr/local/bin/python3.? /usr/local/bin/python3.?? /usr/bin/python3.? /usr/bin/python3.??; do
  if [ -x "$python" ]; then
    printf '%s %s\n' "$python" "$("$python" -I -B -S -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)"
  fi
done
for uv in /usr/local/bin/uv /usr/bin/uv; do
  if [ -x "$uv" ]; then printf 'uv %s\n' "$uv"; break; fi
done
"#;

/// What a box offers.
#[derive(Debug, Default, PartialEq)]
struct Found {
    interpreters: Vec<(String, Release)>,
    uv: Option<String>,
}

impl Found {
    fn read(listing: &str) -> Self {
        let mut found = Self::default();
        for (first, second) in listing.lines().filter_map(|line| line.split_once(' ')) {
            if first == "uv" {
                found.uv = Some(second.to_owned());
            } else if let Ok(release) = second.parse() {
                found.interpreters.push((first.to_owned(), release));
            }
        }
        found
    }
}

/// Where the interpreter comes from.
#[derive(Debug, PartialEq)]
enum Interpreter {
    /// The box has it here.
    At(String),
    /// uv knows where to get one that meets this.
    FromUv(String),
}

impl PythonScript {
    fn choose(&self, found: &Found) -> Result<Interpreter, String> {
        let will_do = |release: &Release| match &self.constraint {
            Some(constraint) => constraint.allows(release),
            None => true,
        };
        if let Some((path, _)) = found.interpreters.iter().find(|(_, it)| will_do(it)) {
            return Ok(Interpreter::At(path.clone()));
        }
        match (&self.constraint, &found.uv) {
            (Some(constraint), Some(_)) => Ok(Interpreter::FromUv(constraint.to_string())),
            (constraint, _) => {
                let there: Vec<String> = found
                    .interpreters
                    .iter()
                    .map(|(path, release)| format!("{path} is {release}"))
                    .collect();
                let there = if there.is_empty() {
                    "it has no Python 3 at all".to_owned()
                } else {
                    there.join(", ")
                };
                let wanted = constraint
                    .as_ref()
                    .map_or_else(|| "3".to_owned(), Constraint::to_string);
                Err(format!(
                    "the devbox has no Python that meets '{wanted}': {there}; and there is no uv to get one"
                ))
            }
        }
    }

    /// Makes the environment, runs the program in it, and takes it away.
    fn script(&self, interpreter: &Interpreter, uv: Option<&str>, seconds: f64) -> String {
        let mut script = format!(
            "limit={}\n{ENVIRONMENT}",
            // Whole seconds are what the shell counts in.
            seconds.ceil()
        );
        let uv = uv.map(quoted);
        script.push_str(&match (interpreter, &uv) {
            (Interpreter::FromUv(constraint), Some(uv)) => {
                let wanted = quoted(constraint);
                let venv = format!("making {uv} venv --quiet --no-cache --python {wanted} \"$place/env\"");
                // One that is downloaded is for this scoring only. Where those are that somebody brought before, uv knows best.
                format!(
                    "UV_PYTHON_DOWNLOADS=never {venv} >/dev/null 2>&1 ||\n  \
                     UV_PYTHON_INSTALL_DIR=\"$place/python\" {venv} >&2 || fail {NO_PYTHON}\n"
                )
            }
            // pip is slow to install itself, and only needed for packages without uv.
            (Interpreter::At(path), uv) => {
                let pip = if self.requirements.is_some() && uv.is_none() {
                    ""
                } else {
                    "--without-pip "
                };
                let python = quoted(path);
                format!(
                    "making {python} -I -B -m venv {pip}\"$place/env\" >&2 || fail {NO_ENVIRONMENT}\n"
                )
            }
            (Interpreter::FromUv(_), None) => format!("fail {NO_PYTHON}\n"),
        });
        if let Some(requirements) = &self.requirements {
            let encoded = encoded(requirements);
            script.push_str(&format!(
                "printf %s '{encoded}' | /usr/bin/base64 -d >\"$place/requirements.txt\" || fail {NO_ENVIRONMENT}\n"
            ));
            let install = match &uv {
                Some(uv) => format!(
                    "{uv} pip install --quiet --no-cache --python {PYTHON} -r \"$place/requirements.txt\""
                ),
                None => format!(
                    "{PYTHON} -I -B -m pip install --quiet --no-cache-dir --disable-pip-version-check --no-input \
                     --retries 1 --timeout 15 -r \"$place/requirements.txt\""
                ),
            };
            script.push_str(&format!("making {install} >&2 || fail {NO_PACKAGES}\n"));
        }
        let program = encoded(&self.program);
        script.push_str(&format!(
            "printf %s '{program}' | /usr/bin/base64 -d | within {PYTHON} -I -B -\nfinish \"${{PIPESTATUS[2]}}\"\n"
        ));
        script
    }
}

/// `making` is for what makes the environment: what it is killed over goes with the environment. The variable is for every interpreter that
/// another one starts, which does not hand `-B` on.
const ENVIRONMENT: &str = r#"
within() { /usr/bin/timeout -s KILL "$((limit > SECONDS ? limit - SECONDS : 1))" "$@"; }
making() { TMPDIR="$place/tmp" within "$@"; }
trap undo EXIT
/bin/mkdir -m 700 -- "$place" "$place/tmp" || fail 'there is no room for a Python environment'
export PYTHONDONTWRITEBYTECODE=1
"#;

/// The interpreter of the environment, as a word of the script.
const PYTHON: &str = r#""$place/env/bin/python""#;

/// Takes the environment away.
const UNDO: &str = r#"undo() { /bin/rm -rf -- "$place"; }"#;

const NO_PYTHON: &str = "'uv could not get a Python that meets the constraint; without a network it can only use what is there'";
const NO_ENVIRONMENT: &str = "'the Python environment could not be made'";
const NO_PACKAGES: &str = "'the requirements could not be installed; a devbox without a network cannot download packages'";

#[cfg(test)]
mod tests {
    use super::*;

    fn scorer(constraint: Option<&str>) -> PythonScript {
        PythonScript {
            program: "print(1)".to_owned(),
            requirements: None,
            constraint: constraint.map(|text| text.parse().unwrap()),
        }
    }

    const LISTING: &str =
        "/usr/local/bin/python3 3.13.1\n/usr/bin/python3 3.11.2\n/usr/bin/python3.9 \n";

    #[test]
    fn the_first_interpreter_that_will_do_is_chosen() {
        let found = Found::read(LISTING);
        assert_eq!(
            scorer(None).choose(&found),
            Ok(Interpreter::At("/usr/local/bin/python3".to_owned()))
        );
        assert_eq!(
            scorer(Some("<3.12")).choose(&found),
            Ok(Interpreter::At("/usr/bin/python3".to_owned()))
        );
    }

    #[test]
    fn what_the_box_lacks_is_asked_of_uv_or_said() {
        let mut found = Found::read(LISTING);
        assert_eq!(
            scorer(Some("==3.12.10")).choose(&found).unwrap_err(),
            "the devbox has no Python that meets '==3.12.10': /usr/local/bin/python3 is 3.13.1, \
             /usr/bin/python3 is 3.11.2; and there is no uv to get one"
        );
        found.uv = Some("/usr/bin/uv".to_owned());
        assert_eq!(
            scorer(Some("==3.12.10")).choose(&found),
            Ok(Interpreter::FromUv("==3.12.10".to_owned()))
        );
        assert!(
            scorer(None)
                .choose(&Found::default())
                .unwrap_err()
                .contains("no Python 3 at all")
        );
    }

    #[test]
    fn comments_are_no_requirements() {
        assert!(!names_anything("\n# nothing\n  \n"));
        assert!(names_anything("# one\nrequests==2\n"));
    }
}
