//! Admission of what a server has frozen.

use proctor_engine::{
    Extensions,
    admission::{Admission, FrozenVersion},
};
use serde_json::Value;

use crate::{file::BenchmarkFile, folder::Folder, read::ReadFile, report::Source};

/// Admits the versions of a server's benchmarks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Admitter;

impl Admission for Admitter {
    fn admit(&self, frozen: &FrozenVersion, extensions: &Extensions) -> Result<Value, String> {
        let environment = frozen.environment.as_ref();
        let environment = environment
            .ok_or("its tasks are done in devboxes, and only those in playgrounds can be tried")?;
        let version = &frozen.version;
        let content = BenchmarkFile::from_definition(
            &frozen.definition,
            environment,
            version.slug.clone(),
            version.visibility,
        );
        let content = content.map_err(|no_file| no_file.to_string())?;
        // Written and read again, so that what is wrong is told by its place in the file that `pull` writes.
        let source = Source {
            name: format!("{}@{}", version.slug.as_str(), version.version),
            text: content.to_yaml(),
        };
        let file = ReadFile::read(source, &Folder::Nowhere, extensions);
        let file = file.map_err(|report| report.to_string())?;
        let certificate = file.admit(frozen.now).map_err(|error| error.to_string())?;
        serde_json::to_value(certificate).map_err(|error| error.to_string())
    }
}
