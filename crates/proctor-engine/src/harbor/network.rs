//! What the box of a trial may reach in each of its phases.
//!
//! A box is made with everything that one of its phases may reach. Before the agent begins it is limited to what the agent may reach, and
//! before collecting and verifying to what the verifier may reach. Where all phases may reach the same nothing is changed.

use proctor_core::{
    id::kinds::{DevboxId, NetworkPolicyId, OrganizationId},
    job::JobAgent,
    network_policy::Egress,
};
use proctor_devbox::{EgressPolicy, Network};
use proctor_fleet::network_policies::reach;
use proctor_harbor::task::{NetworkMode, NetworkPolicy};

use super::{HarborRules, HarborScenario, HarborWorkshop};
use crate::{
    egress::{of_hosts, policy_for, union},
    error::EngineError,
};

/// Who works in a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkPhase {
    /// The agent.
    Agent,
    /// Whoever looks at what it left.
    Verifier,
}

/// Hosts that a job allows besides what its tasks do.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtraHosts {
    /// In all phases.
    always: Vec<String>,
    /// While the agent works.
    agent: Vec<String>,
    /// While it is verified.
    verifier: Vec<String>,
}

impl HarborRules {
    /// The hosts that the job and the agent's manifest name.
    pub(crate) fn extra_hosts(&self, agent: &JobAgent) -> ExtraHosts {
        let of_manifest = agent.hosts().iter().cloned();
        ExtraHosts {
            always: self.config.environment.hosts.clone(),
            agent: self
                .entry(agent)
                .hosts
                .into_iter()
                .chain(of_manifest)
                .collect(),
            verifier: self.config.verifier.hosts.clone(),
        }
    }
}

impl HarborScenario {
    /// What its task lets a phase reach.
    fn allowed(&self, phase: NetworkPhase) -> &NetworkPolicy {
        let own = match phase {
            NetworkPhase::Agent => self.agent.network.as_ref(),
            NetworkPhase::Verifier => self.verifier.network.as_ref(),
        };
        own.unwrap_or(&self.network)
    }
}

impl HarborWorkshop {
    /// Whether boxes whose task says `public` reach anything.
    pub(super) async fn has_public_policy(
        &self,
        organization: OrganizationId,
    ) -> Result<bool, EngineError> {
        let name = self.inner.settings.public_policy.as_deref();
        Ok(self.policy_named(organization, name).await?.is_some())
    }

    /// The policy that the box of a trial is made with; none reaches nothing.
    pub(crate) async fn box_policy(
        &self,
        organization: OrganizationId,
        scenario: &HarborScenario,
        hosts: &ExtraHosts,
    ) -> Result<Option<NetworkPolicyId>, EngineError> {
        let public = self.public(organization).await?;
        let whole = whole(&public, scenario, hosts);
        if whole == public {
            let name = self.inner.settings.public_policy.as_deref();
            return self.policy_named(organization, name).await;
        }
        Ok(policy_for(self.inner.fleet.store(), organization, whole).await?)
    }

    /// Limits a box to what a phase may reach, of a scenario or of one of its steps.
    pub(crate) async fn enter_phase(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        (whole, step): (&HarborScenario, &HarborScenario),
        hosts: &ExtraHosts,
        phase: NetworkPhase,
    ) -> Result<(), EngineError> {
        let public = self.public(organization).await?;
        let allowed = of_phase(&public, step, hosts, phase);
        if of_phases(&public, whole, hosts)
            .iter()
            .all(|one| *one == allowed)
        {
            return Ok(());
        }
        let broken = |error: &dyn std::error::Error| EngineError::Fault(error.to_string());
        let fleet = &self.inner.fleet;
        let place = fleet
            .workplace(devbox)
            .await
            .map_err(|error| broken(&error))?;
        let record = place
            .devbox
            .record()
            .await
            .map_err(|error| broken(&error))?;
        if record.spec.network == Network::None {
            return Ok(());
        }
        let policy = match reach(&allowed).network {
            Network::Allow(policy) => policy,
            Network::None => EgressPolicy::default(),
        };
        let changed = place.devbox.set_egress(policy).await;
        changed.map_err(|error| broken(&error))
    }

