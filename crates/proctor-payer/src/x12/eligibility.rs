//! 270 → 271.

use std::collections::HashMap;

use proctor_core::time::Timestamp;

use super::{
    Benefit, Coverage, Dependent, Member, Payer, find,
    outline::{Answered, follow},
    question::{Person, answer_header, answer_traces, days},
};
use proctor_x12::{
    day::Day,
    segment::{Element, Segment},
    syntax::{self, Level},
};

/// What is asked about a person: service types, and the days they are asked for.
struct Asked {
    service_types: Vec<String>,
    day: Day,
}

/// The body of the 271 that answers a 270 whose syntax was accepted.
pub fn answer(
    payer: &Payer,
    members: &[Member],
    question: &[Segment],
    at: Timestamp,
) -> Vec<Segment> {
    let nodes = syntax::tree(question);
    let mut subscribers: HashMap<usize, &Member> = HashMap::new();
    let levels = follow(question, &nodes, |visit| {
        let here = visit.segments;
        match visit.node.level {
            Level::Source => Some(payer.answer_as_source("PR")),
            Level::Receiver => Some(payer.answer_receiver(visit.name()?)),
            Level::Subscriber => {
                let is_patient = visit.children.is_empty();
                let asked = is_patient.then(|| Asked::read(here, at));
                let (segments, found) = subscriber(members, here, asked.as_ref());
                subscribers.extend(found.map(|member| (visit.index, member)));
                Some(Answered {
                    segments,
                    go_on: found.is_some(),
                })
            }
            Level::Dependent => {
                let member = subscribers.get(&visit.node.parent?)?;
                Some(Answered {
                    segments: dependent(member, here, &Asked::read(here, at)),
                    go_on: false,
                })
            }
            Level::Provider | Level::Event | Level::Service | Level::Patient => None,
        }
    });
    let mut body = vec![answer_header("0022", "11", question, at)];
    body.extend(levels);
    body
}

impl Asked {
    fn read(level: &[Segment], at: Timestamp) -> Self {
        let mut service_types: Vec<String> = Vec::new();
        let inquiries = level.iter().filter(|one| one.tag == "EQ");
        for element in inquiries.filter_map(|one| one.element(1)) {
            for repetition in &element.0 {
                let code = repetition.component(1);
                if !code.is_empty() && !service_types.iter().any(|known| known == code) {
                    service_types.push(code.to_owned());
                }
            }
        }
        if service_types.is_empty() {
            service_types.push("30".to_owned());
        }
        let period = level
            .iter()
            .filter(|one| one.tag == "DTP" && one.text(1) == "291")
            .find_map(|one| Day::range_from_x12(one.text(2), one.text(3)));
        Self {
            service_types,
            day: period.map_or(Day::of(at), |(first, _)| first),
        }
    }
}

fn subscriber<'m>(
    members: &'m [Member],
    level: &[Segment],
    asked: Option<&Asked>,
) -> (Vec<Segment>, Option<&'m Member>) {
    let person = Person::read(level, "IL");
    let mut segments: Vec<_> = answer_traces(level).collect();
    let member = match find::member(members, &person) {
        Ok(member) => member,
        Err(rejection) => {
            segments.push(person.name("IL"));
            segments.push(rejection.segment());
            segments.extend(person.birth());
            return (segments, None);
        }
    };
    let chosen = asked.map(|asked| chosen(&member.coverages, asked.day));
    segments.push(member.named("IL"));
    let group = chosen
        .iter()
        .flatten()
        .find_map(|one| one.group_number.as_deref());
    segments.extend(group.map(|number| Segment::new("REF", ["6P", number])));
    if let Some(address) = &member.address {
        segments.push(Segment::new("N3", [&*address.line]));
        let place = [&*address.city, &*address.state, &*address.postal_code];
        segments.push(Segment::new("N4", place));
    }
    let gender = member.gender.map_or("", |gender| gender.code());
    segments.push(Segment::new(
        "DMG",
        ["D8", &member.birth_date.to_x12(), gender],
    ));
    if let (Some(asked), Some(chosen)) = (asked, chosen) {
        segments.extend(benefits(&chosen, asked));
    }
    (segments, Some(member))
}

fn dependent(member: &Member, level: &[Segment], asked: &Asked) -> Vec<Segment> {
    let person = Person::read(level, "03");
    let mut segments: Vec<_> = answer_traces(level).collect();
    match find::dependent(member, &person) {
        Err(rejection) => {
            segments.push(person.name("03"));
            segments.push(rejection.segment());
            segments.extend(person.birth());
        }
        Ok(found) => {
            segments.push(found.named("03"));
            let gender = found.gender.map_or("", |gender| gender.code());
            segments.push(Segment::new(
                "DMG",
                ["D8", &found.birth_date.to_x12(), gender],
            ));
            segments.push(Segment::new("INS", ["N", found.relationship.code()]));
            segments.extend(benefits(&chosen(&member.coverages, asked.day), asked));
        }
    }
    segments
}

