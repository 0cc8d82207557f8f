//! `command_scorer`: a command whose exit status is the score.

use async_trait::async_trait;

use super::Kind;
use crate::{
    bench::{Bench, Ended, Script},
    error::JudgeError,
    members::{Members, ReadMembers as _},
    scored::Finding,
};

/// A command: exit status 0 is everything, any other nothing.
#[derive(Debug)]
pub(crate) struct Command {
    command: String,
}

#[async_trait]
impl Kind for Command {
    const NAME: &'static str = "command_scorer";

    fn read(members: &Members<'_>) -> Option<Self> {
        Some(Self {
            command: members.text("command")?.to_owned(),
        })
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        bench
            .finding(&Script::new(&self.command), Ended::by_status)
            .await
    }
}
