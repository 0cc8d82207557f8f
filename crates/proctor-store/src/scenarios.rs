//! Scenarios: tasks that are done in a box, with the scorers that judge them, as one thing.
//!
//! They are the same rows as tasks and criteria. A scenario may have criteria that are no scorers; those are left
//! alone here.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::{
    definition::{Check, Validation},
    id::kinds::{BenchmarkId, OrganizationId, TaskId, TaskKind},
    scorer::ScorerDefinition,
    scoring::Weight,
};

use crate::{
    Store, StoreError,
    criteria::{CriterionDraft, CriterionRecord},
    database::{Query, Transaction},
    drafts::Authored as _,
    names::Sought,
    page::{Page, PageRequest},
    placed::{Placed, Whose, listing},
    repeatable::Made,
    tasks::{TaskDraft, TaskRecord},
    whole_benchmark::WholeTask,
};
use proctor_macros::boxed_futures;

/// A task that is done in a box, with what judges it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The task.
    pub placed: Placed<TaskRecord>,
    /// What is checked, in order.
    pub criteria: Vec<CriterionRecord>,
}

/// A scorer with its name and weight.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoringFunction {
    /// What people call it.
    pub name: String,
    /// How much it counts.
    pub weight: Weight,
    /// What it does.
    pub scorer: ScorerDefinition,
}

/// Which scenarios are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioFilter {
    /// Only those of this benchmark.
    pub benchmark: Option<BenchmarkId>,
    /// Only those whose reference proves one of these.
    pub validation: Option<Vec<Validation>>,
    /// By name.
    pub sought: Sought,
}

impl Scenario {
    /// Its scorers, in order.
    pub fn scoring_functions(&self) -> impl Iterator<Item = (&CriterionDraft, &ScorerDefinition)> {
        self.criteria
            .iter()
            .filter_map(|criterion| match &criterion.content.check {
                Check::Scorer(scorer) => Some((&criterion.content, scorer)),
                Check::Assertion(_) => None,
            })
    }
}

#[boxed_futures]
impl Store {
    /// Makes a scenario.
    pub async fn create_scenario(
        &self,
        organization: OrganizationId,
        draft: TaskDraft,
        functions: Vec<ScoringFunction>,
    ) -> Result<Scenario, StoreError> {
        let made = self.make_once(|id| self.scenario(organization, id));
        let id = match made.await? {
            Made::Before(scenario) => return Ok(scenario),
            Made::New(id) => id,
        };
        let mut transaction = self.database().begin().await?;
        let task = self
            .insert_draft_as(id, &mut transaction, organization, draft, Vec::new())
            .await?;
        let criteria = self
            .insert_functions(&mut transaction, organization, task.id, functions)
            .await?;
        transaction.commit().await?;
        Ok(Scenario {
            placed: Placed {
                draft: task,
                owner: organization,
                archived: false,
                public: false,
            },
            criteria,
        })
    }

    /// A scenario that is the organization's own or open to all.
    pub async fn scenario(
        &self,
        organization: OrganizationId,
        id: TaskId,
    ) -> Result<Option<Scenario>, StoreError> {
        let Some(placed) = self.find_placed::<TaskDraft>(organization, id).await? else {
            return Ok(None);
        };
        let mut criteria = self.criteria_of(&[id]).await?;
        Ok(Some(Scenario {
            criteria: criteria.remove(&id).unwrap_or_default(),
            placed,
        }))
    }

    /// Those of `ids` that name no scenario the organization could put into a benchmark.
    pub async fn not_scenarios(
        &self,
        organization: OrganizationId,
        ids: &[TaskId],
    ) -> Result<Vec<TaskId>, StoreError> {
        let found = self.find_all_placed::<TaskDraft>(organization, ids).await?;
        let good: BTreeSet<TaskId> = found
            .iter()
            .filter(|placed| !placed.archived)
            .map(Placed::id)
            .collect();
        Ok(ids
            .iter()
            .filter(|id| !good.contains(id))
            .copied()
            .collect())
    }

    /// Scenarios that are not put away, newest first.
    pub async fn scenarios(
        &self,
        whose: Whose,
        filter: &ScenarioFilter,
        page: PageRequest<TaskKind>,
    ) -> Result<Page<Scenario>, StoreError> {
        let mut listing = whose.listing::<TaskDraft>();
        if let Some(benchmark) = filter.benchmark {
            listing = listing.among(
                "SELECT task FROM benchmark_tasks WHERE benchmark",
                benchmark,
            );
        }
        if let Some(wanted) = &filter.validation {
            let words = wanted.iter().map(|one| one.as_str().into()).collect();
            listing = listing.any_of("validation", words);
        }
        let page = self
            .list_placed::<TaskDraft>(listing, &filter.sought, page)
            .await?;
        self.with_criteria(page).await
    }

    /// Every scenario of a benchmark, put away or not, newest first. Who may see the benchmark may see them.
    pub async fn scenarios_of(
        &self,
        benchmark: BenchmarkId,
        page: PageRequest<TaskKind>,
    ) -> Result<Page<Scenario>, StoreError> {
        let listing = listing::<TaskDraft>().among(
            "SELECT task FROM benchmark_tasks WHERE benchmark",
            benchmark,
        );
        let page = self
            .list_placed::<TaskDraft>(listing, &Sought::default(), page)
            .await?;
        self.with_criteria(page).await
    }

