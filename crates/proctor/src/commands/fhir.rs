//! `proctor fhir`.

use std::{sync::Arc, time::Duration};

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
    cli::{Fhir, FhirValidation},
    commands::signals,
    exit::{Exit, WrongUse},
};

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
