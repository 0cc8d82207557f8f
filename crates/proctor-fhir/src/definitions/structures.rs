//! The structures of resources and data types, as far as level-1 validation, summaries and patches need them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::{Name, Primitive, unpack};
use crate::expression::{ElementTypes, TypeModel};

static R4: LazyLock<Structures> = LazyLock::new(|| {
    let text = unpack(include_bytes!("../../definitions/structures.json.zst"));
    Structures::index(
        serde_json::from_str(text)
            .expect("the embedded archive has the form that our own script gives it"),
    )
});

/// All structures of R4.
#[derive(Debug)]
pub struct Structures {
    all: Box<[Structure]>,
    positions: HashMap<Name, u16>,
    bindings: HashMap<Name, ValueSetCodes>,
}

/// What one of an element's types is, resolved so that walking a resource looks nothing up by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// One JSON value.
    Primitive(Primitive),
    /// An object described by a structure.
    Complex(StructureId),
    /// Any resource.
    Resource,
}

/// The position of a structure among the definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructureId(u16);

/// What kind of type a structure describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Kind {
    /// A resource.
    #[serde(rename = "resource")]
    Resource,
    /// A data type with elements.
    #[serde(rename = "complex-type")]
    Complex,
    /// A data type that is one JSON value.
    #[serde(rename = "primitive-type")]
    Primitive,
    /// An inner element with children, named by its path.
    #[serde(rename = "backbone")]
    Backbone,
}

/// One type: a resource, a data type, or an inner element with children (`Patient.contact`).
#[derive(Debug)]
pub struct Structure {
    /// Its name or path.
    pub name: Name,
    /// What kind of type it is.
    pub kind: Kind,
    /// Whether it is only a base for others.
    pub is_abstract: bool,
    /// The type it specialises.
    pub base: Option<Name>,
    /// Its elements, in the order of the standard.
    pub elements: Box<[Element]>,
    keys: HashMap<Box<str>, (u16, u16)>,
}

/// An element of a type.
#[derive(Debug)]
pub struct Element {
    /// Its name; `value` for `value[x]`.
    pub name: Name,
    /// What it may hold; more than one only for a choice.
    pub types: Box<[Name]>,
    /// What each of the types is.
    pub contents: Box<[Content]>,
    /// Whether its JSON key ends in the name of the type.
    pub choice: bool,
    /// How often it must occur at least.
    pub min: u32,
    /// Whether it may repeat.
    pub many: bool,
    /// Whether it belongs to a summary.
    pub summary: bool,
    /// The codes that a required binding allows, if they can be listed.
    pub binding: Option<ValueSetCodes>,
}

/// What a JSON key stands for.
#[derive(Debug, Clone, Copy)]
pub struct Key<'s> {
    /// The position of the element in its structure.
    pub position: usize,
    /// The element.
    pub element: &'s Element,
    /// The type that the key says it holds.
    pub kind: Name,
    /// What that type is.
    pub content: Content,
}

/// The codes that a required binding allows.
#[derive(Debug, Clone, Copy)]
pub struct ValueSetCodes {
    /// The canonical url of the value set.
    pub url: Name,
    /// The codes by system, each list in order.
    pub systems: &'static [(Name, Vec<Name>)],
}

impl ValueSetCodes {
    /// Whether some system of the value set has this code.
    pub fn has_code(&self, code: &str) -> bool {
        self.systems
            .iter()
            .any(|(_, codes)| codes.binary_search(&code).is_ok())
    }

    /// Whether the value set has this code of this system.
    pub fn has(&self, system: &str, code: &str) -> bool {
        self.systems
            .iter()
            .any(|(known, codes)| *known == system && codes.binary_search(&code).is_ok())
    }
}

