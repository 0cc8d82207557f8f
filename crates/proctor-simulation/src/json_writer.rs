//! Writes JSON around resources that are already bytes, without taking them apart.

use std::ops::Range;

/// A JSON object under way. Fields are written in the order given.
pub struct JsonObject {
    out: Vec<u8>,
}

impl JsonObject {
    /// An object that will take about `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        out.push(b'{');
        Self { out }
    }

    /// Begins a field; one of the value methods must follow.
    pub fn field(&mut self, name: &'static str) -> &mut Self {
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self
    }

    /// A string.
    pub fn text(&mut self, text: &str) {
        serde_json::to_writer(&mut self.out, text).expect("text can be written to memory");
    }

    /// The address of a resource; its type and id need no escapes.
    pub fn address(&mut self, base_url: &str, kind: &str, id: &str) {
        self.text(base_url);
        self.out.pop();
        for part in ["/", kind, "/", id, "\""] {
            self.out.extend_from_slice(part.as_bytes());
        }
    }

    /// The name of a version; its type and id need no escapes.
    pub fn version_name(&mut self, kind: &str, id: &str, version: u32) {
        for part in ["\"", kind, "/", id, "/_history/"] {
            self.out.extend_from_slice(part.as_bytes());
        }
        self.number(i64::from(version));
        self.out.push(b'"');
    }

    /// A whole number.
    pub fn number(&mut self, number: i64) {
        serde_json::to_writer(&mut self.out, &number).expect("a number can be written to memory");
    }

    /// Bytes that are JSON already; where they stand.
    pub fn raw(&mut self, json: &[u8]) -> Range<usize> {
        let start = self.out.len();
        self.out.extend_from_slice(json);
        start..self.out.len()
    }

    /// An object.
    pub fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.out.push(b'{');
        write(self);
        self.out.push(b'}');
    }

    /// A list.
    pub fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.out.push(b'[');
        for item in items {
            self.separate();
            write(self, item);
        }
        self.out.push(b']');
    }

    /// The bytes of the object.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    fn separate(&mut self) {
        if !matches!(self.out.last(), Some(b'{' | b'[' | b':')) {
            self.out.push(b',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_lists_and_raw_parts_are_separated_by_commas() {
        let mut out = JsonObject::with_capacity(0);
        out.field("a").text("x\"y");
        out.field("b").object(|out| {
            out.field("c").number(-1);
            out.field("d").raw(b"{\"e\":1.10}");
        });
        out.field("f").list(&[1, 2], |out, item| out.number(*item));
        out.field("g").list(&[0; 0], |out, item| out.number(*item));
        let text = String::from_utf8(out.finish()).unwrap();
        assert_eq!(
            text,
            r#"{"a":"x\"y","b":{"c":-1,"d":{"e":1.10}},"f":[1,2],"g":[]}"#
        );
    }
}
