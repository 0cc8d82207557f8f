//! `/tasks`: what is to be done.

use std::collections::BTreeMap;

use proctor_core::{
    definition::{ClockPolicy, Requirements, Seconds},
    id::kinds::{BenchmarkId, TaskId, TaskKind},
    problem::Problem,
};
use proctor_engine::authoring::scenario_problems;
use proctor_simulation::registry::SimulatorRegistry;
use proctor_store::tasks::{TaskDraft, TaskRecord};
use serde_json::Value;
use utoipa::IntoParams;

use super::{
    benchmarks::{self, TIMEOUT},
    prelude::*,
};

/// A task.
#[derive(Serialize, ToSchema)]
pub(crate) struct TaskView {
    #[schema(value_type = String, example = "task_01K0000000000000000000000A")]
    id: TaskId,
    /// The benchmark that it is in; the oldest of several.
    #[schema(value_type = Option<String>, example = "bench_01K0000000000000000000000A")]
    benchmark_id: Option<BenchmarkId>,
    /// What people call it.
    name: String,
    /// How many seconds it may take; the benchmark's limit when null.
    timeout: Option<u32>,
    /// Labels for choosing.
    tags: Vec<String>,
    /// What the taker is told.
    #[schema(value_type = Option<Value>)]
    task_item: Value,
    /// What happens when the task starts, in order.
    #[schema(value_type = Vec<Object>)]
    scenario: Vec<Value>,
    /// `fixed` where the taker may not advance the world's clock; absent where it may.
    #[serde(skip_serializing_if = "ClockPolicy::is_advanceable")]
    #[schema(value_type = Option<String>)]
    clock: ClockPolicy,
    /// Values of the finished world that criteria may name as `{{captured.NAME}}`; absent where there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Option<Object>)]
    capture: BTreeMap<String, Value>,
    /// How it is solved. No taker ever sees it.
    #[schema(value_type = Option<Value>)]
    solution: Value,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl TaskView {
    fn of(task: TaskRecord, benchmark_id: Option<BenchmarkId>) -> Self {
        let draft = task.content;
        Self {
            id: task.id,
            benchmark_id,
            name: draft.name,
            timeout: draft.timeout.map(Seconds::get),
            tags: draft.tags,
            task_item: draft.brief,
            scenario: draft.scenario,
            clock: draft.clock,
            capture: draft.capture,
            solution: draft.reference,
            created_at: task.created_at,
            updated_at: task.updated_at,
        }
    }
}

const NAME: usize = 200;
const MOST_TAGS: usize = 50;
const TAG: usize = 100;

/// What a new task is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewTaskBody {
    #[schema(value_type = String, required, example = "bench_01K0000000000000000000000A")]
    benchmark_id: Option<BenchmarkId>,
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    name: Option<String>,
    /// How many seconds it may take; the benchmark's limit when absent.
    #[schema(minimum = 1, maximum = 86400)]
    timeout: Option<u32>,
    /// Labels for choosing.
    #[schema(max_items = 50)]
    tags: Option<Vec<String>>,
    /// What the taker is told: any document.
    #[schema(value_type = Option<Value>)]
    task_item: Option<Value>,
    /// What happens when the task starts, in order: objects whose `type` says what.
    #[schema(value_type = Option<Vec<Object>>)]
    scenario: Option<Vec<Value>>,
    /// Whether the taker may advance the world's clock: `advanceable`, the default, or `fixed`.
    #[schema(example = "fixed")]
    clock: Option<String>,
    /// Values of the finished world that criteria may name as `{{captured.NAME}}`, by name.
    #[schema(value_type = Option<Object>)]
    capture: Option<BTreeMap<String, Value>>,
    /// How it is solved: any document. No taker ever sees it.
    #[schema(value_type = Option<Value>)]
    solution: Option<Value>,
}

