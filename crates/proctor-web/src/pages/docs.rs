//! `/ui/docs`: the project's documents, made into pages when the program was built.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    response::Response,
    routing::get,
};

use super::page;
use crate::{
    error::PageError,
    html::Html,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// A document.
pub(crate) struct Document {
    slug: &'static str,
    title: &'static str,
    /// Its headings: name and text.
    sections: &'static [(&'static str, &'static str)],
    html: &'static str,
}

impl Document {
    fn sections(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> + use<> {
        self.sections.iter()
    }
}

const DOCUMENTS: &[Document] = include!(concat!(env!("OUT_DIR"), "/documents.rs"));
/// The document that leads to the others.
const INDEX: &str = "index";

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/docs", get(index))
        .route("/ui/docs/{slug}", get(document))
}

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage {
    shell: Shell,
    document: &'static Document,
}

impl DocsPage {
    fn content(&self) -> Html {
        Html::trusted(self.document.html.to_owned())
    }

    fn documents(&self) -> impl Iterator<Item = &'static Document> {
        DOCUMENTS.iter().filter(|one| one.slug != INDEX)
    }

    fn is_index(&self) -> bool {
        self.document.slug == INDEX
    }
}

fn show(visitor: &Visitor, slug: &str) -> Result<Response, PageError> {
    let document = DOCUMENTS.iter().find(|one| one.slug == slug);
    let document = document.ok_or_else(|| PageError::not_found("document"))?;
    page(&DocsPage {
        shell: visitor.shell(document.title, Section::Docs),
        document,
    })
}

async fn index(State(_): State<WebState>, visitor: Visitor) -> Result<Response, PageError> {
    show(&visitor, INDEX)
}

async fn document(visitor: Visitor, Path(slug): Path<String>) -> Result<Response, PageError> {
    show(&visitor, &slug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_pages_without_styles_scripts_or_dead_links() {
        assert!(DOCUMENTS.iter().any(|one| one.slug == INDEX));
        let hrefs = |html: &'static str| {
            let parts = html.split("href=\"").skip(1);
            parts.filter_map(|part| part.split('"').next())
        };
        for one in DOCUMENTS {
            assert!(!one.title.is_empty(), "{}", one.slug);
            for banned in [" style=", "<script", "<img", " on"] {
                let is_markup = |html: &str| {
                    html.split('<')
                        .skip(1)
                        .filter_map(|tag| tag.split('>').next())
                        .any(|tag| format!("<{tag}").contains(banned))
                };
                assert!(!is_markup(one.html), "{}: {banned}", one.slug);
            }
            for href in hrefs(one.html) {
                if let Some(rest) = href.strip_prefix("/ui/docs/") {
                    let (slug, fragment) = rest.split_once('#').unwrap_or((rest, ""));
                    let target = DOCUMENTS.iter().find(|other| other.slug == slug);
                    let target = target.unwrap_or_else(|| panic!("{}: {href}", one.slug));
                    let anchor = format!("id=\"{fragment}\"");
                    assert!(
                        fragment.is_empty() || target.html.contains(&anchor),
                        "{}: {href}",
                        one.slug
                    );
                }
            }
        }
    }
}
