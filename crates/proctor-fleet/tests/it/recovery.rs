use proctor_core::devbox::{DevboxFailure, DevboxSetup, DevboxStatus, LaunchParameters};
use proctor_devbox::{Base, BoxId, BoxSpec, Stream};
use proctor_fleet::logs::LogFilter;

use crate::support::{House, ended};
use proctor_testkit::eventually;

#[tokio::test]
async fn everything_goes_on_after_the_server_was_gone() {
    let house = House::open().await;
    let id = house.running(DevboxSetup::default()).await;
    let suspended = house.running(DevboxSetup::default()).await;
    house
        .fleet
        .suspend(house.organization, suspended)
        .await
        .unwrap();
    house.reaches(suspended, DevboxStatus::Suspended).await;
    let work = house
        .start(
            id,
            "echo before; while [ ! -e go ]; do sleep 0.02; done; echo after",
            None,
        )
        .await;
    let first = house
        .start(
            id,
            "cd /tmp; while [ ! -e /home/user/go ]; do sleep 0.02; done",
            Some("main"),
        )
        .await;
    let second = house.start(id, "pwd", Some("main")).await;
    eventually("the command has printed something", async || {
        !work.tail(Stream::Stdout, 9).await.unwrap().text.is_empty()
    })
    .await;
    let ids = (work.id, first.id, second.id);
    // What is kept of an execution keeps its backend.
    drop((work, first, second));
    let (work, first, second) = ids;

    let house = house.restart().await;
    assert_eq!(house.fleet.live_devboxes(), 2);
    let found = async |id, command| {
        house
            .fleet
            .command(house.organization, id, command)
            .await
            .unwrap()
    };
    assert_eq!(found(id, work).await.exit_status(), None);
    house.sh(id, "touch go").await;
    assert_eq!(ended(&*found(id, work).await).await.1, "before\nafter\n");
    assert_eq!(ended(&*found(id, first).await).await.0, 0);
    assert_eq!(
        ended(&*found(id, second).await).await.1,
        "/tmp\n",
        "it waited for its shell, also over the restart"
    );
    let record = house
        .fleet
        .devbox(house.organization, suspended)
        .await
        .unwrap();
    assert_eq!(record.status(), DevboxStatus::Suspended);
    house
        .fleet
        .resume(house.organization, suspended)
        .await
        .unwrap();
    house.reaches(suspended, DevboxStatus::Running).await;
    assert_eq!(house.sh(suspended, "echo back").await.1, "back\n");

    house.fleet.shutdown(house.organization, id).await.unwrap();
    eventually("one devbox is live", async || {
        house.fleet.live_devboxes() <= 1
    })
    .await;
    let filter = LogFilter {
        execution: Some(work.to_string()),
        shell: None,
    };
    let logs = house
        .fleet
        .logs(house.organization, id, filter)
        .await
        .unwrap();
    let told = serde_json::to_string(&logs).unwrap();
    assert_eq!(
        told.matches("before").count(),
        2,
        "once in the command, once in the output: {told}"
    );
    assert_eq!(told.matches("\"after\"").count(), 1, "{told}");
    house.end().await;
}

#[tokio::test]
async fn a_launch_goes_on_after_a_restart_and_runs_no_command_twice() {
    let house = House::open().await;
    let setup = DevboxSetup {
        launch: LaunchParameters {
            launch_commands: vec![
                "echo x >>times".to_owned(),
                "sleep 1; echo y >>times".to_owned(),
            ],
            ..LaunchParameters::default()
        },
        ..DevboxSetup::default()
    };
    let id = house.create(setup).await.id;
    house.reaches(id, DevboxStatus::Initializing).await;
    let house = house.restart().await;
    let record = house.reaches(id, DevboxStatus::Running).await;
    assert_eq!(record.status(), DevboxStatus::Running, "{:?}", record.life);
    assert_eq!(house.sh(id, "cat times").await.1, "x\ny\n");
    house.end().await;
}

#[tokio::test]
async fn what_is_lost_is_a_failure_and_what_nobody_owns_is_removed() {
    let house = House::open().await;
    let lost = house.running(DevboxSetup::default()).await;
    let kept = house.running(DevboxSetup::default()).await;
    let handle = house.fleet.handle(lost).await.unwrap();
    let stray = BoxSpec::new(BoxId::new("stray").unwrap(), Base::Host);
    house
        .backend
        .create(stray)
        .await
        .unwrap()
        .start()
        .await
        .unwrap();
    // Nobody looks any more when the box goes away.
    house.fleet.stop_waiting();
    handle.destroy().await.unwrap();
    drop(handle);

    let house = house.restart().await;
    let record = house.fleet.devbox(house.organization, lost).await.unwrap();
    let (failure, _) = record.life.failure().unwrap();
    assert_eq!(failure, DevboxFailure::HealthCheckFailed);
    assert_eq!(house.sh(kept, "echo here").await.1, "here\n");
    let boxes = house.backend.list().await.unwrap();
    assert_eq!(boxes.len(), 1, "{boxes:?}");
    house.end().await;
}
