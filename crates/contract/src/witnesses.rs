//! Reading and checking what a contract says about watching a run: witnesses, detectors, how verdicts are enforced.

use crate::cursor::{Fields, Report, Spot, join};
use crate::read::consistency::Found;
use crate::{defaults, keys, plugins};
use kernel::contract::{Contract, Witness, WitnessSource};
use kernel::detectors::Thresholds;
use kernel::enforcement::plan::EnforcementPlan;
use kernel::settings::Fault;
use std::collections::BTreeMap;
use values::ids;
use values::json::Json;
use values::time::Duration;

/// Longer than this nobody waits for a witness.
const TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// Witnesses one contract may name.
const WITNESSES_MAX: usize = 16;

/// The witnesses of the document.
pub(crate) fn read_witnesses(fields: &Fields<'_>, report: &mut Report) -> BTreeMap<String, Witness> {
    let entries = fields.get("witnesses").map(|spot| spot.entries(report)).unwrap_or_default();
    entries.iter().filter_map(|(member, spot)| Some((member.key.clone(), witness(spot, report)?))).collect()
}

fn witness(spot: &Spot<'_>, report: &mut Report) -> Option<Witness> {
    const HELP: &str = "write one of `command: [PROGRAM, ARGUMENT]`, `http: https://…` or `git: true`";
    let fields = spot.fields(&keys::WITNESS, report)?;
    let named: Vec<&str> = ["command", "http", "git"].into_iter().filter(|key| fields.get(key).is_some()).collect();
    let source = match named.as_slice() {
        ["command"] => {
            fields.get("command").and_then(|spot| plugins::command(&spot, report)).map(WitnessSource::Command)
        }
        ["http"] => fields.get("http").and_then(|spot| plugins::address(&spot, report)).map(WitnessSource::Http),
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
pub(crate) fn read_settings(fields: &Fields<'_>, key: &str) -> Option<Json> {
    fields.get(key).map(|spot| spot.node.to_json())
}

/// What must hold about them.
pub(crate) fn check(contract: &Contract, found: &mut Found) {
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
