//! How the second reducer performs intents: claims, marks, outcomes, doubts, and undoing.

use crate::commands::Who;
use crate::contracts::{APPROVERS, SECOND};
use crate::reducer::{Doubt, Intent, Reducer, Said};

const DAY: i64 = 86_400 * SECOND;
const HORIZON: i64 = 23 * 3_600 * SECOND;

/// Whether it is neither over nor known not to have happened.
pub fn is_live(state: &str) -> bool {
    ["READY", "CLAIMED", "IN_FLIGHT", "HANDED_OUT", "UNREPORTED", "IN_DOUBT"].contains(&state)
}

fn performs(who: &Who) -> bool {
    matches!(who, Who::Kernel | Who::Operator(_))
}

impl Reducer {
    fn place(&self, name: &str) -> Option<usize> {
        self.intents.iter().position(|intent| intent.name == name)
    }

    /// The kill switch, its time, the standing of its agent and of everyone above.
    fn against(&self, intent: &Intent, at: i64) -> Option<&'static str> {
        let line: Vec<&str> = std::iter::once(&intent.agent).chain(&intent.above).map(|name| &**name).collect();
        if let Some(code) = self.stopped(&line) {
            return Some(code);
        }
        let until = if intent.doubts > 0 { intent.retry_until.unwrap_or(i64::MAX) } else { intent.valid_until };
        if at > until {
            return Some("TTL_EXPIRED");
        }
        if intent.undoes.is_some() {
            return None;
        }
        if self.is_aborted(&intent.flow) {
            return Some("FLOW_CLOSED");
        }
        let own = &self.agents[&intent.agent];
        let standing = match own.status() {
            "SUSPENDED" => Some("AGENT_SUSPENDED"),
            "RETIRED" => Some("AGENT_RETIRED"),
            "REGISTERED" => None,
            _ if own.revokes(intent.action) => Some("AGENT_DEGRADED"),
            "PASSIVE" if !intent.approved => Some("AGENT_PASSIVE"),
            _ => None,
        };
        let above = intent.above.iter().find_map(|name| match self.agents[name].status() {
            "SUSPENDED" => Some("AGENT_SUSPENDED"),
            "RETIRED" => Some("AGENT_RETIRED"),
            _ => None,
        });
        standing.or(above)
    }

    /// The kill switch makes it wait; anything else calls it off, or leaves it in doubt.
    fn stop(&mut self, place: usize, code: &str, at: i64) -> Said {
        let intent = &mut self.intents[place];
        if !["HALTED", "GROUP_HALTED"].contains(&code) {
            self.call_off(place, at);
        } else if intent.state == "CLAIMED" {
            intent.state = "READY";
        }
        Said::reject(code)
    }

    pub fn call_off(&mut self, place: usize, at: i64) {
        if self.intents[place].doubts > 0 {
            self.doubt(place, at, false);
        } else {
            self.finish(place, "CANCELLED", at);
        }
    }

    fn finish(&mut self, place: usize, state: &'static str, at: i64) {
        let intent = &mut self.intents[place];
        intent.state = state;
        intent.over_at = at;
        intent.retry_at = None;
        let name = intent.name.clone();
        for doubt in self.doubts.iter_mut().filter(|doubt| doubt.intent == name) {
            doubt.open = false;
        }
    }

    /// Nobody knows: what can be repeated safely is tried again for a while, otherwise a person is asked.
    fn doubt(&mut self, place: usize, at: i64, may_retry: bool) {
        let intent = &mut self.intents[place];
        intent.state = "IN_DOUBT";
        intent.doubts += 1;
        let until = intent.retry_until.or(intent.first_sent.map(|sent| sent + HORIZON));
        let wait = (1_i64 << (intent.doubts - 1).min(16)).min(600) * SECOND;
        intent.retry_at = until.filter(|until| at + wait <= *until && intent.keyed && may_retry).map(|_| at + wait);
        if intent.retry_at.is_none() {
            self.ask_about(place);
        }
    }

    fn ask_about(&mut self, place: usize) {
        let intent = &self.intents[place];
        let doubt = Doubt {
            intent: intent.name.clone(),
            agent: intent.agent.clone(),
            quorum: intent.quorum,
            open: true,
            votes: Vec::new(),
        };
        self.doubts.push(doubt);
    }

    /// What time does to intents; whether it did anything.
    pub fn call_off_expired(&mut self, at: i64) -> bool {
        let mut any = false;
        for place in 0..self.intents.len() {
            let intent = &mut self.intents[place];
            let valid = intent.doubts > 0 || intent.valid_until >= at;
            match intent.state {
                "READY" if intent.doubts > 0 && intent.retry_until.is_some_and(|until| until < at) || !valid => {
                    if intent.state == "READY" {
                        self.call_off(place, at);
                    }
                }
                "CLAIMED" if intent.lease < at && !valid => self.finish(place, "CANCELLED", at),
                "CLAIMED" if intent.lease < at => intent.state = "READY",
                "IN_FLIGHT" if intent.lease < at => self.doubt(place, at, true),
                "IN_DOUBT" if intent.retry_at.is_some_and(|retry| retry < at) => {
                    intent.state = "READY";
                    intent.retry_at = None;
                    intent.retry_until = intent.retry_until.or(intent.first_sent.map(|sent| sent + HORIZON));
                }
                "HANDED_OUT" if intent.owed && intent.valid_until + intent.timeout < at => {
                    intent.state = "UNREPORTED";
                    let name = intent.name.clone();
                    if !self.doubts.iter().any(|doubt| doubt.intent == name && doubt.open) {
                        self.ask_about(place);
                    }
                }
                _ => continue,
            }
            any = true;
        }
        any
    }

    pub fn claim(&mut self, who: &Who, name: &str, lease: i64, at: i64) -> Said {
        if !performs(who) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let Some(place) = self.place(name) else { return Said::reject("INTENT_UNKNOWN") };
        let intent = &self.intents[place];
        if intent.state != "READY" || !intent.owed {
            return Said::reject("STEP_REFUSED");
        }
        if let Some(code) = self.against(intent, at) {
            return self.stop(place, code, at);
        }
        let intent = &mut self.intents[place];
        intent.state = "CLAIMED";
        intent.epoch += 1;
        intent.lease = at + lease.clamp(1, 86_400) * SECOND;
        Said::accept()
    }

    pub fn start(&mut self, who: &Who, name: &str, epoch: u64, right: bool, at: i64) -> Said {
        if !performs(who) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let Some(place) = self.place(name) else { return Said::reject("INTENT_UNKNOWN") };
        let intent = &self.intents[place];
        if !intent.owed || intent.epoch != epoch || intent.state != "CLAIMED" || at > intent.lease {
            return Said::reject("CLAIM_LOST");
        }
        if !right {
            return Said::reject("INTENT_ALTERED");
        }
        if let Some(code) = self.against(intent, at) {
            return self.stop(place, code, at);
        }
        let intent = &mut self.intents[place];
        intent.state = "IN_FLIGHT";
        intent.first_sent = intent.first_sent.or(Some(at));
        Said::accept()
    }

    pub fn outcome(&mut self, who: &Who, name: &str, epoch: u64, observed: &str, at: i64) -> Said {
        if !performs(who) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let Some(place) = self.place(name) else { return Said::reject("INTENT_UNKNOWN") };
        let intent = &self.intents[place];
        if !intent.owed || epoch == 0 || epoch > intent.epoch {
            return Said::reject("CLAIM_LOST");
        }
        let counts = intent.state == "IN_FLIGHT" && intent.epoch == epoch;
        let open = match intent.state {
            "READY" | "CLAIMED" | "IN_FLIGHT" => intent.doubts > 0,
            state => state == "IN_DOUBT" || state == "UNREPORTED",
        };
        match observed {
            "POSITIVE" if counts || open => self.finish(place, "SUCCEEDED", at),
            "NEGATIVE" if counts && intent.doubts == 0 => self.finish(place, "FAILED", at),
            _ if counts => self.doubt(place, at, true),
            _ => {}
        }
        Said::accept()
    }

    pub fn settle(&mut self, who: &Who, name: &str, event: &str, at: i64) -> Said {
        let Some(place) = self.place(name) else { return Said::reject("INTENT_UNKNOWN") };
        let intent = &self.intents[place];
        let person = matches!(who, Who::Operator(_));
        if !person && *who != Who::Kernel && *who != Who::Agent(intent.agent.clone()) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let asked = self.doubts.iter().any(|doubt| doubt.intent == name && doubt.open);
        let by_runtime = intent.owed && !intent.by_host;
        let refused = by_runtime && !["READY", "CLAIMED"].contains(&intent.state) || asked && event != "SUCCEED";
        let next = match (intent.state, event) {
            _ if refused => None,
            ("READY" | "CLAIMED", "CANCEL") if intent.doubts == 0 => Some("CANCELLED"),
            ("READY", "SUCCEED") if person => Some("SUCCEEDED"),
            ("READY", "FAIL") if person && intent.doubts == 0 => Some("FAILED"),
            ("HANDED_OUT" | "IN_DOUBT" | "UNREPORTED", "SUCCEED") => Some("SUCCEEDED"),
            ("HANDED_OUT", "FAIL") => Some("FAILED"),
            ("HANDED_OUT", "DOUBT") => Some("IN_DOUBT"),
            ("HANDED_OUT", "CANCEL") if person => Some("CANCELLED"),
            ("IN_DOUBT", "FAIL") if person => Some("FAILED"),
            _ => None,
        };
        match next {
            None => return Said::reject("STEP_REFUSED"),
            // Whoever performs without owing a report is not asked about.
            Some("IN_DOUBT") if intent.owed => self.doubt(place, at, false),
            Some("IN_DOUBT") => self.intents[place].state = "IN_DOUBT",
            Some(state) => self.finish(place, state, at),
        }
        Said::accept()
    }

    pub fn resolve(&mut self, who: &Who, name: &str, decision: &str, right: bool, at: i64) -> Said {
        let Some(place) = self.place(name) else { return Said::reject("INTENT_UNKNOWN") };
        let Some(index) = self.doubts.iter().rposition(|doubt| doubt.intent == name) else {
            return Said::reject("APPROVAL_UNKNOWN");
        };
        let entitled = matches!(who, Who::Operator(person) if self.is_in(person, APPROVERS));
        let doubt = &mut self.doubts[index];
        if !doubt.open {
            return Said::reject("ALREADY_ANSWERED");
        }
        let Who::Operator(person) = who else { return Said::reject("NOT_AUTHORIZED") };
        if !["HAPPENED", "DID_NOT", "RETRY"].contains(&decision) {
            return Said::reject("PARAM_INVALID");
        }
        if *person == doubt.agent || !entitled {
            return Said::reject("APPROVER_NOT_ENTITLED");
        }
        if !right {
            return Said::reject("APPROVAL_MISMATCH");
        }
        if decision == "RETRY" && self.intents[place].by_host {
            return Said::reject("STEP_REFUSED");
        }
        doubt.votes.retain(|(known, _)| known != person);
        doubt.votes.push((person.clone(), decision.to_owned()));
        if doubt.votes.iter().filter(|(_, said)| said == decision).count() < doubt.quorum {
            return Said::accept();
        }
        doubt.open = false;
        match decision {
            "HAPPENED" => self.finish(place, "SUCCEEDED", at),
            "DID_NOT" => self.finish(place, "ABANDONED", at),
            _ => {
                let intent = &mut self.intents[place];
                intent.state = "READY";
                intent.retry_until = Some(at + HORIZON);
            }
        }
        Said::accept()
    }

    pub fn undo(&mut self, number: usize, who: &Who, name: &str, at: i64) -> Said {
        if !performs(who) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let Some(place) = self.place(name) else { return Said::reject("INTENT_UNKNOWN") };
        let done = self.intents[place].clone();
        if done.state != "SUCCEEDED" {
            return Said::reject("STEP_REFUSED");
        }
        if !done.owed || done.undoes.is_some() {
            return Said::reject("NOT_UNDOABLE");
        }
        let effect = format!("undo {}", done.effect);
        let others: Vec<&str> =
            self.intents.iter().filter(|intent| intent.effect == effect).map(|intent| intent.state).collect();
        if others.contains(&"SUCCEEDED") {
            return Said::reject("ALREADY_DONE");
        }
        if others.into_iter().any(is_live) {
            return Said::reject("IN_PROGRESS");
        }
        if at > done.over_at + DAY {
            return Said::reject("UNDO_TOO_LATE");
        }
        self.intents.push(Intent {
            name: format!("u-{number}"),
            effect,
            holds: Vec::new(),
            valid_until: done.over_at + DAY,
            state: "HANDED_OUT",
            by_host: true,
            keyed: false,
            above: Vec::new(),
            epoch: 0,
            lease: 0,
            doubts: 0,
            first_sent: None,
            retry_at: None,
            retry_until: None,
            over_at: 0,
            undoes: Some(name.to_owned()),
            ..done
        });
        self.ask_about(self.intents.len() - 1);
        Said::accept()
    }
}
