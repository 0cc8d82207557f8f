//! What is examined: benchmarks, their tasks, and what is checked.
//!
//! A definition is plain data. Editing it makes another definition; publishing it freezes it
//! under the next version number with its [`Digest`]. Runs pin a digest, so no edit reaches them.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    canonical::Digest,
    devbox::DevboxDefinition,
    document::Document,
    environment::Entity,
    id::kinds::{BenchmarkId, CriterionId, EntityId, EnvironmentId, TaskId},
    scorer::ScorerDefinition,
    scoring::{Scorecard, Weight},
    time::Timestamp,
};

/// A set of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// What people call it.
    pub name: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How long a task may take that has no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
    /// How many of a run's tasks may be active at once.
    #[serde(default = "one_at_a_time")]
    pub concurrency: NonZeroU32,
    /// The author's own labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// What a taker must bring.
    #[serde(default, skip_serializing_if = "Requirements::is_empty")]
    pub requires: Requirements,
    /// The tasks, in order.
    pub tasks: Vec<Task>,
}

fn one_at_a_time() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// One thing to do in one world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its name.
    pub id: TaskId,
    /// What people call it.
    pub name: String,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
    /// The author's own labels, for choosing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What the taker is told: a document of the author's making.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub brief: Value,
    /// Where it is done.
    pub world: World,
    /// What it is about: criteria name their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
    /// Whether the taker may advance the clock of its world.
    #[serde(default, skip_serializing_if = "ClockPolicy::is_advanceable")]
    pub clock: ClockPolicy,
    /// Values of the finished world that criteria may name as `{{captured.NAME}}`, kept as they were given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, Value>,
    /// What is checked afterwards.
    #[serde(default)]
    pub criteria: Vec<Criterion>,
    /// How the task is solved, for proving the criteria right; never shown to a taker.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub reference: Value,
    /// What the reference proves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// How long judging may take in a box; see [`Task::scoring_limit`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scoring_timeout: Option<Seconds>,
    /// What a taker must bring.
    #[serde(default, skip_serializing_if = "Requirements::is_empty")]
    pub requires: Requirements,
    /// The author's own labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// Whether a taker may advance the clock of its world, so that it need not wait for what comes later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockPolicy {
    /// It may.
    #[default]
    Advanceable,
    /// It has to wait.
    Fixed,
}

impl ClockPolicy {
    /// All of them, with the words of authors.
    pub const NAMES: [(&'static str, Self); 2] =
        [("advanceable", Self::Advanceable), ("fixed", Self::Fixed)];

    /// The word of authors.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advanceable => "advanceable",
            Self::Fixed => "fixed",
        }
    }

    /// Whether it is what holds where nothing is said.
    pub const fn is_advanceable(&self) -> bool {
        matches!(self, Self::Advanceable)
    }
}

/// What a task's reference proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Validation {
    /// Nothing that was said.
    Unspecified,
    /// Applied to the untouched world, it solves the task.
    Forward,
    /// The world is solved to begin with; undoing the reference breaks it.
    Reverse,
    /// It is compared with, not applied.
    Evaluation,
}

impl Validation {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Unspecified,
        Self::Forward,
        Self::Reverse,
        Self::Evaluation,
    ];

    /// The word on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "UNSPECIFIED",
            Self::Forward => "FORWARD",
            Self::Reverse => "REVERSE",
            Self::Evaluation => "EVALUATION",
        }
    }

    /// Reads the word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

/// Where a task is done: each task run gets one of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum World {
    /// Simulated services.
    Playground {
        /// The services and their data.
        environment: EnvironmentId,
        /// The environment's content when it was frozen; none in a draft.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frozen: Option<Digest>,
        /// What happens there when the task starts, in order.
        #[serde(default)]
        scenario: Vec<Value>,
    },
    /// A Linux box.
    Devbox {
        /// What the task says of it.
        parameters: Document<DevboxDefinition>,
    },
}

/// One thing to check in a frozen world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Its name.
    pub id: CriterionId,
    /// What people call it.
    pub label: String,
    /// How much it counts.
    #[serde(default)]
    pub weight: Weight,
    /// The axis it counts on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<String>,
    /// The one of the task's entities that templates mean by `entity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_entity: Option<EntityId>,
    /// A short name inside its task, for [`Criterion::requires`], captures and reports; see [`check_key`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether missing it caps the verdict of the task and of its run at `fail`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
    /// Whether its sub-assertions count only together: 1 or 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The keys of the criteria of its task without which it counts 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// How it is checked.
    pub check: Check,
}

/// The most characters of a criterion's key.
const LONGEST_KEY: usize = 64;

/// Refuses what cannot be the key of a criterion.
pub fn check_key(key: &str) -> Result<(), BadKey> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let begins = key
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    let is_key = key
        .bytes()
        .all(|byte| is_plain(byte) || matches!(byte, b'-' | b'_'));
    match begins && is_key && key.len() <= LONGEST_KEY {
        true => Ok(()),
        false => Err(BadKey),
    }
}

