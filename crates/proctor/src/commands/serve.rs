//! `proctor serve`.

use std::{net::SocketAddr, num::NonZeroU32, time::Duration};

use anyhow::Context as _;
use proctor_api::{
    Api, ApiOptions, ApiState, RateLimit,
    metrics::Metrics,
    server::{Drained, Server, ServerOptions, TlsFiles},
    telemetry::{self, TelemetryOptions},
};
use proctor_engine::Engine;
use proctor_fleet::KeepFrozen;
use proctor_store::{
    Store,
    credentials::{GivenKey, PlainKey},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    cli::Serve,
    commands::signals,
    devboxes::{Devboxes, Supplies, stop_waiting},
    exit::{Exit, WrongUse},
    settings::{LogFormat, ServeSettings},
    storage,
};

/// The variable that chooses the first key.
const BOOTSTRAP_KEY: &str = "PROCTOR_BOOTSTRAP_KEY";
/// How often old answers are forgotten.
const SWEEP: Duration = Duration::from_secs(3600);

pub(crate) async fn run(arguments: Serve) -> anyhow::Result<Exit> {
    let (settings, serve) = arguments.settings.complete_for_serve(arguments.serve)?;
    let server_options = server_options(&serve)?;
    let telemetry = telemetry::install(&telemetry_options(&serve))
        .context(WrongUse("logs cannot be set up".to_owned()))?;
    let storage = storage::open(&settings).await?;
    let metrics = Metrics::new();
    // Before the first key is made and shown: a port that is taken must not cost it.
    let server = Server::bind(server_options, metrics.clone()).await?;
    let first_key = first_start(&storage.store).await?;
    let scheme = if serve.tls_cert.is_some() {
        "https"
    } else {
        "http"
    };
    let public_url = match &serve.public_url {
        Some(url) => url.clone(),
        None => format!("{scheme}://{}", server.local_addr()),
    };
    let supplies = Supplies {
        images: serve.images.clone().unwrap_or_default(),
        code_mirrors: serve.code_mirrors.clone(),
        keep_frozen: keep_frozen(&serve),
        exact_disks: serve.exact_disks.unwrap_or(false),
    };
    let devboxes = Devboxes::open(&settings.data_directory(), &storage, supplies).await?;
    let engine = Engine::new(
        storage.store.clone(),
        storage.clock,
        &public_url,
        Some(devboxes.workshop()),
    );
    // A server that listens everywhere does not know its name: links then lead to where the request went.
    let knows_its_name = serve.public_url.is_some() || serve.tls_cert.is_some();
    let options = ApiOptions {
        public_url: knows_its_name.then_some(public_url),
        ..api_options(&serve)
    };
    let offered = Some(devboxes.offered());
    let state = ApiState::new(options, engine.clone(), offered, storage.ids, metrics);
    engine.run().await?;
    let router = Api::new().into_router(state.clone());

    let shutdown = CancellationToken::new();
    let tasks = TaskTracker::new();
    tasks.spawn(signals::stop(shutdown.clone()));
    tasks.spawn(sweep(storage.store.clone(), shutdown.clone()));
    let fleet = devboxes.fleet.clone();
    tasks.spawn(stop_waiting(fleet, shutdown.clone()));
    announce(
        arguments.json,
        scheme,
        server.local_addr(),
        first_key.as_ref(),
    );

    let drained = server.serve(router, shutdown).await;
    state.finish_tasks().await;
    engine.close().await;
    devboxes.close().await;
    storage.store.close().await;
    telemetry.shutdown();
    if let Drained::CutShort { connections } = drained {
        eprintln!(
            "stopped; {connections} connection(s) were still at work when the grace period ended"
        );
    }
    Ok(Exit::Fine)
}

