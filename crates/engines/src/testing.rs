//! Fixtures of the module tests.

use kernel::contract::{Action, Contract, Escalation, OnExhausted};
use values::json::Json;

/// An action with these params and nothing else.
pub(crate) fn action(params: &str) -> Action {
    Action { params: json(params).into(), ..Action::default() }
}

/// JSON that must be good.
pub(crate) fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

/// A contract without actions.
pub(crate) fn contract() -> Contract {
    Contract {
        id: "refunds".to_owned(),
        version: "1.0.0".parse().unwrap(),
        escalation: Escalation { budget_max: 3, on_exhausted: OnExhausted::Passive, ..Escalation::default() },
        ..Contract::of_agent("refund-bot")
    }
}
