//! From what somebody asks for to what a devbox is made from: blueprints and snapshots are looked up, and everything that a
//! devbox needs must be there.

use proctor_core::{
    devbox::{
        BaseRequest, DevboxBase, DevboxRequest, DevboxSetup, LaunchParameters, LaunchRequest,
        request::LaunchProblem,
    },
    id::{
        BadId, Dialect, Id, Kind,
        kinds::{BlueprintKind, NetworkPolicyId, OrganizationId, SnapshotId, SnapshotKind},
    },
};
use proctor_macros::boxed_futures;
use proctor_store::disk_snapshots::SnapshotStatus;

use crate::{
    blueprints::image_of,
    error::FleetError,
    fleet::Fleet,
    references::{self, Readiness},
};

/// What is wrong with a devbox that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestProblem {
    /// A variable shall hold a secret that is not there.
    #[error("there is no secret named '{secret}'")]
    NoSecret {
        /// The variable.
        variable: String,
        /// The name of the secret.
        secret: String,
    },
    /// The network policy is not there.
    #[error("there is no network policy {}", .0.wire(Dialect::Runloop))]
    NoNetworkPolicy(NetworkPolicyId),
    /// The snapshot cannot be used.
    #[error("the snapshot {} {fault}", .snapshot.wire(Dialect::Runloop))]
    Snapshot {
        /// Which.
        snapshot: SnapshotId,
        /// Why not.
        fault: &'static str,
    },
    /// The snapshot is named by something that is not an id.
    #[error(transparent)]
    NotASnapshot(BadId),
    /// There is no such blueprint, as far as the organization may know.
    #[error("there is no blueprint '{0}'")]
    NoBlueprint(String),
    /// No devbox can ever begin with this blueprint.
    #[error("the blueprint '{0}' could not be built")]
    BlueprintFailed(String),
    /// There is no blueprint of this name that was built.
    #[error("there is no blueprint named '{0}' that was built")]
    NoBlueprintNamed(String),
    /// A mount names what is not there, or lacks what it needs.
    #[error("{0}")]
    Mount(String),
    /// The blueprint is named by something that is not an id.
    #[error(transparent)]
    NotABlueprint(BadId),
    /// Devboxes of this server have another architecture.
    #[error("this server's devboxes are {0}")]
    Architecture(&'static str),
    /// How it shall be launched contradicts itself.
    #[error(transparent)]
    Launch(LaunchProblem),
}

/// The architecture of this server's devboxes.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        other => other,
    }
}

#[boxed_futures]
impl Fleet {
    /// What the devbox is made from that somebody asks for.
    pub async fn resolve(
        &self,
        organization: OrganizationId,
        request: DevboxRequest,
    ) -> Result<DevboxSetup, FleetError> {
        let (base, general) = self.base(organization, request.base).await?;
        let launch = launch(&request.launch.over(&general)).map_err(FleetError::Request)?;
        Ok(DevboxSetup {
            base,
            launch,
            environment: request.environment,
            secrets: request.secrets,
            mounts: request.mounts,
            entrypoint: request.entrypoint,
            volumes: request.volumes,
        })
    }

    /// What a devbox starts from, and how devboxes of that are launched unless they say otherwise.
    async fn base(
        &self,
        organization: OrganizationId,
        request: BaseRequest,
    ) -> Result<(DevboxBase, LaunchRequest), FleetError> {
        let general = LaunchRequest::default();
        let store = self.store();
        let (missing, found) = match request {
            BaseRequest::Host => return Ok((DevboxBase::Host, general)),
            BaseRequest::Snapshot(id) => return Ok((DevboxBase::Snapshot(id), general)),
            BaseRequest::NotASnapshot(text) => {
                let problem = not_a_snapshot(&text);
                return Err(FleetError::Request(problem.into_iter().collect()));
            }
            BaseRequest::NotABlueprint(text) => {
                let problem = not_a_blueprint(&text);
                return Err(FleetError::Request(problem.into_iter().collect()));
            }
            BaseRequest::Blueprint(id) => {
                let found = store.blueprint(organization, id).await?;
                let missing = RequestProblem::NoBlueprint(id.wire(Dialect::Runloop));
                (missing, found.map(|found| found.value))
            }
            BaseRequest::NewestBlueprint(name) => {
                let found = store.blueprint_named(organization, &name).await?;
                (RequestProblem::NoBlueprintNamed(name), found)
            }
        };
        let found = found.ok_or_else(|| FleetError::Request(vec![missing]))?;
        let blueprint = found.id;
        let launch = found.recipe.launch_parameters.as_ref();
        let general = launch.and_then(|launch| launch.get().ok().cloned());
        let image = Box::new(image_of(found)?);
        let base = DevboxBase::Blueprint { blueprint, image };
        Ok((base, general.unwrap_or_default()))
    }

