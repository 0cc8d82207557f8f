//! What a server can be extended by, and what is shipped. Whoever composes a server may add more.

use std::{collections::BTreeMap, sync::Arc};

use proctor_core::{agent::AgentManifest, usage::PriceTable};
use proctor_devbox::{Factory, Registry as BackendRegistry};
use proctor_fhir_store::FhirPlugin;
use proctor_office::{
    cds_hooks::CdsHooksPlugin, fax::FaxPlugin, files::FilesPlugin, hl7::Hl7Plugin,
    messages::MessagesPlugin, voice::VoicePlugin,
};
use proctor_payer::{ClearinghousePlugin, PayerPlugin};
use proctor_scorers::{Kind, ScorerKinds};
use proctor_simulation::registry::{SimulatorPlugin, SimulatorRegistry};
use proctor_verify::{CheckRegistry, check::Check};

use crate::{admission::Admission, oracle::Oracle, text_judge::TextJudge};

/// Everything that a server can be extended by: the one registry for all kinds of extensions.
#[derive(Clone)]
pub struct Extensions {
    /// The types of simulator that environments may have.
    pub simulators: SimulatorRegistry,
    /// The checks that criteria may ask for.
    pub checks: CheckRegistry,
    /// The kinds of scorers that scenarios may ask for.
    pub scorer_kinds: ScorerKinds,
    /// The backends that can make devboxes; a setting chooses one.
    pub backends: BackendRegistry,
    /// How agents of jobs are started that are known by their names alone.
    pub agents: BTreeMap<String, AgentManifest>,
    /// What tries whether benchmarks see harm, if anything does.
    pub admission: Option<Arc<dyn Admission>>,
    /// Who answers the questions of `judge` criteria, if anybody does.
    pub judge: Option<Arc<dyn TextJudge>>,
    /// Who carries out the solutions of tasks in playgrounds, if anybody does.
    pub oracle: Option<Arc<dyn Oracle>>,
    /// What models cost, for reports of usage that name no cost.
    pub prices: PriceTable,
}

impl Extensions {
    /// What is shipped. A new simulator is a folder and a line here.
    pub fn shipped() -> Self {
        Self {
            simulators: SimulatorRegistry::default()
                .with(FhirPlugin)
                .with(Hl7Plugin)
                .with(FilesPlugin)
                .with(PayerPlugin)
                .with(VoicePlugin)
                .with(ClearinghousePlugin)
                .with(FaxPlugin)
                .with(MessagesPlugin)
                .with(CdsHooksPlugin)
                .with_patterns(proctor_verify::read_pattern),
            checks: CheckRegistry::shipped(),
            scorer_kinds: ScorerKinds::builtin(),
            backends: BackendRegistry::builtin(),
            agents: BTreeMap::new(),
            admission: None,
            judge: None,
            oracle: None,
            prices: PriceTable::default(),
        }
    }

    /// The same and one more type of simulator.
    ///
    /// # Panics
    ///
    /// If another type has its name or its path.
    #[must_use]
    pub fn with_simulator(mut self, plugin: impl SimulatorPlugin) -> Self {
        self.simulators = self.simulators.with(plugin);
        self
    }

    /// The same and one more check.
    ///
    /// # Panics
    ///
    /// If another check has its name.
    #[must_use]
    pub fn with_check<C: Check>(mut self) -> Self {
        self.checks = self.checks.with::<C>();
        self
    }

    /// The same and one more kind of scorer, which takes the place of one that has its name.
    #[must_use]
    pub fn with_scorer_kind<K: Kind>(mut self) -> Self {
        self.scorer_kinds = self.scorer_kinds.with::<K>();
        self
    }

