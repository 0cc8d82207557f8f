//! Putting mounts into a box before anything runs in it.

use async_trait::async_trait;
use proctor_core::{devbox::Mount, id::kinds::OrganizationId};
use proctor_devbox::{Error, User, error::FileProblem};

use crate::workplace::Workplace;

/// Puts mounts into boxes.
#[async_trait]
pub trait Mounter: Send + Sync {
    /// Puts `mount` into the box; what goes wrong is told to the devbox's owner.
    async fn mount(
        &self,
        organization: OrganizationId,
        mount: &Mount,
        workplace: &Workplace,
    ) -> Result<(), String>;
}

/// Puts files into boxes, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct FilesOnly;

#[async_trait]
impl Mounter for FilesOnly {
    async fn mount(
        &self,
        _: OrganizationId,
        mount: &Mount,
        workplace: &Workplace,
    ) -> Result<(), String> {
        match mount {
            Mount::File { target, content } => {
                let path = workplace.resolve(target);
                let written = write(workplace, &workplace.user, &path, content).await;
                match written {
                    // Where the user may not write, the owner of the devbox still may.
                    Err(Error::File {
                        kind: FileProblem::Denied,
                        ..
                    }) => write(workplace, &User::Root, &path, content).await,
                    other => other,
                }
                .map_err(|error| error.to_string())
            }
            Mount::Object { .. } => Err("this server mounts no objects".to_owned()),
            Mount::Agent { .. } => Err("this server mounts no agents".to_owned()),
            Mount::Code { .. } => Err("this server mounts no repositories".to_owned()),
        }
    }
}

async fn write(workplace: &Workplace, user: &User, path: &str, content: &str) -> Result<(), Error> {
    let mut content = content.as_bytes();
    let written = workplace.devbox.write_file(path, user, None, &mut content);
    written.await.map(drop)
}
