//! `/ui/search?q=`: ids in either dialect's spelling lead to their page; names are looked for.

use askama::Template;
use axum::{
    Router,
    extract::{RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use proctor_core::id::{
    Dialect, Id, Kind,
    kinds::{CriterionRunKind, DevboxKind, JobKind, RunKind, TaskRunKind},
};
use proctor_store::{
    names::Sought,
    page::{PageRequest, PageStart},
    run_lists::RunFilter,
};

use super::{
    page,
    runs::{RunRow, rows},
};
use crate::{
    error::PageError,
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/search", get(search))
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    shell: Shell,
    sought: String,
    rows: Vec<RunRow>,
}

fn id<K: Kind>(text: &str) -> Option<Id<K>> {
    let verial = Id::<K>::from_wire(text, Dialect::Verial);
    verial
        .or_else(|_| Id::from_wire(text, Dialect::Runloop))
        .ok()
}

/// The page of an id.
fn page_of(text: &str) -> Option<String> {
    None.or_else(|| id::<RunKind>(text).map(|id| format!("/ui/runs/{id}")))
        .or_else(|| id::<TaskRunKind>(text).map(|id| format!("/ui/task-runs/{id}")))
        .or_else(|| id::<CriterionRunKind>(text).map(|id| format!("/ui/criterion-runs/{id}")))
        .or_else(|| id::<JobKind>(text).map(|id| format!("/ui/jobs/{id}")))
        .or_else(|| id::<DevboxKind>(text).map(|id| format!("/ui/devboxes/{id}")))
}

async fn search(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::read(query.as_deref());
    let sought = params.get("q").unwrap_or_default().trim().to_owned();
    if let Some(target) = page_of(&sought) {
        return Ok(Redirect::to(&target).into_response());
    }
    let filter = |filter: RunFilter| RunFilter {
        solver: visitor.solver(),
        ..filter
    };
    let request = PageRequest {
        limit: 50,
        from: PageStart::Newest,
        count: false,
    };
    let mut found = Vec::new();
    if !sought.is_empty() {
        let by_name = filter(RunFilter {
            sought: Sought {
                search: Some(sought.clone()),
                ..Sought::default()
            },
            ..RunFilter::default()
        });
        let by_agent = filter(RunFilter {
            agent: Some(sought.clone()),
            ..RunFilter::default()
        });
        let by_slug = sought.split('@').next().unwrap_or_default().to_owned();
        let by_slug = by_slug.try_into().ok().map(|slug| {
            filter(RunFilter {
                slug: Some(slug),
                ..RunFilter::default()
            })
        });
        for filter in [Some(by_name), Some(by_agent), by_slug]
            .into_iter()
            .flatten()
        {
            let part = state
                .store()
                .find_runs(visitor.organization(), &filter, request)
                .await?;
            found.extend(part.items);
        }
        found.sort_by_key(|run| std::cmp::Reverse(run.id));
        found.dedup_by_key(|run| run.id);
    }
    page(&SearchPage {
        shell: visitor.shell("Search", Section::None),
        rows: rows(&state, found).await?,
        sought,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_in_either_spelling_has_its_page() {
        let bare = "01M7PWNWATEWBSZ0MWY8WHBY0G";
        for (id, page) in [
            (format!("br_{bare}"), format!("/ui/runs/br_{bare}")),
            (format!("bmr_{bare}"), format!("/ui/runs/br_{bare}")),
            (format!("scr_{bare}"), format!("/ui/task-runs/tr_{bare}")),
            (
                format!("crun_{bare}"),
                format!("/ui/criterion-runs/crun_{bare}"),
            ),
        ] {
            assert_eq!(page_of(&id), Some(page));
        }
        assert_eq!(page_of("night shift"), None);
    }
}
