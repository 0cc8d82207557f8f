//! How a box is made, as clients say it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a box is made of and what happens when it starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct LaunchParameters {
    /// Commands that run before the box is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    launch_commands: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_size_request: Option<ResourceSize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_ports: Option<Vec<i32>>,
    /// How long the box lives without being asked to stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_alive_time_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_idle: Option<IdleConfigurationParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_cpu_cores: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_gb_memory: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_disk_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<Architecture>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_parameters: Option<UserParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required_services: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_policy_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifecycle: Option<LifecycleConfigurationParameters>,
}

impl LaunchParameters {
    /// Its fields by name, without those that were not given.
    pub(super) fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) | Err(_) => Map::new(),
        }
    }
}

/// How large a box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ResourceSize {
    XSmall,
    Small,
    Medium,
    Large,
    XLarge,
    XxLarge,
    CustomSize,
}

/// The processor of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum Architecture {
    #[serde(rename = "x86_64")]
    X86,
    #[serde(rename = "arm64")]
    Arm,
}

/// What happens to a box that nobody uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct IdleConfigurationParameters {
    idle_time_seconds: i32,
    on_idle: IdleAction,
}

/// What is done to an idle box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IdleAction {
    Shutdown,
    Suspend,
}

/// When a box sleeps and wakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct LifecycleConfigurationParameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    after_idle: Option<IdleConfigurationParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_triggers: Option<ResumeTriggers>,
}

/// What wakes a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ResumeTriggers {
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    axon_event: Option<bool>,
}

/// Who works in a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct UserParameters {
    username: String,
    uid: i32,
}
