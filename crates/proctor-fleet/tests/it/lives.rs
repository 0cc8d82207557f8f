use std::collections::BTreeMap;

use proctor_core::{
    devbox::{
        DevboxFailure, DevboxSetup, DevboxStatus, LaunchParameters, ShutdownReason, UserParameters,
    },
    mount::Mount,
    refused::Refused,
};
use proctor_devbox::Error;
use proctor_fleet::{DevboxChange, FleetError, FleetOptions, NewDevbox, RequestProblem};
use proctor_store::page::{PageRequest, PageStart};

use crate::support::House;
use proctor_testkit::eventually;

fn launching(commands: &[&str]) -> DevboxSetup {
    DevboxSetup {
        launch: LaunchParameters {
            launch_commands: commands.iter().map(|&command| command.to_owned()).collect(),
            ..LaunchParameters::default()
        },
        ..DevboxSetup::default()
    }
}

#[tokio::test]
async fn a_devbox_is_made_used_and_ended_and_leaves_nothing() {
    let house = House::open().await;
    let made = house.create(DevboxSetup::default()).await;
    assert_eq!(made.status(), DevboxStatus::Provisioning);
    let record = house.reaches(made.id, DevboxStatus::Running).await;
    assert_eq!(record.status(), DevboxStatus::Running, "{:?}", record.life);
    assert!(record.deadline.is_some());
    let (status, stdout, _) = house.sh(made.id, "pwd; echo $HOME; id -un").await;
    assert_eq!(status, 0);
    assert!(stdout.starts_with("/home/user\n/home/user\n"), "{stdout}");

    let ended = house
        .fleet
        .shutdown(house.organization, made.id)
        .await
        .unwrap();
    assert_eq!(
        ended.life.shutdown_reason(),
        Some(ShutdownReason::ApiShutdown)
    );
    let again = house
        .fleet
        .shutdown(house.organization, made.id)
        .await
        .unwrap();
    assert_eq!(again, ended);
    let refused = house.fleet.keep_alive(house.organization, made.id).await;
    assert!(
        matches!(
            refused,
            Err(FleetError::Refused(Refused::DevboxOver("shutdown")))
        ),
        "{refused:?}"
    );
    eventually("no devbox is live", async || {
        house.fleet.live_devboxes() == 0
    })
    .await;
    assert_eq!(house.backend.list().await.unwrap(), []);
    house.end().await;
}

#[tokio::test]
async fn launch_commands_run_in_order_before_the_devbox_runs() {
    let house = House::open().await;
    let mut setup = launching(&["echo one >>order", "cat mounted >>order"]);
    setup.mounts = vec![Mount::File {
        target: "mounted".to_owned(),
        content: "two\n".to_owned(),
    }];
    let id = house.running(setup).await;
    let (_, stdout, _) = house.sh(id, "cat order").await;
    assert_eq!(stdout, "one\ntwo\n");
    let record = house.fleet.devbox(house.organization, id).await.unwrap();
    let walked: Vec<_> = record
        .life
        .transitions()
        .iter()
        .map(|step| step.status)
        .collect();
    assert_eq!(
        walked,
        [
            DevboxStatus::Provisioning,
            DevboxStatus::Initializing,
            DevboxStatus::Running
        ]
    );
    house.end().await;
}

#[tokio::test]
async fn a_launch_command_that_fails_ends_the_devbox_with_its_words() {
    let house = House::open().await;
    let id = house
        .create(launching(&["true", "echo sorry >&2; exit 3"]))
        .await
        .id;
    let record = house.reaches(id, DevboxStatus::Running).await;
    let (failure, message) = record.life.failure().unwrap();
    assert_eq!(failure, DevboxFailure::ExecutionFailed);
    assert!(message.contains("status 3: sorry"), "{message}");
    house.end().await;
}

#[tokio::test]
async fn a_devbox_that_is_shut_down_while_it_launches_leaves_nothing() {
    let house = House::open().await;
    let id = house.create(launching(&["sleep 1000"])).await.id;
    let ended = house.fleet.shutdown(house.organization, id).await.unwrap();
    assert_eq!(ended.status(), DevboxStatus::Shutdown);
    eventually("no devbox is live", async || {
        house.fleet.live_devboxes() == 0
    })
    .await;
    assert_eq!(house.backend.list().await.unwrap(), []);
    house.end().await;
}

