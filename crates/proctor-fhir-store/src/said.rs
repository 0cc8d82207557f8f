//! The body of an answer, kept without the resources in it.
//!
//! Most of what a store says is stored versions, word for word, and versions never change. So a body
//! is kept as its own text with `null` where a version stood, and the names of the versions. From
//! both, [`Said::restore`] makes the body again, byte for byte.

use bytes::Bytes;

use super::{
    json_writer::JsonObject,
    resource::VersionName,
    rest::{Response, Shown},
    state::State,
};

/// What stands where a version was left out.
const HOLE: &[u8] = b"null";

/// The body of an answer: text with holes, and what belongs into them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub(super) text: Bytes,
    pub(super) shown: Vec<Mention>,
}

/// A version that an answer showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) name: VersionName,
    /// Where in the text it was left out; nothing when it was shown in part, which the text holds.
    pub(super) hole: Option<usize>,
}

/// A version that an answer showed is not in the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} was shown, but the store does not have it")]
pub struct Unknown(pub VersionName);

impl Said {
    /// What an answer says.
    pub(super) fn of(response: &Response) -> Self {
        let body = &response.body;
        let places = || {
            response
                .shown
                .iter()
                .filter_map(|shown| shown.place.clone())
        };
        let mut left_out = places().peekable();
        let text = match left_out.peek() {
            None => body.clone(),
            Some(place) if *place == (0..body.len()) => Bytes::from_static(HOLE),
            Some(_) => {
                let kept = body.len() - left_out.map(|place| place.len()).sum::<usize>();
                let mut text = Vec::with_capacity(kept + HOLE.len() * response.shown.len());
                let mut done = 0;
                for place in places() {
                    text.extend_from_slice(&body[done..place.start]);
                    text.extend_from_slice(HOLE);
                    done = place.end;
                }
                text.extend_from_slice(&body[done..]);
                text.into()
            }
        };
        Self {
            text,
            shown: mentions(&response.shown),
        }
    }

    /// About how many bytes [`Said::write`] writes.
    pub(super) fn length(&self) -> usize {
        self.text.len() + self.shown.len() * 64
    }

    /// Writes it into an event.
    pub(super) fn write(&self, out: &mut JsonObject) {
        if !self.text.is_empty() {
            out.field("response").raw(&self.text);
        }
        if self.shown.is_empty() {
            return;
        }
        out.field("shown").list(&self.shown, |out, mention| {
            let VersionName { kind, id, version } = &mention.name;
            out.version_name(kind.name(), id, *version);
        });
        out.field("holes")
            .list(&self.shown, |out, mention| match mention.hole {
                Some(hole) => out.number(i64::try_from(hole).unwrap_or(i64::MAX)),
                None => {
                    out.raw(b"null");
                }
            });
    }

    /// The body, with the versions taken from a store that has them.
    pub fn restore(&self, state: &State) -> Result<Bytes, Unknown> {
        let mut body = Vec::with_capacity(self.text.len());
        let mut done = 0;
        for mention in &self.shown {
            let Some(hole) = mention.hole else { continue };
            let unknown = || Unknown(mention.name.clone());
            let version = state.version(&mention.name).ok_or_else(unknown)?;
            let before = self.text.get(done..hole).ok_or_else(unknown)?;
            body.extend_from_slice(before);
            body.extend_from_slice(version.body.as_ref().ok_or_else(unknown)?);
            done = hole + HOLE.len();
        }
        if done == 0 {
            return Ok(self.text.clone());
        }
        body.extend_from_slice(self.text.get(done..).unwrap_or_default());
        Ok(body.into())
    }
}

/// Where in the text with holes each of the versions was.
fn mentions(shown: &[Shown]) -> Vec<Mention> {
    // How much of the body was left out before a place, and how much stands there instead.
    let (mut left_out, mut instead) = (0, 0);
    shown
        .iter()
        .map(|shown| {
            let hole = shown.place.as_ref().map(|place| {
                let hole = place.start - left_out + instead;
                left_out += place.len();
                instead += HOLE.len();
                hole
            });
            Mention {
                name: shown.name.clone(),
                hole,
            }
        })
        .collect()
}
