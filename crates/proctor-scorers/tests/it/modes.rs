//! In which box scorers run, and what they meet there.

use proctor_devbox::{Backend as _, LayerId, User};
use proctor_scorers::{
    JudgeError, JudgeOrder, Mode,
    ScoredState::{Complete, Error},
    judge, rejudge,
};
use proctor_testkit::eventually;
use serde_json::{Value, json};

use crate::support::{Boxes, WORK, functions, order};

fn command(command: &str) -> Value {
    json!({"type": "command_scorer", "command": command})
}

fn in_mode(mode: Mode, scorer: Value) -> JudgeOrder {
    JudgeOrder {
        mode,
        ..order(scorer)
    }
}

/// Leaves a program running. It is there when this ends: a process is only found by its name once it has called exec.
const LEFT_RUNNING: &str = "setsid sleep 500 >/dev/null 2>&1 & echo kept > kept; \
    until pgrep -xf 'sleep 500' >/dev/null; do :; done";

#[tokio::test]
async fn live_meets_what_still_runs_and_quiet_does_not() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.does(&format!("cd {WORK}; {LEFT_RUNNING}")).await;
    let looks = command("pgrep sleep && grep -q kept kept");
    let live = agent.judged(&in_mode(Mode::Live, looks.clone())).await;
    assert_eq!((live.mode, live.results[0].score), (Mode::Live, 1.0));
    assert_eq!(live.layer, None);
    let quiet = agent
        .judged(&in_mode(
            Mode::Quiet,
            command("! pgrep sleep && grep -q kept kept"),
        ))
        .await;
    assert_eq!(
        (quiet.mode, quiet.results[0].score),
        (Mode::Quiet, 1.0),
        "{quiet:?}"
    );
    assert_eq!(agent.does("pgrep sleep").await, "", "it was ended for good");
    boxes.end().await;
}

#[tokio::test]
async fn a_clone_has_the_disk_without_the_processes_and_changes_nothing() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.does(&format!("cd {WORK}; {LEFT_RUNNING}")).await;
    let scorer = command("! pgrep sleep && grep -q kept kept && echo changed > kept");
    let judgement = agent.judged(&in_mode(Mode::Clone, scorer)).await;
    assert_eq!(judgement.results[0].score, 1.0, "{judgement:?}");
    assert_eq!(
        judgement.layer, None,
        "a copy of a busy disk is nobody's afterwards"
    );
    assert_eq!(
        agent
            .does(&format!("cat {WORK}/kept; pgrep -c sleep"))
            .await,
        "kept\n1\n"
    );
    boxes.end().await;
}

#[tokio::test]
async fn artifacts_are_all_that_a_clean_box_has_of_the_agent() {
    let boxes = Boxes::new();
    if !boxes.have_many_users().await {
        return boxes.end().await;
    }
    let agent = boxes.agent().await;
    agent.writes("src/main.py", "print('hello')").await;
    agent.writes("src/deep/er.txt", "deep").await;
    agent.writes("single.txt", "one").await;
    agent.writes("other.txt", "not named").await;
    agent
        .does(&format!(
            "cd {WORK}; echo cheat > /usr/local/bin/cheat; chmod +x src/main.py; ln -s /etc/hostname src/link; mkfifo src/pipe"
        ))
        .await;
    let checks = [
        "[ \"$(cat src/deep/er.txt single.txt)\" = deepone ]",
        "! [ -e other.txt ] && ! [ -e /usr/local/bin/cheat ]",
        "[ -x src/main.py ] && ! [ -x single.txt ] && [ \"$(stat -c %u src/main.py src src/deep)\" = $'0\\n0\\n0' ]",
        "[ \"$(id -u)\" = 0 ] && [ \"$($PROCTOR_AGENT id -u)\" = 1000 ]",
        "! $PROCTOR_AGENT sh -c 'echo x > src/main.py' && ! $PROCTOR_AGENT sh -c 'rm single.txt'",
        "[ \"$($PROCTOR_AGENT sh -c 'echo $SECRET$PROCTOR_SCORE_PIPE$PROCTOR_AGENT')\" = '' ] && [ \"$SECRET\" = s ]",
        "! [ -e prepared/gone ] && [ \"$(cat prepared/stays)\" = there ]",
        "[ \"$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ')\" = lo ]",
        "! [ -p src/pipe ]",
        "! { echo x >>$PROCTOR_AGENT; } 2>/dev/null && ! rm -f $PROCTOR_AGENT && ! mv /opt/proctor /opt/other",
        "[ \"$(cat /root/at-home)\" = /root ]",
    ];
    let shown = tempfile::tempdir().unwrap();
    let mut order = JudgeOrder {
        scorers: functions(&checks.map(command)),
        shown: Some(shown.path().to_owned()),
        ..in_mode(Mode::Artifacts, command("true"))
    };
    order.artifacts = ["src", "single.txt", "missing", "prepared/gone"]
        .map(str::to_owned)
        .to_vec();
    order.prepare = vec![
        format!(
            "mkdir -p {WORK}/prepared && cd {WORK}/prepared && echo there > stays && echo x > gone"
        ),
        "echo $HOME > at-home".to_owned(),
    ];
    order.environment.insert("SECRET".into(), "s".into());
    let judgement = agent.judged(&order).await;
    for (check, scored) in checks.iter().zip(&judgement.results) {
        assert_eq!(
            (scored.score, scored.state),
            (1.0, Complete),
            "{check}: {scored:?}"
        );
    }
    assert_eq!(fs_err::read_dir(shown.path()).unwrap().count(), 0);
    boxes.end().await;
}

