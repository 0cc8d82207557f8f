//! `/v1/objects`: bytes that are uploaded once, by signed link, and then only read.

use std::{collections::BTreeMap, time::Duration};

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, header};
use proctor_core::{
    id::{
        Dialect,
        kinds::{ObjectId, ObjectKind},
    },
    object::{ContentType, ObjectStatus, StoredObject},
};
use proctor_fleet::objects::{
    self, ObjectError,
    links::{self, Direction, Grant},
};
use proctor_store::{
    names::{Sought, WantedLabels},
    objects::{NewObject, ObjectFilter},
    page::Page,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    labels::{self, LabelFilter, LabelQuery},
    links::PublicAddress,
    page::{RunloopPage, RunloopPageQuery},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, Query, announced_length, drain, texts},
    state::ApiState,
};

/// Where the bytes of an object go and come from.
pub(crate) const CONTENT: &str = "/v1/objects/{id}/content";

/// How long an upload link is good.
const UPLOAD_TIME: Duration = Duration::from_secs(24 * 3600);
const USUAL_DOWNLOAD_SECONDS: u32 = 3600;
const LONGEST_DOWNLOAD_SECONDS: u32 = 7 * 24 * 3600;
const LONGEST_NAME: usize = 1024;

/// An object.
#[derive(Serialize, ToSchema)]
pub(crate) struct ObjectView {
    #[schema(example = "obj_01K0000000000000000000000A")]
    id: String,
    name: String,
    #[schema(example = "tgz")]
    content_type: &'static str,
    #[schema(example = "READ_ONLY")]
    state: &'static str,
    create_time_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete_after_time_ms: Option<i64>,
    metadata: BTreeMap<String, String>,
    /// How large it is, once it was uploaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// Where its bytes are to be put, without any other credential; only told when it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    upload_url: Option<String>,
}

impl ObjectView {
    fn of(object: StoredObject) -> Self {
        Self {
            id: object.id.wire(Dialect::Runloop),
            content_type: object.content_type.name(),
            state: object.status().name(),
            create_time_ms: object.created_at.as_millis(),
            delete_after_time_ms: object.delete_after.map(|end| end.as_millis()),
            size_bytes: object.content().map(|content| content.size),
            name: object.name,
            metadata: object.metadata,
            upload_url: None,
        }
    }
}

/// A part of the list of objects, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct ObjectListView {
    objects: Vec<ObjectView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

impl ObjectListView {
    fn of(page: Page<StoredObject>) -> Self {
        Self {
            objects: page.items.into_iter().map(ObjectView::of).collect(),
            has_more: page.has_more,
            total_count: page.total,
        }
    }
}

/// What a new object is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ObjectCreateParameters {
    #[schema(value_type = String, required, max_length = 1024)]
    name: Option<String>,
    /// One of unspecified, text, binary, gzip, tar, tgz.
    #[schema(value_type = String, required, example = "text")]
    content_type: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    /// After how many milliseconds the object goes away by itself.
    ttl_ms: Option<i64>,
}

/// Which objects a list shows.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ObjectListQuery {
    /// Only those of exactly this name; if there are none, those that contain it in any case.
    name: Option<String>,
    /// Only those whose id begins with this or whose name contains it in any case.
    search: Option<String>,
    /// Only those of this type.
    content_type: Option<String>,
    /// Only those in this state; without one, all that are not deleted.
    state: Option<String>,
}

/// How long a download link is to be good.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ObjectDownloadQuery {
    /// Seconds, from 1 to 604800; 3600 when absent.
    duration_seconds: Option<u32>,
}

/// Where an object can be downloaded.
#[derive(Serialize, ToSchema)]
pub(crate) struct ObjectDownloadView {
    /// Good for a while, without any other credential.
    download_url: String,
}

/// The proof in a signed link.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct GrantQuery {
    /// Until when the link is good, in milliseconds since 1970.
    expires: i64,
    /// The proof.
    signature: String,
}

impl From<GrantQuery> for Grant {
    fn from(query: GrantQuery) -> Self {
        Self {
            expires: query.expires,
            signature: query.signature,
        }
    }
}

fn signed_link(
    state: &ApiState,
    address: &PublicAddress,
    direction: Direction,
    id: ObjectId,
    good_for: Duration,
) -> String {
    let store = state.store();
    let grant = links::grant(store, direction, id, store.now().plus(good_for));
    let path = CONTENT.replace("{id}", &id.wire(Dialect::Runloop));
    address.link(&format!(
        "{path}?expires={}&signature={}",
        grant.expires, grant.signature
    ))
}

