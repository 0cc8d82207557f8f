//! How devboxes are launched, as clients say it and read it.

use proctor_core::{
    devbox::{
        AfterIdle, IdleAction, LaunchParameters, LaunchRequest, ResourceSize, Sizing,
        UserParameters,
        launch::{Dimension, LONGEST_KEEP_ALIVE, LONGEST_SUSPEND_DEADLINE},
        request::{BeforeSuspend, LaunchProblem, LifecycleRequest, SizeRequest},
    },
    id::{Dialect, kinds::NetworkPolicyId},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use crate::extract::{Checks, shortened};

/// The word for a size of one's own.
const CUSTOM: &str = "CUSTOM_SIZE";

/// A number that clients may write with a point; whole ones are written without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // No number that goes out here comes near the limits of either.
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

impl<T: Into<f64>> From<T> for Number {
    fn from(value: T) -> Self {
        Self(value.into())
    }
}

/// How a devbox is launched.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct LaunchParametersBody {
    /// X_SMALL, SMALL (the default), MEDIUM, LARGE, X_LARGE, XX_LARGE or CUSTOM_SIZE.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_size_request: Option<String>,
    /// With CUSTOM_SIZE: 0.5, 1 or an even number up to 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    custom_cpu_cores: Option<Number>,
    /// With CUSTOM_SIZE: 1 or an even number up to 64, from 2 to 8 for each processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    custom_gb_memory: Option<Number>,
    /// With CUSTOM_SIZE: an even number from 2 to 64; 4 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    custom_disk_size: Option<Number>,
    /// Seconds after which the devbox ends unless somebody keeps it alive: 3600 when absent, at most 172800.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    keep_alive_time_seconds: Option<Number>,
    /// What happens when nobody uses it; then it is not ended by its keep-alive time.
    #[serde(skip_serializing_if = "Option::is_none")]
    after_idle: Option<AfterIdleBody>,
    /// The same, and what happens before a suspend.
    #[serde(skip_serializing_if = "Option::is_none")]
    lifecycle: Option<LifecycleBody>,
    /// Commands that run before the devbox can be worked with.
    #[serde(skip_serializing_if = "Option::is_none")]
    launch_commands: Option<Vec<String>>,
    /// The account that commands run as.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_parameters: Option<UserParametersBody>,
    /// What the devbox may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    network_policy_id: Option<String>,
    /// The architecture, which must be the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<String>,
    /// Not offered.
    #[serde(skip_serializing)]
    required_services: Option<Vec<String>>,
}

/// What happens to a devbox that nobody uses.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct AfterIdleBody {
    #[schema(value_type = u32, required)]
    idle_time_seconds: Option<Number>,
    /// shutdown or suspend.
    #[schema(value_type = String, required, example = "suspend")]
    on_idle: Option<String>,
}

/// What happens to a devbox on its way.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct LifecycleBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    after_idle: Option<AfterIdleBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifecycle_hooks: Option<LifecycleHooksBody>,
    /// What brings it back when it is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_triggers: Option<ResumeTriggersBody>,
}

/// What brings a suspended devbox back, besides requests of its owner.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct ResumeTriggersBody {
    /// Requests through its tunnel; goes before what the tunnel says.
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<bool>,
    /// Not offered: there are no axons.
    #[serde(skip_serializing)]
    axon_event: Option<bool>,
}

/// What happens before a suspend.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct LifecycleHooksBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    suspend_commands: Option<Vec<String>>,
    /// 30000 when absent, at most 60000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    suspend_deadline_ms: Option<Number>,
}

/// The account that commands run as.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct UserParametersBody {
    #[schema(value_type = String, required)]
    username: Option<String>,
    #[schema(value_type = u32, required)]
    uid: Option<Number>,
}

impl LaunchParametersBody {
    /// What the client means; `place` is where these stand in the request. What contradicts itself is named.
    pub(crate) fn read(self, checks: &mut Checks, place: &str) -> LaunchRequest {
        let request = self.read_part(checks, place);
        let own = proctor_fleet::architecture();
        if request
            .architecture
            .as_ref()
            .is_some_and(|wanted| wanted != own)
        {
            let message = format!("this server's devboxes are {own}");
            checks.refuse(&format!("{place}.architecture"), message);
        }
        for problem in request.resolve().err().into_iter().flatten() {
            let (field, message) = named(problem);
            checks.refuse(&format!("{place}.{field}"), message);
        }
        request
    }

