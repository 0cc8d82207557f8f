//! The official search parameters and the compartments, with every expression compiled for every type it applies to.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::{Name, unpack};
use crate::expression::{ElementTypes, Expression, ExpressionError, Source, TypeModel};

static R4: LazyLock<SearchDefinitions> = LazyLock::new(|| {
    let archive = Archive::embedded();
    SearchDefinitions::compile(archive).expect("the tests compile every embedded expression")
});

/// The position of a parameter among the definitions: dense, and the same in every process of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterId(pub u16);

/// What kind of values a parameter searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// A whole number or a decimal.
    Number,
    /// A date, a time or a period.
    Date,
    /// Text, compared without regard to case and accents.
    String,
    /// A code or an identifier.
    Token,
    /// A link to another resource.
    Reference,
    /// Several values of one element together.
    Composite,
    /// A number with a unit.
    Quantity,
    /// A URI, compared exactly.
    Uri,
    /// A parameter with a rule of its own (`Location.near`).
    Special,
}

impl ParameterType {
    /// The code of the type, as in `SearchParameter.type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Date => "date",
            Self::String => "string",
            Self::Token => "token",
            Self::Reference => "reference",
            Self::Composite => "composite",
            Self::Quantity => "quantity",
            Self::Uri => "uri",
            Self::Special => "special",
        }
    }
}

/// An official search parameter.
#[derive(Debug)]
pub struct SearchParameter {
    /// Where it stands among the definitions.
    pub id: ParameterId,
    /// The last part of its canonical url.
    pub name: Name,
    /// How it is written in a search.
    pub code: Name,
    /// What it searches.
    pub kind: ParameterType,
    /// The resource types it applies to; `Resource` and `DomainResource` stand for all.
    pub base: Box<[Name]>,
    /// Where its values are; absent for the three parameters that search all text or run a named query.
    pub expression: Option<Name>,
    /// The resource types that a reference may point to; empty if it may be any.
    pub targets: Box<[Name]>,
    /// The parts of a composite parameter.
    pub components: Box<[Component]>,
}

impl SearchParameter {
    /// Whether values are compared with regard to case, as only logical ids are.
    pub fn is_case_sensitive(&self) -> bool {
        self.code == "_id"
    }

    /// The canonical url of the definition.
    pub fn url(&self) -> String {
        format!("http://hl7.org/fhir/SearchParameter/{}", self.name)
    }
}

/// One part of a composite parameter.
#[derive(Debug)]
pub struct Component {
    /// The parameter that says how the part is compared.
    pub parameter: ParameterId,
    /// Where the part is, seen from the composite's own node.
    pub expression: Name,
}

/// A parameter ready to be evaluated on resources of one type.
#[derive(Debug)]
pub struct CompiledParameter {
    /// Which parameter.
    pub id: ParameterId,
    /// What it searches.
    pub kind: ParameterType,
    /// Where its values are in resources of this type.
    pub expression: Expression,
    /// The parts of a composite, seen from the nodes of `expression`.
    pub components: Box<[(ParameterId, Expression)]>,
}

/// The search parameters of R4 and what belongs to them.
#[derive(Debug)]
pub struct SearchDefinitions {
    parameters: Box<[SearchParameter]>,
    types: HashMap<Name, TypeParameters>,
    resources: Box<[Name]>,
    compartments: HashMap<Name, HashMap<Name, Vec<Name>>>,
}

#[derive(Debug, Default)]
struct TypeParameters {
    by_code: HashMap<Name, ParameterId>,
    compiled: Vec<CompiledParameter>,
}

impl SearchDefinitions {
    /// The definitions of R4, loaded when first asked for.
    pub fn r4() -> &'static Self {
        &R4
    }

    /// All parameters, each at the position that its [`ParameterId`] says.
    pub fn parameters(&self) -> &[SearchParameter] {
        &self.parameters
    }

    /// A parameter by its id.
    pub fn parameter(&self, id: ParameterId) -> &SearchParameter {
        &self.parameters[usize::from(id.0)]
    }

    /// The parameter that `code` means in a search for `resource_type`, including those of every resource such as `_id`.
    pub fn find(&self, resource_type: &str, code: &str) -> Option<&SearchParameter> {
        let id = self.types.get(resource_type)?.by_code.get(code)?;
        Some(self.parameter(*id))
    }

    /// The parameters of a resource type that have values, including those of every resource; none for an unknown type.
    pub fn compiled_for(&self, resource_type: &str) -> &[CompiledParameter] {
        self.types
            .get(resource_type)
            .map_or(&[], |known| &known.compiled)
    }

    /// The codes and parameters that a search for `resource_type` may use, in no particular order.
    pub fn for_type(&self, resource_type: &str) -> impl Iterator<Item = &SearchParameter> {
        let known = self.types.get(resource_type);
        known
            .into_iter()
            .flat_map(|known| known.by_code.values())
            .map(|id| self.parameter(*id))
    }

    /// The names of all resource types that can be stored, in alphabetical order.
    pub fn resource_types(&self) -> &[Name] {
        &self.resources
    }

    /// The name of a resource type as the definitions hold it; none if R4 has no such type.
    pub fn resource_type(&self, name: &str) -> Option<Name> {
        self.resources
            .binary_search(&name)
            .ok()
            .map(|position| self.resources[position])
    }

    /// The codes of the parameters that place a resource of `member` type in a compartment such as `Patient`.
    ///
    /// None if R4 has no such compartment or the type is not in it. The code `{def}` stands for the resource itself.
    pub fn compartment(&self, compartment: &str, member: &str) -> Option<&[Name]> {
        self.compartments
            .get(compartment)?
            .get(member)
            .map(Vec::as_slice)
    }

    /// The resource types that may be in a compartment, in alphabetical order; none if R4 has no such compartment.
    pub fn compartment_members(&self, compartment: &str) -> Option<Vec<Name>> {
        let mut members: Vec<Name> = self
            .compartments
            .get(compartment)?
            .keys()
            .copied()
            .collect();
        members.sort_unstable();
        Some(members)
    }

    fn compile(archive: Archive) -> Result<Self, ExpressionError> {
        let positions: HashMap<Name, u16> = (0..)
            .zip(&archive.parameters)
            .map(|(position, parameter)| (parameter.id, position))
            .collect();
        let parameters: Box<[SearchParameter]> = (0..)
            .zip(&archive.parameters)
            .map(|(position, raw)| SearchParameter {
                id: ParameterId(position),
                name: raw.id,
                code: raw.code,
                kind: raw.kind,
                base: raw.base.clone().into(),
                expression: raw.expression,
                targets: raw.target.clone().into(),
                components: raw
                    .component
                    .iter()
                    .map(|part| Component {
                        parameter: ParameterId(positions[part.definition]),
                        expression: part.expression,
                    })
                    .collect(),
            })
            .collect();
        let mut types: HashMap<Name, TypeParameters> = archive
            .resources
            .iter()
            .map(|name| (*name, TypeParameters::default()))
            .collect();
        for parameter in &parameters {
            let source = ParameterSource::read(parameter)?;
            for resource_type in types_of(parameter, &archive.resources) {
                let known = types.entry(resource_type).or_default();
                known.by_code.insert(parameter.code, parameter.id);
                if let Some(source) = &source {
                    known
                        .compiled
                        .push(source.compile(resource_type, &archive.elements)?);
                }
            }
        }
        Ok(Self {
            parameters,
            types,
            resources: archive.resources.into(),
            compartments: archive.compartments,
        })
    }
}