#[tokio::test]
async fn what_runs_as_the_agent_cannot_write_to_the_scorers_pipe() {
    let boxes = Boxes::new();
    if !boxes.have_many_users().await {
        return boxes.end().await;
    }
    let agent = boxes.agent().await;
    agent
        .writes("cheat.sh", "echo score=1; (sleep 0.3; echo score=1) &\n")
        .await;
    for (script, score) in [
        ("echo score=0.25; $PROCTOR_AGENT sh cheat.sh", 0.25),
        (
            "got=$($PROCTOR_AGENT sh cheat.sh); [ \"$got\" = $'score=1\\nscore=1' ] && echo score=0.5",
            0.5,
        ),
        (
            "echo score=0.125; $PROCTOR_AGENT sh -c 'for p in /proc/[0-9]*; do echo score=1 > $p/fd/1; done'",
            0.125,
        ),
    ] {
        let scorer = json!({"type": "bash_script_scorer", "bash_script": script});
        let mut order = in_mode(Mode::Artifacts, scorer);
        order.artifacts = vec!["cheat.sh".to_owned()];
        let scored = agent.judged(&order).await.results.remove(0);
        assert_eq!(
            (scored.score, scored.state),
            (score, Complete),
            "{script}: {scored:?}"
        );
    }
    boxes.end().await;
}

#[tokio::test]
async fn what_the_agents_code_complains_about_is_apart_from_what_the_scorer_says() {
    let boxes = Boxes::new();
    if !boxes.have_many_users().await {
        return boxes.end().await;
    }
    let agent = boxes.agent().await;
    agent
        .writes(
            "cheat.sh",
            "echo 'all checks passed, score=1' >&2; echo 'all checks passed'; seq 100000 >&2; echo 'the end' >&2\n",
        )
        .await;
    let script = "echo 'one check failed'; $PROCTOR_AGENT sh cheat.sh; echo score=0.25";
    let scorer = json!({"type": "bash_script_scorer", "bash_script": script});
    let mut order = in_mode(Mode::Artifacts, scorer);
    order.artifacts = vec!["cheat.sh".to_owned()];
    let scored = agent.judged(&order).await.results.remove(0);
    assert_eq!((scored.score, scored.state), (0.25, Complete), "{scored:?}");
    let (said, complained) = scored
        .output
        .split_once("--- standard error ---\n")
        .unwrap();
    assert_eq!(said, "one check failed\nscore=0.25\n");
    assert!(complained.ends_with("the end\n"), "{complained}");
    assert!(complained.len() < 10_000);
    boxes.end().await;
}

#[tokio::test]
async fn artifacts_that_cannot_be_taken_over_are_an_error_of_every_scorer() {
    let boxes = Boxes::new();
    if !boxes.have_many_users().await {
        return boxes.end().await;
    }
    let agent = boxes.agent().await;
    agent.does(&format!("truncate -s 80M {WORK}/huge")).await;
    let mut order = in_mode(Mode::Artifacts, command("true"));
    order.artifacts = vec!["huge".to_owned()];
    let scored = agent.judged(&order).await.results.remove(0);
    assert_eq!((scored.score, scored.state), (0.0, Error));
    assert!(
        scored.output.contains("huge is larger than"),
        "{}",
        scored.output
    );

    order = in_mode(Mode::Artifacts, command("true"));
    order.prepare = vec!["echo broken; exit 9".to_owned()];
    let scored = agent.judged(&order).await.results.remove(0);
    assert_eq!(scored.state, Error);
    assert!(
        scored.output.contains("status 9: broken"),
        "{}",
        scored.output
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_kept_disk_is_judged_again_as_it_was() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.writes("answer", "first").await;
    let kept = LayerId::new("kept-disk").unwrap();
    let mut first = in_mode(Mode::Live, command("grep -q first answer"));
    first.freeze = Some(kept.clone());
    let judgement = agent.judged(&first).await;
    assert_eq!(judgement.results[0].score, 1.0);
    assert_eq!(judgement.layer, Some(kept.clone()));

    agent.writes("answer", "second").await;
    let spec = agent.devbox.record().await.unwrap().spec;
    agent.devbox.destroy().await.unwrap();
    let again = order(command("grep -q first answer"));
    let backend = boxes.backend.as_ref();
    let judgement = rejudge(backend, &kept, &spec, &again).await.unwrap();
    assert_eq!(
        (judgement.mode, judgement.results[0].score),
        (Mode::Clone, 1.0)
    );
    boxes.backend.delete_layer(&kept).await.unwrap();
    boxes.end().await;
}

#[tokio::test]
async fn a_disk_that_was_frozen_before_an_interruption_is_taken_as_it_is() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let kept = LayerId::new("kept-disk").unwrap();
    agent.writes("answer", "first").await;
    let labels = std::collections::BTreeMap::new();
    agent.devbox.snapshot(kept.clone(), labels).await.unwrap();
    // As if by the scorer of a judging that did not come to its end.
    agent.writes("answer", "second").await;
    for (mode, word) in [(Mode::Live, "second"), (Mode::Clone, "first")] {
        let order = JudgeOrder {
            freeze: Some(kept.clone()),
            ..in_mode(mode, command(&format!("grep -q {word} answer")))
        };
        let judgement = agent.judged(&order).await;
        assert_eq!(judgement.results[0].score, 1.0, "{mode}: {judgement:?}");
        assert_eq!(judgement.layer, Some(kept.clone()));
    }
    boxes.end().await;
}

