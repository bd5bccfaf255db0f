//! What a contract says about watching a run: settings of detectors, how verdicts are enforced, who witnesses effects.

use super::cursor::{Fields, Report, Spot, join};
use super::read::consistency::Found;
use super::{Contract, defaults, keys};
use crate::detectors::Thresholds;
use crate::enforcement::plan::EnforcementPlan;
use crate::enforcement::registry::Registry;
use crate::ids;
use crate::json::{Json, Object};
use crate::settings::Fault;
use crate::time::Duration;
use std::collections::BTreeMap;

/// Longer than this nobody waits for a witness.
const TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// Witnesses one contract may name.
const WITNESSES_MAX: usize = 16;

/// Somebody else than the agent who is asked whether something is so.
#[derive(Clone, PartialEq, Debug)]
pub struct Witness {
    /// Who is asked.
    pub source: WitnessSource,
    /// What must be seen, by name.
    pub expect: Object,
    /// How long it may take.
    pub timeout: Duration,
}

/// Who is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WitnessSource {
    /// A program and its arguments; never a shell. Seen: `exit`, `output`, and the members of a JSON object it prints.
    Command(Vec<String>),
    /// The repository of the workspace. Seen: `head`, `branch`, `clean`, `pushed`.
    Git,
    /// An address that is fetched. Seen: `status`, `body`, and the members of a JSON object it answers with.
    Http(String),
}

impl Witness {
    /// The full form.
    pub fn to_json(&self) -> Json {
        let source = match &self.source {
            WitnessSource::Command(words) => ("command", Json::texts(words.iter().map(String::as_str))),
            WitnessSource::Git => ("git", Json::Bool(true)),
            WitnessSource::Http(address) => ("http", Json::text(address.as_str())),
        };
        Json::object([
            source,
            ("expect", Json::Object(self.expect.clone())),
            ("timeout", Json::text(self.timeout.to_string())),
        ])
    }
}

/// The witnesses of the document.
pub(super) fn read_witnesses(fields: &Fields<'_>, report: &mut Report) -> BTreeMap<String, Witness> {
    let entries = fields.get("witnesses").map(|spot| spot.entries(report)).unwrap_or_default();
    entries.iter().filter_map(|(member, spot)| Some((member.key.clone(), witness(spot, report)?))).collect()
}

fn witness(spot: &Spot<'_>, report: &mut Report) -> Option<Witness> {
    const HELP: &str = "write one of `command: [PROGRAM, ARGUMENT]`, `http: https://…` or `git: true`";
    let fields = spot.fields(&keys::WITNESS, report)?;
    let named: Vec<&str> = ["command", "http", "git"].into_iter().filter(|key| fields.get(key).is_some()).collect();
    let source = match named.as_slice() {
        ["command"] => {
            fields.get("command").and_then(|spot| super::plugins::command(&spot, report)).map(WitnessSource::Command)
        }
        ["http"] => fields.get("http").and_then(|spot| super::plugins::address(&spot, report)).map(WitnessSource::Http),
        ["git"] => fields.get("git").and_then(|spot| spot.flag(report)).filter(|on| *on).map(|_| WitnessSource::Git),
        _ => None,
    };
    if source.is_none() {
        spot.fail(report, format!("`{}` needs one witness to ask", spot.path), Some(HELP));
    }
    let expect = fields.require("expect", report).map(|spot| spot.node.to_json());
    let Some(Json::Object(expect)) = expect else {
        spot.fail(report, format!("`{}` expects nothing", spot.path), Some("write `expect: { exit: 0 }`"));
        return None;
    };
    Some(Witness {
        source: source?,
        expect,
        timeout: fields.get("timeout").and_then(|spot| spot.duration(report)).unwrap_or(defaults::PLUGIN_TIMEOUT),
    })
}

/// Settings that are kept as they are written, and proved by whoever reads them.
pub(super) fn read_settings(fields: &Fields<'_>, key: &str) -> Option<Json> {
    fields.get(key).map(|spot| spot.node.to_json())
}

/// What must hold about them.
pub(super) fn check(contract: &Contract, found: &mut Found) {
    let mut fault = |fault: Fault| found.at(&fault.path, fault.to_string(), None);
    if let Err(problem) = Thresholds::read(contract.detectors.as_ref()) {
        fault(problem);
    }
    match contract.handler_names() {
        Err(problem) => fault(problem),
        Ok(registry) => {
            if let Err(problem) = EnforcementPlan::read(contract.enforcement.as_ref(), &registry) {
                fault(problem);
            }
        }
    }
    if contract.witnesses.len() > WITNESSES_MAX {
        found.at("witnesses", format!("a contract names at most {WITNESSES_MAX} witnesses"), None);
    }
    for (name, witness) in &contract.witnesses {
        let path = join("witnesses", name);
        if let Some(problem) = ids::identifier_problem(name) {
            found.at(&path, format!("the name `{name}` {problem}"), None);
        }
        if witness.expect.is_empty() {
            found.at(&path, "a witness that expects nothing confirms nothing", Some("write `expect: { exit: 0 }`"));
        }
        if witness.timeout > TIMEOUT_MAX || witness.timeout.micros() <= 0 {
            let message = format!("the timeout of `{name}` must lie between 1ms and {TIMEOUT_MAX}");
            found.at(&join(&path, "timeout"), message, None);
        }
    }
}

impl Contract {
    /// The handlers that can be named: built-in ones and those the contract declares.
    pub fn handler_names(&self) -> Result<Registry, Fault> {
        let names = self.handlers.keys().map(String::as_str);
        Registry::with(names).map_err(|problem| Fault::new("handlers", format!("cannot be used: {problem}")))
    }

    /// How verdicts are enforced. What cannot be read was refused with the contract; the standard plan stands for it.
    pub fn enforcement_plan(&self) -> EnforcementPlan {
        let registry = self.handler_names().unwrap_or_default();
        EnforcementPlan::read(self.enforcement.as_ref(), &registry).unwrap_or_default()
    }

    /// The settings of every detector.
    pub fn thresholds(&self) -> Thresholds {
        Thresholds::read(self.detectors.as_ref()).unwrap_or_default()
    }
}
