//! `/datasets`: data that simulators begin with.

use proctor_core::{
    environment::DatasetType,
    id::kinds::{DatasetId, DatasetKind},
};
use proctor_store::datasets::{DatasetDraft, DatasetRecord};
use serde_json::Value;

use super::prelude::*;

/// A data set.
#[derive(Serialize, ToSchema)]
pub(crate) struct DatasetView {
    #[schema(value_type = String, example = "ds_01K0000000000000000000000A")]
    id: DatasetId,
    /// What people call it.
    name: String,
    /// What it is about.
    description: Option<String>,
    /// What kind of data: `FHIR`, `Files` or `Members`.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "FHIR")]
    kind: DatasetType,
    /// The data. Lists leave them out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    data: Option<Value>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl DatasetView {
    /// In a list, without its data.
    fn listed(dataset: DatasetRecord) -> Self {
        Self::of(dataset, None)
    }

    fn of(dataset: DatasetRecord, data: Option<Value>) -> Self {
        Self {
            id: dataset.id,
            name: dataset.content.name,
            description: dataset.content.description,
            kind: dataset.content.kind,
            data,
            created_at: dataset.created_at,
            updated_at: dataset.updated_at,
        }
    }
}

// Lengths in characters.
const NAME: usize = 200;
const DESCRIPTION: usize = 1000;

/// What a new data set is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewDatasetBody {
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    name: Option<String>,
    #[schema(max_length = 1000)]
    description: Option<String>,
    /// `FHIR`, `Files` or `Members`, in any case.
    #[serde(rename = "type")]
    #[schema(value_type = String, required, example = "FHIR")]
    kind: Option<String>,
    /// A Bundle or a list of resources; files by path; or a list of members.
    #[schema(value_type = Option<Value>)]
    data: Option<Value>,
    /// Another name for `data`; one of the two is required.
    #[schema(value_type = Option<Value>)]
    config: Option<Value>,
}

impl NewDatasetBody {
    fn into_parts(self) -> Result<(DatasetDraft, Value), ApiError> {
        let mut checks = Checks::default();
        let draft = DatasetDraft {
            name: checks.text("name", self.name, 1..=NAME),
            description: checks.optional_text("description", self.description, 0..=DESCRIPTION),
            kind: checks.named(
                "type",
                self.kind,
                DatasetType::ALL,
                DatasetType::as_str,
                DatasetType::from_name,
            ),
        };
        let data = given_data(&mut checks, self.data, self.config);
        let data = checks.required("data", data).unwrap_or_default();
        checks.finish()?;
        Ok((draft, data))
    }
}

/// The data by either of their names.
fn given_data(checks: &mut Checks, data: Option<Value>, config: Option<Value>) -> Option<Value> {
    let (field, value) = match (data, config) {
        (None, None) => return None,
        (Some(_), Some(_)) => {
            checks.refuse("config", "is another name for data; send one of the two");
            return Some(Value::Null);
        }
        (Some(data), None) => ("data", data),
        (None, Some(config)) => ("config", config),
    };
    if !value.is_object() && !value.is_array() {
        checks.refuse(field, "must be an object or a list");
    }
    checks.document(field, &value);
    Some(value)
}

/// What is to change; what is absent stays. The type never changes.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DatasetChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    name: Option<Option<String>>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 1000)]
    description: Option<Option<String>>,
    /// Replaces all data.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Value)]
    data: Option<Option<Value>>,
    /// Another name for `data`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Value)]
    config: Option<Option<Value>>,
}

impl DatasetChanges {
    fn apply(self, old: &DatasetDraft) -> Result<(DatasetDraft, Option<Value>), ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.clone();
        if let Some(name) = checks.replaced_text("name", self.name, 1..=NAME) {
            draft.name = name;
        }
        if let Some(description) = self.description {
            draft.description = checks.optional_text("description", description, 0..=DESCRIPTION);
        }
        let mut given = |field, value: Option<Option<Value>>| {
            checks.replaced(field, value.map(|value| value.map(Some)), None)
        };
        let (data, config) = (given("data", self.data), given("config", self.config));
        let data = given_data(&mut checks, data, config);
        checks.finish()?;
        Ok((draft, data))
    }
}

/// The data set with its data.
async fn view(
    state: &ApiState,
    caller: &OrganizationCaller,
    dataset: DatasetRecord,
) -> Result<Json<DatasetView>, ApiError> {
    let data = state.store().dataset_data(caller.id(), dataset.id).await?;
    Ok(Json(DatasetView::of(dataset, data)))
}

authored! {
    DatasetId at "/datasets/{id}", "Verial: datasets", "The data set's id";
    store(dataset -> DatasetRecord, delete_dataset);
    /// Shows a data set.
    get get_dataset -> DatasetView "The data set", shown by view for caller;
    /// Removes a data set with its entities.
    delete delete_dataset "The data set is gone", 409 "A simulator begins with it, or a task is about one of its entities";
}

authored_list! {
    /// Lists the organization's data sets, without their data.
    list_datasets at "/datasets", "Verial: datasets" -> DatasetView "The data sets, newest first";
    store(datasets by DatasetKind), each as listed;
}

/// Makes a data set.
#[utoipa::path(
    post,
    path = "/datasets",
    tag = "Verial: datasets",
    request_body = NewDatasetBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The data set", body = DatasetView)),
)]
pub(crate) async fn create_dataset(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewDatasetBody>,
) -> Result<(StatusCode, Json<DatasetView>), ApiError> {
    let (draft, data) = body.into_parts()?;
    let dataset = state
        .store()
        .create_dataset(caller.id(), draft, &data)
        .await?;
    Ok((
        StatusCode::CREATED,
        Json(DatasetView::of(dataset, Some(data))),
    ))
}

/// Changes a data set.
///
/// Fields that are absent stay as they are. Published versions keep what they froze.
#[utoipa::path(
    patch,
    path = "/datasets/{id}",
    tag = "Verial: datasets",
    params(("id" = String, Path, description = "The data set's id")),
    request_body = DatasetChanges,
    security(("organization_key" = [])),
    responses((status = 200, description = "The data set as it is now", body = DatasetView)),
)]
pub(crate) async fn update_dataset(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DatasetId>,
    Json(changes): Json<DatasetChanges>,
) -> Result<Json<DatasetView>, ApiError> {
    let dataset = find(&state, &caller, id).await?;
    let (draft, data) = changes.apply(&dataset.content)?;
    let dataset = state
        .store()
        .update_dataset(&dataset, draft, data.as_ref())
        .await?;
    view(&state, &caller, dataset).await
}
