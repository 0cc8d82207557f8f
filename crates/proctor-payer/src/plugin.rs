//! The portal and the clearinghouse of a payer register themselves: two types of simulator, one desk.

use std::sync::Arc;

use http::{HeaderMap, Method, header};
use proctor_core::{
    problem::{Problem, Problems},
    time::Timestamp,
};
use proctor_simulation::{
    entrance::{Admission, Entrance, Entrances},
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepFields, StepKind},
    schema::{about, example, list, object, optional, text},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Blueprint, PayerDesk,
    blueprint::{check_config, config_schema},
    clearinghouse, is_page, portal,
    records::Enrolled,
};

/// A payer's portal.
pub struct PayerPlugin;

/// A clearinghouse for X12.
pub struct ClearinghousePlugin;

/// What `type` says of a portal.
pub(crate) const PAYER: &str = "Payer";
/// What `type` says of a clearinghouse.
pub(crate) const CLEARINGHOUSE: &str = "Clearinghouse";

/// The only member of a desk's credentials that is for users of the clearinghouse.
pub(crate) const CLEARINGHOUSE_URL: &str = "clearinghouse_url";

/// All payer and clearinghouse simulators of a playground are one desk.
const DESK: MachineSource = MachineSource::Shared {
    name: "payer desk",
    read: |simulators| Ok(factory(Blueprint::read(simulators)?, PayerDesk::branch)),
};

const STEPS: &[StepKind] = &[PORTAL_SEED, X12_MEMBER, X12_CLAIM];

impl SimulatorPlugin for PayerPlugin {
    fn name(&self) -> &'static str {
        PAYER
    }

    fn path(&self) -> &'static str {
        "portal"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("portal", "portal")]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    /// What stands in one of several payers and clearinghouses is looked at by itself.
    fn check_config(&self, config: &Value) -> Result<(), Problems> {
        check_config(config)
    }

    fn machine(&self) -> MachineSource {
        DESK
    }

    fn tools(&self) -> &'static [Tool] {
        portal::TOOLS
    }

    fn steps(&self) -> &'static [StepKind] {
        STEPS
    }

    fn entrances(&self) -> Entrances {
        Entrances::Fixed(Box::new(Pages))
    }

    fn credentials(&self, mut of_machine: Value) -> Value {
        if let Value::Object(members) = &mut of_machine {
            members.retain(|name, _| name != CLEARINGHOUSE_URL);
        }
        of_machine
    }
}

impl SimulatorPlugin for ClearinghousePlugin {
    fn name(&self) -> &'static str {
        CLEARINGHOUSE
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["X12"]
    }

    fn path(&self) -> &'static str {
        "clearinghouse"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("clearinghouse", "clearinghouse")]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    /// What stands in one of several payers and clearinghouses is looked at by itself.
    fn check_config(&self, config: &Value) -> Result<(), Problems> {
        check_config(config)
    }

    fn machine(&self) -> MachineSource {
        DESK
    }

    fn tools(&self) -> &'static [Tool] {
        clearinghouse::TOOLS
    }

    fn steps(&self) -> &'static [StepKind] {
        STEPS
    }

    fn credentials(&self, mut of_machine: Value) -> Value {
        if let Value::Object(members) = &mut of_machine {
            members.retain(|name, _| name == CLEARINGHOUSE_URL);
        }
        of_machine
    }
}

/// The portal's pages have a login of their own.
struct Pages;

impl Entrance for Pages {
    fn admit(&self, _: &Method, path: &str, headers: &HeaderMap, _: Timestamp) -> Admission<'_> {
        // A browser shows no credential of the platform.
        if is_page(path) && !headers.contains_key(header::AUTHORIZATION) {
            Admission::Admitted
        } else {
            Admission::Unknown
        }
    }
}

/// Rows appear in the payer's records.
#[derive(Debug)]
pub(crate) struct PortalSeed {
    /// The kind of row.
    pub(crate) resource: String,
    /// The rows.
    pub(crate) rows: Vec<Map<String, Value>>,
}

/// The rows as authors write them.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRows {
    resource: Option<String>,
    rows: Option<Vec<Map<String, Value>>>,
}

const PORTAL_SEED: StepKind = StepKind {
    name: "portal_seed",
    read: |map| {
        let (written, mut fields) = StepFields::read::<WrittenRows>(map);
        let resource = fields.required("resource", written.resource);
        let rows = fields.required("rows", written.rows);
        let seed = resource.zip(rows);
        fields.finish(seed.map(|(resource, rows)| PortalSeed { resource, rows }))
    },
    schema: || {
        let members = json!({
            "resource": about("The kind of row, such as prior_auth_requests, patients or providers.", text()),
            "rows": about("The rows.", list(&json!({"type": "object"}))),
        });
        let row = json!({"patient_member_id": "BCB123", "procedure_code": "72148", "provider_npi": "1234567893"});
        example(
            object(&["resource", "rows"], members),
            json!({"resource": "prior_auth_requests", "rows": [row]}),
        )
    },
    listed: 50,
};

/// Somebody becomes a member of the payer.
#[derive(Debug)]
pub(crate) struct X12Member {
    /// The member, as the payer keeps it.
    pub(crate) member: Enrolled,
}

const X12_MEMBER: StepKind = StepKind {
    name: "x12_member",
    read: |map| {
        if !map.contains_key("member_id") {
            return Err(Problem::error("member_id", "is required").into());
        }
        let member = Enrolled::read_every(map)?;
        Ok(Arc::new(X12Member { member }))
    },
    schema: member_schema,
    listed: 90,
};

