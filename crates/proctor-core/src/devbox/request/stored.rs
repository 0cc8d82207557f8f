//! Devbox requests as documents.
//!
//! The form is older than the types: definitions that were frozen with it keep their digests only if it stays as it is, to the
//! last digit. It has the words of the API that it came through first.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    BaseRequest, BeforeSuspend, DevboxDefinition, LaunchRequest, LifecycleRequest, SizeRequest,
    UnreadableDevbox,
};
use crate::{
    devbox::{AfterIdle, IdleAction, ResourceSize, UserParameters},
    document::Readable as _,
    id::{Dialect, kinds::NetworkPolicyId},
};

const CUSTOM: &str = "CUSTOM_SIZE";

#[derive(Deserialize)]
struct StoredDefinition {
    blueprint_id: Option<String>,
    blueprint_name: Option<String>,
    snapshot_id: Option<String>,
    launch_parameters: Option<LaunchRequest>,
    working_directory: Option<String>,
}

pub(super) fn read_definition(document: &Value) -> Result<DevboxDefinition, UnreadableDevbox> {
    let stored = StoredDefinition::deserialize(document)
        .map_err(|error| UnreadableDevbox::Form(error.to_string()))?;
    let base = match (
        stored.blueprint_id,
        stored.blueprint_name,
        stored.snapshot_id,
    ) {
        (None, None, None) => BaseRequest::Host,
        (Some(id), None, None) => BaseRequest::blueprint(&id),
        (None, Some(name), None) => BaseRequest::NewestBlueprint(name),
        (None, None, Some(id)) => BaseRequest::snapshot(&id),
        _ => return Err(UnreadableDevbox::SeveralBases),
    };
    Ok(DevboxDefinition {
        base,
        launch: stored.launch_parameters,
        working_directory: stored.working_directory,
    })
}

pub(super) fn write_definition(definition: &DevboxDefinition) -> Value {
    let mut document = Map::new();
    let mut put = |member: &str, value: Value| document.insert(member.to_owned(), value);
    match &definition.base {
        BaseRequest::Host => None,
        BaseRequest::Snapshot(id) => put("snapshot_id", id.wire(Dialect::Runloop).into()),
        BaseRequest::Blueprint(id) => put("blueprint_id", id.wire(Dialect::Runloop).into()),
        BaseRequest::NewestBlueprint(name) => put("blueprint_name", name.as_str().into()),
        BaseRequest::NotASnapshot(text) => put("snapshot_id", text.as_str().into()),
        BaseRequest::NotABlueprint(text) => put("blueprint_id", text.as_str().into()),
    };
    if let Some(launch) = &definition.launch {
        put("launch_parameters", launch.write());
    }
    if let Some(directory) = &definition.working_directory {
        put("working_directory", directory.as_str().into());
    }
    Value::Object(document)
}

/// A number that may be written with a point; whole ones are written without.
#[derive(Clone, Copy)]
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // No number here comes near the limits of either.
        if self.0.fract() == 0.0 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self)
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

impl Number {
    fn whole(self) -> Result<u32, String> {
        let Self(number) = self;
        if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
            // It is whole and within the range of the target.
            Ok(number as u32)
        } else {
            Err(format!("{number} is not a whole number"))
        }
    }
}

