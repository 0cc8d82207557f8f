//! What a playground is made of: simulated services, and the data they begin with.
//!
//! An [`Environment`] is plain data. It is frozen together with the benchmark that names it, under
//! its own [`Digest`], so that a playground can be made again exactly as it was.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    canonical::Digest,
    id::kinds::{DatasetId, EntityId, SimulatorId},
};

/// Simulated services with their data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// What people call it.
    pub name: String,
    /// The services, in order. Where one of a type is meant, the first is.
    #[serde(default)]
    pub simulators: Vec<Simulator>,
}

/// One simulated service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulator {
    /// Its name.
    pub id: SimulatorId,
    /// What it simulates.
    #[serde(rename = "type")]
    pub kind: SimulatorType,
    /// What people call it.
    pub name: String,
    /// How it behaves, as the simulator reads it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub config: Value,
    /// The data it begins with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<Dataset>,
}

/// Data that a service begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Its name.
    pub id: DatasetId,
    /// What people call it.
    pub name: String,
    /// What kind of data.
    #[serde(rename = "type")]
    pub kind: DatasetType,
    /// The data: a Bundle or a list of resources, files by path, or a list of members.
    pub data: Value,
}

/// Something that a task is about: a patient, a member, an order. Assertions name its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// Its name.
    pub id: EntityId,
    /// What it is, in the author's words.
    pub kind: String,
    /// What templates call it.
    pub key: String,
    /// Its values.
    pub data: Value,
}

impl Environment {
    /// The digest of this definition: the same for the same content, however it was written.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_value())
    }

    /// The definition as a document.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("an environment has only string keys and finite numbers")
    }
}

/// What a simulator simulates, by its name on the wire and in the store: `Fhir`, `Fax`, ….
///
/// The list of names is open. The registry of simulators knows which there are and refuses others
/// where users give them; what is stored is kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimulatorType(Cow<'static, str>);

impl SimulatorType {
    /// The type with this name.
    pub const fn named(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name on the wire and in the store.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for SimulatorType {
    fn from(name: String) -> Self {
        Self(Cow::Owned(name))
    }
}

impl fmt::Display for SimulatorType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Declares an enum whose values have one name on the wire and may be read by others.
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$value_doc:meta])* $value:ident = $name:literal $(| $alias:literal)*;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind { $($(#[$value_doc])* $value),+ }

        impl $kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// The name on the wire and in the store.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }

            /// The one with this name, in whatever case.
            pub fn from_name(text: &str) -> Option<Self> {
                let is = |name: &str| name.eq_ignore_ascii_case(text);
                $(if is($name) $(|| is($alias))* { return Some(Self::$value); })+
                None
            }
        }

        impl Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::from_name(&text).ok_or_else(|| {
                    serde::de::Error::custom(format_args!(
                        "'{text}' is none of {}",
                        [$($name),+].join(", ")
                    ))
                })
            }
        }
    };
}

named! {
    /// What kind of data a data set holds.
    DatasetType {
        /// FHIR resources.
        Fhir = "FHIR";
        /// Files.
        Files = "Files";
        /// Members of a payer.
        Members = "Members";
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_of_simulators_are_kept_as_they_were_written() {
        let kind: SimulatorType = serde_json::from_value(json!("Fhir")).unwrap();
        assert_eq!(kind, SimulatorType::named("Fhir"));
        assert_eq!(json!(kind), json!("Fhir"));
        let unknown: SimulatorType = serde_json::from_value(json!("Telegraph")).unwrap();
        assert_eq!(json!(unknown), json!("Telegraph"));
    }

    #[test]
    fn types_of_data_sets_are_read_in_any_case() {
        assert_eq!(DatasetType::from_name("fhir"), Some(DatasetType::Fhir));
        assert_eq!(json!(DatasetType::Fhir), json!("FHIR"));
        let refusal = serde_json::from_value::<DatasetType>(json!("Rows")).unwrap_err();
        assert!(
            refusal
                .to_string()
                .contains("'Rows' is none of FHIR, Files")
        );
        for kind in DatasetType::ALL {
            assert_eq!(DatasetType::from_name(kind.as_str()), Some(*kind));
        }
    }
}
