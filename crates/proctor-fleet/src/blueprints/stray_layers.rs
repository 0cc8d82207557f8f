//! Layers that no blueprint has any more.

use std::collections::BTreeSet;

use proctor_core::causes::with_causes;
use proctor_core::{blueprint::ImageDisk, devbox::DevboxBase};
use proctor_devbox::{Error as BoxError, LayerId};
use proctor_store::StoreError;

use super::{Blueprints, layers};

impl Blueprints {
    /// Removes layers that no blueprint has. Those that a devbox or a snapshot stands on stay until the next time.
    pub(super) async fn forget_layers(&self) -> Result<(), StoreError> {
        let owned: BTreeSet<String> = self
            .inner
            .store
            .blueprint_layers()
            .await?
            .into_iter()
            .flatten()
            .chain(self.layers_of_launches().await?)
            .collect();
        // A build that goes on has not written down its layers yet.
        let any_unfinished = !self.inner.store.unfinished_blueprints().await?.is_empty();
        if any_unfinished {
            return Ok(());
        }
        let mut stray: Vec<LayerId> = match self.inner.backend.layers().await {
            Ok(there) => there.into_iter().map(|layer| layer.id).collect(),
            Err(error) => {
                tracing::warn!(error = %with_causes(&error), "the layers of deleted blueprints stay for now");
                return Ok(());
            }
        };
        stray.retain(|layer| layers::is_ours(layer) && !owned.contains(layer.as_str()));
        // One that stands on another goes first, in whatever order they come.
        loop {
            let before = stray.len();
            let mut left = Vec::new();
            for layer in stray {
                match self.inner.backend.delete_layer(&layer).await {
                    Ok(()) | Err(BoxError::NoSuchLayer(_)) => {}
                    Err(BoxError::InUse { .. }) => left.push(layer),
                    Err(error) => {
                        tracing::warn!(error = %with_causes(&error), %layer, "a layer stays for now");
                    }
                }
            }
            if left.is_empty() || left.len() == before {
                return Ok(());
            }
            stray = left;
        }
    }

    /// The layers that devboxes start from whose boxes may not be there yet.
    async fn layers_of_launches(&self) -> Result<Vec<String>, StoreError> {
        let bases = self.inner.store.bases_of_launches().await?;
        let layers = bases.into_iter().filter_map(|base| match base {
            DevboxBase::Blueprint { image, .. } => match image.disk {
                ImageDisk::Layer(layer) => Some(layer),
                ImageDisk::Host | ImageDisk::RootFs(_) => None,
            },
            DevboxBase::Host | DevboxBase::Snapshot(_) => None,
        });
        Ok(layers.collect())
    }
}
