//! Each kind of scorer in the agent's own box.

use std::time::Duration;

use proctor_core::scorer::NotRun;
use proctor_scorers::ScoredState::{Complete, Error};
use serde_json::{Value, json};

use crate::support::{Boxes, WORK, functions, order};

fn bash(script: &str) -> Value {
    json!({"type": "bash_script_scorer", "bash_script": script})
}

fn command(command: &str) -> Value {
    json!({"type": "command_scorer", "command": command})
}

fn python(script: &str) -> Value {
    json!({"type": "python_script_scorer", "python_script": script})
}

#[tokio::test]
async fn a_script_is_scored_by_what_it_prints() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.writes("answer", "42\n").await;
    let cases = [
        ("echo score=0.25; echo score=0.75; echo bye", 0.75, Complete),
        ("echo checked; echo 0.5", 0.5, Complete),
        (
            "if [ \"$(cat answer)\" = 42 ]; then echo score=1; else echo score=0; fi",
            1.0,
            Complete,
        ),
        ("echo score=1.5", 0.0, Error),
        ("echo score=nan", 0.0, Error),
        ("echo nothing", 0.0, Error),
        ("echo score=0.5; exit 7", 0.5, Complete),
        (
            "set -e\ncat <<'END'\nscore=0.125\nEND\nfalse\necho score=1",
            0.125,
            Complete,
        ),
        ("cat; echo score=1", 1.0, Complete),
        ("echo score=1 >&2", 0.0, Error),
        ("if then", 0.0, Error),
    ];
    for (script, score, state) in cases {
        let scored = agent.scored(bash(script)).await;
        assert_eq!(
            (scored.score, scored.state),
            (score, state),
            "{script}: {scored:?}"
        );
    }
    boxes.end().await;
}

#[tokio::test]
async fn a_command_is_scored_by_its_status() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let scored = agent.scored(command("echo fine; echo odd >&2")).await;
    assert_eq!((scored.score, scored.state), (1.0, Complete));
    assert_eq!(scored.output, "fine\n--- standard error ---\nodd\n");
    for fails in ["exit 3", "false", "no-such-program", "kill -9 $$"] {
        let scored = agent.scored(command(fails)).await;
        assert_eq!((scored.score, scored.state), (0.0, Complete), "{fails}");
    }
    boxes.end().await;
}

#[tokio::test]
async fn a_script_of_any_length_arrives_whole() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let long = format!(": '{}'\necho score=1", "x".repeat(300_000));
    assert_eq!(agent.scored(bash(&long)).await.score, 1.0);
    boxes.end().await;
}

#[tokio::test]
async fn scorers_have_the_runs_environment_directory_and_user() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let mut order = order(command(&format!(
        "[ \"$TOKEN\" = 'a b' ] && [ \"$PWD\" = {WORK} ] && [ \"$(id -u)\" = 1000 ]"
    )));
    order.environment.insert("TOKEN".into(), "a b".into());
    order.user = proctor_devbox::User::Ids {
        uid: 1000,
        gid: 1000,
    };
    if !boxes.have_many_users().await {
        return boxes.end().await;
    }
    let scored = agent.judged(&order).await.results.remove(0);
    assert_eq!(scored.score, 1.0, "{scored:?}");
    boxes.end().await;
}

#[tokio::test]
async fn test_files_are_there_for_the_command_and_gone_afterwards() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.writes("tests/old.txt", "the agent's own").await;
    let before = agent
        .does(&format!("cd {WORK} && find . | sort; cat tests/old.txt"))
        .await;
    for (test_command, score) in [
        (
            "grep -q secret tests/old.txt && grep -q 'it'\\''s' deep/er/new.txt",
            1.0,
        ),
        ("exit 4", 0.0),
        ("kill -9 $PPID; sleep 60", 0.0),
    ] {
        let scored = agent
            .scored(json!({
                "type": "test_based_scorer",
                "test_files": [
                    {"file_path": "tests/old.txt", "file_contents": "secret"},
                    {"file_path": "deep/er/new.txt", "file_contents": "it's\n"},
                ],
                "test_command": test_command,
            }))
            .await;
        assert_eq!(scored.score, score, "{scored:?}");
        let after = agent
            .does(&format!("cd {WORK} && find . | sort; cat tests/old.txt"))
            .await;
        assert_eq!(after, before, "after {test_command}");
    }
    assert_eq!(agent.does("ls -A /tmp").await, "");
    boxes.end().await;
}

