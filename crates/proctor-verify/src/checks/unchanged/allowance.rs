//! What an agent may change: a family of things, which of them, how, and how often.

use globset::GlobMatcher;
use proctor_fhir_store::kind::ResourceKind;
use proctor_hl7::Message;
use proctor_simulation::{
    record::{Touched, UNNAMED, WorldRecord, WriteAction},
    schema::{about, flag, list, map, object, text},
};
use proctor_x12::interchange::Document;
use serde_json::{Map, Value, json};

use super::changed_members;
use crate::{
    checks::{hl7, x12},
    compare::Manner,
    fhir_paths::impossible,
    fields::{Field, Wanted, bind, read_correlation},
    found::Found,
    glob::compile,
    json_path::JsonPath,
    reader::{AssertionNode as _, Node, Object, left_out_or},
    schema::{correlation, expectation},
    template::{Failed, Scope, Template},
};

/// The word that stands for everything of a family.
const ANY: &str = "*";
/// Fields that say which thing is allowed may be this many.
const MOST_PATHS: usize = 50;

/// Something that the agent may change.
#[derive(Debug)]
pub(super) struct Allowance {
    /// As the author wrote it.
    pub(super) written: Value,
    family: Family,
    which: Which,
    actions: Vec<WriteAction>,
    narrowing: Vec<Field<Place>>,
    only: Option<Vec<String>>,
    max: Option<usize>,
    transient: bool,
}

/// The families of things, by the words of authors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Fhir,
    Hl7,
    Files,
    Portal,
    Fax,
    X12,
    Message,
    Voice,
    CdsHooks,
    Simulator,
}

const FAMILIES: [(&str, Family); 10] = [
    ("fhir", Family::Fhir),
    ("hl7", Family::Hl7),
    ("files", Family::Files),
    ("portal", Family::Portal),
    ("fax", Family::Fax),
    ("x12", Family::X12),
    ("message", Family::Message),
    ("voice", Family::Voice),
    ("cds-hooks", Family::CdsHooks),
    (UNNAMED, Family::Simulator),
];

/// The JSON Schema of an allowance.
pub(super) fn schema() -> Value {
    let which = json!({"anyOf": [text(), map(&expectation()), {"const": true}]});
    let mut members = Map::new();
    for (name, _) in FAMILIES {
        members.insert(name.to_owned(), which.clone());
    }
    let actions: Vec<&str> = WriteAction::NAMES.iter().map(|(name, _)| *name).collect();
    let more = [
        (
            "actions",
            about(
                "How; in every way when left out.",
                list(&json!({"enum": actions})),
            ),
        ),
        (
            "where",
            correlation("Which: what it holds after the change."),
        ),
        ("only", about("The members that may change.", list(&text()))),
        (
            "max",
            about("How many.", json!({"type": "integer", "minimum": 0})),
        ),
        (
            "transient",
            about("Whether it may also be made and undone again.", flag()),
        ),
    ];
    members.extend(more.map(|(name, schema)| (name.to_owned(), schema)));
    let mut schema = object(&[], Value::Object(members));
    let families = FAMILIES.iter().map(|(name, _)| json!({"required": [name]}));
    schema["oneOf"] = families.collect();
    schema
}

/// Which things of a family.
#[derive(Debug)]
enum Which {
    All,
    Named(Template),
    Path(Template),
}

/// A place in a thing.
#[derive(Debug)]
enum Place {
    Json(JsonPath),
    Hl7(proctor_hl7::Path),
    X12(proctor_x12::path::Path),
}

/// An allowance with its templates filled.
pub(super) struct Bound<'a> {
    allowance: &'a Allowance,
    named: Option<String>,
    path: Option<GlobMatcher>,
    narrowing: Vec<Wanted<'a, Place>>,
    pub(super) max: Option<usize>,
}

