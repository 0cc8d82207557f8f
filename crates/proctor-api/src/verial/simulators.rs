//! `/simulators`: services to be simulated.
//!
//! In the configuration `dataset_ids` names the data sets that a simulator begins with. Below this
//! file they are a list of their own, so that a data set in use cannot be lost.

use proctor_core::{
    environment::SimulatorType,
    id::kinds::{DatasetId, SimulatorId, SimulatorKind},
};
use proctor_simulation::registry::SimulatorRegistry;
use proctor_store::simulators::{SimulatorDraft, SimulatorRecord};
use serde_json::{Map, Value};

use super::prelude::*;

/// A simulator.
#[derive(Serialize, ToSchema)]
pub(crate) struct SimulatorView {
    #[schema(value_type = String, example = "sim_01K0000000000000000000000A")]
    id: SimulatorId,
    /// What it simulates.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "Fhir")]
    kind: SimulatorType,
    /// What people call it.
    name: String,
    /// How it behaves; `dataset_ids` names the data sets that it begins with.
    #[schema(value_type = Object)]
    config: Map<String, Value>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl SimulatorView {
    fn of(simulator: SimulatorRecord) -> Self {
        let SimulatorDraft {
            kind,
            name,
            mut config,
            datasets,
        } = simulator.content;
        if !datasets.is_empty() {
            let ids = datasets.iter().map(|id| Value::from(id.to_string()));
            config.insert(DATASET_IDS.to_owned(), ids.collect());
        }
        Self {
            id: simulator.id,
            kind,
            name,
            config,
            created_at: simulator.created_at,
            updated_at: simulator.updated_at,
        }
    }
}

const DATASET_IDS: &str = "dataset_ids";
const NAME: usize = 200;
const MOST_DATASETS: usize = 100;

/// What a new simulator is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewSimulatorBody {
    /// `Fhir`, `Hl7`, `Files`, `Payer`, `Voice`, `Clearinghouse`, `Fax`, `Message` or `CdsHooks`,
    /// in any case; `X12` is a Clearinghouse and `Sftp` are Files.
    #[serde(rename = "type")]
    #[schema(value_type = String, required, example = "Fhir")]
    kind: Option<String>,
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    name: Option<String>,
    /// How it behaves; `dataset_ids` names the data sets that it begins with.
    #[schema(value_type = Option<Object>)]
    config: Option<Value>,
}

impl NewSimulatorBody {
    fn into_draft(self, known: &SimulatorRegistry) -> Result<SimulatorDraft, ApiError> {
        let mut checks = Checks::default();
        let names: Vec<_> = known.plugins().map(|plugin| plugin.name()).collect();
        let is_known = |text: &String| known.find(text).is_some();
        let is_known = self.kind.as_ref().is_some_and(is_known);
        let kind = checks.named(
            "type",
            self.kind,
            &names,
            |name| name,
            |text| Some(known.find(text)?.name()),
        );
        let name = checks.text("name", self.name, 1..=NAME);
        let (config, datasets) = read_config(&mut checks, self.config);
        let kind = SimulatorType::named(kind);
        if is_known {
            check_config(&mut checks, &kind, &config, known);
        }
        checks.finish()?;
        Ok(SimulatorDraft {
            kind,
            name,
            config,
            datasets,
        })
    }
}

/// Names everything that a simulator would not understand in its configuration. What is not given may still be to come.
fn check_config(
    checks: &mut Checks,
    kind: &SimulatorType,
    config: &Map<String, Value>,
    known: &SimulatorRegistry,
) {
    let Some(plugin) = known.find(kind.as_str()).filter(|_| !config.is_empty()) else {
        return;
    };
    if let Err(problems) = plugin.check_config(&Value::Object(config.clone())) {
        for problem in problems.into_vec() {
            checks.refuse(&problem.path, problem.message);
        }
    }
}

