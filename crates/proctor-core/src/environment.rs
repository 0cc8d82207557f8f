//! What a playground is made of: simulated services, and the data they begin with.
//!
//! An [`Environment`] is plain data. It is frozen together with the benchmark that names it, under
//! its own [`Digest`], so that a playground can be made again exactly as it was.

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
    /// What a simulator simulates.
    SimulatorType {
        /// A FHIR R4 store.
        Fhir = "Fhir";
        /// An HL7 v2 interface.
        Hl7 = "Hl7";
        /// A tree of files.
        Files = "Files" | "Sftp";
        /// A payer's portal.
        Payer = "Payer";
        /// A telephone line.
        Voice = "Voice";
        /// A clearinghouse for X12.
        Clearinghouse = "Clearinghouse" | "X12";
        /// A fax machine.
        Fax = "Fax";
        /// Messages to and from patients.
        Message = "Message" | "Messages";
        /// Decision support by CDS Hooks.
        CdsHooks = "CdsHooks" | "Cds-Hooks" | "Cds_Hooks";
    }
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
    fn types_are_read_in_any_case_and_by_their_other_names() {
        for (text, kind) in [
            ("fhir", SimulatorType::Fhir),
            ("X12", SimulatorType::Clearinghouse),
            ("SFTP", SimulatorType::Files),
            ("cdshooks", SimulatorType::CdsHooks),
            ("messages", SimulatorType::Message),
        ] {
            assert_eq!(SimulatorType::from_name(text), Some(kind), "{text}");
        }
        let refusal = serde_json::from_value::<SimulatorType>(json!("Telegraph")).unwrap_err();
        assert!(
            refusal
                .to_string()
                .contains("'Telegraph' is none of Fhir, Hl7")
        );
        for kind in SimulatorType::ALL {
            assert_eq!(SimulatorType::from_name(kind.as_str()), Some(*kind));
        }
        assert_eq!(json!(DatasetType::Fhir), json!("FHIR"));
    }
}