impl Allowance {
    pub(super) fn read(node: &Node<'_>) -> Option<Self> {
        let object = node.object()?;
        let named: Vec<(Family, Node<'_>)> = FAMILIES
            .iter()
            .filter_map(|(name, family)| Some((*family, object.optional(name)?)))
            .collect();
        let [(family, value)] = named.as_slice() else {
            let names: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
            node.refuse(format!("must name exactly one of {}", names.join(", ")));
            object.finish();
            return None;
        };
        let family = *family;
        let (which, mut narrowing) = read_which(family, value)?;
        let actions = left_out_or(object.optional("actions"), |node| {
            let all: Vec<Option<WriteAction>> = node
                .list()?
                .iter()
                .map(|one| one.word(&WriteAction::NAMES))
                .collect();
            all.into_iter().collect::<Option<Vec<_>>>()
        });
        let more = left_out_or(object.optional("where"), |node| {
            read_correlation(&node.object()?, |text| family.place(text))
        });
        let only = left_out_or(object.optional("only"), |node| {
            let all: Vec<Option<String>> = node
                .list()?
                .iter()
                .map(|one| one.filled_text().map(str::to_owned))
                .collect();
            all.into_iter().collect::<Option<Vec<_>>>()
        });
        if let (Family::Fhir, Which::Named(template)) = (family, &which)
            && let Some(kind) = template.fixed()
        {
            doubt_elements(kind, &object);
        }
        let max = left_out_or(object.optional("max"), Node::amount);
        let transient = left_out_or(object.optional("transient"), Node::flag);
        object.finish();
        narrowing.extend(more?.unwrap_or_default());
        if narrowing.len() > MOST_PATHS {
            node.refuse(format!("names more than {MOST_PATHS} paths"));
            return None;
        }
        let allowance = Self {
            written: node.value().clone(),
            family,
            which,
            actions: actions?.unwrap_or_default(),
            narrowing,
            only: only?,
            max: max?,
            transient: transient?.unwrap_or(false),
        };
        if allowance.is_everything() {
            node.caution("allows everything of this kind: say which, how, or how many");
        }
        Some(allowance)
    }

    fn is_everything(&self) -> bool {
        let names_all = match &self.which {
            Which::All => true,
            Which::Path(template) => matches!(template.fixed(), Some("**" | "**/*" | "*")),
            Which::Named(_) => false,
        };
        names_all && self.narrowing.is_empty() && self.max.is_none() && self.only.is_none()
    }

    pub(super) fn bind(&self, scope: &Scope<'_>) -> Result<Bound<'_>, Failed> {
        let named = match &self.which {
            Which::Named(template) => Some(template.text(scope, str::to_owned)?.into_owned()),
            Which::All | Which::Path(_) => None,
        };
        let path = match &self.which {
            Which::Path(template) => {
                let text = template.text(scope, globset::escape)?;
                let glob = compile(&text).map_err(|why| Failed(format!("files: {why}")))?;
                Some(glob)
            }
            Which::All | Which::Named(_) => None,
        };
        Ok(Bound {
            allowance: self,
            named,
            path,
            narrowing: bind(&self.narrowing, scope)?,
            max: self.max,
        })
    }
}

/// Says of paths in `where` and names in `only` that no resource of a type has them.
fn doubt_elements(kind: &str, object: &Object<'_>) {
    let why_not = |path: &str| impossible(kind, &JsonPath::parse(path).ok()?);
    let narrowing = object.optional("where");
    let narrowing = narrowing.filter(|node| node.value().is_object());
    if let Some(narrowing) = narrowing.and_then(|node| node.object()) {
        for (path, node) in narrowing.members() {
            if let Some(why) = why_not(path) {
                node.doubt(why);
            }
        }
    }
    let only = object.optional("only");
    let only = only.filter(|node| node.value().is_array());
    for name in only.and_then(|node| node.list()).iter().flatten() {
        if let Some(why) = name.value().as_str().and_then(why_not) {
            name.doubt(why);
        }
    }
}

fn read_which(family: Family, value: &Node<'_>) -> Option<(Which, Vec<Field<Place>>)> {
    match value.value() {
        Value::Object(_) if family.takes_fields() => {
            let fields = read_correlation(&value.object()?, |text| family.place(text))?;
            return Some((Which::All, fields));
        }
        Value::Bool(true) if family.takes_fields() => return Some((Which::All, Vec::new())),
        _ => {}
    }
    let template = value.template()?;
    if template.fixed() == Some(ANY) && family != Family::Files {
        return Some((Which::All, Vec::new()));
    }
    if let (Family::Fhir, Some(name)) = (family, template.fixed())
        && ResourceKind::named(name).is_none()
    {
        value.refuse(format!("'{name}' is no resource type of FHIR R4"));
        return None;
    }
    if let (Family::Files, Some(text)) = (family, template.fixed())
        && let Err(why) = compile(text)
    {
        value.refuse(why);
        return None;
    }
    let which = match family {
        Family::Files => Which::Path(template),
        _ => Which::Named(template),
    };
    Some((which, Vec::new()))
}

impl Family {
    fn place(self, text: &str) -> Result<Place, String> {
        match self {
            Self::Hl7 => text
                .parse()
                .map(Place::Hl7)
                .map_err(|error: proctor_hl7::PathError| error.to_string()),
            Self::X12 => text
                .parse()
                .map(Place::X12)
                .map_err(|error: proctor_x12::path::PathError| error.to_string()),
            _ => JsonPath::parse(text).map(Place::Json),
        }
    }

    /// Whether its things are told apart by their fields rather than by a name.
    fn takes_fields(self) -> bool {
        matches!(
            self,
            Self::Fax | Self::Message | Self::Voice | Self::CdsHooks
        )
    }

    fn name(self) -> &'static str {
        let known = FAMILIES.iter().find(|(_, family)| *family == self);
        known.map_or(UNNAMED, |(name, _)| name)
    }
}

impl Bound<'_> {
    /// Whether it allows what was done to a thing.
    pub(super) fn allows(&self, touched: &Touched, record: &WorldRecord) -> bool {
        let allowance = self.allowance;
        let is_family = match allowance.family {
            Family::Simulator => true,
            family => family.name() == touched.family,
        };
        is_family
            && self.is_named(touched)
            && (allowance.actions.is_empty() || allowance.actions.contains(&touched.action()))
            && (allowance.transient || !(touched.is_transient() || touched.was_gone))
            && self.is_only(touched)
            && self.fits(touched, record)
    }

