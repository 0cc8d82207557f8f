//! What authors are told about files that are not right.

use miette::{GraphicalReportHandler, GraphicalTheme};
use proctor_benchmarks::SHIPPED;
use proptest::prelude::*;

use crate::support::{NOW, SMALL, read};

fn told(text: &str) -> String {
    match read(text) {
        Err(report) => report.to_string(),
        Ok(file) => file.check(NOW).report.to_string(),
    }
}

#[test]
fn everything_that_is_wrong_is_named_at_once_and_in_its_place() {
    let text = r#"
name: 5
slug: Not A Slug
visibility: Secret
timeout: 0
concurrency: many
colour: blue
environment:
  name: Ward
  simulators:
    - {type: Telegraph, name: Line}
    - {type: Fhir, name: Chart, datasets: [chart, tapes]}
    - {type: Fax, name: Chart}
datasets:
  chart: {type: FHIR, data: [], file: chart.json}
  other: {type: Files, file: ../secrets.json}
  empty: {type: Members}
entities:
  now: {kind: Time, data: {}}
  ada: {kind: Patient, dataset: tapes, data: []}
tasks:
  - name: One
    entities: [bob]
    criteria:
      - {label: "", weight: -1, input_entity: carl, assertion: {}}
      - {axis: safety}
  - {name: One, timeout: 100000, tags: [5], solution: {}}
  - just text
"#;
    insta::assert_snapshot!(told(text));
}

#[test]
fn what_can_be_read_is_checked_as_if_it_were_published() {
    let text = r#"
name: Small
slug: small
timeout: 60
environment:
  name: Ward
  simulators:
    - {type: Fhir, name: Chart, datasets: [chart], config: {validation: sometimes}}
    - {type: Fax, name: Fax line}
datasets:
  chart: {type: FHIR, data: [{resourceType: Patient, id: ada}]}
entities:
  ada: {kind: Patient, data: {id: ada}}
  bob: {kind: Patient, data: {id: bob}}
tasks:
  - name: One
    entities: [ada]
    criteria:
      - {label: Unknown, assertion: {assert: telepathy}}
      - {label: The status is booked, assertion: {assert: fhir-resource-state, resource_type: Appointment, fields: [{path: status, expected: booked}]}}
      - {label: Template, assertion: {assert: fhir-resource-state, resource_type: Patient, search: {_id: "{{carl.id}}"}}}
    solution:
      - {call: "POST telegraph/send"}
      - {call: GET fhir/Patient, expect: 1000}
  - name: Two
    entities: [ada]
    scenario:
      - {type: smoke_signal}
    solution:
      - {call: "GET fhir/Patient/{{later}}", pick: {later: id}}
  - name: Three
"#;
    insta::assert_snapshot!(told(text));
}

/// Everything that an author can get wrong without making the file unreadable, each in its place.
const MISTAKEN: &str = r#"
name: Small
slug: small
timeout: 60
environment:
  name: Ward
  simulators:
    - {type: Fhir, name: Chart, datasets: [chart]}
    - {type: Fax, name: Fax line}
    - {type: Clearinghouse, name: House}
datasets:
  chart:
    type: FHIR
    data:
      - {resourceType: Patient, id: ada, birthDate: yesterday, colour: red}
      - {resourceType: Task, id: t, status: sleeping, intent: order}
entities:
  ada: {kind: Patient, data: {id: ada}}
