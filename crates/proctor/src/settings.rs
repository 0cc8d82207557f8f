//! Configuration: a flag goes before a `PROCTOR_…` variable, which goes before the file.
//!
//! The same structs are read from all three places: clap reads flags and variables into them,
//! serde the file, and `or` lays one over the other.

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, str::FromStr};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use proctor_devbox::HostPattern;
use proctor_store::blobs::BlobPlace;
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::{
    addresses::{Domain, HostAndPort, SshListen},
    exit::WrongUse,
    harbor_settings::NamedTasks,
    image_settings::{AliasSetting, MirrorSetting, RegistrySetting},
};

/// The file that is read when no other is named, if it is there.
const DEFAULT_FILE: &str = "proctor.toml";

/// Where Proctor keeps things: what every command needs to know.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Settings {
    /// Directory for the database, blobs and the master key [default: ~/.local/share/proctor]
    #[arg(long, value_name = "DIR", env = "PROCTOR_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Database: postgres://… or sqlite:PATH [default: a SQLite file in the data directory]
    #[arg(
        long,
        value_name = "URL",
        env = "PROCTOR_DATABASE_URL",
        hide_env_values = true
    )]
    pub(crate) database_url: Option<String>,
    /// Where large bytes lie: a directory, or s3://BUCKET/PREFIX with address, region and credentials in the usual
    /// AWS_… variables [default: a directory in the data directory]
    #[arg(long, value_name = "PLACE", env = "PROCTOR_BLOBS")]
    pub(crate) blobs: Option<BlobPlace>,
    /// TOML file with these settings [default: proctor.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "PROCTOR_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

