//! Files in and out of devboxes.

use proctor_core::id::kinds::{DevboxId, OrganizationId};
use proctor_devbox::FileContent;
use tokio::io::AsyncRead;

use crate::{error::FleetError, fleet::Fleet, logs::Source};
use proctor_macros::boxed_futures;

/// The longest path, in bytes, that Linux takes.
const LONGEST_PATH: usize = 4095;

#[boxed_futures]
impl Fleet {
    /// Opens a file of a devbox for reading, as its user. Larger than `limit` is refused.
    pub async fn read_file(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        path: &str,
        limit: Option<u64>,
    ) -> Result<FileContent, FleetError> {
        check(path)?;
        let (_, workplace) = self.at_work(organization, devbox).await?;
        let path = workplace.resolve(path);
        let read = workplace.devbox.read_file(&path, &workplace.user, limit);
        Ok(read.await?)
    }

    /// Writes a file of a devbox as its user, making missing directories; how many bytes it has now.
    pub async fn write_file(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        path: &str,
        content: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<u64, FleetError> {
        check(path)?;
        let (live, workplace) = self.at_work(organization, devbox).await?;
        let path = workplace.resolve(path);
        let written = workplace
            .devbox
            .write_file(&path, &workplace.user, None, content)
            .await?;
        live.touch(self.now());
        let words = format!("{path} was written, {written} bytes");
        live.log
            .note(self.now(), Source::Files, workplace.masks.apply(&words));
        Ok(written)
    }
}

fn check(path: &str) -> Result<(), FleetError> {
    let fault = if path.is_empty() {
        "must not be empty"
    } else if path.contains('\0') {
        "must not contain a NUL"
    } else if path.len() > LONGEST_PATH {
        "must have at most 4095 bytes"
    } else {
        return Ok(());
    };
    Err(FleetError::invalid("path", fault))
}
