//! Rows as a store keeps them: canonical JSON, the same for every store. A store knows keys and bytes, never meaning.
//!
//! What cannot be read back is damage, and damage is never taken for absence.

mod intents;
mod people;

pub(crate) use people::{answer_json, read_answer};

use crate::agent::{AgentRow, AgentStatus, Restriction, Session};
use crate::budget::Window;
use crate::canary::{Canary, wordings_json, wordings_of};
use crate::contract::Role;
use crate::contract::amend::Amendment;
use crate::escalation::EscalationRow;
use crate::flow::{FlowState, Latest, ProposalState};
use crate::intent::IntentRow;
use crate::snapshot::Snapshot;
use crate::world::{
    AskedRow, EffectRow, FlowHold, FlowRow, Halt, LegalHold, ResourceRow, StateRow, StoredAnswer, TenantRow,
};
use ledger::envelope::{key_text, read_key};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::{Json, Members, Object, write_members};
use values::time::{Duration, Instant};

pub use crate::world::entities::Kind;

/// How a row becomes the text a store keeps.
pub(crate) trait StoredRow: Sized {
    /// Appends what a store keeps.
    fn write(&self, text: &mut String);

    /// Reads it back; `None` is damage, and what is read through something else.
    fn read(json: Json) -> Option<Self>;

    /// When something must happen to it of its own accord.
    fn due(&self) -> Option<Instant> {
        None
    }
}

impl<T: StoredRow> StoredRow for Box<T> {
    fn write(&self, text: &mut String) {
        T::write(self, text);
    }

    fn read(json: Json) -> Option<Box<T>> {
        T::read(json).map(Box::new)
    }

    fn due(&self) -> Option<Instant> {
        T::due(self)
    }
}

impl StoredRow for TenantRow {
    fn write(&self, text: &mut String) {
        tenant_json(self).write_canonical(text);
    }

    fn read(json: Json) -> Option<TenantRow> {
        tenant(&json)
    }
}

impl StoredRow for StoredAnswer {
    fn write(&self, text: &mut String) {
        text.push_str(&self.fingerprint.to_string());
    }

    fn read(_: Json) -> Option<StoredAnswer> {
        None
    }
}

impl StoredRow for AgentRow {
    fn write(&self, text: &mut String) {
        agent_json(self).write_canonical(text);
    }

    fn read(json: Json) -> Option<AgentRow> {
        agent(&json)
    }
}

/// A contract.
impl StoredRow for Arc<Json> {
    fn write(&self, text: &mut String) {
        self.write_canonical(text);
    }

    fn read(json: Json) -> Option<Arc<Json>> {
        Some(Arc::new(json))
    }
}

impl StoredRow for FlowRow {
    fn write(&self, text: &mut String) {
        write_flow(self, text);
    }

    fn read(json: Json) -> Option<FlowRow> {
        flow(&json)
    }
}

impl StoredRow for EscalationRow {
    fn write(&self, text: &mut String) {
        people::to_json(self).write_canonical(text);
    }

    fn read(json: Json) -> Option<EscalationRow> {
        people::from_json(&json)
    }

    fn due(&self) -> Option<Instant> {
        EscalationRow::due(self)
    }
}

impl StoredRow for AskedRow {
    fn write(&self, text: &mut String) {
        Members::object(text, |members| members.text("question", &self.question));
    }

    fn read(json: Json) -> Option<AskedRow> {
        Some(AskedRow { question: text_of(&json, "question")? })
    }
}

impl StoredRow for IntentRow {
    fn write(&self, text: &mut String) {
        intents::write(self, text);
    }

    fn read(json: Json) -> Option<IntentRow> {
        intents::from_json(&json)
    }

    fn due(&self) -> Option<Instant> {
        IntentRow::due(self)
    }
}

impl StoredRow for EffectRow {
    fn write(&self, text: &mut String) {
        Members::object(text, |members| {
            members.truth("done", self.done);
            if self.fence > 0 {
                members.count("fence", self.fence);
            }
            members.text("intent", &self.intent);
        });
    }

    fn read(json: Json) -> Option<EffectRow> {
        let fence = if json.get("fence").is_some() { whole_of(&json, "fence")? } else { 0 };
        Some(EffectRow { intent: text_of(&json, "intent")?, done: json.get("done")?.as_bool()?, fence })
    }
}