    /// Writes a changed scenario over `read`; [`StoreError::Stale`] if it has changed since. Without `functions`
    /// the scorers stay.
    pub async fn update_scenario(
        &self,
        read: &Scenario,
        draft: TaskDraft,
        functions: Option<Vec<ScoringFunction>>,
    ) -> Result<Scenario, StoreError> {
        let owner = read.placed.owner;
        let mut transaction = self.database().begin().await?;
        let task = self
            .write_draft(&mut transaction, &read.placed.draft, draft, Vec::new())
            .await?;
        let criteria = match functions {
            None => read.criteria.clone(),
            Some(functions) => {
                let (scorers, mut others): (Vec<_>, Vec<_>) = read
                    .criteria
                    .iter()
                    .cloned()
                    .partition(|one| matches!(one.content.check, Check::Scorer(_)));
                for criterion in scorers {
                    let query = Query::new("DELETE FROM criteria WHERE id = $1").bind(criterion.id);
                    transaction.execute(query).await?;
                }
                let inserted = self
                    .insert_functions(&mut transaction, owner, task.id, functions)
                    .await?;
                others.extend(inserted);
                others
            }
        };
        transaction.commit().await?;
        Ok(Scenario {
            placed: Placed {
                draft: task,
                ..read.placed.clone()
            },
            criteria,
        })
    }

    /// Puts a scenario away, or takes it out again.
    pub async fn archive_scenario(&self, id: TaskId, archived: bool) -> Result<(), StoreError> {
        self.put_away::<TaskDraft>(id, archived).await
    }

    /// Opens a scenario to everybody, for good.
    pub async fn publish_scenario(&self, id: TaskId) -> Result<(), StoreError> {
        let mut transaction = self.database().begin().await?;
        self.open_to_all::<TaskDraft>(&mut transaction, &[id])
            .await?;
        transaction.commit().await
    }

    /// The labels of the organization's scenarios: keys with their values.
    pub async fn scenario_labels(
        &self,
        organization: OrganizationId,
    ) -> Result<BTreeMap<String, BTreeSet<String>>, StoreError> {
        self.labels::<TaskDraft>(organization).await
    }

    /// A scenario's draft with all drafts that it is made of, as it stood at one moment.
    pub async fn whole_task(&self, id: TaskId) -> Result<Option<WholeTask>, StoreError> {
        let mut moment = self.database().snapshot().await?;
        let query = Query::new("SELECT id, body, created_at, updated_at FROM tasks WHERE id = $1");
        let Some(row) = moment.read_optional(query.bind(id)).await? else {
            return Ok(None);
        };
        let task = TaskDraft::read(&row)?;
        let query = Query::new(
            "SELECT e.id, e.body, e.created_at, e.updated_at FROM entities e \
             JOIN task_entities m ON m.entity = e.id WHERE m.task = $1 ORDER BY m.position, e.id",
        );
        let rows = moment.read_all(query.bind(id)).await?;
        let entities = rows
            .iter()
            .map(crate::entities::EntityDraft::read)
            .collect::<Result<_, _>>()?;
        let query = Query::new(
            "SELECT id, body, created_at, updated_at FROM criteria WHERE task = $1 ORDER BY id",
        );
        let rows = moment.read_all(query.bind(id)).await?;
        let criteria = rows
            .iter()
            .map(CriterionDraft::read)
            .collect::<Result<_, _>>()?;
        Ok(Some(WholeTask {
            task,
            entities,
            criteria,
        }))
    }

    /// Whose a task is.
    pub async fn owner_of_task(&self, id: TaskId) -> Result<Option<OrganizationId>, StoreError> {
        let query = Query::new("SELECT organization FROM tasks WHERE id = $1").bind(id);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.id("organization")).transpose()
    }

    async fn with_criteria(
        &self,
        page: Page<Placed<TaskRecord>>,
    ) -> Result<Page<Scenario>, StoreError> {
        let ids: Vec<TaskId> = page.items.iter().map(Placed::id).collect();
        let mut criteria = self.criteria_of(&ids).await?;
        Ok(page.map(|placed| Scenario {
            criteria: criteria.remove(&placed.id()).unwrap_or_default(),
            placed,
        }))
    }

    /// The criteria of each of these tasks, in order.
    async fn criteria_of(
        &self,
        tasks: &[TaskId],
    ) -> Result<BTreeMap<TaskId, Vec<CriterionRecord>>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT id, body, created_at, updated_at FROM criteria \
                 WHERE task IN ({list}) ORDER BY id"
            )
        };
        let mut all: BTreeMap<TaskId, Vec<CriterionRecord>> = BTreeMap::new();
        for row in self.database().read_for(tasks, &[], text).await? {
            let criterion = CriterionDraft::read(&row)?;
            all.entry(criterion.content.task)
                .or_default()
                .push(criterion);
        }
        Ok(all)
    }

    async fn insert_functions(
        &self,
        transaction: &mut Transaction,
        organization: OrganizationId,
        task: TaskId,
        functions: Vec<ScoringFunction>,
    ) -> Result<Vec<CriterionRecord>, StoreError> {
        let mut criteria = Vec::with_capacity(functions.len());
        for function in functions {
            let draft = CriterionDraft {
                task,
                label: function.name,
                weight: function.weight,
                axis: None,
                input_entity: None,
                key: None,
                critical: false,
                all: false,
                requires: Vec::new(),
                check: Check::Scorer(function.scorer),
            };
            let criterion = self
                .insert_draft(transaction, organization, draft, Vec::new())
                .await?;
            criteria.push(criterion);
        }
        Ok(criteria)
    }
}
