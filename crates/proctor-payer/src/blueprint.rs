//! What a desk is made of: the configurations and data of all payer and clearinghouse simulators of
//! a playground, read once and shared.

use std::{sync::Arc, time::Duration};

use proctor_core::{
    environment::Simulator,
    problem::{Problem, Problems},
};
use proctor_simulation::{
    config::ConfigProblems,
    schema::{about, amount, flag, list, object, optional, text},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    adjudication::{AdjustmentRule, ClaimDecision, ClaimRule, ClaimRules},
    plugin::{CLEARINGHOUSE, PAYER},
    records::{Enrolled, PatientLink, Provider, Roster},
    rules::{ActionKind, Outcome, Rule, Rules},
    shelf::{Kept, Stock},
    skin::{Item, Question, Skin},
};
use crate::x12::{Amount, Claim, Member, Payer, exchange::Acknowledge, is_npi};

/// The configuration of a payer or clearinghouse simulator. Where a playground has several, each
/// setting stands in one of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// The face of the portal's pages: `radmd` or `covermymeds`.
    portal: Option<Skin>,
    /// What is decided, by the first rule that fits.
    determinations: Vec<Rule>,
    /// What is decided where no rule fits; pending if nothing is said.
    default_determination: Option<Outcome>,
    /// What is decided about claims, service by service, by the first rule that fits.
    adjudications: Vec<ClaimRule>,
    /// What is decided about a service where no rule fits; paid in full if nothing is said.
    default_adjudication: Option<ClaimRule>,
    /// Name and id of the payer, the providers it admits, and whether it is out of order.
    payer: Option<Payer>,
    /// The portal's one account; both follow from the seed if nothing is said.
    username: Option<String>,
    password: Option<String>,
    /// How long a sign-in holds; an hour if nothing is said.
    session_seconds: Option<u64>,
    /// Who asks where a JSON question to the clearinghouse names no provider.
    provider_npi: Option<String>,
    /// Whether accepting TA1 and 999 are sent even when nobody asks for them.
    always_acknowledge: Option<bool>,
    /// What the pages ask about the patient's condition.
    questions: Option<Vec<Question>>,
    /// What the medication portal offers.
    formulary: Option<Vec<Item>>,
    /// What the imaging portal offers.
    procedures: Option<Vec<Item>>,
}