/// A text that is not the key of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key is 1 to 64 lower-case letters, digits, '-' and '_', and begins with a letter, such as 'wrong-patient'"
)]
pub struct BadKey;

/// How a criterion is checked. Both are kept as they were given, because authors may store what cannot be checked yet; whoever checks them
/// reads them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A typed assertion on a playground.
    Assertion(Value),
    /// A scorer in a devbox.
    Scorer(ScorerDefinition),
}

/// What a taker must bring to a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// Environment variables by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment_variables: Vec<String>,
    /// Secrets by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

impl Requirements {
    fn is_empty(&self) -> bool {
        self.environment_variables.is_empty() && self.secrets.is_empty()
    }
}

/// A time limit in whole seconds, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(NonZeroU32);

impl Seconds {
    /// `seconds`, unless that is none.
    pub fn new(seconds: u32) -> Option<Self> {
        NonZeroU32::new(seconds).map(Self)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Self {
        Self::from_secs(u64::from(seconds.get()))
    }
}

/// The label of a task in a box that names its critical scorers, separated by commas.
pub const CRITICAL_SCORERS: &str = "proctor.critical";

/// How long judging in a box may take unless its task says otherwise.
const SCORING_LIMIT: Duration = Duration::from_secs(1800);

impl Task {
    /// What it says of its box, if it is done in one.
    pub fn devbox(&self) -> Option<&Document<DevboxDefinition>> {
        match &self.world {
            World::Devbox { parameters } => Some(parameters),
            World::Playground { .. } => None,
        }
    }

    /// Where in its box it is done, if it says so.
    pub fn working_directory(&self) -> Option<&str> {
        self.devbox()?.get().ok()?.working_directory.as_deref()
    }

    /// How long judging it in a box may take.
    pub fn scoring_limit(&self) -> Duration {
        self.scoring_timeout.map_or(SCORING_LIMIT, Duration::from)
    }

    /// Whether missing a criterion of it caps the verdict: its author says so, or the label
    /// [`CRITICAL_SCORERS`] of a task that is done in a box names it.
    pub fn is_critical(&self, criterion: &Criterion) -> bool {
        criterion.critical || self.critical_scorers().any(|name| name == criterion.label)
    }

    /// The scorers that the label [`CRITICAL_SCORERS`] names.
    pub fn critical_scorers(&self) -> impl Iterator<Item = &str> {
        let names = match self.world {
            World::Devbox { .. } => self.metadata.get(CRITICAL_SCORERS),
            World::Playground { .. } => None,
        };
        let names = names.into_iter().flat_map(|names| names.split(','));
        names.map(str::trim).filter(|name| !name.is_empty())
    }

    /// The scorecard of nothing done: zero on every axis of the criteria.
    pub fn missed(&self) -> Scorecard {
        let criteria = self.criteria.iter();
        Scorecard::missed(criteria.map(|one| (one.weight, one.axis.as_deref())))
    }
}

impl Benchmark {
    /// The digest of this definition: the same for the same content, however it was written.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_value())
    }

    /// The definition as a document.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a definition has only string keys and finite numbers")
    }

    /// How long `task` may take here.
    pub fn limit(&self, task: &Task) -> Option<Duration> {
        task.timeout.or(self.timeout).map(Duration::from)
    }
}

/// A definition that can no longer change.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkVersion {
    /// Whose version.
    pub benchmark: BenchmarkId,
    /// Which: 1, 2, 3, ….
    pub version: u32,
    /// The name under which takers ask for it.
    pub slug: Slug,
    /// Who may take it.
    pub visibility: Visibility,
    /// The digest of the definition.
    pub digest: Digest,
    /// When it was frozen.
    pub published_at: Timestamp,
    /// When it was hidden from lists, if it was. Whoever names it can still take it.
    pub unpublished_at: Option<Timestamp>,
    /// Since when no new run of it may begin, if none may. Runs that have begun go on.
    pub stopped_at: Option<Timestamp>,
}

/// Who may take a published benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Visibility {
    /// Everybody.
    Public,
    /// Its own organization.
    #[default]
    Private,
}

impl Visibility {
    /// The word on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "Public",
            Self::Private => "Private",
        }
    }
}

/// The name in `slug@version`: lower-case letters, digits and single hyphens between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