/// The practice sends claims to the payer.
#[derive(Debug)]
pub(crate) struct X12Claims {
    /// The claims, as `POST clearinghouse/claims` takes them.
    pub(crate) claims: Vec<Map<String, Value>>,
}

/// The claims as authors write them.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClaims {
    claims: Option<Vec<Map<String, Value>>>,
}

const X12_CLAIM: StepKind = StepKind {
    name: "x12_claim",
    read: |map| {
        let (written, mut fields) = StepFields::read::<WrittenClaims>(map);
        let claims = fields.required("claims", written.claims);
        if claims.as_ref().is_some_and(Vec::is_empty) {
            fields.refuse("claims", "must not be empty");
        }
        fields.finish(claims.map(|claims| X12Claims { claims }))
    },
    schema: claims_schema,
    listed: 95,
};

/// The schema of a member, as data sets and steps write one.
fn member_schema() -> Value {
    let day = json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"});
    let gender = json!({"enum": ["female", "male", "unknown", null]});
    let dependent = object(
        &["last_name", "first_name", "birth_date", "relationship"],
        json!({
            "last_name": text(), "first_name": text(), "birth_date": day, "gender": gender,
            "relationship": {"enum": ["spouse", "child", "life_partner", "other"]},
        }),
    );
    let members = json!({
        "member_id": about("The id on the card.", text()),
        "last_name": text(),
        "first_name": text(),
        "middle_name": optional(&text()),
        "birth_date": about("The day of birth, YYYY-MM-DD.", day),
        "gender": gender,
        "address": optional(&object(
            &["line", "city", "state", "postal_code"],
            json!({"line": text(), "city": text(), "state": text(), "postal_code": text()}),
        )),
        "coverages": about("What the member is insured for.", list(&json!({"type": "object", "required": ["plan_name", "start"]}))),
        "dependents": about("Who is insured through the member.", list(&dependent)),
        "patient_id": about("The id of the FHIR Patient that the member is.", optional(&text())),
    });
    let required = ["member_id", "last_name", "first_name", "birth_date"];
    let ada = json!({"member_id": "BCB123", "last_name": "Smith", "first_name": "Ada", "birth_date": "1984-05-06", "patient_id": "ada"});
    example(object(&required, members), ada)
}

/// The schema of the claims that a practice sends.
fn claims_schema() -> Value {
    let day = json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"});
    let money = json!({"type": "number", "minimum": 0});
    let line = object(
        &["procedure_code", "charge"],
        json!({
            "procedure_code": about("CPT or HCPCS code.", text()),
            "modifiers": list(&text()),
            "charge": about("What is billed.", money.clone()),
            "units": money,
            "service_date": day,
            "service_to": day,
        }),
    );
    let person = object(
        &[],
        json!({"first_name": text(), "last_name": text(), "birth_date": day, "member_id": text()}),
    );
    let claim = object(
        &["patient_account", "diagnosis_codes", "lines"],
        json!({
            "patient_account": about("The practice's number of the claim (CLM01).", text()),
            "claim_number": about("The same.", text()),
            "member_id": text(),
            "patient_member_id": text(),
            "patient_id": about("The id of the patient in the FHIR store, instead of the member id.", text()),
            "last_name": text(),
            "first_name": text(),
            "birth_date": day,
            "dob": day,
            "dependent": about("Whom it is for, if not the member.", person),
            "provider_npi": text(),
            "npi": text(),
            "service_date": about("The day of service of lines that say none.", day.clone()),
            "service_from": day,
            "diagnosis_codes": about("ICD-10 codes, the principal one first.", json!({"type": ["array", "string"]})),
            "place_of_service": text(),
            "authorization_number": about("The payer's authorization (REF G1).", text()),
            "auth_number": text(),
            "frequency": about("1 for an original, 7 for one that replaces a denied one.", json!({"enum": ["1", "7"]})),
            "frequency_code": {"enum": ["1", "7"]},
            "original_claim_id": about("The payer's number of the claim that is replaced (REF F8).", text()),
            "lines": about("The services.", list(&line)),
        }),
    );
    let one = json!({"patient_account": "CLM5521", "member_id": "BCB123", "service_date": "2030-03-05",
        "diagnosis_codes": ["M54.16"], "lines": [{"procedure_code": "72148", "charge": 1240.5}]});
    example(
        object(
            &["claims"],
            json!({"claims": about("The claims, sent as one 837P.", list(&claim))}),
        ),
        json!({"claims": [one]}),
    )
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn browsers_come_to_the_pages_of_a_portal_and_to_nothing_else() {
        let now = Timestamp::from_millis(1_776_790_800_000);
        let Entrances::Fixed(portal) = PayerPlugin.entrances() else {
            panic!("the portal needs no seed");
        };
        let nobody = HeaderMap::new();
        let mut somebody = HeaderMap::new();
        somebody.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        for (path, headers, is_admitted) in [
            ("portal/login", &nobody, true),
            ("portal/login", &somebody, false),
            ("portal/prior-auths", &nobody, false),
        ] {
            let admission = portal.admit(&Method::GET, path, headers, now);
            let is_as_expected = match admission {
                Admission::Admitted => is_admitted,
                Admission::Unknown => !is_admitted,
                Admission::Answered(_) => false,
            };
            assert!(is_as_expected, "{path}");
        }
        let Entrances::Fixed(closed) = ClearinghousePlugin.entrances() else {
            panic!("the clearinghouse needs no seed");
        };
        let admission = closed.admit(&Method::GET, "clearinghouse/x12", &nobody, now);
        assert!(matches!(admission, Admission::Unknown));
    }
}