#[tokio::test]
async fn a_suspended_devbox_stands_still_and_comes_back_as_it_was() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let going_on = house
        .start(id, "echo begun; sleep 0.2; echo done", None)
        .await;
    house.fleet.suspend(house.organization, id).await.unwrap();
    let record = house.reaches(id, DevboxStatus::Suspended).await;
    assert_eq!(record.status(), DevboxStatus::Suspended);
    assert_eq!(
        record.deadline, None,
        "a devbox that stands still has no clock"
    );

    house.fleet.resume(house.organization, id).await.unwrap();
    let record = house.reaches(id, DevboxStatus::Running).await;
    assert_eq!(record.status(), DevboxStatus::Running);
    let (status, stdout, _) = crate::support::ended(&going_on).await;
    assert_eq!((status, stdout.as_str()), (0, "begun\ndone\n"));
    house.end().await;
}

#[tokio::test]
async fn a_suspended_devbox_comes_back_when_somebody_wants_something_of_it() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let (_, before, _) = house.sh(id, "echo kept >note; hostname").await;
    let expected = [
        DevboxStatus::Suspending,
        DevboxStatus::Suspended,
        DevboxStatus::Provisioning,
        DevboxStatus::Running,
    ];
    // Also while it is still on its way to a stand, and from several sides at once.
    for stands in [true, false] {
        let from = house.reaches(id, DevboxStatus::Running).await;
        let from = from.life.transitions().len();
        house.fleet.suspend(house.organization, id).await.unwrap();
        if stands {
            house.reaches(id, DevboxStatus::Suspended).await;
        }
        let (ran, read) = tokio::join!(
            house.sh(id, "hostname"),
            house.fleet.read_file(house.organization, id, "note", None),
        );
        assert_eq!((ran.0, &ran.1), (0, &before));
        assert_eq!(read.unwrap().size, 5);
        let record = house.reaches(id, DevboxStatus::Running).await;
        let steps: Vec<_> = record.life.transitions()[from..]
            .iter()
            .map(|step| step.status)
            .collect();
        assert_eq!(steps, expected);
        assert!(record.deadline.is_some(), "its clock runs again");
    }
    house.end().await;
}

#[tokio::test]
async fn what_a_suspended_devbox_runs_can_be_ended_and_snapshots_taken() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let sleeper = house.start(id, "sleep 600", None).await;
    house.fleet.suspend(house.organization, id).await.unwrap();
    house.reaches(id, DevboxStatus::Suspended).await;
    let command = house
        .fleet
        .command_awake(house.organization, id, sleeper.id)
        .await
        .unwrap();
    command.kill().await.unwrap();
    assert_eq!(crate::support::ended(&command).await.0, 137);
    house.fleet.suspend(house.organization, id).await.unwrap();
    house.reaches(id, DevboxStatus::Suspended).await;
    let taken = house
        .fleet
        .snapshot(house.organization, id, Default::default())
        .await
        .unwrap();
    assert_eq!(taken.error, None);
    house.end().await;
}

#[tokio::test]
async fn a_devbox_ends_with_its_entrypoint() {
    let house = House::open().await;
    let setup = DevboxSetup {
        entrypoint: Some("sleep 0.3".to_owned()),
        ..DevboxSetup::default()
    };
    let id = house.running(setup).await;
    let record = house.reaches(id, DevboxStatus::Shutdown).await;
    assert_eq!(
        record.life.shutdown_reason(),
        Some(ShutdownReason::EntrypointExit)
    );
    house.end().await;
}

#[tokio::test]
async fn a_box_that_goes_away_by_itself_is_a_failure_of_the_devbox() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    house.fleet.handle(id).await.unwrap().stop().await.unwrap();
    let record = house.reaches(id, DevboxStatus::Failure).await;
    let (failure, _) = record.life.failure().unwrap();
    assert_eq!(failure, DevboxFailure::HealthCheckFailed);
    house.end().await;
}

#[tokio::test]
async fn a_devbox_can_have_a_user_of_its_own() {
    let house = House::open().await;
    let mut setup = DevboxSetup::default();
    setup.launch.user = Some(UserParameters {
        username: "ada".to_owned(),
        uid: 1815,
    });
    let id = house.running(setup).await;
    let (_, stdout, _) = house.sh(id, "id -u; pwd").await;
    if rustix_is_root() {
        assert_eq!(stdout, "1815\n/home/ada\n");
    } else {
        assert_eq!(stdout, "0\n/home/user\n");
    }
    house.end().await;
}

fn rustix_is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|itself| itself.uid() == 0)
}

