//! `proctor harbor export`: the results of a job in Harbor's own layout.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use proctor_benchmarks::Api;
use proctor_fleet::{archives::Limits, trees};

use crate::{
    cli::ServerAccess,
    commands::compare::refused,
    exit::{Exit, WrongUse},
    terminal,
};

/// How much an export may hold.
const LARGEST: Limits = Limits {
    members: 10_000_000,
    bytes: 1 << 40,
};

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The job, by its id
    pub(crate) job: String,
    /// The directory that gets a directory of the job's name, as `harbor view` reads it
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) server: ServerAccess,
}

pub(super) async fn run(arguments: Export) -> anyhow::Result<Exit> {
    let server = arguments.server;
    let api = Api::new(&server.server, server.key).map_err(|bad| WrongUse(bad.to_string()))?;
    let written = export(&api, &arguments.job, &arguments.directory).await?;
    terminal::print(format_args!("{}\n", written.display()));
    Ok(Exit::Fine)
}

/// Writes the results of a job below a directory; where they are.
pub(super) async fn export(api: &Api, job: &str, directory: &Path) -> anyhow::Result<PathBuf> {
    let path = format!("/v1/benchmark_jobs/{job}/harbor.tar.zst");
    let bytes = api.fetch(&path).await.map_err(refused)?;
    fs_err::create_dir_all(directory)?;
    // Beside its place, so that it is moved whole.
    let staged = tempfile::Builder::new()
        .prefix(".proctor-export-")
        .tempdir_in(directory)?;
    let root = staged.path().join("tree");
    let unpacked = tokio::task::spawn_blocking({
        let root = root.clone();
        move || trees::unpack(bytes.as_slice(), &root, LARGEST)
    });
    unpacked
        .await?
        .context("the server's archive cannot be read")?;
    let made = fs_err::read_dir(&root)?
        .next()
        .context("the server's archive is empty")??;
    let target = directory.join(made.file_name());
    if target.exists() {
        let target = target.display();
        return Err(WrongUse(format!(
            "{target} is there already; choose another directory"
        ))
        .into());
    }
    fs_err::rename(made.path(), &target)?;
    Ok(target)
}
