//! Canaries: a share of an agent's flows is judged under a candidate, for real, while the rest stays under the contract in
//! force.
//!
//! Which flows follows from their ids, so that a flow is judged under one contract from its first proposal to its last, and
//! anybody can recompute it. Budgets, windows, resources and effect keys are those of the agent, whichever contract a
//! decision was made under: nothing is counted twice, and nothing twice as much is allowed.

use crate::contract::{Contract, Mode, Then, Watch};
use crate::evaluator::{Compiled, CompiledAction};
use crate::plan::PlannedBudget;
use crate::stored::{text_of, texts_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

/// Parts that a whole has: a share is a number of hundredths of a percent.
const WHOLE: u64 = 10_000;

/// How many of the flows, in hundredths of a percent: more than none, at most all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Share(u16);

impl Share {
    /// Reads what [`Share`] prints: `5%`, `0.25%`.
    pub fn parse(text: &str) -> Option<Share> {
        let number = text.strip_suffix('%')?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole, 3) || !digits(part, 2) {
            return None;
        }
        let hundredths = if part.len() == 1 { 10 } else { 1 };
        let of = |text: &str| text.parse::<u16>().ok();
        let share = of(whole)?.checked_mul(100)?.checked_add(of(part)?.checked_mul(hundredths)?)?;
        (1..=WHOLE).contains(&u64::from(share)).then_some(Share(share))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => write!(formatter, "{whole}%"),
            (whole, part) if part % 10 == 0 => write!(formatter, "{whole}.{}%", part / 10),
            (whole, part) => write!(formatter, "{whole}.{part:02}%"),
        }
    }
}

/// A candidate that some flows of an agent are under.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Canary {
    /// The candidate.
    pub contract: Digest,
    /// How many of the flows.
    pub share: Share,
    /// Chooses the flows together with their ids. It is drawn when the canary starts, so that an agent that names its flows
    /// itself cannot aim at one of the two contracts.
    pub salt: String,
    /// Since when.
    pub since: Instant,
    /// Who started it.
    pub by: String,
    /// Why.
    pub because: String,
    /// Monitors that the candidate words otherwise than the contract in force: they have rows of their own, because a
    /// monitor that is worded otherwise at every other decision would start anew at every other decision.
    pub apart: BTreeSet<String>,
    /// The candidate's monitors by the names of their rows, each with the digest of its wording.
    pub watched: BTreeMap<String, Digest>,
}

impl Canary {
    /// Whether a flow is under the candidate.
    pub fn takes(&self, flow: &str) -> bool {
        let digest = Digest::of_parts(&[self.salt.as_bytes(), flow.as_bytes()]);
        let first = digest.bytes().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        first % WHOLE < u64::from(self.share.0)
    }

    /// The name of the row of a monitor of the candidate.
    pub fn monitor(&self, name: &str) -> String {
        if self.apart.contains(name) { own_monitor(name) } else { name.to_owned() }
    }

    /// Its monitors once it is in force: those with rows of their own take the usual names.
    pub(crate) fn watched_in_force(&self) -> BTreeMap<String, Digest> {
        let usual = |row: &String| {
            let own = self.apart.iter().find(|name| own_monitor(name) == *row);
            own.unwrap_or(row).clone()
        };
        self.watched.iter().map(|(row, wording)| (usual(row), *wording)).collect()
    }

    /// As the agent's row keeps it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("contract", Json::text(self.contract.to_string())),
            ("share", Json::text(self.share.to_string())),
            ("salt", Json::text(self.salt.as_str())),
            ("since", Json::text(self.since.to_string())),
            ("by", Json::text(self.by.as_str())),
            ("because", Json::text(self.because.as_str())),
            ("apart", Json::texts(self.apart.iter().map(String::as_str))),
            ("watched", wordings_json(&self.watched)),
        ])
    }

    /// Reads it back.
    pub fn from_json(json: &Json) -> Option<Canary> {
        Some(Canary {
            contract: Digest::parse(json.get("contract")?.as_text()?)?,
            share: Share::parse(json.get("share")?.as_text()?)?,
            salt: text_of(json, "salt")?,
            since: Instant::parse(json.get("since")?.as_text()?)?,
            by: text_of(json, "by")?,
            because: text_of(json, "because")?,
            apart: texts_of(json, "apart")?.into_iter().collect(),
            watched: wordings_of(json.get("watched")?)?,
        })
    }
}

/// The row of a candidate's own monitor. No contract can choose a name with a blank in it.
pub fn own_monitor(name: &str) -> String {
    format!("{name} (candidate)")
}

/// The digests of the wordings of a contract's monitors, by name.
pub(crate) fn wordings(contract: &Contract) -> BTreeMap<String, Digest> {
    contract.watch.iter().map(|(name, watch)| (name.clone(), watch.wording(contract.mode))).collect()
}

/// The same as rows keep them.
pub(crate) fn wordings_json(watched: &BTreeMap<String, Digest>) -> Json {
    Json::Object(watched.iter().map(|(name, digest)| (name.clone(), Json::text(digest.to_string()))).collect())
}

