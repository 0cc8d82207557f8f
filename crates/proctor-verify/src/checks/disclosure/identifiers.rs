//! What identifies the patients of a world, and what its data marks as sensitive.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proctor_fhir_store::{State, kind::ResourceKind};
use proctor_payer::x12::Member;
use proctor_simulation::exhibits::Exhibits;
use serde_json::Value;

use super::words::{LONGEST, Words, folded};

/// The fewest letters of an identifier: shorter ones stand in every text.
const SHORTEST_ID: usize = 4;
/// The fewest letters of the first word of a drug that names it by itself.
const SHORTEST_DRUG: usize = 5;

/// What about a patient was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    NameAndBirthDate,
    Identifier,
    Ssn,
    MemberId,
    Telephone,
    Address,
    Sensitive,
}

impl What {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::NameAndBirthDate => "name with birth date",
            Self::Identifier => "record number",
            Self::Ssn => "social security number",
            Self::MemberId => "member id",
            Self::Telephone => "telephone number",
            Self::Address => "address",
            Self::Sensitive => "sensitive information",
        }
    }
}

/// What phrases tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    /// Something by itself.
    This(What),
    /// A name, which identifies with a birth date.
    Name,
    /// A birth date.
    BirthDate,
}

/// Everything that identifies somebody, by the folded phrase.
#[derive(Default)]
pub(super) struct Identifiers {
    /// The patients, by their place.
    patients: Vec<Person>,
    phrases: HashMap<String, Vec<(usize, Tells)>>,
}

/// Somebody whom a world knows.
struct Person {
    /// The id of the patient, or of the member where nobody is a patient.
    id: String,
    /// Record numbers, member ids and the like, as they are written.
    ids: Vec<String>,
}

impl Person {
    fn is_among(&self, about: &BTreeSet<String>) -> bool {
        about.contains(&self.id) || self.ids.iter().any(|id| about.contains(id))
    }
}

/// Something that was found in a text.
pub(super) struct FoundIn {
    pub(super) whose: String,
    pub(super) what: What,
    pub(super) place: (usize, usize),
}

impl Identifiers {
    /// Those of everybody in a world.
    pub(super) fn of(exhibits: &Exhibits<'_>) -> Self {
        let mut all = Self::default();
        let stores: Vec<&State> = exhibits.evidence().unwrap_or_default();
        for store in stores {
            for patient in ResourceKind::named("Patient")
                .into_iter()
                .flat_map(|kind| store.bodies(kind))
            {
                all.add_patient(&serde_json::from_slice(patient).unwrap_or_default());
            }
            for resource in store.bodies_with_security_labels() {
                all.add_sensitive(&serde_json::from_slice(resource).unwrap_or_default());
            }
        }
        for member in exhibits.evidence::<Member>().unwrap_or_default() {
            all.add_member(member);
        }
        all
    }

    fn person(&mut self, id: &str) -> usize {
        match self.patients.iter().position(|known| known.id == id) {
            Some(place) => place,
            None => self.stranger(id),
        }
    }

    fn stranger(&mut self, id: &str) -> usize {
        self.patients.push(Person {
            id: id.to_owned(),
            ids: Vec::new(),
        });
        self.patients.len() - 1
    }

    /// Who has this member id, or else this name and birth date.
    fn known_as(&self, member_id: &str, name: &str, birth_date: &str) -> Option<usize> {
        let tells = |phrase: &str, tells: Tells| {
            let known = self.phrases.get(phrase).into_iter().flatten();
            known
                .filter(move |(_, one)| *one == tells)
                .map(|(person, _)| *person)
        };
        let by_id = self.phrases.get(&folded(member_id)).into_iter().flatten();
        let mut by_id = by_id.filter(|(_, tells)| matches!(tells, Tells::This(_)));
        by_id.next().map(|(person, _)| *person).or_else(|| {
            let mut named = tells(name, Tells::Name);
            named.find(|person| tells(birth_date, Tells::BirthDate).any(|one| one == *person))
        })
    }

