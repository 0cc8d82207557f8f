//! `proctor fhir`.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use proctor_api::telemetry::{self, TelemetryOptions};
use proctor_core::{canonical::Digest, id::IdSource};
use proctor_fhir_server::{
    beginning::BeginError,
    serve::{Bound, ServeError, ServeOptions},
};
use proctor_fhir_store::{Seed, Validation, smart::Smart};
use proctor_store::ambient::{RandomIds, SystemClock};
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    commands::signals,
    exit::{Exit, WrongUse},
    settings::address,
};

#[derive(Debug, Args)]
pub(crate) struct Fhir {
    /// Address and port to listen on; port 0 lets the system choose
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7071", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Resources and bundles to begin with (JSON, or a resource a line in .ndjson)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) load: Vec<PathBuf>,
    /// Directory that keeps what happens; without it everything is forgotten at the end
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The address that clients see, where it is not the one listened on
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// What the ids that the store chooses follow from: the same seed, the same ids
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
    /// What happens to resources that break the rules of their type
    #[arg(long, value_name = "RULE", default_value = "enforced")]
    pub(crate) validation: FhirValidation,
    /// Only clients with a token may use it; they get one for this id and secret
    #[arg(
        long,
        value_name = "ID:SECRET",
        env = "PROCTOR_FHIR_CLIENT",
        hide_env_values = true
    )]
    pub(crate) client: Option<String>,
    /// Say that the store is ready as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FhirValidation {
    /// Refused, unless the client asks with `Prefer: validation=none`
    Enforced,
    /// Refused, whatever the client prefers
    Always,
    /// Stored
    Off,
}

const TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

pub(crate) async fn run(arguments: Fhir) -> anyhow::Result<Exit> {
    let telemetry = telemetry::install(&TelemetryOptions {
        filter: "warn".to_owned(),
        ..TelemetryOptions::default()
    })?;
    let options = ServeOptions {
        listen: arguments.listen,
        load: arguments.load,
        data: arguments.data,
        base_url: arguments.base_url,
        seed: Seed::from_number(arguments.seed),
        validation: match arguments.validation {
            FhirValidation::Enforced => Validation::Enforced,
            FhirValidation::Always => Validation::Always,
            FhirValidation::Off => Validation::Off,
        },
        smart: arguments.client.as_deref().map(client).transpose()?,
    };
    let ids: Arc<dyn IdSource> = Arc::new(RandomIds::default());
    let bound = Bound::bind(options, Arc::new(SystemClock), ids)
        .await
        .map_err(|error| match error {
            ServeError::Begin(
                wrong @ (BeginError::Content { .. } | BeginError::OtherBase { .. }),
            ) => WrongUse(wrong.to_string()).into(),
            other => anyhow::Error::from(other),
        })?;
    let url = bound.base_url();
    if arguments.json {
        println!("{}", json!({"ready": true, "url": url}));
    } else {
        println!(
            "A FHIR R4 store answers at {url}\n\nTry it:\n\n    curl {url}/metadata\n    curl {url}/Patient"
        );
    }
    let (shutdown, tasks) = (CancellationToken::new(), TaskTracker::new());
    tasks.spawn(signals::stop(shutdown.clone()));
    bound.run(shutdown).await?;
    telemetry.shutdown();
    Ok(Exit::Fine)
}

/// The client that may ask for tokens. They are signed with a key that follows from its secret, so
/// that they outlive a restart.
fn client(text: &str) -> Result<Smart, WrongUse> {
    match text.split_once(':') {
        Some((id, secret)) if !id.is_empty() && !secret.is_empty() => {
            let signing_key =
                *Digest::of_bytes(format!("proctor fhir token {secret}").as_bytes()).raw();
            Ok(Smart::new(id, secret, signing_key, TOKEN_LIFETIME))
        }
        _ => Err(WrongUse(
            "a client is an id and a secret with a colon between them".to_owned(),
        )),
    }
}