impl StoredRow for ResourceRow {
    fn write(&self, text: &mut String) {
        let declared = self.declared.as_ref().map_or(Json::Null, |declared| Json::text(declared.as_str()));
        let held = ("held", decimal_json(self.held));
        let mut json = Json::object([held, ("consumed", decimal_json(self.consumed)), ("declared", declared)]);
        if let (Json::Object(members), false) = (&mut json, self.flows.is_empty()) {
            let flows = self.flows.iter().map(|(flow, hold)| (flow.clone(), flow_hold_json(hold)));
            members.insert("flows".to_owned(), Json::Object(flows.collect()));
        }
        json.write_canonical(text);
    }

    fn read(json: Json) -> Option<ResourceRow> {
        Some(ResourceRow {
            held: decimal_of(&json, "held")?,
            consumed: decimal_of(&json, "consumed")?,
            declared: optional_text(&json, "declared"),
            flows: match json.get("flows") {
                None => BTreeMap::new(),
                Some(flows) => {
                    let hold = |(flow, hold): (&String, &Json)| Some((flow.clone(), flow_hold(hold)?));
                    flows.as_object()?.iter().map(hold).collect::<Option<_>>()?
                }
            },
        })
    }
}

fn flow_hold_json(hold: &FlowHold) -> Json {
    let until = hold.until.map(|until| ("until".to_owned(), instant_json(until)));
    Json::Object([("amount".to_owned(), decimal_json(hold.amount))].into_iter().chain(until).collect())
}

fn flow_hold(json: &Json) -> Option<FlowHold> {
    let until = match json.get("until") {
        None => None,
        Some(_) => Some(instant_of(json, "until")?),
    };
    Some(FlowHold { amount: decimal_of(json, "amount")?, until })
}

impl StoredRow for Window {
    fn write(&self, text: &mut String) {
        Window::write(self, text);
    }

    fn read(json: Json) -> Option<Window> {
        Window::from_json(&json)
    }
}

impl StoredRow for StateRow {
    fn write(&self, text: &mut String) {
        Json::object([("value", self.value.clone()), ("version", Json::from(self.version))]).write_canonical(text);
    }

    fn read(json: Json) -> Option<StateRow> {
        Some(StateRow { value: json.get("value")?.clone(), version: whole_of(&json, "version")? })
    }
}

/// A flow's session.
impl StoredRow for Object {
    fn write(&self, text: &mut String) {
        write_members(self, text);
    }

    fn read(json: Json) -> Option<Object> {
        json.as_object().cloned()
    }
}

impl StoredRow for Snapshot {
    fn write(&self, text: &mut String) {
        snapshot_json(self).write_canonical(text);
    }

    fn read(json: Json) -> Option<Snapshot> {
        snapshot(&json)
    }
}

pub(crate) fn instant_json(at: Instant) -> Json {
    Json::Number(Decimal::from(at.micros()))
}

pub(crate) fn instant_of(json: &Json, key: &str) -> Option<Instant> {
    Some(Instant::from_micros(json.get(key)?.as_number()?.to_i64()?))
}

/// Amounts may have more digits than a JSON number holds.
pub(crate) fn decimal_json(value: Decimal) -> Json {
    Json::text(value.to_string())
}

pub(crate) fn decimal_of(json: &Json, key: &str) -> Option<Decimal> {
    Decimal::parse(json.get(key)?.as_text()?)
}

pub(crate) fn text_of(json: &Json, key: &str) -> Option<String> {
    json.get(key)?.as_text().map(str::to_owned)
}

pub(crate) fn optional_text(json: &Json, key: &str) -> Option<String> {
    json.get(key).and_then(Json::as_text).map(str::to_owned)
}

/// A member that must be there and may be null.
pub(crate) fn nullable<'a>(json: &'a Json, key: &str) -> Option<Option<&'a Json>> {
    let value = json.get(key)?;
    Some(Some(value).filter(|value| **value != Json::Null))
}

pub(crate) fn whole_of(json: &Json, key: &str) -> Option<u64> {
    u64::try_from(json.get(key)?.as_number()?.to_i64()?).ok()
}

