use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn running() -> DevboxLife {
    let life = DevboxLife::begin(at(0)).initialize(at(1)).unwrap();
    life.into_inner().run(at(2)).unwrap().into_inner()
}

#[test]
fn a_life_is_written_down_step_by_step() {
    let life = running().suspend(at(10)).unwrap().into_inner();
    let life = life.stand_still(at(11)).unwrap().into_inner();
    let life = life.resume(at(20)).unwrap().into_inner();
    let life = life.run(at(21)).unwrap().into_inner();
    let life = life
        .shut_down(at(30), ShutdownReason::ApiShutdown)
        .into_inner();
    let words: Vec<_> = life
        .transitions()
        .iter()
        .map(|step| (step.status.as_str(), step.at.as_millis() / 1000))
        .collect();
    assert_eq!(
        words,
        [
            ("provisioning", 0),
            ("initializing", 1),
            ("running", 2),
            ("suspending", 10),
            ("suspended", 11),
            ("provisioning", 20),
            ("running", 21),
            ("shutdown", 30),
        ]
    );
    assert_eq!(life.ended_at(), Some(at(30)));
    assert_eq!(life.active_millis(at(99)), 21_000);
    let kept = serde_json::to_string(&life).unwrap();
    assert_eq!(serde_json::from_str::<DevboxLife>(&kept).unwrap(), life);
}

#[test]
fn what_has_ended_stays_as_it_is() {
    let failed = running()
        .fail(at(5), DevboxFailure::OutOfMemory, "no memory left")
        .into_inner();
    assert_eq!(
        failed.failure(),
        Some((DevboxFailure::OutOfMemory, "no memory left"))
    );
    let again = failed.clone().shut_down(at(6), ShutdownReason::Idle);
    assert_eq!(again, Step::Unchanged(failed.clone()));
    assert_eq!(
        failed.clone().suspend(at(7)),
        Err(Refused::DevboxOver("failure"))
    );
    assert_eq!(failed.must_run(), Err(Refused::DevboxOver("failure")));
}

#[test]
fn a_box_that_stands_still_is_not_worked_with() {
    let life = running().suspend(at(3)).unwrap().into_inner();
    assert_eq!(
        life.must_run(),
        Err(Refused::DevboxNot("suspending", "running"))
    );
    assert_eq!(
        life.clone().resume(at(4)),
        Err(Refused::DevboxNot("suspending", "suspended"))
    );
    let life = life.stand_still(at(4)).unwrap().into_inner();
    assert!(!life.clone().suspend(at(5)).unwrap().is_changed());
    let back = life.resume(at(5)).unwrap().into_inner();
    assert_eq!(back.status(), DevboxStatus::Provisioning);
}

#[test]
fn every_status_has_a_word_of_its_own() {
    for status in DevboxStatus::ALL {
        assert_eq!(DevboxStatus::from_name(status.as_str()), Some(status));
    }
    assert_eq!(DevboxStatus::from_name("queued"), None);
}

proptest! {
    #[test]
    fn no_walk_leaves_the_end_or_goes_back_in_time(steps in prop::collection::vec(0..8u8, 0..40)) {
        let mut life = DevboxLife::begin(at(0));
        let mut now = at(0);
        for step in steps {
            now = now.plus(Duration::from_secs(1));
            let before = life.clone();
            let walked = match step {
                0 => life.initialize(now),
                1 => life.run(now),
                2 => life.suspend(now),
                3 => life.stand_still(now),
                4 => life.go_on(now),
                5 => life.resume(now),
                6 => Ok(life.shut_down(now, ShutdownReason::Idle)),
                _ => Ok(life.fail(now, DevboxFailure::HealthCheckFailed, "gone")),
            };
            life = walked.map_or_else(|_| before.clone(), Step::into_inner);
            if before.is_over() {
                prop_assert_eq!(&life, &before);
            }
            prop_assert!(life.transitions().windows(2).all(|two| two[0].at <= two[1].at && two[0].status != two[1].status));
            prop_assert_eq!(life.is_over(), life.failure().is_some() || life.shutdown_reason().is_some());
        }
    }
}
