//! Deleting one resource.

use proctor_core::time::Timestamp;

use super::{
    Request, Response,
    write::{Done, Written},
};
use crate::{kind::ResourceKind, outcome::Answer, state::State};

impl State {
    /// `DELETE Type/id`.
    pub(super) fn delete_one(
        &mut self,
        kind: ResourceKind,
        id: &str,
        request: &Request,
    ) -> Answer<Response> {
        let if_match = request.headers.if_match.as_deref();
        let written = self.delete_resource(kind, id, if_match, request.at)?;
        Ok(self.written(written, request))
    }

    /// Deletes a resource; deleting what is not there is fine and leaves no trace.
    pub(super) fn delete_resource(
        &mut self,
        kind: ResourceKind,
        id: &str,
        if_match: Option<&str>,
        at: Timestamp,
    ) -> Answer<Written> {
        self.check_version(kind, id, if_match)?;
        let view = self.view(kind);
        let live = view.row_of(id).filter(|row| view.is_live(*row));
        let (row, done) = match live {
            Some(_) => (Some(self.delete(kind, id, at)), Done::Deleted),
            None => (None, Done::Nothing),
        };
        Ok(Written { kind, row, done })
    }
}
