//! `bash_script_scorer`: a script that prints its score.

use async_trait::async_trait;

use super::Kind;
use crate::{
    bench::{Bench, Script},
    error::JudgeError,
    members::{Members, ReadMembers as _},
    output,
    scored::Finding,
};

/// A script, and its last `score=NUMBER` counts.
#[derive(Debug)]
pub(crate) struct BashScript {
    script: String,
}

#[async_trait]
impl Kind for BashScript {
    const NAME: &'static str = "bash_script_scorer";

    fn read(members: &Members<'_>) -> Option<Self> {
        Some(Self {
            script: members.text("bash_script")?.to_owned(),
        })
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        let script = Script::new(&self.script);
        bench
            .finding(&script, |ended| ended.by_output(output::of_script))
            .await
    }
}
