//! Orders: what an intent permits, as it stands in the ledger. What is performed is exactly this.
//!
//! One function writes the canonical text of an order and one reads it; records, stores and signed intents hold that text.

use super::{Hold, Intent, hold_json};
use crate::contract::{Action, EffectClass, Executor, Impact, ResourceKind, Run, Undo, UndoKind};
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::{Json, Members, Object};
use values::time::{Duration, Instant};

/// What an intent permits.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    /// The intent.
    pub id: String,
    pub agent: String,
    pub action: String,
    pub flow: String,
    pub proposal: String,
    /// The contract it was accepted under.
    pub contract: Digest,
    pub effect_key: String,
    /// What the receiving side guarantees.
    pub class: EffectClass,
    pub impact: Impact,
    /// As the ledger shows them: secret ones are commitments.
    pub params: Object,
    pub holds: Vec<Hold>,
    /// How it is performed; nothing where the contract does not say.
    pub run: Option<Run>,
    pub undo: Option<Undo>,
    pub valid_until: Instant,
    /// The intent that this one undoes.
    pub undoes: Option<String>,
}

/// How long performing may take where the contract does not say.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(600);

impl Order {
    /// How long performing it may take.
    pub fn timeout(&self) -> Duration {
        self.run.as_ref().map_or(TIMEOUT_DEFAULT, |run| run.timeout)
    }

    /// Who performs it; nothing where the contract does not say.
    pub fn executor(&self) -> Option<&Executor> {
        self.run.as_ref().map(|run| &run.executor)
    }

    /// Whether params of it are withheld from the ledger.
    pub fn withholds(&self) -> bool {
        self.withheld().next().is_some()
    }

    /// The names of params that are withheld from the ledger.
    pub fn withheld(&self) -> impl Iterator<Item = &str> {
        let is_withheld = |value: &Json| {
            let alone = value.as_object().is_some_and(|members| members.len() == 1);
            alone && ["secret", "withheld"].iter().any(|word| value.get(word) == Some(&Json::Bool(true)))
        };
        self.params.iter().filter(move |(_, value)| is_withheld(value)).map(|(name, _)| name.as_str())
    }

    /// Forgets its params, and says so in their place.
    pub(crate) fn erase_params(&mut self) {
        self.params = Object::from([("erased".to_owned(), Json::Bool(true))]);
    }

    /// The digest of its canonical bytes: what an attempt must name.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_canonical())
    }

    pub fn to_canonical(&self) -> String {
        let mut text = String::with_capacity(512);
        self.write(&mut text);
        text
    }

    pub fn to_json(&self) -> Json {
        Json::parse_own(&self.to_canonical())
    }

    fn write(&self, text: &mut String) {
        let repeated = Repeated {
            action: &self.action,
            agent: &self.agent,
            contract: &self.contract,
            flow: &self.flow,
            params: &|text| values::json::write_members(&self.params, text),
            proposal: &self.proposal,
        };
        let run = |text: &mut String| match &self.run {
            Some(run) => write_run(run, text),
            None => text.push_str("null"),
        };
        let undo = |text: &mut String| match &self.undo {
            Some(undo) => write_undo(undo, text),
            None => text.push_str("null"),
        };
        let parts = Parts {
            repeated: Some(repeated),
            class: self.class,
            effect_key: &self.effect_key,
            holds: &self.holds,
            id: &self.id,
            impact: self.impact,
            run: &run,
            undo: &undo,
            undoes: self.undoes.as_deref(),
            valid_until: self.valid_until,
        };
        parts.write(text);
    }

    /// The order that a decision or an answer accepted, from the body of its record.
    pub fn from_record(body: &Json) -> Option<Order> {
        // A decision's record does not repeat what stands in it already; an answer's record holds the whole.
        match Intent::from_record(body) {
            Some(intent) => Order::from_json(&intent),
            None => Order::from_json(body.get("intent")?),
        }
    }

    /// Whether an order undoes this one: exactly the contract's request with exactly the params of what happened.
    pub fn is_undone_by(&self, undo: &Order) -> bool {
        let request = self.undo.as_ref().map(|rules| rules.http.clone().map_or(Executor::Host, Executor::Http));
        let headers = self.run.as_ref().map(|run| run.headers.clone()).unwrap_or_default();
        let is_run = |run: &Run| Some(&run.executor) == request.as_ref() && run.headers == headers;
        undo.run.as_ref().is_some_and(is_run)
            && undo.undoes.as_ref() == Some(&self.id)
            && undo.effect_key.strip_prefix("undo:") == Some(&self.effect_key)
            && (&undo.params, undo.contract, &undo.agent) == (&self.params, self.contract, &self.agent)
    }

    /// Reads what [`Order::to_json`] gives.
    pub fn from_json(json: &Json) -> Option<Order> {
        let text = |key: &str| Some(json.get(key)?.as_text()?.to_owned());
        let or_null = |key: &str| json.get(key).filter(|value| **value != Json::Null);
        Some(Order {
            id: text("id")?,
            agent: text("agent")?,
            action: text("action")?,
            flow: text("flow")?,
            proposal: text("proposal")?,
            contract: Digest::parse(json.get("contract")?.as_text()?)?,
            effect_key: text("effect_key")?,
            class: EffectClass::from_word(json.get("class")?.as_text()?)?,
            impact: Impact::from_word(json.get("impact")?.as_text()?)?,
            params: json.get("params")?.as_object()?.clone(),
            holds: json.get("holds")?.as_list()?.iter().map(read_hold).collect::<Option<_>>()?,
            run: match or_null("run") {
                Some(run) => Some(read_run(run)?),
                None => None,
            },
            undo: match or_null("undo") {
                Some(undo) => Some(read_undo(undo)?),
                None => None,
            },
            valid_until: Instant::parse(json.get("valid_until")?.as_text()?)?,
            undoes: json.get("undoes").map_or(Some(None), |name| Some(Some(name.as_text()?.to_owned())))?,
        })
    }
}

