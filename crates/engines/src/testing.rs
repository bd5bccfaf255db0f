//! Fixtures of the module tests.

use kernel::contract::{
    Action, Ask, Contract, Escalation, EscalationTimeout, Impact, Mode, OnExhausted, ProposalRules, Role,
    TimeoutAnswer, Undo, UndoKind,
};
use std::collections::{BTreeMap, BTreeSet};
use values::json::Json;
use values::time::Duration;

/// An action with these params and nothing else.
pub(crate) fn action(params: &str) -> Action {
    Action {
        once: None,
        params: json(params).into(),
        limits: BTreeMap::new(),
        refuse: Vec::new(),
        allow: None,
        ask: Ask::default(),
        budgets: Vec::new(),
        reserves: Vec::new(),
        validators: BTreeSet::new(),
        judges: BTreeSet::new(),
        leases: None,
        from: BTreeMap::new(),
        impact: Impact::High,
        reads: false,
        run: None,
        undo: Undo { kind: UndoKind::AlertHuman, http: None, within: None },
        amendable: BTreeMap::new(),
    }
}

/// JSON that must be good.
pub(crate) fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

/// A contract without actions.
pub(crate) fn contract() -> Contract {
    let span = |text: &str| Duration::parse(text).unwrap();
    Contract {
        id: "refunds".to_owned(),
        version: "1.0.0".parse().unwrap(),
        agent: "refund-bot".to_owned(),
        role: Role::Executor,
        mission: String::new(),
        mode: Mode::Enforce,
        parent: None,
        priority: None,
        proposal: ProposalRules {
            confidence: None,
            ttl_default: span("30s"),
            ttl_max: span("5m"),
            context_max_age: None,
            retries: 3,
            spend_tokens: None,
            spend_steps: None,
        },
        budgets: Vec::new(),
        drift: Vec::new(),
        wake_when: None,
        resources: BTreeMap::new(),
        validators: BTreeMap::new(),
        judges: BTreeMap::new(),
        handlers: BTreeMap::new(),
        detectors: None,
        enforcement: None,
        witnesses: BTreeMap::new(),
        actions: BTreeMap::new(),
        escalation: Escalation {
            budget_max: 3,
            budget_per: span("1h"),
            approvers: Vec::new(),
            quorum: 1,
            timeout: EscalationTimeout {
                remind: None,
                reroute: None,
                reroute_to: None,
                after: span("15m"),
                then: TimeoutAnswer::Abort,
            },
            on_exhausted: OnExhausted::Passive,
            valid_after: span("15m"),
            signed: false,
        },
        monitors: Vec::new(),
        policies: None,
    }
}
