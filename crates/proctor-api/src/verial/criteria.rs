//! `/criteria`: what is checked afterwards.

use proctor_core::{
    definition::{Check, check_key},
    id::kinds::{CriterionId, CriterionKind, EntityId, TaskId},
    scoring::{Weight, check_axis},
};
use proctor_engine::authoring;
use proctor_store::criteria::{CriterionDraft, CriterionRecord};
use serde_json::{Number, Value};
use utoipa::IntoParams;

use super::{entities, prelude::*, tasks};

/// A criterion.
#[derive(Serialize, ToSchema)]
pub(crate) struct CriterionView {
    #[schema(value_type = String, example = "crit_01K0000000000000000000000A")]
    id: CriterionId,
    #[schema(value_type = String, example = "task_01K0000000000000000000000A")]
    task_id: TaskId,
    /// What people call it.
    label: String,
    /// How much it counts.
    #[schema(value_type = f64)]
    weight: Weight,
    /// The axis it counts on.
    axis: Option<String>,
    /// The one of the task's entities that templates mean by `entity`.
    #[schema(value_type = Option<String>, example = "ent_01K0000000000000000000000A")]
    input_entity_id: Option<EntityId>,
    /// A short name inside its task; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Whether missing it caps the verdict at `fail`; absent where it does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    critical: bool,
    /// Whether its sub-assertions count only together; absent where they do not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    all: bool,
    /// The keys of the criteria of its task without which it counts 0; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requires: Vec<String>,
    /// How it is checked, as it was given; null when a scorer checks it.
    #[schema(value_type = Value)]
    assertion: Value,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// What its author should know; only in the answer to a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<Vec<String>>,
}

impl CriterionView {
    fn of(criterion: CriterionRecord) -> Self {
        let draft = criterion.content;
        Self {
            id: criterion.id,
            task_id: draft.task,
            label: draft.label,
            weight: draft.weight,
            axis: draft.axis,
            input_entity_id: draft.input_entity,
            key: draft.key,
            critical: draft.critical,
            all: draft.all,
            requires: draft.requires,
            assertion: match draft.check {
                Check::Assertion(assertion) => assertion,
                Check::Scorer(_) => Value::Null,
            },
            created_at: criterion.created_at,
            updated_at: criterion.updated_at,
            warnings: None,
        }
    }
}

/// The criterion for its author, who just changed it.
async fn view_with_warnings(
    state: &ApiState,
    caller: &OrganizationCaller,
    criterion: CriterionRecord,
) -> Result<Json<CriterionView>, ApiError> {
    let warnings = authoring::warnings(
        state.store(),
        &state.engine().extensions().checks,
        caller.id(),
        &criterion,
    )
    .await?;
    Ok(Json(CriterionView {
        warnings: Some(warnings),
        ..CriterionView::of(criterion)
    }))
}

// Lengths in characters.
const LABEL: usize = 500;
const AXIS: usize = 100;
const MOST_REQUIRED: usize = 50;

/// What a new criterion is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewCriterionBody {
    #[schema(value_type = String, required, example = "task_01K0000000000000000000000A")]
    task_id: Option<TaskId>,
    #[schema(value_type = String, required, min_length = 1, max_length = 500)]
    label: Option<String>,
    /// How much it counts: finite, at least 0; 1 when absent.
    #[schema(value_type = Option<f64>, minimum = 0, default = 1)]
    weight: Option<Number>,
    /// The axis it counts on; `__default__` is the name of having none.
    #[schema(min_length = 1, max_length = 100)]
    axis: Option<String>,
    /// The one of the task's entities that templates mean by `entity`.
    #[schema(value_type = Option<String>, example = "ent_01K0000000000000000000000A")]
    input_entity_id: Option<EntityId>,
    /// A short name inside its task, for `requires`, captures and reports.
    #[schema(min_length = 1, max_length = 64, example = "wrong-patient")]
    key: Option<String>,
    /// Whether missing it caps the verdict of the task and of its run at `fail`.
    #[schema(default = false)]
    critical: Option<bool>,
    /// Whether its sub-assertions count only together: 1 or 0.
    #[schema(default = false)]
    all: Option<bool>,
    /// The keys of the criteria of its task without which it counts 0.
    #[schema(max_items = 50)]
    requires: Option<Vec<String>>,
    /// How it is checked. It is kept as it is given; what is not supported is warned about, and
    /// refused when the benchmark is published.
    #[schema(value_type = Value, required)]
    assertion: Option<Value>,
}