/// The coverages that hold on a day; if none does, the one that ended or begins last.
fn chosen(coverages: &[Coverage], day: Day) -> Vec<&Coverage> {
    let active: Vec<_> = coverages.iter().filter(|one| one.is_active(day)).collect();
    if active.is_empty() {
        coverages
            .iter()
            .max_by_key(|one| one.start)
            .into_iter()
            .collect()
    } else {
        active
    }
}

/// The plan's dates, then what was asked for.
fn benefits(coverages: &[&Coverage], asked: &Asked) -> Vec<Segment> {
    let mut segments = Vec::new();
    if let Some(first) = coverages.first() {
        match first.end {
            Some(end) => segments.push(days("291", (first.start, end))),
            None => segments.push(Segment::new("DTP", ["346", "D8", &first.start.to_x12()])),
        }
    }
    if coverages.is_empty() {
        segments.push(status_line("6", None, &asked.service_types));
    }
    for coverage in coverages {
        if !coverage.is_active(asked.day) {
            segments.push(status_line("6", Some(coverage), &asked.service_types));
            continue;
        }
        let (covered, other): (Vec<_>, Vec<_>) = asked
            .service_types
            .iter()
            .cloned()
            .partition(|code| coverage.covers(code));
        if !covered.is_empty() {
            segments.push(status_line("1", Some(coverage), &covered));
            let asked_for = coverage
                .benefits
                .iter()
                .filter(|one| concerns(one, &covered));
            segments.extend(asked_for.flat_map(|one| benefit_lines(coverage, one)));
        }
        if !other.is_empty() {
            segments.push(status_line("I", Some(coverage), &other));
        }
    }
    segments
}

/// Whether a benefit is part of the answer: all are when the plan as a whole was asked for.
fn concerns(benefit: &Benefit, asked: &[String]) -> bool {
    let all = asked.iter().any(|code| code == "30") || benefit.service_types.is_empty();
    all || benefit
        .service_types
        .iter()
        .any(|code| asked.contains(code))
}

fn status_line(status: &str, coverage: Option<&Coverage>, service_types: &[String]) -> Segment {
    Segment::new(
        "EB",
        [
            status.into(),
            coverage.map_or("", |one| one.level.code()).into(),
            Element::repeated(service_types.iter().cloned()),
            coverage
                .and_then(|one| one.insurance_type.as_deref())
                .unwrap_or("")
                .into(),
            coverage.map_or("", |one| &*one.plan_name).into(),
        ],
    )
}

fn benefit_lines(coverage: &Coverage, benefit: &Benefit) -> Vec<Segment> {
    let whole = vec!["30".to_owned()];
    let service_types = match benefit.service_types.as_slice() {
        [] => &whole,
        _ => &benefit.service_types,
    };
    let flag = |value: Option<bool>| match value {
        Some(true) => "Y",
        Some(false) => "N",
        None => "",
    };
    let amount = benefit.amount.as_ref().map(|one| one.to_x12());
    let percent = benefit.percent.as_ref().map(|one| one.percent_to_x12());
    let quantity = benefit.quantity.as_ref().map(|one| one.to_x12());
    let unit = quantity
        .as_ref()
        .map_or("", |_| benefit.quantity_unit.code());
    let line = Segment::new(
        "EB",
        [
            benefit.kind.code().into(),
            coverage.level.code().into(),
            Element::repeated(service_types.iter().cloned()),
            coverage.insurance_type.as_deref().unwrap_or("").into(),
            Element::empty(),
            benefit.period.map_or("", |period| period.code()).into(),
            amount.unwrap_or_default().into(),
            percent.unwrap_or_default().into(),
            unit.into(),
            quantity.unwrap_or_default().into(),
            flag(benefit.authorization_required).into(),
            flag(benefit.in_network).into(),
        ],
    );
    let message = benefit.message.as_deref();
    let message = message.map(|text| Segment::new("MSG", [text]));
    std::iter::once(line).chain(message).collect()
}

impl Member {
    /// The NM1 segment that names the member.
    pub(super) fn named(&self, entity: &str) -> Segment {
        let middle = self.middle_name.as_deref().unwrap_or("");
        Segment::new(
            "NM1",
            [
                entity,
                "1",
                &self.last_name,
                &self.first_name,
                middle,
                "",
                "",
                "MI",
                &self.member_id,
            ],
        )
    }
}

impl Dependent {
    /// The NM1 segment that names the dependent.
    pub(super) fn named(&self, entity: &str) -> Segment {
        Segment::new("NM1", [entity, "1", &self.last_name, &self.first_name])
    }
}
