//! All routes.
//!
//! Paths are written in full at the handlers, so that a search for a path finds its handler. The
//! frame is laid around the routes last, so that it also sees what no route wanted.

use std::collections::HashSet;

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::header;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    agent_reports,
    error::{ApiError, ApiErrorKind},
    frame::{FrameLayer, FrameSettings},
    mcp,
    observe::{self, Description},
    openapi, runloop,
    state::ApiState,
    tunnels::{self, TunnelLayer},
    verial,
};

/// The routes of a server, before they are bound to their state.
pub struct Api {
    routes: OpenApiRouter<ApiState>,
    pages: Option<Router>,
    unhurried: HashSet<String>,
    streaming: HashSet<String>,
}

impl Default for Api {
    fn default() -> Self {
        Self::new()
    }
}

impl Api {
    /// The routes of this crate.
    pub fn new() -> Self {
        let routes = OpenApiRouter::with_openapi(openapi::document())
            .merge(verial::routes())
            .merge(runloop::routes())
            .merge(mcp::routes())
            .merge(agent_reports::routes())
            .routes(routes!(observe::healthz))
            .routes(routes!(observe::readyz))
            .routes(routes!(observe::metrics));
        let among = |templates: &[&str]| templates.iter().map(|&text| text.to_owned()).collect();
        Self {
            routes,
            pages: None,
            unhurried: among(&runloop::devboxes::UNHURRIED),
            streaming: among(&runloop::devboxes::STREAMING),
        }
        .unhurried(runloop::OBJECT_CONTENT)
        .unhurried(tunnels::PATH)
        .unhurried(mcp::OF_TASK_RUN)
        .unhurried(mcp::OF_SCENARIO_RUN)
        .unhurried(runloop::VALIDATE)
        .unhurried(runloop::RESCORE)
        .unhurried(verial::RESCORE)
        .streaming(runloop::OBJECT_CONTENT)
        // Messages have ids of their own.
        .streaming(mcp::OF_SCENARIO_RUN)
    }

    /// Adds routes of another part of the program; what they document appears in the description.
    #[must_use]
    pub fn with_routes(mut self, routes: OpenApiRouter<ApiState>) -> Self {
        self.routes = self.routes.merge(routes);
        self
    }

    /// Adds the pages for people, which are below `/ui/`. Browsers that ask for `/` are led to them.
    #[must_use]
    pub fn with_pages(mut self, pages: Router) -> Self {
        self.pages = Some(pages.route("/", get(pages_or_nothing)));
        self
    }

    /// Lets a route take the time it needs: long polls and uploads. Answers that stream need no
    /// such leave, for the time-out ends when an answer begins.
    #[must_use]
    pub fn unhurried(mut self, template: &str) -> Self {
        self.unhurried.insert(template.to_owned());
        self
    }

    /// Lets a route of the Runloop dialect read its body as it comes, however large. Such a
    /// request is not done once only: its id is just a name.
    #[must_use]
    pub fn streaming(mut self, template: &str) -> Self {
        self.streaming.insert(template.to_owned());
        self
    }

    /// The finished router.
    pub fn into_router(self, state: ApiState) -> Router {
        let (routes, mut document) = self.routes.split_for_parts();
        let (about, about_document) = OpenApiRouter::new()
            .routes(routes!(observe::openapi_json))
            .routes(routes!(observe::docs_page))
            .split_for_parts();
        document.merge(about_document);
        openapi::add_errors(&mut document);
        openapi::close_verial_bodies(&mut document);
        let mut document =
            serde_json::to_value(&document).expect("a document made of strings and maps is JSON");
        openapi::add_authoring(&mut document, state.engine().extensions());
        let frame = FrameLayer::new(FrameSettings {
            state: state.clone(),
            unhurried: self.unhurried,
            streaming: self.streaming,
        });
        let domain = state.tunnel_domain().map(str::to_owned);
        let tunnels = domain.map(|domain| TunnelLayer::new(state.clone(), &domain));
        let router = routes
            .with_state(state.clone())
            .merge(tunnels::routes(state))
            .merge(about.with_state(Description::of(&document)))
            .merge(self.pages.unwrap_or_default())
            .fallback(no_such_route)
            .method_not_allowed_fallback(no_such_method)
            .layer(frame);
        match tunnels {
            Some(tunnels) => router.layer(tunnels),
            None => router,
        }
    }
}

async fn no_such_route(request: Request) -> ApiError {
    ApiError::no_such_route(request.method(), request.uri().path())
}

/// Browsers see the pages; programs are told that there is nothing.
async fn pages_or_nothing(request: Request) -> Response {
    let accepted = request.headers().get(header::ACCEPT);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    match accepted.is_some_and(|list| list.contains("text/html")) {
        true => Redirect::to("/ui/").into_response(),
        false => no_such_route(request).await.into_response(),
    }
}

/// The router adds the `Allow` header.
async fn no_such_method(request: Request) -> ApiError {
    ApiError::new(
        ApiErrorKind::MethodNotAllowed,
        format!(
            "{} is not a method of {}; the Allow header lists those that are",
            request.method(),
            request.uri().path()
        ),
    )
}
