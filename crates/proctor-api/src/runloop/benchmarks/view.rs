//! Benchmarks as clients see them.

use std::collections::BTreeMap;

use proctor_core::id::kinds::{BenchmarkId, TaskId};
use proctor_store::{benchmarks::BenchmarkRecord, page::Page, placed::Placed};
use serde::Serialize;
use utoipa::ToSchema;

use crate::runloop::ids::wire;

/// A benchmark.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkDefinitionView {
    #[schema(example = "bmd_01K0000000000000000000000A")]
    id: String,
    name: String,
    /// The scenarios, in order.
    #[serde(rename = "scenarioIds")]
    scenario_ids: Vec<String>,
    metadata: BTreeMap<String, String>,
    required_environment_variables: Vec<String>,
    required_secret_names: Vec<String>,
    is_public: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    attribution: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[schema(value_type = String, example = "active")]
    status: &'static str,
}

/// A part of a list of benchmarks, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkDefinitionListView {
    benchmarks: Vec<BenchmarkDefinitionView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

impl BenchmarkDefinitionView {
    pub(super) fn of(benchmark: Placed<BenchmarkRecord>, scenarios: &[TaskId]) -> Self {
        let id = benchmark.id();
        let draft = benchmark.draft.content;
        Self {
            id: wire(id),
            name: draft.name,
            scenario_ids: scenarios.iter().map(|id| wire(*id)).collect(),
            metadata: draft.metadata,
            required_environment_variables: draft.requires.environment_variables,
            required_secret_names: draft.requires.secrets,
            is_public: benchmark.public,
            attribution: draft.attribution,
            description: draft.description,
            status: if benchmark.archived {
                "archived"
            } else {
                "active"
            },
        }
    }
}

impl BenchmarkDefinitionListView {
    pub(super) fn of(
        page: Page<Placed<BenchmarkRecord>>,
        scenarios: &BTreeMap<BenchmarkId, Vec<TaskId>>,
    ) -> Self {
        let view = |benchmark: Placed<BenchmarkRecord>| {
            let of_it = scenarios
                .get(&benchmark.id())
                .map_or(&[][..], Vec::as_slice);
            BenchmarkDefinitionView::of(benchmark, of_it)
        };
        Self {
            has_more: page.has_more,
            total_count: page.total,
            benchmarks: page.items.into_iter().map(view).collect(),
        }
    }
}
