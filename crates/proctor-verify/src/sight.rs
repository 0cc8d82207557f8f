//! The exhibits of a world as checks look at them: what must be read first is read when it is first
//! asked for, and once for all criteria.

use std::cell::OnceCell;

use proctor_core::phrase::Phrase;
use proctor_hl7::Message;
use proctor_playground::exhibits::{Exhibits, SentMessage, Speaker, Turn, X12Response};
use proctor_x12::interchange::Document;

/// The exhibits of a world, and what was read of them.
pub(crate) struct Sight<'e, 'w> {
    pub(crate) exhibits: &'e Exhibits<'w>,
    messages: OnceCell<Option<Vec<ReadMessage<'w>>>>,
    stretches: OnceCell<Option<Vec<Stretch<'w>>>>,
    answers: OnceCell<Option<Vec<ReadAnswer<'w>>>>,
}

/// A message that can be read.
pub(crate) struct ReadMessage<'w> {
    pub(crate) sent: &'w SentMessage,
    pub(crate) message: Message<'w>,
}

/// Turns of one speaker that follow one another in one call.
pub(crate) struct Stretch<'w> {
    pub(crate) speaker: Speaker,
    /// The number of its first turn among all turns of all calls.
    pub(crate) first: usize,
    turns: &'w [Turn],
    folded: OnceCell<Vec<Phrase>>,
}

impl Stretch<'_> {
    /// What was said, turn by turn.
    pub(crate) fn phrases(&self) -> &[Phrase] {
        let fold = || {
            self.turns
                .iter()
                .map(|turn| Phrase::fold(&turn.text))
                .collect()
        };
        self.folded.get_or_init(fold)
    }
}

/// An answer that can be read.
pub(crate) struct ReadAnswer<'w> {
    pub(crate) response: &'w X12Response,
    pub(crate) document: Document,
}

impl<'e, 'w> Sight<'e, 'w> {
    /// Nothing is read yet.
    pub(crate) fn of(exhibits: &'e Exhibits<'w>) -> Self {
        Self {
            exhibits,
            messages: OnceCell::new(),
            stretches: OnceCell::new(),
            answers: OnceCell::new(),
        }
    }

    /// The messages that can be read, oldest first; none without a simulator.
    pub(crate) fn messages(&self) -> Option<&[ReadMessage<'w>]> {
        let read = || {
            let sent = self.exhibits.hl7_sent.as_ref()?.iter();
            let messages = sent.filter_map(|sent| {
                let message = Message::parse(sent.payload.as_bytes()).ok()?;
                Some(ReadMessage { sent, message })
            });
            Some(messages.collect())
        };
        self.messages.get_or_init(read).as_deref()
    }

    /// What was said in all calls, in order; none without a telephone.
    pub(crate) fn stretches(&self) -> Option<&[Stretch<'w>]> {
        let read = || {
            let mut stretches = Vec::new();
            let mut number = 0;
            for call in self.exhibits.calls.as_ref()? {
                for turns in call.turns.chunk_by(|one, next| one.speaker == next.speaker) {
                    stretches.push(Stretch {
                        speaker: turns[0].speaker,
                        first: number,
                        turns,
                        folded: OnceCell::new(),
                    });
                    number += turns.len();
                }
            }
            Some(stretches)
        };
        self.stretches.get_or_init(read).as_deref()
    }

    /// The answers that can be read, oldest first; none without a clearinghouse.
    pub(crate) fn answers(&self) -> Option<&[ReadAnswer<'w>]> {
        let read = || {
            let responses = self.exhibits.x12.as_ref()?.iter();
            let answers = responses.filter_map(|response| {
                let document = Document::read(response.raw.as_bytes()).ok()?;
                Some(ReadAnswer { response, document })
            });
            Some(answers.collect())
        };
        self.answers.get_or_init(read).as_deref()
    }
}