impl Structures {
    /// The structures of R4, loaded when first asked for.
    pub fn r4() -> &'static Self {
        &R4
    }

    /// A type by its name or path.
    pub fn get(&self, name: &str) -> Option<&Structure> {
        self.positions
            .get(name)
            .map(|position| &self.all[usize::from(*position)])
    }

    /// A type by its position.
    pub fn at(&self, id: StructureId) -> &Structure {
        &self.all[usize::from(id.0)]
    }

    /// A resource type that can be stored.
    pub fn resource(&self, name: &str) -> Option<&Structure> {
        self.get(name)
            .filter(|structure| structure.kind == Kind::Resource && !structure.is_abstract)
    }

    /// The codes of a value set by its canonical url, if some element is bound to it and they can be
    /// listed.
    pub fn value_set(&self, url: &str) -> Option<ValueSetCodes> {
        self.bindings.get(url).copied()
    }

    fn index(archive: Archive) -> Self {
        let bindings: HashMap<Name, ValueSetCodes> = archive
            .bindings
            .into_iter()
            .map(|(url, systems)| {
                let mut systems: Vec<_> = systems.into_iter().collect();
                systems.sort_unstable();
                (
                    url,
                    ValueSetCodes {
                        url,
                        systems: Box::leak(systems.into_boxed_slice()),
                    },
                )
            })
            .collect();
        let mut types: Vec<(Name, RawStructure)> = archive.types.into_iter().collect();
        types.sort_unstable_by_key(|(name, _)| *name);
        let positions: HashMap<Name, u16> = (0..)
            .zip(&types)
            .map(|(position, (name, _))| (*name, position))
            .collect();
        let content = |name: Name| match Primitive::named(name) {
            Some(primitive) => Content::Primitive(primitive),
            None if name == "Resource" => Content::Resource,
            None => Content::Complex(StructureId(positions[name])),
        };
        let all = types
            .into_iter()
            .map(|(name, raw)| Structure::index(name, raw, &bindings, &content))
            .collect();
        Self {
            all,
            positions,
            bindings,
        }
    }
}

impl Structure {
    /// What a JSON key stands for.
    pub fn key(&self, key: &str) -> Option<Key<'_>> {
        let (position, chosen) = *self.keys.get(key)?;
        let element = &self.elements[usize::from(position)];
        let chosen = usize::from(chosen);
        Some(Key {
            position: usize::from(position),
            element,
            kind: element.types[chosen],
            content: element.contents[chosen],
        })
    }

    /// The element with this name; `value` for `value[x]`.
    pub fn element_named(&self, name: &str) -> Option<&Element> {
        self.elements.iter().find(|element| element.name == name)
    }

    fn index(
        name: Name,
        raw: RawStructure,
        bindings: &HashMap<Name, ValueSetCodes>,
        content: &impl Fn(Name) -> Content,
    ) -> Self {
        let elements: Box<[Element]> = raw
            .elements
            .into_iter()
            .map(|element| Element {
                name: element.name,
                contents: element.types.iter().map(|kind| content(kind)).collect(),
                types: element.types.into(),
                choice: element.choice,
                min: element.min,
                many: element.many,
                summary: element.summary,
                binding: element.binding.map(|url| bindings[url]),
            })
            .collect();
        let keys = (0..)
            .zip(&elements)
            .flat_map(|(position, element)| {
                (0..).zip(&element.types).map(move |(chosen, kind)| {
                    (
                        crate::expression::json_key(element.name, kind, element.choice),
                        (position, chosen),
                    )
                })
            })
            .collect();
        Self {
            name,
            kind: raw.kind,
            is_abstract: raw.is_abstract,
            base: raw.base,
            elements,
            keys,
        }
    }
}

impl TypeModel for Structures {
    fn element(&self, owner: &str, name: &str) -> Option<ElementTypes<'_>> {
        let element = self.get(owner)?.element_named(name)?;
        Some(ElementTypes {
            types: &element.types,
            choice: element.choice,
            system: None,
        })
    }

    fn type_name(&self, name: &str) -> Option<Name> {
        self.get(name).map(|structure| structure.name)
    }
}

/// The embedded file.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Archive {
    types: HashMap<Name, RawStructure>,
    bindings: HashMap<Name, HashMap<Name, Vec<Name>>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct RawStructure {
    kind: Kind,
    #[serde(default, rename = "abstract")]
    is_abstract: bool,
    base: Option<Name>,
    elements: Vec<RawElement>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct RawElement {
    name: Name,
    types: Vec<Name>,
    #[serde(default)]
    choice: bool,
    #[serde(default)]
    min: u32,
    #[serde(default)]
    many: bool,
    #[serde(default)]
    summary: bool,
    binding: Option<Name>,
}
