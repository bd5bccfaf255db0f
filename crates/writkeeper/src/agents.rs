//! Agents as values: how one stands, and what the registry did to it.

use crate::error::{ContractInForce, Error};
use crate::happening::{finding_json, findings, object, verdict};
use crate::history::History;
use kernel::agent::{Actor, AgentRow, AgentStatus, Restriction};
use kernel::canary::{Canary, Share};
use kernel::consequence::Consequence;
use kernel::contract::amend::{self, Amendment};
use kernel::finding::Finding;
use kernel::outcome::Verdict;
use kernel::watched::Trip;
use runtime::Runtime;
use std::collections::BTreeSet;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Instant;

/// Entries of a history at most: the latest count.
const HISTORY_MAX: usize = 1_000;

/// How an agent stands.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentSummary {
    pub name: String,
    /// The hardest of what is held against it.
    pub status: AgentStatus,
    /// Everything that is held against it.
    pub restrictions: Vec<Restriction>,
    /// The contract that counts for it.
    pub contract: Option<ContractInForce>,
    /// The candidate that a share of its flows is under.
    pub canary: Option<Canary>,
    /// The contract it came with last; an operator puts it in force.
    pub offered: Option<Digest>,
    pub parent: Option<String>,
    /// The group whose kill switch stops it too.
    pub group: Option<String>,
    /// The version it shook hands with.
    pub version: Option<String>,
    /// Bounded changes of its limits; those that are over are left out.
    pub amendments: Vec<Amendment>,
}

impl AgentSummary {
    /// Of the row of an agent, at an instant.
    pub fn of(runtime: &Runtime, name: &str, row: &AgentRow, now: Instant) -> Result<AgentSummary, Error> {
        let (contract, amendments) = match row.contract {
            Some(digest) => {
                let contract = &runtime.contract(digest)?.contract;
                let in_force = |amendment: &Amendment| {
                    let until = amend::check(contract, amendment).ok().filter(|until| now < *until)?;
                    Some(Amendment { expires: Some(until), ..amendment.clone() })
                };
                let amendments = row.amendments.iter().filter_map(in_force).collect();
                (Some(ContractInForce::of(digest, contract)), amendments)
            }
            None => (None, Vec::new()),
        };
        Ok(AgentSummary {
            name: name.to_owned(),
            status: row.status(),
            restrictions: row.restrictions.clone(),
            contract,
            canary: row.canary.clone(),
            offered: row.offered,
            parent: row.parent.clone(),
            group: row.group.clone(),
            version: row.version.clone(),
            amendments,
        })
    }

    /// Why it is in its state, if anyone said.
    pub fn because(&self) -> Option<&str> {
        let found = self.restrictions.iter().find(|restriction| restriction.status == self.status);
        found.map(|restriction| restriction.because.as_str()).filter(|because| !because.is_empty())
    }

    /// For programs.
    pub fn to_json(&self) -> Object {
        let restriction = |held: &Restriction| {
            Json::object([
                ("status", Json::text(held.status.word())),
                ("by", Json::text(held.by.as_str())),
                ("because", Json::text(held.because.as_str())),
                ("at", Json::text(held.at.to_string())),
                ("actions", Json::texts(held.actions.iter().map(String::as_str))),
            ])
        };
        let contract = |contract: &ContractInForce| {
            Json::object([
                ("id", Json::text(contract.id.as_str())),
                ("version", Json::text(contract.version.as_str())),
                ("digest", Json::text(contract.digest.to_string())),
            ])
        };
        let mut members = object([
            ("agent", Json::text(self.name.as_str())),
            ("status", Json::text(self.status.word())),
            ("restrictions", Json::List(self.restrictions.iter().map(restriction).collect())),
            ("contract", self.contract.as_ref().map_or(Json::Null, contract)),
            ("offered", Json::from(self.offered.map(|digest| digest.to_string()))),
            ("parent", Json::from(self.parent.clone())),
            ("version", Json::from(self.version.clone())),
            ("amendments", Json::List(self.amendments.iter().map(amendment_json).map(Json::Object).collect())),
        ]);
        members.extend(self.group.as_ref().map(|group| ("group".to_owned(), Json::text(group.as_str()))));
        members.extend(self.canary.as_ref().map(|canary| ("canary".to_owned(), canary_json(canary))));
        members
    }
}

