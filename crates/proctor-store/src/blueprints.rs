//! Blueprints: recipes for disks and what became of them. The disks themselves are the backend's.

use std::collections::BTreeMap;

use proctor_core::{
    blueprint::{Blueprint, Build, BuildStatus, Recipe},
    canonical::Digest,
    id::kinds::{BlueprintId, BlueprintKind, OrganizationId},
};

use crate::{
    Store, StoreError,
    database::{Query, Row},
    names::Sought,
    page::{Listing, Page, PageRequest},
    runs::{Revised, document},
};
use proctor_macros::boxed_futures;

/// Which blueprints a list shows.
#[derive(Clone, Debug, Default)]
pub struct BlueprintFilter {
    /// Called so.
    pub sought: Sought,
    /// That are so far.
    pub status: Option<BuildStatus>,
}

/// Tokens of a recipe's repositories, by their place in the recipe.
pub type CodeTokens = BTreeMap<usize, String>;

const COLUMNS: &str =
    "id, organization, recipe, base, build, layers, created_at, deleted_at, revision";

fn read(row: &Row) -> Result<Revised<Blueprint>, StoreError> {
    Ok(Revised {
        value: Blueprint {
            id: row.id("id")?,
            organization: row.id("organization")?,
            recipe: row.json("recipe")?,
            base: row.opt_id("base")?,
            build: row.json("build")?,
            layers: row.json("layers")?,
            created_at: row.time("created_at")?,
            deleted_at: row.opt_time("deleted_at")?,
        },
        revision: row.int("revision")?,
    })
}

/// What a blueprint's tokens are sealed for.
fn owner(id: BlueprintId) -> String {
    format!("code tokens of {id}")
}

#[boxed_futures]
impl Store {
    /// Makes a blueprint that waits for its build. The tokens of its repositories are kept sealed, apart from the recipe.
    pub async fn create_blueprint(
        &self,
        organization: OrganizationId,
        mut recipe: Recipe,
        base: Option<BlueprintId>,
    ) -> Result<Blueprint, StoreError> {
        let id: BlueprintId = self.repeatable_id();
        let tokens: CodeTokens = recipe
            .code_mounts
            .iter_mut()
            .enumerate()
            .filter_map(|(place, mount)| Some((place, mount.token.take()?)))
            .collect();
        let sealed = if tokens.is_empty() {
            None
        } else {
            Some(self.vault().seal(&owner(id), &document(&tokens)?))
        };
        let blueprint = Blueprint {
            id,
            organization,
            recipe,
            base,
            build: Build::Provisioning,
            layers: Vec::new(),
            created_at: self.now(),
            deleted_at: None,
        };
        let query = Query::new(
            "INSERT INTO blueprints (id, organization, name, recipe, base, status, build, layers, sealed_tokens, \
             created_at, folded_name, metadata, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1)",
        )
        .bind(id)
        .bind(organization)
        .bind(blueprint.recipe.name.as_str())
        .bind(document(&blueprint.recipe)?)
        .bind(base)
        .bind(blueprint.build.status().name())
        .bind(document(&blueprint.build)?)
        .bind(document(&blueprint.layers)?)
        .bind(sealed)
        .bind(blueprint.created_at)
        .bind(blueprint.recipe.name.to_lowercase())
        .bind(document(&blueprint.recipe.metadata)?);
        self.database().execute(query).await?;
        Ok(blueprint)
    }