/// The resource types that a parameter applies to.
fn types_of(parameter: &SearchParameter, resources: &[Name]) -> Vec<Name> {
    // The three resource types without narrative derive from `Resource` directly.
    let domain = |name: &Name| !matches!(*name, "Bundle" | "Binary" | "Parameters");
    match parameter.base[..] {
        ["Resource"] => resources.to_vec(),
        ["DomainResource"] => resources.iter().copied().filter(domain).collect(),
        _ => parameter.base.to_vec(),
    }
}

/// The expressions of a parameter, read once and compiled for each of its types.
struct ParameterSource<'p> {
    parameter: &'p SearchParameter,
    expression: Source<'p>,
    components: Vec<(ParameterId, Source<'p>)>,
}

impl<'p> ParameterSource<'p> {
    fn read(parameter: &'p SearchParameter) -> Result<Option<Self>, ExpressionError> {
        let Some(text) = parameter.expression else {
            return Ok(None);
        };
        let parts = parameter.components.iter();
        let components = parts.map(|part| Ok((part.parameter, Source::parse(part.expression)?)));
        Ok(Some(Self {
            parameter,
            expression: Source::parse(text)?,
            components: components.collect::<Result<_, ExpressionError>>()?,
        }))
    }

    fn compile(
        &self,
        root: Name,
        elements: &Elements,
    ) -> Result<CompiledParameter, ExpressionError> {
        let expression = self.expression.compile(elements, root, &[root])?;
        let components = self.components.iter().map(|(part, source)| {
            Ok((
                *part,
                source.compile(elements, root, expression.result_types())?,
            ))
        });
        Ok(CompiledParameter {
            id: self.parameter.id,
            kind: self.parameter.kind,
            components: components.collect::<Result<_, ExpressionError>>()?,
            expression,
        })
    }
}

/// The embedded file.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Archive {
    resources: Vec<Name>,
    parameters: Vec<RawParameter>,
    elements: Elements,
    compartments: HashMap<Name, HashMap<Name, Vec<Name>>>,
}

impl Archive {
    fn embedded() -> Self {
        let text = unpack(include_bytes!("../../definitions/search.json.zst"));
        serde_json::from_str(text)
            .expect("the embedded archive has the form that our own script gives it")
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct RawParameter {
    id: Name,
    code: Name,
    #[serde(rename = "type")]
    kind: ParameterType,
    base: Vec<Name>,
    expression: Option<Name>,
    #[serde(default)]
    target: Vec<Name>,
    #[serde(default)]
    component: Vec<RawComponent>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct RawComponent {
    definition: Name,
    expression: Name,
}

/// The part of the structures that search expressions walk through.
#[derive(Deserialize)]
#[serde(transparent, bound(deserialize = "'de: 'static"))]
struct Elements(HashMap<Name, HashMap<Name, RawElement>>);

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct RawElement {
    types: Vec<Name>,
    #[serde(default)]
    choice: bool,
    system: Option<Name>,
}

impl TypeModel for Elements {
    fn element(&self, owner: &str, name: &str) -> Option<ElementTypes<'_>> {
        let element = self.0.get(owner)?.get(name)?;
        Some(ElementTypes {
            types: &element.types,
            choice: element.choice,
            system: element.system,
        })
    }

    fn type_name(&self, name: &str) -> Option<Name> {
        if let Some((known, _)) = self.0.get_key_value(name) {
            return Some(known);
        }
        PRIMITIVES.iter().find(|known| **known == name).copied()
    }
}

/// Primitive types have no elements, but expressions name them.
const PRIMITIVES: [Name; 8] = [
    "boolean",
    "canonical",
    "code",
    "date",
    "dateTime",
    "instant",
    "string",
    "uri",
];
