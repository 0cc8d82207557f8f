//! The data types that searching treats each in its own way.

use super::Name;

/// A FHIR data type, resolved once so that hot paths compare a number and not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `Address`.
    Address,
    /// `boolean`.
    Boolean,
    /// `canonical`.
    Canonical,
    /// `code`; with the system that its required binding implies, if there is exactly one.
    Code(Option<Name>),
    /// `CodeableConcept`.
    CodeableConcept,
    /// `Coding`.
    Coding,
    /// `ContactPoint`.
    ContactPoint,
    /// `date`, `dateTime` or `instant`.
    Date,
    /// `decimal`, `integer`, `positiveInt` or `unsignedInt`.
    Number,
    /// `Extension`.
    Extension,
    /// `HumanName`.
    HumanName,
    /// `id`, which is compared case-sensitively.
    Id,
    /// `Identifier`.
    Identifier,
    /// `Money`.
    Money,
    /// `Period`.
    Period,
    /// `Quantity` and its specialisations `Age`, `Count`, `Distance` and `Duration`.
    Quantity,
    /// `Range`.
    Range,
    /// `Reference`.
    Reference,
    /// `SampledData`.
    SampledData,
    /// `string` or `markdown`.
    String,
    /// `Timing`.
    Timing,
    /// `uri`, `url`, `oid` or `uuid`.
    Uri,
    /// Any resource: the value says which one.
    Resource,
    /// A type that search values are never made of: an inner element, or a rare data type.
    Other(Name),
}

impl DataType {
    /// The data type of a name in the definitions.
    pub fn named(name: Name) -> Self {
        match name {
            "Address" => Self::Address,
            "boolean" => Self::Boolean,
            "canonical" => Self::Canonical,
            "code" => Self::Code(None),
            "CodeableConcept" => Self::CodeableConcept,
            "Coding" => Self::Coding,
            "ContactPoint" => Self::ContactPoint,
            "date" | "dateTime" | "instant" => Self::Date,
            "decimal" | "integer" | "positiveInt" | "unsignedInt" => Self::Number,
            "Extension" => Self::Extension,
            "HumanName" => Self::HumanName,
            "id" => Self::Id,
            "Identifier" => Self::Identifier,
            "Money" => Self::Money,
            "Period" => Self::Period,
            "Quantity" | "Age" | "Count" | "Distance" | "Duration" => Self::Quantity,
            "Range" => Self::Range,
            "Reference" => Self::Reference,
            "SampledData" => Self::SampledData,
            "string" | "markdown" => Self::String,
            "Timing" => Self::Timing,
            "uri" | "url" | "oid" | "uuid" => Self::Uri,
            "Resource" => Self::Resource,
            other => Self::Other(other),
        }
    }
}
