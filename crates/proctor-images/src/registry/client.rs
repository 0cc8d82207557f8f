//! Asking one registry: a token if it wants one, a manifest, blobs.

use std::sync::{Arc, Mutex, PoisonError};

use proctor_core::{canonical::Digest, causes::with_causes};
use proctor_devbox::{
    EgressPolicy, Target,
    egress::{Gate, LocalProxy, Refused},
};
use reqwest::{Response, StatusCode, Url, header, redirect};
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::{
    Credentials, RegistryOptions,
    challenge::{self, Challenge},
};
use crate::{
    documents::{DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST, check_digest},
    error::ImageError,
    limits::LARGEST_DOCUMENT,
    reference::{DEFAULT_REGISTRY, Reference},
};

/// How often a request is led elsewhere.
const MOST_REDIRECTS: usize = 5;
/// How long connecting may take.
const CONNECTING: std::time::Duration = std::time::Duration::from_secs(15);

/// A registry that is being asked about one repository.
pub(crate) struct Client {
    http: reqwest::Client,
    /// `https://HOST`.
    base: String,
    registry: String,
    repository: String,
    policy: EgressPolicy,
    /// What leads there; it ends with this value.
    _proxy: LocalProxy,
    gate: Arc<Gate>,
    credentials: Option<Credentials>,
    /// What requests say of who asks.
    authorization: Mutex<Option<String>>,
}

/// A document of a registry.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_index: bool,
}

