use proctor_core::{
    blueprint::{Image, ImageDisk},
    devbox::{DevboxSetup, DevboxStatus},
};
use proctor_devbox::{ExecId, Stream};
use proctor_fleet::{FleetError, Keeping, NewCommand, logs::LogFilter, output::Pieces};
use proctor_testkit::eventually;
use uuid::Uuid;

use crate::support::{House, ended};

#[tokio::test]
async fn the_same_id_is_the_same_execution() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let new = NewCommand {
        command: "echo x >>times; sleep 0.1".to_owned(),
        shown: None,
        id: Some(Uuid::from_u128(7)),
        shell: None,
        stdin: false,
        user: None,
        view: None,
    };
    let (first, second) = tokio::join!(
        house.fleet.execute(house.organization, id, new.clone()),
        house.fleet.execute(house.organization, id, new.clone()),
    );
    assert_eq!(ended(&first.unwrap()).await.0, 0);
    assert_eq!(ended(&second.unwrap()).await.0, 0);
    let third = house
        .fleet
        .execute(house.organization, id, new)
        .await
        .unwrap();
    assert_eq!(ended(&third).await.0, 0);
    assert_eq!(house.sh(id, "cat times").await.1, "x\n");
    house.end().await;
}

#[tokio::test]
async fn the_entry_point_of_an_image_runs_as_its_user_and_goes_on() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let place = house.fleet.workplace(id).await.unwrap();
    let name = |text: &str| ExecId::new(text).unwrap();
    let mut image = Image::on(ImageDisk::Host);
    assert!(place.entrypoint(name("none"), &image).is_none());
    let script = "{ id -u; echo \"$HOME\"; echo \"$@\"; } >/tmp/entered.new; mv /tmp/entered.new /tmp/entered; exec \"$@\"";
    image.entrypoint = ["/bin/sh", "-c", script, "enter"].map(str::to_owned).into();
    let spec = place.entrypoint(name("entry"), &image).unwrap();
    let execution = place.devbox.exec(spec).await.unwrap();
    eventually("the entry point has begun", async || {
        house.sh(id, "cat /tmp/entered").await.0 == 0
    })
    .await;
    let (_, seen, _) = house.sh(id, "cat /tmp/entered").await;
    assert_eq!(seen, "0\n/root\nsh -c sleep infinity\n");
    assert!(execution.progress().exit.is_none(), "it goes on");
    house.end().await;
}

#[tokio::test]
async fn output_comes_in_pieces_that_add_up_exactly() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let script = "for i in $(seq 1 3000); do printf 'Zeile %s: äöü€\\n' $i; done; printf '\\360\\237'; sleep 0.1; printf '\\230\\200 end'";
    let command = house.start(id, script, None).await;
    let program = command.program().await.unwrap();
    let mut pieces = Pieces::from(Stream::Stdout, 0);
    let (mut told, mut positions) = (String::new(), Vec::new());
    while let Some(piece) = pieces.next(&*program).await.unwrap() {
        told.push_str(&piece.text);
        positions.push((piece.end, told.len()));
    }
    assert!(told.ends_with("Zeile 3000: äöü€\n😀 end"));
    for (end, length) in positions {
        assert_eq!(end, length as u64, "a position is in bytes");
        let mut rest = Pieces::from(Stream::Stdout, end);
        let mut tail = String::new();
        while let Some(piece) = rest.next(&*program).await.unwrap() {
            tail.push_str(&piece.text);
        }
        assert_eq!(tail, told[length..]);
    }
    house.end().await;
}

#[tokio::test]
async fn input_is_written_and_ended_and_a_command_can_be_killed() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let new = |command: &str| NewCommand {
        command: command.to_owned(),
        shown: None,
        id: None,
        shell: None,
        stdin: true,
        user: None,
        view: None,
    };
    let cat = house
        .fleet
        .execute(house.organization, id, new("cat; echo over"))
        .await
        .unwrap();
    cat.write_stdin(b"one\n").await.unwrap();
    cat.write_stdin(b"two\n").await.unwrap();
    cat.close_stdin().await.unwrap();
    assert_eq!(ended(&cat).await.1, "one\ntwo\nover\n");
    assert!(matches!(
        cat.write_stdin(b"x").await,
        Err(FleetError::Box(_))
    ));

    let stubborn = house.start(id, "trap '' TERM INT; sleep 1000", None).await;
    stubborn.kill().await.unwrap();
    assert_eq!(ended(&stubborn).await.0, 137);
    stubborn.kill().await.unwrap();
    house.end().await;
}

#[tokio::test]
async fn secrets_are_in_the_environment_and_never_in_the_log() {
    let house = House::open().await;
    house
        .store
        .create_secret(house.organization, "PASSWORD", &"s3cr3t-value".into())
        .await
        .unwrap();
    let setup = DevboxSetup {
        secrets: [("DB_PASS".to_owned(), "PASSWORD".to_owned())].into(),
        environment: [("PLAIN".to_owned(), "shown".to_owned())].into(),
        ..DevboxSetup::default()
    };
    let id = house.running(setup).await;
    let (_, stdout, _) = house.sh(id, "echo $DB_PASS $PLAIN").await;
    assert_eq!(
        stdout, "s3cr3t-value shown\n",
        "the caller's own output is as it is"
    );
    house.sh_in(id, "main", "echo $DB_PASS; export X=1").await;
    house.sh(id, "echo s3cr3t-value >&2").await;
    let (_, kept, _) = house.sh(id, "cat /tmp/.shells/*").await;
    assert!(!kept.contains("s3cr3t"), "{kept}");

    house.fleet.shutdown(house.organization, id).await.unwrap();
    house.reaches(id, DevboxStatus::Shutdown).await;
    eventually("no devbox is live", async || {
        house.fleet.live_devboxes() == 0
    })
    .await;
    let logs = house
        .fleet
        .logs(house.organization, id, LogFilter::default())
        .await
        .unwrap();
    let told = serde_json::to_string(&logs).unwrap();
    assert!(told.contains("******** shown"), "{told}");
    assert!(!told.contains("s3cr3t"), "{told}");
    house.end().await;
}

