//! Which runs are meant.

use proctor_core::{
    id::kinds::{BenchmarkId, OrganizationId, RunId},
    policy::Selection,
    run::Run,
};

use super::ComparisonProblem;
use crate::{engine::Engine, error::EngineError};

impl Engine {
    /// The runs that a selection means: over, and the organization's own. Labels mean runs of `benchmark`, if it is known, other than `except`.
    pub(super) async fn selected_runs(
        &self,
        organization: OrganizationId,
        side: &'static str,
        selection: &Selection,
        benchmark: Option<BenchmarkId>,
        except: &[RunId],
    ) -> Result<Vec<Run>, EngineError> {
        let runs = match selection {
            Selection::Runs(ids) => {
                let mut runs = Vec::with_capacity(ids.len());
                for id in ids {
                    let run = self.store().run(*id).await?;
                    let own = run.filter(|run| run.value.organization == organization);
                    let run = id.to_string();
                    runs.push(own.ok_or(ComparisonProblem::NoRun { side, run })?.value);
                }
                runs
            }
            Selection::Labelled { labels, newest } => {
                let store = self.store();
                let mut runs = store
                    .labelled_runs(organization, benchmark, labels, *newest, except)
                    .await?;
                // Without a benchmark to go by, the newest run says which one is meant.
                if let (None, Some(first)) = (benchmark, runs.first())
                    && *newest > 1
                {
                    let benchmark = Some(first.pinned.benchmark);
                    runs = store
                        .labelled_runs(organization, benchmark, labels, *newest, except)
                        .await?;
                }
                if runs.is_empty() {
                    let labels = selection.in_words();
                    return Err(ComparisonProblem::NoLabelledRun { side, labels }.into());
                }
                runs
            }
        };
        if let Some(open) = runs.iter().find(|run| !run.is_over()) {
            let run = open.id.to_string();
            return Err(ComparisonProblem::NotOver { side, run }.into());
        }
        Ok(runs)
    }
}
