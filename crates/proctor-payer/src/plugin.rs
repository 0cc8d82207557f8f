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
    scenario::{StepKind, read_fields, required},
    tool::Tool,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Blueprint, PayerDesk,
    blueprint::{check_config, config_schema},
    clearinghouse, is_page, portal,
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

const STEPS: &[StepKind] = &[PORTAL_SEED, X12_MEMBER];

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
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRows {
    resource: Option<String>,
    rows: Option<Vec<Map<String, Value>>>,
}

const PORTAL_SEED: StepKind = StepKind {
    name: "portal_seed",
    read: |map| {
        let written: WrittenRows = read_fields(map)?;
        Ok(Arc::new(PortalSeed {
            resource: required("resource", written.resource)?,
            rows: required("rows", written.rows)?,
        }))
    },
    listed: 50,
};

/// Somebody becomes a member of the payer.
#[derive(Debug)]
pub(crate) struct X12Member {
    /// The member, as the payer keeps it.
    pub(crate) member: Value,
}

const X12_MEMBER: StepKind = StepKind {
    name: "x12_member",
    read: |map| {
        if !map.contains_key("member_id") {
            return Err(Problem::error("member_id", "is required"));
        }
        let member = Value::Object(map);
        Ok(Arc::new(X12Member { member }))
    },
    listed: 90,
};

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