#[tokio::test]
async fn test_files_are_gone_after_a_scorer_that_took_too_long() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let mut order = order(json!({
        "type": "test_based_scorer",
        "test_files": [{"file_path": "t/secret.txt", "file_contents": "secret"}],
        "test_command": "cat t/secret.txt; (setsid sleep 100 &) ; sleep 100",
    }));
    order.scorer_time_limit = Some(Duration::from_millis(700));
    let judgement = agent.judged(&order).await;
    let scored = &judgement.results[0];
    assert_eq!((scored.score, scored.state), (0.0, Error));
    assert!(
        scored.output.contains("took longer than 0.7 seconds"),
        "{}",
        scored.output
    );
    assert!(!judgement.timed_out);
    assert_eq!(
        agent
            .does(&format!("ls -A {WORK}; ls -A /tmp; pgrep sleep"))
            .await,
        ""
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_test_file_that_cannot_be_written_is_an_error_of_the_scorer() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent
        .writes("tests", "a file where a directory should be")
        .await;
    let scored = agent
        .scored(json!({
            "type": "test_based_scorer",
            "test_files": [{"file_path": "tests/a.txt", "file_contents": ""}],
            "test_command": "true",
        }))
        .await;
    assert_eq!((scored.score, scored.state), (0.0, Error), "{scored:?}");
    assert_eq!(scored.not_run, Some(NotRun::Here));
    assert!(scored.output.contains("cannot be"), "{}", scored.output);
    boxes.end().await;
}

#[tokio::test]
async fn no_status_of_a_command_is_taken_for_tests_that_could_not_be_placed() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    // What shells, `timeout` and we ourselves end with when something went wrong.
    for status in [1, 2, 124, 125, 126, 127, 128, 137, 254, 255] {
        let scored = agent
            .scored(json!({
                "type": "test_based_scorer",
                "test_files": [{"file_path": "t.txt", "file_contents": ""}],
                "test_command": format!("exit {status}"),
            }))
            .await;
        assert_eq!(
            (scored.score, scored.state),
            (0.0, Complete),
            "{status}: {scored:?}"
        );
    }
    let scored = agent.scored(python("exit(125)")).await;
    assert_eq!((scored.score, scored.state), (0.0, Error));
    assert_eq!(scored.not_run, None, "it ran");
    assert!(
        scored.output.contains("the program failed with status"),
        "{scored:?}"
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_python_program_is_scored_by_its_last_line() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent
        .writes("json.py", "print('score=1'); raise SystemExit")
        .await;
    for (script, score, state) in [
        (
            "import json, os\nprint('looking')\nprint(len(os.listdir()) / 4)",
            0.25,
            Complete,
        ),
        (
            "import sys\nprint(1.0 if sys.prefix != sys.base_prefix else 0.0)",
            1.0,
            Complete,
        ),
        ("print(0.5)\nraise ValueError('no')", 0.0, Error),
        ("print('0.5 or so')", 0.0, Error),
        ("exit(0)", 0.0, Error),
        ("print(7)", 0.0, Error),
    ] {
        let scored = agent.scored(python(script)).await;
        assert_eq!(
            (scored.score, scored.state),
            (score, state),
            "{script}: {scored:?}"
        );
    }
    assert_eq!(agent.does("ls -A /tmp").await, "");
    boxes.end().await;
}

#[tokio::test]
async fn a_python_version_that_the_box_lacks_is_named() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let scored = agent
        .scored(json!({
            "type": "python_script_scorer", "python_script": "print(1)", "python_version_constraint": "==3.2.1",
        }))
        .await;
    assert_eq!((scored.state, scored.not_run), (Error, Some(NotRun::Here)));
    assert!(
        scored.output.contains("no Python that meets '==3.2.1'"),
        "{}",
        scored.output
    );
    assert!(
        scored.output.contains("/usr/bin/python3 is 3."),
        "{}",
        scored.output
    );
    let scored = agent
        .scored(json!({
            "type": "python_script_scorer", "python_script": "print(1)", "python_version_constraint": ">=3.8,<4",
        }))
        .await;
    assert_eq!(scored.score, 1.0, "{scored:?}");
    boxes.end().await;
}

#[tokio::test]
async fn requirements_are_installed_or_their_lack_is_said() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let with = |requirements: &str, script: &str| {
        json!({
            "type": "python_script_scorer", "python_script": script, "requirements_contents": requirements,
        })
    };
    // A package of the agent's machine needs no network.
    agent
        .does(
            "mkdir -p /srv/pkg/handy && echo 'VALUE = 0.75' > /srv/pkg/handy/__init__.py && cd /srv/pkg && \
             mkdir -p handy-1.0.dist-info && printf 'Metadata-Version: 2.1\\nName: handy\\nVersion: 1.0\\n' > handy-1.0.dist-info/METADATA && \
             printf 'Wheel-Version: 1.0\\nGenerator: hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n' > handy-1.0.dist-info/WHEEL && \
             printf 'handy/__init__.py,,\\nhandy-1.0.dist-info/METADATA,,\\nhandy-1.0.dist-info/WHEEL,,\\nhandy-1.0.dist-info/RECORD,,\\n' \
               > handy-1.0.dist-info/RECORD && \
             python3 -m zipfile -c /srv/handy-1.0-py3-none-any.whl handy handy-1.0.dist-info",
        )
        .await;
    let scored = agent
        .scored(with(
            "/srv/handy-1.0-py3-none-any.whl\n",
            "import handy\nprint(handy.VALUE)",
        ))
        .await;
    assert_eq!(scored.score, 0.75, "{scored:?}");
    let scored = agent
        .scored(with("handy-that-is-nowhere==1\n", "print(1)"))
        .await;
    assert_eq!((scored.state, scored.not_run), (Error, Some(NotRun::Here)));
    assert!(
        scored
            .output
            .contains("requirements could not be installed"),
        "{}",
        scored.output
    );
    assert_eq!(agent.does("ls -A /tmp").await, "");
    boxes.end().await;
}