pub(crate) fn texts_of(json: &Json, key: &str) -> Option<Vec<String>> {
    json.get(key)?.as_list()?.iter().map(|item| item.as_text().map(str::to_owned)).collect()
}

fn tenant_json(row: &TenantRow) -> Json {
    let halted = row.halted.as_ref().map_or(Json::Null, halt_json);
    let mut members = Object::from([("halted".to_owned(), halted)]);
    if !row.halted_groups.is_empty() {
        let groups = row.halted_groups.iter().map(|(group, halt)| (group.clone(), halt_json(halt)));
        members.insert("halted_groups".to_owned(), Json::Object(groups.collect()));
    }
    if !row.holds.is_empty() {
        members.insert("holds".to_owned(), Json::List(row.holds.iter().map(hold_row_json).collect()));
    }
    if let Some(log) = &row.log {
        members.insert("log".to_owned(), Json::text(log.as_str()));
    }
    if row.semantics > 0 {
        members.insert("semantics".to_owned(), Json::from(row.semantics));
    }
    if let Some(kept) = row.keys_kept {
        members.insert("keys_kept_us".to_owned(), Json::Number(Decimal::from(kept.micros())));
    }
    if let Some(before) = row.keys_before {
        members.insert("keys_before".to_owned(), instant_json(before));
    }
    Json::Object(members)
}