/// One agent, and its history from the records.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentPage {
    pub agent: AgentSummary,
    /// What the registry did to it, oldest first; the latest where there is too much to tell.
    pub history: Vec<AgentEntry>,
    /// Earlier entries that are left out.
    pub left_out: u64,
}

/// Something that was done to an agent, or that someone tried to do.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentEntry {
    /// Index of the record in the ledger.
    pub index: u64,
    pub at: Instant,
    pub actor: Option<Actor>,
    pub change: AgentChange,
    /// Why nothing came of it; empty where it was carried out.
    pub refused: Vec<Finding>,
}

/// What the registry does to agents. Decisions are told by flows and reports.
#[derive(Clone, PartialEq, Debug)]
pub enum AgentChange {
    /// It came with a contract.
    Registered { contract: Digest },
    /// A contract was put in force.
    Activated { contract: Digest },
    /// A share of its flows was put under a candidate.
    CanaryStarted { contract: Digest, share: Share, because: String },
    /// The candidate was put in force.
    CanaryPromoted { contract: Digest, because: String },
    /// Every flow was put under the contract in force again.
    CanaryRolledBack { because: String },
    /// A restriction was placed.
    Restricted { status: AgentStatus, actions: BTreeSet<String>, because: String },
    /// The alarm of a monitor placed one.
    Held { status: AgentStatus, because: String },
    /// Restrictions of one kind were lifted.
    Lifted { status: AgentStatus, because: String },
    /// It never acts again.
    Retired { because: String },
    /// A bound changed for a while.
    Amended(Amendment),
}

impl AgentPage {
    /// Of the row of an agent, at an instant.
    pub fn of(runtime: &Runtime, name: &str, row: &AgentRow, now: Instant) -> Result<AgentPage, Error> {
        let agent = AgentSummary::of(runtime, name, row, now)?;
        let mut history = std::collections::VecDeque::new();
        let mut left_out = 0;
        let mut records = History::since(runtime, None)?;
        while let Some((index, body)) = records.next_entry()? {
            let Some(entry) = AgentEntry::from_record(index, &body, name) else { continue };
            if history.len() >= HISTORY_MAX {
                history.pop_front();
                left_out += 1;
            }
            history.push_back(entry);
        }
        Ok(AgentPage { agent, history: history.into(), left_out })
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        let mut members = self.agent.to_json();
        members.insert("history".to_owned(), Json::List(self.history.iter().map(AgentEntry::to_json).collect()));
        members.insert("left_out".to_owned(), Json::from(self.left_out));
        Json::Object(members)
    }
}

impl AgentEntry {
    /// What a record says was done to an agent of this name.
    fn from_record(index: u64, body: &Json, name: &str) -> Option<AgentEntry> {
        if let Some(Consequence::MonitorTripped(trip)) = Consequence::from_record(body) {
            return AgentEntry::from_trip(index, &trip, name);
        }
        let command = body.get("command")?;
        if command.get("agent")?.as_text()? != name {
            return None;
        }
        let change = AgentChange::from_record(body.get("kind")?.as_text()?, command)?;
        let is_refused = verdict(body) == Some(Verdict::Reject);
        Some(AgentEntry {
            index,
            at: Instant::parse(body.get("at")?.as_text()?)?,
            actor: body.get("actor").and_then(Json::as_text).and_then(Actor::parse),
            change,
            refused: if is_refused { findings(body) } else { Vec::new() },
        })
    }

    /// What an alarm did to it; one that only warns did nothing.
    fn from_trip(index: u64, trip: &Trip, name: &str) -> Option<AgentEntry> {
        let status = trip.then.status().filter(|_| trip.agent == name)?;
        let (actor, because) = (Some(Actor::Monitor(trip.monitor.clone())), trip.sentence());
        Some(AgentEntry {
            index,
            at: trip.at,
            actor,
            change: AgentChange::Held { status, because },
            refused: Vec::new(),
        })
    }

    /// For programs: `index`, `at`, `actor`, `kind`, `refused`, and what the kind has to tell.
    pub fn to_json(&self) -> Json {
        let mut members = self.change.members();
        members.extend(object([
            ("index", Json::from(self.index)),
            ("at", Json::text(self.at.to_string())),
            ("actor", Json::from(self.actor.as_ref().map(Actor::text))),
            ("kind", Json::text(self.change.kind())),
            ("refused", Json::List(self.refused.iter().map(finding_json).collect())),
        ]));
        Json::Object(members)
    }
}