/// Reads them back.
pub(crate) fn wordings_of(json: &Json) -> Option<BTreeMap<String, Digest>> {
    let wording = |(name, digest): (&String, &Json)| Some((name.clone(), Digest::parse(digest.as_text()?)?));
    json.as_object()?.iter().map(wording).collect()
}

/// The monitors that two contracts word otherwise.
pub fn apart(candidate: &Contract, live: &Contract) -> BTreeSet<String> {
    let observes = |contract: &Contract| contract.mode == Mode::Observe;
    let differs = |(name, watch): &(&String, &Watch)| {
        live.watch.get(*name).is_some_and(|other| other != *watch || observes(candidate) != observes(live))
    };
    candidate.watch.iter().filter(differs).map(|(name, _)| name.clone()).collect()
}

/// How a contract watches less than another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loosened {
    /// It has no such monitor.
    Dropped,
    /// Its alarm does less: what it did, and what it does now.
    Weaker(Then, Then),
}

/// The monitors that a candidate does not have, or whose alarm does less under it.
pub fn loosened(candidate: &Contract, live: &Contract) -> BTreeMap<String, Loosened> {
    let less = |(name, watch): (&String, &Watch)| {
        let how = match candidate.watch.get(name) {
            None => Loosened::Dropped,
            Some(tried) if tried.then < watch.then => Loosened::Weaker(watch.then, tried.then),
            Some(_) => return None,
        };
        Some((name.clone(), how))
    };
    live.watch.iter().filter_map(less).collect()
}

/// Why two contracts cannot be in force for one agent at once. What one of them counts, the other counts too, or an agent
/// would be allowed what each of them allows, and both together.
pub(crate) fn cannot_share(candidate: &Compiled, live: &Compiled) -> Option<String> {
    let (new, old) = (&candidate.contract, &live.contract);
    if new.parent != old.parent || new.group != old.group {
        return Some("names another parent or group than the contract in force".to_owned());
    }
    if new.escalation.budget_per != old.escalation.budget_per {
        let (new, old) = (new.escalation.budget_per, old.escalation.budget_per);
        return Some(format!("counts questions over {new}, and the contract in force over {old}"));
    }
    let uncounted = |(name, action): (&String, &CompiledAction)| {
        let known = &candidate.actions.get(name)?.plan.budgets;
        let is_counted = |budget: &&PlannedBudget| known.iter().any(|other| other.name == budget.name);
        action.plan.budgets.iter().find(|budget| !is_counted(budget)).map(|budget| budget.name.clone())
    };
    let name = live.actions.iter().find_map(uncounted)?;
    Some(format!("does not count `{name}` as the contract in force does, and budgets are counted once for both"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canary(share: &str, salt: &str) -> Canary {
        Canary {
            contract: Digest::of("candidate"),
            share: Share::parse(share).unwrap(),
            salt: salt.to_owned(),
            since: Instant::PURE_DEFAULT,
            by: "operator:ann".to_owned(),
            because: "softer".to_owned(),
            apart: BTreeSet::from(["size".to_owned()]),
            watched: BTreeMap::from([("size (candidate)".to_owned(), Digest::of("wording"))]),
        }
    }

    #[test]
    fn a_share_is_read_as_it_is_printed() {
        for text in ["0.01%", "0.1%", "0.25%", "1%", "5%", "12.5%", "99.99%", "100%"] {
            assert_eq!(Share::parse(text).map(|share| share.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Share::parse("5.50%"), Share::parse("5.5%"));
        for text in
            ["", "%", "5", "0%", "0.00%", "100.01%", "-1%", "+1%", "1.%", ".5%", "1.234%", "1e1%", "999%", " 5%"]
        {
            assert_eq!(Share::parse(text), None, "{text}");
        }
    }

    #[test]
    fn so_many_flows_are_taken_and_a_larger_share_keeps_them() {
        let (small, large, all) = (canary("5%", "a"), canary("25%", "a"), canary("100%", "a"));
        let flows: Vec<String> = (0..20_000).map(|number| format!("flow-{number}")).collect();
        let taken = |canary: &Canary| flows.iter().filter(|flow| canary.takes(flow)).count();
        assert!((900..1_100).contains(&taken(&small)), "{}", taken(&small));
        assert!((4_700..5_300).contains(&taken(&large)), "{}", taken(&large));
        assert_eq!(taken(&all), flows.len());
        assert!(flows.iter().all(|flow| !small.takes(flow) || large.takes(flow)));
        let other = canary("5%", "b");
        let both = flows.iter().filter(|flow| small.takes(flow) && other.takes(flow)).count();
        assert!(both < 200, "another salt chooses other flows: {both}");
    }

    #[test]
    fn it_is_kept_as_it_is() {
        let canary = canary("2.5%", "c-1");
        assert_eq!(Canary::from_json(&canary.to_json()), Some(canary.clone()));
        assert_eq!(
            (canary.monitor("size"), canary.monitor("rate")),
            ("size (candidate)".to_owned(), "rate".to_owned())
        );
    }
}
