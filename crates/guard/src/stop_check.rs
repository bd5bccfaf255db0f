//! Checks of an agent's "done": the command that the contract names, and its witnesses.

use adapters::http_client::HttpClient;
use adapters::program::{self, Limits, Seen};
use kernel::contract::{Executor, Run, Witness, WitnessSource};
use kernel::detectors::effect_witness::{Accountability, Claim, Evidence, Reading, Source, State, Testimony, judge};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use values::decimal::Decimal;
use values::json::{Json, Object};

/// Most of a command's output that is told.
const OUTPUT_BYTES_MAX: usize = 2_000;

/// Most of what a witness says that is looked at.
const SEEN_BYTES_MAX: usize = 64 * 1024;

/// How long git may take to say where a workspace stands.
const GIT_WAIT: Duration = Duration::from_secs(5);

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckResult {
    /// Whether it passed.
    pub passed: bool,
    /// The command, and why it did not pass.
    pub said: String,
}

/// Runs the command of a contract, not longer than it says. `None` if the contract names no command.
pub fn check(run: &Run, workspace: &Path) -> Option<CheckResult> {
    let Executor::Command(argv) = &run.executor else { return None };
    let shown = argv.join(" ");
    let limits = Limits { timeout: length(run.timeout), output_bytes_max: OUTPUT_BYTES_MAX };
    Some(match program::look(argv, workspace, limits) {
        Err(problem) => CheckResult { passed: false, said: format!("`{shown}` gave no answer: {problem}") },
        Ok(Seen { code: Some(0), .. }) => CheckResult { passed: true, said: format!("`{shown}` passed") },
        Ok(Seen { output, .. }) => CheckResult { passed: false, said: format!("`{shown}` failed:\n{}", text(&output)) },
    })
}

fn length(timeout: values::time::Duration) -> Duration {
    Duration::from_micros(u64::try_from(timeout.micros()).unwrap_or(0))
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

/// What git says of a workspace: the commit, and whether anything is not committed. Empty outside a repository.
pub fn git(workspace: &Path) -> (String, bool) {
    if !workspace.join(".git").exists() {
        return (String::new(), false);
    }
    let head = ask_git(workspace, &["rev-parse", "HEAD"]).unwrap_or_default();
    let changes = ask_git(workspace, &["status", "--porcelain"]).unwrap_or_default();
    (head, !changes.is_empty())
}

fn ask_git(workspace: &Path, arguments: &[&str]) -> Option<String> {
    let words: Vec<String> = ["git", "-C", "."].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
    let limits = Limits { timeout: GIT_WAIT, output_bytes_max: SEEN_BYTES_MAX };
    let seen = program::look(&words, workspace, limits).ok()?;
    (seen.code == Some(0)).then(|| text(&seen.output))
}

/// What the witnesses say together, and about which of them there is something to say.
pub fn witnessed(witnesses: &BTreeMap<String, Witness>, workspace: &Path) -> (State, Vec<String>) {
    let mut together = if witnesses.is_empty() { State::NoClaim } else { State::Confirmed };
    let mut said = Vec::new();
    for (name, witness) in witnesses {
        let (source, accountability, reading) = read_back(witness, workspace);
        let testimony = Testimony { key: name.clone(), source, accountability, reading };
        let claim = Claim { key: name.clone(), states: witness.expect.clone() };
        let evidence = Evidence { claim: Some(claim), testimony: vec![testimony] };
        let judged = judge(&evidence, &kernel::detectors::effect_witness::Settings {});
        let wanted = Json::Object(witness.expect.clone()).to_canonical();
        match judged.state {
            State::Confirmed | State::NoClaim => continue,
            State::Refuted => {
                let names: Vec<&str> = judged.contradicted.iter().map(String::as_str).collect();
                said.push(format!("witness `{name}` sees `{}` otherwise than {wanted}", names.join("`, `")));
                together = State::Refuted;
            }
            State::Unwitnessed => {
                said.push(format!("witness `{name}` could not see {wanted}"));
                together = if together == State::Refuted { State::Refuted } else { State::Unwitnessed };
            }
        }
    }
    (together, said)
}

fn read_back(witness: &Witness, workspace: &Path) -> (Source, Accountability, Reading) {
    let timeout = length(witness.timeout);
    match &witness.source {
        WitnessSource::Command(words) => {
            let limits = Limits { timeout, output_bytes_max: SEEN_BYTES_MAX };
            let seen = program::look(words, workspace, limits);
            let reading = seen.map_or(Reading::Unreachable, |seen| {
                let exit = seen.code.map_or(Json::Null, |code| Json::Number(Decimal::from(i64::from(code))));
                saw("exit", exit, "output", &seen.output)
            });
            (Source::Command, Accountability::OsRecorded, reading)
        }
        WitnessSource::Git => (Source::Git, Accountability::OsRecorded, repository(workspace)),
        WitnessSource::Http(address) => {
            let client = HttpClient { timeout, answer_bytes_max: SEEN_BYTES_MAX, pinned: Vec::new() };
            let reading = client.get(address).map_or(Reading::Unreachable, |answer| {
                saw("status", Json::from(u64::from(answer.status)), "body", &answer.body)
            });
            (Source::Http, Accountability::ThirdParty, reading)
        }
    }
}

/// A number, the text, and the members of the text where it is a JSON object. Our own words are no testimony.
fn saw(number_name: &str, number: Json, text_name: &str, bytes: &[u8]) -> Reading {
    let shown = text(bytes);
    let parsed = Json::parse(shown.as_bytes()).ok();
    let ours = |json: &Json| kernel::enforcement::corrective::Evidence::read(json).is_err();
    if parsed.as_ref().is_some_and(ours) {
        return Reading::Unreachable;
    }
    let mut members: Object = parsed.as_ref().and_then(Json::as_object).cloned().unwrap_or_default();
    members.insert(number_name.to_owned(), number);
    members.insert(text_name.to_owned(), Json::text(shown));
    Reading::Saw(members)
}

fn repository(workspace: &Path) -> Reading {
    let Some(head) = ask_git(workspace, &["rev-parse", "HEAD"]) else { return Reading::Unreachable };
    let branch = ask_git(workspace, &["rev-parse", "--abbrev-ref", "HEAD"]).unwrap_or_default();
    let upstream = ask_git(workspace, &["rev-parse", "@{upstream}"]);
    let Some(changes) = ask_git(workspace, &["status", "--porcelain"]) else { return Reading::Unreachable };
    let members = [
        ("pushed", Json::Bool(upstream.as_deref() == Some(head.as_str()))),
        ("head", Json::text(head)),
        ("branch", Json::text(branch)),
        ("clean", Json::Bool(changes.is_empty())),
    ];
    Reading::Saw(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
