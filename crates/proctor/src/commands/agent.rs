//! `proctor agent model`: a language model takes a task.
//!
//! It is an agent like any other command: it is told of its task by environment variables, and what it did is in the files that they
//! name.

use std::{
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use proctor_model_agent::{
    Agent as ModelAgent, Failure,
    limits::{Limits, Prices},
    mcp::Endpoint,
    provider::{Dialect, Model as ProviderModel},
};
use proctor_store::ambient::SystemClock;
use reqwest::{Client, Method};
use secrecy::{ExposeSecret as _, SecretString};

use crate::exit::{Exit, WrongUse};

#[derive(Debug, Args)]
pub(crate) struct Agent {
    #[command(subcommand)]
    pub(crate) kind: AgentKind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentKind {
    /// Let a language model take a task with the task's own tools
    Model(Box<Model>),
}

#[derive(Debug, Args)]
pub(crate) struct Model {
    /// The provider and the model: anthropic/NAME, or openai/NAME for whatever speaks chat/completions
    #[arg(value_name = "PROVIDER/NAME")]
    pub(crate) model: String,
    /// The MCP endpoint of the task run
    #[arg(long, value_name = "URL", env = "PROCTOR_MCP_URL")]
    pub(crate) mcp_url: String,
    /// The token that opens it
    #[arg(
        long,
        value_name = "TOKEN",
        env = "PROCTOR_TOKEN",
        hide_env_values = true
    )]
    pub(crate) token: SecretString,
    /// The provider's address, before /chat/completions or /messages [default: the provider's own]
    #[arg(long, value_name = "URL", env = "PROCTOR_MODEL_URL")]
    pub(crate) base_url: Option<String>,
    /// The environment variable with the provider's key [default: OPENAI_API_KEY or ANTHROPIC_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_variable: Option<String>,
    /// How often the model is asked
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: u32,
    /// How many tokens it may read and write in all
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// How much it may cost, in US dollars; needs the prices
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<f64>,
    /// How many seconds it may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) max_time: Option<u64>,
    /// How many tokens the conversation may have before old results are taken out of it
    #[arg(long, value_name = "N", default_value_t = 150_000)]
    pub(crate) max_context: u64,
    /// How many tokens an answer may have
    #[arg(long, value_name = "N", default_value_t = 8_192)]
    pub(crate) max_answer: u64,
    /// What a million tokens cost that the model reads, in US dollars
    #[arg(long, value_name = "USD", requires = "output_price")]
    pub(crate) input_price: Option<f64>,
    /// What a million tokens cost that it reads from the provider's cache [default: the input price]
    #[arg(long, value_name = "USD", requires = "input_price")]
    pub(crate) cached_price: Option<f64>,
    /// What a million tokens cost that it writes
    #[arg(long, value_name = "USD", requires = "input_price")]
    pub(crate) output_price: Option<f64>,
    /// Where to write what the agent did, as ATIF
    #[arg(long, value_name = "FILE", env = "PROCTOR_TRAJECTORY_FILE")]
    pub(crate) trajectory: Option<PathBuf>,
    /// Where to append what it used up, a line of JSON for each answer of the model
    #[arg(long, value_name = "FILE", env = "PROCTOR_USAGE_FILE")]
    pub(crate) usage: Option<PathBuf>,
    /// Send both to the server when the agent has ended; not needed where whoever starts the agent does so
    #[arg(long)]
    pub(crate) report: bool,
}

pub(crate) async fn run(arguments: Agent) -> anyhow::Result<Exit> {
    let AgentKind::Model(mut arguments) = arguments.kind;
    let place = tempfile::tempdir().context("no temporary directory can be made")?;
    let mut report = None;
    if arguments.report {
        let file = |name: &str| place.path().join(name);
        let trajectory = arguments
            .trajectory
            .get_or_insert_with(|| file("trajectory.json"));
        // The file that others read may hold lines of an earlier agent.
        let usage = file("usage.jsonl");
        report = Some(Report {
            address: arguments.mcp_url.clone(),
            token: arguments.token.clone(),
            trajectory: trajectory.clone(),
            copy_to: arguments.usage.replace(usage.clone()),
            usage,
        });
    }
    let agent = agent(*arguments)?;
    let ended = agent.run().await;
    if let Some(report) = report {
        report.send().await?;
    }
    match ended {
        Ok(ended) => {
            eprintln!("the agent ended: {}", ended.as_str());
            Ok(Exit::Fine)
        }
        Err(failure @ Failure::Provider(_)) => {
            crate::terminal::report(&failure.into());
            Ok(Exit::ProviderFailed)
        }
        Err(failure) => Err(failure.into()),
    }
}

/// What is sent to the server when the agent has ended.
struct Report {
    address: String,
    token: SecretString,
    trajectory: PathBuf,
    usage: PathBuf,
    /// The file that the caller wants usage in.
    copy_to: Option<PathBuf>,
}

impl Report {
    async fn send(&self) -> anyhow::Result<()> {
        let lines = read_if_there(&self.usage)?.unwrap_or_default();
        if let Some(file) = &self.copy_to {
            let mut file = fs_err::OpenOptions::new()
                .create(true)
                .append(true)
                .open(file)?;
            file.write_all(lines.as_bytes())?;
        }
        if let Some(document) = read_if_there(&self.trajectory)? {
            self.tell(Method::PUT, "trajectory", document).await?;
        }
        let reports: Vec<&str> = lines.lines().collect();
        if !reports.is_empty() {
            let reports = format!("{{\"reports\": [{}]}}", reports.join(","));
            self.tell(Method::POST, "usage", reports).await?;
        }
        Ok(())
    }