    /// The same, where the rest may be said elsewhere.
    pub(crate) fn read_part(self, checks: &mut Checks, place: &str) -> LaunchRequest {
        let at = |field: &str| format!("{place}.{field}");
        if self
            .required_services
            .as_ref()
            .is_some_and(|names| !names.is_empty())
        {
            checks.refuse(&at("required_services"), "services are not offered");
        }
        let longest = u32::try_from(LONGEST_KEEP_ALIVE.as_secs()).unwrap_or(u32::MAX);
        let halves = self
            .custom_cpu_cores
            .map(|Number(cores)| Number(cores * 2.0));
        LaunchRequest {
            size: self
                .resource_size_request
                .and_then(|word| size(checks, &at("resource_size_request"), &word)),
            cpu_halves: whole(checks, &at("custom_cpu_cores"), halves, 0..=1000),
            memory_gib: whole(
                checks,
                &at("custom_gb_memory"),
                self.custom_gb_memory,
                0..=1000,
            ),
            disk_gib: whole(
                checks,
                &at("custom_disk_size"),
                self.custom_disk_size,
                0..=1000,
            ),
            keep_alive_seconds: whole(
                checks,
                &at("keep_alive_time_seconds"),
                self.keep_alive_time_seconds,
                1..=longest,
            ),
            after_idle: self
                .after_idle
                .and_then(|idle| idle.read(checks, &at("after_idle"))),
            lifecycle: self
                .lifecycle
                .map(|lifecycle| lifecycle.read(checks, &at("lifecycle"))),
            launch_commands: commands(checks, &at("launch_commands"), self.launch_commands),
            user: self
                .user_parameters
                .and_then(|user| user.read(checks, &at("user_parameters"))),
            network_policy: self.network_policy_id.and_then(|text| {
                let read = NetworkPolicyId::from_wire(&text, Dialect::Runloop);
                read.map_err(|bad| checks.refuse(&at("network_policy_id"), bad.to_string()))
                    .ok()
            }),
            architecture: self.architecture,
        }
    }

    /// How clients read what a devbox was launched with.
    pub(crate) fn of(launch: &LaunchParameters) -> Self {
        let custom = match launch.sizing {
            Sizing::Custom(resources) => Some(resources),
            Sizing::Usual(_) | Sizing::Default => None,
        };
        let hooks = (!launch.suspend_commands.is_empty()
            || launch.suspend_deadline_millis.is_some())
        .then(|| LifecycleHooksBody {
            suspend_commands: Some(launch.suspend_commands.clone()),
            suspend_deadline_ms: launch.suspend_deadline_millis.map(Number::from),
        });
        Self {
            resource_size_request: match launch.sizing {
                Sizing::Usual(size) => Some(size.as_str().to_owned()),
                Sizing::Custom(_) => Some(CUSTOM.to_owned()),
                Sizing::Default => None,
            },
            custom_cpu_cores: custom.map(|custom| Number(f64::from(custom.cpu_halves) / 2.0)),
            custom_gb_memory: custom.map(|custom| custom.memory_gib.into()),
            custom_disk_size: custom.map(|custom| custom.disk_gib.into()),
            keep_alive_time_seconds: launch.keep_alive_seconds.map(Number::from),
            after_idle: launch.after_idle.map(AfterIdleBody::of),
            lifecycle: (hooks.is_some() || launch.wake_on_http.is_some()).then(|| LifecycleBody {
                after_idle: None,
                lifecycle_hooks: hooks,
                resume_triggers: launch.wake_on_http.map(|http| ResumeTriggersBody {
                    http: Some(http),
                    axon_event: None,
                }),
            }),
            launch_commands: Some(launch.launch_commands.clone())
                .filter(|commands| !commands.is_empty()),
            user_parameters: launch.user.as_ref().map(|user| UserParametersBody {
                username: Some(user.username.clone()),
                uid: Some(user.uid.into()),
            }),
            network_policy_id: launch
                .network_policy
                .map(|policy| policy.wire(Dialect::Runloop)),
            architecture: None,
            required_services: None,
        }
    }
}