/// Takes the data sets out of a configuration.
fn read_config(checks: &mut Checks, config: Option<Value>) -> (Map<String, Value>, Vec<DatasetId>) {
    const FIELD: &str = "config.dataset_ids";
    let mut datasets = Vec::new();
    let mut config = match config {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(config)) => config,
        Some(_) => {
            checks.refuse("config", "must be an object");
            Map::new()
        }
    };
    match config.remove(DATASET_IDS) {
        None | Some(Value::Null) => {}
        Some(Value::Array(ids)) if ids.len() > MOST_DATASETS => {
            checks.refuse(FIELD, format!("must have at most {MOST_DATASETS}"));
        }
        Some(Value::Array(ids)) => {
            for (number, id) in ids.iter().enumerate() {
                let place = format!("{FIELD}.{number}");
                match id.as_str().unwrap_or_default().parse::<DatasetId>() {
                    Ok(id) if datasets.contains(&id) => checks.refuse(&place, "is there twice"),
                    Ok(id) => datasets.push(id),
                    Err(bad) => checks.refuse(&place, bad.to_string()),
                }
            }
        }
        Some(_) => checks.refuse(FIELD, "must be a list of ids of data sets"),
    }
    for (name, value) in &config {
        checks.document(&format!("config.{name}"), value);
    }
    (config, datasets)
}

/// What is to change; what is absent stays. The type never changes.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SimulatorChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    name: Option<Option<String>>,
    /// Replaces the whole configuration; null empties it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Object>)]
    config: Option<Option<Value>>,
}

impl SimulatorChanges {
    fn apply(
        self,
        old: &SimulatorDraft,
        known: &SimulatorRegistry,
    ) -> Result<SimulatorDraft, ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.clone();
        if let Some(name) = checks.replaced_text("name", self.name, 1..=NAME) {
            draft.name = name;
        }
        if let Some(config) = self.config {
            (draft.config, draft.datasets) = read_config(&mut checks, config);
            check_config(&mut checks, &draft.kind, &draft.config, known);
        }
        checks.finish()?;
        Ok(draft)
    }
}

/// Refuses a simulator that begins with data sets which are not the caller's.
async fn know_datasets(
    state: &ApiState,
    caller: &OrganizationCaller,
    draft: &SimulatorDraft,
) -> Result<(), ApiError> {
    let store = state.store();
    match store.missing_dataset(caller.id(), &draft.datasets).await? {
        Some(missing) => Err(not_found(missing)),
        None => Ok(()),
    }
}

authored! {
    SimulatorId at "/simulators/{id}", "Verial: simulators", "The simulator's id";
    store(simulator -> SimulatorRecord, delete_simulator);
    /// Shows a simulator.
    get get_simulator -> SimulatorView "The simulator", shown as SimulatorView::of;
    /// Removes a simulator.
    delete delete_simulator "The simulator is gone", 409 "An environment has it";
}

authored_list! {
    /// Lists the organization's simulators.
    list_simulators at "/simulators", "Verial: simulators" -> SimulatorView "The simulators, newest first";
    store(simulators by SimulatorKind), each as of;
}

/// Makes a simulator that no environment has.
#[utoipa::path(
    post,
    path = "/simulators",
    tag = "Verial: simulators",
    request_body = NewSimulatorBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The simulator", body = SimulatorView)),
)]
pub(crate) async fn create_simulator(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewSimulatorBody>,
) -> Result<(StatusCode, Json<SimulatorView>), ApiError> {
    let draft = body.into_draft(&state.engine().extensions().simulators)?;
    know_datasets(&state, &caller, &draft).await?;
    let simulator = state.store().create_simulator(caller.id(), draft).await?;
    Ok((StatusCode::CREATED, Json(SimulatorView::of(simulator))))
}

/// Changes a simulator.
///
/// Fields that are absent stay as they are. Published versions keep what they froze.
#[utoipa::path(
    patch,
    path = "/simulators/{id}",
    tag = "Verial: simulators",
    params(("id" = String, Path, description = "The simulator's id")),
    request_body = SimulatorChanges,
    security(("organization_key" = [])),
    responses((status = 200, description = "The simulator as it is now", body = SimulatorView)),
)]
pub(crate) async fn update_simulator(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<SimulatorId>,
    Json(changes): Json<SimulatorChanges>,
) -> Result<Json<SimulatorView>, ApiError> {
    let simulator = find(&state, &caller, id).await?;
    let known = &state.engine().extensions().simulators;
    let draft = changes.apply(&simulator.content, known)?;
    know_datasets(&state, &caller, &draft).await?;
    let simulator = state.store().update_simulator(&simulator, draft).await?;
    Ok(Json(SimulatorView::of(simulator)))
}