tasks:
  - name: Paths and rows
    entities: [ada]
    capture:
      number: {from: portal, resource: prior_auths, path: auth_number}
      day: {from: fhir, resource: Appointment, path: begin}
    criteria:
      - {label: A, assertion: {assert: fhir-resource-state, resource_type: Appointment, fields: [{path: start_time, expected: x}, {path: participant.actor.display, expected: x}]}}
      - {label: B, assertion: {assert: portal-state-match, correlate_by: {resource: letters}}}
      - {label: C, assertion: {assert: unchanged, allow: [{fhir: Task, only: [stats]}, {fhir: Task, where: {state: x}, max: 1}, {fhir: "*"}, {portal: letters, max: 1}]}}
      - {label: D, assertion: {assert: events, match: {protocol: fax}, count: {min: 0}}}
    solution: [{call: GET fhir/Patient}]
  - name: Steps
    entities: [ada]
    scenario:
      - {type: fax_inbound, from_numbr: "1", text: 5}
      - {type: hl7_inbound}
      - {type: x12_claim, claims: 5, after: soon, times: 0, when: {protocl: fax}}
    criteria:
      - {label: E, assertion: {assert: fhir-resource-state, resource_type: Appointment}}
    solution: [{call: GET fhir/Patient}]
  - name: Steps that cannot happen
    entities: [ada]
    scenario:
      - {type: fhir_upsert, resource: {resourceType: Nothing}}
      - {type: fax_inbound, from_number: "+1 555 010 0001", text: Hello}
      - {type: x12_claim, claims: [{patient_account: A, member_id: NOBODY, service_date: "2030-01-01", diagnosis_codes: [I10], lines: [{procedure_code: "99213", charge: 5}]}]}
    criteria:
      - {label: F, assertion: {assert: fhir-resource-state, resource_type: Appointment}}
    solution: [{call: GET fhir/Patient}]
"#;

#[test]
fn mistakes_of_authors_are_found_when_they_write() {
    let told = told(MISTAKEN);
    // Each with its line and column.
    let lines = told.lines().filter(|line| line.starts_with("file.yaml:"));
    assert!(lines.count() >= 18, "{told}");
    insta::assert_snapshot!(told);
}

#[test]
fn a_strict_check_takes_warnings_for_errors() {
    let text = SMALL.to_owned();
    let mut report = read(&text).unwrap().check(NOW).report;
    assert!(
        !report.has_errors() && !report.problems.is_empty(),
        "{report}"
    );
    report.make_strict();
    assert!(report.has_errors());
}

#[test]
fn what_an_agent_gets_for_nothing_is_reported() {
    let text = SMALL.replace(
        "resource_type: ServiceRequest\n",
        "resource_type: Patient\n",
    );
    let text = text.replace(
        "search: {subject: \"Patient/{{entity.id}}\"}",
        "search: {_id: ada}",
    );
    insta::assert_snapshot!(told(&text));
    let text = SMALL.replace(
        "    task_item: {do: it}\n",
        "    scenario: [{type: fax_inbound, from_number: '+1555', text: Hello}]\n",
    );
    insta::assert_snapshot!(told(&text));
}

#[test]
fn what_is_no_yaml_is_told_with_its_place() {
    let told: Vec<String> = [
        "name: [1, 2",
        "a: 1\na: 2\n",
        "- just\n- a list\n",
        "",
        "name: &a [*a]",
    ]
    .into_iter()
    .map(|text| format!("{text:?}\n{}", told(text)))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn people_see_the_line_at_fault() {
    let report = read(&SMALL.replace("timeout: 60", "timeout: soon"))
        .err()
        .unwrap();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    let mut drawn = String::new();
    for diagnostic in report.diagnostics() {
        handler.render_report(&mut drawn, &diagnostic).unwrap();
    }
    insta::assert_snapshot!(drawn);
}

proptest! {
    // Whole files take their time to read.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        let _ = told(&text);
    }

    #[test]
    fn a_file_with_any_line_changed_is_read_or_refused(
        file in 0..SHIPPED.len(), line in any::<prop::sample::Index>(), with in "[ a-z0-9:\\[\\]{}|>#'\"-]{0,20}",
    ) {
        let mut lines: Vec<&str> = SHIPPED[file].text.lines().collect();
        let place = line.index(lines.len());
        lines[place] = &with;
        let _ = read(&lines.join("\n"));
    }
}
