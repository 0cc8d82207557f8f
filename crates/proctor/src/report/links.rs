//! Addresses of pages on a server, for reports that are read elsewhere.

/// The pages of one server.
#[derive(Clone, Copy)]
pub(crate) struct Links<'a> {
    server: &'a str,
}

impl<'a> Links<'a> {
    /// Those of the server at this address.
    pub(crate) fn to(server: &'a str) -> Self {
        Self {
            server: server.trim_end_matches('/'),
        }
    }

    /// The page of a run.
    pub(crate) fn run(&self, run: &str) -> String {
        self.page("runs", run)
    }

    /// The page of a task run.
    pub(crate) fn task_run(&self, task_run: &str) -> String {
        self.page("task-runs", task_run)
    }

    /// The page of a gate.
    pub(crate) fn gate(&self, gate: &str) -> String {
        self.page("gates", gate)
    }

    /// The page that compares the newest run of each side; none if a side has no run.
    pub(crate) fn compare(&self, a: &[String], b: &[String]) -> Option<String> {
        let (a, b) = (encoded(a.first()?), encoded(b.first()?));
        Some(format!("{}/ui/compare?a={a}&b={b}", self.server))
    }

    fn page(&self, kind: &str, id: &str) -> String {
        format!("{}/ui/{kind}/{}", self.server, encoded(id))
    }
}

/// An id as part of an address. Ids have no other characters; a server that says otherwise cannot break out of a link.
fn encoded(id: &str) -> String {
    id.chars()
        .filter(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages() {
        let links = Links::to("https://proctor.example/");
        assert_eq!(links.run("br_1"), "https://proctor.example/ui/runs/br_1");
        assert_eq!(
            links.task_run("tr_1"),
            "https://proctor.example/ui/task-runs/tr_1"
        );
        assert_eq!(links.gate("gt_1"), "https://proctor.example/ui/gates/gt_1");
        let (a, b) = (["br_1".to_owned()], ["br_2".to_owned()]);
        assert_eq!(
            links.compare(&a, &b).as_deref(),
            Some("https://proctor.example/ui/compare?a=br_1&b=br_2")
        );
        assert_eq!(links.compare(&[], &b), None);
    }

    #[test]
    fn an_id_cannot_leave_its_link() {
        let links = Links::to("https://proctor.example");
        assert_eq!(
            links.run("x) [y](javascript:1)"),
            "https://proctor.example/ui/runs/xyjavascript1"
        );
    }
}