impl AgentChange {
    fn from_record(kind: &str, command: &Json) -> Option<AgentChange> {
        let text = |key: &str| command.get(key).and_then(Json::as_text);
        let digest = |key: &str| Digest::parse(text(key)?);
        let because = || text("because").unwrap_or_default().to_owned();
        let status = || AgentStatus::from_word(text("status")?);
        let actions = || command.get("actions").and_then(Json::as_list).unwrap_or_default();
        Some(match kind {
            "register" => AgentChange::Registered { contract: digest("digest")? },
            "activate" => AgentChange::Activated { contract: digest("contract")? },
            "start_canary" => AgentChange::CanaryStarted {
                contract: digest("contract")?,
                share: Share::parse(text("share")?)?,
                because: because(),
            },
            "promote_canary" => AgentChange::CanaryPromoted { contract: digest("contract")?, because: because() },
            "roll_back_canary" => AgentChange::CanaryRolledBack { because: because() },
            "restrict" => AgentChange::Restricted {
                status: status()?,
                actions: actions().iter().filter_map(Json::as_text).map(str::to_owned).collect(),
                because: because(),
            },
            "lift" => AgentChange::Lifted { status: status()?, because: because() },
            "retire" => AgentChange::Retired { because: because() },
            "amend" => AgentChange::Amended(Amendment::from_json(command.get("amendment")?)?),
            _ => return None,
        })
    }

    /// The word of its records.
    pub fn kind(&self) -> &'static str {
        match self {
            AgentChange::Registered { .. } => "register",
            AgentChange::Activated { .. } => "activate",
            AgentChange::CanaryStarted { .. } => "start_canary",
            AgentChange::CanaryPromoted { .. } => "promote_canary",
            AgentChange::CanaryRolledBack { .. } => "roll_back_canary",
            AgentChange::Restricted { .. } => "restrict",
            AgentChange::Held { .. } => "monitor_tripped",
            AgentChange::Lifted { .. } => "lift",
            AgentChange::Retired { .. } => "retire",
            AgentChange::Amended(_) => "amend",
        }
    }

    fn members(&self) -> Object {
        let contract = |digest: &Digest| object([("contract", Json::text(digest.to_string()))]);
        let because = |because: &String| ("because", Json::text(because.as_str()));
        match self {
            AgentChange::Registered { contract: digest } | AgentChange::Activated { contract: digest } => {
                contract(digest)
            }
            AgentChange::CanaryStarted { contract, share, because: why } => object([
                ("contract", Json::text(contract.to_string())),
                ("share", Json::text(share.to_string())),
                because(why),
            ]),
            AgentChange::CanaryPromoted { contract, because: why } => {
                object([("contract", Json::text(contract.to_string())), because(why)])
            }
            AgentChange::CanaryRolledBack { because: why } => object([because(why)]),
            AgentChange::Restricted { status, actions, because: why } => object([
                ("status", Json::text(status.word())),
                ("actions", Json::texts(actions.iter().map(String::as_str))),
                because(why),
            ]),
            AgentChange::Held { status, because: why } | AgentChange::Lifted { status, because: why } => {
                object([("status", Json::text(status.word())), because(why)])
            }
            AgentChange::Retired { because: why } => object([because(why)]),
            AgentChange::Amended(amendment) => amendment_json(amendment),
        }
    }
}

fn canary_json(canary: &Canary) -> Json {
    Json::object([
        ("contract", Json::text(canary.contract.to_string())),
        ("share", Json::text(canary.share.to_string())),
        ("since", Json::text(canary.since.to_string())),
        ("by", Json::text(canary.by.as_str())),
        ("because", Json::text(canary.because.as_str())),
    ])
}

fn amendment_json(amendment: &Amendment) -> Object {
    let number = |value: Option<values::decimal::Decimal>| value.map_or(Json::Null, Json::from_decimal);
    object([
        ("action", Json::text(amendment.action.as_str())),
        ("param", Json::text(amendment.param.as_str())),
        ("min", number(amendment.min)),
        ("max", number(amendment.max)),
        ("by", Json::text(amendment.actor.as_str())),
        ("because", Json::text(amendment.because.as_str())),
        ("since", Json::text(amendment.at.to_string())),
        ("until", Json::from(amendment.expires.map(|expires| expires.to_string()))),
    ])
}