/// How the server treats its clients and what it says of itself.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct ServeSettings {
    /// Address and port to listen on; port 0 lets the system choose [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS", env = "PROCTOR_LISTEN", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// The server's address as agents see it [default: the one listened on]
    #[arg(long, value_name = "URL", env = "PROCTOR_PUBLIC_URL")]
    pub(crate) public_url: Option<String>,
    /// Domain whose names {port}-{key}.DOMAIN lead to ports of devboxes; its wildcard must resolve to this server
    /// [default: none, ports are below /tunnel/]
    #[arg(long, value_name = "DOMAIN", env = "PROCTOR_TUNNEL_DOMAIN")]
    pub(crate) tunnel_domain: Option<Domain>,
    /// Address and port to speak SSH on, or off; port 0 lets the system choose [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS", env = "PROCTOR_SSH_LISTEN")]
    pub(crate) ssh_listen: Option<SshListen>,
    /// Host and port that clients use for SSH [default: the one listened on]
    #[arg(long, value_name = "HOST:PORT", env = "PROCTOR_SSH_ADDRESS")]
    pub(crate) ssh_address: Option<HostAndPort>,
    /// PEM file with the certificate chain; switches TLS on
    #[arg(long, value_name = "FILE", env = "PROCTOR_TLS_CERT")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// PEM file with the private key of the certificate
    #[arg(long, value_name = "FILE", env = "PROCTOR_TLS_KEY")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Requests per minute that one key may make [default: no limit]
    #[arg(long, value_name = "NUMBER", env = "PROCTOR_RATE_LIMIT")]
    pub(crate) rate_limit: Option<NonZeroU32>,
    /// Requests that a key may make at once after a pause [default: a second's worth]
    #[arg(long, value_name = "NUMBER", env = "PROCTOR_RATE_BURST")]
    pub(crate) rate_burst: Option<NonZeroU32>,
    /// Largest request body in bytes [default: 16777216]
    #[arg(long, value_name = "BYTES", env = "PROCTOR_BODY_LIMIT")]
    pub(crate) body_limit: Option<usize>,
    /// Seconds until the answer to a request must begin [default: 60]
    #[arg(long, value_name = "SECONDS", env = "PROCTOR_REQUEST_TIMEOUT")]
    pub(crate) request_timeout: Option<NonZeroU32>,
    /// Seconds that requests under way have to finish when the server is told to stop [default: 30]
    #[arg(long, value_name = "SECONDS", env = "PROCTOR_GRACE")]
    pub(crate) grace: Option<u32>,
    /// What to log: error, warn, info, debug, trace, or a filter; info,proctor::access=debug logs
    /// every request [default: info]
    #[arg(long, value_name = "FILTER", env = "PROCTOR_LOG")]
    pub(crate) log: Option<String>,
    /// What the log looks like [default: text]
    #[arg(long, value_name = "FORMAT", env = "PROCTOR_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// OpenTelemetry collector that receives traces (OTLP over HTTP), such as http://localhost:4318
    #[arg(long, value_name = "URL", env = "PROCTOR_OTLP_ENDPOINT")]
    pub(crate) otlp_endpoint: Option<String>,
    /// What makes devboxes; `proctor doctor` lists the backends there are [default: local]
    #[arg(long, value_name = "NAME", env = "PROCTOR_BACKEND")]
    pub(crate) backend: Option<String>,
    /// What FROM means in blueprints: NAME=host, or NAME=DIR with a root file system; the name * stands for every image
    /// that is not there; may be repeated
    #[arg(
        long = "image",
        value_name = "NAME=BASE",
        env = "PROCTOR_IMAGES",
        value_delimiter = ','
    )]
    pub(crate) images: Option<Vec<NamedImage>>,
    /// Registries that images are pulled from: HOST[:PORT], or http://HOST[:PORT] without TLS; may be repeated [default: none, nothing is pulled]
    #[arg(
        long = "image-registry",
        value_name = "HOST",
        env = "PROCTOR_IMAGE_REGISTRIES",
        value_delimiter = ','
    )]
    pub(crate) image_registries: Option<Vec<RegistrySetting>>,
    /// File with users and passwords of registries, as docker login writes it
    #[arg(long, value_name = "FILE", env = "PROCTOR_IMAGE_CREDENTIALS")]
    pub(crate) image_credentials: Option<PathBuf>,
    /// Another name of images: NAME=NAME, both with or without a * at their end; may be repeated
    #[arg(
        long = "image-alias",
        value_name = "NAME=NAME",
        env = "PROCTOR_IMAGE_ALIASES",
        value_delimiter = ','
    )]
    pub(crate) image_alias: Option<Vec<AliasSetting>>,
    /// Directory with an OCI layout, where images are looked for after those that were imported; may be repeated
    #[arg(
        long = "image-layout",
        value_name = "DIR",
        env = "PROCTOR_IMAGE_LAYOUTS",
        value_delimiter = ','
    )]
    pub(crate) image_layouts: Option<Vec<PathBuf>>,
    /// Where packages of a distribution come from when an image is made of them: NAME=URL, such as
    /// ubuntu=http://mirror.example/ubuntu; may be repeated
    #[arg(
        long = "image-mirror",
        value_name = "NAME=URL",
        env = "PROCTOR_IMAGE_MIRRORS",
        value_delimiter = ','
    )]
    pub(crate) image_mirrors: Option<Vec<MirrorSetting>>,
    /// How jobs start an agent that they name: NAME=FILE with its manifest; may be repeated
    #[arg(
        long = "agent",
        value_name = "NAME=FILE",
        env = "PROCTOR_AGENTS",
        value_delimiter = ','
    )]
    pub(crate) agents: Option<Vec<NamedAgent>>,
    /// Address of the model that judges free text: an endpoint that speaks OpenAI's chat completions, such as
    /// http://127.0.0.1:8000/v1 [default: none, benchmarks with judge criteria cannot be completed]
    #[arg(long, value_name = "URL", env = "PROCTOR_JUDGE_URL")]
    pub(crate) judge_url: Option<String>,
    /// Name of that model
    #[arg(long, value_name = "NAME", env = "PROCTOR_JUDGE_MODEL")]
    pub(crate) judge_model: Option<String>,
    /// File with the key for that endpoint [default: no key is sent]
    #[arg(long, value_name = "FILE", env = "PROCTOR_JUDGE_KEY_FILE")]
    pub(crate) judge_key_file: Option<PathBuf>,
    /// File with what models cost (TOML), for reports of usage that name no cost
    #[arg(long, value_name = "FILE", env = "PROCTOR_MODEL_PRICES")]
    pub(crate) model_prices: Option<PathBuf>,
    /// Directory with Harbor tasks that job files may name as tasks:NAME/…: NAME=DIR; may be repeated
    #[arg(
        long = "harbor-tasks",
        value_name = "NAME=DIR",
        env = "PROCTOR_HARBOR_TASKS",
        value_delimiter = ','
    )]
    pub(crate) harbor_tasks: Option<Vec<NamedTasks>>,
    /// Network policy of boxes of Harbor tasks whose network is public, by its name in their organization [default: none, they reach nothing]
    #[arg(long, value_name = "POLICY", env = "PROCTOR_HARBOR_PUBLIC_POLICY")]
    pub(crate) harbor_public_policy: Option<String>,
    /// Network policy of builds for Harbor tasks, by its name in their organization [default: none, they reach nothing]
    #[arg(long, value_name = "POLICY", env = "PROCTOR_HARBOR_BUILD_POLICY")]
    pub(crate) harbor_build_policy: Option<String>,
    /// Directory with repositories as OWNER/NAME, which code mounts look for here first
    #[arg(long, value_name = "DIR", env = "PROCTOR_CODE_MIRRORS")]
    pub(crate) code_mirrors: Option<PathBuf>,
    /// Scored scenario runs whose disks are kept, to be scored again; 0 keeps none [default: 256]
    #[arg(long, value_name = "NUMBER", env = "PROCTOR_KEEP_FROZEN")]
    pub(crate) keep_frozen: Option<usize>,
    /// Bytes that these disks may take; the oldest go first [default: 4294967296]
    #[arg(long, value_name = "BYTES", env = "PROCTOR_KEEP_FROZEN_BYTES")]
    pub(crate) keep_frozen_bytes: Option<u64>,
    /// Whether a devbox gets a disk of exactly its size instead of one that is watched: needs root and
    /// mkfs.ext4, takes longer to make, and its snapshots are copies [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        env = "PROCTOR_EXACT_DISKS",
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    pub(crate) exact_disks: Option<bool>,
    /// Processes and threads that all devboxes may have together [default: three quarters of the machine's]
    #[arg(long, value_name = "NUMBER", env = "PROCTOR_DEVBOX_PROCESSES")]
    pub(crate) devbox_processes: Option<u64>,
    /// Bytes of memory that all devboxes may have together [default: seven eighths of the machine's]
    #[arg(long, value_name = "BYTES", env = "PROCTOR_DEVBOX_MEMORY")]
    pub(crate) devbox_memory: Option<u64>,
    /// Hosts of repositories (HOST, *.DOMAIN or an address, with or without :PORT) that may be at addresses that are not public;
    /// may be repeated [default: none]
    #[arg(
        long = "internal-host",
        value_name = "HOST",
        env = "PROCTOR_INTERNAL_HOSTS",
        value_delimiter = ','
    )]
    pub(crate) internal_hosts: Option<Vec<HostPattern>>,
}

