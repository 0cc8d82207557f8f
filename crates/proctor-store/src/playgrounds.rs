//! Playgrounds and their sandboxes: which there are, and what they were made from. What happens in
//! them is in the journal.

use proctor_core::{
    canonical::Digest,
    environment::SimulatorType,
    id::kinds::{
        EnvironmentId, OrganizationId, PlaygroundId, PlaygroundKind, RunId, SandboxId, SandboxKind,
        SimulatorId, TaskRunId,
    },
    time::Timestamp,
};

use crate::{
    Store, StoreError,
    database::{Query, Row, Transaction},
    page::{Listing, Page, PageRequest},
};
use proctor_macros::boxed_futures;

/// A playground.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playground {
    /// Its name.
    pub id: PlaygroundId,
    /// Whose it is.
    pub organization: OrganizationId,
    /// The environment it was made from; none for one that was made from a single simulator.
    pub environment: Option<EnvironmentId>,
    /// The environment's content at that time.
    pub digest: Digest,
    /// The task run whose world it is, if it is one.
    pub task_run: Option<TaskRunId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was torn down, if it was.
    pub ended_at: Option<Timestamp>,
}

/// A door of a playground, or of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Its name.
    pub id: SandboxId,
    /// Whose it is.
    pub organization: OrganizationId,
    /// Where it leads.
    pub place: Place,
    /// Which door of the playground, counted from 0.
    pub door: u32,
    /// The simulator behind it.
    pub simulator: SimulatorId,
    /// The simulator's type.
    pub kind: SimulatorType,
    /// What people call it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Where a sandbox leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To one playground.
    Playground(PlaygroundId),
    /// To the playground of the run's task run at work.
    Run(RunId),
}

const PLAYGROUND_COLUMNS: &str =
    "id, organization, environment, digest, task_run, created_at, ended_at";
const SANDBOX_COLUMNS: &str =
    "id, organization, playground, run, door, simulator, type, name, created_at";

#[boxed_futures]
impl Store {
    /// Stores a playground with its sandboxes.
    pub async fn create_playground(
        &self,
        playground: &Playground,
        sandboxes: &[Sandbox],
    ) -> Result<(), StoreError> {
        let mut transaction = self.database().begin().await?;
        insert_playground(&mut transaction, playground).await?;
        insert_sandboxes(&mut transaction, sandboxes).await?;
        transaction.commit().await
    }

    /// Finds a playground.
    pub async fn playground(&self, id: PlaygroundId) -> Result<Option<Playground>, StoreError> {
        let text = format!("SELECT {PLAYGROUND_COLUMNS} FROM playgrounds WHERE id = $1");
        let row = self
            .database()
            .read_optional(Query::assembled(text, vec![id.into()]))
            .await?;
        row.map(|row| read_playground(&row)).transpose()
    }

    /// The organization's playgrounds.
    pub async fn playgrounds(
        &self,
        organization: OrganizationId,
        page: PageRequest<PlaygroundKind>,
    ) -> Result<Page<Playground>, StoreError> {
        Listing::new(PLAYGROUND_COLUMNS, "playgrounds")
            .filter("organization", organization)
            .page(self.database(), page, read_playground)
            .await
    }

    /// Notes that a playground was torn down; the first time counts.
    pub async fn end_playground(&self, id: PlaygroundId) -> Result<(), StoreError> {
        let query =
            Query::new("UPDATE playgrounds SET ended_at = $1 WHERE id = $2 AND ended_at IS NULL")
                .bind(self.now())
                .bind(id);
        self.database().execute(query).await?;
        Ok(())
    }

    /// Stores a sandbox that joins a playground or a run later.
    pub async fn create_sandbox(&self, sandbox: &Sandbox) -> Result<(), StoreError> {
        let mut transaction = self.database().begin().await?;
        insert_sandboxes(&mut transaction, std::slice::from_ref(sandbox)).await?;
        transaction.commit().await
    }

