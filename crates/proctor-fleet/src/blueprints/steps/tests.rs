use proctor_core::{blueprint::ImageDisk, id::kinds::ObjectId};
use uuid::Uuid;

use super::*;

fn host() -> Image {
    Image {
        disk: ImageDisk::Host,
        env: [("LANG".to_owned(), "C".to_owned())].into(),
        working_directory: None,
        user: None,
    }
}

fn recipe(dockerfile: &str) -> (Recipe, Dockerfile) {
    let recipe = Recipe {
        dockerfile: Some(dockerfile.to_owned()),
        build_context: Some(ObjectId::from_uuid(Uuid::from_u128(7))),
        ..Recipe::default()
    };
    (recipe, Dockerfile::parse(dockerfile).unwrap())
}

fn planned(text: &str) -> Plan {
    let (recipe, dockerfile) = recipe(text);
    plan(&recipe, Some(&dockerfile), &host()).unwrap()
}

#[test]
fn environment_directory_and_user_are_those_at_the_step_and_stay_in_the_image() {
    let plan = planned(
        "FROM host\nARG V=1\nENV A=$V\nRUN one\nWORKDIR app\nUSER user\nENV A=2 B=$A\nWORKDIR ../$B\nRUN two",
    );
    let runs: Vec<_> = plan
        .steps
        .iter()
        .filter(|step| matches!(step.kind, StepKind::Run(_)))
        .collect();
    assert_eq!(
        (runs[0].directory.as_str(), runs[0].user.as_deref()),
        ("/", None)
    );
    assert_eq!(
        (runs[1].directory.as_str(), runs[1].user.as_deref()),
        ("/1", Some("user"))
    );
    let env = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    assert_eq!(
        runs[1].env,
        env(&[("A", "2"), ("B", "1"), ("LANG", "C"), ("V", "1")])
    );
    assert_eq!(plan.env, env(&[("A", "2"), ("B", "1"), ("LANG", "C")]));
    assert_eq!(plan.working_directory.as_deref(), Some("/1"));
    assert_eq!(plan.user.as_deref(), Some("user"));
}

#[test]
fn arguments_come_from_the_build_from_their_default_or_from_before_from() {
    let text = "ARG BASE=host G=global\nFROM $BASE\nARG G\nARG D=default\nARG GIVEN=no\nENV ALL=$G,$D,$GIVEN,$BASE";
    let (mut recipe, dockerfile) = recipe(text);
    recipe.build_args = [("GIVEN", "yes"), ("STRAY", "x")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    assert_eq!(
        from_image(&dockerfile, &recipe.build_args).unwrap(),
        (2, "host".to_owned())
    );
    let plan = plan(&recipe, Some(&dockerfile), &host()).unwrap();
    assert_eq!(plan.env["ALL"], "global,default,yes,");
    assert_eq!(plan.unused, ["STRAY"]);
}

#[test]
fn files_come_before_setup_and_repositories_after_and_all_as_root() {
    let mut recipe = Recipe {
        file_mounts: [("/x".to_owned(), "y".to_owned())].into(),
        system_setup_commands: vec!["setup".to_owned()],
        ..Recipe::default()
    };
    recipe.code_mounts.push(CodeMount {
        owner: "a".to_owned(),
        name: "b".to_owned(),
        token: None,
        reference: None,
        install: None,
    });
    let dockerfile = Dockerfile::parse("FROM host\nUSER user\nWORKDIR /w").unwrap();
    let plan = plan(&recipe, Some(&dockerfile), &host()).unwrap();
    let titles: Vec<_> = plan.steps.iter().map(|step| step.title.as_str()).collect();
    assert_eq!(
        titles,
        ["WORKDIR /w", "file mount /x", "setup", "code mount a/b"]
    );
    assert_eq!(plan.steps[2].user, None);
    assert_eq!(plan.user.as_deref(), Some("user"));
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_its_line() {
    for (text, line) in [
        ("FROM host\nUSER a:b", 2),
        ("FROM host\nUSER ${X:?who}", 2),
        ("FROM host\nWORKDIR $NOTHING", 2),
        ("FROM host\nCOPY --chown=$NOTHING a b", 2),
    ] {
        let (recipe, dockerfile) = recipe(text);
        let error = plan(&recipe, Some(&dockerfile), &host()).unwrap_err();
        assert_eq!(error.line, line, "{text}");
    }
    let dockerfile = Dockerfile::parse("FROM host\nCOPY a b").unwrap();
    let error = plan(&Recipe::default(), Some(&dockerfile), &host()).unwrap_err();
    assert!(error.to_string().contains("build_context"), "{error}");
}

#[test]
fn paths_are_joined_and_tidied() {
    for (directory, path, whole) in [
        ("/", "a", "/a"),
        ("/a/b", "../c/./d/", "/a/c/d"),
        ("/a", "/b//c", "/b/c"),
        ("/a", "../../..", "/"),
    ] {
        assert_eq!(joined(directory, path), whole);
    }
}
