//! The documents of an image: index, manifest, configuration. Members that we do not use are passed over.

use std::collections::BTreeMap;

use proctor_core::canonical::Digest;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::ImageError;

pub(crate) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const OCI_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
pub(crate) const OCI_LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub(crate) const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub(crate) const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// The most layers that an image may have.
const MOST_LAYERS: usize = 512;
/// The annotation with an image's name in an OCI layout.
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// The same with the whole name, as containerd and Docker write it.
pub(crate) const CONTAINERD_NAME: &str = "io.containerd.image.name";

/// Where a blob is: its kind, digest and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) platform: Option<Platform>,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Descriptor {
    pub(crate) fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            platform: None,
            annotations: BTreeMap::new(),
        }
    }

    pub(crate) fn is_index(&self) -> bool {
        matches!(self.media_type.as_str(), OCI_INDEX | DOCKER_LIST)
    }

    pub(crate) fn is_manifest(&self) -> bool {
        matches!(self.media_type.as_str(), OCI_MANIFEST | DOCKER_MANIFEST)
    }
}

/// What machines an image is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// `linux`.
    #[serde(default)]
    pub os: String,
    /// `amd64`, `arm64`, …
    #[serde(default)]
    pub architecture: String,
    /// `v8`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl Platform {
    /// This machine's.
    pub fn host() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" => "ppc64le",
            other => other,
        };
        Self {
            os: std::env::consts::OS.to_owned(),
            architecture: architecture.to_owned(),
            variant: None,
        }
    }

    /// Whether images for it run on this machine.
    pub fn is_hosts(&self) -> bool {
        let host = Self::host();
        self.os == host.os && self.architecture == host.architecture
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

/// Several images under one name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Index {
    pub(crate) schema_version: u32,
    #[serde(default)]
    pub(crate) media_type: Option<String>,
    pub(crate) manifests: Vec<Descriptor>,
}

/// One image: its configuration and its layers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    #[serde(default)]
    pub(crate) media_type: Option<String>,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
}

/// What an image says besides its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageConfig {
    /// The machines it is for.
    #[serde(deserialize_with = "or_default")]
    pub architecture: String,
    /// Their operating system.
    #[serde(deserialize_with = "or_default")]
    pub os: String,
    /// What its programs start with.
    #[serde(deserialize_with = "or_default")]
    pub config: RunConfig,
    /// What its files are.
    pub rootfs: RootFs,
}

/// What programs of an image start with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct RunConfig {
    /// `NAME=VALUE`.
    #[serde(deserialize_with = "or_default")]
    pub env: Vec<String>,
    /// Where they start.
    #[serde(deserialize_with = "or_default")]
    pub working_dir: String,
    /// Who runs them.
    #[serde(deserialize_with = "or_default")]
    pub user: String,
    /// The shell of commands in shell form.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub shell: Vec<String>,
    /// What always runs.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub entrypoint: Vec<String>,
    /// What runs unless something else is said.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub cmd: Vec<String>,
}

/// The layers by the digests of their plain tars.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RootFs {
    /// Always `layers`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The digests, lowest first.
    #[serde(deserialize_with = "or_default")]
    pub diff_ids: Vec<Digest>,
}

/// Go writes `null` for what is empty.
fn or_default<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(value)?.unwrap_or_default())
}

/// Reads a document; `what` names it in the message.
pub(crate) fn read<'d, T: Deserialize<'d>>(what: &str, bytes: &'d [u8]) -> Result<T, ImageError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ImageError::invalid(format!("{what} is not readable: {error}")))
}

/// Writes a document.
pub(crate) fn write<T: Serialize>(document: &T) -> Result<Vec<u8>, ImageError> {
    serde_json::to_vec(document)
        .map_err(|error| ImageError::invalid(format!("a document cannot be written: {error}")))
}

/// The digest of some bytes must be this one.
pub(crate) fn check_digest(what: &str, bytes: &[u8], expected: &Digest) -> Result<(), ImageError> {
    let digest = Digest::of_bytes(bytes);
    if digest == *expected {
        Ok(())
    } else {
        Err(ImageError::invalid(format!(
            "{what} has the digest {digest}, not {expected} as its name says"
        )))
    }
}

impl Manifest {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ImageError> {
        let manifest: Self = read("the manifest", bytes)?;
        if manifest.schema_version != 2 {
            let version = manifest.schema_version;
            return Err(ImageError::invalid(format!(
                "the manifest has the schema version {version}; only 2 is understood"
            )));
        }
        if manifest.layers.len() > MOST_LAYERS {
            return Err(ImageError::invalid(format!(
                "the image has more than {MOST_LAYERS} layers"
            )));
        }
        for layer in &manifest.layers {
            check_layer_type(&layer.media_type)?;
        }
        Ok(manifest)
    }
}