    /// Checks what can be known before a box is made: that secrets and the base exist.
    pub(crate) async fn check_setup(
        &self,
        organization: OrganizationId,
        setup: &DevboxSetup,
    ) -> Result<(), FleetError> {
        let mut problems = Vec::new();
        for (variable, secret) in &setup.secrets {
            if self.store().secret(organization, secret).await?.is_none() {
                problems.push(RequestProblem::NoSecret {
                    variable: variable.clone(),
                    secret: secret.clone(),
                });
            }
        }
        if let Some(policy) = setup.launch.network_policy
            && self
                .store()
                .network_policy(organization, policy)
                .await?
                .is_none()
        {
            problems.push(RequestProblem::NoNetworkPolicy(policy));
        }
        if let DevboxBase::Snapshot(snapshot) = setup.base
            && let Some(fault) = self.snapshot_fault(organization, snapshot).await?
        {
            problems.push(RequestProblem::Snapshot { snapshot, fault });
        }
        let mounts = &setup.mounts;
        problems.extend(
            references::check_mounts(self.store(), organization, mounts, Readiness::Usable).await?,
        );
        if problems.is_empty() {
            Ok(())
        } else {
            Err(FleetError::Request(problems))
        }
    }

    /// Why no devbox can start from a snapshot, if none can.
    async fn snapshot_fault(
        &self,
        organization: OrganizationId,
        id: SnapshotId,
    ) -> Result<Option<&'static str>, FleetError> {
        let snapshot = self.store().disk_snapshot(id).await?;
        let usable = snapshot
            .filter(|snapshot| snapshot.organization == organization)
            .map(|snapshot| (snapshot.status, snapshot.node == self.inner.node));
        Ok(match usable {
            Some((SnapshotStatus::Complete, true)) => None,
            Some((SnapshotStatus::Complete, false)) => Some("is on another machine"),
            Some((SnapshotStatus::InProgress, _)) => Some("is still being taken"),
            Some((SnapshotStatus::Error, _)) => Some("could not be taken"),
            Some((SnapshotStatus::Deleted | SnapshotStatus::Gone, _)) | None => {
                Some("does not exist")
            }
        })
    }
}

/// What a devbox is launched with; everything that is wrong with it is named.
fn launch(request: &LaunchRequest) -> Result<LaunchParameters, Vec<RequestProblem>> {
    let own = architecture();
    let wanted = request.architecture.as_deref();
    let other = wanted.filter(|wanted| *wanted != own);
    let other = other.map(|_| RequestProblem::Architecture(own));
    match (request.resolve(), other) {
        (Ok(launch), None) => Ok(launch),
        (Ok(_), Some(other)) => Err(vec![other]),
        (Err(problems), other) => {
            let problems = problems.into_iter().map(RequestProblem::Launch);
            Err(other.into_iter().chain(problems).collect())
        }
    }
}

/// What is wrong with a text in the place of a snapshot's id.
pub(crate) fn not_a_snapshot(text: &str) -> Option<RequestProblem> {
    not_an_id::<SnapshotKind>(text).map(RequestProblem::NotASnapshot)
}

/// What is wrong with a text in the place of a blueprint's id.
pub(crate) fn not_a_blueprint(text: &str) -> Option<RequestProblem> {
    not_an_id::<BlueprintKind>(text).map(RequestProblem::NotABlueprint)
}

fn not_an_id<K: Kind>(text: &str) -> Option<BadId> {
    Id::<K>::from_wire(text, Dialect::Runloop).err()
}