impl Slug {
    const LONGEST: usize = 100;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Slug {
    type Error = BadSlug;

    fn try_from(text: String) -> Result<Self, BadSlug> {
        let word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if text.len() <= Self::LONGEST && text.split('-').all(word) {
            Ok(Self(text))
        } else {
            Err(BadSlug)
        }
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> Self {
        slug.0
    }
}

/// A text that is no slug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a slug is 1 to 100 lower-case letters and digits with single hyphens between them, such as 'fax-referral'"
)]
pub struct BadSlug;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::canonical::tests::{any_json, change_one};

    fn benchmark(brief: Value) -> Benchmark {
        let task = Task {
            id: TaskId::from_uuid(Uuid::from_u128(1)),
            name: "Register the patient".to_owned(),
            timeout: Seconds::new(60),
            tags: vec!["intake".to_owned()],
            brief,
            world: World::Playground {
                environment: EnvironmentId::from_uuid(Uuid::from_u128(2)),
                frozen: None,
                scenario: vec![json!({"type": "fax_inbound", "text": "Referral"})],
            },
            entities: Vec::new(),
            clock: Default::default(),
            capture: BTreeMap::new(),
            criteria: vec![Criterion {
                id: CriterionId::from_uuid(Uuid::from_u128(3)),
                label: "The patient is in the chart".to_owned(),
                weight: Weight::default(),
                axis: Some("safety".to_owned()),
                input_entity: None,
                key: None,
                critical: false,
                all: false,
                requires: Vec::new(),
                check: Check::Assertion(
                    json!({"assert": "fhir-resource-state", "resource_type": "Patient"}),
                ),
            }],
            reference: Value::Null,
            validation: None,
            scoring_timeout: None,
            requires: Requirements::default(),
            metadata: BTreeMap::new(),
        };
        Benchmark {
            name: "Fax referral".to_owned(),
            description: None,
            timeout: Seconds::new(600),
            concurrency: NonZeroU32::MIN,
            metadata: BTreeMap::new(),
            requires: Requirements::default(),
            tasks: vec![task],
        }
    }

    #[test]
    fn the_stored_form_and_its_digest_are_pinned() {
        // A change here orphans every definition stored so far: it needs a migration.
        let benchmark = benchmark(json!({"instructions": "A fax came in."}));
        insta::assert_json_snapshot!("definition", benchmark.to_value());
        insta::assert_snapshot!("digest", benchmark.digest());
    }

    #[test]
    fn a_task_limit_goes_before_the_benchmarks() {
        let mut benchmark = benchmark(Value::Null);
        assert_eq!(
            benchmark.limit(&benchmark.tasks[0]),
            Some(Duration::from_secs(60))
        );
        benchmark.tasks[0].timeout = None;
        assert_eq!(
            benchmark.limit(&benchmark.tasks[0]),
            Some(Duration::from_secs(600))
        );
    }

    #[test]
    fn keys_are_plain_and_criteria_without_the_new_members_are_written_as_before() {
        for good in ["a", "wrong-patient", "k_2"] {
            assert_eq!(check_key(good), Ok(()), "{good}");
        }
        for bad in ["", "-a", "2a", "A", "a b", "é", &"a".repeat(65)] {
            assert_eq!(check_key(bad), Err(BadKey), "{bad}");
        }
        let mut benchmark = benchmark(Value::Null);
        let before = benchmark.digest();
        let criterion = &mut benchmark.tasks[0].criteria[0];
        assert_eq!(serde_json::to_value(&*criterion).unwrap().get("key"), None);
        criterion.critical = true;
        criterion.key = Some("wrong-patient".to_owned());
        assert_ne!(benchmark.digest(), before);
        let read: Benchmark = serde_json::from_value(benchmark.to_value()).unwrap();
        assert_eq!(read, benchmark);
    }

    #[test]
    fn slugs_are_plain() {
        for good in ["a", "fax-referral", "x12-270"] {
            assert!(Slug::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-",
            "a--b",
            "a-",
            "Fax",
            "fax referral",
            "fax@1",
            "é",
            &"a".repeat(101),
        ] {
            assert_eq!(Slug::try_from(bad.to_owned()), Err(BadSlug), "{bad}");
        }
    }

    #[test]
    fn unknown_members_and_zero_limits_are_refused() {
        assert!(
            serde_json::from_value::<Benchmark>(json!({"name": "x", "tasks": [], "taks": []}))
                .is_err()
        );
        assert!(
            serde_json::from_value::<Benchmark>(json!({"name": "x", "tasks": [], "timeout": 0}))
                .is_err()
        );
        assert!(
            serde_json::from_value::<Benchmark>(
                json!({"name": "x", "tasks": [], "concurrency": 0})
            )
            .is_err()
        );
        assert!(serde_json::from_value::<Benchmark>(json!({"name": "x", "tasks": []})).is_ok());
    }

    proptest! {
        #[test]
        fn a_definition_reads_back_with_the_same_digest(brief in any_json()) {
            let benchmark = benchmark(brief);
            let text = serde_json::to_string_pretty(&benchmark).unwrap();
            let read: Benchmark = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.digest(), benchmark.digest());
            prop_assert_eq!(read, benchmark);
        }
    }

    #[test]
    fn any_change_to_any_value_changes_the_digest() {
        let definition = benchmark(json!({"a": [1, 2]})).to_value();
        let mut digests = HashSet::from([Digest::of(&definition)]);
        let mut changed = definition.clone();
        while change_one(&mut changed, &mut (digests.len() - 1)) {
            assert!(digests.insert(Digest::of(&changed)), "{changed}");
            changed = definition.clone();
        }
        assert!(
            digests.len() > 10,
            "every value of the definition takes its turn"
        );
    }
}