fn tenant(json: &Json) -> Option<TenantRow> {
    let halted = match json.get("halted")? {
        Json::Null => None,
        halted @ (Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Object(_)) => {
            Some(halt(halted)?)
        }
    };
    let halted_groups = match json.get("halted_groups") {
        Some(groups) => {
            let read = |(group, halted): (&String, &Json)| Some((group.clone(), halt(halted)?));
            groups.as_object()?.iter().map(read).collect::<Option<_>>()?
        }
        None => BTreeMap::new(),
    };
    let holds = match json.get("holds") {
        Some(holds) => holds.as_list()?.iter().map(hold_row).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    let log = match json.get("log") {
        Some(log) => Some(log.as_text()?.to_owned()),
        None => None,
    };
    let semantics = json.get("semantics").map_or(Some(0), |_| whole_of(json, "semantics"))?;
    let keys_kept = match json.get("keys_kept_us") {
        Some(kept) => Some(Duration::from_micros(kept.as_number()?.to_i64()?)),
        None => None,
    };
    let keys_before = match json.get("keys_before") {
        Some(_) => Some(instant_of(json, "keys_before")?),
        None => None,
    };
    Some(TenantRow { halted, halted_groups, holds, log, semantics, keys_kept, keys_before })
}

fn halt_json(halt: &Halt) -> Json {
    Json::object([
        ("by", Json::text(halt.by.as_str())),
        ("because", Json::text(halt.because.as_str())),
        ("at", instant_json(halt.at)),
    ])
}

fn halt(json: &Json) -> Option<Halt> {
    Some(Halt { by: text_of(json, "by")?, because: text_of(json, "because")?, at: instant_of(json, "at")? })
}

fn hold_row_json(hold: &LegalHold) -> Json {
    Json::object([
        ("id", Json::text(hold.id.as_str())),
        ("from", Json::text(hold.from.to_string())),
        ("to", Json::from(hold.to.map(|to| to.to_string()))),
        ("by", Json::text(hold.by.as_str())),
        ("because", Json::text(hold.because.as_str())),
        ("at", instant_json(hold.at)),
    ])
}

fn hold_row(json: &Json) -> Option<LegalHold> {
    let to = match nullable(json, "to")? {
        Some(to) => Some(to.as_text()?.parse().ok()?),
        None => None,
    };
    Some(LegalHold {
        id: text_of(json, "id")?,
        from: json.get("from")?.as_text()?.parse().ok()?,
        to,
        by: text_of(json, "by")?,
        because: text_of(json, "because")?,
        at: instant_of(json, "at")?,
    })
}

fn restriction_json(restriction: &Restriction) -> Json {
    Json::object([
        ("status", Json::text(restriction.status.word())),
        ("by", Json::text(restriction.by.as_str())),
        ("because", Json::text(restriction.because.as_str())),
        ("at", instant_json(restriction.at)),
        ("actions", Json::texts(restriction.actions.iter().map(String::as_str))),
    ])
}

fn restriction(json: &Json) -> Option<Restriction> {
    Some(Restriction {
        status: AgentStatus::from_word(json.get("status")?.as_text()?)?,
        by: text_of(json, "by")?,
        because: text_of(json, "because")?,
        at: instant_of(json, "at")?,
        actions: texts_of(json, "actions")?.into_iter().collect(),
    })
}

/// An amendment as rows and records hold it.
pub(crate) fn amendment_json(amendment: &Amendment) -> Json {
    let number = |value: Option<Decimal>| value.map_or(Json::Null, decimal_json);
    Json::object([
        ("action", Json::text(amendment.action.as_str())),
        ("param", Json::text(amendment.param.as_str())),
        ("min", number(amendment.min)),
        ("max", number(amendment.max)),
        ("actor", Json::text(amendment.actor.as_str())),
        ("because", Json::text(amendment.because.as_str())),
        ("at", instant_json(amendment.at)),
        ("expires", amendment.expires.map_or(Json::Null, instant_json)),
    ])
}

impl Amendment {
    /// As rows and records hold it.
    pub fn to_json(&self) -> Json {
        amendment_json(self)
    }

    /// Reads what a row or a record holds.
    pub fn from_json(json: &Json) -> Option<Amendment> {
        amendment(json)
    }
}

pub(crate) fn amendment(json: &Json) -> Option<Amendment> {
    Some(Amendment {
        action: text_of(json, "action")?,
        param: text_of(json, "param")?,
        min: decimal_of(json, "min"),
        max: decimal_of(json, "max"),
        actor: text_of(json, "actor")?,
        because: text_of(json, "because")?,
        at: instant_of(json, "at")?,
        expires: instant_of(json, "expires"),
    })
}

fn agent_json(row: &AgentRow) -> Json {
    let session = row.session.as_ref().map_or(Json::Null, |session| {
        Json::object([
            ("token_hash", Json::text(session.token_hash.to_string())),
            ("expires", instant_json(session.expires)),
        ])
    });
    let mut json = Json::object([
        ("base", Json::text(row.base.word())),
        ("restrictions", Json::List(row.restrictions.iter().map(restriction_json).collect())),
        ("role", Json::from(row.role.map(|role| role.word().to_owned()))),
        ("contract", Json::from(row.contract.map(|digest| digest.to_string()))),
        ("offered", Json::from(row.offered.map(|digest| digest.to_string()))),
        ("parent", Json::from(row.parent.clone())),
        ("version", Json::from(row.version.clone())),
        ("session", session),
        ("amendments", Json::List(row.amendments.iter().map(amendment_json).collect())),
    ]);
    if let Json::Object(members) = &mut json {
        members.extend(row.key.as_ref().map(|key| ("key".to_owned(), Json::text(key_text(key)))));
        members.extend(row.group.as_ref().map(|group| ("group".to_owned(), Json::text(group.as_str()))));
        let watched = (!row.watched.is_empty()).then(|| wordings_json(&row.watched));
        members.extend(watched.map(|watched| ("watched".to_owned(), watched)));
        members.extend(row.canary.as_ref().map(|canary| ("canary".to_owned(), canary.to_json())));
    }
    json
}

fn agent(json: &Json) -> Option<AgentRow> {
    let digest = |key: &str| match nullable(json, key)? {
        None => Some(None),
        Some(value) => Digest::parse(value.as_text()?).map(Some),
    };
    let session = match nullable(json, "session")? {
        None => None,
        Some(value) => Some(Session {
            token_hash: Digest::parse(value.get("token_hash")?.as_text()?)?,
            expires: instant_of(value, "expires")?,
        }),
    };
    let role = match nullable(json, "role")? {
        None => None,
        Some(value) => Some(Role::from_word(value.as_text()?)?),
    };
    Some(AgentRow {
        base: AgentStatus::from_word(json.get("base")?.as_text()?)?,
        restrictions: json.get("restrictions")?.as_list()?.iter().map(restriction).collect::<Option<_>>()?,
        role,
        contract: digest("contract")?,
        watched: match json.get("watched") {
            Some(watched) => wordings_of(watched)?,
            None => BTreeMap::new(),
        },
        canary: match json.get("canary") {
            Some(canary) => Some(Canary::from_json(canary)?),
            None => None,
        },
        offered: digest("offered")?,
        parent: optional_text(json, "parent"),
        group: optional_text(json, "group"),
        version: optional_text(json, "version"),
        session,
        amendments: json.get("amendments")?.as_list()?.iter().map(amendment).collect::<Option<_>>()?,
        key: match json.get("key") {
            Some(key) => Some(read_key(key.as_text()?)?),
            None => None,
        },
    })
}

/// Flows are many and mostly young: what says nothing is left out.
fn write_flow(row: &FlowRow, text: &mut String) {
    let some = |count: u64| Some(count).filter(|count| *count > 0);
    let names = |names: &[String]| Json::texts(names.iter().map(String::as_str));
    Members::object(text, |members| {
        if !row.above.is_empty() {
            members.json("above", &names(&row.above));
        }
        members.text("agent", &row.agent);
        if let Some(at) = row.opened_at {
            members.whole("at", at.micros());
        }
        if !row.held.is_empty() {
            members.json("held", &names(&row.held));
        }
        if !row.intents.is_empty() {
            members.json("intents", &names(&row.intents));
        }
        if let Some(latest) = &row.latest {
            members.json("latest", &latest_json(latest));
        }
        if !row.questions.is_empty() {
            members.json("questions", &names(&row.questions));
        }
        if let Some(rejected) = some(row.rejected) {
            members.count("rejected", rejected);
        }
        if row.state != FlowState::Open {
            members.text("state", row.state.word());
        }
        members.count("steps", row.steps);
        if let Some(tokens) = some(row.tokens) {
            members.count("tokens", tokens);
        }
        if row.unlisted {
            members.truth("unlisted", true);
        }
    });
}

fn latest_json(latest: &Latest) -> Json {
    match latest {
        Latest::Rejected => Json::text(ProposalState::Rejected.word()),
        Latest::Done => Json::text(ProposalState::Done.word()),
        Latest::Intent(name) => Json::object([("intent", Json::text(name.as_str()))]),
        Latest::Question(name) => Json::object([("question", Json::text(name.as_str()))]),
    }
}

fn latest(json: &Json) -> Option<Latest> {
    if let Some(word) = json.as_text() {
        let known = [Latest::Rejected, Latest::Done];
        return known.into_iter().find(|latest| latest_json(latest).as_text() == Some(word));
    }
    match optional_text(json, "intent") {
        Some(name) => Some(Latest::Intent(name)),
        None => text_of(json, "question").map(Latest::Question),
    }
}

fn flow(json: &Json) -> Option<FlowRow> {
    let state = match json.get("state") {
        None => FlowState::Open,
        Some(word) => FlowState::from_word(word.as_text()?)?,
    };
    let count = |key: &str| json.get(key).map_or(Some(0), |_| whole_of(json, key));
    let names = |key: &str| json.get(key).map_or(Some(Vec::new()), |_| texts_of(json, key));
    Some(FlowRow {
        state,
        agent: text_of(json, "agent")?,
        opened_at: instant_of(json, "at"),
        above: names("above")?,
        steps: count("steps")?,
        rejected: count("rejected")?,
        tokens: count("tokens")?,
        intents: names("intents")?,
        held: names("held")?,
        questions: names("questions")?,
        unlisted: json.get("unlisted").is_some(),
        latest: match json.get("latest") {
            None => None,
            Some(json) => Some(latest(json)?),
        },
    })
}

fn snapshot_json(snapshot: &Snapshot) -> Json {
    Json::object([
        ("at", instant_json(snapshot.at)),
        ("source", Json::text(snapshot.source.as_str())),
        ("flow", Json::from(snapshot.flow.clone())),
        ("state", Json::Object(snapshot.state.clone())),
        ("session", Json::Object(snapshot.session.clone())),
    ])
}

fn snapshot(json: &Json) -> Option<Snapshot> {
    Some(Snapshot {
        at: instant_of(json, "at")?,
        source: text_of(json, "source")?,
        flow: optional_text(json, "flow"),
        state: json.get("state")?.as_object()?.clone(),
        session: json.get("session")?.as_object()?.clone(),
    })
}
