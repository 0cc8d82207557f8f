//! Who is meant: the provider who asks and the person asked about, or why they are not accepted.

use super::{
    data::{Dependent, Member, Payer},
    outline::Answered,
    question::Person,
};
use proctor_x12::segment::Segment;

/// Why a question gets no answer: AAA03.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// `42`: the payer cannot answer now.
    UnableToRespond,
    /// `43`: the provider's id is missing or malformed.
    ProviderId,
    /// `51`: the payer does not know the provider.
    ProviderNotOnFile,
    /// `58`: a day of birth is missing or no day.
    BirthDate,
    /// `65`: the dependent's name is missing.
    PatientName,
    /// `67`: no such dependent.
    PatientNotFound,
    /// `71`: another day of birth is on file.
    BirthDateDiffers,
    /// `72`: no member has this id, or an id is needed.
    MemberId,
    /// `73`: the name is missing, or another is on file.
    MemberName,
    /// `75`: no member has this name and day of birth.
    MemberNotFound,
}

impl Rejection {
    /// AAA03.
    pub const fn code(self) -> &'static str {
        match self {
            Self::UnableToRespond => "42",
            Self::ProviderId => "43",
            Self::ProviderNotOnFile => "51",
            Self::BirthDate => "58",
            Self::PatientName => "65",
            Self::PatientNotFound => "67",
            Self::BirthDateDiffers => "71",
            Self::MemberId => "72",
            Self::MemberName => "73",
            Self::MemberNotFound => "75",
        }
    }

    /// AAA04: what the sender should do. A payer that is down may be asked again; a provider who is
    /// not on file cannot cure that by asking again; everything else can be corrected.
    pub const fn follow_up(self) -> &'static str {
        match self {
            Self::UnableToRespond => "R",
            Self::ProviderNotOnFile => "N",
            _ => "C",
        }
    }

    /// The AAA segment. AAA01 tells a good question that is refused from one that is wrong.
    pub fn segment(self) -> Segment {
        let valid = match self {
            Self::UnableToRespond => "Y",
            _ => "N",
        };
        Segment::new("AAA", [valid, "", self.code(), self.follow_up()])
    }
}

/// Whether ten digits are an NPI: the last one checks the others (Luhn over the prefix 80840).
pub fn is_npi(text: &str) -> bool {
    if text.len() != 10 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let sum: u32 = text
        .bytes()
        .rev()
        .enumerate()
        .map(|(index, byte)| match (index % 2, u32::from(byte - b'0')) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    // 24 is what the prefix adds.
    (sum + 24).is_multiple_of(10)
}

impl Payer {
    /// Whether a provider may ask, by the NM1 segment that names it.
    pub(super) fn admits(&self, provider: &Segment) -> Result<(), Rejection> {
        let (qualifier, id) = (provider.text(8), provider.text(9));
        if id.is_empty() || (qualifier == "XX" && !is_npi(id)) {
            return Err(Rejection::ProviderId);
        }
        if !self.providers.is_empty() && !self.providers.iter().any(|known| known == id) {
            return Err(Rejection::ProviderNotOnFile);
        }
        Ok(())
    }
}

impl Payer {
    /// The answer at the payer's own level; nothing follows while it is unavailable.
    pub(super) fn answer_as_source(&self, entity: &str) -> Answered {
        let mut segments = vec![self.named(entity)];
        if self.unavailable {
            segments.push(Rejection::UnableToRespond.segment());
        }
        Answered {
            segments,
            go_on: !self.unavailable,
        }
    }

    /// The answer at the level of who asks, by the NM1 segment that names it.
    pub(super) fn answer_receiver(&self, name: &Segment) -> Answered {
        let admitted = self.admits(name);
        let rejection = admitted.err().map(Rejection::segment);
        Answered {
            segments: std::iter::once(name.clone()).chain(rejection).collect(),
            go_on: admitted.is_ok(),
        }
    }
}

/// The member that is meant: by id, else by name and day of birth. With an id, a name or a day of
/// birth that is sent must agree with it.
pub(super) fn member<'m>(members: &'m [Member], asked: &Person) -> Result<&'m Member, Rejection> {
    if asked.birth_date_unreadable {
        return Err(Rejection::BirthDate);
    }
    if !asked.member_id.is_empty() {
        let found = members
            .iter()
            .find(|one| folded(&one.member_id) == folded(&asked.member_id))
            .ok_or(Rejection::MemberId)?;
        if !asked.last_name.is_empty() && !same(&found.last_name, &asked.last_name) {
            return Err(Rejection::MemberName);
        }
        if asked.birth_date.is_some_and(|day| day != found.birth_date) {
            return Err(Rejection::BirthDateDiffers);
        }
        return Ok(found);
    }
    let birth_date = match (asked.last_name.is_empty(), asked.birth_date) {
        (true, None) => return Err(Rejection::MemberId),
        (true, Some(_)) => return Err(Rejection::MemberName),
        (false, None) => return Err(Rejection::BirthDate),
        (false, Some(day)) => day,
    };
    let mut found = members.iter().filter(|one| {
        one.birth_date == birth_date
            && same(&one.last_name, &asked.last_name)
            && (asked.first_name.is_empty() || same(&one.first_name, &asked.first_name))
    });
    let first = found.next().ok_or(Rejection::MemberNotFound)?;
    // Two of the same name and day can only be told apart by their ids.
    match found.next() {
        Some(_) => Err(Rejection::MemberId),
        None => Ok(first),
    }
}

/// The dependent of a member that is meant, by given name and, if sent, family name and day of birth.
pub(super) fn dependent<'m>(
    member: &'m Member,
    asked: &Person,
) -> Result<&'m Dependent, Rejection> {
    if asked.birth_date_unreadable {
        return Err(Rejection::BirthDate);
    }
    if asked.first_name.is_empty() {
        return Err(Rejection::PatientName);
    }
    let named: Vec<_> = member
        .dependents
        .iter()
        .filter(|one| same(&one.first_name, &asked.first_name))
        .filter(|one| asked.last_name.is_empty() || same(&one.last_name, &asked.last_name))
        .collect();
    let Some(day) = asked.birth_date else {
        return match named.as_slice() {
            [] => Err(Rejection::PatientNotFound),
            [one] => Ok(one),
            _ => Err(Rejection::BirthDate),
        };
    };
    match named.iter().find(|one| one.birth_date == day) {
        Some(one) => Ok(one),
        None if named.is_empty() => Err(Rejection::PatientNotFound),
        None => Err(Rejection::BirthDateDiffers),
    }
}

fn same(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

/// Letters and digits only, without case: `O'Brien` and `OBRIEN` are one name.
fn folded(text: &str) -> String {
    let kept = text.chars().filter(|letter| letter.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}
