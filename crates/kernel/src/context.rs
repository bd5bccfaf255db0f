//! The context of a pure run: state, snapshots and agents, from one JSON document.

use crate::agent::{AgentRow, AgentStatus, Restriction};
use crate::contract::Role;
use crate::nearest::suggestion;
use crate::snapshot::Snapshot;
use crate::world::{Entity, Key, Row, StateRow, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::json::{Json, Object};
use values::time::Instant;

/// What a pure run knows of the world.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Context {
    /// Live state by key.
    pub state: Object,
    /// Snapshots by name.
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Agents by name, where they are not simply ACTIVE.
    pub agents: BTreeMap<String, AgentRow>,
}

impl Context {
    /// Reads `{"state":{…},"snapshots":{name:{"at","data"}},"agents":{name:{"status","role"}}}`.
    ///
    /// The error is one sentence that names the place.
    pub fn from_json(json: &Json) -> Result<Context, String> {
        let members = object(json, "the context")?;
        known_keys(members, &["state", "snapshots", "agents"], "the context")?;
        let part = |key: &str| match members.get(key) {
            None | Some(Json::Null) => Ok(Object::new()),
            Some(value) => object(value, &format!("`{key}`")).cloned(),
        };
        let state = part("state")?;
        let mut snapshots = BTreeMap::new();
        for (name, value) in part("snapshots")? {
            let snapshot = snapshot(&name, &value)?;
            snapshots.insert(name, snapshot);
        }
        let mut agents = BTreeMap::new();
        for (name, value) in part("agents")? {
            let row = agent(&name, &value)?;
            agents.insert(name, row);
        }
        Ok(Context { state, snapshots, agents })
    }

    /// The world a pure run starts in. The contract's agent is ACTIVE unless the context says otherwise.
    pub fn into_world(self, tenant: &Arc<str>, contract_agent: &str) -> World {
        let mut world = World::complete();
        let key = |entity| Key { tenant: tenant.clone(), entity };
        world.put(key(Entity::Agent(contract_agent.to_owned())), Row::Agent(Box::new(AgentRow::active())));
        for (name, row) in self.agents {
            world.put(key(Entity::Agent(name)), Row::Agent(Box::new(row)));
        }
        for (name, value) in self.state {
            world.put(key(Entity::State(name)), Row::State(StateRow { value, version: 1 }));
        }
        for (name, snapshot) in self.snapshots {
            world.put(key(Entity::Snapshot(name)), Row::Snapshot(snapshot));
        }
        world
    }
}

fn snapshot(name: &str, value: &Json) -> Result<Snapshot, String> {
    let place = format!("snapshot `{name}`");
    let members = object(value, &place)?;
    known_keys(members, &["at", "data"], &place)?;
    let at = members.get("at").and_then(Json::as_text).and_then(Instant::parse);
    let at = at.ok_or_else(|| format!("{place}: `at` is not an RFC 3339 time with an offset"))?;
    let data = members.get("data").ok_or_else(|| format!("{place}: `data` is missing"))?;
    let state = object(data, &format!("{place}: `data`"))?.clone();
    Ok(Snapshot { at, source: "context".to_owned(), flow: None, state, session: Object::new() })
}

fn agent(name: &str, value: &Json) -> Result<AgentRow, String> {
    let place = format!("agent `{name}`");
    let members = object(value, &place)?;
    known_keys(members, &["status", "role", "revoked", "because"], &place)?;
    let mut row = AgentRow::active();
    let mut restriction = Restriction {
        status: AgentStatus::Active,
        by: "context".to_owned(),
        because: members.get("because").and_then(Json::as_text).unwrap_or_default().to_owned(),
        at: Instant::PURE_DEFAULT,
        actions: BTreeSet::new(),
    };
    if let Some(value) = members.get("status") {
        let status = value.as_text().and_then(AgentStatus::from_word);
        restriction.status =
            status.ok_or_else(|| format!("{place}: `status` is not one of {}", AgentStatus::WORDS.join(", ")))?;
    }
    if let Some(value) = members.get("role") {
        let role = value.as_text().and_then(Role::from_word);
        row.role = Some(role.ok_or_else(|| format!("{place}: `role` is not one of {}", Role::WORDS.join(", ")))?);
    }
    if let Some(value) = members.get("revoked") {
        let actions = value.as_list().and_then(|items| items.iter().map(Json::as_text).collect::<Option<Vec<_>>>());
        let actions = actions.ok_or_else(|| format!("{place}: `revoked` is not a list of actions"))?;
        restriction.actions = actions.into_iter().map(str::to_owned).collect();
    }
    match restriction.status {
        AgentStatus::Registered | AgentStatus::Active | AgentStatus::Retired => row.base = restriction.status,
        AgentStatus::Passive | AgentStatus::Degraded | AgentStatus::EscalationOnly | AgentStatus::Suspended => {
            row.restrictions.push(restriction);
        }
    }
    Ok(row)
}

fn object<'a>(value: &'a Json, place: &str) -> Result<&'a Object, String> {
    value.as_object().ok_or_else(|| format!("{place} is {}, not an object", value.kind()))
}

fn known_keys(members: &Object, known: &[&str], place: &str) -> Result<(), String> {
    let Some(unknown) = members.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let hint = suggestion(unknown, known.iter().copied());
    Err(format!("{place} has an unknown key `{unknown}`{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let json = Json::parse(text.as_bytes()).unwrap();
        let said = match Context::from_json(&json) {
            Ok(_) => "fine".to_owned(),
            Err(problem) => problem,
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn mistakes_are_named() {
        check("{}", "fine");
        check(r#"{"state":{"a":1},"agents":{"bot":{"status":"SUSPENDED"}}}"#, "fine");
        check(r#"{"stat":{}}"#, "the context has an unknown key `stat`; did you mean `state`?");
        check(r#"{"state":[]}"#, "`state` is a list, not an object");
        check(
            r#"{"snapshots":{"s":{"at":"now","data":{}}}}"#,
            "snapshot `s`: `at` is not an RFC 3339 time with an offset",
        );
        check(r#"{"snapshots":{"s":{"at":"2026-01-01T00:00:00Z"}}}"#, "snapshot `s`: `data` is missing");
        check(
            r#"{"agents":{"bot":{"status":"ASLEEP"}}}"#,
            "agent `bot`: `status` is not one of REGISTERED, ACTIVE, DEGRADED, ESCALATION_ONLY, PASSIVE, SUSPENDED, RETIRED",
        );
    }
}
