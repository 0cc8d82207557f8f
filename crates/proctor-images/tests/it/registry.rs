//! Pulling from a registry on this machine, which behaves or does not.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use proctor_core::canonical::Digest;
use proctor_images::{Images, registry::read_credentials};
use serde_json::json;
use tokio_util::task::TaskTracker;

use crate::support::{INDEX, MANIFEST, Sample, Shelf, descriptor, eventful, gzip, tree_digest};

/// How a registry misbehaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fault {
    #[default]
    None,
    /// Layers are other bytes of the same length.
    Lies,
    /// Layers have more bytes than the manifest says.
    Endless,
    /// The first answer for a layer breaks off in the middle.
    BreaksOff,
    /// Layers begin and then nothing follows.
    Stalls,
    /// Layers are elsewhere.
    Redirects(&'static str),
    /// What a digest means is something else.
    OtherManifest,
}

#[derive(Default)]
struct Inner {
    manifests: BTreeMap<String, (String, Vec<u8>)>,
    blobs: BTreeMap<String, Vec<u8>>,
    layers: BTreeSet<String>,
    fault: Fault,
    broke_off: bool,
    wants_password: bool,
    /// What was asked for.
    log: Vec<String>,
    own: String,
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Inner>>);

impl Fake {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    async fn start(tasks: &TaskTracker) -> (Self, String) {
        let fake = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        fake.inner().own.clone_from(&address);
        let router = Router::new().fallback(answer).with_state(fake.clone());
        tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
        (fake, address)
    }

    /// Puts an image there, for this platform among others.
    fn put(&self, repository: &str, tag: &str, sample: &Sample) -> Digest {
        let (blobs, manifest) = sample.blobs(&gzip);
        let mut inner = self.inner();
        for (place, blob) in blobs.iter().enumerate() {
            let digest = Digest::of_bytes(blob).to_string();
            if place < sample.layers.len() {
                inner.layers.insert(digest.clone());
            }
            inner.blobs.insert(digest, blob.clone());
        }
        let digest = Digest::of_bytes(&manifest);
        let mut ours = descriptor(MANIFEST, &manifest);
        let host = proctor_images::Platform::host();
        ours["platform"] = json!({"os": host.os, "architecture": host.architecture});
        let mut other = descriptor(MANIFEST, b"not there");
        other["platform"] = json!({"os": "linux", "architecture": "s390x"});
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [other, ours]});
        let index = index.to_string().into_bytes();
        for (name, kind, bytes) in [
            (tag.to_owned(), INDEX, &index),
            (Digest::of_bytes(&index).to_string(), INDEX, &index),
            (digest.to_string(), MANIFEST, &manifest),
        ] {
            inner.manifests.insert(
                format!("{repository}/{name}"),
                (kind.to_owned(), bytes.clone()),
            );
        }
        digest
    }

    fn asked(&self, part: &str) -> usize {
        self.inner()
            .log
            .iter()
            .filter(|line| line.contains(part))
            .count()
    }
}

