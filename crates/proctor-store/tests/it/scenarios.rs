use std::collections::BTreeMap;

use proctor_core::{
    definition::{Check, Validation},
    devbox::DevboxDefinition,
    id::kinds::OrganizationId,
    scoring::Weight,
};
use proctor_store::{
    Store, StoreError,
    criteria::CriterionDraft,
    names::Sought,
    placed::Whose,
    scenarios::{Scenario, ScenarioFilter, ScoringFunction},
    scorers::ScorerDraft,
    tasks::TaskDraft,
};
use rstest::rstest;
use serde_json::json;

use crate::{
    benchmarks::{all, draft, task},
    fixture::{Fixture, On},
};

fn scorer(name: &str) -> ScoringFunction {
    ScoringFunction {
        name: name.to_owned(),
        weight: Weight::default(),
        scorer: json!({"type": "command_scorer", "command": name}).into(),
    }
}

async fn scenario(store: &Store, organization: OrganizationId, name: &str) -> Scenario {
    let content = TaskDraft {
        devbox: Some(DevboxDefinition::default().into()),
        metadata: BTreeMap::from([("suite".to_owned(), name.to_lowercase())]),
        ..task(name)
    };
    store
        .create_scenario(organization, content, vec![scorer("a"), scorer("b")])
        .await
        .unwrap()
}

fn names(page: &proctor_store::page::Page<Scenario>) -> Vec<&str> {
    page.items
        .iter()
        .map(|one| one.placed.draft.content.name.as_str())
        .collect()
}

fn sought(name: Option<&str>, search: Option<&str>) -> ScenarioFilter {
    ScenarioFilter {
        sought: Sought {
            name: name.map(str::to_owned),
            search: search.map(str::to_owned),
            ..Sought::default()
        },
        ..ScenarioFilter::default()
    }
}

#[rstest]
#[tokio::test]
async fn a_scenario_is_a_task_with_its_scorers(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    store
        .create_task(clinic, None, task("plain"))
        .await
        .unwrap();
    let made = scenario(store, clinic, "Boxed").await;
    let id = made.placed.id();
    assert_eq!(
        store.scenario(clinic, id).await.unwrap(),
        Some(made.clone())
    );
    let listed = store
        .scenarios(Whose::Own(clinic), &ScenarioFilter::default(), all())
        .await
        .unwrap();
    assert_eq!((listed.total, names(&listed)), (Some(1), vec!["Boxed"]));

    let assertion = CriterionDraft {
        task: id,
        label: "clinical".to_owned(),
        weight: Weight::default(),
        axis: None,
        input_entity: None,
        key: None,
        critical: false,
        all: false,
        requires: Vec::new(),
        check: Check::Assertion(json!({"assert": "x"})),
    };
    store.create_criterion(clinic, assertion).await.unwrap();
    let read = store.scenario(clinic, id).await.unwrap().unwrap();
    let content = TaskDraft {
        name: "Renamed".to_owned(),
        ..read.placed.draft.content.clone()
    };
    let changed = store
        .update_scenario(&read, content.clone(), Some(vec![scorer("c")]))
        .await
        .unwrap();
    let labels = |scenario: &Scenario| -> Vec<String> {
        let label = |one: &proctor_store::criteria::CriterionRecord| one.content.label.clone();
        scenario.criteria.iter().map(label).collect()
    };
    assert_eq!(
        labels(&changed),
        ["clinical", "c"],
        "what is no scorer stays"
    );
    assert_eq!(changed.scoring_functions().count(), 1);
    assert_eq!(
        store.scenario(clinic, id).await.unwrap(),
        Some(changed.clone())
    );
    let late = store.update_scenario(&read, content, None).await;
    assert!(matches!(late, Err(StoreError::Stale)));
    let whole = store.whole_task(id).await.unwrap().unwrap();
    assert_eq!(whole.criteria, changed.criteria);
}

#[rstest]
#[tokio::test]
async fn names_are_found_exactly_or_in_part(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let first = scenario(store, clinic, "Fix Überlauf").await;
    for name in ["fix", "fix 100%", "other"] {
        scenario(store, clinic, name).await;
    }
    let look = async |filter: ScenarioFilter| {
        let page = store
            .scenarios(Whose::Own(clinic), &filter, all())
            .await
            .unwrap();
        let mut found: Vec<String> = names(&page).into_iter().map(str::to_owned).collect();
        found.reverse();
        found
    };
    assert_eq!(look(sought(Some("fix"), None)).await, ["fix"]);
    assert_eq!(
        look(sought(Some("FIX"), None)).await,
        ["Fix Überlauf", "fix", "fix 100%"]
    );
    assert_eq!(look(sought(Some("ÜBER"), None)).await, ["Fix Überlauf"]);
    assert_eq!(look(sought(Some("0%"), None)).await, ["fix 100%"]);
    assert_eq!(look(sought(Some("_"), None)).await, Vec::<String>::new());
    assert_eq!(look(sought(None, Some("OTH"))).await, ["other"]);
    let id = format!("scn_{}", first.placed.id().bare());
    assert_eq!(look(sought(None, Some(&id))).await, ["Fix Überlauf"]);
    assert_eq!(look(sought(None, Some(""))).await.len(), 4);
    let proving = ScenarioFilter {
        validation: Some(vec![Validation::Forward]),
        ..ScenarioFilter::default()
    };
    assert!(look(proving).await.is_empty());
}

