use std::{collections::BTreeMap, sync::Arc};

use proctor_core::environment::DatasetType;
use proctor_simulation::{
    registry::SimulatorRegistry,
    rehearsal::{Rehearsal, any_request, body, dataset, is_a_function, shown, simulator},
    seed::Seed,
    simulator::{Machine, Provision},
};
use proptest::prelude::*;

use super::*;
use crate::files::{Blueprint, FilesPlugin, StoredFile};

fn files() -> Files {
    let data = dataset(
        DatasetType::Files,
        json!({"policies/mri.txt": "Six weeks of therapy.", "inbox/seed.bin": {"content_base64": "/wD/"}}),
    );
    let blueprint = Blueprint::read(&simulator("Files", Value::Null, vec![data]));
    Files::branch(Arc::new(blueprint.unwrap()), Seed::from_number(1))
}

fn put(rehearsal: &mut Rehearsal<Files>, path: &str, content: &[u8]) -> Response {
    let request = Request::new(Method::PUT, path, rehearsal.now());
    rehearsal.send(request.with_body(content.to_vec()))
}

fn delete(rehearsal: &mut Rehearsal<Files>, path: &str) -> Response {
    rehearsal.send(Request::new(Method::DELETE, path, rehearsal.now()))
}

#[test]
fn a_file_is_written_replaced_read_listed_and_removed() {
    let mut tree = Rehearsal::of(files());
    let created = put(&mut tree, "files/outbound/claims/1.json", b"{}");
    insta::assert_snapshot!("created", shown(&created));
    let replaced = put(
        &mut tree,
        "files/outbound/claims/1.json",
        b"{\"total\": 240.5}",
    );
    assert_eq!(replaced.status, 200);
    insta::assert_snapshot!("replaced_event", tree.last_event());
    insta::assert_snapshot!("read", shown(&tree.get("files/outbound/claims/1.json")));
    insta::assert_snapshot!("all", shown(&tree.get("files")));
    insta::assert_snapshot!("below", shown(&tree.get("files/outbound/")));
    assert_eq!(
        delete(&mut tree, "files/outbound/claims/1.json").status,
        204
    );
    assert_eq!(tree.get("files/outbound/claims/1.json").status, 404);
    assert_eq!(tree.get("files/outbound/").status, 404);
    insta::assert_snapshot!("missing_event", tree.last_event());
}

#[test]
fn head_answers_without_a_body_but_with_its_size() {
    let mut tree = Rehearsal::of(files());
    let head = tree.send(Request::new(
        Method::HEAD,
        "files/policies/mri.txt",
        tree.now(),
    ));
    assert_eq!(head.status, 200);
    assert!(head.body.is_empty());
    assert_eq!(head.headers[header::CONTENT_LENGTH], "21");
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are() {
    let mut tree = Rehearsal::of(files());
    let bytes = [0xff, 0, 0x80, b'a'];
    put(&mut tree, "files/x.bin", &bytes);
    assert_eq!(tree.get("files/x.bin").body, bytes.as_slice());
    assert_eq!(
        tree.get("files/inbox/seed.bin").body,
        [0xff, 0, 0xff].as_slice()
    );
}

#[test]
fn what_a_scenario_drops_is_in_the_inbox_and_was_given() {
    let mut tree = Rehearsal::of(files());
    tree.step(
        FilesPlugin,
        &json!({"type": "drop_file_inbox", "path": "referral.txt", "content": "Dear"}),
    )
    .unwrap();
    insta::assert_snapshot!("drop_event", tree.last_event());
    put(&mut tree, "files/inbox/own.txt", b"mine");
    let listed = body(&tree.get("files/inbox"));
    let paths: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        ["inbox/own.txt", "inbox/referral.txt", "inbox/seed.bin"]
    );
    let exhibits = tree.exhibits();
    let shown: BTreeMap<&str, &StoredFile> =
        exhibits.named_evidence().unwrap().into_iter().collect();
    assert!(shown["inbox/referral.txt"].is_given);
    assert!(!shown["inbox/own.txt"].is_given);
    let registry = SimulatorRegistry::default().with(FilesPlugin);
    for path in ["../x", "/x", "", "./inbox/x"] {
        let step = json!({"type": "drop_file_inbox", "path": path, "content": ""});
        let refused = registry.read_step(&step).unwrap_err();
        let first = refused.iter().next().unwrap();
        assert_eq!(first.path, "path", "{path:?}: {refused}");
    }
}