    fn is_named(&self, touched: &Touched) -> bool {
        if let Some(glob) = &self.path {
            return glob.is_match(&touched.resource);
        }
        match (&self.named, self.allowance.family) {
            (None, _) => true,
            (Some(name), Family::Simulator) => {
                touched.name == *name || touched.simulator.as_str().eq_ignore_ascii_case(name)
            }
            (Some(name), _) => touched.resource == *name,
        }
    }

    /// Whether nothing ever differed but the members that may.
    fn is_only(&self, touched: &Touched) -> bool {
        let Some(only) = &self.allowance.only else {
            return true;
        };
        let may = |name: &String| only.contains(name);
        touched.members.iter().all(may)
            && match (&touched.before, &touched.after) {
                (Some(Value::Object(before)), Some(Value::Object(after))) => {
                    let changed = changed_members(before, after);
                    changed
                        .iter()
                        .all(|name| only.iter().any(|allowed| allowed == name))
                }
                _ => true,
            }
    }

    /// Whether it is the thing that is meant.
    fn fits(&self, touched: &Touched, record: &WorldRecord) -> bool {
        if self.narrowing.is_empty() {
            return true;
        }
        let Some(content) = touched.content() else {
            return false;
        };
        match self.allowance.family {
            Family::Hl7 => {
                let payload = content
                    .get("payload")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let Ok(message) = Message::parse(payload.as_bytes()) else {
                    return false;
                };
                self.all(Manner::AsText, |place| match place {
                    Place::Hl7(path) => hl7::find(path, &message),
                    Place::Json(_) | Place::X12(_) => Found::One(None),
                })
            }
            Family::X12 => {
                let event = record.events.get(touched.first_event);
                let raw = event.and_then(|event| event.payload.get("request_raw")?.as_str());
                let Ok(document) = Document::read(raw.unwrap_or_default().as_bytes()) else {
                    return false;
                };
                self.all(Manner::AsText, |place| match place {
                    Place::X12(path) => x12::anywhere(&document, path),
                    Place::Json(_) | Place::Hl7(_) => Found::One(None),
                })
            }
            _ => self.all(Manner::Typed, |place| match place {
                Place::Json(path) => Found::at(path, content),
                Place::Hl7(_) | Place::X12(_) => Found::One(None),
            }),
        }
    }

    fn all<'v>(&self, manner: Manner, read: impl Fn(&Place) -> Found<'v>) -> bool {
        let mut wanted = self.narrowing.iter();
        wanted.all(|one| one.holds(&read(one.path), manner))
    }
}
