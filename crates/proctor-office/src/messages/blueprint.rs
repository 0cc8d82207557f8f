//! By which channels messages go, and what patients answer.

use proctor_core::{environment::Simulator, phrase::Phrase, problem::Problems};
use proctor_simulation::{
    config::ConfigProblems,
    schema::{about, list, object, text},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// What all playgrounds with these messages share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blueprint {
    channels: Vec<String>,
    replies: Vec<(Phrase, String)>,
}

/// The configuration as authors write it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// The channels that there are; any, where none is named.
    channels: Vec<String>,
    /// What patients answer to messages; the first that matches.
    auto_replies: Vec<AutoReply>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AutoReply {
    #[serde(rename = "match")]
    phrase: String,
    reply: String,
}

/// The JSON Schema of the configuration.
pub(super) fn config_schema() -> Value {
    let reply = object(
        &["match", "reply"],
        json!({
            "match": about("The words of a message that it answers.", text()),
            "reply": about("What the patient writes back.", text()),
        }),
    );
    object(
        &[],
        json!({
            "channels": about("The channels that there are; any, where none is named.", list(&text())),
            "auto_replies": about("What patients answer to messages; the first that matches.", list(&reply)),
        }),
    )
}

impl Blueprint {
    /// Reads the simulator's configuration.
    pub fn read(simulator: &Simulator) -> Result<Self, Problems> {
        let (config, mut problems) = ConfigProblems::read::<Config>(&simulator.config);
        problems.refuse_datasets(simulator);
        if config.channels.iter().any(|name| name.trim().is_empty()) {
            problems.add("channels", "a channel must have a name");
        }
        let mut replies = Vec::new();
        for (index, rule) in config.auto_replies.into_iter().enumerate() {
            let place = |field: &str| format!("auto_replies.{index}.{field}");
            let phrase = problems.phrase(&place("match"), &rule.phrase);
            if rule.reply.trim().is_empty() {
                problems.add(&place("reply"), "must say something");
            }
            replies.push((phrase, rule.reply));
        }
        problems.finish()?;
        Ok(Self {
            channels: config.channels,
            replies,
        })
    }

    /// The channels that there are, if this is none of them.
    pub(super) fn missing_channel(&self, channel: &str) -> Option<String> {
        let is_there = self.channels.is_empty() || self.channels.iter().any(|one| one == channel);
        (!is_there).then(|| self.channels.join(", "))
    }

    /// What a patient answers to this.
    pub(super) fn reply(&self, body: &str) -> Option<&str> {
        if self.replies.is_empty() {
            return None;
        }
        let said = Phrase::fold(body);
        let rule = self.replies.iter().find(|(phrase, _)| phrase.is_in(&said));
        rule.map(|(_, reply)| reply.as_str())
    }
}
