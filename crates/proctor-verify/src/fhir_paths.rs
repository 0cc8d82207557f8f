//! Whether any element of a FHIR type can stand at a path. A path that leads nowhere in every resource is a mistake of its author.

use proctor_fhir::definitions::{Content, Structure, Structures};

use crate::json_path::{JsonPath, Step};

/// Where a path has led so far.
enum Here<'s> {
    Object(&'s Structure),
    Value,
    Anything,
}

/// Why no resource of the type `kind` can have anything at a path; nothing if one can.
pub(crate) fn impossible(kind: &str, path: &JsonPath) -> Option<String> {
    let structures = Structures::r4();
    let mut here = Here::Object(structures.resource(kind)?);
    let mut is_list = false;
    let mut walked = kind.to_owned();
    for step in path.steps() {
        let name = match (step, is_list) {
            (Step::Place(..) | Step::Any, true) => {
                is_list = false;
                continue;
            }
            (Step::Name(name), true) => {
                return Some(format!(
                    "{walked} is a list: a place or * stands before '{name}', as in 0.{name}"
                ));
            }
            (Step::Any, false) => return None,
            (Step::Name(name) | Step::Place(_, name), false) => name,
        };
        let structure = match here {
            Here::Object(structure) => structure,
            Here::Value => {
                return Some(format!("{walked} is a value: it has no '{name}'"));
            }
            Here::Anything => return None,
        };
        // What is said of a primitive value stands beside it.
        if name == "resourceType" || name.starts_with('_') {
            here = Here::Anything;
            continue;
        }
        let Some(key) = structure.key(name) else {
            return Some(unknown(structure, &walked, name));
        };
        is_list = key.element.many;
        here = match key.content {
            Content::Primitive(_) => Here::Value,
            Content::Complex(id) => Here::Object(structures.at(id)),
            Content::Resource => Here::Anything,
        };
        walked = format!("{walked}.{name}");
    }
    None
}

/// What to say of an element that a structure has not.
fn unknown(structure: &Structure, walked: &str, name: &str) -> String {
    let choice = structure
        .element_named(name)
        .filter(|element| element.choice);
    match choice {
        Some(element) => {
            let first = element.types.first().copied().unwrap_or("String");
            let (head, tail) = first.split_at(first.len().min(1));
            format!(
                "{walked} has no element '{name}': its name ends in its type, as in {name}{}{tail}",
                head.to_uppercase()
            )
        }
        None => format!("{walked} has no element '{name}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, path: &str) -> Option<String> {
        impossible(kind, &JsonPath::parse(path).unwrap())
    }

    #[test]
    fn paths_that_some_resource_can_have_are_right() {
        for (kind, path) in [
            ("Appointment", "participant.0.actor.display"),
            ("Appointment", "participant.*.actor"),
            ("Patient", "name"),
            ("Patient", "resourceType"),
            ("Patient", "_birthDate.extension.0.url"),
            ("Patient", "meta.tag.0.code"),
            ("Patient", "extension.0.valueString"),
            ("Observation", "valueQuantity.value"),
            ("Observation", "contained.0.whatever.it.is"),
            ("Observation", "component.0.code.coding.0.code"),
            ("Task", "businessStatus.text"),
        ] {
            assert_eq!(told(kind, path), None, "{kind} {path}");
        }
    }

    #[test]
    fn paths_that_no_resource_can_have_say_where_they_end() {
        for (kind, path, says) in [
            (
                "Appointment",
                "start_time",
                "Appointment has no element 'start_time'",
            ),
            (
                "Appointment",
                "participant.actor.display",
                "Appointment.participant is a list",
            ),
            (
                "Patient",
                "birthDate.year",
                "Patient.birthDate is a value: it has no 'year'",
            ),
            (
                "Patient",
                "name.0.surname",
                "Patient.name has no element 'surname'",
            ),
            ("Observation", "value.value", "as in valueQuantity"),
        ] {
            let told = told(kind, path).unwrap();
            assert!(told.contains(says), "{told}");
        }
    }
}
