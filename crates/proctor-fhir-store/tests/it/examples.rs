//! All official R4 examples live in the store.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    io::{BufRead, BufReader},
    sync::Arc,
};

use http::Method;
use proctor_core::time::Timestamp;
use proctor_fhir::{
    definitions::SearchDefinitions,
    index::{IndexValue, NumberValue, ReferenceTarget, TokenValue, extract},
    query::escape,
};
use proctor_fhir_store::{
    Base, BaseBuilder, Seed, Settings, State, kind::ResourceKind, rest::Request,
};
use serde_json::Value;

const NOW: Timestamp = Timestamp::from_millis(1_776_790_800_000);

fn examples() -> impl Iterator<Item = Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/fhir-r4-examples.ndjson.zst"
    );
    let file = fs_err::File::open(path)
        .expect("the examples, made by `scripts/fhir-definitions --examples`");
    let lines = BufReader::new(zstd::Decoder::new(file).unwrap()).lines();
    let mut seen = HashSet::new();
    lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        // The package holds one resource twice: ImplementationGuide/fhir.
        .filter(move |example| seen.insert(address(example)))
}

fn address(resource: &Value) -> String {
    let text = |name: &str| resource[name].as_str().unwrap();
    format!("{}/{}", text("resourceType"), text("id"))
}

fn branch(base: Arc<Base>) -> State {
    State::branch(
        base,
        Arc::new(Settings::at("http://x")),
        Seed::from_number(1),
    )
}

/// The resource without what the server owns.
fn content(mut resource: Value) -> Value {
    let map = resource.as_object_mut().unwrap();
    if let Some(meta) = map.get_mut("meta").and_then(Value::as_object_mut) {
        meta.remove("versionId");
        meta.remove("lastUpdated");
    }
    if map
        .get("meta")
        .is_some_and(|meta| meta == &serde_json::json!({}))
    {
        map.remove("meta");
    }
    resource
}

#[test]
fn every_example_is_written_and_read_back_equal() {
    let mut state = branch(Base::empty());
    let mut count = 0;
    for example in examples() {
        let path = address(&example);
        let mut request = Request::new(Method::PUT, &path, NOW).with_body(example.to_string());
        // A few examples break the standard themselves.
        request.headers.prefer = Some("validation=none".to_owned());
        let (response, _) = state.apply(request);
        assert_eq!(response.status, 201, "{path}");
        let read = state
            .answer(&Request::new(Method::GET, &path, NOW))
            .unwrap();
        let stored: Value = serde_json::from_slice(&read.body).unwrap();
        // Numbers compare by their digits: 1.10 is not 1.1.
        assert_eq!(content(stored.clone()), content(example), "{path}");
        let again: Value = serde_json::from_str(&stored.to_string()).unwrap();
        assert_eq!(again, stored, "{path}");
        count += 1;
    }
    assert_eq!(count, 5_305);
    assert_eq!(state.resource_count(), count);
}

#[test]
fn every_parameter_with_an_example_finds_it() {
    let mut builder = BaseBuilder::new(Seed::from_number(1), Timestamp::from_millis(0));
    for example in examples() {
        builder.load_one(example).unwrap();
    }
    let state = branch(Arc::new(builder.finish()));
    let definitions = SearchDefinitions::r4();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut asked: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for example in examples() {
        let id = example["id"].as_str().unwrap();
        let kind = ResourceKind::named(example["resourceType"].as_str().unwrap()).unwrap();
        for (parameter, value) in extract(definitions, &example) {
            let parameter = definitions.parameter(parameter);
            // When a resource was last updated is not the example's to say.
            if parameter.code == "_lastUpdated" {
                continue;
            }
            let times = asked
                .entry((kind.name().to_owned(), parameter.code))
                .or_default();
            if *times == 3 {
                continue;
            }
            let Some((modifier, text)) = question(&value) else {
                continue;
            };
            *times += 1;
            found.insert(parameter.name);
            let name = format!("{}{modifier}", parameter.code);
            let search = |more: Option<(&str, &str)>| {
                let mut criteria = vec![(name.clone(), text.clone())];
                criteria.push(("_count".to_owned(), "1000".to_owned()));
                criteria.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
                state
                    .search_strictly(kind, &criteria, NOW)
                    .unwrap_or_else(|refusal| panic!("{kind}?{name}={text}: {refusal}"))
            };
            assert_eq!(
                search(Some(("_id", id))).total,
                1,
                "{kind}?{name}={text}&_id={id}"
            );
            let all = search(None);
            let is_there = all.hits.iter().any(|hit| &*hit.name.id == id);
            assert!(
                is_there || all.total > 1_000,
                "{kind}?{name}={text} does not find {id}"
            );
        }
    }
    assert_eq!(
        found.len(),
        1_046,
        "official parameters with a value in some example"
    );
}

/// A search that must find the value: modifier and text; nothing for what no search can name.
fn question(value: &IndexValue) -> Option<(&'static str, String)> {
    match value {
        IndexValue::Token(TokenValue {
            code: None, text, ..
        }) => {
            let words = text.as_deref().filter(|words| !words.is_empty())?;
            Some((":text", escape(words)))
        }
        IndexValue::Reference(reference) if reference.target == ReferenceTarget::Unresolved => {
            Some((":identifier", token(reference.identifier.as_deref()?)?))
        }
        value => Some(("", plain(value)?)),
    }
}

fn plain(value: &IndexValue) -> Option<String> {
    match value {
        IndexValue::Token(value) => token(value),
        IndexValue::String(value) => {
            Some(escape(&value.original)).filter(|text| !text.trim().is_empty())
        }
        IndexValue::Date(span) => Some(format!(
            "ge{}",
            jiff::Timestamp::from_millisecond(span.start).ok()?
        )),
        IndexValue::Reference(reference) => match &reference.target {
            ReferenceTarget::Literal { base, kind, id, .. } => {
                let base = base
                    .as_ref()
                    .map(|base| format!("{base}/"))
                    .unwrap_or_default();
                Some(format!("{base}{kind}/{id}"))
            }
            ReferenceTarget::Canonical { url, .. } | ReferenceTarget::Url(url) => {
                url.contains(':').then(|| escape(url))
            }
            ReferenceTarget::Contained | ReferenceTarget::Unresolved => None,
        },
        IndexValue::Number(value) => Some(number(*value)),
        IndexValue::Quantity(value) => {
            let part = |text: &Option<Box<str>>| text.as_deref().map(escape).unwrap_or_default();
            Some(format!(
                "{}|{}|{}",
                number(value.number),
                part(&value.system),
                part(&value.code)
            ))
        }
        IndexValue::Uri(uri) => Some(escape(uri)),
        IndexValue::Composite(parts) => {
            let texts = parts.iter().map(|values| values.iter().find_map(plain));
            texts
                .collect::<Option<Vec<_>>>()
                .map(|texts| texts.join("$"))
        }
        IndexValue::Position(place) => Some(format!("{}|{}|1|km", place.latitude, place.longitude)),
    }
}

fn token(value: &TokenValue) -> Option<String> {
    let system = value.system.as_str().map(escape).unwrap_or_default();
    let code = escape(value.code.as_deref().unwrap_or_default());
    (!code.is_empty() || !system.is_empty()).then(|| format!("{system}|{code}"))
}

fn number(value: NumberValue) -> String {
    if value.low == value.high {
        value.low.to_string()
    } else if value.low.is_finite() {
        format!("ge{}", value.low)
    } else {
        format!("le{}", value.high)
    }
}