fn read_filter(query: ObjectListQuery, labels: WantedLabels) -> Result<ObjectFilter, ApiError> {
    let mut checks = Checks::default();
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let content_type = given(query.content_type).map(|word| {
        checks.named(
            "content_type",
            Some(word),
            ContentType::ALL,
            ContentType::name,
            ContentType::read,
        )
    });
    let status = given(query.state).map(|word| {
        checks.named(
            "state",
            Some(word),
            ObjectStatus::ALL,
            ObjectStatus::name,
            ObjectStatus::read,
        )
    });
    checks.finish()?;
    Ok(ObjectFilter {
        sought: Sought {
            name: query.name,
            search: query.search,
            labels,
        },
        content_type,
        status,
    })
}

/// Lists the objects.
#[utoipa::path(
    get,
    path = "/v1/objects",
    tag = "Runloop: objects",
    params(RunloopPageQuery, ObjectListQuery, LabelQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The objects, newest first", body = ObjectListView)),
)]
pub(crate) async fn list_objects(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    RunloopPage(page): RunloopPage<ObjectKind>,
    Query(query): Query<ObjectListQuery>,
    LabelFilter(labels): LabelFilter,
) -> Result<Json<ObjectListView>, ApiError> {
    let filter = read_filter(query, labels)?;
    let page = state.store().objects(caller.id(), &filter, page).await?;
    Ok(Json(ObjectListView::of(page)))
}

/// Lists the objects that are open to everybody. There is no way to make one so: the list is empty.
#[utoipa::path(
    get,
    path = "/v1/objects/list_public",
    tag = "Runloop: objects",
    params(RunloopPageQuery, ObjectListQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The objects that are open to everybody",
            body = ObjectListView,
        ),
    ),
)]
pub(crate) async fn list_public_objects(
    _: OrganizationCaller,
    RunloopPage(page): RunloopPage<ObjectKind>,
    Query(query): Query<ObjectListQuery>,
) -> Result<Json<ObjectListView>, ApiError> {
    read_filter(query, WantedLabels::new())?;
    Ok(Json(ObjectListView {
        objects: Vec::new(),
        has_more: false,
        total_count: page.count.then_some(0),
    }))
}

/// Makes an object and says where its bytes are to be put.
#[utoipa::path(
    post,
    path = "/v1/objects",
    tag = "Runloop: objects",
    request_body = ObjectCreateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The object with its upload_url", body = ObjectView)),
)]
pub(crate) async fn create_object(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    address: PublicAddress,
    Json(body): Json<ObjectCreateParameters>,
) -> Result<Json<ObjectView>, ApiError> {
    let mut checks = Checks::default();
    let name = checks.text("name", body.name, 1..=LONGEST_NAME);
    let content_type = checks.named(
        "content_type",
        body.content_type,
        ContentType::ALL,
        ContentType::name,
        ContentType::read,
    );
    let metadata = labels::checked(&mut checks, "metadata", body.metadata);
    let ttl_ms = body.ttl_ms.map(|ttl| u64::try_from(ttl).unwrap_or(0));
    if ttl_ms == Some(0) {
        checks.refuse("ttl_ms", "must be a positive number of milliseconds");
    }
    checks.finish()?;
    let new = NewObject {
        name,
        content_type,
        metadata,
        ttl_ms,
    };
    let object = state.store().create_object(caller.id(), new).await?;
    let upload_url = signed_link(&state, &address, Direction::Upload, object.id, UPLOAD_TIME);
    Ok(Json(ObjectView {
        upload_url: Some(upload_url),
        ..ObjectView::of(object)
    }))
}

/// Shows an object, also one that was deleted.
#[utoipa::path(
    get,
    path = "/v1/objects/{id}",
    tag = "Runloop: objects",
    params(("id" = String, Path, description = "The object's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The object", body = ObjectView)),
)]
pub(crate) async fn get_object(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<ObjectId>,
) -> Result<Json<ObjectView>, ApiError> {
    let object = objects::find(state.store(), caller.id(), id).await?;
    Ok(Json(ObjectView::of(object)))
}

