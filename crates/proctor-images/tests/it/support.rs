//! Images for tests: layers, layouts, archives.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use flate2::{Compression, write::GzEncoder};
use proctor_core::{
    canonical::Digest,
    time::{ManualClock, Timestamp},
};
use proctor_images::{ImageOptions, Images, Platform, TreeReader};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A machine's images, gone when the test ends.
pub(crate) struct Shelf {
    pub(crate) images: Images,
    pub(crate) directory: TempDir,
}

impl Shelf {
    pub(crate) fn open() -> Self {
        Self::with(|_| {})
    }

    /// The same with other options.
    pub(crate) fn with(change: impl FnOnce(&mut ImageOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = ImageOptions::new(directory.path().join("images"));
        change(&mut options);
        let clock = ManualClock::at(Timestamp::from_millis(1_790_000_000_000));
        Self {
            images: Images::open(options, Arc::new(clock)).unwrap(),
            directory,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// The digest of a whole tree: names, kinds, owners, modes, times, contents, links.
pub(crate) fn tree_digest(root: &Path) -> Digest {
    Digest::of_bytes(&tree_tar(root))
}

pub(crate) fn tree_tar(root: &Path) -> Vec<u8> {
    TreeReader::open(root)
        .unwrap()
        .write_tar(Vec::new())
        .unwrap()
}

/// The paths of a tree with their kinds, for messages that people can read.
pub(crate) fn listing(root: &Path) -> Vec<String> {
    let tar = tree_tar(root);
    let mut archive = tar::Archive::new(tar.as_slice());
    let entries = archive.entries().unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            let kind = char::from(entry.header().entry_type().as_byte());
            let link = entry.link_name().unwrap();
            let link = link.map_or(String::new(), |link| format!(" -> {}", link.display()));
            format!("{kind} {}{link}", entry.path().unwrap().display())
        })
        .collect()
}

/// A layer that is being written.
pub(crate) struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    pub(crate) fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    fn header(kind: tar::EntryType, mode: u32) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(1_700_000_000);
        header.set_size(0);
        header
    }

    fn add(mut self, mut header: tar::Header, path: &str, link: &str, content: &[u8]) -> Self {
        header.set_size(content.len() as u64);
        // Written as it is, also what the library would refuse.
        let gnu = header.as_gnu_mut().unwrap();
        gnu.name = [0; 100];
        gnu.name[..path.len()].copy_from_slice(path.as_bytes());
        gnu.linkname = [0; 100];
        gnu.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    pub(crate) fn file(self, path: &str, content: &str) -> Self {
        self.file_with(path, content, 0o644, (0, 0))
    }

    pub(crate) fn file_with(self, path: &str, content: &str, mode: u32, owner: (u64, u64)) -> Self {
        let mut header = Self::header(tar::EntryType::Regular, mode);
        header.set_uid(owner.0);
        header.set_gid(owner.1);
        self.add(header, path, "", content.as_bytes())
    }

    pub(crate) fn directory(self, path: &str, mode: u32) -> Self {
        self.add(Self::header(tar::EntryType::Directory, mode), path, "", b"")
    }

    pub(crate) fn symlink(self, path: &str, target: &str) -> Self {
        self.add(
            Self::header(tar::EntryType::Symlink, 0o777),
            path,
            target,
            b"",
        )
    }

    pub(crate) fn hard_link(self, path: &str, first: &str) -> Self {
        self.add(Self::header(tar::EntryType::Link, 0o644), path, first, b"")
    }

    pub(crate) fn of_kind(self, path: &str, kind: tar::EntryType) -> Self {
        self.add(Self::header(kind, 0o644), path, "", b"")
    }

    pub(crate) fn pax(mut self, key: &str, value: &[u8]) -> Self {
        self.0.append_pax_extensions([(key, value)]).unwrap();
        self
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An image that is being put together: its files by their paths in an OCI layout.
pub(crate) struct Sample {
    pub(crate) config: Value,
    pub(crate) layers: Vec<Vec<u8>>,
}

impl Sample {
    pub(crate) fn of(layers: Vec<Vec<u8>>) -> Self {
        let host = Platform::host();
        let diff_ids: Vec<String> = layers
            .iter()
            .map(|layer| Digest::of_bytes(layer).to_string())
            .collect();
        let config = json!({
            "architecture": host.architecture,
            "os": host.os,
            "config": {"Env": ["PATH=/usr/bin", "GREETING=hello"], "WorkingDir": "/work", "User": "1000", "Cmd": ["python3"],
                "Entrypoint": ["/enter"], "Shell": ["/bin/bash", "-c"]},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": [{"created_by": "test"}],
        });
        Self { config, layers }
    }

    /// The blobs of the image, packed with `pack`, and its manifest.
    pub(crate) fn blobs(&self, pack: &dyn Fn(&[u8]) -> Vec<u8>) -> (Vec<Vec<u8>>, Vec<u8>) {
        let config = self.config.to_string().into_bytes();
        let packed: Vec<Vec<u8>> = self.layers.iter().map(|layer| pack(layer)).collect();
        let layers: Vec<Value> = packed
            .iter()
            .map(|layer| descriptor("application/vnd.oci.image.layer.v1.tar+gzip", layer))
            .collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
            "layers": layers,
        });
        let manifest = manifest.to_string().into_bytes();
        let mut blobs = packed;
        blobs.push(config);
        blobs.push(manifest.clone());
        (blobs, manifest)
    }

    /// Writes an OCI layout.
    pub(crate) fn layout(&self, directory: &Path, name: &str) {
        self.layout_packed(directory, name, &gzip);
    }

    pub(crate) fn layout_packed(
        &self,
        directory: &Path,
        name: &str,
        pack: &dyn Fn(&[u8]) -> Vec<u8>,
    ) {
        let (blobs, manifest) = self.blobs(pack);
        for blob in blobs {
            put_blob(directory, &blob);
        }
        let mut entry = descriptor(MANIFEST, &manifest);
        entry["annotations"] = json!({"org.opencontainers.image.ref.name": name});
        write_index(directory, &[entry]);
    }

    /// What `docker save` wrote before version 25.
    pub(crate) fn saved_old(&self, name: &str) -> Vec<u8> {
        let config = self.config.to_string();
        let config_name = format!("{}.json", Digest::of_bytes(config.as_bytes()).hex());
        let mut tar = Layer::new();
        let mut paths = Vec::new();
        for (place, layer) in self.layers.iter().enumerate() {
            let id = format!("layer{place}");
            let path = format!("{id}/layer.tar");
            // A layer that was there before is a link to where it was.
            let earlier = self.layers[..place].iter().position(|other| other == layer);
            tar = match earlier {
                Some(first) => tar.symlink(&path, &format!("../layer{first}/layer.tar")),
                None => tar.file_bytes(&path, layer),
            };
            paths.push(path);
        }
        let manifest = json!([{"Config": config_name, "RepoTags": [name], "Layers": paths}]);
        tar.file(&config_name, &config)
            .file("manifest.json", &manifest.to_string())
            .done()
    }

    /// A layout as a tar, with its index last, as `docker save` writes it now.
    pub(crate) fn saved_new(&self, name: &str) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        self.layout_packed(directory.path(), "tag-only", &|layer| layer.to_vec());
        let index = fs_err::read_to_string(directory.path().join("index.json")).unwrap();
        let mut index: Value = serde_json::from_str(&index).unwrap();
        index["manifests"][0]["annotations"] = json!({"io.containerd.image.name": name, "org.opencontainers.image.ref.name": "tag-only"});
        let mut tar = Layer::new();
        for entry in fs_err::read_dir(directory.path().join("blobs/sha256")).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("blobs/sha256/{}", path.file_name().unwrap().display());
            tar = tar.file_bytes(&name, &fs_err::read(path).unwrap());
        }
        tar.file("index.json", &index.to_string())
            .file("manifest.json", "[]")
            .file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#)
            .done()
    }
}

