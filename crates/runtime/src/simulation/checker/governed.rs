//! What operators, monitors and people govern, as the ledger tells it: groups, candidates, alarms and attention.

use super::{number, text};
use std::collections::{BTreeMap, BTreeSet};
use values::ids::Digest;
use values::json::Json;
use values::time::Duration;

/// A candidate, how many hundredths of a percent of the flows are under it, and the word that chooses them.
#[derive(Clone, Debug)]
struct Candidate {
    contract: String,
    share: u64,
    word: String,
}

/// How many questions the people take.
#[derive(Clone, Copy, Debug)]
struct Patience {
    questions: u64,
    per: i64,
}

/// Everything that was seen of it.
#[derive(Debug, Default)]
pub(super) struct Governed {
    groups: BTreeMap<String, String>,
    halted: BTreeSet<String>,
    in_force: BTreeMap<String, String>,
    candidates: BTreeMap<String, Candidate>,
    alarms: Vec<(String, String)>,
    patience: Option<Patience>,
    /// When people were asked while their patience was bounded.
    asked: Vec<i64>,
}

impl Governed {
    /// Agents by the groups they are in.
    pub fn of(groups: BTreeMap<String, String>) -> Governed {
        Governed { groups, ..Governed::default() }
    }

    /// Whether the switch of the agent's group is pulled.
    pub fn is_halted(&self, agent: &str) -> bool {
        self.groups.get(agent).is_some_and(|group| self.halted.contains(group))
    }

    /// An alarm, recorded before the command that caused it.
    pub fn tripped(&mut self, result: &Json) {
        if text(result, "then") == "SUSPENDED" {
            let monitor = format!("monitor:{}", text(result, "monitor"));
            self.alarms.push((text(result, "agent").to_owned(), monitor));
        }
    }

    /// The alarms whose cause has been recorded now.
    pub fn take_alarms(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.alarms)
    }

    /// A change that was carried out.
    pub fn change(&mut self, kind: &str, json: &Json) {
        let command = json.get("command").unwrap_or(&Json::Null);
        let (agent, group) = (text(command, "agent").to_owned(), text(command, "group").to_owned());
        match kind {
            "halt" => _ = self.halted.insert(group),
            "resume" => _ = self.halted.remove(&group),
            "activate" => {
                let result = json.get("result").unwrap_or(&Json::Null);
                let agent = text(result, "agent").to_owned();
                self.candidates.remove(&agent);
                self.in_force.insert(agent, text(result, "contract").to_owned());
            }
            "start_canary" => {
                let contract = text(command, "contract").to_owned();
                let before = self.candidates.remove(&agent).filter(|before| before.contract == contract);
                let word = before.map_or_else(|| text(json, "id").to_owned(), |before| before.word);
                let share = hundredths(text(command, "share"));
                self.candidates.insert(agent, Candidate { contract, share, word });
            }
            "promote_canary" => {
                if let Some(candidate) = self.candidates.remove(&agent) {
                    self.in_force.insert(agent, candidate.contract);
                }
            }
            "roll_back_canary" => _ = self.candidates.remove(&agent),
            _ => self.merged(command),
        }
    }

    fn merged(&mut self, command: &Json) {
        let writes = command.get("writes").and_then(Json::as_list).unwrap_or_default();
        for write in writes.iter().filter(|write| text(write, "key") == "attention/desk") {
            let value = write.get("value").unwrap_or(&Json::Null);
            let per = Duration::parse(text(value, "per")).map_or(0, Duration::micros);
            let questions = u64::try_from(number(value, "questions")).unwrap_or_default();
            self.patience = Some(Patience { questions, per });
        }
    }

    /// Whether a decision was made under the contract that counts for its flow, and whether there was a choice.
    pub fn is_right(&self, json: &Json) -> (bool, bool) {
        let agent = text(json, "agent");
        let contract = json.get("contract").map_or("", |contract| text(contract, "digest"));
        let Some(in_force) = self.in_force.get(agent) else { return (false, true) };
        match self.candidates.get(agent) {
            Some(candidate) if candidate.takes(text(json, "flow")) => (true, contract == candidate.contract),
            Some(_) => (true, contract == in_force),
            None => (false, contract == in_force),
        }
    }

    /// Somebody is asked at an instant: whether it was scarce, and whether there was room.
    pub fn asked(&mut self, at: i64) -> (bool, bool) {
        let Some(Patience { questions, per }) = self.patience else { return (false, true) };
        self.asked.push(at);
        let recent = self.asked.iter().filter(|asked| **asked > at.saturating_sub(per)).count() as u64;
        (recent.saturating_add(1) >= questions, recent <= questions)
    }
}

impl Candidate {
    fn takes(&self, flow: &str) -> bool {
        let digest = Digest::of_parts(&[self.word.as_bytes(), flow.as_bytes()]).to_string();
        let first = digest.get(..16).and_then(|first| u64::from_str_radix(first, 16).ok());
        first.is_some_and(|first| first % 10_000 < self.share)
    }
}

/// Shares of this simulation are whole percents.
fn hundredths(share: &str) -> u64 {
    share.strip_suffix('%').and_then(|percent| percent.parse::<u64>().ok()).unwrap_or_default() * 100
}
