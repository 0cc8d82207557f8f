//! `proctor serve`.

use std::{net::SocketAddr, num::NonZeroU32, time::Duration};

use anyhow::Context as _;
use clap::Args;
use proctor_api::{
    ApiOptions, RateLimit,
    server::{Drained, ServerOptions, TlsFiles},
    telemetry::{self, TelemetryOptions},
};
use proctor_devbox::local::TotalLimits;
use proctor_fleet::KeepFrozen;
use proctor_ssh::SshOptions;
use proctor_store::{
    Store,
    credentials::{GivenKey, PlainKey},
};
use proctor_web::pages::sign_in::ticket_path;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use tokio_util::task::TaskTracker;

use crate::{
    addresses::SshListen,
    agents,
    commands::signals,
    devboxes::{self, Supplies},
    exit::{Exit, WrongUse},
    harbor_settings::harbor_settings,
    image_settings::ImageSources,
    judge, prices,
    running::{Opened, Running, Terms},
    settings::{LogFormat, ServeSettings, Settings},
};

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) serve: ServeSettings,
    /// Say that the server is ready as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The variable that chooses the first key.
const BOOTSTRAP_KEY: &str = "PROCTOR_BOOTSTRAP_KEY";

pub(crate) async fn run(arguments: Serve) -> anyhow::Result<Exit> {
    let (settings, serve) = arguments.settings.complete_for_serve(arguments.serve)?;
    let server_options = server_options(&serve)?;
    let backend = match &serve.backend {
        Some(name) => devboxes::backend(name)?,
        None => Supplies::default().backend,
    };
    let agents = agents::manifests(serve.agents.as_deref().unwrap_or_default())?;
    let judge = judge::of(&serve)?;
    let prices = prices::read(serve.model_prices.as_deref())?;
    let telemetry = telemetry::install(&telemetry_options(&serve))
        .context(WrongUse("logs cannot be set up".to_owned()))?;
    let opened = Opened::open(&settings, server_options).await?;
    let first = first_start(opened.store()).await?;
    let terms = Terms {
        public_url: serve.public_url.clone(),
        is_tls: serve.tls_cert.is_some(),
        api: api_options(&serve),
        prices,
        supplies: Supplies {
            backend,
            images: serve.images.clone().unwrap_or_default(),
            image_sources: ImageSources::of(&serve)?,
            code_mirrors: serve.code_mirrors.clone(),
            keep_frozen: keep_frozen(&serve),
            exact_disks: serve.exact_disks.unwrap_or(false),
            totals: TotalLimits {
                pids: serve.devbox_processes,
                memory_bytes: serve.devbox_memory,
            },
            internal_hosts: serve.internal_hosts.clone().unwrap_or_default(),
            harbor: harbor_settings(&serve),
        },
        agents,
        judge,
        ssh: ssh_options(&serve),
    };
    let running = opened.start(&settings.data_directory(), terms).await?;
    let tasks = TaskTracker::new();
    tasks.spawn(signals::stop(running.stopping()));
    announce(arguments.json, &running, first.as_ref());
    let drained = running.finish().await?;
    telemetry.shutdown();
    if let Drained::CutShort { connections } = drained {
        eprintln!(
            "stopped; {connections} connection(s) were still at work when the grace period ended"
        );
    }
    Ok(Exit::Fine)
}

/// The keys that the first start made.
struct FirstKeys {
    /// The organization's, unless it was chosen outside.
    organization: Option<SecretString>,
    /// The operator's.
    operator: SecretString,
    /// A one-time link into the pages, below the server's address.
    pages: String,
}

/// On an empty store makes the first organization with its key, and a key for whoever runs the server.
async fn first_start(store: &Store) -> anyhow::Result<Option<FirstKeys>> {
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
    let Some((_, issued)) = made else {
        return Ok(None);
    };
    let name = Some("first start".to_owned());
    let operator = store.create_operator_key(name, PlainKey::Random).await?;
    let ticket = store.issue_web_ticket(issued.key.id).await?;
    Ok(Some(FirstKeys {
        organization: show.then_some(issued.secret),
        operator: operator.secret,
        pages: ticket_path(&ticket, None),
    }))
}

fn announce(json: bool, running: &Running, first: Option<&FirstKeys>) {
    let (url, ssh) = (&running.url, running.ssh);
    let first_key = first.and_then(|keys| keys.organization.as_ref());
    let first_key = first_key.map(|key| key.expose_secret());
    let operator_key = first.map(|keys| keys.operator.expose_secret());
    let pages = first.map(|keys| format!("{}{}", running.public_url, keys.pages));
    if json {
        println!(
            "{}",
            json!({"ready": true, "url": url, "ssh": ssh, "first_key": first_key, "operator_key": operator_key, "pages": pages})
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
    if let Some(key) = operator_key {
        println!(
            "The operator's key, for {url}/organizations only, shown only now:\n\n    {key}\n"
        );
    }
    match pages {
        Some(link) => {
            println!("The pages, by a link that works once and for ten minutes:\n\n    {link}\n");
        }
        None => {
            let url = &running.public_url;
            println!("The pages are at {url}/ui/ (`proctor open` prints a link that signs you in)");
        }
    }
    if let Some(ssh) = ssh {
        println!("Devboxes are reached by SSH on {ssh}");
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

/// Where SSH is spoken: for this machine alone, unless somebody says otherwise.
fn ssh_options(settings: &ServeSettings) -> Option<SshOptions> {
    let usual = SshListen::On(SocketAddr::from(([127, 0, 0, 1], 0)));
    match settings.ssh_listen.unwrap_or(usual) {
        SshListen::Off => None,
        SshListen::On(listen) => Some(SshOptions {
            listen,
            public: settings
                .ssh_address
                .clone()
                .map(|address| (address.host, address.port)),
        }),
    }
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
        tunnel_domain: settings.tunnel_domain.clone().map(|domain| domain.0),
        ..default
    }
}
