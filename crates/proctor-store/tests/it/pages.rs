use proctor_core::id::kinds::SolverKind;
use proctor_store::page::{PageRequest, PageStart};
use rstest::rstest;

use crate::{
    fixture::{Fixture, On},
    solvers::profile,
};

const fn page(limit: u32, from: PageStart<SolverKind>) -> PageRequest<SolverKind> {
    PageRequest {
        limit,
        from,
        count: false,
    }
}

#[rstest]
#[tokio::test]
async fn every_walk_meets_every_item_once_in_order(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let mut newest_first = Vec::new();
    for number in 0..7 {
        newest_first.push(
            store
                .create_solver(clinic, profile(&format!("solver-{number}")))
                .await
                .unwrap()
                .id,
        );
        store
            .create_solver(other, profile(&format!("solver-{number}")))
            .await
            .unwrap();
    }
    newest_first.reverse();

    for limit in 1..=8 {
        let (mut walked, mut from) = (Vec::new(), PageStart::Newest);
        loop {
            let part = store.solvers(clinic, page(limit, from)).await.unwrap();
            assert_eq!(part.has_previous, !walked.is_empty());
            walked.extend(part.items.iter().map(|solver| solver.id));
            if !part.has_more {
                break;
            }
            from = PageStart::After(*walked.last().unwrap());
        }
        assert_eq!(walked, newest_first, "forwards in steps of {limit}");

        let mut back = Vec::new();
        let mut from = PageStart::Before(*newest_first.last().unwrap());
        loop {
            let part = store.solvers(clinic, page(limit, from)).await.unwrap();
            assert!(part.has_more);
            let ids: Vec<_> = part.items.iter().map(|solver| solver.id).collect();
            assert!(
                ids.is_sorted_by(|newer, older| newer > older),
                "a page is always newest first"
            );
            back.splice(0..0, ids.iter().copied());
            if !part.has_previous {
                break;
            }
            from = PageStart::Before(ids[0]);
        }
        assert_eq!(back, newest_first[..6], "backwards in steps of {limit}");
    }
}

#[rstest]
#[tokio::test]
async fn paging_goes_on_from_the_place_of_one_that_is_gone(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let mut ids = Vec::new();
    for alias in ["a", "b", "c"] {
        ids.push(
            store
                .create_solver(clinic, profile(alias))
                .await
                .unwrap()
                .id,
        );
    }
    store.delete_solver(clinic, ids[1]).await.unwrap();
    let rest = store
        .solvers(clinic, page(5, PageStart::After(ids[1])))
        .await
        .unwrap();
    assert_eq!(
        rest.items
            .iter()
            .map(|solver| solver.id)
            .collect::<Vec<_>>(),
        [ids[0]]
    );
    let counted = PageRequest {
        count: true,
        ..page(1, PageStart::Newest)
    };
    assert_eq!(store.solvers(clinic, counted).await.unwrap().total, Some(2));
}
