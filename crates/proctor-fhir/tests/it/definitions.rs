//! The embedded definitions are complete, and every expression in them can be used.

use std::collections::{BTreeMap, BTreeSet};

use proctor_fhir::definitions::{Kind, ParameterType, SearchDefinitions, Structures};

#[test]
fn all_search_parameters_are_there() {
    let definitions = SearchDefinitions::r4();
    assert_eq!(definitions.parameters().len(), 1_378);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (position, parameter) in definitions.parameters().iter().enumerate() {
        assert_eq!(usize::from(parameter.id.0), position);
        *kinds.entry(parameter.kind.as_str()).or_default() += 1;
    }
    insta::assert_debug_snapshot!(kinds);
}

#[test]
fn every_expression_leads_somewhere_in_every_type_it_is_for() {
    let definitions = SearchDefinitions::r4();
    let mut compiled = BTreeSet::new();
    for resource_type in definitions.resource_types() {
        for parameter in definitions.compiled_for(resource_type) {
            let name = definitions.parameter(parameter.id).name;
            compiled.insert(name);
            assert!(
                !parameter.expression.is_empty(),
                "{name} finds nothing in {resource_type}"
            );
            // The one parameter for an element that 4.0.1 does not have yet.
            assert!(
                !parameter.expression.result_types().is_empty()
                    || name == "DeviceDefinition-classification",
                "{name} in {resource_type}"
            );
            assert_eq!(
                parameter.kind == ParameterType::Composite,
                !parameter.components.is_empty(),
                "{name}"
            );
            for (part, expression) in &parameter.components {
                assert!(
                    !expression.result_types().is_empty(),
                    "{name}, part {}",
                    definitions.parameter(*part).name
                );
            }
        }
    }
    let uncompiled: Vec<&str> = definitions
        .parameters()
        .iter()
        .map(|parameter| parameter.name)
        .filter(|name| !compiled.contains(name))
        .collect();
    assert_eq!(
        uncompiled,
        ["DomainResource-text", "Resource-content", "Resource-query"],
        "only these have no expression"
    );
}

/// What parameters of each kind are made of: a type that appears here must be handled when index values are made.
#[test]
fn the_types_that_parameters_lead_to_are_known() {
    let definitions = SearchDefinitions::r4();
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for parameter in definitions
        .resource_types()
        .iter()
        .flat_map(|name| definitions.compiled_for(name))
    {
        types
            .entry(parameter.kind.as_str())
            .or_default()
            .extend(parameter.expression.result_types());
        for (part, expression) in &parameter.components {
            types
                .entry(definitions.parameter(*part).kind.as_str())
                .or_default()
                .extend(expression.result_types());
        }
    }
    insta::assert_debug_snapshot!(types);
}

#[test]
fn parameters_are_found_by_type_and_code() {
    let definitions = SearchDefinitions::r4();
    assert_eq!(
        definitions.find("Patient", "birthdate").unwrap().name,
        "individual-birthdate"
    );
    assert_eq!(
        definitions.find("Observation", "code").unwrap().kind,
        ParameterType::Token
    );
    for code in [
        "_id",
        "_lastUpdated",
        "_tag",
        "_profile",
        "_security",
        "_source",
    ] {
        for resource_type in definitions.resource_types() {
            assert!(
                definitions.find(resource_type, code).is_some(),
                "{resource_type}?{code}"
            );
            assert!(
                definitions
                    .compiled_for(resource_type)
                    .iter()
                    .any(|parameter| definitions.parameter(parameter.id).code == code)
            );
        }
    }
    assert!(definitions.find("Patient", "_text").is_some());
    assert!(
        definitions.find("Bundle", "_text").is_none(),
        "a bundle has no narrative"
    );
    assert!(definitions.find("Patient", "nonsense").is_none());
    assert!(definitions.find("Nonsense", "_id").is_none());
}

#[test]
fn compartments_say_which_parameters_place_a_resource_in_them() {
    let definitions = SearchDefinitions::r4();
    assert_eq!(
        definitions.compartment("Patient", "Observation"),
        Some(["subject", "performer"].as_slice())
    );
    assert_eq!(definitions.compartment("Patient", "Medication"), None);
    assert_eq!(definitions.compartment("Nonsense", "Observation"), None);
    for compartment in [
        "Patient",
        "Practitioner",
        "Encounter",
        "RelatedPerson",
        "Device",
    ] {
        for member in definitions.compartment_members(compartment).unwrap() {
            for code in definitions.compartment(compartment, member).unwrap() {
                assert!(
                    *code == "{def}" || definitions.find(member, code).is_some(),
                    "{compartment}: {member}.{code}"
                );
            }
        }
    }
}

#[test]
fn structures_describe_every_resource_type() {
    let structures = Structures::r4();
    let definitions = SearchDefinitions::r4();
    assert_eq!(definitions.resource_types().len(), 146);
    for name in definitions.resource_types() {
        let structure = structures.resource(name).unwrap();
        assert!(
            structure.key("id").is_some() && structure.elements.len() <= 64,
            "{name}"
        );
    }
    assert!(structures.resource("DomainResource").is_none());
    assert_eq!(
        structures.get("Patient.contact").unwrap().kind,
        Kind::Backbone
    );
    let value = structures
        .get("Observation")
        .unwrap()
        .key("valueQuantity")
        .unwrap();
    assert_eq!(
        (value.element.name, value.kind, value.element.choice),
        ("value", "Quantity", true)
    );
    let gender = structures.get("Patient").unwrap().key("gender").unwrap();
    assert!(
        gender.element.binding.unwrap().has_code("female")
            && gender.element.summary
            && !gender.element.many
    );
}