/// The JSON Schema of the configuration.
pub(crate) fn config_schema() -> Value {
    let decision = json!({
        "status": about(
            "What is decided.",
            json!({"enum": ["approved", "partially_approved", "denied", "pending", "need_more_info", "modified"]}),
        ),
        "reason": about("Why, in words.", optional(&text())),
        "reason_code": about("Why, as a decision reason code of X12.", optional(&text())),
        "delay_seconds": about("How long after the submission it is decided.", amount()),
    });
    let fact = object(
        &["resource_type", "contains"],
        json!({"resource_type": text(), "contains": about("Words that such a resource of the patient must hold.", text())}),
    );
    let wanted = object(
        &[],
        json!({
            "answers": about("Answers by the question's id.", json!({"type": "object", "additionalProperties": {"type": "string"}})),
            "documents": about("Words that the attached documents must hold.", list(&text())),
            "notes": about("Words that the provider must have written.", list(&text())),
            "diagnosis_codes": about("Diagnoses, of which one must be given.", list(&text())),
            "chart": about("What the chart of the patient must hold.", list(&fact)),
        }),
    );
    let mut again = decision.clone();
    again["on"] = about("What must come in.", json!({"enum": ActionKind::NAMES}));
    again["when"] = about("What the payer must have seen by then.", wanted.clone());
    let mut fits = decision.clone();
    fits["when"] = about(
        "What the payer must have seen; else the rule does not fit.",
        wanted,
    );
    fits["then"] = about(
        "What is decided when something else comes in: more information, a talk between physicians, an appeal.",
        list(&object(&["on", "status"], again)),
    );
    fits["procedure_code"] = about("The procedure it is about.", optional(&text()));
    fits["patient_member_id"] = about("The member it is about.", optional(&text()));
    let mut rule = object(&["status"], fits);
    rule["anyOf"] = ["procedure_code", "patient_member_id"]
        .map(|name| json!({"required": [name], "properties": {name: {"type": "string"}}}))
        .into();
    let money = json!({"type": "number", "minimum": 0});
    let adjustment = object(
        &["group", "reason"],
        json!({
            "group": about("Whose part it is: the provider's (CO), the patient's (PR), nobody's (OA), the payer's (PI).",
                json!({"enum": ["CO", "PR", "OA", "PI"]})),
            "reason": about("Why: a claim adjustment reason code (CARC).", text()),
            "amount": about("How much; all that is left, where neither amount nor percent is said.", optional(&money)),
            "percent": about("How much of what is allowed, in percent.", optional(&money)),
        }),
    );
    let adjudged = json!({
        "status": about("What is decided.", json!({"enum": ["paid", "denied", "pending"]})),
        "allowed": about("The most that is allowed for the service; what is billed beyond it is adjusted with CO 45.", optional(&money)),
        "adjustments": about("What else is not paid, in this order.", list(&adjustment)),
        "remarks": about("Remark codes (RARC).", list(&text())),
        "after": about("How long after the claim came it is decided, such as 1d; at once, where nothing is said.",
            json!({"type": ["string", "integer"], "minimum": 0})),
        "delay_seconds": about("The same in seconds.", json!({"type": "integer", "minimum": 0})),
    });
    let claim_wanted = object(
        &[],
        json!({
            "authorization": about("Whether the claim names an authorization that the payer gave for the service.",
                json!({"enum": ["missing", "on_file", null]})),
            "duplicate": about("Whether the service was billed before.", optional(&flag())),
            "diagnosis_codes": about("Diagnoses, of which one must be on the claim.", list(&text())),
            "filed_after_days": about("More days than this between the service and the claim.", optional(&json!({"type": "integer", "minimum": 0}))),
        }),
    );
    let mut of_claims = adjudged.clone();
    of_claims["procedure_code"] = about("The procedure it is about.", optional(&text()));
    of_claims["patient_member_id"] = about("The member it is about.", optional(&text()));
    of_claims["patient_account"] = about(
        "What the provider calls the claim (CLM01).",
        optional(&text()),
    );
    of_claims["when"] = about(
        "What the claim must be like; else the rule does not fit.",
        claim_wanted,
    );
    let claim_rule = object(&["status"], of_claims);
    let address = object(
        &["line", "city", "state", "postal_code"],
        json!({"line": text(), "city": text(), "state": text(), "postal_code": text()}),
    );
    let payer = object(
        &["name", "id"],
        json!({
            "name": text(),
            "id": about("Its payer id, as in NM109 with qualifier PI.", text()),
            "providers": about("The NPIs of the providers on file; every valid NPI, where none is named.", list(&text())),
            "unavailable": about("Whether it cannot answer: every question is rejected with 42.", flag()),
            "address": about("Where it is, as remittances say.", optional(&address)),
            "phone": about("Whom to call about remittances: ten digits.", optional(&text())),
            "tax_id": about("Its tax id: nine digits, which remittances are traced by.", optional(&json!({"type": "string", "pattern": "^[0-9]{9}$"}))),
        }),
    );
    let question = object(
        &["id", "text"],
        json!({
            "id": about("What the answer is kept under.", text()),
            "text": about("The question.", text()),
            "options": about("The answers to choose from; free text, where there are none.", list(&text())),
            "required": about("Whether a request cannot be sent without an answer.", flag()),
        }),
    );
    let item = object(
        &["code", "name"],
        json!({
            "code": about("Its code: CPT, HCPCS or NDC.", text()),
            "name": about("What people call it.", text()),
            "note": about("How the plan covers it, in words.", optional(&text())),
        }),
    );
    let filled = json!({"type": ["string", "null"], "minLength": 1});
    object(
        &[],
        json!({
            "portal": about("The face of the portal's pages.", json!({"enum": ["radmd", "covermymeds", null]})),
            "determinations": about("What is decided, by the first rule that fits.", list(&rule)),
            "default_determination": about(
                "What is decided where no rule fits; pending if nothing is said.",
                optional(&object(&["status"], decision)),
            ),
            "adjudications": about("What is decided about claims, service by service, by the first rule that fits.", list(&claim_rule)),
            "default_adjudication": about(
                "What is decided about a service where no rule fits; paid in full at once if nothing is said.",
                optional(&object(&["status"], adjudged)),
            ),
            "payer": about(
                "Name and id of the payer, the providers it admits, and whether it is out of order.",
                optional(&payer),
            ),
            "username": about("The name of the portal's one account; made up where it is not said.", filled.clone()),
            "password": about("Its password; made up where it is not said.", filled),
            "session_seconds": about("How long a sign-in holds; an hour if nothing is said.", optional(&amount())),
            "provider_npi": about(
                "Who asks where a JSON question to the clearinghouse names no provider.",
                optional(&json!({"type": "string", "pattern": "^[0-9]{10}$"})),
            ),
            "always_acknowledge":
                about("Whether accepting TA1 and 999 are sent even when nobody asks for them.", optional(&flag())),
            "questions": about("What the pages ask about the patient's condition.", optional(&list(&question))),
            "formulary": about("What the medication portal offers.", optional(&list(&item))),
            "procedures": about("What the imaging portal offers.", optional(&list(&item))),
        }),
    )
}