impl Intent {
    /// What it permits.
    pub fn order(&self) -> Order {
        let submission = &self.submission;
        let action = submission.contract.contract.actions.get(&submission.proposal.action);
        let run = action.and_then(|action| action.run.clone());
        Order {
            id: self.id.clone(),
            agent: submission.proposal.agent.clone(),
            action: submission.proposal.action.clone(),
            flow: submission.flow_id().to_owned(),
            proposal: submission.proposal_id().to_owned(),
            contract: submission.contract.digest,
            effect_key: self.effect_key.clone(),
            class: run.as_ref().map_or(EffectClass::Opaque, |run| run.class),
            impact: action.map_or(Impact::High, |action: &Action| action.impact),
            params: submission.shown_params(),
            holds: self.holds.clone(),
            run,
            undo: action.map(|action| action.undo.clone()),
            valid_until: self.valid_until,
            undoes: None,
        }
    }
}

/// The members of an order, wherever they come from.
pub(super) struct Parts<'a> {
    /// What also stands elsewhere in the record of the decision, and is left out there.
    pub(super) repeated: Option<Repeated<'a>>,
    pub(super) class: EffectClass,
    pub(super) effect_key: &'a str,
    pub(super) holds: &'a [Hold],
    pub(super) id: &'a str,
    pub(super) impact: Impact,
    pub(super) run: &'a dyn Fn(&mut String),
    pub(super) undo: &'a dyn Fn(&mut String),
    pub(super) undoes: Option<&'a str>,
    pub(super) valid_until: Instant,
}

pub(super) struct Repeated<'a> {
    pub(super) action: &'a str,
    pub(super) agent: &'a str,
    pub(super) contract: &'a Digest,
    pub(super) flow: &'a str,
    pub(super) params: &'a dyn Fn(&mut String),
    pub(super) proposal: &'a str,
}

impl Parts<'_> {
    /// Appends the canonical text.
    pub(super) fn write(&self, text: &mut String) {
        let repeated = self.repeated.as_ref();
        Members::object(text, |members| {
            if let Some(repeated) = repeated {
                members.text("action", repeated.action);
                members.text("agent", repeated.agent);
            }
            members.text("class", self.class.word());
            if let Some(repeated) = repeated {
                members.digest("contract", repeated.contract);
            }
            members.text("effect_key", self.effect_key);
            if let Some(repeated) = repeated {
                members.text("flow", repeated.flow);
            }
            members.list("holds", self.holds, |hold, text| hold_json(hold).write_canonical(text));
            members.text("id", self.id);
            members.text("impact", self.impact.word());
            if let Some(repeated) = repeated {
                members.with("params", repeated.params);
                members.text("proposal", repeated.proposal);
            }
            members.with("run", self.run);
            members.with("undo", self.undo);
            members.text_if_any("undoes", self.undoes);
            members.instant("valid_until", self.valid_until);
        });
    }
}

