//! Values of compose files, read with their paths.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ComposeError;

pub(super) fn object<'v>(
    path: &str,
    value: &'v Value,
) -> Result<&'v Map<String, Value>, ComposeError> {
    value
        .as_object()
        .ok_or_else(|| ComposeError::at(path, "a map is expected"))
}

pub(super) fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// A scalar as text.
pub(super) fn text(path: &str, value: &Value) -> Result<String, ComposeError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        _ => Err(ComposeError::at(path, "a text is expected")),
    }
}

pub(super) fn number(path: &str, value: &Value) -> Result<f64, ComposeError> {
    let parsed = text(path, value)?.trim().parse::<f64>();
    parsed
        .ok()
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| ComposeError::at(path, "a number above 0 is expected"))
}

/// `512m`, `2G`, `1gb`, or a number of bytes.
pub(super) fn bytes(path: &str, value: &Value) -> Result<u64, ComposeError> {
    let written = text(path, value)?;
    let invalid = || {
        ComposeError::at(
            path,
            format!("'{written}' is not a size; expected bytes, or a number with k, m, g or t"),
        )
    };
    let lower = written.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match lower[digits.len()..]
        .trim_end_matches('b')
        .trim_end_matches('i')
    {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Err(invalid()),
    };
    if let Ok(whole) = digits.trim().parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(invalid);
    }
    let number: f64 = digits.trim().parse().map_err(|_| invalid())?;
    let size = number * factor as f64;
    match size.is_finite() && (1.0..9e15).contains(&size) {
        true => Ok(size as u64),
        false => Err(invalid()),
    }
}

/// A map of variables, or a list of `NAME=VALUE`.
pub(super) fn variables(
    path: &str,
    value: &Value,
) -> Result<BTreeMap<String, String>, ComposeError> {
    let mut variables = BTreeMap::new();
    let passed_on = |name: &str| format!("${{{name}}}");
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (name, value) in map {
                let value = match value {
                    Value::Null => passed_on(name),
                    value => text(&format!("{path}.{name}"), value)?,
                };
                variables.insert(name.clone(), value);
            }
        }
        Value::Array(list) => {
            for (place, line) in list.iter().enumerate() {
                let line = text(&format!("{path}[{place}]"), line)?;
                let (name, value) = match line.split_once('=') {
                    Some((name, value)) => (name.to_owned(), value.to_owned()),
                    None => (line.clone(), passed_on(&line)),
                };
                variables.insert(name, value);
            }
        }
        _ => return Err(ComposeError::at(path, "a map or a list is expected")),
    }
    Ok(variables)
}

/// A command as words: a list, or a text that is split as a shell does.
pub(super) fn words(path: &str, value: &Value) -> Result<Option<Vec<String>>, ComposeError> {
    match value {
        Value::Null => Ok(None),
        Value::Array(list) => {
            let words = list.iter().map(|word| text(path, word));
            words.collect::<Result<_, _>>().map(Some)
        }
        other => match shlex::split(&text(path, other)?) {
            Some(words) => Ok(Some(words)),
            None => Err(ComposeError::at(path, "has a quote without an end")),
        },
    }
}

/// `500ms`, `5s`, `1m30s`, or a number of seconds.
pub(super) fn duration(path: &str, value: &Value) -> Result<f64, ComposeError> {
    let written = text(path, value)?;
    let invalid = || {
        let told = format!("'{written}' is not a time; expected a number with ms, s, m or h");
        ComposeError::at(path, told)
    };
    if let Ok(seconds) = written.parse::<f64>() {
        let is_time = seconds.is_finite() && seconds >= 0.0;
        return is_time.then_some(seconds).ok_or_else(invalid);
    }
    let (mut rest, mut total) = (written.as_str(), 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (amount, after) = rest.split_at(digits.ok_or_else(invalid)?);
        let amount: f64 = amount.parse().map_err(|_| invalid())?;
        let end = after.find(|c: char| c.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        total += amount
            * match unit {
                "us" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return Err(invalid()),
            };
        rest = after;
    }
    match total.is_finite() {
        true => Ok(total),
        false => Err(invalid()),
    }
}
