//! The one byte form of a JSON value, and the digest taken over it.
//!
//! Two documents with the same content have the same canonical form whatever the order of their
//! keys and their white space. Numbers keep the digits they were written with, because in a
//! clinical record `1.10` says something that `1.1` does not.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The canonical bytes of `value`: keys sorted by their bytes, no white space, shortest escapes.
pub fn to_bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    write(value, &mut bytes);
    bytes
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            // Sorted here and not left to the map: whether `serde_json::Map` sorts is decided by
            // a cargo feature that any dependency can switch on.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by(|(left, _), (right, _)| left.as_bytes().cmp(right.as_bytes()));
            out.push(b'{');
            for (place, (key, member)) in members.into_iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write_text(key, out);
                out.push(b':');
                write(member, out);
            }
            out.push(b'}');
        }
        Value::String(text) => write_text(text, out),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Null => out.extend_from_slice(b"null"),
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("writing a string to memory cannot fail");
}

/// A SHA-256 over canonical bytes: the name of a frozen content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `value`'s canonical form.
    pub fn of(value: &Value) -> Self {
        Self::of_bytes(&to_bytes(value))
    }

    /// The digest of bytes as they are.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest computed before.
    pub const fn from_raw(raw: [u8; 32]) -> Self {
        Self(raw)
    }

    /// The 32 bytes.
    pub const fn raw(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }
}

/// Bytes as hexadecimal digits, two for each.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text
}

/// Computes a digest of bytes that come one after the other.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Takes a part whose end must be told apart from what follows.
    pub fn part(&mut self, bytes: &[u8]) {
        self.update(&(bytes.len() as u64).to_le_bytes());
        self.update(bytes);
    }

    /// The digest of everything taken.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// A text that is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: expected 'sha256:' and 64 hexadecimal digits")]
pub struct BadDigest;

const ALGORITHM: &str = "sha256:";

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALGORITHM}{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let digits = text.strip_prefix(ALGORITHM).ok_or(BadDigest)?.as_bytes();
        if digits.len() != 64 {
            return Err(BadDigest);
        }
        let mut raw = [0; 32];
        for (byte, pair) in raw.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16).ok_or(BadDigest)?;
            let low = char::from(pair[1]).to_digit(16).ok_or(BadDigest)?;
            *byte = u8::try_from(high * 16 + low).map_err(|_| BadDigest)?;
        }
        Ok(Self(raw))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth_and_digits_are_kept() {
        let value: Value =
            serde_json::from_str(r#"{"b": [1.10, {"z": null, "a": "é\n"}], "a": -0.0}"#).unwrap();
        assert_eq!(
            String::from_utf8(to_bytes(&value)).unwrap(),
            r#"{"a":-0.0,"b":[1.10,{"a":"é\n","z":null}]}"#
        );
    }

    #[test]
    fn a_digest_reads_back_and_nonsense_does_not() {
        let digest = Digest::of(&json!({"a": 1}));
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for bad in [
            "",
            "sha256:",
            "sha256:xyz",
            &digest.hex(),
            &format!("{digest}0"),
        ] {
            assert_eq!(bad.parse::<Digest>(), Err(BadDigest), "{bad}");
        }
    }

    /// Any JSON value, a few levels deep.
    pub(crate) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1.0e9..1.0e9f64).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[a-d]{1,2}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The same content written with the members of every object in reverse order.
    fn text_with_reversed_keys(value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .rev()
                    .map(|(key, value)| {
                        format!(
                            "{}: {}",
                            Value::from(key.as_str()),
                            text_with_reversed_keys(value)
                        )
                    })
                    .collect();
                format!("{{ {} }}", members.join(" , "))
            }
            Value::Array(items) => {
                format!(
                    "[{}]",
                    items
                        .iter()
                        .map(text_with_reversed_keys)
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
            scalar => scalar.to_string(),
        }
    }

    /// `value` with its `place`-th scalar or empty container replaced by something else.
    pub(crate) fn change_one(value: &mut Value, place: &mut usize) -> bool {
        match value {
            Value::Array(items) if !items.is_empty() => {
                items.iter_mut().any(|item| change_one(item, place))
            }
            Value::Object(members) if !members.is_empty() => {
                members.values_mut().any(|member| change_one(member, place))
            }
            leaf if *place == 0 => {
                *leaf = Value::from(format!("changed {leaf}"));
                true
            }
            _ => {
                *place -= 1;
                false
            }
        }
    }

    proptest! {
        #[test]
        fn the_digest_ignores_key_order(value in any_json()) {
            let rewritten: Value = serde_json::from_str(&text_with_reversed_keys(&value)).unwrap();
            prop_assert_eq!(Digest::of(&value), Digest::of(&rewritten));
        }

        #[test]
        fn the_digest_changes_with_any_value(value in any_json(), place in 0usize..12) {
            let mut other = value.clone();
            if change_one(&mut other, &mut place.clone()) {
                prop_assert_ne!(Digest::of(&value), Digest::of(&other));
            }
        }
    }
}