impl Client {
    /// A client for the repository of `name`, whose registry must be one that may be asked.
    pub(crate) async fn open(
        options: &RegistryOptions,
        name: &Reference,
    ) -> Result<Self, ImageError> {
        let registry = name.registry().to_owned();
        let refuse = |why: String| ImageError::Registry {
            registry: registry.clone(),
            why,
        };
        let allowed = options.allows(&registry).ok_or_else(|| {
            ImageError::Missing(format!(
                "{registry}: nothing is pulled from here; the setting image-registries lists the registries that may be asked"
            ))
        })?;
        let host = match registry.as_str() {
            DEFAULT_REGISTRY => "registry-1.docker.io",
            other => other,
        };
        let scheme = if allowed.plain { "http" } else { "https" };
        let base = format!("{scheme}://{host}");
        let policy = EgressPolicy {
            hosts: options.reachable(&registry),
            ..EgressPolicy::default()
        };
        let listed_by_address = options
            .allowed
            .iter()
            .filter_map(|one| Some((&one.host, target_of(&one.host)?)))
            .filter(|(_, target)| matches!(target.host, proctor_devbox::Host::Address(_)))
            .filter_map(|(host, _)| host.parse().ok());
        let trusted = options.internal.iter().cloned().chain(listed_by_address);
        // The operator lists them: where the server itself goes through a proxy, the proxy may look up their names.
        let resolves = options.reachable(&registry);
        let upstream = target_of(host).map(|target| {
            let proxies = &options.proxies;
            proxies.for_target(&target, !allowed.plain, resolves)
        });
        let upstream = upstream.transpose();
        let upstream = upstream
            .map_err(|error| refuse(error.to_string()))?
            .flatten();
        let gate = Gate::new(policy.clone(), Arc::clone(&options.names))
            .trusting(trusted.collect())
            .through(upstream);
        let gate = Arc::new(gate);
        let proxy = LocalProxy::start(Arc::clone(&gate))
            .await
            .map_err(|error| refuse(format!("no way out could be opened: {error}")))?;
        let through =
            reqwest::Proxy::all(proxy.url()).map_err(|error| refuse(error.to_string()))?;
        let builder = reqwest::Client::builder()
            .proxy(through)
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECTING)
            .read_timeout(options.patience)
            .user_agent(concat!("proctor/", env!("CARGO_PKG_VERSION")));
        let http = builder
            .build()
            .map_err(|error| refuse(with_causes(&error).to_string()))?;
        Ok(Self {
            http,
            base,
            repository: name.repository().to_owned(),
            policy,
            _proxy: proxy,
            gate,
            credentials: options.credentials.get(&registry).cloned(),
            authorization: Mutex::default(),
            registry,
        })
    }

    pub(super) fn refuse(&self, why: impl Into<String>) -> ImageError {
        ImageError::Registry {
            registry: self.registry.clone(),
            why: why.into(),
        }
    }

    /// The manifest or index of a tag or digest. One by digest has that digest.
    pub(crate) async fn manifest(&self, name: &Reference) -> Result<Fetched, ImageError> {
        let which = match (name.digest(), name.tag()) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.unwrap_or("latest").to_owned(),
        };
        let url = format!("{}/v2/{}/manifests/{which}", self.base, self.repository);
        let accept = [OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST].join(", ");
        let response = self.get(&url, &accept, None).await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(self.refuse(format!("there is no image '{name}'")));
            }
            other => return Err(self.refuse(format!("asked for '{name}', it answered {other}"))),
        }
        let media_type = response
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split(';').next())
            .unwrap_or_default()
            .trim()
            .to_owned();
        let bytes = self.whole(response).await?;
        if let Some(digest) = name.digest() {
            check_digest("what the registry sent", &bytes, digest)
                .map_err(|error| self.refuse(error.to_string()))?;
        }
        match media_type.as_str() {
            OCI_INDEX | DOCKER_LIST => Ok(Fetched {
                bytes,
                is_index: true,
            }),
            OCI_MANIFEST | DOCKER_MANIFEST => Ok(Fetched {
                bytes,
                is_index: false,
            }),
            other => Err(self.refuse(format!(
                "'{name}' is sent as '{other}', which is not an image"
            ))),
        }
    }

    /// A blob that is a document.
    pub(crate) async fn document(&self, digest: &Digest) -> Result<Vec<u8>, ImageError> {
        let response = self.get(&self.blob_url(digest), "*/*", None).await?;
        if response.status() != StatusCode::OK {
            let status = response.status();
            return Err(self.refuse(format!("asked for {digest}, it answered {status}")));
        }
        let bytes = self.whole(response).await?;
        check_digest("what the registry sent", &bytes, digest)
            .map_err(|error| self.refuse(error.to_string()))?;
        Ok(bytes)
    }

    pub(super) fn blob_url(&self, digest: &Digest) -> String {
        format!("{}/v2/{}/blobs/{digest}", self.base, self.repository)
    }

    /// The body of a small answer.
    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, ImageError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 > LARGEST_DOCUMENT {
                return Err(self.refuse(format!(
                    "it sends a document of more than {LARGEST_DOCUMENT} bytes"
                )));
            }
        }
        Ok(bytes)
    }

    /// Asks, with a token if that is wanted, and follows where the answer leads, as far as that is allowed.
    pub(super) async fn get(
        &self,
        url: &str,
        accept: &str,
        from: Option<u64>,
    ) -> Result<Response, ImageError> {
        let mut url = Url::parse(url).map_err(|error| self.refuse(error.to_string()))?;
        let own = url.origin();
        let (mut asked_for_token, mut redirects) = (false, 0);
        loop {
            self.check_address(&url).await?;
            let mut request = self.http.get(url.clone()).header(header::ACCEPT, accept);
            if let Some(from) = from {
                request = request.header(header::RANGE, format!("bytes={from}-"));
            }
            let authorization = self.authorization();
            // Whoever an answer leads to has no business with our token.
            if let Some(value) = authorization.filter(|_| url.origin() == own) {
                request = request.header(header::AUTHORIZATION, value);
            }
            let response = request.send().await.map_err(|error| self.lost(&error))?;
            match response.status() {
                StatusCode::UNAUTHORIZED if !asked_for_token => {
                    asked_for_token = true;
                    self.authenticate(&response).await?;
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    return Err(self.refuse(format!(
                        "it does not let us see {}; the image does not exist, or credentials are missing",
                        self.repository
                    )));
                }
                status if status.is_redirection() => {
                    redirects += 1;
                    if redirects > MOST_REDIRECTS {
                        return Err(
                            self.refuse("it leads from one address to the next without end")
                        );
                    }
                    url = self.next(&url, &response)?;
                }
                _ => return Ok(response),
            }
        }
    }

    fn next(&self, url: &Url, response: &Response) -> Result<Url, ImageError> {
        let location = response
            .headers()
            .get(header::LOCATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| url.join(value).ok())
            .ok_or_else(|| self.refuse("it leads elsewhere without saying where"))?;
        if !matches!(location.scheme(), "http" | "https") {
            return Err(self.refuse(format!(
                "it redirects to '{location}', which is no web address"
            )));
        }
        if url.scheme() == "https" && location.scheme() != "https" {
            return Err(self.refuse(format!(
                "it redirects from https to {}, which is not followed",
                location.origin().ascii_serialization()
            )));
        }
        Ok(location)
    }

    /// Refuses addresses that may not be asked, in words.
    async fn check_address(&self, url: &Url) -> Result<(), ImageError> {
        let invalid = || self.refuse(format!("'{url}' names no host"));
        let host = url.host_str().ok_or_else(invalid)?;
        let port = url.port_or_known_default().ok_or_else(invalid)?;
        let target: Target = format!("{host}:{port}").parse().map_err(|_| invalid())?;
        if !self.policy.admits(&target) {
            return Err(self.refuse(format!(
                "it leads to {target}, and nothing is fetched from there; the setting image-registries lists the hosts that may be asked"
            )));
        }
        let checked = self.gate.check(&target).await;
        checked.map_err(|refused| self.refuse(in_words(&refused)))
    }

    fn authorization(&self) -> Option<String> {
        let known = self.authorization.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gets what the registry wants to see.
    async fn authenticate(&self, response: &Response) -> Result<(), ImageError> {
        let wanted = response
            .headers()
            .get_all(header::WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| challenge::read(value.to_str().ok()?))
            .next();
        let value = match wanted {
            Some(Challenge::Basic) => self.basic().ok_or_else(|| {
                self.refuse("it wants a user and a password, and the settings have none for it")
            })?,
            Some(Challenge::Bearer {
                realm,
                service,
                scope,
            }) => format!("Bearer {}", self.token(&realm, service, scope).await?),
            None => {
                return Err(self.refuse("it wants to know who asks, in no way that is understood"));
            }
        };
        *self
            .authorization
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(value);
        Ok(())
    }

    fn basic(&self) -> Option<String> {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let Credentials { user, password } = self.credentials.as_ref()?;
        let plain = format!("{user}:{}", password.expose_secret());
        Some(format!("Basic {}", STANDARD.encode(plain)))
    }

    async fn token(
        &self,
        realm: &str,
        service: Option<String>,
        scope: Option<String>,
    ) -> Result<String, ImageError> {
        #[derive(Deserialize)]
        struct Answer {
            token: Option<String>,
            access_token: Option<String>,
        }
        let mut url = Url::parse(realm).map_err(|_| {
            self.refuse(format!(
                "its tokens come from '{realm}', which is no address"
            ))
        })?;
        if self.base.starts_with("https://") && url.scheme() != "https" {
            return Err(self.refuse("its tokens come from an address without TLS"));
        }
        let scope = scope.unwrap_or_else(|| format!("repository:{}:pull", self.repository));
        {
            let mut query = url.query_pairs_mut();
            if let Some(service) = &service {
                query.append_pair("service", service);
            }
            query.append_pair("scope", &scope);
        }
        self.check_address(&url).await?;
        let mut request = self.http.get(url);
        if let Some(basic) = self.basic() {
            request = request.header(header::AUTHORIZATION, basic);
        }
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        if response.status() != StatusCode::OK {
            let status = response.status();
            return Err(self.refuse(format!("asked for a token, it answered {status}")));
        }
        let bytes = self.whole(response).await?;
        let answer: Answer = crate::documents::read("its token", &bytes)
            .map_err(|error| self.refuse(error.to_string()))?;
        answer
            .token
            .or(answer.access_token)
            .filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()))
            .ok_or_else(|| self.refuse("asked for a token, it sent none"))
    }

    /// A request without an answer.
    pub(super) fn lost(&self, error: &reqwest::Error) -> ImageError {
        if let Some(refused) = self.gate.last_refusal() {
            return self.refuse(in_words(&refused));
        }
        if error.is_timeout() {
            return self.refuse("it stopped answering");
        }
        self.refuse(format!("it cannot be asked: {}", with_causes(error)))
    }
}

fn target_of(host: &str) -> Option<Target> {
    host.parse().or_else(|_| format!("{host}:443").parse()).ok()
}

fn in_words(refused: &Refused) -> String {
    match refused {
        Refused::NotListed(target) => format!(
            "it leads to {target}, and nothing is fetched from there; the setting image-registries lists the hosts that may be asked"
        ),
        Refused::NotPublic { target, address } => format!(
            "{} is at {address}, which is not a public address; the setting internal-host can allow it",
            target.host
        ),
        Refused::Unknown { target, .. } => format!("the host {} cannot be found", target.host),
        Refused::Unreachable { target, why } => format!("{target} cannot be reached: {why}"),
    }
}