#[tokio::test]
async fn a_disk_that_cannot_be_frozen_costs_no_result_where_scorers_can_do_without() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    agent.writes("answer", "first").await;
    // There is no place for layers any more.
    let layers = boxes.data().join("layers");
    fs_err::rename(&layers, layers.with_extension("away")).unwrap();
    fs_err::write(&layers, "").unwrap();
    let kept = LayerId::new("kept-disk").unwrap();
    let frozen = |mode| JudgeOrder {
        freeze: Some(kept.clone()),
        ..in_mode(mode, command("grep -q first answer"))
    };
    for left in ["true", LEFT_RUNNING] {
        agent.does(&format!("cd {WORK}; {left}")).await;
        let judgement = agent.judged(&frozen(Mode::Live)).await;
        assert_eq!(judgement.results[0].score, 1.0, "{judgement:?}");
        assert_eq!(judgement.layer, None);
        let why = judgement.not_frozen.unwrap();
        assert!(why.starts_with("taking a snapshot: "), "{why}");
        assert_eq!(agent.does(&format!("cat {WORK}/answer")).await, "first");
    }
    let order = frozen(Mode::Clone);
    let judged = judge(boxes.backend.as_ref(), agent.devbox.as_ref(), &order).await;
    assert!(matches!(judged, Err(JudgeError::Devbox(_))), "{judged:?}");
    boxes.end().await;
}

#[tokio::test]
async fn cancelling_ends_the_scorer_and_leaves_no_box() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    for mode in [Mode::Live, Mode::Clone] {
        let order = in_mode(mode, command("sleep 600"));
        let cancel = order.cancel.clone();
        let watch = async {
            match mode {
                Mode::Live => agent.meets("sleep 600").await,
                _ => {
                    eventually("there is a clone", async || {
                        boxes.backend.list().await.unwrap().len() > 1
                    })
                    .await;
                }
            }
            cancel.cancel();
        };
        let judging = judge(boxes.backend.as_ref(), agent.devbox.as_ref(), &order);
        let (outcome, ()) = tokio::join!(judging, watch);
        assert!(matches!(outcome, Err(JudgeError::Cancelled)), "{outcome:?}");
        assert_eq!(boxes.backend.list().await.unwrap().len(), 1);
        assert_eq!(agent.does("pgrep sleep").await, "");
    }
    boxes.end().await;
}

#[tokio::test]
async fn a_box_that_ends_meanwhile_is_no_score() {
    let boxes = Boxes::new();
    let agent = boxes.agent().await;
    let order = order(command("sleep 600"));
    let end = async {
        agent.meets("sleep 600").await;
        agent.devbox.stop().await.unwrap();
    };
    let judging = judge(boxes.backend.as_ref(), agent.devbox.as_ref(), &order);
    let (outcome, ()) = tokio::join!(judging, end);
    assert!(matches!(outcome, Err(JudgeError::BoxLost)), "{outcome:?}");
    boxes.end().await;
}

#[tokio::test]
async fn a_named_user_is_the_one_that_the_agents_code_runs_as() {
    let boxes = Boxes::new();
    if !boxes.have_many_users().await {
        return boxes.end().await;
    }
    let agent = boxes.agent().await;
    for (user, uid) in [
        (User::Named("user".into()), "1000"),
        (User::Named("root".into()), "1000"),
        (User::Ids { uid: 77, gid: 78 }, "77"),
    ] {
        let scorer = command(&format!("[ \"$($PROCTOR_AGENT id -u)\" = {uid} ]"));
        let order = JudgeOrder {
            user,
            ..in_mode(Mode::Artifacts, scorer)
        };
        let scored = agent.judged(&order).await.results.remove(0);
        assert_eq!(scored.score, 1.0, "{scored:?}");
    }
    boxes.end().await;
}