impl NewCriterionBody {
    fn into_draft(self) -> Result<CriterionDraft, ApiError> {
        let mut checks = Checks::default();
        let task = checks.required("task_id", self.task_id);
        let label = checks.text("label", self.label, 1..=LABEL);
        let weight = self
            .weight
            .map_or(Weight::ONE, |weight| read_weight(&mut checks, &weight));
        let axis = read_axis(&mut checks, self.axis);
        let key = read_key(&mut checks, self.key);
        let requires = read_requires(&mut checks, self.requires);
        let assertion = checks.required("assertion", self.assertion);
        let assertion = assertion.unwrap_or_default();
        checks.document("assertion", &assertion);
        checks.finish()?;
        Ok(CriterionDraft {
            task: task.ok_or_else(|| ApiError::field("task_id", "is required"))?,
            label,
            weight,
            axis,
            input_entity: self.input_entity_id,
            key,
            critical: self.critical.unwrap_or_default(),
            all: self.all.unwrap_or_default(),
            requires,
            check: Check::Assertion(assertion),
        })
    }
}

fn read_axis(checks: &mut Checks, axis: Option<String>) -> Option<String> {
    let axis = checks.optional_text("axis", axis, 1..=AXIS);
    if let Some(Err(bad)) = axis.as_deref().map(check_axis) {
        checks.refuse("axis", bad.to_string());
    }
    axis
}

fn read_key(checks: &mut Checks, key: Option<String>) -> Option<String> {
    if let Some(Err(bad)) = key.as_deref().map(check_key) {
        checks.refuse("key", bad.to_string());
    }
    key
}

/// Keys that somebody requires. Whether there are such criteria is asked when the benchmark is published.
fn read_requires(checks: &mut Checks, keys: Option<Vec<String>>) -> Vec<String> {
    let keys = keys.unwrap_or_default();
    if keys.len() > MOST_REQUIRED {
        checks.refuse("requires", format!("holds more than {MOST_REQUIRED} keys"));
    }
    for (number, key) in keys.iter().enumerate().take(MOST_REQUIRED) {
        if let Err(bad) = check_key(key) {
            checks.refuse(&format!("requires.{number}"), bad.to_string());
        }
    }
    keys
}

fn read_weight(checks: &mut Checks, weight: &Number) -> Weight {
    Weight::written(weight).unwrap_or_else(|bad| {
        checks.refuse("weight", bad.to_string());
        Weight::default()
    })
}

/// What is to change; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CriterionChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 500)]
    label: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = f64, minimum = 0)]
    weight: Option<Option<Number>>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100)]
    axis: Option<Option<String>>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    input_entity_id: Option<Option<EntityId>>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 64)]
    key: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<bool>)]
    critical: Option<Option<bool>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<bool>)]
    all: Option<Option<bool>>,
    /// Replaces all; null removes them.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>, max_items = 50)]
    requires: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Value)]
    assertion: Option<Option<Value>>,
}