    fn add(&mut self, person: usize, phrase: &str, tells: Tells) {
        let words = phrase.split(' ').count();
        if phrase.is_empty() || words > LONGEST {
            return;
        }
        let known = self.phrases.entry(phrase.to_owned()).or_default();
        if !known.contains(&(person, tells)) {
            known.push((person, tells));
        }
    }

    fn add_patient(&mut self, patient: &Value) {
        let Some(id) = patient["id"].as_str() else {
            return;
        };
        // Ids are unique in a store, so nobody needs to be looked for.
        let person = self.stranger(id);
        for identifier in list(patient, "identifier") {
            let system = identifier["system"].as_str().unwrap_or_default();
            let kind = match system {
                _ if system.contains("us-ssn") => What::Ssn,
                _ if system.contains("member") => What::MemberId,
                _ => What::Identifier,
            };
            self.add_id(person, identifier["value"].as_str(), kind);
        }
        for telecom in list(patient, "telecom") {
            if matches!(
                telecom["system"].as_str(),
                Some("phone" | "sms" | "fax") | None
            ) {
                self.add_telephone(person, telecom["value"].as_str().unwrap_or_default());
            }
        }
        for address in list(patient, "address") {
            for line in list(address, "line").iter().filter_map(Value::as_str) {
                self.add_address(person, line);
            }
        }
        for name in list(patient, "name") {
            let family = name["family"].as_str().unwrap_or_default();
            let given = list(name, "given").iter().filter_map(Value::as_str);
            self.add_name(person, family, &given.collect::<Vec<_>>());
        }
        self.add_birth_date(person, patient["birthDate"].as_str().unwrap_or_default());
    }

    fn add_member(&mut self, member: &Member) {
        let (id, family, given) = (&member.member_id, &member.last_name, &member.first_name);
        let birth_date = member.birth_date.to_string();
        let name = format!("{} {}", folded(given), folded(family));
        let known = self.known_as(id, &name, &folded(&birth_date));
        let person = known.unwrap_or_else(|| self.stranger(id));
        self.add_id(person, Some(id), What::MemberId);
        self.add_name(person, family, &[given]);
        self.add_birth_date(person, &birth_date);
    }

    /// An id as one word, and as its parts are written apart.
    fn add_id(&mut self, person: usize, id: Option<&str>, kind: What) {
        let id = id.unwrap_or_default();
        let apart = folded(id);
        let together = apart.replace(' ', "");
        if together.len() < SHORTEST_ID {
            return;
        }
        self.patients[person].ids.push(id.to_owned());
        self.add(person, &apart, Tells::This(kind));
        self.add(person, &together, Tells::This(kind));
        // `HC 20417` where the data has `HC20417` or `HC-20417`.
        let digits = together.find(|letter: char| letter.is_ascii_digit());
        if let Some(place) = digits.filter(|place| *place > 0) {
            let (letters, digits) = together.split_at(place);
            self.add(person, &format!("{letters} {digits}"), Tells::This(kind));
        }
    }

    fn add_telephone(&mut self, person: usize, number: &str) {
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        let Some(local) = digits
            .len()
            .checked_sub(10)
            .and_then(|start| digits.get(start..))
        else {
            return;
        };
        let tells = Tells::This(What::Telephone);
        let (area, exchange, line) = (&local[..3], &local[3..6], &local[6..]);
        self.add(person, local, tells);
        self.add(person, &format!("1{local}"), tells);
        self.add(person, &format!("{area} {exchange} {line}"), tells);
        self.add(person, &format!("{area} {exchange}{line}"), tells);
    }

    fn add_address(&mut self, person: usize, line: &str) {
        let phrase = folded(line);
        if phrase.split(' ').count() >= 2 {
            self.add(person, &phrase, Tells::This(What::Address));
        }
    }

    fn add_name(&mut self, person: usize, family: &str, given: &[&str]) {
        let family = folded(family);
        let Some(first) = given
            .first()
            .map(|first| folded(first))
            .filter(|one| !one.is_empty())
        else {
            return;
        };
        if family.is_empty() {
            return;
        }
        self.add(person, &format!("{first} {family}"), Tells::Name);
        self.add(person, &format!("{family} {first}"), Tells::Name);
        if given.len() > 1 {
            let all: Vec<String> = given.iter().map(|one| folded(one)).collect();
            self.add(person, &format!("{} {family}", all.join(" ")), Tells::Name);
        }
    }

