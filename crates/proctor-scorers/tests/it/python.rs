//! Environments of Python programs: made by pip or by uv, and nothing of them is left.

use proctor_scorers::ScoredState::Complete;
use serde_json::{Value, json};

use crate::support::{Agent, Boxes};

/// Stands in for uv. It knows no Python until it may download one, and keeps what it may keep where uv would.
const UV: &str = r#"#!/bin/bash
printf '%s\n' "downloads=$UV_PYTHON_DOWNLOADS $*" >>/srv/calls
case " $* " in *' --no-cache '*) ;; *) /bin/mkdir -p "$HOME/.cache/uv" && : >"$HOME/.cache/uv/kept" ;; esac
: >"$TMPDIR/half-a-download"
case "$1" in
venv)
  if [ "$UV_PYTHON_DOWNLOADS" = never ]; then echo 'no such Python here' >&2; exit 2; fi
  pythons=${UV_PYTHON_INSTALL_DIR:-$HOME/.local/share/uv/python}
  /bin/mkdir -p "$pythons" && : >"$pythons/kept"
  exec /usr/bin/python3 -m venv --without-pip "${@: -1}" ;;
pip)
  while [ "$1" != --python ]; do shift; done
  "$2" -m ensurepip >/dev/null && exec "$2" -m pip install --quiet --no-cache-dir "${@:3}" ;;
esac
"#;

/// A package that is built where it is installed, without a network: what pip would keep for the next time.
const PACKAGE: &str = r#"
mkdir -p /srv/handy-1.0 && cd /srv/handy-1.0
printf '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n' >pyproject.toml
printf 'Metadata-Version: 2.1\nName: handy\nVersion: 1.0\n' >PKG-INFO
cat >backend.py <<'END'
import zipfile

def build_wheel(directory, settings=None, metadata=None):
    name = "handy-1.0-py3-none-any.whl"
    files = {
        "handy.py": "VALUE = 0.75\n",
        "handy-1.0.dist-info/METADATA": open("PKG-INFO").read(),
        "handy-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, "handy-1.0.dist-info/RECORD"])
    with zipfile.ZipFile(f"{directory}/{name}", "w") as wheel:
        for path, text in {**files, "handy-1.0.dist-info/RECORD": record}.items():
            wheel.writestr(path, text)
    return name
END
tar -C /srv -czf /srv/handy-1.0.tar.gz handy-1.0
"#;

fn scorer(requirements: Option<&str>, constraint: Option<&str>) -> Value {
    // What it starts leaves nothing behind either.
    let script = "import subprocess, sys\n\
                  subprocess.run([sys.executable, '-c', 'import helper'], check=True)\n\
                  try:\n    import handy\n    print(handy.VALUE)\nexcept ImportError:\n    print(0.25)";
    json!({
        "type": "python_script_scorer", "python_script": script,
        "requirements_contents": requirements, "python_version_constraint": constraint,
    })
}

/// Every file that Python, pip and uv might leave, with the time of its last change.
async fn files(agent: &Agent<'_>) -> String {
    agent
        .does(
            "echo \"$HOME\"; find \"$HOME\" /root /home /tmp /var /srv /opt /run /usr/lib/python3* /usr/local ! -path /srv/calls \
             -printf '%p %T@\\n' | grep -v '^/[a-z]* ' | sort",
        )
        .await
}

async fn agent_with_a_package(boxes: &Boxes) -> Agent<'_> {
    let agent = boxes.agent().await;
    assert_eq!(agent.does(PACKAGE).await, "");
    agent.writes("helper.py", "X = 1\n").await;
    agent
}

#[tokio::test]
async fn what_pip_builds_is_not_kept() {
    let boxes = Boxes::new();
    let agent = agent_with_a_package(&boxes).await;
    let before = files(&agent).await;
    let scored = agent
        .scored(scorer(Some("/srv/handy-1.0.tar.gz\n"), None))
        .await;
    assert_eq!((scored.score, scored.state), (0.75, Complete), "{scored:?}");
    same_lines(&files(&agent).await, &before);
    boxes.end().await;
}

#[tokio::test]
async fn uv_makes_environments_where_it_is_there_and_nothing_is_left_of_them() {
    let boxes = Boxes::new();
    let agent = agent_with_a_package(&boxes).await;
    let refused = agent
        .does(&format!(
            "cat >/usr/local/bin/uv <<'UV' && chmod 755 /usr/local/bin/uv\n{UV}UV"
        ))
        .await;
    if !refused.is_empty() {
        eprintln!("skipped: the box's programs cannot be changed on this host");
        return boxes.end().await;
    }
    let before = files(&agent).await;
    let package = Some("/srv/handy-1.0.tar.gz\n");
    let elsewhere = Some("==3.7.1");
    let venv = "venv --quiet --no-cache --python ==3.7.1 PLACE/env";
    let install = "downloads= pip install --quiet --no-cache --python PLACE/env/bin/python -r PLACE/requirements.txt\n";
    for (scorer, score, calls) in [
        // The interpreter is the box's own, and uv brings the packages.
        (scorer(package, None), 0.75, install.to_owned()),
        (scorer(None, None), 0.25, String::new()),
        // uv brings the interpreter, by a download when it knows of none.
        (
            scorer(None, elsewhere),
            0.25,
            format!("downloads=never {venv}\ndownloads= {venv}\n"),
        ),
    ] {
        let scored = agent.scored(scorer.clone()).await;
        assert_eq!(
            (scored.score, scored.state),
            (score, Complete),
            "{scorer}: {scored:?}"
        );
        let made = agent
            .does("[ ! -e /srv/calls ] || sed -E 's#/tmp/[^/ ]+/#PLACE/#g' /srv/calls; rm -f /srv/calls")
            .await;
        assert_eq!(made, calls, "{scorer}");
        same_lines(&files(&agent).await, &before);
    }
    boxes.end().await;
}

/// Names the lines that are not in both.
fn same_lines(after: &str, before: &str) {
    let only = |one: &str, other: &str| -> Vec<String> {
        let other: std::collections::HashSet<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(only(after, before), Vec::<String>::new(), "is new");
    assert_eq!(only(before, after), Vec::<String>::new(), "is gone");
}