impl NewTaskBody {
    fn into_parts(
        self,
        simulators: &SimulatorRegistry,
    ) -> Result<(BenchmarkId, TaskDraft), ApiError> {
        let mut checks = Checks::default();
        let benchmark = checks.required("benchmark_id", self.benchmark_id);
        let name = checks.text("name", self.name, 1..=NAME);
        checks.within("timeout", self.timeout, TIMEOUT);
        let draft = TaskDraft {
            name,
            timeout: self.timeout.and_then(Seconds::new),
            tags: self.tags.unwrap_or_default(),
            brief: self.task_item.unwrap_or_default(),
            scenario: self.scenario.unwrap_or_default(),
            clock: read_clock(&mut checks, self.clock.as_deref()),
            capture: self.capture.unwrap_or_default(),
            devbox: None,
            reference: self.solution.unwrap_or_default(),
            validation: None,
            scoring_timeout: None,
            requires: Requirements::default(),
            metadata: BTreeMap::new(),
        };
        check(&mut checks, &draft, simulators);
        checks.finish()?;
        let benchmark = benchmark.ok_or_else(|| ApiError::field("benchmark_id", "is required"))?;
        Ok((benchmark, draft))
    }
}

/// Whether the clock may be advanced, in the words of authors.
fn read_clock(checks: &mut Checks, word: Option<&str>) -> ClockPolicy {
    let Some(word) = word else {
        return ClockPolicy::default();
    };
    let known = ClockPolicy::NAMES.iter().find(|(name, _)| *name == word);
    match known {
        Some((_, policy)) => *policy,
        None => {
            checks.refuse("clock", format!("'{word}' is none of advanceable, fixed"));
            ClockPolicy::default()
        }
    }
}

/// What a new and a changed task have in common.
fn check(checks: &mut Checks, draft: &TaskDraft, simulators: &SimulatorRegistry) {
    checks.labels("tags", &draft.tags, MOST_TAGS, TAG);
    checks.document("task_item", &draft.brief);
    checks.document("solution", &draft.reference);
    for (number, step) in draft.scenario.iter().enumerate() {
        checks.document(&format!("scenario.{number}"), step);
    }
    for (name, capture) in &draft.capture {
        checks.document(&format!("capture.{name}"), capture);
    }
    for problem in scenario_problems(&draft.scenario, simulators) {
        // Everything that is wrong with a step is told of the step.
        let (step, inside) = problem.path.split_once('.').unwrap_or((&problem.path, ""));
        let said = Problem::error(inside, &problem.message).to_string();
        checks.refuse(&format!("scenario.{step}"), said);
    }
}

/// What is to change; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TaskChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    name: Option<Option<String>>,
    /// Null leaves the limit to the benchmark.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 86400)]
    timeout: Option<Option<u32>>,
    /// Replaces all; null removes them.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>, max_items = 50)]
    tags: Option<Option<Vec<String>>>,
    /// Replaces it; null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Value>)]
    task_item: Option<Option<Value>>,
    /// Replaces all steps; null removes them.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<Object>>)]
    scenario: Option<Option<Vec<Value>>>,
    /// `advanceable` or `fixed`; null is `advanceable`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    clock: Option<Option<String>>,
    /// Replaces all; null removes them.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Object>)]
    capture: Option<Option<BTreeMap<String, Value>>>,
    /// Replaces it; null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Value>)]
    solution: Option<Option<Value>>,
}

impl TaskChanges {
    fn apply(self, old: &TaskDraft, simulators: &SimulatorRegistry) -> Result<TaskDraft, ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.clone();
        if let Some(name) = checks.replaced_text("name", self.name, 1..=NAME) {
            draft.name = name;
        }
        if let Some(timeout) = self.timeout {
            checks.within("timeout", timeout, TIMEOUT);
            draft.timeout = timeout.and_then(Seconds::new);
        }
        if let Some(tags) = self.tags {
            draft.tags = tags.unwrap_or_default();
        }
        if let Some(task_item) = self.task_item {
            draft.brief = task_item.unwrap_or_default();
        }
        if let Some(clock) = self.clock {
            draft.clock = read_clock(&mut checks, clock.as_deref());
        }
        if let Some(capture) = self.capture {
            draft.capture = capture.unwrap_or_default();
        }
        if let Some(scenario) = self.scenario {
            draft.scenario = scenario.unwrap_or_default();
        }
        if let Some(solution) = self.solution {
            draft.reference = solution.unwrap_or_default();
        }
        check(&mut checks, &draft, simulators);
        checks.finish()?;
        Ok(draft)
    }
}