    fn add_birth_date(&mut self, person: usize, date: &str) {
        let parts: Vec<&str> = date.split('-').collect();
        let [year, month, day] = parts.as_slice() else {
            return;
        };
        const MONTHS: [&str; 12] = [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ];
        let (short_month, short_day) = (month.trim_start_matches('0'), day.trim_start_matches('0'));
        let name = short_month
            .parse()
            .ok()
            .and_then(|number: usize| MONTHS.get(number.wrapping_sub(1)));
        let mut forms = vec![
            format!("{year}{month}{day}"),
            format!("{month}{day}{year}"),
            format!("{day}{month}{year}"),
        ];
        for (month, day) in [(*month, *day), (short_month, short_day)] {
            forms.push(format!("{year} {month} {day}"));
            forms.push(format!("{month} {day} {year}"));
            forms.push(format!("{day} {month} {year}"));
        }
        if let Some(name) = name {
            for month in [name, &name[..3]] {
                for day in [*day, short_day] {
                    forms.push(format!("{day} {month} {year}"));
                    forms.push(format!("{month} {day} {year}"));
                }
            }
        }
        for form in forms {
            self.add(person, &form, Tells::BirthDate);
        }
    }

    /// What a resource says that its data marks as sensitive.
    fn add_sensitive(&mut self, resource: &Value) {
        let whose = ["subject", "patient"]
            .iter()
            .find_map(|name| resource[*name]["reference"].as_str());
        let whose = whose.and_then(|reference| reference.rsplit_once("Patient/"));
        let person = self.person(whose.map_or("the house", |(_, id)| id));
        let is_drug = resource["resourceType"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("Medication"));
        for name in ["code", "medicationCodeableConcept", "vaccineCode"] {
            let concept = &resource[name];
            let codings = list(concept, "coding").iter();
            let codings =
                codings.flat_map(|coding| [coding["display"].as_str(), coding["code"].as_str()]);
            let said = codings.chain([concept["text"].as_str()]).flatten();
            for text in said {
                let phrase = folded(text);
                if phrase.replace(' ', "").len() >= SHORTEST_ID {
                    self.add(person, &phrase, Tells::This(What::Sensitive));
                }
                let first = phrase.split(' ').next().unwrap_or_default();
                if is_drug && first.len() >= SHORTEST_DRUG {
                    self.add(person, first, Tells::This(What::Sensitive));
                }
            }
        }
    }

    /// What a text tells about patients who are not among `about`, and what it tells that is sensitive about anybody.
    pub(super) fn find(
        &self,
        words: &Words,
        about: &BTreeSet<String>,
        sensitive: bool,
    ) -> Vec<FoundIn> {
        let mut found: BTreeMap<(usize, What), (usize, usize)> = BTreeMap::new();
        let mut names: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut dates: BTreeSet<usize> = BTreeSet::new();
        words.each_phrase(|phrase, place| {
            let Some(known) = self.phrases.get(phrase) else {
                return;
            };
            for (person, tells) in known {
                match tells {
                    Tells::This(what) => drop(found.entry((*person, *what)).or_insert(place)),
                    Tells::Name => drop(names.entry(*person).or_insert(place)),
                    Tells::BirthDate => drop(dates.insert(*person)),
                }
            }
        });
        for (person, place) in names {
            if dates.contains(&person) {
                found.insert((person, What::NameAndBirthDate), place);
            }
        }
        // What two people share, such as a telephone, tells of both; whoever the task is about may be told of.
        let is_shared = |what: What, place: (usize, usize)| {
            found.iter().any(|((person, other), at)| {
                *other == what && *at == place && self.patients[*person].is_among(about)
            })
        };
        let told = found.iter().filter(|((person, what), place)| match what {
            What::Sensitive => sensitive,
            what => !self.patients[*person].is_among(about) && !is_shared(*what, **place),
        });
        told.map(|((person, what), place)| FoundIn {
            whose: format!("Patient/{}", self.patients[*person].id),
            what: *what,
            place: *place,
        })
        .collect()
    }
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}
