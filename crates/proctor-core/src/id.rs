//! Typed ids.
//!
//! Every object of the domain is named by 128 bits laid out as a UUID of version 7: the leading
//! 48 bits are the millisecond of its making, so ids sort by age. On the wire the bits are
//! written as a ULID (26 characters of Crockford's base 32) behind a prefix that names the kind.
//! Both dialects name the same object; only the prefix differs (`br_…` and `bmr_…` are one run).
//!
//! [`kinds`] is the registry of kinds. It only grows: a prefix, once used, is never given away.

use std::{cmp::Ordering, fmt, hash, marker::PhantomData, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The two public APIs whose manners differ. Ids, errors and lists are rendered for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// The healthcare API.
    Verial,
    /// The coding API.
    Runloop,
}

/// A kind of object that has ids.
pub trait Kind: 'static {
    /// What people call the object, for messages: "no solver with id …".
    const NOUN: &'static str;
    /// The prefix in the Verial dialect and everywhere inside Proctor, without the underscore.
    const PREFIX: &'static str;
    /// The prefix in the Runloop dialect, without the underscore.
    const RUNLOOP_PREFIX: &'static str;

    /// The prefix that `dialect` uses for this kind.
    fn prefix(dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Verial => Self::PREFIX,
            Dialect::Runloop => Self::RUNLOOP_PREFIX,
        }
    }
}

/// The id of one object of kind `K`.
pub struct Id<K> {
    uuid: Uuid,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> Id<K> {
    /// The id with these bits. Fresh bits come from an [`IdSource`].
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self {
            uuid,
            kind: PhantomData,
        }
    }

    /// A new id from `source`.
    pub fn fresh(source: &dyn IdSource) -> Self {
        Self::from_uuid(source.next_uuid())
    }

    /// The bits.
    pub const fn uuid(self) -> Uuid {
        self.uuid
    }

    /// The id as `dialect` writes it.
    pub fn wire(self, dialect: Dialect) -> String {
        format!("{}_{}", K::prefix(dialect), self.bare())
    }

    /// Reads an id as `dialect` writes it.
    pub fn from_wire(text: &str, dialect: Dialect) -> Result<Self, BadId> {
        let bits = text
            .strip_prefix(K::prefix(dialect))
            .and_then(|rest| rest.strip_prefix('_'))
            .and_then(ulid::decode);
        match bits {
            Some(bits) => Ok(Self::from_uuid(Uuid::from_u128(bits))),
            None => Err(BadId {
                noun: K::NOUN,
                prefix: K::prefix(dialect),
            }),
        }
    }

    /// The 26 characters without a prefix: how the id is stored. They sort as the id does.
    pub fn bare(self) -> String {
        ulid::encode(self.uuid.as_u128())
    }

    /// Reads what [`Id::bare`] wrote.
    pub fn from_bare(text: &str) -> Result<Self, BadId> {
        match ulid::decode(text) {
            Some(bits) => Ok(Self::from_uuid(Uuid::from_u128(bits))),
            None => Err(BadId {
                noun: K::NOUN,
                prefix: K::PREFIX,
            }),
        }
    }
}

/// A text that is no id of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the id of {} {noun}: such an id is '{prefix}_' and 26 letters and digits",
    article(noun)
)]
pub struct BadId {
    noun: &'static str,
    prefix: &'static str,
}

impl BadId {
    /// What the id should have named.
    pub fn noun(&self) -> &'static str {
        self.noun
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

/// Where fresh ids come from. Injected, so that tests and replays can repeat them.
pub trait IdSource: Send + Sync {
    /// 128 bits never handed out before, not below any of the same source.
    fn next_uuid(&self) -> Uuid;

    /// 128 bits never handed out before, for what needs no order among its like: cheaper where many threads ask at once.
    fn unordered_uuid(&self) -> Uuid {
        self.next_uuid()
    }
}

/// Crockford's base 32, as ULIDs use it: 26 characters for 128 bits, the first at most `7`.
mod ulid {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const LENGTH: usize = 26;

    pub(super) fn encode(mut bits: u128) -> String {
        let mut text = [b'0'; LENGTH];
        for place in text.iter_mut().rev() {
            *place = ALPHABET[(bits & 31) as usize];
            bits >>= 5;
        }
        text.iter().map(|&byte| char::from(byte)).collect()
    }

    /// Reads upper and lower case; the letters I, L, O and U are refused, so that each id has one
    /// spelling but for case.
    pub(super) fn decode(text: &str) -> Option<u128> {
        let text = text.as_bytes();
        if text.len() != LENGTH || text[0] > b'7' {
            return None;
        }
        text.iter().try_fold(0u128, |bits, byte| {
            let digit = ALPHABET
                .iter()
                .position(|c| *c == byte.to_ascii_uppercase())?;
            Some((bits << 5) | digit as u128)
        })
    }
}

// Derives would ask the same of `K`, which is never a value.
impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.uuid == other.uuid
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.uuid.cmp(&other.uuid)
    }
}
impl<K> hash::Hash for Id<K> {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", K::PREFIX, self.bare())
    }
}
impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl<K: Kind> FromStr for Id<K> {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        Self::from_wire(text, Dialect::Verial)
    }
}
impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The registry of kinds.
pub mod kinds {
    use super::{Id, Kind};