#[tokio::test]
async fn nobody_sees_what_belongs_to_another_organization() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let other = house.store.create_organization("Other").await.unwrap().id;
    let page = PageRequest {
        limit: 10,
        from: PageStart::Newest,
        count: true,
    };
    assert_eq!(
        house
            .fleet
            .list(other, None, &BTreeMap::new(), page)
            .await
            .unwrap()
            .total,
        Some(0)
    );
    assert_eq!(
        house
            .fleet
            .list(house.organization, None, &BTreeMap::new(), page)
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    let unknown = |result: Result<(), FleetError>| {
        assert!(
            matches!(result, Err(FleetError::NotFound { .. })),
            "{result:?}"
        );
    };
    unknown(house.fleet.devbox(other, id).await.map(drop));
    unknown(house.fleet.shutdown(other, id).await.map(drop));
    unknown(house.fleet.suspend(other, id).await.map(drop));
    unknown(
        house
            .fleet
            .update(other, id, DevboxChange::default())
            .await
            .map(drop),
    );
    unknown(
        house
            .fleet
            .read_file(other, id, "/etc/passwd", None)
            .await
            .map(drop),
    );
    unknown(
        house
            .fleet
            .logs(other, id, Default::default())
            .await
            .map(drop),
    );
    house.end().await;
}

#[tokio::test]
async fn a_name_and_notes_can_be_changed_and_cleared() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let change = DevboxChange {
        name: Some("renamed".to_owned()),
        metadata: Some([("a".to_owned(), "b".to_owned())].into()),
    };
    let changed = house
        .fleet
        .update(house.organization, id, change)
        .await
        .unwrap();
    assert_eq!(changed.name.as_deref(), Some("renamed"));
    assert_eq!(changed.metadata["a"], "b");
    house.fleet.shutdown(house.organization, id).await.unwrap();
    let change = DevboxChange {
        name: Some(String::new()),
        metadata: None,
    };
    let changed = house
        .fleet
        .update(house.organization, id, change)
        .await
        .unwrap();
    assert_eq!((changed.name, changed.metadata["a"].as_str()), (None, "b"));
    house.end().await;
}

#[tokio::test]
async fn what_cannot_be_is_refused_before_anything_is_made() {
    let house = House::open().await;
    let setup = DevboxSetup {
        secrets: [("TOKEN".to_owned(), "NOT_THERE".to_owned())].into(),
        ..DevboxSetup::default()
    };
    let new = |setup| NewDevbox {
        name: None,
        metadata: Default::default(),
        setup,
        initiator: proctor_core::devbox::Initiator::Invocation,
        tunnel: None,
    };
    let refused = house
        .fleet
        .create(house.organization, new(setup))
        .await
        .unwrap_err();
    let missing = RequestProblem::NoSecret {
        variable: "TOKEN".to_owned(),
        secret: "NOT_THERE".to_owned(),
    };
    assert!(
        matches!(&refused, FleetError::Request(problems) if problems == &[missing]),
        "{refused}"
    );
    assert!(
        refused
            .to_string()
            .ends_with("there is no secret named 'NOT_THERE'"),
        "{refused}"
    );
    let setup = DevboxSetup {
        base: proctor_core::devbox::DevboxBase::Snapshot(house.store.fresh_id()),
        ..DevboxSetup::default()
    };
    let refused = house
        .fleet
        .create(house.organization, new(setup))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("does not exist"), "{refused}");
    assert_eq!(house.fleet.live_devboxes(), 0);

    let directory = tempfile::tempdir().unwrap();
    let options = FleetOptions::new(directory.path());
    let nothing = proctor_fleet::Fleet::without_boxes(
        options,
        house.store.clone(),
        "no user namespaces",
        house.clock.clone(),
    );
    let nothing = nothing.await.unwrap();
    nothing.recover().await.unwrap();
    let refused = nothing
        .create(house.organization, new(DevboxSetup::default()))
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "this server cannot run devboxes: no user namespaces"
    );
    house.end().await;
}

#[tokio::test]
async fn files_go_in_and_out_relative_to_home() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let (organization, fleet) = (house.organization, &house.fleet);
    for path in ["notes/a.txt", "~/notes/a.txt", "/home/user/notes/a.txt"] {
        let text = format!("by {path}");
        let written = fleet
            .write_file(organization, id, path, &mut text.as_bytes())
            .await
            .unwrap();
        assert_eq!(written, text.len() as u64);
        let (_, stdout, _) = house.sh(id, "cat notes/a.txt").await;
        assert_eq!(stdout, text);
    }
    let missing = fleet.read_file(organization, id, "nowhere", None).await;
    assert!(
        matches!(missing, Err(FleetError::Box(Error::File { .. }))),
        "{missing:?}"
    );
    for bad in ["", "a\0b", &"x".repeat(5000)] {
        let refused = fleet.read_file(organization, id, bad, None).await;
        assert!(matches!(refused, Err(FleetError::Invalid(_))), "{bad:?}");
    }
    house.end().await;
}
