//! `sftp-file-present`: the files of the tree, and what is expected in one of them.

mod content;

use globset::GlobMatcher;
use std::collections::BTreeMap;

use proctor_office::files::StoredFile;
use proctor_simulation::{
    exhibits::Exhibits,
    schema::{about, flag, list, text},
};
use serde_json::{Value, json};

use self::content::{Content, Format, Place};
use crate::{
    fields::{Field, FieldResult, Wanted, bind, held, read_fields, to_list},
    found::cut,
    glob::compile,
    matching::{Quantity, Question, counted},
    outcome::Outcome,
    reader::{AssertionNode as _, Node, Object, left_out_or},
    registry::Check,
    schema::{assertion, fields},
    template::{Failed, Scope, Template},
};

/// The assertion.
#[derive(Debug)]
pub(crate) struct FilePresent {
    glob: Pattern,
    format: Format,
    fields: Vec<Field<Place>>,
    contains: Vec<Template>,
    quantity: Quantity,
    only_new: bool,
}

#[derive(Debug)]
enum Pattern {
    Fixed(Box<GlobMatcher>, String),
    Open(Template),
}

/// A file that the glob matches.
struct Candidate<'w> {
    path: &'w str,
    content: Content<'w>,
}

impl Check for FilePresent {
    const NAME: &'static str = "sftp-file-present";

    /// The files by path; none without a simulator of files.
    type View<'w> = Option<BTreeMap<&'w str, &'w StoredFile>>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        Some(exhibits.named_evidence()?.into_iter().collect())
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let glob = assertion
            .required("path_glob")
            .and_then(|node| Pattern::read(&node));
        let written = assertion.member("path_glob");
        let written = written.and_then(|node| node.value().as_str());
        let format = left_out_or(assertion.optional("parse"), |node| {
            node.word(&Format::NAMES)
        })
        .map(|format| format.unwrap_or_else(|| Format::of_path(written.unwrap_or_default())));
        let fields = assertion.optional("fields");
        let fields = format.and_then(|format| read_fields(fields, |path| format.place(path)));
        let contains = read_texts(assertion.optional("contains"));
        let min = left_out_or(assertion.optional("min_count"), Node::amount);
        let max = left_out_or(assertion.optional("max_count"), Node::amount);
        let only_new = left_out_or(assertion.optional("by_agent"), Node::flag);
        let quantity = match (min?, max?) {
            (None, None) => Some(Quantity::Some),
            (min, max) => Quantity::between(assertion.node(), min, max),
        };
        Some(Self {
            glob: glob?,
            format: format?,
            fields: fields?,
            contains: contains?,
            quantity: quantity?,
            only_new: only_new?.unwrap_or(false),
        })
    }

    fn schema() -> Value {
        let whole = json!({"type": "integer", "minimum": 0});
        let formats: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
        let members = json!({
            "path_glob": about("Which files.", text()),
            "parse": about("How they are read; by their names when left out.", json!({"enum": formats})),
            "fields": fields("What the file must hold."),
            "contains": about("Words in it.", json!({"anyOf": [text(), list(&text())]})),
            "min_count": whole,
            "max_count": whole,
            "by_agent": about("Only files that the agent wrote.", flag()),
        });
        let example = json!({
            "path_glob": "outbound/claims/*.json",
            "fields": [{"path": "claim.total", "expected": 240.5}],
        });
        let about = "A file of the tree.";
        assertion(Self::NAME, about, &["path_glob"], members, example)
    }

    fn run(&self, files: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let fields = bind(&self.fields, scope)?;
        let contains = self
            .contains
            .iter()
            .map(|template| fill_text(template, scope));
        let contains: Vec<String> = contains.collect::<Result<_, _>>()?;
        let (glob, written) = self.glob.bind(scope)?;
        let Some(files) = files else {
            return Err(Failed("the playground has no files".to_owned()));
        };
        let all = files.iter().map(|(path, file)| (*path, *file));
        let counts = |file: &StoredFile| !self.only_new || !file.is_given;
        let matched: Vec<(&str, &StoredFile)> = all
            .filter(|(path, file)| counts(file) && glob.is_match(path))
            .collect();
        let paths: Vec<&str> = matched.iter().map(|(path, _)| *path).collect();
        let mut newest_first = matched.clone();
        newest_first.sort_by(|(left_path, left), (right_path, right)| {
            (right.at, left_path).cmp(&(left.at, right_path))
        });
        let question = Question {
            noun: "file",
            fields: &fields,
            quantity: self.quantity,
            manner: self.format.manner(),
            read: &|candidate: &Candidate<'_>, place: &Place| candidate.content.find(place),
            name: &|candidate: &Candidate<'_>| candidate.name(),
        };
        // One file is read at a time, and only the best is kept: trees may be large.
        let mut best: Option<(Candidate<'_>, Vec<FieldResult>)> = None;
        for (path, file) in newest_first {
            let content = Content::read(&file.content, self.format, !fields.is_empty());
            let candidate = Candidate { path, content };
            let results = candidate.results(&question, &contains);
            if best
                .as_ref()
                .is_none_or(|(_, most)| held(&results) > held(most))
            {
                let is_perfect = held(&results) == results.len();
                best = Some((candidate, results));
                if is_perfect {
                    break;
                }
            }
        }
        let settled = match best {
            None => question.of_one(None, 0, || nothing(&written, files.len(), self.only_new)),
            Some((candidate, results)) => {
                question.settled(None, results, matched.len(), &candidate.name())
            }
        };
        let evidence = evidence(&settled.results, &paths);
        Ok(settled.outcome(evidence))
    }

    fn blank(&self) -> Value {
        evidence(&[], &[])
    }
}

