//! The FHIR store registers itself.

use http::{HeaderMap, Method};
use proctor_core::{environment::Dataset, problem::Problem, time::Timestamp};
use proctor_simulation::{
    entrance::{Admission, Entrance, Entrances},
    registry::{MachineSource, SimulatorPlugin},
    scenario::{StepFields, StepKind},
    schema::{about, example, object, text},
    seed::Seed,
    tool::Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    blueprint::{Blueprint, check_dataset, config_schema},
    entrance,
    smart::Smart,
    tools,
};

/// The first segment of every path of a store below its playground.
pub const PATH: &str = "fhir";

/// A FHIR R4 store.
pub struct FhirPlugin;

impl SimulatorPlugin for FhirPlugin {
    fn name(&self) -> &'static str {
        "Fhir"
    }

    fn path(&self) -> &'static str {
        PATH
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("fhir", PATH)]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    fn check_dataset(&self, config: &Value, dataset: &Dataset) -> Vec<Problem> {
        check_dataset(config, dataset)
    }

    fn machine(&self) -> MachineSource {
        MachineSource::Own(|simulator| {
            let blueprint = Blueprint::read(simulator)?;
            Ok(Box::new(move |context| Box::new(blueprint.branch(context))))
        })
    }

    /// Stores are counted for themselves.
    fn seed_sequence(&self) -> &'static str {
        "fhir"
    }

    fn tools(&self) -> &'static [Tool] {
        tools::TOOLS
    }

    fn steps(&self) -> &'static [StepKind] {
        &[UPSERT, TRANSACTION]
    }

    fn entrances(&self) -> Entrances {
        Entrances::Seeded(|seed, number, prefix| Box::new(Tokens::of_store(seed, number, prefix)))
    }
}

/// Whoever shows one of the store's tokens comes in.
struct Tokens {
    smart: Smart,
    base_url: String,
}

impl Tokens {
    fn of_store(seed: Seed, number: usize, prefix: &str) -> Self {
        Self {
            smart: Smart::of_store(seed, number),
            base_url: format!("{prefix}/{PATH}"),
        }
    }
}

impl Entrance for Tokens {
    fn admit(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Admission<'_> {
        match entrance::admit(&self.smart, &self.base_url, method, path, headers, now) {
            entrance::Admission::Admitted => Admission::Admitted,
            entrance::Admission::Tokens(request) => {
                Admission::Answered(Box::new(move |headers, body, now| {
                    request.answer(headers, body, now)
                }))
            }
            entrance::Admission::Unknown(_) => Admission::Unknown,
        }
    }
}

/// A resource is stored.
#[derive(Debug)]
pub(super) struct FhirUpsert {
    /// The resource.
    pub(super) resource: Value,
}

/// The step as authors write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenUpsert {
    resource: Option<Value>,
}

const UPSERT: StepKind = StepKind {
    name: "fhir_upsert",
    read: |map| {
        let (written, mut fields) = StepFields::read::<WrittenUpsert>(map);
        let resource = fields.required("resource", written.resource);
        fields.finish(resource.map(|resource| FhirUpsert { resource }))
    },
    schema: || {
        let members = json!({"resource": about("The resource, with its id.", resource())});
        let patient = json!({"resourceType": "Patient", "id": "ada"});
        example(object(&["resource"], members), json!({"resource": patient}))
    },
    listed: 30,
};

/// A transaction is carried out.
#[derive(Debug)]
pub(super) struct FhirTransaction {
    /// The bundle.
    pub(super) bundle: Value,
}

/// The step as authors write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTransaction {
    bundle: Option<Value>,
}

const TRANSACTION: StepKind = StepKind {
    name: "fhir_transaction",
    read: |map| {
        let (written, mut fields) = StepFields::read::<WrittenTransaction>(map);
        let bundle = fields.required("bundle", written.bundle);
        fields.finish(bundle.map(|bundle| FhirTransaction { bundle }))
    },
    schema: || {
        let members = json!({"bundle": about("A Bundle of type transaction.", resource())});
        let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": []});
        example(object(&["bundle"], members), json!({"bundle": bundle}))
    },
    listed: 40,
};

/// Any resource, in a schema.
fn resource() -> Value {
    json!({"type": "object", "required": ["resourceType"], "properties": {"resourceType": text()}})
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderValue, header};
    use serde_json::Value;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_776_790_800_000);

    fn store(seed: u64, number: usize) -> Box<dyn Entrance> {
        let Entrances::Seeded(entrance) = FhirPlugin.entrances() else {
            panic!("tokens follow from the seed");
        };
        entrance(Seed::from_number(seed), number, "/sandboxes/sbx_1")
    }

    fn said(
        entrance: &dyn Entrance,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> &'static str {
        match entrance.admit(method, path, headers, NOW) {
            Admission::Admitted => "admitted",
            Admission::Answered(_) => "tokens",
            Admission::Unknown => "unknown",
        }
    }

    fn with(authorization: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_str(authorization).unwrap();
        headers.insert(header::AUTHORIZATION, value);
        headers
    }

    #[test]
    fn a_store_shows_everybody_what_it_can_do_and_where_tokens_are_had() {
        let entrance = store(1, 0);
        for (method, path, expected) in [
            (Method::GET, "fhir/metadata", "admitted"),
            (Method::PUT, "fhir/metadata", "unknown"),
            (
                Method::GET,
                "fhir/.well-known/smart-configuration",
                "tokens",
            ),
            (
                Method::PUT,
                "fhir/.well-known/smart-configuration",
                "unknown",
            ),
            (Method::POST, "fhir/token", "tokens"),
            (Method::GET, "fhir/token", "unknown"),
            (Method::GET, "fhir/Patient", "unknown"),
            (Method::GET, "fhir", "unknown"),
        ] {
            let headers = HeaderMap::new();
            assert_eq!(
                said(&*entrance, &method, path, &headers),
                expected,
                "{path}"
            );
        }
        let asked = (&Method::GET, "fhir/.well-known/smart-configuration");
        let Admission::Answered(answer) = entrance.admit(asked.0, asked.1, &HeaderMap::new(), NOW)
        else {
            panic!("nobody answers");
        };
        let told = answer(&HeaderMap::new(), b"", NOW);
        let told: Value = serde_json::from_slice(&told.body).unwrap();
        assert_eq!(told["token_endpoint"], "/sandboxes/sbx_1/fhir/token");
    }

    #[test]
    fn a_token_opens_the_store_that_gave_it_out_and_no_other() {
        let smart = Smart::of_store(Seed::from_number(1), 0);
        let headers = with(&format!("Bearer {}", smart.issue(NOW)));
        let patient =
            |entrance: Box<dyn Entrance>| said(&*entrance, &Method::GET, "fhir/Patient", &headers);
        assert_eq!(patient(store(1, 0)), "admitted");
        assert_eq!(patient(store(1, 1)), "unknown");
        assert_eq!(patient(store(2, 0)), "unknown");
        let later = NOW.plus(Duration::from_secs(3_601));
        let ended = store(1, 0);
        let admission = ended.admit(&Method::GET, "fhir/Patient", &headers, later);
        assert!(matches!(admission, Admission::Unknown));
    }
}
