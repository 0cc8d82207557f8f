//! Templates: where they may stand, what fills them, and what is said when nothing does.

use proctor_core::id::kinds::EntityId;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{STARTED, World, context, criterion, task};

fn row(fields: Value) -> World {
    World::untouched().row("things", "1", fields)
}

fn expects(world: &World, expected: Value) -> proctor_verify::Finding {
    world.check(json!({
        "assert": "portal-state-match", "correlate_by": {"resource": "things"},
        "assertions": [{"path": "value", "expected": expected}],
    }))
}

#[test]
fn a_value_keeps_its_type_alone_and_becomes_text_among_text() {
    for (value, expected) in [
        (json!(36), json!("{{entity.age}}")),
        (json!(36.0), json!("{{ ada.age }}")),
        (json!("36 years"), json!("{{entity.age}} years")),
        (json!("Ada"), json!("{{ada.name.0.given.0}}")),
        (json!(240.50), json!("{{order.total}}")),
        (json!(null), json!("{{ada.middle}}")),
        (json!(STARTED.to_string()), json!("{{task_run.started_at}}")),
        (
            json!(context().task_run.to_string()),
            json!("{{task_run.id}}"),
        ),
        (
            json!("36"),
            json!({"$in": ["x", "{{entity.age}}", "{{entity.mrn}}", "36"]}),
        ),
        (
            json!("Lovelace, King"),
            json!({"$regex": "^{{entity.name.0.family}}$"}),
        ),
        (json!("a {{b}} c"), json!("a \\{{b}} c")),
    ] {
        let finding = expects(&row(json!({"value": value})), expected.clone());
        assert!(finding.passed, "{expected}: {}", finding.details);
    }
    let finding = expects(&row(json!({"value": "36"})), json!("{{entity.age}}"));
    assert_eq!(
        finding.evidence["assertionResults"][0]["expected"],
        json!(36),
        "evidence shows what was meant"
    );
    assert!(!finding.passed);
}

#[test]
fn a_filled_value_is_never_a_pattern() {
    let world = World::untouched().file("a*b", "").file("axb", "");
    let mut criterion = criterion(
        "It",
        json!({"assert": "sftp-file-present", "path_glob": "{{entity.path}}"}),
    );
    criterion.input_entity = Some(EntityId::from_uuid(Uuid::from_u128(10)));
    let mut task = task(vec![criterion]);
    task.entities[0].data = json!({"path": "a*b"});
    let finding = &world.judge(&task).findings[0];
    assert_eq!(finding.evidence["matchedPaths"], json!(["a*b"]));

    let patients = ["Lovelace, King", "Lovelace"].into_iter().enumerate();
    let world = patients.fold(World::untouched(), |world, (id, family)| {
        world.resource(
            &json!({"resourceType": "Patient", "id": id.to_string(), "name": [{"family": family}]}),
        )
    });
    let finding = world.check(json!({
        "assert": "fhir-resource-state", "resource_type": "Patient",
        "search": {"family": "{{entity.name.0.family}}"},
    }));
    assert_eq!(
        finding.evidence["total"], 1,
        "a comma in a name is no 'or': {}",
        finding.details
    );
}

#[test]
fn what_does_not_resolve_fails_the_check_and_says_why() {
    let world = row(json!({"value": null}));
    for (template, why) in [
        (
            "{{entity.nothing}}",
            "value: the template {{entity.nothing}} does not resolve: the entity 'ada' has no 'nothing'",
        ),
        (
            "{{grace.id}}",
            "value: the template {{grace.id}} does not resolve: the task has no entity 'grace', only ada, order",
        ),
        (
            "{{order.parts}}",
            "value: the template {{order.parts}} does not resolve: it is no single text, number or truth value",
        ),
        (
            "x {{ada.middle}}",
            "value: the template {{ada.middle}} does not resolve: it is null, no text",
        ),
    ] {
        let finding = expects(&world, json!(template));
        assert!(!finding.passed);
        assert_eq!(finding.details, why);
        assert_eq!(finding.evidence["assertionResults"], json!([]));
    }
    let mut orphan = criterion(
        "It",
        json!({
            "assert": "voice-transcript", "contains": ["{{entity.mrn}}"],
        }),
    );
    orphan.input_entity = None;
    let finding = world.judge(&task(vec![orphan])).findings.remove(0);
    assert!(
        finding
            .details
            .contains("the criterion has no input entity"),
        "{}",
        finding.details
    );
}