impl CriterionChanges {
    fn apply(self, old: &CriterionDraft) -> Result<CriterionDraft, ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.clone();
        if let Some(label) = checks.replaced_text("label", self.label, 1..=LABEL) {
            draft.label = label;
        }
        let weight = self.weight.map(|weight| weight.map(Some));
        if let Some(weight) = checks.replaced("weight", weight, None) {
            draft.weight = read_weight(&mut checks, &weight);
        }
        if let Some(axis) = self.axis {
            draft.axis = read_axis(&mut checks, axis);
        }
        if let Some(entity) = self.input_entity_id {
            draft.input_entity = entity;
        }
        if let Some(key) = self.key {
            draft.key = read_key(&mut checks, key);
        }
        if let Some(critical) = self.critical {
            draft.critical = critical.unwrap_or_default();
        }
        if let Some(all) = self.all {
            draft.all = all.unwrap_or_default();
        }
        if let Some(requires) = self.requires {
            draft.requires = read_requires(&mut checks, requires);
        }
        if let Some(Some(assertion)) = &self.assertion {
            checks.document("assertion", assertion);
        }
        let check = self.assertion.map(|new| new.map(Check::Assertion));
        draft.check = checks.replaced("assertion", check, draft.check);
        checks.finish()?;
        Ok(draft)
    }
}

/// Which criteria are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CriterionFilter {
    /// Only those of this task.
    #[param(value_type = Option<String>)]
    task_id: Option<TaskId>,
}

/// Refuses a criterion whose entity is not the caller's. Whether its task is about the entity is
/// asked when the benchmark is published.
async fn know_entity(
    state: &ApiState,
    caller: &OrganizationCaller,
    draft: &CriterionDraft,
) -> Result<(), ApiError> {
    if let Some(entity) = draft.input_entity {
        entities::find(state, caller, entity).await?;
    }
    Ok(())
}

authored! {
    CriterionId at "/criteria/{id}", "Verial: criteria", "The criterion's id";
    store(criterion -> CriterionRecord, delete_criterion);
    /// Shows a criterion.
    get get_criterion -> CriterionView "The criterion", shown as CriterionView::of;
    /// Removes a criterion.
    delete delete_criterion "The criterion is gone";
}

/// Lists the organization's criteria, of one task or all.
#[utoipa::path(
    get,
    path = "/criteria",
    tag = "Verial: criteria",
    params(CriterionFilter, VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The criteria, newest first",
            body = VerialList<CriterionView>,
        ),
    ),
)]
pub(crate) async fn list_criteria(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<CriterionKind, CriterionFilter>,
) -> Result<Json<VerialList<CriterionView>>, ApiError> {
    let filter = &page.1;
    if let Some(task) = filter.task_id {
        tasks::find(&state, &caller, task).await?;
    }
    let criteria = state
        .store()
        .criteria(caller.id(), filter.task_id, page.0)
        .await?;
    Ok(page.answer(criteria, |one| one.id, CriterionView::of))
}

/// Makes a criterion.
#[utoipa::path(
    post,
    path = "/criteria",
    tag = "Verial: criteria",
    request_body = NewCriterionBody,
    security(("organization_key" = [])),
    responses(
        (
            status = 201,
            description = "The criterion, with warnings for its author",
            body = CriterionView,
        ),
    ),
)]
pub(crate) async fn create_criterion(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewCriterionBody>,
) -> Result<(StatusCode, Json<CriterionView>), ApiError> {
    let draft = body.into_draft()?;
    tasks::find(&state, &caller, draft.task).await?;
    know_entity(&state, &caller, &draft).await?;
    let criterion = state.store().create_criterion(caller.id(), draft).await?;
    let view = view_with_warnings(&state, &caller, criterion).await?;
    Ok((StatusCode::CREATED, view))
}

/// Changes a criterion.
///
/// Fields that are absent stay as they are. Published versions keep what they froze.
#[utoipa::path(
    patch,
    path = "/criteria/{id}",
    tag = "Verial: criteria",
    params(("id" = String, Path, description = "The criterion's id")),
    request_body = CriterionChanges,
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The criterion as it is now, with warnings for its author",
            body = CriterionView,
        ),
    ),
)]
pub(crate) async fn update_criterion(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<CriterionId>,
    Json(changes): Json<CriterionChanges>,
) -> Result<Json<CriterionView>, ApiError> {
    let criterion = find(&state, &caller, id).await?;
    let draft = changes.apply(&criterion.content)?;
    know_entity(&state, &caller, &draft).await?;
    let criterion = state.store().update_criterion(&criterion, draft).await?;
    view_with_warnings(&state, &caller, criterion).await
}
