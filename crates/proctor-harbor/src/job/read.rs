//! Reading a job file.

use std::collections::BTreeSet;

use proctor_core::{
    problem::{Problem, Problems},
    reader::Wording,
};
use serde_json::Value;

use super::{
    AgentEntry, EnvironmentRules, JobConfig, ProctorRules, RetryRules, SharedVerifier,
    USUAL_TRIALS, VerifierRules, agent, source,
};
use crate::{
    exceptions::NOT_RETRIED,
    metrics::Metric,
    read::{
        DocumentNode, DocumentNotes, DocumentObject, factor, flag, list, object_of, seconds, text,
        texts, variables, warn, whole,
    },
    task::{allowed_hosts, artifacts},
    timeouts::{Multipliers, RetryWait},
    warning::Warning,
};

/// The longest file, in bytes.
pub const LONGEST_FILE: usize = 1 << 20;
/// How many nodes a file may have when its aliases are expanded.
pub const MOST_NODES: usize = 100_000;
/// How deep it may be.
const DEEPEST: usize = 64;
/// How often a task may be repeated or retried.
const MOST_REPEATS: u64 = 1000;

impl JobConfig {
    /// Reads the text of a job file, with what has no effect in it; or everything that is wrong.
    pub fn read(text: &str) -> Result<(Self, Vec<Warning>), Problems> {
        let document = document(text)?;
        Self::of(&document)
    }

    /// Reads a document.
    pub fn of(document: &Value) -> Result<(Self, Vec<Warning>), Problems> {
        let document = with_orchestrator(document);
        let notes = DocumentNotes::worded(Wording::File);
        let read = read(&DocumentNode::root(&document, &notes));
        let warnings = notes.extra().all();
        notes.finish(read).map(|config| (config, warnings))
    }
}

/// The text of a job file as a document, of a bounded size.
pub fn document(text: &str) -> Result<Value, Problems> {
    let refuse = |message: String| Problems::from(Problem::error("", message));
    if text.len() > LONGEST_FILE {
        return Err(refuse(format!("has more than {LONGEST_FILE} bytes")));
    }
    let mut budget = serde_saphyr::Budget::default();
    budget.max_nodes = MOST_NODES;
    budget.max_events = MOST_NODES * 3;
    budget.max_depth = DEEPEST;
    budget.max_documents = 1;
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    // `n` is a name, and `no` is not said by accident.
    options.strict_booleans = true;
    options.alias_limits.max_total_replayed_events = MOST_NODES;
    let document: Value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| refuse(format!("is not YAML that can be read: {error}")))?;
    if nodes(&document, MOST_NODES) > MOST_NODES {
        return Err(refuse(format!("has more than {MOST_NODES} nodes")));
    }
    Ok(document)
}

/// How many nodes a document has, as far as that is counted.
fn nodes(value: &Value, most: usize) -> usize {
    let mut count = 0;
    let mut to_go = vec![value];
    while let Some(value) = to_go.pop() {
        count += 1;
        if count > most {
            break;
        }
        match value {
            Value::Array(items) => to_go.extend(items),
            Value::Object(members) => to_go.extend(members.values()),
            _ => {}
        }
    }
    count
}

/// The old key `orchestrator` counts as the top level.
fn with_orchestrator(document: &Value) -> Value {
    const MOVED: [&str; 3] = ["n_concurrent_trials", "quiet", "retry"];
    let mut document = document.clone();
    if let Value::Object(members) = &mut document
        && let Some(Value::Object(old)) = members.get("orchestrator").cloned()
    {
        for name in MOVED {
            if let Some(value) = old.get(name)
                && !members.contains_key(name)
            {
                members.insert(name.to_owned(), value.clone());
            }
        }
    }
    document
}

fn read(node: &DocumentNode<'_>) -> Option<JobConfig> {
    object_of(node, |object| {
        refuse(object);
        ignore(object);
        let whole_u32 = |name: &'static str, most: u64| {
            let number = whole(object, name, 1..=most)?;
            u32::try_from(number).ok()
        };
        let mut agents = list(object, "agents", agent::read);
        if agents.is_empty() {
            agents.push(AgentEntry::default());
        }
        let config = JobConfig {
            job_name: text(object, "job_name").filter(|name| !name.trim().is_empty()),
            attempts: whole_u32("n_attempts", MOST_REPEATS).unwrap_or(1),
            multipliers: Multipliers {
                all: factor(object, "timeout_multiplier").unwrap_or(1.0),
                agent: factor(object, "agent_timeout_multiplier"),
                verifier: factor(object, "verifier_timeout_multiplier"),
                agent_setup: factor(object, "agent_setup_timeout_multiplier"),
                environment_build: factor(object, "environment_build_timeout_multiplier"),
            },
            trials_at_once: whole_u32("n_concurrent_trials", 100_000).unwrap_or(USUAL_TRIALS),
            retry: retry(object),
            environment: environment(object),
            verifier: verifier(object),
            metrics: metrics(object),
            agents,
            datasets: list(object, "datasets", source::dataset),
            tasks: list(object, "tasks", source::task),
            artifacts: artifacts(object),
            extra_instructions: texts(object, "extra_instructions"),
            proctor: proctor(object),
        };
        check_agents(object, &config);
        if config.tasks.is_empty() && config.datasets.is_empty() {
            object.node().refuse("names no 'tasks' and no 'datasets'");
        }
        config
    })
}

