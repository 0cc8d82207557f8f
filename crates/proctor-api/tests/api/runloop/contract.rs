//! The contract of the benchmark operations: every answer is held against it.

use serde_json::{Map, Value, json};

const TEXT: &str = include_str!("../../contracts/runloop-openapi.json");

/// The contract, with its schemas in the words of JSON Schema.
pub(super) struct Contract {
    document: Value,
    schemas: Value,
}

impl Contract {
    pub(super) fn read() -> Self {
        let document: Value = serde_json::from_str(TEXT).unwrap();
        Self {
            schemas: plain(&document["components"]["schemas"]),
            document,
        }
    }

    /// All operations: method and path.
    pub(super) fn operations(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (path, item) in self.document["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys() {
                all.push((method.to_uppercase(), path.clone()));
            }
        }
        all
    }

    /// Whether the operation answers JSON with 200.
    pub(super) fn answers_json(&self, method: &str, path: &str) -> bool {
        let operation = &self.document["paths"][path][method.to_lowercase()];
        operation["responses"]["200"]["content"]["application/json"].is_object()
    }

    /// Asserts that `body` is what the operation answers with 200.
    pub(super) fn check(&self, method: &str, path: &str, body: &Value) {
        let operation = &self.document["paths"][path][method.to_lowercase()];
        assert!(operation.is_object(), "no operation {method} {path}");
        let content = &operation["responses"]["200"]["content"];
        let schema = &content["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {path} answers no JSON");
        self.hold(&plain(schema), body, &format!("{method} {path}"));
    }

    /// Asserts that `body` has the shape of a named schema.
    pub(super) fn check_schema(&self, name: &str, body: &Value) {
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        self.hold(&schema, body, name);
    }

    fn hold(&self, schema: &Value, body: &Value, place: &str) {
        let whole = json!({
            "components": {"schemas": self.schemas},
            "allOf": [schema],
        });
        let validator = jsonschema::validator_for(&whole).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(body)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{place}: {errors:#?}\nin {body:#}");
    }
}

/// A schema without the words that only OpenAPI 3.0 has.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut plain_members: Map<String, Value> = members
                .iter()
                .filter(|(name, _)| {
                    !matches!(
                        name.as_str(),
                        "nullable" | "discriminator" | "default" | "format"
                    ) || members[name.as_str()].is_object()
                })
                .map(|(name, value)| (name.clone(), plain(value)))
                .collect();
            if members.get("nullable") != Some(&Value::Bool(true)) {
                return Value::Object(plain_members);
            }
            match plain_members.remove("type") {
                Some(kind) => {
                    plain_members.insert("type".to_owned(), json!([kind, "null"]));
                    Value::Object(plain_members)
                }
                None => json!({"anyOf": [Value::Object(plain_members), {"type": "null"}]}),
            }
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

#[test]
fn the_contract_tells_right_from_wrong() {
    let contract = Contract::read();
    assert_eq!(contract.operations().len(), 28);
    let good = json!({"keys": ["a"]});
    contract.check("GET", "/v1/benchmarks/metadata/keys", &good);
    for bad in [json!({"keys": [1]}), json!({"keys": [], "more": 1})] {
        let refused = std::panic::catch_unwind(|| {
            contract.check("GET", "/v1/benchmarks/metadata/keys", &bad);
        });
        assert!(refused.is_err(), "{bad}");
    }
    contract.check_schema(
        "BenchmarkRunView",
        &json!({"id": "x", "start_time_ms": 1, "state": "running", "metadata": {}, "score": null}),
    );
}
