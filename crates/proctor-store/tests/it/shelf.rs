//! What stands around devboxes: objects, network policies, agents, blueprints.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    agent::{AgentManifest, AgentOrigin, AgentSource, Package},
    blueprint::{Build, Image, ImageDisk, Recipe},
    canonical::Digest,
    id::{Kind, kinds::ObjectKind},
    mount::CodeMount,
    network_policy::Egress,
    object::{Content, ContentType, ObjectStatus},
    refused::Step,
};
use proctor_store::{
    StoreError,
    agents::{AgentFilter, AgentVersion},
    blueprints::BlueprintFilter,
    names::Sought,
    network_policies::PolicyText,
    objects::{NewObject, ObjectFilter},
    page::{PageRequest, PageStart},
};
use rstest::rstest;

use crate::fixture::{Fixture, On};

fn all<K: Kind>() -> PageRequest<K> {
    PageRequest {
        limit: 100,
        from: PageStart::Newest,
        count: true,
    }
}

fn called(name: &str) -> Sought {
    Sought {
        name: Some(name.to_owned()),
        search: None,
        ..Sought::default()
    }
}

fn new_object(name: &str, ttl_ms: Option<u64>) -> NewObject {
    NewObject {
        name: name.to_owned(),
        content_type: ContentType::Text,
        metadata: [("a".to_owned(), "b".to_owned())].into(),
        ttl_ms,
    }
}

#[rstest]
#[tokio::test]
async fn an_object_is_written_only_over_what_was_read(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (mine, other) = (
        fixture.organization("Mine").await,
        fixture.organization("Other").await,
    );
    let made = store
        .create_object(mine, new_object("a", None))
        .await
        .unwrap();
    assert!(store.object(other, made.id).await.unwrap().is_none());
    let read = store.object(mine, made.id).await.unwrap().unwrap();
    assert_eq!(read.value, made);
    let content = Content {
        digest: Digest::of_bytes(b"x"),
        size: 1,
    };
    let uploaded = read.value.clone().upload(content).unwrap();
    store.write_object(&read, &uploaded).await.unwrap();
    let stale = store.write_object(&read, &uploaded).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    let read = store.object(mine, made.id).await.unwrap().unwrap();
    let Step::Changed(complete) = read.value.clone().complete().unwrap() else {
        panic!("it changes");
    };
    store.write_object(&read, &complete).await.unwrap();
    let read = store.any_object(made.id).await.unwrap().unwrap();
    assert_eq!(read.value.readable(), Ok(content));
}

#[rstest]
#[tokio::test]
async fn objects_are_looked_for_by_name_id_and_state(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let mine = fixture.organization("Mine").await;
    for name in ["Bericht", "ÄRGER 100%", "ärger"] {
        store
            .create_object(mine, new_object(name, None))
            .await
            .unwrap();
    }
    let brief = store
        .create_object(mine, new_object("brief", Some(1000)))
        .await
        .unwrap();
    let names = async |filter: ObjectFilter| -> Vec<String> {
        let page = store
            .objects(mine, &filter, all::<ObjectKind>())
            .await
            .unwrap();
        assert_eq!(page.total, Some(page.items.len() as u64));
        page.items.into_iter().map(|object| object.name).collect()
    };
    let by_name = |name: &str| ObjectFilter {
        sought: called(name),
        ..ObjectFilter::default()
    };
    assert_eq!(names(by_name("ärger")).await, ["ärger"]);
    assert_eq!(names(by_name("ÄRGER")).await, ["ärger", "ÄRGER 100%"]);
    assert_eq!(names(by_name("0%")).await, ["ÄRGER 100%"]);
    assert_eq!(names(by_name("%")).await, ["ÄRGER 100%"]);
    let by_id = ObjectFilter {
        sought: Sought {
            name: None,
            search: Some(brief.id.to_string()[..20].to_owned()),
            ..Sought::default()
        },
        ..ObjectFilter::default()
    };
    assert!(names(by_id).await.contains(&"brief".to_owned()));
    fixture.clock.advance(Duration::from_millis(1000));
    assert_eq!(
        names(ObjectFilter::default()).await,
        ["ärger", "ÄRGER 100%", "Bericht"]
    );
    let deleted = ObjectFilter {
        status: Some(ObjectStatus::Deleted),
        ..ObjectFilter::default()
    };
    assert_eq!(names(deleted).await, ["brief"]);
    let ended = store.objects_past_their_end().await.unwrap();
    assert_eq!(
        ended
            .iter()
            .map(|object| object.value.id)
            .collect::<Vec<_>>(),
        [brief.id]
    );
}

