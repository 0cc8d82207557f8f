//! Checks the elements of one segment: against the standard, then against what its place asks.

use super::{ElementError, ElementFault};
use crate::{
    day::Day,
    schema::{self, ElementKind, ElementRule, Note, SegmentRule, SegmentShape, SimpleShape},
    segment::{Element, Segment},
};

/// All faults, at most one per component.
pub(super) fn check(segment: &Segment, rule: Option<&SegmentRule>) -> Vec<ElementError> {
    let Some(shape) = schema::dictionary().segment(&segment.tag) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (index, element) in segment.elements.iter().enumerate() {
        let number = index + 1;
        match shape.elements.get(index) {
            Some(allowed) => check_element(number, element, allowed, &mut found),
            None if shape.open || element.is_empty() => {}
            None => {
                found.push(fault(number, ElementFault::TooMany, element.joined()));
                break;
            }
        }
    }
    check_notes(segment, shape, &mut found);
    for rule in rule.map_or(&[][..], |rule| &rule.elements) {
        check_rule(segment, rule, &mut found);
    }
    check_period(segment, &mut found);
    found
}

fn fault(element: usize, fault: ElementFault, value: String) -> ElementError {
    ElementError {
        element,
        component: None,
        repetition: None,
        fault,
        value,
    }
}

fn check_element(
    number: usize,
    element: &Element,
    allowed: &schema::ElementShape,
    found: &mut Vec<ElementError>,
) {
    if element.0.len() > allowed.repeats {
        let value = element.joined();
        found.push(fault(number, ElementFault::TooManyRepetitions, value));
        return;
    }
    let composite = allowed.components.len() > 1;
    let repeats = allowed.repeats > 1;
    for (index, repetition) in element.0.iter().enumerate() {
        let at = repeats.then_some(index + 1);
        if repetition.0.len() > allowed.components.len() {
            found.push(ElementError {
                repetition: at,
                ..fault(
                    number,
                    ElementFault::TooManyComponents,
                    repetition.0.join(":"),
                )
            });
            continue;
        }
        for (index, (value, shape)) in repetition.0.iter().zip(&allowed.components).enumerate() {
            if let Some(wrong) = check_value(value, *shape) {
                found.push(ElementError {
                    component: composite.then_some(index + 1),
                    repetition: at,
                    ..fault(number, wrong, value.clone())
                });
            }
        }
    }
}

fn check_value(value: &str, shape: SimpleShape) -> Option<ElementFault> {
    if value.is_empty() {
        return None;
    }
    if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Some(ElementFault::Character);
    }
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let length = match shape.kind {
        ElementKind::Text | ElementKind::Code => value.len(),
        ElementKind::Whole => {
            let number = value.strip_prefix('-').unwrap_or(value);
            if number.is_empty() || !digits(number) {
                return Some(ElementFault::Character);
            }
            number.len()
        }
        ElementKind::Decimal => {
            let number = value.strip_prefix('-').unwrap_or(value);
            let (whole, part) = number.split_once('.').unwrap_or((number, ""));
            if (whole.is_empty() && part.is_empty()) || !digits(whole) || !digits(part) {
                return Some(ElementFault::Character);
            }
            whole.len() + part.len()
        }
        ElementKind::Date => {
            return Day::from_x12(value).is_none().then_some(ElementFault::Date);
        }
        ElementKind::Time => return (!is_time(value)).then_some(ElementFault::Time),
    };
    if length < shape.shortest {
        Some(ElementFault::TooShort)
    } else if length > shape.longest {
        Some(ElementFault::TooLong)
    } else {
        None
    }
}

/// `HHMM`, then seconds, tenths and hundredths if they are wanted.
pub(crate) fn is_time(value: &str) -> bool {
    let below = |range: std::ops::Range<usize>, limit: u8| match value.get(range) {
        Some(part) => part.parse::<u8>().is_ok_and(|number| number < limit),
        None => true,
    };
    matches!(value.len(), 4 | 6 | 7 | 8)
        && value.bytes().all(|byte| byte.is_ascii_digit())
        && below(0..2, 24)
        && below(2..4, 60)
        && below(4..6, 60)
}

fn check_notes(segment: &Segment, shape: &SegmentShape, found: &mut Vec<ElementError>) {
    let has = |number: &usize| segment.element(*number).is_some_and(|one| !one.is_empty());
    for note in &shape.notes {
        let (missing, wrong) = match note {
            Note::Paired(all) if all.iter().any(has) => (
                all.iter().find(|one| !has(one)),
                ElementFault::MissingConditional,
            ),
            Note::Required(all) if !all.iter().any(has) => {
                (all.first(), ElementFault::MissingConditional)
            }
            Note::Exclusive(all) => (
                all.iter().filter(|one| has(one)).nth(1),
                ElementFault::Excluded,
            ),
            Note::Conditional(all) if all.first().is_some_and(has) => (
                all.iter().find(|one| !has(one)),
                ElementFault::MissingConditional,
            ),
            Note::List(all) if all.first().is_some_and(has) && !all[1..].iter().any(has) => {
                (all.get(1), ElementFault::MissingConditional)
            }
            Note::Paired(_) | Note::Required(_) | Note::Conditional(_) | Note::List(_) => continue,
        };
        if let Some(number) = missing {
            push(
                found,
                fault(
                    *number,
                    wrong,
                    segment
                        .element(*number)
                        .map_or_else(String::new, Element::joined),
                ),
            );
        }
    }
}

fn check_rule(segment: &Segment, rule: &ElementRule, found: &mut Vec<ElementError>) {
    let element = segment.element(rule.number);
    let value = match (element, rule.component) {
        (Some(element), Some(component)) => element
            .repetition(1)
            .map_or("", |first| first.component(component)),
        (Some(element), None) if element.is_empty() => "",
        (Some(element), None) => match element.text() {
            // A composite whose first component is empty is still there.
            "" => return,
            text => text,
        },
        (None, _) => "",
    };
    let wrong = if value.is_empty() {
        rule.required.then_some(ElementFault::Missing)
    } else {
        (!rule.allows(value)).then_some(ElementFault::Code)
    };
    if let Some(wrong) = wrong {
        push(
            found,
            ElementError {
                component: rule.component,
                ..fault(rule.number, wrong, value.to_owned())
            },
        );
    }
}

/// A date whose format is named by the element before it.
fn check_period(segment: &Segment, found: &mut Vec<ElementError>) {
    let (format, number) = match segment.tag.as_str() {
        "DTP" => (segment.text(2), 3),
        "DMG" => (segment.text(1), 2),
        _ => return,
    };
    let value = segment.text(number);
    if matches!(format, "D8" | "RD8")
        && !value.is_empty()
        && Day::range_from_x12(format, value).is_none()
    {
        push(found, fault(number, ElementFault::Date, value.to_owned()));
    }
}

/// Adds a fault unless the same place has one already.
fn push(found: &mut Vec<ElementError>, error: ElementError) {
    let known = found.iter().any(|one| {
        one.element == error.element
            && (one.component == error.component || one.component.is_none())
    });
    if !known {
        found.push(error);
    }
}