impl LifecycleBody {
    fn read(self, checks: &mut Checks, place: &str) -> LifecycleRequest {
        let longest = u32::try_from(LONGEST_SUSPEND_DEADLINE.as_millis()).unwrap_or(u32::MAX);
        let at = |field: &str| format!("{place}.lifecycle_hooks.{field}");
        let triggers = self.resume_triggers.unwrap_or_default();
        if triggers.axon_event == Some(true) {
            let field = format!("{place}.resume_triggers.axon_event");
            checks.refuse(&field, "axons are not offered by this server");
        }
        LifecycleRequest {
            wake_on_http: triggers.http,
            after_idle: self
                .after_idle
                .and_then(|idle| idle.read(checks, &format!("{place}.after_idle"))),
            before_suspend: self.lifecycle_hooks.map(|hooks| BeforeSuspend {
                commands: commands(checks, &at("suspend_commands"), hooks.suspend_commands),
                deadline_millis: whole(
                    checks,
                    &at("suspend_deadline_ms"),
                    hooks.suspend_deadline_ms,
                    0..=longest,
                ),
            }),
        }
    }
}

impl AfterIdleBody {
    fn read(self, checks: &mut Checks, place: &str) -> Option<AfterIdle> {
        let field = format!("{place}.idle_time_seconds");
        let seconds = checks.required(&field, self.idle_time_seconds);
        let seconds = whole(checks, &field, seconds, 1..=u32::MAX);
        let field = format!("{place}.on_idle");
        let action = match checks.required(&field, self.on_idle)?.as_str() {
            "shutdown" => IdleAction::Shutdown,
            "suspend" => IdleAction::Suspend,
            other => {
                let message = format!("'{}' is none of shutdown, suspend", shortened(other));
                checks.refuse(&field, message);
                return None;
            }
        };
        Some(AfterIdle {
            seconds: seconds?,
            action,
        })
    }

    fn of(after_idle: AfterIdle) -> Self {
        let word = match after_idle.action {
            IdleAction::Shutdown => "shutdown",
            IdleAction::Suspend => "suspend",
        };
        Self {
            idle_time_seconds: Some(after_idle.seconds.into()),
            on_idle: Some(word.to_owned()),
        }
    }
}

impl UserParametersBody {
    fn read(self, checks: &mut Checks, place: &str) -> Option<UserParameters> {
        let field = format!("{place}.username");
        let username = checks.required(&field, self.username);
        if username
            .as_deref()
            .is_some_and(|name| !UserParameters::is_username(name))
        {
            checks.refuse(
                &field,
                "must be lower-case letters, digits, '-' and '_', a letter first, at most 32",
            );
        }
        let field = format!("{place}.uid");
        let uid = checks.required(&field, self.uid);
        // What a devbox has ids for.
        let uid = whole(checks, &field, uid, 0..=65_533);
        Some(UserParameters {
            username: username?,
            uid: uid?,
        })
    }
}

/// A whole number that may be written with a point.
pub(crate) fn whole(
    checks: &mut Checks,
    field: &str,
    value: Option<Number>,
    range: std::ops::RangeInclusive<u32>,
) -> Option<u32> {
    let Number(value) = value?;
    let (least, most) = (f64::from(*range.start()), f64::from(*range.end()));
    if value.fract() != 0.0 || !(least..=most).contains(&value) {
        checks.refuse(
            field,
            format!("must be a whole number from {least} to {most}"),
        );
        return None;
    }
    // It is whole and within the range of the target.
    Some(value as u32)
}

fn commands(
    checks: &mut Checks,
    field: &str,
    commands: Option<Vec<String>>,
) -> Option<Vec<String>> {
    if commands
        .iter()
        .flatten()
        .any(|command| command.contains('\0'))
    {
        checks.refuse(field, "must not contain a NUL");
    }
    commands
}

fn size(checks: &mut Checks, field: &str, word: &str) -> Option<SizeRequest> {
    if word == CUSTOM {
        return Some(SizeRequest::Custom);
    }
    let size = ResourceSize::from_name(word).map(SizeRequest::Usual);
    if size.is_none() {
        let names: Vec<_> = ResourceSize::ALL
            .into_iter()
            .map(ResourceSize::as_str)
            .collect();
        let message = format!(
            "'{}' is none of {}, {CUSTOM}",
            shortened(word),
            names.join(", ")
        );
        checks.refuse(field, message);
    }
    size
}

/// A contradiction as clients read it: the field, and what is wrong with it.
pub(crate) fn named(problem: LaunchProblem) -> (&'static str, &'static str) {
    let field = |dimension: Dimension| match dimension {
        Dimension::Cpu => "custom_cpu_cores",
        Dimension::Memory => "custom_gb_memory",
        Dimension::Disk => "custom_disk_size",
    };
    match problem {
        LaunchProblem::Missing(dimension) => (field(dimension), "is required"),
        LaunchProblem::Size(dimension, rule) => (field(dimension), rule),
        LaunchProblem::AfterIdleTwice => ("after_idle", "must be the same as lifecycle.after_idle"),
    }
}