async fn answer(State(fake): State<Fake>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let header_of = |name: header::HeaderName| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let (authorization, range) = (header_of(header::AUTHORIZATION), header_of(header::RANGE));
    let mut inner = fake.inner();
    inner.log.push(format!("{path} {range}"));
    if path == "/token" {
        let query = request.uri().query().unwrap_or_default();
        let allowed = !inner.wants_password || authorization == "Basic bWU6c2VjcmV0";
        if !query.contains("scope=repository%3Aacme%2Fapp%3Apull") || !allowed {
            return StatusCode::FORBIDDEN.into_response();
        }
        return json!({"token": "let-me-in"}).to_string().into_response();
    }
    if authorization != "Bearer let-me-in" {
        let challenge = format!(
            r#"Bearer realm="http://{}/token",service="fake",scope="repository:acme/app:pull""#,
            inner.own
        );
        return (
            StatusCode::UNAUTHORIZED,
            [(header::WWW_AUTHENTICATE, challenge)],
        )
            .into_response();
    }
    if let Some(name) = path
        .strip_prefix("/v2/")
        .and_then(|rest| rest.split_once("/manifests/"))
    {
        let key = format!("{}/{}", name.0, name.1);
        return match inner.manifests.get(&key) {
            Some((kind, bytes)) => {
                let mut bytes = bytes.clone();
                if inner.fault == Fault::OtherManifest && key.contains("sha256:") {
                    bytes.push(b' ');
                }
                ([(header::CONTENT_TYPE, kind.clone())], bytes).into_response()
            }
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    let Some((_, digest)) = path.split_once("/blobs/") else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let Some(blob) = inner.blobs.get(digest).cloned() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let is_layer = inner.layers.contains(digest);
    match inner.fault {
        Fault::Lies if is_layer => vec![0; blob.len()].into_response(),
        Fault::Endless if is_layer => [blob, vec![0; 1 << 20]].concat().into_response(),
        Fault::Redirects(to) if is_layer => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()
        }
        Fault::Stalls if is_layer => stalling(&blob[..10]),
        Fault::BreaksOff if is_layer && !inner.broke_off => {
            inner.broke_off = true;
            breaking_off(&blob[..blob.len() / 2], blob.len())
        }
        _ => match range
            .strip_prefix("bytes=")
            .and_then(|rest| rest.strip_suffix('-'))
        {
            Some(from) => {
                let from: usize = from.parse().unwrap();
                let said = format!("bytes {from}-{}/{}", blob.len() - 1, blob.len());
                (
                    StatusCode::PARTIAL_CONTENT,
                    [(header::CONTENT_RANGE, said)],
                    blob[from..].to_vec(),
                )
                    .into_response()
            }
            None => blob.into_response(),
        },
    }
}

/// A body that begins and never ends.
fn stalling(bytes: &[u8]) -> Response {
    use futures_lite_stream::*;
    Body::from_stream(Stalling(Some(bytes.to_vec()))).into_response()
}

/// A body that is shorter than its header says.
fn breaking_off(bytes: &[u8], whole: usize) -> Response {
    use futures_lite_stream::*;
    let body = Body::from_stream(Breaking(Some(bytes.to_vec()), false));
    ([(header::CONTENT_LENGTH, whole.to_string())], body).into_response()
}

/// The two kinds of bodies.
mod futures_lite_stream {
    use std::{
        io,
        pin::Pin,
        task::{Context, Poll},
    };

    use axum::body::Bytes;

    pub(super) struct Stalling(pub(super) Option<Vec<u8>>);

    impl futures::Stream for Stalling {
        type Item = io::Result<Bytes>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            match self.0.take() {
                Some(bytes) => Poll::Ready(Some(Ok(bytes.into()))),
                None => Poll::Pending,
            }
        }
    }

    pub(super) struct Breaking(pub(super) Option<Vec<u8>>, pub(super) bool);

    impl futures::Stream for Breaking {
        type Item = io::Result<Bytes>;

        fn poll_next(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Self::Item>> {
            if let Some(bytes) = self.0.take() {
                return Poll::Ready(Some(Ok(bytes.into())));
            }
            // What was sent goes out before the connection breaks.
            if !self.1 {
                self.1 = true;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(Some(Err(io::Error::other("broken off"))))
        }
    }
}

struct Scene {
    fake: Fake,
    shelf: Shelf,
    /// What the image is called.
    name: String,
    digest: Digest,
}

impl Scene {
    async fn open(tasks: &TaskTracker, fault: Fault) -> Self {
        let (fake, address) = Fake::start(tasks).await;
        let digest = fake.put("acme/app", "1", &eventful());
        fake.inner().fault = fault;
        let allowed = format!("http://{address}");
        let shelf = Shelf::with(|options| {
            options.registries.allowed = vec![allowed.parse().unwrap()];
            options.registries.patience = Duration::from_millis(500);
        });
        Self {
            fake,
            shelf,
            name: format!("{address}/acme/app:1"),
            digest,
        }
    }

    fn images(&self) -> &Images {
        &self.shelf.images
    }

    async fn pull(&self) -> Result<std::path::PathBuf, String> {
        let told = |error: proctor_images::ImageError| {
            proctor_core::causes::with_causes(&error).to_string()
        };
        let resolved = self.images().resolve(&self.name).await.map_err(told)?;
        let resolved = resolved.ok_or("nowhere")?;
        let image = self
            .images()
            .obtain(&resolved, &|_| {})
            .await
            .map_err(told)?;
        assert_eq!(image.digest, self.digest);
        Ok(image.root)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_is_pulled_once_with_a_token_and_has_the_tree_of_its_layout() {
    let tasks = TaskTracker::new();
    let scene = Scene::open(&tasks, Fault::None).await;
    let root = scene.pull().await.unwrap();
    let other = Shelf::open();
    eventful().layout(&other.path("l"), "a:1");
    let imported = other
        .images
        .import(&other.path("l"), &proctor_images::Import::default())
        .unwrap();
    assert_eq!(tree_digest(&root), tree_digest(&imported.image.root));
    let asked = scene.fake.inner().log.len();
    scene.pull().await.unwrap();
    assert_eq!(
        scene.fake.inner().log.len(),
        asked,
        "what is here is not asked for again"
    );
    // Again on demand: documents only.
    let layers = scene.fake.asked("/blobs/");
    scene.images().refresh(&scene.name, &|_| {}).await.unwrap();
    assert_eq!(scene.fake.asked("/blobs/"), layers);
    // It goes out as it came, with its index.
    let out = scene.shelf.path("out");
    let exported = scene.images().export(&scene.name, &out).unwrap();
    assert!(exported.as_it_came);
    let there = Shelf::with(|options| options.layouts = vec![out]);
    let resolved = there.images.resolve(&scene.name).await.unwrap().unwrap();
    assert_eq!(resolved.digest, scene.digest);
    let obtained = there.images.obtain(&resolved, &|_| {}).await.unwrap();
    assert_eq!(tree_digest(&obtained.root), tree_digest(&root));
    assert!(obtained.index.is_some());
    // Removing it removes its layers too.
    scene.images().remove(&scene.name, &|_| None).unwrap();
    let blobs: Vec<_> = fs_err::read_dir(scene.shelf.path("images/blobs/sha256"))
        .unwrap()
        .collect();
    assert!(blobs.is_empty(), "{blobs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_layer_that_broke_off_goes_on_where_it_stopped() {
    let tasks = TaskTracker::new();
    let scene = Scene::open(&tasks, Fault::BreaksOff).await;
    scene.pull().await.unwrap();
    assert_eq!(
        scene.fake.asked("bytes="),
        1,
        "{:?}",
        scene.fake.inner().log
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registry_that_does_not_behave_is_refused_in_words() {
    for (fault, part) in [
        (Fault::Lies, "sends something with the digest"),
        (Fault::Endless, "sends more than"),
        (Fault::Stalls, "stopped answering"),
        (Fault::OtherManifest, "has the digest"),
        (
            Fault::Redirects("http://127.0.0.1:1/x"),
            "leads to 127.0.0.1:1",
        ),
        (
            Fault::Redirects("http://169.254.169.254/latest"),
            "leads to 169.254.169.254:80",
        ),
        (
            Fault::Redirects("http://cdn.example/x"),
            "leads to cdn.example:80",
        ),
        (Fault::Redirects("file:///etc/passwd"), "no web address"),
        (Fault::Redirects("/v2/acme/app/blobs/sha256:00"), "404"),
    ] {
        let tasks = TaskTracker::new();
        let scene = Scene::open(&tasks, fault).await;
        let refused = scene.pull().await.unwrap_err();
        assert!(refused.contains(part), "{fault:?}: {refused}");
        assert_eq!(scene.images().images().unwrap(), [], "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_registries_that_are_listed_are_asked() {
    let tasks = TaskTracker::new();
    let scene = Scene::open(&tasks, Fault::None).await;
    let closed = Shelf::open();
    assert!(closed.images.resolve(&scene.name).await.unwrap().is_none());
    let refused = closed
        .images
        .refresh(&scene.name, &|_| {})
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("image-registries"), "{refused}");
    assert_eq!(scene.fake.inner().log.len(), 0);
    // A name that leads to this machine is no better than its address, unless that is said.
    let port = scene.name.split(['/', ':']).nth(1).unwrap().to_owned();
    let by_name = Shelf::with(|options| {
        options.registries.allowed = vec![format!("http://localhost:{port}").parse().unwrap()];
    });
    let name = format!("localhost:{port}/acme/app:1");
    let refused = by_name.images.resolve(&name).await.unwrap_err().to_string();
    assert!(refused.contains("not a public address"), "{refused}");
    let missing = scene.name.replace("app:1", "app:2");
    let refused = scene
        .images()
        .resolve(&missing)
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("there is no image"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_are_shown_to_whoever_gives_tokens() {
    let tasks = TaskTracker::new();
    let scene = Scene::open(&tasks, Fault::None).await;
    scene.fake.inner().wants_password = true;
    let refused = scene.pull().await.unwrap_err();
    assert!(
        refused.contains("asked for a token, it answered 403"),
        "{refused}"
    );
    let host = scene.name.split('/').next().unwrap().to_owned();
    let file = json!({"auths": {host.clone(): {"auth": "bWU6c2VjcmV0"}}}).to_string();
    let shelf = Shelf::with(|options| {
        options.registries.allowed = vec![format!("http://{host}").parse().unwrap()];
        options.registries.credentials = read_credentials(&file).unwrap();
    });
    assert!(shelf.images.resolve(&scene.name).await.unwrap().is_some());
}