/// What is not done.
fn refuse(object: &DocumentObject<'_>) {
    for (name, why) in [
        ("user_agent", "simulated users are not run"),
        (
            "source_jobs",
            "jobs are not derived from others; score their runs again instead",
        ),
        (
            "extra_instruction_paths",
            "the server reads no paths; `proctor harbor run` puts the texts into extra_instructions",
        ),
        ("user_prompt_template_path", "was removed from Harbor"),
        ("acpx_config", "was removed from Harbor"),
    ] {
        if let Some(node) = object.optional(name)
            && !matches!(node.value(), Value::Array(items) if items.is_empty())
        {
            object.refuse(name, why);
        }
    }
    if flag(object, "install_only") == Some(true) {
        object.refuse(
            "install_only",
            "agents are installed when they are first needed",
        );
    }
}

/// What has no effect here.
fn ignore(object: &DocumentObject<'_>) {
    for (name, why) in [
        (
            "jobs_dir",
            "has no effect: results are kept by the server; proctor harbor export writes them to a directory",
        ),
        ("quiet", "has no effect: nothing is shown by the server"),
        ("debug", "has no effect: logging is a setting of the server"),
        ("plugins", "has no effect: plugins are not loaded"),
        (
            "skip_credential_checks",
            "has no effect: secrets are looked up when the job is made",
        ),
    ] {
        if let Some(node) = object.optional(name) {
            warn(&node, why);
        }
    }
    if let Some(node) = object.optional("orchestrator") {
        warn(&node, "is the old form; its keys belong to the top level");
        if let Some(inner) = node.object() {
            for name in ["n_concurrent_trials", "quiet", "retry", "type", "kwargs"] {
                inner.member(name);
            }
            crate::read::warn_of_unknown(&inner);
        }
    }
}

fn retry(object: &DocumentObject<'_>) -> RetryRules {
    let usual =
        || -> BTreeSet<String> { NOT_RETRIED.iter().map(|name| (*name).to_owned()).collect() };
    let read = object.optional("retry").and_then(|node| {
        object_of(&node, |object| {
            let names = |name: &'static str| -> Option<BTreeSet<String>> {
                object.optional(name)?;
                Some(texts(object, name).into_iter().collect())
            };
            // An explicit null takes back the usual exceptions.
            let excludes_nothing = object
                .member("exclude_exceptions")
                .is_some_and(|node| node.value().is_null());
            let most = whole(object, "max_retries", 0..=MOST_REPEATS).unwrap_or(0);
            RetryRules {
                most: u32::try_from(most).unwrap_or(u32::MAX),
                include: names("include_exceptions"),
                exclude: match (names("exclude_exceptions"), excludes_nothing) {
                    (Some(names), _) => names,
                    (None, true) => BTreeSet::new(),
                    (None, false) => usual(),
                },
                wait: RetryWait {
                    multiplier: factor(object, "wait_multiplier").unwrap_or(1.0),
                    least: seconds(object, "min_wait_sec").unwrap_or(1.0),
                    most: seconds(object, "max_wait_sec").unwrap_or(60.0),
                },
            }
        })
    });
    read.unwrap_or_else(|| RetryRules {
        most: 0,
        include: None,
        exclude: usual(),
        wait: RetryWait {
            multiplier: 1.0,
            least: 1.0,
            most: 60.0,
        },
    })
}