/// A name that blueprints can be built on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NamedImage {
    /// What stands after `FROM`.
    pub(crate) name: String,
    /// What it means.
    pub(crate) base: ImageBase,
}

/// What a name of an image means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImageBase {
    /// What every devbox begins with.
    Host,
    /// A root file system.
    Directory(PathBuf),
}

impl FromStr for NamedImage {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            Some((name, base)) if !name.is_empty() && !base.is_empty() => Ok(Self {
                name: name.to_owned(),
                base: match base {
                    "host" => ImageBase::Host,
                    directory => ImageBase::Directory(directory.into()),
                },
            }),
            _ => Err("expected NAME=host or NAME=DIRECTORY, such as debian:13=/srv/debian"),
        }
    }
}

impl TryFrom<String> for NamedImage {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

/// An agent that jobs may name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NamedAgent {
    /// What jobs call it.
    pub(crate) name: String,
    /// The file that says how it is started.
    pub(crate) manifest: PathBuf,
}

impl FromStr for NamedAgent {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok(Self {
                name: name.to_owned(),
                manifest: file.into(),
            }),
            _ => Err("expected NAME=FILE, such as claude-code=examples/agents/claude-code.toml"),
        }
    }
}

impl TryFrom<String> for NamedAgent {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

/// Reads an address, or says what one looks like.
pub(crate) fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse()
        .map_err(|_| "expected an IP address and a port, such as 127.0.0.1:7070")
}

/// What the log looks like.
#[derive(Clone, Copy, Debug, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// The file: everything above, without the place of the file itself.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct File {
    data: Option<PathBuf>,
    database_url: Option<String>,
    #[serde(deserialize_with = "blob_place")]
    blobs: Option<BlobPlace>,
    serve: ServeSettings,
}

