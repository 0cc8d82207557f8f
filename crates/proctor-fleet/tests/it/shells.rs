use proctor_core::devbox::DevboxSetup;

use crate::support::{House, ended};

#[tokio::test]
async fn a_named_shell_remembers_everything_and_others_nothing_of_it() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let say = async |command: &str| house.sh_in(id, "main", command).await;
    assert_eq!(
        say("mkdir -p 'a b'; cd 'a b'; export E=exported; plain='two words'; list=(1 2 3)")
            .await
            .0,
        0
    );
    assert_eq!(
        say("f() { echo \"f says $plain\"; }; shopt -s extglob; set -o pipefail")
            .await
            .0,
        0
    );
    let (status, stdout, stderr) = say("pwd; echo $E ${list[2]}; f; bash -c 'echo $E'").await;
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert_eq!(
        stdout,
        "/home/user/a b\nexported 3\nf says two words\nexported\n"
    );
    assert_eq!(say("false | true").await.0, 1, "options stay");
    assert_eq!(say("unset E; exit 42").await.0, 42);
    assert_eq!(
        say("echo ${E-none} $plain; cd /; cd -").await.1,
        "none two words\n/home/user/a b\n"
    );
    let (_, other, _) = house.sh_in(id, "other", "pwd; echo ${plain-none}").await;
    assert_eq!(other, "/home/user\nnone\n");
    house.end().await;
}

#[tokio::test]
async fn a_shell_that_stops_at_errors_is_still_kept() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    assert_eq!(house.sh_in(id, "s", "set -eu; x=1").await.0, 0);
    assert_eq!(house.sh_in(id, "s", "x=2; false; x=3").await.0, 1);
    let (status, stdout, _) = house.sh_in(id, "s", "echo $x").await;
    assert_eq!((status, stdout.as_str()), (0, "2\n"));
    assert_ne!(house.sh_in(id, "s", "echo $not_there").await.0, 0);
    house.end().await;
}

#[tokio::test]
async fn commands_of_one_shell_run_in_order_and_shells_do_not_wait_for_each_other() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let mut commands = Vec::new();
    commands.push(
        house
            .start(
                id,
                "while [ ! -e go ]; do sleep 0.02; done; n=0",
                Some("queue"),
            )
            .await,
    );
    for _ in 0..10 {
        commands.push(
            house
                .start(id, "n=$((n+1)); echo $n >>seen", Some("queue"))
                .await,
        );
    }
    assert_eq!(commands[10].exit_status(), None);
    let (status, _, _) = house.sh_in(id, "other", "touch go").await;
    assert_eq!(status, 0);
    for command in &commands {
        assert_eq!(ended(command).await.0, 0);
    }
    assert_eq!(
        house.sh(id, "tr '\\n' ' ' <seen").await.1,
        "1 2 3 4 5 6 7 8 9 10 "
    );
    house.end().await;
}

#[tokio::test]
async fn a_command_that_waits_can_be_killed_and_what_runs_on_does_not_hold_the_shell() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let first = house.start(id, "sleep 1000", Some("main")).await;
    let second = house.start(id, "touch never", Some("main")).await;
    second.kill().await.unwrap();
    assert_eq!(second.exit_status(), Some(137));
    first.kill().await.unwrap();
    assert_eq!(ended(&first).await.0, 137);
    let (status, stdout, _) = house.sh_in(id, "main", "sleep 1000 & echo left it").await;
    assert_eq!((status, stdout.as_str()), (0, "left it\n"));
    assert_eq!(
        house
            .sh_in(id, "main", "ls never 2>/dev/null; pgrep -c sleep || true")
            .await
            .0,
        0
    );
    house.end().await;
}