#[tokio::test]
async fn what_a_command_did_can_be_read_after_its_devbox_ended() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let done = house
        .start(id, "echo out; echo err >&2; exit 4", None)
        .await;
    ended(&done).await;
    let going_on = house.start(id, "echo begun; sleep 1000", None).await;
    while going_on
        .tail(Stream::Stdout, 9)
        .await
        .unwrap()
        .text
        .is_empty()
    {
        tokio::task::yield_now().await;
    }
    house.fleet.shutdown(house.organization, id).await.unwrap();
    assert_eq!(ended(&going_on).await.0, 137);
    eventually("no devbox is live", async || {
        house.fleet.live_devboxes() == 0
    })
    .await;
    let found = house
        .fleet
        .command(house.organization, id, done.id)
        .await
        .unwrap();
    assert_eq!(
        ended(&found).await,
        (4, "out\n".to_owned(), "err\n".to_owned())
    );
    let found = house
        .fleet
        .command(house.organization, id, going_on.id)
        .await
        .unwrap();
    assert_eq!(
        ended(&found).await,
        (137, "begun\n".to_owned(), String::new())
    );
    let unknown = house
        .fleet
        .command(house.organization, id, Uuid::from_u128(1))
        .await;
    assert!(matches!(unknown, Err(FleetError::NotFound { .. })));
    house.end().await;
}

#[tokio::test]
async fn what_is_no_command_is_refused() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let new = |command: &str, shell: Option<&str>| NewCommand {
        command: command.to_owned(),
        shown: None,
        id: None,
        shell: shell.map(str::to_owned),
        stdin: false,
        user: None,
        view: None,
    };
    let long = "x".repeat(200_000);
    for bad in [
        new("a\0b", None),
        new(&long, None),
        new("true", Some(" ")),
        new("true", Some("a\nb")),
        new("true", Some(&long)),
    ] {
        let refused = house.fleet.execute(house.organization, id, bad).await;
        assert!(matches!(refused, Err(FleetError::Invalid(_))));
    }
    let (status, _, _) = house.sh(id, "").await;
    assert_eq!(status, 0, "an empty command does nothing");
    house.end().await;
}

#[tokio::test]
async fn programs_open_their_streams_by_name() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let script = "echo out >/dev/stdout; echo err >/dev/stderr; echo more | tee /dev/stderr";
    let (status, stdout, stderr) = house.sh(id, script).await;
    assert_eq!(
        (status, stdout.as_str(), stderr.as_str()),
        (0, "out\nmore\n", "err\nmore\n")
    );
    house.end().await;
}

#[tokio::test]
async fn commands_that_ended_long_ago_are_let_go_and_never_run_again() {
    let house = House::keeping_commands(Keeping {
        commands: 3,
        output_bytes: 1000,
    })
    .await;
    let id = house.running(DevboxSetup::default()).await;
    let mut commands = Vec::new();
    for number in 0..5 {
        let command = house
            .start(id, &format!("echo {number} >>times"), None)
            .await;
        assert_eq!(ended(&command).await.0, 0);
        commands.push(command.id);
    }
    let is_gone = async |house: &House, command| {
        matches!(
            house.fleet.command(house.organization, id, command).await,
            Err(FleetError::Gone { .. })
        )
    };
    // What has ended is noted behind our back, and then the two oldest go.
    eventually("the old execution is gone", async || {
        is_gone(&house, commands[1]).await
    })
    .await;
    assert!(is_gone(&house, commands[0]).await);
    for kept in &commands[2..] {
        let found = house.fleet.command(house.organization, id, *kept).await;
        assert_eq!(found.unwrap().exit_status(), Some(0));
    }

    // The same over a restart: neither taken for unknown, nor run again.
    let house = house.restart().await;
    assert!(is_gone(&house, commands[0]).await);
    let again = NewCommand {
        command: "echo again >>times".to_owned(),
        shown: None,
        id: Some(commands[0]),
        shell: None,
        stdin: false,
        user: None,
        view: None,
    };
    let refused = house.fleet.execute(house.organization, id, again).await;
    let Err(error @ FleetError::Gone { .. }) = refused else {
        panic!("it ran again");
    };
    assert_eq!(
        error.to_string(),
        format!(
            "execution '{}' ended long ago and is not kept any more: the devbox's log has what is left of it",
            commands[0]
        )
    );
    assert_eq!(house.sh(id, "cat times").await.1, "0\n1\n2\n3\n4\n");

    // One that wrote much takes the place of all others, but is itself kept.
    let much = house.start(id, "head -c 5000 /dev/zero", None).await;
    assert_eq!(ended(&much).await.0, 0);
    eventually("the old execution is gone", async || {
        is_gone(&house, commands[4]).await
    })
    .await;
    let found = house.fleet.command(house.organization, id, much.id).await;
    assert_eq!(found.unwrap().exit_status(), Some(0));
    drop(much);
    house.end().await;
}