fn blob_place<'de, D: Deserializer<'de>>(file: D) -> Result<Option<BlobPlace>, D::Error> {
    let text = String::deserialize(file)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

impl Settings {
    /// Fills what flags and variables left open from the file.
    pub(crate) fn complete(self) -> anyhow::Result<Self> {
        let file = self.read_file()?;
        Ok(self.or(&file))
    }

    /// The same together with the server's own settings.
    pub(crate) fn complete_for_serve(
        self,
        serve: ServeSettings,
    ) -> anyhow::Result<(Self, ServeSettings)> {
        let file = self.read_file()?;
        Ok((self.or(&file), serve.or(file.serve)))
    }

    fn or(self, file: &File) -> Self {
        Self {
            data: self.data.or_else(|| file.data.clone()),
            database_url: self.database_url.or_else(|| file.database_url.clone()),
            blobs: self.blobs.or_else(|| file.blobs.clone()),
            config: self.config,
        }
    }

    fn read_file(&self) -> anyhow::Result<File> {
        let path = match &self.config {
            Some(path) => path.clone(),
            None if PathBuf::from(DEFAULT_FILE).exists() => DEFAULT_FILE.into(),
            None => return Ok(File::default()),
        };
        let text = fs_err::read_to_string(&path).map_err(|error| WrongUse(error.to_string()))?;
        toml::from_str(&text)
            .map_err(|error| WrongUse(error.to_string().trim_end().to_owned()))
            .with_context(|| format!("the configuration file {} is not right", path.display()))
    }

    /// Where to keep things; when nobody said, as the desktop's conventions have it.
    pub(crate) fn data_directory(&self) -> PathBuf {
        let from_variable = |name| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        self.data
            .clone()
            .or_else(|| Some(from_variable("XDG_DATA_HOME")?.join("proctor")))
            .or_else(|| Some(from_variable("HOME")?.join(".local/share/proctor")))
            .unwrap_or_else(|| "proctor-data".into())
    }
}

impl ServeSettings {
    fn or(self, file: Self) -> Self {
        Self {
            listen: self.listen.or(file.listen),
            public_url: self.public_url.or(file.public_url),
            tunnel_domain: self.tunnel_domain.or(file.tunnel_domain),
            ssh_listen: self.ssh_listen.or(file.ssh_listen),
            ssh_address: self.ssh_address.or(file.ssh_address),
            tls_cert: self.tls_cert.or(file.tls_cert),
            tls_key: self.tls_key.or(file.tls_key),
            rate_limit: self.rate_limit.or(file.rate_limit),
            rate_burst: self.rate_burst.or(file.rate_burst),
            body_limit: self.body_limit.or(file.body_limit),
            request_timeout: self.request_timeout.or(file.request_timeout),
            grace: self.grace.or(file.grace),
            log: self.log.or(file.log),
            log_format: self.log_format.or(file.log_format),
            otlp_endpoint: self.otlp_endpoint.or(file.otlp_endpoint),
            backend: self.backend.or(file.backend),
            images: self.images.or(file.images),
            image_registries: self.image_registries.or(file.image_registries),
            image_credentials: self.image_credentials.or(file.image_credentials),
            image_alias: self.image_alias.or(file.image_alias),
            image_layouts: self.image_layouts.or(file.image_layouts),
            image_mirrors: self.image_mirrors.or(file.image_mirrors),
            agents: self.agents.or(file.agents),
            judge_url: self.judge_url.or(file.judge_url),
            judge_model: self.judge_model.or(file.judge_model),
            judge_key_file: self.judge_key_file.or(file.judge_key_file),
            model_prices: self.model_prices.or(file.model_prices),
            harbor_tasks: self.harbor_tasks.or(file.harbor_tasks),
            harbor_public_policy: self.harbor_public_policy.or(file.harbor_public_policy),
            harbor_build_policy: self.harbor_build_policy.or(file.harbor_build_policy),
            code_mirrors: self.code_mirrors.or(file.code_mirrors),
            keep_frozen: self.keep_frozen.or(file.keep_frozen),
            keep_frozen_bytes: self.keep_frozen_bytes.or(file.keep_frozen_bytes),
            exact_disks: self.exact_disks.or(file.exact_disks),
            devbox_processes: self.devbox_processes.or(file.devbox_processes),
            devbox_memory: self.devbox_memory.or(file.devbox_memory),
            internal_hosts: self.internal_hosts.or(file.internal_hosts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_can_stand_in_the_file_and_a_flag_goes_before_it() {
        let text = r#"
            data = "/var/lib/proctor"
            database-url = "postgres://db/proctor"
            blobs = "s3://proctor/blobs"
            [serve]
            listen = "0.0.0.0:80"
            tls-cert = "cert.pem"
            tls-key = "key.pem"
            rate-limit = 600
            judge-url = "http://127.0.0.1:8000/v1"
            model-prices = "/etc/proctor/prices.toml"
            judge-model = "tester"
            judge-key-file = "judge.key"
            rate-burst = 20
            body-limit = 1000
            request-timeout = 5
            grace = 0
            public-url = "https://proctor.example.org"
            tunnel-domain = "tunnel.example.org"
            ssh-listen = "0.0.0.0:2222"
            ssh-address = "ssh.example.org:22"
            log = "debug"
            log-format = "json"
            otlp-endpoint = "http://collector:4318"
            backend = "local"
            images = ["debian:13=/srv/debian", "default=host"]
            image-registries = ["docker.io", "http://127.0.0.1:5000"]
            image-credentials = "/etc/proctor/registries.json"
            image-alias = ["mirror.example/library/*=library/*"]
            image-layouts = ["/srv/images"]
            image-mirrors = ["ubuntu=http://mirror.example/ubuntu"]
            agents = ["codex=/srv/agents/codex.toml"]
            harbor-tasks = ["terminal-bench=/srv/tasks"]
            harbor-public-policy = "open"
            harbor-build-policy = "packages"
            code-mirrors = "/srv/git"
            keep-frozen = 20
            keep-frozen-bytes = 1000000000
            exact-disks = true
            devbox-processes = 1000
            devbox-memory = 1073741824
            internal-hosts = ["git.corp.example:8443"]
        "#;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("proctor.toml");
        fs_err::write(&path, text).unwrap();
        let flags = Settings {
            data: Some("/elsewhere".into()),
            database_url: None,
            blobs: None,
            config: Some(path),
        };
        let serve = ServeSettings {
            grace: Some(7),
            ..ServeSettings::default()
        };
        let (settings, serve) = flags.complete_for_serve(serve).unwrap();
        assert_eq!(settings.data_directory(), PathBuf::from("/elsewhere"));
        assert_eq!(
            settings.database_url.as_deref(),
            Some("postgres://db/proctor")
        );
        assert_eq!(settings.blobs.unwrap().to_string(), "s3://proctor/blobs");
        assert_eq!((serve.grace, serve.body_limit), (Some(7), Some(1000)));
        // Without `..`: a setting that is added later must be added to the file above as well.
        let ServeSettings {
            listen: Some(_),
            public_url: Some(_),
            tunnel_domain: Some(_),
            ssh_listen: Some(SshListen::On(_)),
            ssh_address: Some(_),
            tls_cert: Some(_),
            tls_key: Some(_),
            rate_limit: Some(_),
            rate_burst: Some(_),
            body_limit: Some(_),
            request_timeout: Some(_),
            grace: Some(_),
            log: Some(_),
            log_format: Some(LogFormat::Json),
            otlp_endpoint: Some(_),
            backend: Some(_),
            images: Some(images),
            image_registries: Some(_),
            image_credentials: Some(_),
            image_alias: Some(_),
            image_layouts: Some(_),
            image_mirrors: Some(_),
            agents: Some(agents),
            harbor_tasks: Some(_),
            harbor_public_policy: Some(_),
            harbor_build_policy: Some(_),
            code_mirrors: Some(_),
            keep_frozen: Some(20),
            keep_frozen_bytes: Some(1_000_000_000),
            exact_disks: Some(true),
            devbox_processes: Some(1000),
            devbox_memory: Some(1_073_741_824),
            internal_hosts: Some(_),
            judge_url: Some(_),
            judge_model: Some(_),
            judge_key_file: Some(_),
            model_prices: Some(_),
        } = serve
        else {
            panic!("{serve:?}")
        };
        assert_eq!(images[0].base, ImageBase::Directory("/srv/debian".into()));
        assert_eq!(images[1].base, ImageBase::Host);
        assert_eq!(agents, ["codex=/srv/agents/codex.toml".parse().unwrap()]);
        assert!("no-base".parse::<NamedImage>().is_err());
    }

    #[test]
    fn where_ssh_and_tunnels_are_is_read_or_refused() {
        assert_eq!("off".parse(), Ok(SshListen::Off));
        assert!("22".parse::<SshListen>().is_err());
        let address: HostAndPort = "ssh.example.org:22".parse().unwrap();
        assert_eq!(
            (address.host.as_str(), address.port),
            ("ssh.example.org", 22)
        );
        for wrong in ["ssh.example.org", ":22", "a:b", "a:0"] {
            assert!(wrong.parse::<HostAndPort>().is_err(), "{wrong}");
        }
        assert!("Tunnel.example.org".parse::<Domain>().is_ok());
        for wrong in [
            "",
            ".",
            "*.example.org",
            "https://example.org",
            "a:80",
            "a..b",
        ] {
            assert!(wrong.parse::<Domain>().is_err(), "{wrong}");
        }
    }
}