    /// The same and one more devbox backend.
    #[must_use]
    pub fn with_backend(mut self, factory: Factory) -> Self {
        self.backends = self.backends.with(factory);
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn registry() -> SimulatorRegistry {
        Extensions::shipped().simulators
    }

    #[test]
    fn every_step_is_read_and_names_itself() {
        for value in [
            json!({"type": "drop_file_inbox", "path": "a.txt", "content": "x"}),
            json!({"type": "drop_file_inbox", "path": "a.bin", "content_base64": "AAE="}),
            json!({"type": "hl7_inbound", "payload": "MSH|…"}),
            json!({"type": "fhir_upsert", "resource": {"resourceType": "Patient"}}),
            json!({"type": "fhir_transaction", "bundle": {"resourceType": "Bundle"}}),
            json!({"type": "portal_seed", "resource": "prior_auth_requests", "rows": [{"a": 1}]}),
            json!({"type": "fax_inbound", "from_number": "+1555", "text": "Referral"}),
            json!({"type": "voicemail", "text": "Call me"}),
            json!({"type": "message_inbound", "patient_id": "ada", "channel": "sms", "body": "Hi"}),
            json!({"type": "x12_member", "member_id": "B1", "last_name": "Ray", "first_name": "Ann", "birth_date": "1980-02-03"}),
        ] {
            let step = registry().read_step(&value).unwrap();
            assert_eq!(value["type"], step.kind());
            assert!(!step.targets().is_empty());
        }
    }

    #[test]
    fn what_is_wrong_is_said_by_field() {
        let told = |value| registry().read_step(&value).unwrap_err().to_string();
        assert_eq!(told(json!(5)), "a step is an object with a 'type'");
        assert_eq!(told(json!({})), "type: is required");
        assert!(
            told(json!({"type": "smoke_signal"})).starts_with("type: 'smoke_signal' is no step")
        );
        assert_eq!(told(json!({"type": "hl7_inbound"})), "payload: is required");
        assert!(
            told(json!({"type": "hl7_inbound", "payload": 5}))
                .starts_with("payload: must be a text")
        );
        assert!(
            told(json!({"type": "voicemail", "text": "x", "txt": "y"}))
                .contains("'txt' is none of")
        );
        assert!(
            told(json!({"type": "drop_file_inbox", "path": "a", "content_base64": "*"}))
                .starts_with("content_base64:")
        );
    }

    #[test]
    fn all_types_and_all_steps_are_told_in_the_usual_order() {
        let types = registry().resolve("Telegraph").err().unwrap();
        assert_eq!(
            types,
            "'Telegraph' is none of Fhir, Hl7, Files, Payer, Voice, Clearinghouse, Fax, Message, CdsHooks"
        );
        let steps = registry().read_step(&json!({"type": "smoke_signal"}));
        assert_eq!(
            steps.unwrap_err().to_string(),
            "type: 'smoke_signal' is no step; the steps are drop_file_inbox, hl7_inbound, fhir_upsert, \
             fhir_transaction, portal_seed, fax_inbound, voicemail, message_inbound, x12_member and x12_claim"
        );
    }

    #[test]
    fn types_are_read_in_any_case_and_by_their_other_names() {
        for (text, kind) in [
            ("fhir", "Fhir"),
            ("X12", "Clearinghouse"),
            ("SFTP", "Files"),
            ("cdshooks", "CdsHooks"),
            ("messages", "Message"),
        ] {
            let found = registry().resolve(text).map(|plugin| plugin.name());
            assert_eq!(found, Ok(kind), "{text}");
        }
        for plugin in registry().plugins() {
            let found = registry()
                .resolve(plugin.name())
                .map(|plugin| plugin.kind());
            assert_eq!(found, Ok(plugin.kind()));
        }
    }

    proptest! {
        #[test]
        fn any_text_in_any_place_is_a_step_or_a_refusal(kind in ".{0,20}", text in ".{0,20}") {
            let _ = registry().read_step(&json!({"type": kind, "payload": text}));
            let _ = registry().read_step(&json!({"type": "drop_file_inbox", "path": text, "content_base64": kind}));
        }
    }
}
