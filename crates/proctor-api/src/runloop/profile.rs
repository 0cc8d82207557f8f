//! What whoever starts a run brings along, as clients say it.

use std::collections::BTreeMap;

use proctor_core::{
    mount::Mount,
    profile::{Particulars, RunProfile, is_variable},
};
use proctor_simulation::config::read_value;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{launch_parameters::LaunchParametersBody, mounts::MountBody};
use crate::{
    error::ApiError,
    extract::{Checks, shortened, texts},
};

const LONGEST_NAME: usize = 500;
/// How the names of labels begin that the server gives to runs.
const OWN_LABELS: &str = "proctor.";

/// What a box gets from whoever starts the run.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct RunProfileBody {
    /// What the run is for.
    purpose: Option<String>,
    /// Environment variables.
    #[serde(rename = "envVars")]
    #[serde(default, deserialize_with = "texts")]
    env_vars: Option<BTreeMap<String, String>>,
    /// Environment variables whose values are secrets, by the secrets' names.
    #[serde(default, deserialize_with = "texts")]
    secrets: Option<BTreeMap<String, String>>,
    #[serde(rename = "launchParameters")]
    launch_parameters: Option<LaunchParametersBody>,
    /// What is put into the box.
    #[schema(value_type = Option<Vec<Object>>)]
    mounts: Option<Vec<Value>>,
}

/// What was said at the start of a run.
pub(super) fn particulars(
    name: Option<String>,
    metadata: Option<BTreeMap<String, String>>,
    profile: Option<RunProfileBody>,
) -> Result<Particulars, ApiError> {
    let mut checks = Checks::default();
    let name = checks.optional_text("run_name", name, 0..=LONGEST_NAME);
    let profile = profile.unwrap_or_default();
    let mut mounts = Vec::new();
    for (number, given) in profile.mounts.into_iter().flatten().enumerate() {
        mounts.extend(mount(&mut checks, number, &given));
    }
    let launch = profile
        .launch_parameters
        .map(|launch| launch.read(&mut checks, "runProfile.launchParameters"));
    let environment = profile.env_vars.unwrap_or_default();
    let secrets = profile.secrets.unwrap_or_default();
    check_variables(&mut checks, "runProfile.envVars", &environment);
    check_secrets(&mut checks, "runProfile.secrets", &secrets);
    let metadata = metadata.unwrap_or_default();
    check_own_labels(&mut checks, "metadata", &metadata);
    checks.finish()?;
    Ok(Particulars {
        name: name.filter(|name| !name.trim().is_empty()),
        metadata,
        profile: RunProfile {
            purpose: profile.purpose,
            environment,
            secrets,
            launch: launch.unwrap_or_default(),
            mounts,
            blueprint: None,
            volumes: BTreeMap::new(),
        },
    })
}

/// Refuses labels under names that are the server's own: nobody else says what came of a run.
pub(crate) fn check_own_labels(
    checks: &mut Checks,
    field: &str,
    labels: &BTreeMap<String, String>,
) {
    for name in labels.keys().filter(|name| name.starts_with(OWN_LABELS)) {
        let place = format!("{field}.{}", shortened(name));
        checks.refuse(
            &place,
            format!("names that begin with '{OWN_LABELS}' are the server's own"),
        );
    }
}

/// Names what no environment variable can be.
pub(crate) fn check_variables(
    checks: &mut Checks,
    field: &str,
    variables: &BTreeMap<String, String>,
) {
    for (variable, value) in variables {
        let place = format!("{field}.{}", shortened(variable));
        if variable.is_empty() || variable.contains(['=', '\0']) {
            checks.refuse(&place, "is no name of an environment variable");
        }
        if value.contains('\0') {
            checks.refuse(&place, "must not contain a NUL");
        }
    }
}

/// Names what no secret can be given to a box as: secrets have names of their own, and the variables that hold them those that
/// shells know.
pub(crate) fn check_secrets(checks: &mut Checks, field: &str, secrets: &BTreeMap<String, String>) {
    for (variable, secret) in secrets {
        let place = format!("{field}.{}", shortened(variable));
        if !is_variable(variable) {
            checks.refuse(
                &place,
                "must be the name of an environment variable: letters, digits and underscores, not a digit first",
            );
        }
        if secret.trim().is_empty() {
            checks.refuse(&place, "must be the name of a secret");
        }
    }
}

/// A mount; what is wrong with it is named.
fn mount(checks: &mut Checks, number: usize, mount: &Value) -> Option<Mount> {
    let place = format!("runProfile.mounts.{number}");
    checks.document(&place, mount);
    match read_value::<MountBody>(mount) {
        Ok(mount) => mount.read(checks, &place),
        Err(problem) => {
            checks.refuse_below(&place, problem.into());
            None
        }
    }
}