#[test]
fn an_empty_inbox_is_listed() {
    let blueprint = Arc::new(Blueprint::default());
    let mut tree = Rehearsal::of(Files::branch(blueprint, Seed::from_number(1)));
    assert_eq!(body(&tree.get("files/inbox")), json!({"data": []}));
    assert_eq!(body(&tree.get("files/")), json!({"data": []}));
}

#[test]
fn a_name_is_a_file_or_a_directory() {
    let mut tree = Rehearsal::of(files());
    for path in ["files/policies", "files/policies/mri.txt/x", "files/inbox"] {
        assert_eq!(put(&mut tree, path, b"").status, 409, "{path}");
    }
    assert_eq!(delete(&mut tree, "files/policies").status, 409);
    assert_eq!(put(&mut tree, "files/new/", b"").status, 405);
}

#[test]
fn paths_that_lead_out_are_refused() {
    let mut tree = Rehearsal::of(files());
    for path in [
        "files/../secret",
        "files/%2e%2e/secret",
        "files/a%2f..%2fb",
        "files//etc/passwd",
        "files/a%00b",
        "files/a\\b",
        "files/%ff",
        "files/a//b",
    ] {
        assert_eq!(put(&mut tree, path, b"").status, 400, "{path}");
        assert_eq!(tree.get(path).status, 400, "{path}");
    }
    assert_eq!(tree.get("filesystem").status, 404);
    insta::assert_snapshot!("escape", shown(&tree.get("files/%2e%2e/secret")));
}

#[test]
fn there_is_an_end_to_how_much_is_kept() {
    let mut tree = files();
    let large = Bytes::from(vec![b'x'; MOST_BYTES_IN_FILE]);
    for number in 0..3 {
        tree.evolve(Change::Put {
            path: number.to_string(),
            file: large.clone(),
            at: Timestamp::from_millis(0),
            is_given: false,
        });
    }
    let mut tree = Rehearsal::of(tree);
    assert_eq!(put(&mut tree, "files/3", &large).status, 413);
    assert_eq!(put(&mut tree, "files/2", &large[1..]).status, 200);
    let too_large = [&large, b"x".as_slice()].concat();
    assert_eq!(put(&mut tree, "files/4", &too_large).status, 413);
    let path = |text| FilePath::parse(text).unwrap();
    assert!(tree.machine.obstacle(&path("2"), large.len()).is_none());
    let most = (0..MOST_FILES).map(|number| (number.to_string(), "".into()));
    let most = dataset(DatasetType::Files, Value::Object(most.collect()));
    assert!(tree.provide(&Provision::Load(&most)).is_err());
}

#[test]
fn a_data_set_is_taken_out_but_for_what_changed() {
    let mut tree = Rehearsal::of(files());
    let data = dataset(DatasetType::Files, json!({"d/1": "one", "d/2": "two"}));
    tree.provide(&Provision::Load(&data)).unwrap();
    put(&mut tree, "files/d/2", b"changed");
    tree.provide(&Provision::Unload(&data)).unwrap();
    assert_eq!(tree.get("files/d/1").status, 404);
    assert_eq!(tree.get("files/d/2").body, "changed");
    let clash = dataset(DatasetType::Files, json!({"d": "file"}));
    assert!(tree.provide(&Provision::Load(&clash)).is_err());
    let clash = dataset(DatasetType::Files, json!({"e": "file", "e/f": "below"}));
    assert!(tree.provide(&Provision::Load(&clash)).is_err());
}

#[test]
fn credentials_say_where_the_files_are() {
    let credentials = files().credentials("/v1/task-runs/tr_1");
    assert_eq!(credentials["files_url"], "/v1/task-runs/tr_1/files");
    assert_eq!(credentials["inbox_url"], "/v1/task-runs/tr_1/files/inbox");
}

const PATHS: &[&str] = &[
    "files",
    "files/inbox",
    "files/a",
    "files/a/b",
    "files/a/b/c",
    "files/d/",
    "files/policies/mri.txt",
    "files/policies",
    "files/%2e%2e/a",
];

proptest! {
    #[test]
    fn the_tree_is_a_function_of_its_requests(
        requests in prop::collection::vec(any_request(PATHS, &["", "text", "{}"]), 0..25),
    ) {
        is_a_function(files, &requests);
    }
}
