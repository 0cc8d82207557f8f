//! Makes pages of the project's own documents (`docs/*.md`), so that a server carries what it is documented by.

use std::{
    env,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use fs_err as fs;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let docs = here.join("../../docs");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", docs.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&docs)
        .expect("the documents are in docs")
        .map(|entry| entry.expect("docs can be listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    files.sort();
    let mut out = String::from("&[\n");
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let text = fs::read_to_string(&file).expect("a document is text");
        let page = render(&text);
        let slug = slug_of_file(&file);
        let _ = writeln!(
            out,
            "Document {{ slug: {slug:?}, title: {:?}, sections: &{:?}, html: {:?} }},",
            page.title, page.sections, page.html
        );
    }
    out.push_str("]\n");
    let target = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(target.join("documents.rs"), out).expect("the target can be written");
}

fn slug_of_file(file: &Path) -> String {
    let name = file.file_stem().expect("it ends with .md");
    let name = name.to_string_lossy();
    match &*name {
        "README" => "index".to_owned(),
        other => other.to_owned(),
    }
}

struct Page {
    title: String,
    /// The headings below the title: name and text.
    sections: Vec<(String, String)>,
    html: String,
}

fn render(text: &str) -> Page {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
    let mut title = String::new();
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut heading: Option<(usize, HeadingLevel, String)> = None;
    for place in 0..events.len() {
        match &mut events[place] {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some((place, *level, String::new()));
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, _, told)) = &mut heading {
                    told.push_str(text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let Some((begin, level, told)) = heading.take() else {
                    continue;
                };
                let name = slug(&told, &mut names);
                if let Event::Start(Tag::Heading { id, .. }) = &mut events[begin] {
                    *id = Some(CowStr::from(name.clone()));
                }
                match level {
                    HeadingLevel::H1 if title.is_empty() => title = told,
                    HeadingLevel::H2 => sections.push((name, told)),
                    _ => {}
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) => *dest_url = link(dest_url).into(),
            // Ours has none that matters, and pages have no markup of documents.
            Event::Html(raw) | Event::InlineHtml(raw) => {
                let raw = raw.to_string();
                events[place] = Event::Text(raw.into());
            }
            _ => {}
        }
    }
    let mut html = String::new();
    html::push_html(&mut html, events.into_iter());
    // Pages have no styles in attributes, and wide tables scroll by themselves.
    let html = html
        .replace(" style=\"text-align: right\"", " class=n")
        .replace(" style=\"text-align: left\"", "")
        .replace(" style=\"text-align: center\"", "")
        .replace("<table>", "<div class=scroll tabindex=0><table>")
        .replace("</table>", "</table></div>")
        .replace("<pre>", "<pre tabindex=0>");
    Page {
        title,
        sections,
        html,
    }
}

/// A document's link where the pages have it: other documents are pages too; what is elsewhere in the project is named and not linked.
fn link(target: &str) -> String {
    if target.contains("://") || target.starts_with('#') {
        return target.to_owned();
    }
    let (path, fragment) = match target.split_once('#') {
        Some((path, fragment)) => (path, format!("#{fragment}")),
        None => (target, String::new()),
    };
    match path.strip_suffix(".md") {
        Some("README") => "/ui/docs".to_owned(),
        Some(name) if !name.contains('/') => format!("/ui/docs/{name}{fragment}"),
        _ => "/ui/docs".to_owned(),
    }
}

/// The name of a heading, as others make it.
fn slug(text: &str, names: &mut Vec<String>) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_alphanumeric() => slug.extend(letter.to_lowercase()),
            ' ' => slug.push('-'),
            '-' | '_' => slug.push(letter),
            _ => {}
        }
    }
    let repeats = names.iter().filter(|name| **name == slug).count();
    names.push(slug.clone());
    match repeats {
        0 => slug,
        number => format!("{slug}-{number}"),
    }
}