fn environment(object: &DocumentObject<'_>) -> EnvironmentRules {
    let read = object.optional("environment").and_then(|node| {
        object_of(&node, |object| {
            for (name, why) in [
                ("import_path", "no Python is run; boxes are Proctor's own"),
                (
                    "mounts",
                    "directories of the host are not mounted into boxes",
                ),
                (
                    "mounts_json",
                    "directories of the host are not mounted into boxes",
                ),
                ("extra_docker_compose", "compose overlays are not applied"),
                ("override_tpu", "boxes have no TPUs"),
            ] {
                if let Some(node) = object.optional(name)
                    && !matches!(node.value(), Value::Array(items) if items.is_empty())
                {
                    object.refuse(name, why);
                }
            }
            if whole(object, "override_gpus", 0..=1024).is_some_and(|gpus| gpus > 0) {
                object.refuse("override_gpus", "boxes have no GPUs");
            }
            for (name, why) in [
                ("type", "has no effect: boxes are Proctor's own"),
                ("delete", "has no effect: boxes end with their trials"),
                ("stream", "has no effect: logs are kept by the server"),
                (
                    "cpu_enforcement_policy",
                    "has no effect: processors are limited",
                ),
                (
                    "memory_enforcement_policy",
                    "has no effect: memory is limited",
                ),
                ("suppress_override_warnings", "has no effect"),
                ("kwargs", "has no effect: boxes are Proctor's own"),
            ] {
                if let Some(node) = object.optional(name) {
                    warn(&node, why);
                }
            }
            const MOST_MB: u64 = 1 << 30;
            EnvironmentRules {
                cpus: factor(object, "override_cpus"),
                memory_mb: whole(object, "override_memory_mb", 1..=MOST_MB),
                storage_mb: whole(object, "override_storage_mb", 1..=MOST_MB),
                env: variables(object, "env", true),
                force_build: flag(object, "force_build").unwrap_or(false),
                hosts: hosts(object),
            }
        })
    });
    read.unwrap_or_default()
}

fn hosts(object: &DocumentObject<'_>) -> Vec<String> {
    let node = object.optional("extra_allowed_hosts");
    node.map_or_else(Vec::new, |node| allowed_hosts(&node))
}

fn verifier(object: &DocumentObject<'_>) -> VerifierRules {
    let read = object.optional("verifier").and_then(|node| {
        object_of(&node, |object| {
            if object.optional("import_path").is_some() {
                object.refuse(
                    "import_path",
                    "no Python is run; verifiers are tests/test.sh",
                );
            }
            if let Some(node) = object.optional("kwargs") {
                warn(&node, "has no effect: verifiers are tests/test.sh");
            }
            VerifierRules {
                timeout: seconds(object, "override_timeout_sec"),
                most: seconds(object, "max_timeout_sec"),
                env: variables(object, "env", true),
                is_disabled: flag(object, "disable").unwrap_or(false),
                include_logs: texts(object, "include_logs"),
                exclude_logs: texts(object, "exclude_logs"),
                hosts: hosts(object),
            }
        })
    });
    read.unwrap_or_default()
}

fn metrics(object: &DocumentObject<'_>) -> Vec<Metric> {
    list(object, "metrics", |node| {
        object_of(node, |object| {
            object.optional("kwargs");
            let kind = object.required("type")?;
            match kind.text()? {
                "uv-script" => {
                    kind.refuse(
                        "no scripts are run for metrics; sum, min, max and mean are computed",
                    );
                    None
                }
                _ => kind.word(&Metric::ALL),
            }
        })?
    })
}

/// Our own settings: `metadata: {proctor_verifier: strict, proctor_keep_disks: true, strict: false}`.
fn proctor(object: &DocumentObject<'_>) -> ProctorRules {
    let read = object.optional("metadata").and_then(|node| {
        object_of(&node, |object| {
            let word = object.optional("proctor_verifier");
            ProctorRules {
                strict_datasets: flag(object, "strict").unwrap_or(true),
                verifier: word
                    .and_then(|node| node.word(&SharedVerifier::ALL))
                    .unwrap_or_default(),
                keeps_disks: flag(object, "proctor_keep_disks").unwrap_or(false),
            }
        })
    });
    read.unwrap_or_default()
}

/// Limits that contradict each other, and entries that say the same twice.
fn check_agents(object: &DocumentObject<'_>, config: &JobConfig) {
    let mut seen = BTreeSet::new();
    for (place, agent) in config.agents.iter().enumerate() {
        if let Some(most) = agent.at_once
            && most.get() > config.trials_at_once
        {
            object.refuse(
                &format!("agents.{place}.n_concurrent"),
                format!(
                    "must be at most n_concurrent_trials, {}",
                    config.trials_at_once
                ),
            );
        }
        if !seen.insert(agent.identity())
            && let Some(node) = object.optional("agents")
        {
            node.extra().push(Warning::new(
                format!("agents.{place}"),
                "is the same as an entry before; both are run",
            ));
        }
        let other = config.agents[..place].iter().find(|before| {
            before.group.is_some() && before.group == agent.group && before.at_once != agent.at_once
        });
        if other.is_some() {
            object.refuse(
                &format!("agents.{place}.n_concurrent"),
                "must be the same for all agents of a concurrency_group",
            );
        }
    }
}
