//! The server that a command asks: one that is named, or one of its own on the user's data directory.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use proctor_api::telemetry::{self, Telemetry, TelemetryOptions};
use proctor_benchmarks::Api;
use proctor_core::usage::PriceTable;
use secrecy::SecretString;

use super::embedded::Embedded;
use crate::{
    exit::WrongUse,
    settings::{NamedImage, Settings},
};

/// The server that a key without an address is for.
const USUAL_SERVER: &str = "http://127.0.0.1:7070";

/// Which server is asked.
#[derive(Clone, Debug, Args)]
pub(crate) struct Access {
    /// The server [default: with a key http://127.0.0.1:7070, without one a server of this command's own]
    #[arg(long, value_name = "URL", env = "PROCTOR_SERVER")]
    pub(crate) server: Option<String>,
    /// A key of the organization, for --server
    #[arg(long, value_name = "KEY", env = "PROCTOR_KEY", hide_env_values = true)]
    pub(crate) key: Option<SecretString>,
    /// Directory of the command's own server, where runs accumulate [default: that of the user]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// What a server of the command's own has.
#[derive(Default)]
pub(crate) struct OwnServerOptions {
    /// What models cost.
    pub(crate) prices: PriceTable,
    /// Images by the names that stand after `FROM`.
    pub(crate) images: Vec<NamedImage>,
}

/// A server that answers.
pub(crate) struct Connection {
    /// The server, with a key of an organization.
    pub(crate) api: Api,
    /// Where this machine keeps what belongs to its runs.
    pub(crate) directory: PathBuf,
    /// The address of the server, if it was named.
    pub(crate) server: Option<String>,
    embedded: Option<(Embedded, Telemetry)>,
}

impl Access {
    /// Where this machine keeps things.
    pub(crate) fn directory(&self) -> PathBuf {
        let settings = Settings {
            data: self.data.clone(),
            ..Settings::default()
        };
        settings.data_directory()
    }

    /// The server that is named; none if the command's own is meant, also where a variable names another.
    pub(crate) fn named(&self) -> Option<&str> {
        match (&self.data, &self.server, &self.key) {
            (Some(_), _, _) | (None, None, None) => None,
            (None, Some(server), _) => Some(server),
            (None, None, Some(_)) => Some(USUAL_SERVER),
        }
    }

    /// Reaches the server, or starts one.
    pub(crate) async fn open(&self) -> anyhow::Result<Connection> {
        self.open_with(OwnServerOptions::default()).await
    }

    /// The same; a server that is started has what `own` says.
    pub(crate) async fn open_with(&self, own: OwnServerOptions) -> anyhow::Result<Connection> {
        let directory = self.directory();
        if let Some(server) = self.named() {
            let missing = || {
                let message =
                    "a key of the organization is needed with --server: --key or PROCTOR_KEY";
                WrongUse(message.to_owned())
            };
            let key = self.key.clone().ok_or_else(missing)?;
            let api = Api::new(server, key).map_err(|bad| WrongUse(bad.to_string()))?;
            return Ok(Connection {
                server: Some(api.server().to_owned()),
                api,
                directory,
                embedded: None,
            });
        }
        let telemetry = telemetry::install(&TelemetryOptions {
            filter: "error".to_owned(),
            ..TelemetryOptions::default()
        })?;
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let embedded = Embedded::start_own(&directory, listen, own)
            .await
            .with_context(|| format!("no server can be started on {}", directory.display()))?;
        Ok(Connection {
            api: Api::new(&embedded.url, embedded.key.clone())?,
            directory,
            server: None,
            embedded: Some((embedded, telemetry)),
        })
    }
}

impl Connection {
    /// What this machine lacks for tasks in boxes, if the server is its own and lacks something.
    pub(crate) async fn missing_for_boxes(&self) -> Option<&'static str> {
        match &self.embedded {
            Some((embedded, _)) if !embedded.has_devboxes().await => {
                Some("devboxes do not work here, and `proctor doctor` says why")
            }
            _ => None,
        }
    }

    /// Stops the server if it is this command's own.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self.embedded {
            Some((embedded, telemetry)) => {
                embedded.stop_for_good().await?;
                telemetry.shutdown();
                Ok(())
            }
            None => Ok(()),
        }
    }
}