#[rstest]
#[tokio::test]
async fn a_policy_has_its_name_alone_while_it_is_there(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (mine, other) = (
        fixture.organization("Mine").await,
        fixture.organization("Other").await,
    );
    let text = |name: &str| PolicyText {
        name: name.to_owned(),
        description: None,
        egress: Egress {
            hosts: vec!["*.example.com".parse().unwrap()],
            ..Egress::default()
        },
    };
    let policy = store.create_network_policy(mine, text("a")).await.unwrap();
    store.create_network_policy(other, text("a")).await.unwrap();
    let taken = store.create_network_policy(mine, text("a")).await;
    assert!(matches!(taken, Err(StoreError::Taken(_))), "{taken:?}");
    assert_eq!(
        store.network_policy(mine, policy.id).await.unwrap(),
        Some(policy.clone())
    );
    assert_eq!(store.network_policy(other, policy.id).await.unwrap(), None);
    let changed = store
        .update_network_policy(mine, &policy, text("b"))
        .await
        .unwrap();
    let stale = store.update_network_policy(mine, &policy, text("c")).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    assert!(!store.delete_network_policy(other, policy.id).await.unwrap());
    assert!(store.delete_network_policy(mine, policy.id).await.unwrap());
    assert!(!store.delete_network_policy(mine, policy.id).await.unwrap());
    assert_eq!(store.network_policy(mine, changed.id).await.unwrap(), None);
    store.create_network_policy(mine, text("b")).await.unwrap();
}

#[rstest]
#[tokio::test]
async fn the_newest_agent_of_a_name_is_found(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (mine, other) = (
        fixture.organization("Mine").await,
        fixture.organization("Other").await,
    );
    let source = AgentSource {
        origin: AgentOrigin::Npm(Package {
            name: "p".to_owned(),
            registry_url: None,
        }),
        setup: vec!["x".to_owned()],
    };
    let make = async |version: &str| {
        let (name, version) = ("coder".to_owned(), Some(version.to_owned()));
        store
            .create_agent(mine, name, version, Some(source.clone()))
            .await
            .unwrap()
    };
    let (first, second) = (make("1").await, make("2").await);
    assert_eq!(
        store.agent(mine, first.id).await.unwrap(),
        Some(first.clone())
    );
    assert_eq!(
        store.agent_named(mine, "coder").await.unwrap(),
        Some(second.clone())
    );
    assert_eq!(store.agent_named(other, "coder").await.unwrap(), None);
    let latest = AgentFilter {
        version: Some(AgentVersion::Latest),
        ..AgentFilter::default()
    };
    let page = store.agents(mine, &latest, all()).await.unwrap();
    assert_eq!(page.items, std::slice::from_ref(&second));
    assert!(store.delete_agent(mine, second.id).await.unwrap());
    let page = store.agents(mine, &latest, all()).await.unwrap();
    assert_eq!(page.items, [first]);
}

#[rstest]
#[tokio::test]
async fn an_agent_keeps_its_manifest(#[values(On::Sqlite, On::Postgres)] on: On) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let (mine, other) = (
        fixture.organization("Mine").await,
        fixture.organization("Other").await,
    );
    let made = store
        .create_agent(mine, "coder".to_owned(), None, None)
        .await;
    let id = made.unwrap().id;
    let manifest = AgentManifest {
        env: ["API_KEY".to_owned()].into(),
        ..AgentManifest::of_command("go".to_owned())
    };
    let set = async |organization, manifest: Option<&AgentManifest>| {
        store
            .set_agent_manifest(organization, id, manifest)
            .await
            .unwrap()
    };
    assert!(!set(other, Some(&manifest)).await);
    assert!(set(mine, Some(&manifest)).await);
    let read = store.agent_named(mine, "coder").await.unwrap().unwrap();
    assert_eq!(read.manifest, Some(manifest));
    assert!(set(mine, None).await);
    let read = store.agent(mine, id).await.unwrap().unwrap();
    assert_eq!(read.manifest, None);
}