/// On an empty store makes the first organization; its key, unless that was chosen outside.
async fn first_start(store: &Store) -> anyhow::Result<Option<SecretString>> {
    let chosen = match std::env::var(BOOTSTRAP_KEY) {
        Ok(text) => Some(
            GivenKey::try_from(text)
                .map_err(|error| WrongUse(format!("{BOOTSTRAP_KEY}: {error}")))?,
        ),
        Err(_) => None,
    };
    let show = chosen.is_none();
    let made = store
        .bootstrap("default", chosen.map_or(PlainKey::Random, PlainKey::Given))
        .await?;
    Ok(made.filter(|_| show).map(|(_, issued)| issued.secret))
}

fn announce(json: bool, scheme: &str, address: SocketAddr, first_key: Option<&SecretString>) {
    let url = format!("{scheme}://{address}");
    let first_key = first_key.map(|key| key.expose_secret());
    if json {
        println!(
            "{}",
            json!({"ready": true, "url": url, "first_key": first_key})
        );
        return;
    }
    println!("Proctor {} listens on {url}", env!("CARGO_PKG_VERSION"));
    if let Some(key) = first_key {
        println!(
            "\nThis is the first start. The organization's key, shown only now:\n\n    {key}\n"
        );
        println!("Try it:\n\n    curl -H 'Authorization: Bearer {key}' {url}/solvers\n");
    }
    println!("The API is described at {url}/docs");
}

fn telemetry_options(settings: &ServeSettings) -> TelemetryOptions {
    let default = TelemetryOptions::default();
    TelemetryOptions {
        filter: settings.log.clone().unwrap_or(default.filter),
        format: match settings.log_format {
            Some(LogFormat::Json) => telemetry::LogFormat::Json,
            Some(LogFormat::Text) | None => telemetry::LogFormat::Text,
        },
        otlp_endpoint: settings.otlp_endpoint.clone(),
        service_name: default.service_name,
    }
}

fn server_options(settings: &ServeSettings) -> anyhow::Result<ServerOptions> {
    let default = ServerOptions::default();
    let tls = match (&settings.tls_cert, &settings.tls_key) {
        (Some(certificates), Some(key)) => Some(TlsFiles {
            certificates: certificates.clone(),
            key: key.clone(),
        }),
        (None, None) => None,
        _ => return Err(WrongUse("TLS needs both --tls-cert and --tls-key".to_owned()).into()),
    };
    Ok(ServerOptions {
        listen: settings.listen.unwrap_or(default.listen),
        tls,
        grace: settings
            .grace
            .map_or(default.grace, |seconds| Duration::from_secs(seconds.into())),
        ..default
    })
}

fn keep_frozen(settings: &ServeSettings) -> KeepFrozen {
    let default = KeepFrozen::default();
    KeepFrozen {
        disks: settings.keep_frozen.unwrap_or(default.disks),
        bytes: settings.keep_frozen_bytes.unwrap_or(default.bytes),
    }
}

fn api_options(settings: &ServeSettings) -> ApiOptions {
    let default = ApiOptions::default();
    let a_seconds_worth = |per_minute: NonZeroU32| {
        per_minute
            .get()
            .div_ceil(60)
            .try_into()
            .unwrap_or(NonZeroU32::MIN)
    };
    ApiOptions {
        body_limit: settings.body_limit.unwrap_or(default.body_limit),
        request_time_out: settings
            .request_timeout
            .map_or(default.request_time_out, |seconds| {
                Duration::from_secs(seconds.get().into())
            }),
        rate_limit: settings.rate_limit.map(|per_minute| RateLimit {
            per_minute,
            burst: settings
                .rate_burst
                .unwrap_or_else(|| a_seconds_worth(per_minute)),
        }),
        ..default
    }
}

/// Forgets, now and then, what is too old to be asked for.
async fn sweep(store: Store, shutdown: CancellationToken) {
    while tokio::time::timeout(SWEEP, shutdown.cancelled())
        .await
        .is_err()
    {
        if let Err(error) = store.forget_old_requests().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "old answers could not be forgotten"
            );
        }
        if let Err(error) = proctor_fleet::objects::sweep(&store).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "objects whose time is over stay for now"
            );
        }
    }
}
