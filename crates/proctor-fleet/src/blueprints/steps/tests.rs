use proctor_core::{blueprint::ImageDisk, id::kinds::ObjectId};
use uuid::Uuid;

use super::*;

use super::super::dockerfile::{Dockerfile, DockerfileError};

fn host() -> Image {
    Image {
        env: [("LANG".to_owned(), "C".to_owned())].into(),
        ..Image::on(ImageDisk::Host)
    }
}

/// The plan of a recipe for which every image is the host.
pub(super) fn plan_on_host(
    recipe: &Recipe,
    dockerfile: &Dockerfile,
) -> Result<Plan, DockerfileError> {
    let needed = needed(dockerfile, &recipe.build_args, recipe.target.as_deref())?;
    let images = needed
        .images()
        .into_keys()
        .map(|name| (name.to_owned(), host()))
        .collect();
    plan(recipe, Some((dockerfile, &needed)), &images)
}

fn steps(plan: &Plan) -> &[Step] {
    &plan.stages[&plan.target].steps
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
    plan_on_host(&recipe, &dockerfile).unwrap()
}

#[test]
fn environment_directory_and_user_are_those_at_the_step_and_stay_in_the_image() {
    let plan = planned(
        "FROM host\nARG V=1\nENV A=$V\nRUN one\nWORKDIR app\nUSER user\nENV A=2 B=$A\nWORKDIR ../$B\nRUN two",
    );
    let runs: Vec<_> = steps(&plan)
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
    let image = plan.image().unwrap();
    assert_eq!(image.env, env(&[("A", "2"), ("B", "1"), ("LANG", "C")]));
    assert_eq!(image.working_directory.as_deref(), Some("/1"));
    assert_eq!(image.user.as_deref(), Some("user"));
}

#[test]
fn arguments_come_from_the_build_from_their_default_or_from_before_from() {
    let text = "ARG BASE=host G=global\nFROM $BASE\nARG G\nARG D=default\nARG GIVEN=no\nENV ALL=$G,$D,$GIVEN,$BASE";
    let (mut recipe, dockerfile) = recipe(text);
    recipe.build_args = [("GIVEN", "yes"), ("STRAY", "x")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let needed = needed(&dockerfile, &recipe.build_args, None).unwrap();
    assert_eq!(needed.bases[&0], Origin::Image(2, "host".to_owned()));
    let plan = plan_on_host(&recipe, &dockerfile).unwrap();
    assert_eq!(plan.image().unwrap().env["ALL"], "global,default,yes,");
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
    let plan = plan_on_host(&recipe, &dockerfile).unwrap();
    let titles: Vec<_> = steps(&plan)
        .iter()
        .map(|step| step.title.as_str())
        .collect();
    assert_eq!(
        titles,
        ["WORKDIR /w", "file mount /x", "setup", "code mount a/b"]
    );
    assert_eq!(steps(&plan)[2].user, None);
    assert_eq!(plan.image().unwrap().user.as_deref(), Some("user"));
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_its_line() {
    for (text, line) in [
        ("FROM host\nUSER a:b:c", 2),
        ("FROM scratch", 1),
        ("FROM --platform=plan9/vax host", 1),
        ("FROM host\nCOPY <<E x\n${X:?no}\nE", 2),
        ("FROM host\nUSER ${X:?who}", 2),
        ("FROM host\nWORKDIR $NOTHING", 2),
        ("FROM host\nCOPY --chown=$NOTHING a b", 2),
    ] {
        let (recipe, dockerfile) = recipe(text);
        let error = plan_on_host(&recipe, &dockerfile).unwrap_err();
        assert_eq!(error.line, line, "{text}");
    }
    let dockerfile = Dockerfile::parse("FROM host\nCOPY a b").unwrap();
    let error = plan_on_host(&Recipe::default(), &dockerfile).unwrap_err();
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

#[test]
fn stages_hand_on_what_they_say_and_nothing_of_their_arguments() {
    let plan = planned(
        "ARG TARGETARCH\nFROM host AS base\nARG V=1\nENV A=$V\nSHELL [\"/bin/bash\", \"-c\"]\nUSER app:app\nWORKDIR /w\n\
         ENTRYPOINT run it\nFROM base AS other\nRUN never\nFROM base\nARG V\nENV B=[$V] C=$A\nRUN x\nCOPY --from=base /x /y\nLABEL a=$C\nEXPOSE 1\nEXPOSE 2\nCMD a",
    );
    assert_eq!(plan.stages.keys().copied().collect::<Vec<_>>(), [0, 2]);
    let image = plan.image().unwrap();
    assert_eq!(
        (
            image.env["A"].as_str(),
            image.env["B"].as_str(),
            image.env["C"].as_str()
        ),
        ("1", "[]", "1")
    );
    assert_eq!(image.entrypoint, ["/bin/bash", "-c", "run it"]);
    assert_eq!(
        (image.user.as_deref(), image.working_directory.as_deref()),
        (Some("app:app"), Some("/w"))
    );
    assert_eq!(image.metadata["label.a"], "1");
    assert_eq!(image.metadata["expose"], "1 2");
    let last = &plan.stages[&2];
    assert_eq!(last.notes, ["LABEL", "EXPOSE", "CMD"]);
    assert_eq!(last.steps[0].shell, ["/bin/bash", "-c"]);
    assert!(matches!(
        &last.steps[1].kind,
        StepKind::CopyFrom(Origin::Stage(0), _)
    ));
}

#[test]
fn a_target_is_a_stage_and_the_rest_is_not_built() {
    let (mut recipe, dockerfile) = recipe("FROM host AS a\nRUN one\nFROM a AS b\nRUN two");
    recipe.target = Some("A".to_owned());
    let plan = plan_on_host(&recipe, &dockerfile).unwrap();
    assert_eq!(steps(&plan).len(), 1);
    recipe.target = Some("nope".to_owned());
    assert!(
        plan_on_host(&recipe, &dockerfile)
            .unwrap_err()
            .message
            .contains("nope")
    );
}

#[test]
fn documents_are_expanded_unless_their_delimiter_is_quoted() {
    let plan = planned("FROM host\nENV A=1\nCOPY <<a <<'b' /d/\n\"$A\" \\$A\na\n$A\nb");
    let StepKind::WriteDocuments(documents, _) = &steps(&plan)[0].kind else {
        panic!("{plan:?}");
    };
    let documents: Vec<_> = documents
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    assert_eq!(documents, [("a", "\"1\" $A\n"), ("b", "$A\n")]);
}
