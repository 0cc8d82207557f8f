//! Whom the payer knows: members as patients, and providers.

use proctor_core::{problem::Problem, time::Timestamp};
use proctor_simulation::exchange::{Request, Response};
use proctor_x12::day::Day;
use serde_json::{Value, json};

use super::{listed, shown};
use crate::{
    desk::PayerDesk,
    handled::Handling,
    records::{Provider, fold},
    x12::Member,
};

/// The most records that one search shows.
const MOST_SHOWN: usize = 100;

/// `GET portal/patients?member_id=&last_name=&dob=`.
pub(super) fn patients(desk: &PayerDesk, request: &Request, now: Timestamp) -> Handling {
    request.check_parameters(&["member_id", "last_name", "dob", "birth_date"])?;
    let wanted = |name: &str| request.parameter(name).filter(|text| !text.is_empty());
    let dob = wanted("dob").or_else(|| wanted("birth_date"));
    if let Some(problem) = dob.as_deref().and_then(|text| text.parse::<Day>().err()) {
        return Err(Box::new(Response::invalid(&[Problem::error(
            "dob",
            problem.to_string(),
        )])));
    }
    let found = find_patients(
        desk,
        wanted("member_id").as_deref(),
        wanted("last_name").as_deref(),
        dob.as_deref(),
        now,
    );
    Ok(listed(&found))
}

/// `GET portal/patients/{member_id}`.
pub(super) fn patient(desk: &PayerDesk, id: &str, now: Timestamp) -> Handling {
    let found = find_patients(desk, Some(id), None, None, now);
    match found.into_iter().next() {
        Some(patient) => Ok(shown(&patient).telling("row", patient)),
        None => Err(Box::new(Response::not_found(format!(
            "no member has the id '{id}'"
        )))),
    }
}

/// Members, and patients that a scenario brought, by what is known of them.
pub(crate) fn find_patients(
    desk: &PayerDesk,
    member_id: Option<&str>,
    last_name: Option<&str>,
    dob: Option<&str>,
    now: Timestamp,
) -> Vec<Value> {
    let last_name = last_name.map(str::to_lowercase);
    let fits = |id: &str, name: &str, born: &str| {
        member_id.is_none_or(|wanted| fold(wanted) == fold(id))
            && last_name
                .as_deref()
                .is_none_or(|wanted| name.to_lowercase().starts_with(wanted.trim()))
            && dob.is_none_or(|wanted| wanted == born)
    };
    // An id leads straight to its member.
    let by_id = member_id.and_then(|id| desk.members.get(&fold(id)));
    let all = desk.members.iter().filter(|_| member_id.is_none());
    let members = by_id
        .into_iter()
        .chain(all)
        .filter(|one| fits(&one.member_id, &one.last_name, &one.birth_date.to_string()))
        .map(|one| patient_view(one, desk.patient_of(&one.member_id), now));
    let rows = desk.rows_of("patients").iter();
    let rows = rows
        .filter(|row| {
            let text = |name| row.text(name).unwrap_or_default();
            let born = row.text("dob").unwrap_or_else(|| text("birth_date"));
            fits(text("member_id"), text("last_name"), born)
        })
        .map(|row| row.fields.clone());
    members.chain(rows).take(MOST_SHOWN).collect()
}

fn patient_view(member: &Member, patient_id: Option<&str>, now: Timestamp) -> Value {
    let today = Day::of(now);
    let coverages: Vec<Value> = member
        .coverages
        .iter()
        .map(|one| {
            json!({
                "plan_name": one.plan_name,
                "group_number": one.group_number,
                "start": one.start,
                "end": one.end,
                "active": one.is_active(today),
            })
        })
        .collect();
    json!({
        "member_id": member.member_id,
        "patient_id": patient_id,
        "first_name": member.first_name,
        "middle_name": member.middle_name,
        "last_name": member.last_name,
        "dob": member.birth_date,
        "gender": member.gender,
        "address": member.address,
        "coverages": coverages,
        "dependents": member.dependents,
    })
}

/// `GET portal/providers?npi=&name=`.
pub(super) fn providers(desk: &PayerDesk, request: &Request) -> Handling {
    request.check_parameters(&["npi", "name"])?;
    let wanted = |name: &str| request.parameter(name).filter(|text| !text.is_empty());
    let found = find_providers(desk, wanted("npi").as_deref(), wanted("name").as_deref());
    Ok(listed(&found))
}

/// `GET portal/providers/{npi}`.
pub(super) fn provider(desk: &PayerDesk, npi: &str) -> Handling {
    match find_providers(desk, Some(npi), None).into_iter().next() {
        Some(provider) => Ok(shown(&provider).telling("row", provider)),
        None => Err(Box::new(Response::not_found(format!(
            "no provider has the NPI '{npi}'"
        )))),
    }
}

/// Providers by NPI, or by all words of a name.
pub(crate) fn find_providers(
    desk: &PayerDesk,
    npi: Option<&str>,
    name: Option<&str>,
) -> Vec<Value> {
    let name = name.map(str::to_lowercase);
    let fits = |has_npi: &str, has_name: &str| {
        let has_name = has_name.to_lowercase();
        npi.is_none_or(|wanted| fold(wanted) == fold(has_npi))
            && name.as_deref().is_none_or(|wanted| {
                wanted
                    .split_whitespace()
                    .all(|word| has_name.contains(word))
            })
    };
    let by_npi = npi.and_then(|npi| desk.providers.get(&fold(npi)));
    let all = desk.providers.iter().filter(|_| npi.is_none());
    let listed = by_npi
        .into_iter()
        .chain(all)
        .filter(|one| fits(&one.npi, &one.name))
        .map(|one: &Provider| json!(one));
    let rows = desk.rows_of("providers").iter();
    let rows = rows
        .filter(|row| {
            fits(
                row.text("npi").unwrap_or_default(),
                row.text("name").unwrap_or_default(),
            )
        })
        .map(|row| row.fields.clone());
    listed.chain(rows).take(MOST_SHOWN).collect()
}