#[tokio::test]
async fn a_custom_scorer_is_the_registered_script_with_its_parameters() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let mut order = order(json!({
        "type": "custom_scorer", "custom_scorer_type": "length", "scorer_params": {"most": 3, "name": "it's"},
    }));
    order.custom.insert(
        "length".into(),
        "[ \"$RL_SCORER_CONTEXT\" = \"$RL_TEST_CONTEXT\" ] || exit 1\n\
         python3 -c 'import json, os; print(json.loads(os.environ[\"RL_SCORER_CONTEXT\"])[\"most\"] / 4)'"
            .into(),
    );
    let scored = agent.judged(&order).await.results.remove(0);
    assert_eq!(scored.score, 0.75, "{scored:?}");
    order.custom.clear();
    order.id.push_str("-again");
    let scored = agent.judged(&order).await.results.remove(0);
    assert_eq!(
        (scored.state, scored.not_run),
        (Error, Some(NotRun::Anywhere))
    );
    assert!(scored.output.contains("no scorer of the type 'length'"));
    boxes.end().await;
}

#[tokio::test]
async fn code_is_found_by_its_structure_below_a_directory_and_nowhere_else() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent
        .writes("src/a.py", "def f():\n    return eval('1')\n")
        .await;
    agent.writes("src/b.js", "console.log(1)\n").await;
    agent.writes("tool", "eval('2')\n").await;
    agent.writes("src/.hidden/c.py", "exec('1')\n").await;
    agent
        .does(&format!("cd {WORK} && ln -s /usr/lib/python3 src/outside && mkfifo src/pipe.py && ln -s a.py src/link.py"))
        .await;
    let look = |pattern: &str, directory: &str, lang: Option<&str>| json!({"type": "ast_grep_scorer", "pattern": pattern, "search_directory": directory, "lang": lang});
    for (scorer, score) in [
        (look("eval($$$)", "src", Some("python")), 1.0),
        (look("eval($$$)", "src", None), 1.0),
        (
            look("eval(\\$\\$\\$)", &format!("{WORK}/src"), Some("py")),
            1.0,
        ),
        (look("eval($$$)", "src", Some("javascript")), 0.0),
        (look("console.log($A)", ".", None), 1.0),
        (look("exec($$$)", "src", Some("python")), 0.0),
        (look("eval($$$)", "tool", Some("python")), 1.0),
        (look("eval($$$)", "nowhere", Some("python")), 0.0),
    ] {
        let scored = agent.scored(scorer.clone()).await;
        assert_eq!(
            (scored.score, scored.state),
            (score, Complete),
            "{scorer}: {scored:?}"
        );
    }
    let scored = agent.scored(look("eval($$$)", "src", Some("python"))).await;
    assert_eq!(scored.output, format!("{WORK}/src/a.py:2: eval('1')\n"));
    boxes.end().await;
}

#[tokio::test]
async fn a_scorer_that_takes_too_long_is_ended_with_everything_it_started() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let mut order = order(command("(setsid sleep 321 &) ; sleep 321"));
    order.scorers = functions(&[command("(setsid sleep 321 &) ; sleep 321"), command("true")]);
    order.time_limit = Duration::from_millis(800);
    let judgement = agent.judged(&order).await;
    assert!(judgement.timed_out);
    let states: Vec<_> = judgement
        .results
        .iter()
        .map(|scored| scored.state)
        .collect();
    assert_eq!(states, [Error, Error]);
    assert!(judgement.results[1].output.contains("was over before"));
    assert_eq!(agent.does("pgrep -f 'sleep 321'").await, "");
    boxes.end().await;
}

#[tokio::test]
async fn what_a_scorer_leaves_running_is_ended_with_it() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let scored = agent
        .scored(command("setsid sleep 322 >/dev/null 2>&1 & true"))
        .await;
    assert_eq!(scored.score, 1.0);
    assert_eq!(agent.does("pgrep -f 'sleep 322'").await, "");
    boxes.end().await;
}

#[tokio::test]
async fn a_flood_of_output_is_bounded_and_no_score_is_guessed() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let scored = agent
        .scored(bash(
            "echo score=1; head -c 6000000 /dev/zero | tr '\\0' x; echo; echo score=0.5",
        ))
        .await;
    assert_eq!((scored.score, scored.state), (0.0, Error));
    assert!(scored.output.len() < 100_000);
    assert!(scored.output.contains("left out here"));
    boxes.end().await;
}

#[tokio::test]
async fn a_working_directory_that_is_not_there_is_an_error_of_the_scorer() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let mut order = order(command("true"));
    order.working_directory = Some("/no/such".to_owned());
    let scored = agent.judged(&order).await.results.remove(0);
    assert_eq!((scored.score, scored.state), (0.0, Error));
    assert_eq!(scored.not_run, Some(NotRun::Here));
    assert!(scored.output.contains("/no/such"), "{}", scored.output);
    boxes.end().await;
}