fn evidence(results: &[FieldResult], paths: &[&str]) -> Value {
    json!({"fieldResults": to_list(results), "matchedPaths": paths})
}

impl Candidate<'_> {
    fn name(&self) -> String {
        match &self.content.problem {
            Some(problem) => format!("{} ({problem})", self.path),
            None => self.path.to_owned(),
        }
    }

    /// How everything that is asked fares in this file. In one that cannot be read nothing holds,
    /// not even that something is absent.
    fn results(
        &self,
        question: &Question<'_, Place, Self>,
        contains: &[String],
    ) -> Vec<FieldResult> {
        let mut results = match self.content.problem {
            None => question.results(self),
            Some(_) => question.fields.iter().map(Wanted::nowhere).collect(),
        };
        results.extend(contains.iter().map(|part| self.contains(part)));
        results
    }

    fn contains(&self, part: &str) -> FieldResult {
        let passed = self.content.text.contains(part);
        FieldResult::of(
            "$text",
            json!({"$contains": part}),
            cut(&self.content.text).into(),
            passed,
            format!("\"{part}\" is not in it"),
        )
    }
}

impl Pattern {
    fn read(node: &Node<'_>) -> Option<Self> {
        let template = node.template()?;
        let Some(text) = template.fixed() else {
            return Some(Self::Open(template));
        };
        match compile(text) {
            Ok(glob) => Some(Self::Fixed(Box::new(glob), text.to_owned())),
            Err(message) => {
                node.refuse(message);
                None
            }
        }
    }

    /// The matcher, and the glob as it is written. A filled value stands for itself: it is no glob.
    fn bind(&self, scope: &Scope<'_>) -> Result<(GlobMatcher, String), Failed> {
        match self {
            Self::Fixed(glob, written) => Ok((GlobMatcher::clone(glob), written.clone())),
            Self::Open(template) => {
                let text = template.text(scope, globset::escape)?.into_owned();
                let glob = compile(&text).map_err(|why| Failed(format!("path_glob: {why}")))?;
                Ok((glob, text))
            }
        }
    }
}

fn read_texts(node: Option<Node<'_>>) -> Option<Vec<Template>> {
    let Some(node) = node else {
        return Some(Vec::new());
    };
    let items = match node.value() {
        Value::String(_) => vec![node],
        _ => node.list()?,
    };
    let texts = items.iter().map(|item| {
        let template = item.template()?;
        if let Some(text) = template.fixed() {
            if text.is_empty() {
                item.refuse("must not be empty: every text has nothing in it");
                return None;
            }
            item.note_expected(text);
        }
        Some(template)
    });
    let texts: Vec<Option<Template>> = texts.collect();
    texts.into_iter().collect()
}

fn fill_text(template: &Template, scope: &Scope<'_>) -> Result<String, Failed> {
    let text = template.text(scope, str::to_owned)?.into_owned();
    if text.is_empty() {
        return Err(Failed(
            "contains: a template is filled with nothing".to_owned(),
        ));
    }
    Ok(text)
}

fn nothing(glob: &str, files: usize, only_new: bool) -> String {
    let whose = if only_new {
        "file of the agent's"
    } else {
        "file"
    };
    if files == 0 {
        return format!("no {whose} matches {glob}; there are no files at all");
    }
    format!("no {whose} matches {glob} among {}", counted(files, "file"))
}
