use std::time::Duration;

use proctor_core::devbox::{
    AfterIdle, DevboxSetup, DevboxStatus, IdleAction, LaunchParameters, ShutdownReason,
};

use crate::support::House;

fn living(seconds: u32) -> DevboxSetup {
    DevboxSetup {
        launch: LaunchParameters {
            keep_alive_seconds: Some(seconds),
            ..LaunchParameters::default()
        },
        ..DevboxSetup::default()
    }
}

fn idle(seconds: u32, action: IdleAction) -> DevboxSetup {
    DevboxSetup {
        launch: LaunchParameters {
            after_idle: Some(AfterIdle { seconds, action }),
            ..LaunchParameters::default()
        },
        ..DevboxSetup::default()
    }
}

#[tokio::test]
async fn a_devbox_ends_when_its_time_is_over_unless_somebody_asks_for_more() {
    let house = House::open().await;
    let id = house.running(living(100)).await;
    house.clock.advance(Duration::from_secs(60));
    house
        .fleet
        .keep_alive(house.organization, id)
        .await
        .unwrap();
    house.clock.advance(Duration::from_secs(60));
    house.fleet.end_what_is_due().await;
    let record = house.fleet.devbox(house.organization, id).await.unwrap();
    assert_eq!(record.status(), DevboxStatus::Running);

    let hold = house.fleet.hold(id).await.unwrap();
    house.clock.advance(Duration::from_secs(60));
    house.fleet.end_what_is_due().await;
    let record = house.fleet.devbox(house.organization, id).await.unwrap();
    assert_eq!(record.status(), DevboxStatus::Running, "it is held");
    drop(hold);
    house.clock.advance(Duration::from_secs(59));
    house.fleet.end_what_is_due().await;
    let record = house.fleet.devbox(house.organization, id).await.unwrap();
    assert_eq!(
        record.status(),
        DevboxStatus::Running,
        "whoever held it may want to go on"
    );
    house.clock.advance(Duration::from_secs(1));
    house.fleet.end_what_is_due().await;
    let record = house.fleet.devbox(house.organization, id).await.unwrap();
    assert_eq!(
        record.life.shutdown_reason(),
        Some(ShutdownReason::KeepAliveTimeout)
    );
    house.end().await;
}

#[tokio::test]
async fn a_devbox_that_nobody_uses_is_suspended_or_ended_as_agreed() {
    let house = House::open().await;
    let suspended = house.running(idle(30, IdleAction::Suspend)).await;
    let ended = house.running(idle(30, IdleAction::Shutdown)).await;
    let busy = house.running(idle(30, IdleAction::Shutdown)).await;
    let work = house.start(busy, "sleep 1000", None).await;
    house.clock.advance(Duration::from_secs(4000));
    house.fleet.end_what_is_due().await;
    let record = house.reaches(suspended, DevboxStatus::Suspended).await;
    assert_eq!(record.status(), DevboxStatus::Suspended);
    let record = house.reaches(ended, DevboxStatus::Shutdown).await;
    assert_eq!(record.life.shutdown_reason(), Some(ShutdownReason::Idle));
    let record = house.fleet.devbox(house.organization, busy).await.unwrap();
    assert_eq!(
        record.status(),
        DevboxStatus::Running,
        "a command is at work"
    );
    work.kill().await.unwrap();
    house.end().await;
}