/// Which tasks are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TaskFilter {
    /// Only those of this benchmark.
    #[param(value_type = Option<String>)]
    benchmark_id: Option<BenchmarkId>,
}

/// The task with the benchmark that it is in.
async fn view(state: &ApiState, task: TaskRecord) -> Result<Json<TaskView>, ApiError> {
    let mut of = state.store().benchmarks_of(&[task.id]).await?;
    let benchmark = of.remove(&task.id);
    Ok(Json(TaskView::of(task, benchmark)))
}

authored! {
    TaskId at "/tasks/{id}", "Verial: tasks", "The task's id";
    store(task -> TaskRecord, delete_task);
    /// Shows a task.
    get get_task -> TaskView "The task", shown by view;
    /// Removes a task with its criteria.
    delete delete_task "The task is gone";
}

/// Lists the organization's tasks, of one benchmark or all.
#[utoipa::path(
    get,
    path = "/tasks",
    tag = "Verial: tasks",
    params(TaskFilter, VerialPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The tasks, newest first", body = VerialList<TaskView>)),
)]
pub(crate) async fn list_tasks(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<TaskKind, TaskFilter>,
) -> Result<Json<VerialList<TaskView>>, ApiError> {
    let filter = &page.1;
    if let Some(benchmark) = filter.benchmark_id {
        benchmarks::find(&state, &caller, benchmark).await?;
    }
    let store = state.store();
    let tasks = store
        .tasks(caller.id(), filter.benchmark_id, page.0)
        .await?;
    let of = match filter.benchmark_id {
        Some(_) => BTreeMap::new(),
        None => {
            let ids: Vec<_> = tasks.items.iter().map(|task| task.id).collect();
            store.benchmarks_of(&ids).await?
        }
    };
    Ok(page.answer(
        tasks,
        |task| task.id,
        |task| {
            let benchmark = filter.benchmark_id.or_else(|| of.get(&task.id).copied());
            TaskView::of(task, benchmark)
        },
    ))
}

/// Makes a task, the last of its benchmark.
#[utoipa::path(
    post,
    path = "/tasks",
    tag = "Verial: tasks",
    request_body = NewTaskBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The task", body = TaskView)),
)]
pub(crate) async fn create_task(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewTaskBody>,
) -> Result<(StatusCode, Json<TaskView>), ApiError> {
    let (benchmark, draft) = body.into_parts(&state.engine().extensions().simulators)?;
    let benchmark = benchmarks::find(&state, &caller, benchmark).await?;
    let task = state
        .store()
        .create_task(caller.id(), Some(&benchmark), draft)
        .await?;
    Ok((
        StatusCode::CREATED,
        Json(TaskView::of(task, Some(benchmark.id))),
    ))
}

/// Changes a task.
///
/// Fields that are absent stay as they are. Published versions keep what they froze.
#[utoipa::path(
    patch,
    path = "/tasks/{id}",
    tag = "Verial: tasks",
    params(("id" = String, Path, description = "The task's id")),
    request_body = TaskChanges,
    security(("organization_key" = [])),
    responses((status = 200, description = "The task as it is now", body = TaskView)),
)]
pub(crate) async fn update_task(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskId>,
    Json(changes): Json<TaskChanges>,
) -> Result<Json<TaskView>, ApiError> {
    let task = find(&state, &caller, id).await?;
    let draft = changes.apply(&task.content, &state.engine().extensions().simulators)?;
    let task = state.store().update_task(&task, draft).await?;
    view(&state, task).await
}