impl Layer {
    fn file_bytes(self, path: &str, content: &[u8]) -> Self {
        self.add(
            Self::header(tar::EntryType::Regular, 0o644),
            path,
            "",
            content,
        )
    }
}

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

pub(crate) fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": Digest::of_bytes(bytes).to_string(), "size": bytes.len()})
}

pub(crate) fn put_blob(directory: &Path, bytes: &[u8]) {
    let blobs = directory.join("blobs/sha256");
    fs_err::create_dir_all(&blobs).unwrap();
    fs_err::write(blobs.join(Digest::of_bytes(bytes).hex()), bytes).unwrap();
}

pub(crate) fn write_index(directory: &Path, manifests: &[Value]) {
    fs_err::write(
        directory.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )
    .unwrap();
    let index = json!({"schemaVersion": 2, "manifests": manifests});
    fs_err::write(directory.join("index.json"), index.to_string()).unwrap();
}

/// Two layers with everything that layers can say.
pub(crate) fn eventful() -> Sample {
    let first = Layer::new()
        .directory("./", 0o755)
        .directory("usr/", 0o755)
        .directory("usr/bin/", 0o755)
        .file_with("usr/bin/su", "root's", 0o4755, (0, 0))
        .symlink("bin", "usr/bin")
        .directory("etc/", 0o755)
        .file("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
        .file("etc/removed", "gone")
        .directory("old/", 0o755)
        .file("old/a", "a")
        .directory("old/deep/", 0o700)
        .file("old/deep/b", "b")
        .file("shared", "one file, two names")
        .file("replaced", "a file")
        .directory("kept/", 0o2775)
        .file_with("kept/mine", "of 1000", 0o640, (1000, 1001))
        .of_kind("dev-null", tar::EntryType::Char)
        .of_kind("pipe", tar::EntryType::Fifo)
        .symlink("elsewhere", "/")
        .done();
    let second = Layer::new()
        .file("etc/.wh.removed", "")
        .file("old/.wh..wh..opq", "")
        .file("old/new", "only this")
        .hard_link("again", "shared")
        .file("bin/tool", "behind a link")
        .directory("replaced/", 0o755)
        .file("replaced/by", "a directory")
        // Out of the tree by an absolute link: it stays inside.
        .file("elsewhere/inside", "still here")
        .file("usr/.wh..wh.aufs", "")
        .done();
    Sample::of(vec![first, second])
}
