//! Server-sent events, cut out of a stream of bytes.

/// What came so far and was not read.
#[derive(Default)]
pub(super) struct Events {
    bytes: Vec<u8>,
    data: Vec<String>,
}

impl Events {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The data of the next event that is complete.
    pub(super) fn next(&mut self) -> Option<String> {
        while let Some(end) = self.bytes.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if let Some(data) = line.strip_prefix("data:") {
                let data = data.strip_prefix(' ').unwrap_or(data);
                self.data.push(data.to_owned());
            } else if line.is_empty() && !self.data.is_empty() {
                return Some(std::mem::take(&mut self.data).join("\n"));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_wherever_the_network_cuts_them() {
        let text =
            "event: a\r\ndata: {\"ü\":1}\r\n\r\n: comment\ndata: one\ndata: two\n\ndata: rest";
        for size in 1..8 {
            let mut events = Events::default();
            let mut seen = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                events.push(chunk);
                seen.extend(std::iter::from_fn(|| events.next()));
            }
            assert_eq!(seen, ["{\"ü\":1}", "one\ntwo"], "{size}");
        }
    }
}