/// Appends the canonical text of how it is performed.
pub(super) fn write_run(run: &Run, text: &mut String) {
    let (kind, value) = run.executor.member();
    let headers = run.headers.iter().map(|(name, value)| (name.clone(), Json::text(value.as_str()))).collect();
    let json = Json::object([
        (kind, value),
        ("class", Json::text(run.class.word())),
        ("timeout", Json::text(run.timeout.to_string())),
        ("headers", Json::Object(headers)),
    ]);
    json.write_canonical(text);
}

/// Appends the canonical text of how it is undone.
pub(super) fn write_undo(undo: &Undo, text: &mut String) {
    Members::object(text, |members| {
        members.text_or_null("http", undo.http.as_deref());
        members.text("kind", undo.kind.word());
        members.text_or_null("within", undo.within.map(|within| within.to_string()).as_deref());
    });
}

fn read_run(json: &Json) -> Option<Run> {
    let header = |(name, value): (&String, &Json)| Some((name.clone(), value.as_text()?.to_owned()));
    let headers = json.get("headers")?.as_object()?.iter().map(header);
    Some(Run {
        executor: Executor::read(json)?,
        class: EffectClass::from_word(json.get("class")?.as_text()?)?,
        timeout: Duration::parse(json.get("timeout")?.as_text()?)?,
        headers: headers.collect::<Option<BTreeMap<_, _>>>()?,
    })
}

fn read_undo(json: &Json) -> Option<Undo> {
    let or_null = |key: &str| {
        let value = json.get(key)?;
        if *value == Json::Null { Some(None) } else { Some(Some(value.as_text()?)) }
    };
    Some(Undo {
        kind: UndoKind::from_word(json.get("kind")?.as_text()?)?,
        http: or_null("http")?.map(str::to_owned),
        within: match or_null("within")? {
            Some(text) => Some(Duration::parse(text)?),
            None => None,
        },
    })
}

/// What an intent holds of a resource, as [`hold_json`] writes it.
pub(crate) fn read_hold(json: &Json) -> Option<Hold> {
    let amount = json.get("amount")?;
    let unit = json.get("unit").and_then(Json::as_text);
    Some(Hold {
        resource: json.get("resource")?.as_text()?.to_owned(),
        amount: amount.as_number().or_else(|| Decimal::parse(amount.as_text()?))?,
        kind: ResourceKind::from_word(json.get("kind")?.as_text()?)?,
        unit: unit.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::order;

    #[track_caller]
    fn check(order: &Order) {
        let text = order.to_canonical();
        let json = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(json.to_canonical(), text, "members stand in canonical order");
        assert_eq!(Order::from_json(&json).as_ref(), Some(order));
        assert_eq!(order.to_json(), json);
    }

    #[test]
    fn an_order_is_read_back_as_it_was_written() {
        let order = order();
        check(&order);
        let executors = [
            Executor::Http("POST https://pay.example/{id}".to_owned()),
            Executor::Command(vec!["pack".to_owned(), "{id}".to_owned()]),
            Executor::Function("pay".to_owned()),
            Executor::Host,
        ];
        for executor in executors {
            let headers = BTreeMap::from([("authorization".to_owned(), "secret://env/TOKEN".to_owned())]);
            let timeout = Duration::from_micros(1_500_000);
            check(&Order {
                run: Some(Run { executor, class: EffectClass::Fenced, timeout, headers }),
                ..order.clone()
            });
        }
        let hold = Hold {
            resource: "pool".to_owned(),
            amount: Decimal::parse("0.1").unwrap(),
            kind: ResourceKind::Stock,
            unit: None,
        };
        let undo = Undo { kind: UndoKind::Revert, http: None, within: Some(Duration::from_secs(90)) };
        check(&Order { holds: vec![hold], undo: Some(undo), undoes: Some("i-0".to_owned()), ..order });
    }

    #[test]
    fn what_is_no_order_is_not_read_as_one() {
        let text = order().to_canonical();
        for (right, wrong) in [
            (r#""class":"opaque""#, r#""class":"opak""#),
            (r#""impact":"HIGH""#, r#""impact":"TALL""#),
            (r#""params":{}"#, r#""params":[]"#),
            (r#""run":null"#, r#""run":{}"#),
            (r#""undo":null"#, r#""undo":{"kind":"NOOP"}"#),
        ] {
            let damaged = text.replace(right, wrong);
            assert_ne!(damaged, text, "{right}");
            assert_eq!(Order::from_json(&Json::parse(damaged.as_bytes()).unwrap()), None, "{wrong}");
        }
    }
}