/// Declares the uploaded bytes final.
#[utoipa::path(
    post,
    path = "/v1/objects/{id}/complete",
    tag = "Runloop: objects",
    params(("id" = String, Path, description = "The object's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The object, which can now be read", body = ObjectView)),
)]
pub(crate) async fn complete_object(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<ObjectId>,
) -> Result<Json<ObjectView>, ApiError> {
    let object = objects::complete(state.store(), caller.id(), id).await?;
    Ok(Json(ObjectView::of(object)))
}

/// Says where an object can be downloaded.
#[utoipa::path(
    get,
    path = "/v1/objects/{id}/download",
    tag = "Runloop: objects",
    params(("id" = String, Path, description = "The object's id"), ObjectDownloadQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "A link that is good for a while", body = ObjectDownloadView),
    ),
)]
pub(crate) async fn download_object(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    address: PublicAddress,
    Path(id): Path<ObjectId>,
    Query(query): Query<ObjectDownloadQuery>,
) -> Result<Json<ObjectDownloadView>, ApiError> {
    let mut checks = Checks::default();
    checks.within(
        "duration_seconds",
        query.duration_seconds,
        1..=LONGEST_DOWNLOAD_SECONDS,
    );
    checks.finish()?;
    let object = objects::find(state.store(), caller.id(), id).await?;
    object.readable().map_err(ObjectError::from)?;
    let seconds = query.duration_seconds.unwrap_or(USUAL_DOWNLOAD_SECONDS);
    let good_for = Duration::from_secs(seconds.into());
    Ok(Json(ObjectDownloadView {
        download_url: signed_link(&state, &address, Direction::Download, id, good_for),
    }))
}

/// Deletes an object and its bytes.
#[utoipa::path(
    post,
    path = "/v1/objects/{id}/delete",
    tag = "Runloop: objects",
    params(("id" = String, Path, description = "The object's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What the object was", body = ObjectView)),
)]
pub(crate) async fn delete_object(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<ObjectId>,
) -> Result<Json<ObjectView>, ApiError> {
    let object = objects::delete(state.store(), caller.id(), id).await?;
    Ok(Json(ObjectView::of(object)))
}

/// Takes an object's bytes; the link is the credential.
#[utoipa::path(
    put,
    path = "/v1/objects/{id}/content",
    tag = "Runloop: objects",
    params(("id" = String, Path, description = "The object's id"), GrantQuery),
    request_body(content_type = "application/octet-stream", description = "The bytes"),
    responses((status = 200, description = "The bytes are there")),
)]
pub(crate) async fn put_object_content(
    State(state): State<ApiState>,
    Path(id): Path<ObjectId>,
    Query(grant): Query<GrantQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(), ApiError> {
    links::check(state.store(), Direction::Upload, id, &grant.into())?;
    let limit = state.object_limit();
    let mut bytes = body.into_data_stream();
    let taken = if announced_length(&headers).is_some_and(|length| length > limit) {
        Err(ObjectError::TooLarge(limit))
    } else {
        objects::upload(state.store(), id, &mut bytes, limit).await
    };
    if let Err(ObjectError::TooLarge(_) | ObjectError::Refused(_)) = taken
        && !headers.contains_key(header::EXPECT)
    {
        drain(&mut Body::from_stream(bytes)).await;
    }
    taken?;
    Ok(())
}

/// Gives an object's bytes; the link is the credential.
#[utoipa::path(
    get,
    path = "/v1/objects/{id}/content",
    tag = "Runloop: objects",
    params(("id" = String, Path, description = "The object's id"), GrantQuery),
    responses((status = 200, description = "The bytes", content_type = "application/octet-stream")),
)]
pub(crate) async fn get_object_content(
    State(state): State<ApiState>,
    Path(id): Path<ObjectId>,
    Query(grant): Query<GrantQuery>,
) -> Result<Response, ApiError> {
    links::check(state.store(), Direction::Download, id, &grant.into())?;
    let object = state.store().any_object(id).await?;
    let object = object.ok_or(ObjectError::NotFound(id))?.value;
    let (size, bytes) = objects::open(state.store(), &object).await?;
    let fixed = HeaderValue::from_static;
    let headers = [
        (
            header::CONTENT_TYPE,
            fixed(object.content_type.media_type()),
        ),
        (header::CONTENT_LENGTH, HeaderValue::from(size)),
        // What somebody uploaded is never a page of this server.
        (header::CONTENT_DISPOSITION, fixed("attachment")),
        (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
        (header::CACHE_CONTROL, fixed("private, no-store")),
    ];
    Ok((headers, Body::from_stream(bytes)).into_response())
}
