//! What each request to the tree does.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use proctor_core::time::Timestamp;
use proctor_simulation::{
    exchange::{Request, Response},
    simulator::{Decision, Recorded},
};
use serde_json::{Value, json};

use crate::files::StoredFile;

use super::{
    Change, Files, MOST_BYTES, MOST_BYTES_IN_FILE, MOST_FILES, media::guessed, path::FilePath, told,
};

/// Why a file cannot be written.
pub(super) enum Obstacle {
    /// The name is a directory's, or a directory would have the name of a file.
    Clash(String),
    /// There would be too much.
    Size(String),
}

impl Obstacle {
    pub(super) fn reason(self) -> String {
        match self {
            Self::Clash(reason) | Self::Size(reason) => reason,
        }
    }

    fn refusal(self) -> Response {
        match self {
            Self::Clash(reason) => Response::conflict(reason),
            Self::Size(reason) => Response::too_large(reason),
        }
    }
}

impl Files {
    pub(super) fn serve(&self, request: &Request, now: Timestamp) -> Decision<Change> {
        let Some(rest) = below_files(&request.path) else {
            let nothing = Response::not_found(format!("there is nothing at /{}", request.path));
            return Decision::answer("file_request", request, nothing);
        };
        let is_directory = rest.is_empty() || rest.ends_with('/');
        let name = rest.strip_suffix('/').unwrap_or(rest);
        let path = match name {
            "" => None,
            name => match FilePath::from_address(name) {
                Ok(path) => Some(path),
                Err(problem) => {
                    let refusal = Response::bad_request(format!("path: {problem}"));
                    return Decision::answer("file_request", request, refusal);
                }
            },
        };
        match (path, is_directory) {
            (Some(path), false) => match request.method {
                Method::GET | Method::HEAD => self.read(request, &path),
                Method::PUT => self.write(request, &path, now),
                Method::DELETE => self.delete(request, &path),
                _ => refused_method(request, "GET, HEAD, PUT, DELETE"),
            },
            (path, _) => match request.method {
                Method::GET | Method::HEAD => self.list(request, path.as_ref()),
                _ => refused_method(request, "GET, HEAD"),
            },
        }
    }

    fn read(&self, request: &Request, path: &FilePath) -> Decision<Change> {
        let name = path.as_str();
        match self.tree.get(name) {
            Some(file) => {
                let response = download(request, name, file);
                let event = Recorded::request("file_read", request, &response)
                    .with("path", name)
                    .with("size", file.content.len());
                Decision::look(response, event)
            }
            None if self.tree.is_directory(name) => self.list(request, Some(path)),
            None => missing("file_read", request, name),
        }
    }

    /// The files below a directory, or all of them.
    fn list(&self, request: &Request, directory: Option<&FilePath>) -> Decision<Change> {
        let files = match directory.map(FilePath::as_str) {
            None => self.tree.all(),
            Some(directory) if self.tree.is_directory(directory) => self.tree.below(directory),
            Some(other) => return missing("file_list", request, other),
        };
        let rows: Vec<Value> = files
            .into_iter()
            .map(|(path, file)| row(path, file.content.len(), file.at))
            .collect();
        let response = request.listing(&[], || {
            Response::json(StatusCode::OK, &json!({"data": rows}))
        });
        Decision::answer(
            "file_list",
            request,
            without_body_for_head(request, response),
        )
    }

    fn write(&self, request: &Request, path: &FilePath, now: Timestamp) -> Decision<Change> {
        let name = path.as_str();
        let content = request.body.clone();
        if let Some(obstacle) = self.obstacle(path, content.len()) {
            return Decision::answer("file_write", request, obstacle.refusal());
        }
        let before = self.tree.get(name);
        let status = match before {
            Some(_) => StatusCode::OK,
            None => StatusCode::CREATED,
        };
        let response = Response::json(status, &row(name, content.len(), now));
        let event = Recorded::request("file_write", &request.without_body(), &response)
            .with("file", told(name, &content))
            .with(
                "before",
                before.map_or(Value::Null, |file| told(name, &file.content)),
            );
        Decision {
            response,
            event,
            changes: vec![Change::Put {
                path: name.to_owned(),
                // Its own bytes, not a window on a larger buffer of the connection.
                file: Bytes::copy_from_slice(&content),
                at: now,
                is_given: false,
            }],
        }
    }

    fn delete(&self, request: &Request, path: &FilePath) -> Decision<Change> {
        let name = path.as_str();
        let Some(file) = self.tree.get(name) else {
            if self.tree.is_directory(name) {
                let refusal = Response::conflict(format!(
                    "'{name}' is a directory; it goes with the last file in it"
                ));
                return Decision::answer("file_delete", request, refusal);
            }
            return missing("file_delete", request, name);
        };
        let response = Response::empty(StatusCode::NO_CONTENT);
        let event = Recorded::request("file_delete", request, &response)
            .with("before", told(name, &file.content));
        Decision {
            response,
            event,
            changes: vec![Change::Remove {
                path: name.to_owned(),
            }],
        }
    }

    /// What stands in the way of writing this many bytes to a file.
    pub(super) fn obstacle(&self, path: &FilePath, size: usize) -> Option<Obstacle> {
        let name = path.as_str();
        if let Some(file) = self.tree.file_above(path) {
            return Some(Obstacle::Clash(format!(
                "'{file}' is a file, so it has nothing below it"
            )));
        }
        if self.tree.is_directory(name) {
            return Some(Obstacle::Clash(format!("'{name}' is a directory")));
        }
        if size > MOST_BYTES_IN_FILE {
            return Some(Obstacle::Size(format!(
                "a file has at most {MOST_BYTES_IN_FILE} bytes; this one has {size}"
            )));
        }
        let (count, bytes) = self.tree.with(name, size);
        if count > MOST_FILES {
            return Some(Obstacle::Size(format!(
                "there are at most {MOST_FILES} files"
            )));
        }
        if bytes > MOST_BYTES {
            return Some(Obstacle::Size(format!(
                "all files together have at most {MOST_BYTES} bytes; with this one they would have {bytes}"
            )));
        }
        None
    }
}

/// What follows `files` in a path.
fn below_files(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("files")?;
    match rest {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

fn row(path: &str, size: usize, modified_at: Timestamp) -> Value {
    json!({"path": path, "size": size, "modified_at": modified_at})
}

fn download(request: &Request, path: &str, file: &StoredFile) -> Response {
    let response = Response::with_body(StatusCode::OK, guessed(path), file.content.clone())
        // What an agent stored is data, also where somebody opens it in a browser.
        .with_header(
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox"),
        )
        .with_header(
            HeaderName::from_static("x-content-type-options"),
            HeaderValue::from_static("nosniff"),
        );
    without_body_for_head(request, response)
}

fn without_body_for_head(request: &Request, response: Response) -> Response {
    if request.method != Method::HEAD {
        return response;
    }
    let length = HeaderValue::from(response.body.len());
    Response {
        body: Bytes::new(),
        ..response
    }
    .with_header(header::CONTENT_LENGTH, length)
}

fn missing(kind: &'static str, request: &Request, path: &str) -> Decision<Change> {
    Decision::answer(
        kind,
        request,
        Response::not_found(format!(
            "there is no file '{path}'; GET /files lists what there is"
        )),
    )
}

fn refused_method(request: &Request, allow: &'static str) -> Decision<Change> {
    Decision::answer(
        "file_request",
        request,
        Response::wrong_method(request, allow),
    )
}

#[cfg(test)]
mod tests;