fn whole(number: Option<Number>) -> Result<Option<u32>, String> {
    number.map(Number::whole).transpose()
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StoredLaunch {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_size_request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_cpu_cores: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_gb_memory: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_disk_size: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_alive_time_seconds: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_idle: Option<StoredAfterIdle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifecycle: Option<StoredLifecycle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch_commands: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_parameters: Option<StoredUser>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_policy_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredAfterIdle {
    idle_time_seconds: Number,
    on_idle: IdleAction,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredLifecycle {
    #[serde(skip_serializing_if = "Option::is_none")]
    after_idle: Option<StoredAfterIdle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifecycle_hooks: Option<StoredHooks>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_triggers: Option<StoredTriggers>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredTriggers {
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<bool>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredHooks {
    #[serde(skip_serializing_if = "Option::is_none")]
    suspend_commands: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspend_deadline_ms: Option<Number>,
}

#[derive(Serialize, Deserialize)]
struct StoredUser {
    username: String,
    uid: Number,
}

impl From<AfterIdle> for StoredAfterIdle {
    fn from(after_idle: AfterIdle) -> Self {
        Self {
            idle_time_seconds: after_idle.seconds.into(),
            on_idle: after_idle.action,
        }
    }
}

impl TryFrom<StoredAfterIdle> for AfterIdle {
    type Error = String;

    fn try_from(stored: StoredAfterIdle) -> Result<Self, String> {
        Ok(Self {
            seconds: stored.idle_time_seconds.whole()?,
            action: stored.on_idle,
        })
    }
}

impl From<LaunchRequest> for StoredLaunch {
    fn from(launch: LaunchRequest) -> Self {
        Self {
            resource_size_request: launch.size.map(|size| match size {
                SizeRequest::Usual(size) => size.as_str().to_owned(),
                SizeRequest::Custom => CUSTOM.to_owned(),
            }),
            custom_cpu_cores: launch
                .cpu_halves
                .map(|halves| Number(f64::from(halves) / 2.0)),
            custom_gb_memory: launch.memory_gib.map(Number::from),
            custom_disk_size: launch.disk_gib.map(Number::from),
            keep_alive_time_seconds: launch.keep_alive_seconds.map(Number::from),
            after_idle: launch.after_idle.map(StoredAfterIdle::from),
            lifecycle: launch.lifecycle.map(|lifecycle| StoredLifecycle {
                after_idle: lifecycle.after_idle.map(StoredAfterIdle::from),
                lifecycle_hooks: lifecycle.before_suspend.map(|before| StoredHooks {
                    suspend_commands: before.commands,
                    suspend_deadline_ms: before.deadline_millis.map(Number::from),
                }),
                resume_triggers: lifecycle
                    .wake_on_http
                    .map(|http| StoredTriggers { http: Some(http) }),
            }),
            launch_commands: launch.launch_commands,
            user_parameters: launch.user.map(|user| StoredUser {
                username: user.username,
                uid: user.uid.into(),
            }),
            network_policy_id: launch
                .network_policy
                .map(|policy| policy.wire(Dialect::Runloop)),
            architecture: launch.architecture,
        }
    }
}

impl TryFrom<StoredLaunch> for LaunchRequest {
    type Error = String;

    fn try_from(stored: StoredLaunch) -> Result<Self, String> {
        let halves = stored
            .custom_cpu_cores
            .map(|Number(cores)| Number(cores * 2.0));
        Ok(Self {
            size: stored
                .resource_size_request
                .as_deref()
                .map(size)
                .transpose()?,
            cpu_halves: whole(halves)?,
            memory_gib: whole(stored.custom_gb_memory)?,
            disk_gib: whole(stored.custom_disk_size)?,
            keep_alive_seconds: whole(stored.keep_alive_time_seconds)?,
            after_idle: stored.after_idle.map(AfterIdle::try_from).transpose()?,
            lifecycle: stored.lifecycle.map(lifecycle).transpose()?,
            launch_commands: stored.launch_commands,
            user: stored.user_parameters.map(user).transpose()?,
            network_policy: stored
                .network_policy_id
                .as_deref()
                .map(policy)
                .transpose()?,
            architecture: stored.architecture,
        })
    }
}

fn size(word: &str) -> Result<SizeRequest, String> {
    match (word, ResourceSize::from_name(word)) {
        (CUSTOM, _) => Ok(SizeRequest::Custom),
        (_, Some(size)) => Ok(SizeRequest::Usual(size)),
        (_, None) => Err(format!("'{word}' is not a size")),
    }
}

fn lifecycle(stored: StoredLifecycle) -> Result<LifecycleRequest, String> {
    let before_suspend = |hooks: StoredHooks| {
        Ok::<_, String>(BeforeSuspend {
            commands: hooks.suspend_commands,
            deadline_millis: whole(hooks.suspend_deadline_ms)?,
        })
    };
    Ok(LifecycleRequest {
        after_idle: stored.after_idle.map(AfterIdle::try_from).transpose()?,
        before_suspend: stored.lifecycle_hooks.map(before_suspend).transpose()?,
        wake_on_http: stored.resume_triggers.and_then(|triggers| triggers.http),
    })
}

fn user(stored: StoredUser) -> Result<UserParameters, String> {
    Ok(UserParameters {
        username: stored.username,
        uid: stored.uid.whole()?,
    })
}

fn policy(text: &str) -> Result<NetworkPolicyId, String> {
    NetworkPolicyId::from_wire(text, Dialect::Runloop).map_err(|bad| bad.to_string())
}