    /// One of the organization's blueprints, also one that is deleted.
    pub async fn blueprint(
        &self,
        organization: OrganizationId,
        id: BlueprintId,
    ) -> Result<Option<Revised<Blueprint>>, StoreError> {
        let query = Query::new(
            "SELECT id, organization, recipe, base, build, layers, created_at, deleted_at, revision \
             FROM blueprints WHERE organization = $1 AND id = $2",
        )
        .bind(organization)
        .bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| read(&row)).transpose()
    }

    /// The newest of the organization's blueprints that has this name and was built successfully.
    pub async fn blueprint_named(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<Option<Blueprint>, StoreError> {
        let query = Query::new(
            "SELECT id, organization, recipe, base, build, layers, created_at, deleted_at, revision \
             FROM blueprints WHERE organization = $1 AND name = $2 AND status = $3 AND deleted_at IS NULL \
             ORDER BY id DESC LIMIT 1",
        )
        .bind(organization)
        .bind(name)
        .bind(BuildStatus::Complete.name());
        let row = self.database().read_optional(query).await?;
        let found = row.map(|row| read(&row)).transpose()?;
        Ok(found.map(|blueprint| blueprint.value))
    }

    /// The organization's blueprints.
    pub async fn blueprints(
        &self,
        organization: OrganizationId,
        filter: &BlueprintFilter,
        page: PageRequest<BlueprintKind>,
    ) -> Result<Page<Blueprint>, StoreError> {
        let mut listing = Listing::new(COLUMNS, "blueprints")
            .filter("organization", organization)
            .only("deleted_at IS NULL");
        if let Some(status) = filter.status {
            listing = listing.filter("status", status.name());
        }
        listing = listing
            .sought::<BlueprintKind>(self.database(), &filter.sought)
            .await?;
        let page = listing.page(self.database(), page, read).await?;
        Ok(page.map(|blueprint| blueprint.value))
    }

    /// Everybody's blueprints whose build is not over, oldest first.
    pub async fn unfinished_blueprints(&self) -> Result<Vec<Blueprint>, StoreError> {
        let query = Query::new(
            "SELECT id, organization, recipe, base, build, layers, created_at, deleted_at, revision \
             FROM blueprints WHERE status IN ('provisioning', 'building') ORDER BY id",
        );
        let rows = self.database().read_all(query).await?;
        rows.iter()
            .map(|row| Ok(read(row)?.value))
            .collect::<Result<_, StoreError>>()
    }

    /// The layers of everybody's blueprints that are not deleted.
    pub async fn blueprint_layers(&self) -> Result<Vec<Vec<String>>, StoreError> {
        let query = Query::new("SELECT layers FROM blueprints WHERE deleted_at IS NULL");
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.json("layers")).collect()
    }

    /// What opens the repositories of a blueprint whose build is not over.
    pub async fn blueprint_tokens(&self, id: BlueprintId) -> Result<CodeTokens, StoreError> {
        let query = Query::new(
            "SELECT sealed_tokens FROM blueprints WHERE id = $1 AND sealed_tokens IS NOT NULL",
        )
        .bind(id);
        match self.database().read_optional(query).await? {
            None => Ok(CodeTokens::new()),
            Some(row) => {
                let opened = self
                    .vault()
                    .open(&owner(id), &row.bytes("sealed_tokens")?)?;
                serde_json::from_str(&opened)
                    .map_err(|error| StoreError::corrupt("sealed_tokens", error))
            }
        }
    }

    /// Writes how far a build is over what was read; [`StoreError::Stale`] if somebody else was first. When the build is
    /// over, what opened its repositories is forgotten.
    pub async fn write_build(
        &self,
        read: &Revised<Blueprint>,
        build: Build,
        layers: Vec<String>,
        log: Option<Digest>,
    ) -> Result<Revised<Blueprint>, StoreError> {
        let over = build.finished_at().is_some();
        let query = Query::new(
            "UPDATE blueprints SET status = $1, build = $2, layers = $3, log = $4, \
             sealed_tokens = CASE WHEN $5 = 1 THEN NULL ELSE sealed_tokens END, revision = revision + 1 \
             WHERE id = $6 AND revision = $7",
        )
        .bind(build.status().name())
        .bind(document(&build)?)
        .bind(document(&layers)?)
        .bind(log.map(|digest| digest.to_string()))
        .bind(over)
        .bind(read.value.id)
        .bind(read.revision);
        if self.database().execute(query).await? == 0 {
            return Err(StoreError::Stale);
        }
        Ok(Revised {
            value: Blueprint {
                build,
                layers,
                ..read.value.clone()
            },
            revision: read.revision + 1,
        })
    }

    /// The log of a build that is over.
    pub async fn blueprint_log(&self, id: BlueprintId) -> Result<Option<Digest>, StoreError> {
        let query =
            Query::new("SELECT log FROM blueprints WHERE id = $1 AND log IS NOT NULL").bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.parsed("log")).transpose()
    }

    /// Marks a blueprint as deleted; [`StoreError::Stale`] if somebody else was first.
    pub async fn delete_blueprint(
        &self,
        read: &Revised<Blueprint>,
    ) -> Result<Blueprint, StoreError> {
        let now = self.now();
        let query = Query::new(
            "UPDATE blueprints SET deleted_at = $1, revision = revision + 1 WHERE id = $2 AND revision = $3",
        )
        .bind(now)
        .bind(read.value.id)
        .bind(read.revision);
        if self.database().execute(query).await? == 0 {
            return Err(StoreError::Stale);
        }
        Ok(Blueprint {
            deleted_at: Some(now),
            ..read.value.clone()
        })
    }
}
