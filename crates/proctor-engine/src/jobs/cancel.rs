//! Somebody stops a job.

use proctor_core::{
    id::kinds::{JobId, OrganizationId},
    refused::Refused,
};

use super::JobDetails;
use crate::{engine::Engine, error::EngineError};
use proctor_macros::boxed_futures;

#[boxed_futures]
impl Engine {
    /// Stops a job with everything that goes on in it; results are kept. Stopping twice changes nothing.
    pub async fn cancel_job(
        &self,
        organization: OrganizationId,
        id: JobId,
    ) -> Result<JobDetails, EngineError> {
        let before = self.job(organization, id).await?;
        self.step_job(before.job.id, |job, now| job.cancel(now))
            .await?;
        self.inner.jobs.under_way.stop(&id);
        self.stop_runs(id).await?;
        self.job(organization, id).await
    }

    /// Stops what is left of a job that is over.
    pub(super) async fn stop_runs(&self, id: JobId) -> Result<(), EngineError> {
        for run in self.store().runs_of_job(id).await? {
            if run.is_over() {
                continue;
            }
            match self.cancel_run(run.id).await {
                // It came to its end in between.
                Ok(_) | Err(EngineError::Refused(Refused::RunOver(_))) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