    /// What boxes reach whose task says `public`.
    async fn public(&self, organization: OrganizationId) -> Result<Egress, EngineError> {
        let Some(name) = self.inner.settings.public_policy.as_deref() else {
            return Ok(Egress::default());
        };
        let store = self.inner.fleet.store();
        let found = store.network_policy_named(organization, name).await?;
        Ok(found.map_or_else(Egress::default, |policy| policy.text.egress))
    }
}

/// What a phase may reach.
fn of_phase(
    public: &Egress,
    scenario: &HarborScenario,
    hosts: &ExtraHosts,
    phase: NetworkPhase,
) -> Egress {
    let allowed = scenario.allowed(phase);
    let of_task = match allowed.mode {
        NetworkMode::Public => public.clone(),
        NetworkMode::NoNetwork => Egress::default(),
        NetworkMode::Allowlist => of_hosts(&allowed.hosts),
    };
    let besides = match phase {
        NetworkPhase::Agent => &hosts.agent,
        NetworkPhase::Verifier => &hosts.verifier,
    };
    let besides = of_hosts(hosts.always.iter().chain(besides));
    match besides == Egress::default() {
        true => of_task,
        false => union(&of_task, &besides),
    }
}

/// What each phase may reach, those of steps too.
fn of_phases(public: &Egress, scenario: &HarborScenario, hosts: &ExtraHosts) -> Vec<Egress> {
    let phases = [NetworkPhase::Agent, NetworkPhase::Verifier];
    let of =
        |scenario: &HarborScenario| phases.map(|phase| of_phase(public, scenario, hosts, phase));
    match scenario.steps.len() {
        0 => of(scenario).into(),
        steps => (0..steps)
            .flat_map(|number| of(&scenario.for_step(number)))
            .collect(),
    }
}

/// What all phases together may reach.
fn whole(public: &Egress, scenario: &HarborScenario, hosts: &ExtraHosts) -> Egress {
    let phases = of_phases(public, scenario, hosts);
    let first = phases.first().cloned().unwrap_or_default();
    match phases.iter().all(|one| *one == first) {
        true => first,
        false => phases.iter().fold(first, |both, one| union(&both, one)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mode: NetworkMode, hosts: &[&str]) -> NetworkPolicy {
        NetworkPolicy {
            mode,
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        }
    }

    fn listed(hosts: &[&str]) -> Egress {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        of_hosts(&hosts)
    }

    #[test]
    fn an_agent_reaches_its_own_hosts_besides_those_of_the_task_and_nobody_else_does() {
        let public = listed(&["public.example"]);
        let hosts = ExtraHosts {
            always: Vec::new(),
            agent: vec!["api.example".to_owned()],
            verifier: Vec::new(),
        };
        for (mode, of_task, of_agent) in [
            (NetworkMode::NoNetwork, &[][..], &["api.example"][..]),
            (
                NetworkMode::Public,
                &["public.example"],
                &["public.example", "api.example"],
            ),
            (
                NetworkMode::Allowlist,
                &["a.example"],
                &["a.example", "api.example"],
            ),
        ] {
            let scenario = HarborScenario {
                network: policy(mode, &["a.example"]),
                ..HarborScenario::default()
            };
            let of = |phase| of_phase(&public, &scenario, &hosts, phase);
            assert_eq!(of(NetworkPhase::Agent), listed(of_agent), "{mode:?}");
            assert_eq!(of(NetworkPhase::Verifier), listed(of_task), "{mode:?}");
            assert_eq!(
                whole(&public, &scenario, &hosts),
                listed(of_agent),
                "{mode:?}"
            );
        }
    }

    #[test]
    fn a_phase_may_say_what_it_reaches_itself() {
        let mut scenario = HarborScenario {
            network: policy(NetworkMode::NoNetwork, &[]),
            ..HarborScenario::default()
        };
        scenario.verifier.network = Some(policy(NetworkMode::Allowlist, &["pypi.org"]));
        let (none, hosts) = (Egress::default(), ExtraHosts::default());
        let of = |phase| of_phase(&none, &scenario, &hosts, phase);
        assert_eq!(of(NetworkPhase::Agent), Egress::default());
        assert_eq!(of(NetworkPhase::Verifier), listed(&["pypi.org"]));
        assert_eq!(whole(&none, &scenario, &hosts), listed(&["pypi.org"]));
    }
}
