//! `custom_scorer`: a script that was registered under a type, with parameters of this use.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::Kind;
use crate::{
    bench::{Bench, Script},
    error::JudgeError,
    members::{Members, ReadMembers as _},
    output,
    scored::{Finding, NoResult},
};

/// The variables that a registered script finds its parameters in.
const CONTEXTS: [&str; 2] = ["RL_SCORER_CONTEXT", "RL_TEST_CONTEXT"];

/// How long parameters may be: what a process can be given in one variable, and some room.
const LONGEST: usize = 100_000;

/// A registered script and its parameters.
#[derive(Debug)]
pub(crate) struct Custom {
    scorer_type: String,
    /// The parameters as JSON.
    context: String,
}

#[async_trait]
impl Kind for Custom {
    const NAME: &'static str = "custom_scorer";

    fn read(members: &Members<'_>) -> Option<Self> {
        let scorer_type = members.text("custom_scorer_type");
        let context = match members.optional("scorer_params") {
            None => Some("{}".to_owned()),
            Some(parameters) => parameters.object().map(|_| parameters.value().to_string()),
        };
        let context = context.filter(|context| {
            let fits = context.len() <= LONGEST;
            if !fits {
                members.refuse(
                    "scorer_params",
                    format!("must be at most {LONGEST} bytes long as JSON"),
                );
            }
            fits
        });
        Some(Self {
            scorer_type: scorer_type?.to_owned(),
            context: context?,
        })
    }

    async fn score(&self, bench: &Bench<'_>) -> Result<Finding, JudgeError> {
        let Some(text) = bench.custom.get(&self.scorer_type) else {
            let why = format!("there is no scorer of the type '{}'", self.scorer_type);
            return Ok(NoResult::impossible(why).into());
        };
        let variables = CONTEXTS.map(|name| (name.to_owned(), self.context.clone()));
        let script = Script {
            environment: BTreeMap::from(variables),
            ..Script::new(text)
        };
        bench
            .finding(&script, |ended| ended.by_output(output::of_script))
            .await
    }

    fn custom_type(&self) -> Option<&str> {
        Some(&self.scorer_type)
    }
}
