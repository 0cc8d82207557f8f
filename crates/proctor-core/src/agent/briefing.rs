//! What the command of an agent is told, the same wherever it runs.

use serde_json::Value;

/// The members of a brief that hold the instruction, in the order in which they are looked for.
const INSTRUCTIONS: [&str; 4] = ["problem_statement", "instruction", "instructions", "prompt"];

/// What is to be done, as a text.
pub fn problem_text(task: &str, brief: &Value) -> String {
    let told = INSTRUCTIONS
        .iter()
        .find_map(|member| brief[*member].as_str());
    match (told, brief) {
        (Some(told), _) => told.to_owned(),
        (None, Value::String(told)) => told.clone(),
        (None, Value::Null) => format!("{task}\n"),
        (None, brief) => format!("{task}\n\n{brief:#}\n"),
    }
}

/// The variable that names an endpoint of a world: `PROCTOR_FHIR_URL` for `fhir`.
pub fn endpoint_variable(name: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_uppercase(),
        false => '_',
    };
    let name: String = name.chars().map(letter).collect();
    let name = name.strip_suffix("_URL").unwrap_or(&name);
    format!("PROCTOR_{name}_URL")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn endpoints_have_variables() {
        assert_eq!(endpoint_variable("fhir"), "PROCTOR_FHIR_URL");
        assert_eq!(endpoint_variable("cds-hooks"), "PROCTOR_CDS_HOOKS_URL");
        assert_eq!(endpoint_variable("fhir_url"), "PROCTOR_FHIR_URL");
    }

    #[test]
    fn a_problem_is_text_whatever_the_task_says() {
        assert_eq!(
            problem_text("t", &json!({"problem_statement": "Fix it."})),
            "Fix it."
        );
        assert_eq!(problem_text("t", &json!("Do it.")), "Do it.");
        assert_eq!(problem_text("t", &Value::Null), "t\n");
        assert_eq!(
            problem_text("t", &json!({"a": 1})),
            "t\n\n{\n  \"a\": 1\n}\n"
        );
    }
}