/// What many desks share.
#[derive(Debug, PartialEq)]
pub struct Blueprint {
    pub(super) has_portal: bool,
    pub(super) has_clearinghouse: bool,
    pub(super) skin: Skin,
    pub(super) rules: Rules,
    pub(super) claim_rules: ClaimRules,
    pub(super) payer: Payer,
    pub(super) username: Option<String>,
    pub(super) password: Option<String>,
    pub(super) session: Duration,
    pub(super) acknowledge: Acknowledge,
    pub(super) asking_npi: String,
    pub(super) questions: Vec<Question>,
    pub(super) items: Vec<Item>,
    pub(super) members: Arc<Stock<Member>>,
    pub(super) links: Arc<Stock<PatientLink>>,
    pub(super) providers: Arc<Stock<Provider>>,
    pub(super) claims: Arc<Stock<Claim>>,
}

/// An NPI that is valid and belongs to nobody: who asks where nothing else is said.
const SOME_NPI: &str = "1234567893";
const SESSION: Duration = Duration::from_secs(60 * 60);

impl Blueprint {
    /// Reads all payer and clearinghouse simulators of a playground as one desk.
    pub fn read(simulators: &[&Simulator]) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let (mut merged, mut roster) = (Config::default(), Roster::default());
        let (mut has_portal, mut has_clearinghouse) = (false, false);
        for simulator in simulators {
            match simulator.kind.as_str() {
                PAYER => has_portal = true,
                CLEARINGHOUSE => has_clearinghouse = true,
                other => problems.push(Problem::error(
                    "",
                    format!(
                        "'{}' is a simulator of type {other}, not of a payer",
                        simulator.name
                    ),
                )),
            }
            let (config, wrong) = Config::read(&simulator.config);
            let place = |problem: Problem| Problem {
                path: format!("'{}': {}", simulator.name, problem.path),
                ..problem
            };
            problems.extend(wrong.into_iter().map(place));
            merged.take(config, &simulator.name, &mut problems);
            for dataset in &simulator.datasets {
                match Roster::read(dataset) {
                    Ok(read) => roster.take_all(read, &mut problems),
                    Err(problem) => problems.push(Problem::error("", problem.0)),
                }
            }
        }
        let blueprint = merged.build(roster, has_portal, has_clearinghouse, &mut problems);
        Problems::none_of(problems)?;
        Ok(blueprint)
    }
}

/// Everything that is wrong with the configuration of one payer or clearinghouse.
pub(crate) fn check_config(config: &Value) -> Result<(), Problems> {
    Problems::none_of(Config::read(config).1)
}

/// Finds what is wrong with the adjustments of a rule about claims.
fn check_adjustments(
    place: &str,
    status: ClaimDecision,
    adjustments: &[AdjustmentRule],
    problems: &mut ConfigProblems,
) {
    if status == ClaimDecision::Denied && adjustments.is_empty() {
        let message = "a denial needs a reason: at least one adjustment with group and reason";
        problems.add(&format!("{place}.adjustments"), message);
    }
    for (index, one) in adjustments.iter().enumerate() {
        let place = format!("{place}.adjustments.{index}");
        let is_code = (1..=5).contains(&one.reason.len())
            && one.reason.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_code {
            let message = format!("'{}' is not a reason code such as 197", one.reason);
            problems.add(&format!("{place}.reason"), message);
        }
        if one.amount.is_some() && one.percent.is_some() {
            problems.add(&place, "has an amount or a percent, not both");
        }
        let is_money = |amount: &Amount| amount.cents().is_some();
        if !one.amount.iter().chain(&one.percent).all(is_money) {
            problems.add(&place, "has more than two decimals");
        }
    }
}

