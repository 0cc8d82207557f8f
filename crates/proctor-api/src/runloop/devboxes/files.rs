//! Files in and out of devboxes.

use axum::{
    body::Body,
    extract::{
        DefaultBodyLimit, FromRequest as _, Multipart, Request, State,
        multipart::{Field, MultipartError},
    },
    response::Response,
};
use futures::TryStreamExt as _;
use http::{HeaderValue, header};
use proctor_core::id::kinds::DevboxId;
use proctor_devbox::{Error, FileContent};
use proctor_fleet::FleetError;
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;
use tokio_util::io::{ReaderStream, StreamReader};
use utoipa::ToSchema;

use super::views::EmptyView;
use crate::{
    auth::BoxCaller,
    error::ApiError,
    extract::{Json, Path},
    state::ApiState,
};

/// The longest path that is read from a form, in bytes.
const LONGEST_PATH: usize = 8192;

/// Which file to read as text.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ReadFileParameters {
    /// Relative to the user's home.
    #[schema(value_type = String, required)]
    file_path: Option<String>,
}

/// A text file to be written.
#[derive(Deserialize, ToSchema)]
pub(crate) struct WriteFileParameters {
    /// Relative to the user's home; missing directories are made.
    #[schema(value_type = String, required)]
    file_path: Option<String>,
    #[schema(value_type = String, required)]
    contents: Option<String>,
}

/// Which file to download.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DownloadFileParameters {
    /// Relative to the user's home.
    #[schema(value_type = String, required)]
    path: Option<String>,
}

/// A file to be written, as a form.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes a form that is read piece by piece")]
pub(crate) struct UploadFileForm {
    /// Relative to the user's home; missing directories are made.
    path: String,
    #[schema(value_type = String, format = Binary)]
    file: String,
}

fn required(field: &'static str, value: Option<String>) -> Result<String, ApiError> {
    value.ok_or_else(|| ApiError::field(field, "is required"))
}

fn body_of(content: FileContent, content_type: &'static str) -> Response {
    let mut response = Response::new(Body::from_stream(ReaderStream::new(content.reader)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    // A file that ends early is noticed by whoever counts.
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(content.size));
    response
}

/// Reads a text file.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/read_file_contents",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = ReadFileParameters,
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (
            status = 200,
            description = "What is in the file",
            body = String,
            content_type = "text/plain",
        ),
    ),
)]
pub(crate) async fn read_devbox_file(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<ReadFileParameters>,
) -> Result<Response, ApiError> {
    let path = required("file_path", body.file_path)?;
    let fleet = state.fleet()?;
    let content = fleet.read_file(caller.id(), id, &path, None).await?;
    Ok(body_of(content, "text/plain; charset=utf-8"))
}

/// Writes a text file.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/write_file_contents",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = WriteFileParameters,
    security(("organization_key" = []), ("attempt_token" = [])),
    responses((status = 200, description = "It was written", body = EmptyView)),
)]
pub(crate) async fn write_devbox_file(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<WriteFileParameters>,
) -> Result<Json<EmptyView>, ApiError> {
    let path = required("file_path", body.file_path)?;
    let contents = required("contents", body.contents)?;
    let fleet = state.fleet()?;
    fleet
        .write_file(caller.id(), id, &path, &mut contents.as_bytes())
        .await?;
    Ok(Json(EmptyView {}))
}

/// Downloads a file.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/download_file",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = DownloadFileParameters,
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (
            status = 200,
            description = "The file",
            body = Vec<u8>,
            content_type = "application/octet-stream",
        ),
    ),
)]
pub(crate) async fn download_devbox_file(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<DownloadFileParameters>,
) -> Result<Response, ApiError> {
    let path = required("path", body.path)?;
    let fleet = state.fleet()?;
    let content = fleet.read_file(caller.id(), id, &path, None).await?;
    Ok(body_of(content, "application/octet-stream"))
}

/// Uploads a file of any size.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/upload_file",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body(content = UploadFileForm, content_type = "multipart/form-data"),
    security(("organization_key" = []), ("attempt_token" = [])),
    responses((status = 200, description = "It was written", body = EmptyView)),
)]
pub(crate) async fn upload_devbox_file(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(id): Path<DevboxId>,
    mut request: Request,
) -> Result<Json<EmptyView>, ApiError> {
    // The disk of the devbox is the limit.
    DefaultBodyLimit::disable().apply(&mut request);
    let form = Multipart::from_request(request, &state).await;
    let mut form = form.map_err(|error| ApiError::bad_request(error.body_text()))?;
    let fleet = state.fleet()?;
    let (mut path, mut kept) = (None, None);
    while let Some(field) = form
        .next_field()
        .await
        .map_err(|error| unreadable(&error))?
    {
        match (field.name(), &path) {
            (Some("path"), _) => path = Some(text(field).await?),
            (Some("file"), Some(path)) => {
                let bytes = field.map_err(std::io::Error::other);
                let mut reader = StreamReader::new(Box::pin(bytes));
                let written = fleet.write_file(caller.id(), id, path, &mut reader).await;
                written.map_err(cut_short)?;
                return Ok(Json(EmptyView {}));
            }
            // The path comes later: the file waits on disk.
            (Some("file"), None) => kept = Some(keep(field).await?),
            _ => {}
        }
    }
    let path = required("path", path)?;
    let mut kept = kept.ok_or_else(|| ApiError::field("file", "is required"))?;
    fleet.write_file(caller.id(), id, &path, &mut kept).await?;
    Ok(Json(EmptyView {}))
}

/// A form that ends early is the client's fault, everything else is told as it is.
fn cut_short(error: FleetError) -> ApiError {
    match error {
        FleetError::Box(Error::Platform { source, .. })
            if source
                .get_ref()
                .is_some_and(|cause| cause.is::<MultipartError>()) =>
        {
            ApiError::bad_request(format!("the form could not be read to its end: {source}"))
        }
        other => other.into(),
    }
}

fn unreadable(error: &MultipartError) -> ApiError {
    ApiError::bad_request(format!("the form cannot be read: {}", error.body_text()))
}

async fn text(mut field: Field<'_>) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(|error| unreadable(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LONGEST_PATH {
            return Err(ApiError::field("path", "is too long"));
        }
    }
    String::from_utf8(bytes).map_err(|_| ApiError::field("path", "must be UTF-8"))
}

/// Keeps a file on disk that has no name there.
async fn keep(mut field: Field<'_>) -> Result<tokio::fs::File, ApiError> {
    use tokio::io::AsyncSeekExt as _;
    let file = tempfile::tempfile().map_err(ApiError::internal)?;
    let mut file = tokio::fs::File::from_std(file);
    while let Some(chunk) = field.chunk().await.map_err(|error| unreadable(&error))? {
        file.write_all(&chunk).await.map_err(ApiError::internal)?;
    }
    file.flush().await.map_err(ApiError::internal)?;
    file.rewind().await.map_err(ApiError::internal)?;
    Ok(file)
}