    /// Finds a sandbox.
    pub async fn sandbox(&self, id: SandboxId) -> Result<Option<Sandbox>, StoreError> {
        let text = format!("SELECT {SANDBOX_COLUMNS} FROM sandboxes WHERE id = $1");
        let row = self
            .database()
            .read_optional(Query::assembled(text, vec![id.into()]))
            .await?;
        row.map(|row| read_sandbox(&row)).transpose()
    }

    /// The organization's sandboxes.
    pub async fn sandboxes(
        &self,
        organization: OrganizationId,
        page: PageRequest<SandboxKind>,
    ) -> Result<Page<Sandbox>, StoreError> {
        Listing::new(SANDBOX_COLUMNS, "sandboxes")
            .filter("organization", organization)
            .page(self.database(), page, read_sandbox)
            .await
    }

    /// The sandboxes of a playground or a run, in the order of their doors.
    pub async fn sandboxes_of(&self, place: Place) -> Result<Vec<Sandbox>, StoreError> {
        let (column, id) = match place {
            Place::Playground(id) => ("playground", id.into()),
            Place::Run(id) => ("run", id.into()),
        };
        let text =
            format!("SELECT {SANDBOX_COLUMNS} FROM sandboxes WHERE {column} = $1 ORDER BY door");
        let rows = self
            .database()
            .read_all(Query::assembled(text, vec![id]))
            .await?;
        rows.iter().map(read_sandbox).collect()
    }
}

pub(crate) async fn insert_playground(
    transaction: &mut Transaction,
    playground: &Playground,
) -> Result<(), StoreError> {
    let query = Query::new(
        "INSERT INTO playgrounds (id, organization, environment, digest, task_run, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(playground.id)
    .bind(playground.organization)
    .bind(playground.environment)
    .bind(playground.digest.to_string())
    .bind(playground.task_run)
    .bind(playground.created_at);
    transaction.execute(query).await?;
    Ok(())
}

pub(crate) async fn insert_sandboxes(
    transaction: &mut Transaction,
    sandboxes: &[Sandbox],
) -> Result<(), StoreError> {
    for sandbox in sandboxes {
        let (playground, run) = match sandbox.place {
            Place::Playground(id) => (Some(id), None),
            Place::Run(id) => (None, Some(id)),
        };
        let query = Query::new(
            "INSERT INTO sandboxes (id, organization, playground, run, door, simulator, type, name, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(sandbox.id)
        .bind(sandbox.organization)
        .bind(playground)
        .bind(run)
        .bind(sandbox.door)
        .bind(sandbox.simulator)
        .bind(sandbox.kind.as_str())
        .bind(sandbox.name.as_str())
        .bind(sandbox.created_at);
        transaction.execute(query).await?;
    }
    Ok(())
}

fn read_playground(row: &Row) -> Result<Playground, StoreError> {
    Ok(Playground {
        id: row.id("id")?,
        organization: row.id("organization")?,
        environment: row.opt_id("environment")?,
        digest: row.parsed("digest")?,
        task_run: row.opt_id("task_run")?,
        created_at: row.time("created_at")?,
        ended_at: row.opt_time("ended_at")?,
    })
}

fn read_sandbox(row: &Row) -> Result<Sandbox, StoreError> {
    let place = match (row.opt_id("playground")?, row.opt_id("run")?) {
        (Some(playground), _) => Place::Playground(playground),
        (None, Some(run)) => Place::Run(run),
        (None, None) => {
            return Err(StoreError::Corrupt(
                "a sandbox that leads nowhere".to_owned(),
            ));
        }
    };
    Ok(Sandbox {
        id: row.id("id")?,
        organization: row.id("organization")?,
        place,
        door: row.number("door")?,
        simulator: row.id("simulator")?,
        kind: SimulatorType::from(row.text("type")?),
        name: row.text("name")?,
        created_at: row.time("created_at")?,
    })
}