#[rstest]
#[tokio::test]
async fn labels_of_rows_that_are_older_than_their_column_are_found(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let mine = fixture.organization("Mine").await;
    let recipe = Recipe {
        name: "base".to_owned(),
        metadata: [("team".to_owned(), "a".to_owned())].into(),
        // The same text elsewhere is no label.
        build_args: [("stage".to_owned(), "x".to_owned())].into(),
        ..Recipe::default()
    };
    let made = fixture.store.create_blueprint(mine, recipe, None).await;
    assert_eq!(
        fixture
            .tamper("UPDATE blueprints SET metadata = NULL")
            .await,
        1
    );
    let store = fixture.second_node().await;
    let found = async |name: &str, value: &str| {
        let filter = BlueprintFilter {
            sought: Sought {
                labels: [(name.to_owned(), vec![value.to_owned()])].into(),
                ..Sought::default()
            },
            ..BlueprintFilter::default()
        };
        store.blueprints(mine, &filter, all()).await.unwrap().items
    };
    assert_eq!(found("team", "a").await, [made.unwrap()]);
    assert_eq!(found("team", "b").await, []);
    assert_eq!(found("stage", "x").await, []);
}

#[rstest]
#[tokio::test]
async fn tokens_of_a_blueprint_are_sealed_and_gone_when_it_is_built(
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    let fixture = Fixture::open(on).await;
    let store = &fixture.store;
    let mine = fixture.organization("Mine").await;
    let recipe = Recipe {
        name: "base".to_owned(),
        code_mounts: vec![CodeMount {
            owner: "a".to_owned(),
            name: "b".to_owned(),
            token: Some("plaintext-token".to_owned()),
            reference: None,
            install: None,
        }],
        ..Recipe::default()
    };
    let made = store.create_blueprint(mine, recipe, None).await.unwrap();
    assert_eq!(made.recipe.code_mounts[0].token, None);
    assert!(
        !fixture
            .table_contains("blueprints", "plaintext-token")
            .await
    );
    let tokens = store.blueprint_tokens(made.id).await.unwrap();
    assert_eq!(tokens, BTreeMap::from([(0, "plaintext-token".to_owned())]));
    let unfinished = store.unfinished_blueprints().await.unwrap();
    assert_eq!(unfinished, std::slice::from_ref(&made));
    assert_eq!(store.blueprint_named(mine, "base").await.unwrap(), None);

    let read = store.blueprint(mine, made.id).await.unwrap().unwrap();
    let building = read.value.build.clone().begin().unwrap();
    let building = store
        .write_build(&read, building, Vec::new(), None)
        .await
        .unwrap();
    let stale = store
        .write_build(&read, Build::Building, Vec::new(), None)
        .await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    let image = Image::on(ImageDisk::Layer("l".to_owned()));
    let complete = building
        .value
        .build
        .clone()
        .complete(store.now(), image)
        .unwrap();
    let log = Digest::of_bytes(b"log");
    let layers = vec!["l".to_owned()];
    let complete = store
        .write_build(&building, complete, layers.clone(), Some(log))
        .await
        .unwrap();
    assert!(store.blueprint_tokens(made.id).await.unwrap().is_empty());
    assert_eq!(store.blueprint_log(made.id).await.unwrap(), Some(log));
    assert_eq!(
        store.blueprint_named(mine, "base").await.unwrap(),
        Some(complete.value.clone())
    );
    assert_eq!(store.blueprint_layers().await.unwrap(), [layers]);
    let deleted = store.delete_blueprint(&complete).await.unwrap();
    assert!(deleted.deleted_at.is_some());
    assert!(store.blueprint_layers().await.unwrap().is_empty());
    assert_eq!(store.blueprint_named(mine, "base").await.unwrap(), None);
    let list = store
        .blueprints(mine, &BlueprintFilter::default(), all())
        .await
        .unwrap();
    assert!(list.items.is_empty());
    let shown = store.blueprint(mine, made.id).await.unwrap().unwrap();
    assert_eq!(shown.value, deleted);
}