#[rstest]
#[tokio::test]
async fn what_is_put_away_or_open_to_all_is_listed_accordingly(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let kept = scenario(store, clinic, "Kept").await.placed.id();
    let away = scenario(store, clinic, "Away").await.placed.id();
    store.archive_scenario(away, true).await.unwrap();
    store.archive_scenario(away, true).await.unwrap();
    assert!(
        store
            .scenario(clinic, away)
            .await
            .unwrap()
            .unwrap()
            .placed
            .archived
    );
    assert!(store.scenario(other, kept).await.unwrap().is_none());
    assert_eq!(
        store.not_scenarios(clinic, &[kept, away]).await.unwrap(),
        [away]
    );
    assert_eq!(store.not_scenarios(other, &[kept]).await.unwrap(), [kept]);
    let labels = store.scenario_labels(clinic).await.unwrap();
    assert_eq!(labels["suite"].iter().collect::<Vec<_>>(), ["kept"]);

    let suite = store
        .create_suite(clinic, draft("Suite"), &[kept, away])
        .await
        .unwrap();
    store.publish_suite(suite.id).await.unwrap();
    let public = store
        .scenarios(Whose::Public, &ScenarioFilter::default(), all())
        .await
        .unwrap();
    assert_eq!(names(&public), ["Kept"]);
    let seen = store.scenario(other, kept).await.unwrap().unwrap();
    assert!(seen.placed.public && seen.placed.owner == clinic);
    let suites = store
        .suites(Whose::Public, &Sought::default(), all())
        .await
        .unwrap();
    assert_eq!(suites.items[0].id(), suite.id);
    let inside = store.scenarios_of(suite.id, all()).await.unwrap();
    assert_eq!(names(&inside), ["Away", "Kept"]);
    store.archive_scenario(away, false).await.unwrap();
    assert!(
        !store
            .scenario(clinic, away)
            .await
            .unwrap()
            .unwrap()
            .placed
            .archived
    );
}

#[rstest]
#[tokio::test]
async fn a_suite_keeps_the_order_it_was_given(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let clinic = fixture.organization("Clinic").await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(scenario(store, clinic, name).await.placed.id());
    }
    let suite = store
        .create_suite(clinic, draft("Suite"), &[ids[2], ids[0]])
        .await
        .unwrap();
    let order = async || store.scenarios_in(&[suite.id]).await.unwrap()[&suite.id].clone();
    assert_eq!(order().await, [ids[2], ids[0]]);
    let plain = store
        .create_task(clinic, Some(&suite), task("plain"))
        .await
        .unwrap();
    assert_eq!(
        order().await,
        [ids[2], ids[0]],
        "only what is done in a box"
    );
    let everything = store.tasks_in(&[suite.id]).await.unwrap();
    assert_eq!(everything[&suite.id], [ids[2], ids[0], plain.id]);
    store
        .update_suite(&suite, draft("Suite 2"), Some(&[ids[1], ids[2]]))
        .await
        .unwrap();
    assert_eq!(order().await, [ids[1], ids[2]]);
    let stale = store.update_suite(&suite, draft("Suite 3"), None).await;
    assert!(matches!(stale, Err(StoreError::Stale)));
}

#[rstest]
#[tokio::test]
async fn the_type_of_a_scorer_is_unique_in_its_organization(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (clinic, other) = fixture.two_organizations().await;
    let script = |kind: &str| ScorerDraft {
        kind: kind.to_owned(),
        script: format!("echo {kind}"),
    };
    let made = store.create_scorer(clinic, script("lint")).await.unwrap();
    let again = store.create_scorer(clinic, script("lint")).await;
    assert!(matches!(again, Err(StoreError::Taken(_))));
    store.create_scorer(other, script("lint")).await.unwrap();
    let second = store.create_scorer(clinic, script("types")).await.unwrap();
    let taken = store.update_scorer(&second, script("lint")).await;
    assert!(matches!(taken, Err(StoreError::Taken(_))));
    let scripts = store
        .scorer_scripts(clinic, &["lint", "nothing"])
        .await
        .unwrap();
    assert_eq!(
        scripts.into_iter().collect::<Vec<_>>(),
        [("lint".to_owned(), "echo lint".to_owned())]
    );
    let search = Sought {
        name: None,
        search: Some("LIN".to_owned()),
        ..Sought::default()
    };
    let found = store.scorers(clinic, &search, all()).await.unwrap();
    assert_eq!(found.items, [made]);
}
