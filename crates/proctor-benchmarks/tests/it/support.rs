//! What several tests need.

use proctor_benchmarks::{Folder, ReadFile, Report, Source};
use proctor_core::time::Timestamp;
use proctor_engine::Extensions;

/// 2030-03-04 08:00 UTC.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_898_841_600_000);

pub(crate) fn read(text: &str) -> Result<ReadFile, Report> {
    let source = Source {
        name: "file.yaml".to_owned(),
        text: text.to_owned(),
    };
    ReadFile::read(source, &Folder::Nowhere, &Extensions::shipped())
}

/// A small file that is right.
pub(crate) const SMALL: &str = r#"
name: Small
slug: small
timeout: 60
environment:
  name: Ward
  simulators:
    - {type: Fhir, name: Chart, datasets: [chart]}
datasets:
  chart:
    type: FHIR
    data: [{resourceType: Patient, id: ada, birthDate: "1980-01-02"}]
entities:
  ada: {kind: Patient, data: {id: ada}}
tasks:
  - name: Order potassium
    task_item: {do: it}
    entities: [ada]
    criteria:
      - label: The order is there
        axis: accuracy
        input_entity: ada
        assertion:
          assert: fhir-resource-state
          resource_type: ServiceRequest
          search: {subject: "Patient/{{entity.id}}"}
    solution:
      - call: POST fhir/ServiceRequest
        body: {resourceType: ServiceRequest, status: active, intent: order, subject: {reference: "Patient/{{ada.id}}"}}
        expect: 201
"#;