fn check_layer_type(media_type: &str) -> Result<(), ImageError> {
    let known = matches!(
        media_type,
        OCI_LAYER
            | OCI_LAYER_GZIP
            | "application/vnd.oci.image.layer.v1.tar+zstd"
            | "application/vnd.docker.image.rootfs.diff.tar"
            | "application/vnd.docker.image.rootfs.diff.tar.gzip"
            | "application/vnd.docker.image.rootfs.diff.tar.zstd"
    );
    if known {
        return Ok(());
    }
    Err(ImageError::invalid(format!(
        "a layer is '{media_type}'; only file systems as tar, plain or with gzip or zstd, are understood"
    )))
}

impl Index {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ImageError> {
        read("the index", bytes)
    }

    /// The manifest for this machine.
    pub(crate) fn for_host(&self, name: &str) -> Result<&Descriptor, ImageError> {
        let usable = || {
            self.manifests
                .iter()
                .filter(|one| one.is_manifest() || one.is_index())
                // What tools attach to an image (signatures, provenance) says that it is for no platform.
                .filter(|one| {
                    one.platform
                        .as_ref()
                        .is_none_or(|platform| platform.os != "unknown")
                })
        };
        let for_host = usable().find(|one| one.platform.as_ref().is_some_and(Platform::is_hosts));
        let only = || {
            let mut without = usable().filter(|one| one.platform.is_none());
            match (without.next(), without.next()) {
                (Some(one), None) => Some(one),
                _ => None,
            }
        };
        for_host.or_else(only).ok_or_else(|| {
            let mut there: Vec<String> = usable()
                .filter_map(|one| one.platform.as_ref().map(ToString::to_string))
                .collect();
            there.sort_unstable();
            there.dedup();
            let there = match there.is_empty() {
                true => "nothing else".to_owned(),
                false => there.join(", "),
            };
            let host = Platform::host();
            ImageError::invalid(format!("{name} is not there for {host}, only for {there}"))
        })
    }
}

impl ImageConfig {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ImageError> {
        read("the image's configuration", bytes)
    }

    /// Refuses an image that this machine cannot run.
    pub(crate) fn check_platform(&self, name: &str) -> Result<(), ImageError> {
        let platform = Platform {
            os: self.os.clone(),
            architecture: self.architecture.clone(),
            variant: None,
        };
        // Very old images say nothing.
        if (self.os.is_empty() && self.architecture.is_empty()) || platform.is_hosts() {
            return Ok(());
        }
        let host = Platform::host();
        Err(ImageError::invalid(format!(
            "{name} is for {platform}; this machine is {host}"
        )))
    }

    /// Variables by name; what has no `=` is none.
    pub fn variables(&self) -> BTreeMap<String, String> {
        self.config
            .env
            .iter()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_leaves_out_or_writes_as_null_is_empty() {
        let config = ImageConfig::read(
            br#"{"architecture":"amd64","os":"linux","config":{"Env":null,"Cmd":["a"],"Entrypoint":null,"User":null},
                "rootfs":{"type":"layers","diff_ids":null},"history":[]}"#,
        )
        .unwrap();
        assert_eq!(config.config.cmd, ["a"]);
        assert!(config.variables().is_empty());
        let config = ImageConfig::read(br#"{"config":null}"#).unwrap();
        assert_eq!(config, ImageConfig::default());
        config.check_platform("x").unwrap();
    }

    #[test]
    fn another_platform_is_refused_with_what_there_is() {
        let digest = Digest::of_bytes(b"");
        let of = |os: &str, architecture: &str| Descriptor {
            media_type: OCI_MANIFEST.to_owned(),
            digest,
            size: 1,
            platform: Some(Platform {
                os: os.to_owned(),
                architecture: architecture.to_owned(),
                variant: None,
            }),
            annotations: BTreeMap::new(),
        };
        let mut index = Index {
            schema_version: 2,
            media_type: None,
            manifests: vec![
                of("linux", "s390x"),
                of("windows", "amd64"),
                of("unknown", "unknown"),
            ],
        };
        let refused = index.for_host("a").unwrap_err().to_string();
        assert!(
            refused.contains("only for linux/s390x, windows/amd64"),
            "{refused}"
        );
        let host = Platform::host();
        index.manifests.push(of(&host.os, &host.architecture));
        assert!(
            index
                .for_host("a")
                .unwrap()
                .platform
                .as_ref()
                .unwrap()
                .is_hosts()
        );
    }

    #[test]
    fn layers_of_other_kinds_are_refused() {
        let digest = Digest::of_bytes(b"");
        let text = format!(
            r#"{{"schemaVersion":2,"config":{{"digest":"{digest}","size":1}},"layers":[{{"mediaType":"application/vnd.in-toto+json","digest":"{digest}","size":1}}]}}"#
        );
        let refused = Manifest::read(text.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains("in-toto"), "{refused}");
    }
}