    async fn tell(&self, method: Method, what: &str, body: String) -> anyhow::Result<()> {
        let base = self.address.trim_end_matches('/').trim_end_matches("/mcp");
        let sent = Client::new()
            .request(method, format!("{base}/{what}"))
            .bearer_auth(self.token.expose_secret())
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .with_context(|| format!("the {what} cannot be sent"))?;
        let status = sent.status();
        if !status.is_success() {
            let said = sent.text().await.unwrap_or_default();
            anyhow::bail!("the server did not take the {what}: {status}: {said}");
        }
        Ok(())
    }
}

/// The text of a file; none if there is no such file.
fn read_if_there(file: &Path) -> anyhow::Result<Option<String>> {
    match fs_err::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn agent(arguments: Model) -> anyhow::Result<ModelAgent> {
    let (dialect, name) = read_model(&arguments.model)?;
    let (address, variable) = match dialect {
        Dialect::OpenAi => ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        Dialect::Anthropic => ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    };
    let key = key(&arguments, variable)?;
    let prices = prices(&arguments)?;
    if arguments.max_cost.is_some() && prices.is_none() {
        let message = "--max-cost needs --input-price and --output-price: without them nobody knows what it costs";
        return Err(WrongUse(message.to_owned()).into());
    }
    let mut secrets = vec![arguments.token.expose_secret().to_owned()];
    secrets.extend(key.as_ref().map(|key| key.expose_secret().to_owned()));
    let base = arguments.base_url.as_deref().unwrap_or(address);
    for (option, url) in [
        ("--base-url", base),
        ("--mcp-url", arguments.mcp_url.as_str()),
    ] {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let message =
                format!("{option}: '{url}' is not an address that begins with http:// or https://");
            return Err(WrongUse(message).into());
        }
    }
    Ok(ModelAgent {
        model: ProviderModel::new(dialect, name, base, key).context("no HTTP client")?,
        session: session(&arguments.mcp_url),
        task: Endpoint::new(&arguments.mcp_url, arguments.token).context("no HTTP client")?,
        limits: Limits {
            turns: arguments.max_turns,
            tokens: arguments.max_tokens,
            cost: arguments.max_cost,
            time: arguments.max_time.map(Duration::from_secs),
            context: arguments.max_context,
            answer: arguments.max_answer,
        },
        prices,
        clock: Arc::new(SystemClock),
        secrets,
        trajectory_file: arguments.trajectory,
        usage_file: arguments.usage,
    })
}

fn read_model(text: &str) -> Result<(Dialect, String), WrongUse> {
    let (provider, name) = text.split_once('/').unwrap_or((text, ""));
    let dialect = match provider {
        "openai" => Dialect::OpenAi,
        "anthropic" => Dialect::Anthropic,
        _ => {
            return Err(WrongUse(format!(
                "'{text}': the provider must be anthropic or openai, as in anthropic/NAME; a model elsewhere that speaks \
                 chat/completions is openai/NAME with --base-url"
            )));
        }
    };
    match name {
        "" => Err(WrongUse(format!(
            "'{text}' names no model: write {provider}/NAME"
        ))),
        name => Ok((dialect, name.to_owned())),
    }
}

/// The provider's key. An address of one's own may need none.
fn key(arguments: &Model, usual: &str) -> Result<Option<SecretString>, WrongUse> {
    let variable = arguments.key_variable.as_deref().unwrap_or(usual);
    let key = std::env::var(variable).ok().filter(|key| !key.is_empty());
    let is_needed = arguments.key_variable.is_some() || arguments.base_url.is_none();
    match key {
        None if is_needed => Err(WrongUse(format!(
            "the provider's key is needed in the environment variable {variable}"
        ))),
        key => Ok(key.map(SecretString::from)),
    }
}

fn prices(arguments: &Model) -> Result<Option<Prices>, WrongUse> {
    for (option, price) in [
        ("--input-price", arguments.input_price),
        ("--cached-price", arguments.cached_price),
        ("--output-price", arguments.output_price),
        ("--max-cost", arguments.max_cost),
    ] {
        if price.is_some_and(|price| !price.is_finite() || price < 0.0) {
            return Err(WrongUse(format!("{option}: must be a number from 0")));
        }
    }
    let (Some(input), Some(output)) = (arguments.input_price, arguments.output_price) else {
        return Ok(None);
    };
    Ok(Some(Prices {
        input,
        cached: arguments.cached_price.unwrap_or(input),
        output,
    }))
}

/// The task run's id, which is the part of its endpoint's address before `/mcp`.
fn session(url: &str) -> String {
    let path = url.trim_end_matches('/').trim_end_matches("/mcp");
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_a_provider_and_a_name() {
        let read = |text| read_model(text).map_err(|wrong| wrong.to_string());
        let (dialect, name) = read("openai/org/model-1").unwrap();
        assert_eq!((dialect, name.as_str()), (Dialect::OpenAi, "org/model-1"));
        assert!(read("anthropic/").unwrap_err().contains("anthropic/NAME"));
        assert!(read("gemini/x").unwrap_err().contains("--base-url"));
    }

    #[test]
    fn a_session_is_called_like_its_task_run() {
        assert_eq!(session("http://x/v1/task-runs/tr_1/mcp"), "tr_1");
        assert_eq!(session("http://x/v1/scenarios/runs/scr_1/mcp/"), "scr_1");
    }
}