impl Config {
    /// What can be read of the configuration, and everything that is wrong with it.
    fn read(config: &Value) -> (Self, Vec<Problem>) {
        let (config, mut problems) = ConfigProblems::read::<Self>(config);
        for (index, rule) in config.determinations.iter().enumerate() {
            if !rule.is_about_something() {
                let message = "procedure_code or patient_member_id is required \
                               (default_determination is for everything else)";
                problems.add(&format!("determinations.{index}"), message);
            }
        }
        for (index, rule) in config.adjudications.iter().enumerate() {
            let place = format!("adjudications.{index}");
            if !rule.is_about_something() {
                let message = "procedure_code, patient_member_id, patient_account or when is required \
                               (default_adjudication is for everything else)";
                problems.add(&place, message);
            }
            check_adjustments(&place, rule.status, &rule.adjustments, &mut problems);
        }
        if let Some(rule) = &config.default_adjudication {
            let place = "default_adjudication";
            if rule.is_about_something() {
                let message = "is for everything that no rule fits: leave out procedure_code, \
                               patient_member_id, patient_account and when";
                problems.add(place, message);
            }
            check_adjustments(place, rule.status, &rule.adjustments, &mut problems);
        }
        let payer = config.payer.as_ref();
        if let Some(id) = payer.and_then(|payer| payer.tax_id.as_deref())
            && (id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_digit()))
        {
            problems.add("payer.tax_id", "must have nine digits");
        }
        if let Some(npi) = config.provider_npi.as_deref().filter(|npi| !is_npi(npi)) {
            problems.add("provider_npi", format!("'{npi}' is not an NPI"));
        }
        for (what, text) in [
            ("username", &config.username),
            ("password", &config.password),
        ] {
            if text.as_deref() == Some("") {
                problems.add(what, "must not be empty");
            }
        }
        (config, problems.into_vec())
    }

    /// Takes over what another simulator of the playground says; one of them may say each thing.
    fn take(&mut self, other: Self, name: &str, problems: &mut Vec<Problem>) {
        /// Every setting that two simulators must not both say.
        macro_rules! take_once {
            ($($setting:ident),+) => {$(
                if self.$setting.is_some() && other.$setting.is_some() {
                    problems.push(Problem::error(
                        format!("'{name}': config.{}", stringify!($setting)),
                        "another payer or clearinghouse says it too",
                    ));
                } else if other.$setting.is_some() {
                    self.$setting = other.$setting;
                }
            )+};
        }
        self.determinations.extend(other.determinations);
        self.adjudications.extend(other.adjudications);
        take_once!(
            portal,
            default_determination,
            default_adjudication,
            payer,
            username,
            password,
            session_seconds,
            provider_npi,
            always_acknowledge,
            questions,
            formulary,
            procedures
        );
    }

    fn build(
        self,
        roster: Roster,
        has_portal: bool,
        has_clearinghouse: bool,
        problems: &mut Vec<Problem>,
    ) -> Blueprint {
        let skin = self.portal.unwrap_or_default();
        let payer = self.payer.or(roster.payer).unwrap_or_else(|| Payer {
            name: "Proctor Health Plan".to_owned(),
            id: "PROCTOR".to_owned(),
            providers: Vec::new(),
            unavailable: false,
            address: None,
            phone: None,
            tax_id: None,
        });
        let listed = payer.providers.first().cloned();
        let known = || roster.providers.first().map(|one| one.npi.clone());
        let asking_npi = self.provider_npi.or(listed).or_else(known);
        let links: Vec<_> = roster.members.iter().filter_map(Enrolled::link).collect();
        let members = roster.members.into_iter().map(|one| one.member);
        Blueprint {
            has_portal,
            has_clearinghouse,
            rules: Rules {
                rules: self.determinations,
                otherwise: self.default_determination.unwrap_or_default(),
            },
            claim_rules: ClaimRules {
                rules: self.adjudications,
                otherwise: self.default_adjudication,
            },
            payer,
            username: self.username,
            password: self.password,
            session: self.session_seconds.map_or(SESSION, Duration::from_secs),
            acknowledge: match self.always_acknowledge {
                Some(true) => Acknowledge::Always,
                Some(false) | None => Acknowledge::WhenAsked,
            },
            asking_npi: asking_npi.unwrap_or_else(|| SOME_NPI.to_owned()),
            questions: self.questions.unwrap_or_else(|| skin.usual_questions()),
            items: match skin {
                Skin::RadMd => self.procedures,
                Skin::CoverMyMeds => self.formulary,
            }
            .unwrap_or_else(|| skin.usual_items()),
            skin,
            members: stock(members, "member", problems),
            links: stock(links, "patient of member", problems),
            providers: stock(roster.providers, "provider", problems),
            claims: stock(roster.claims, "claim", problems),
        }
    }
}

fn stock<T: Kept>(
    all: impl IntoIterator<Item = T>,
    what: &str,
    problems: &mut Vec<Problem>,
) -> Arc<Stock<T>> {
    let (stock, repeated) = Stock::collect(all);
    problems.extend(
        repeated
            .iter()
            .map(|key| Problem::error("", format!("the {what} '{key}' is there more than once"))),
    );
    Arc::new(stock)
}

impl Roster {
    fn take_all(&mut self, other: Self, problems: &mut Vec<Problem>) {
        match (&self.payer, other.payer) {
            (_, None) => {}
            (None, some) => self.payer = some,
            (Some(mine), Some(other)) if *mine == other => {}
            (Some(mine), Some(other)) => problems.push(Problem::error(
                "",
                format!(
                    "the data sets are of two payers, '{}' and '{}'",
                    mine.name, other.name
                ),
            )),
        }
        self.members.extend(other.members);
        self.providers.extend(other.providers);
        self.claims.extend(other.claims);
    }
}
