//! A server inside this process, for commands that need one for a while.

use std::{collections::BTreeMap, net::SocketAddr, path::Path};

use proctor_api::{ApiOptions, server::ServerOptions};
use proctor_core::{
    agent::AgentManifest,
    id::kinds::{CredentialId, OrganizationId},
    usage::PriceTable,
};
use proctor_store::{
    Store,
    credentials::{IssuedKey, KeyOwner, PlainKey},
};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::access::OwnServerOptions;
use crate::{
    devboxes::Supplies,
    exit::WrongUse,
    running::{Opened, Running, Terms},
    settings::Settings,
};

/// A server at work.
pub(crate) struct Embedded {
    /// Where it answers.
    pub(crate) url: String,
    /// A key of its organization.
    pub(crate) key: SecretString,
    /// What the key is called in the store.
    key_id: CredentialId,
    organization: OrganizationId,
    running: Running,
}

impl Embedded {
    /// Starts a server that keeps everything in `data`.
    pub(crate) async fn start(data: &Path, listen: SocketAddr) -> anyhow::Result<Self> {
        Self::start_own(data, listen, OwnServerOptions::default()).await
    }

    /// The same with these prices and images.
    pub(crate) async fn start_own(
        data: &Path,
        listen: SocketAddr,
        own: OwnServerOptions,
    ) -> anyhow::Result<Self> {
        let settings = Settings {
            data: Some(data.to_owned()),
            ..Settings::default()
        };
        let supplies = Supplies {
            images: own.images,
            ..Supplies::default()
        };
        Self::start_as(&settings, listen, supplies, BTreeMap::new(), own.prices).await
    }

    /// Starts a server that keeps everything where the settings say, with what is there for its boxes and its agents.
    pub(crate) async fn start_with(
        settings: &Settings,
        listen: SocketAddr,
        supplies: Supplies,
        agents: BTreeMap<String, AgentManifest>,
    ) -> anyhow::Result<Self> {
        let prices = PriceTable::default();
        Self::start_as(settings, listen, supplies, agents, prices).await
    }

    async fn start_as(
        settings: &Settings,
        listen: SocketAddr,
        supplies: Supplies,
        agents: BTreeMap<String, AgentManifest>,
        prices: PriceTable,
    ) -> anyhow::Result<Self> {
        let options = ServerOptions {
            listen,
            ..ServerOptions::default()
        };
        let opened = Opened::open(settings, options).await?;
        let (organization, issued) = organization_key(opened.store()).await?;
        let terms = Terms {
            public_url: None,
            is_tls: false,
            api: ApiOptions::default(),
            prices,
            supplies,
            agents,
            judge: None,
            ssh: None,
        };
        let running = opened.start(&settings.data_directory(), terms).await?;
        Ok(Self {
            url: running.url.clone(),
            key: issued.secret,
            key_id: issued.key.id,
            organization,
            running,
        })
    }

    /// Whether tasks can be done in boxes here: tried, not guessed.
    pub(crate) async fn has_devboxes(&self) -> bool {
        self.running.has_devboxes().await
    }

    /// What stops it.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.running.stopping()
    }

    /// Stops it, and takes its key back: nobody will ask with it again.
    pub(crate) async fn stop_for_good(self) -> anyhow::Result<()> {
        let store = self.running.store();
        store
            .revoke_key(self.organization, KeyOwner::Organization, self.key_id)
            .await?;
        self.stop().await
    }

    /// Stops it, and waits until all is on disk.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.stopping().cancel();
        self.running.finish().await?;
        Ok(())
    }
}

/// A new key of the only organization, which is made where there is none.
async fn organization_key(store: &Store) -> anyhow::Result<(OrganizationId, IssuedKey)> {
    if let Some((organization, issued)) = store.bootstrap("demo", PlainKey::Random).await? {
        return Ok((organization.id, issued));
    }
    let organizations = store.organizations().await?;
    let [only] = organizations.as_slice() else {
        let advice = "the store has several organizations; choose another directory";
        return Err(WrongUse(advice.to_owned()).into());
    };
    let name = Some("demo".to_owned());
    let issued = store
        .create_key(only.id, KeyOwner::Organization, name, PlainKey::Random)
        .await?;
    let issued = issued.ok_or_else(|| WrongUse("the organization takes no keys".to_owned()))?;
    Ok((only.id, issued))
}