    macro_rules! kinds {
        ($($(#[$doc:meta])* $kind:ident as $id:ident: $noun:literal, $prefix:literal, $runloop:literal;)*) => {
            $(
                $(#[$doc])*
                #[derive(Clone, Copy, Debug, PartialEq, Eq)]
                pub enum $kind {}
                impl Kind for $kind {
                    const NOUN: &'static str = $noun;
                    const PREFIX: &'static str = $prefix;
                    const RUNLOOP_PREFIX: &'static str = $runloop;
                }
                #[doc = concat!("The id of a ", $noun, ".")]
                pub type $id = Id<$kind>;
            )*

            #[cfg(test)]
            pub(super) const ALL_PREFIXES: &[(&str, &str)] = &[$(($prefix, $runloop)),*];
        };
    }

    kinds! {
        /// A tenant: owns everything else.
        OrganizationKind as OrganizationId: "organization", "org", "org";
        /// A secret that authenticates somebody.
        CredentialKind as CredentialId: "key", "key", "key";
        /// A party that takes benchmarks.
        SolverKind as SolverId: "solver", "slv", "slv";
        /// A named value that enters worlds but never leaves the server.
        SecretKind as SecretId: "secret", "sec", "sec";
        /// A set of tasks.
        BenchmarkKind as BenchmarkId: "benchmark", "bench", "bmd";
        /// One thing to do in one world.
        TaskKind as TaskId: "task", "task", "scn";
        /// One thing to check in a frozen world.
        CriterionKind as CriterionId: "criterion", "crit", "crit";
        /// A benchmark being taken once.
        RunKind as RunId: "benchmark run", "br", "bmr";
        /// A task being taken once.
        TaskRunKind as TaskRunId: "task run", "tr", "scr";
        /// A criterion checked once.
        CriterionRunKind as CriterionRunId: "criterion run", "crun", "crun";
        /// Agents × tasks × attempts.
        JobKind as JobId: "benchmark job", "job", "bmj";
        /// What journals belong to: everything that happens to a task run's surroundings.
        WorldKind as WorldId: "world", "wld", "wld";
        /// A definition of simulators that belong together.
        EnvironmentKind as EnvironmentId: "environment", "env", "env";
        /// The definition of one simulated service.
        SimulatorKind as SimulatorId: "simulator", "sim", "sim";
        /// An environment brought to life for one task run.
        PlaygroundKind as PlaygroundId: "playground", "pg", "pg";
        /// A simulator brought to life inside a playground.
        SandboxKind as SandboxId: "sandbox", "sbx", "sbx";
        /// One line of a journal.
        EventKind as EventId: "event", "evt", "evt";
        /// Seed data.
        DatasetKind as DatasetId: "dataset", "ds", "ds";
        /// One record of a dataset.
        EntityKind as EntityId: "entity", "ent", "ent";
        /// A registered custom scorer.
        ScorerKind as ScorerId: "scorer", "scs", "scs";
        /// An isolated Linux box.
        DevboxKind as DevboxId: "devbox", "dbx", "dbx";
        /// A frozen disk.
        SnapshotKind as SnapshotId: "snapshot", "snp", "snp";
        /// A recipe for a disk.
        BlueprintKind as BlueprintId: "blueprint", "bpt", "bpt";
        /// Uploaded bytes.
        ObjectKind as ObjectId: "object", "obj", "obj";
        /// A program that takes tasks by itself.
        AgentKind as AgentId: "agent", "agt", "agt";
        /// What a box may reach.
        NetworkPolicyKind as NetworkPolicyId: "network policy", "npo", "npo";
        /// What two agents differ by.
        ComparisonKind as ComparisonId: "comparison", "cmp", "cmp";
        /// Whether a policy lets an agent through.
        GateKind as GateId: "gate", "gate", "gate";
        /// A run that was put on a leaderboard or taken off.
        LeaderboardChangeKind as LeaderboardChangeId: "leaderboard change", "lbc", "lbc";
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::{kinds::*, *};

    #[test]
    fn no_prefix_is_given_to_two_kinds() {
        let mut seen = HashSet::new();
        for (verial, runloop) in ALL_PREFIXES {
            assert!(seen.insert(*verial), "{verial} is taken");
            assert!(
                verial == runloop || seen.insert(*runloop),
                "{runloop} is taken"
            );
        }
    }

    #[test]
    fn one_run_has_a_name_in_each_dialect() {
        let run = RunId::from_uuid(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001));
        assert_eq!(run.wire(Dialect::Verial), format!("br_{}", run.bare()));
        assert_eq!(run.wire(Dialect::Runloop), format!("bmr_{}", run.bare()));
        assert_eq!(
            RunId::from_wire(&run.wire(Dialect::Runloop), Dialect::Runloop),
            Ok(run)
        );
        assert!(RunId::from_wire(&run.wire(Dialect::Runloop), Dialect::Verial).is_err());
    }

    #[test]
    fn what_is_no_id_is_refused_with_the_form_it_should_have() {
        for bad in [
            "",
            "br",
            "br_",
            "01J00000000000000000000000",
            "tr_01J00000000000000000000000",
            "br_01J0000000000000000000000",
            "br_81J00000000000000000000000",
            "br_01J0000000000000000000000U",
            "br_01J0000000000000000000000é",
        ] {
            let refusal = bad.parse::<RunId>().unwrap_err();
            assert!(refusal.to_string().contains("'br_'"), "{bad}: {refusal}");
        }
    }

    proptest! {
        #[test]
        fn text_and_bits_are_the_same_thing(bits: u128, other: u128) {
            let (id, second) = (TaskRunId::from_uuid(Uuid::from_u128(bits)), TaskRunId::from_uuid(Uuid::from_u128(other)));
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.to_string().to_lowercase().parse(), Ok(id));
            prop_assert_eq!(TaskRunId::from_bare(&id.bare()), Ok(id));
            prop_assert_eq!(id.cmp(&second), id.bare().cmp(&second.bare()));
        }

        #[test]
        fn any_text_is_an_id_or_a_refusal(text in ".{0,40}") {
            let _ = text.parse::<RunId>();
            let _ = RunId::from_bare(&text);
        }
    }
}
