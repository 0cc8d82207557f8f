//! Containers of a Docker engine of our own, used as people use them: by the program `docker`.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

/// What `docker.sh` calls the image.
const IMAGE: &str = "small";
/// What is in it.
pub(crate) const ROOT: &str = "sh, true, cat, sleep, test and their libraries";

/// A Docker engine that ends with this value, or with this process, however that ends.
pub(crate) struct Docker {
    /// A shell that started the engine, and ends it at the end of its input.
    keeper: Child,
    place: PathBuf,
    containers: AtomicUsize,
}

impl Docker {
    /// Starts an engine, or says why there is none.
    pub(crate) fn start() -> Result<Self, String> {
        // Short, because paths of sockets are.
        let place = tempfile::Builder::new()
            .prefix("proctor-docker-")
            .tempdir_in("/var/tmp")
            .map_err(|error| error.to_string())?
            .keep();
        let cgroup = place.file_name().unwrap_or_default().to_owned();
        let mut keeper = Command::new("sh")
            .args(["-c", include_str!("docker.sh"), "docker.sh"])
            .args([place.as_os_str(), &cgroup])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut said = String::new();
        let read = BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut said);
        let docker = Self {
            keeper,
            place,
            containers: AtomicUsize::new(0),
        };
        match (read, said.trim()) {
            (Ok(_), "ready") => Ok(docker),
            (Ok(_), "") => Err("the engine ended without a word".to_owned()),
            (Ok(_), why) => Err(why.to_owned()),
            (Err(error), _) => Err(error.to_string()),
        }
    }

    /// Runs `docker` to its end, which must be a good one.
    async fn run(&self, arguments: &[&str]) {
        let output = tokio::process::Command::new("docker")
            .arg("--host")
            .arg(format!("unix://{}/docker.sock", self.place.display()))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        assert!(
            output.status.success(),
            "docker {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// A container.
pub(crate) struct Container<'a> {
    docker: &'a Docker,
    name: String,
}

impl<'a> Container<'a> {
    /// One in which a script was run to its end.
    pub(crate) async fn ran(docker: &'a Docker, script: &str) -> Self {
        Self::run(docker, &[], &["sh", "-c", script]).await
    }

    /// One that is there to run commands in.
    pub(crate) async fn waiting(docker: &'a Docker) -> Self {
        Self::run(docker, &["--detach"], &["sleep", "3600"]).await
    }

    async fn run(docker: &'a Docker, flags: &[&str], command: &[&str]) -> Self {
        let number = docker.containers.fetch_add(1, Ordering::Relaxed);
        let name = format!("container-{number}");
        let mut arguments = vec!["run", "--network", "none", "--name", &name];
        arguments.extend(flags);
        arguments.push(IMAGE);
        arguments.extend(command);
        docker.run(&arguments).await;
        Self { docker, name }
    }

    /// Runs a script in it to its end.
    pub(crate) async fn execute(&self, script: &str) {
        let arguments = ["exec", &self.name, "sh", "-c", script];
        self.docker.run(&arguments).await;
    }

    /// Removes it, whether it runs or not.
    pub(crate) async fn remove(&self) {
        self.docker.run(&["rm", "--force", &self.name]).await;
    }
}
