//! Effect key: at most one live or successful intent per business effect, whoever asks.

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    // An effect that did not happen left its key without an intent.
    let Some(effect) = facts.effect.filter(|effect| !effect.intent.is_empty()) else { return };
    let reason = if effect.done { Reason::AlreadyDone } else { Reason::InProgress };
    let finding = Finding::reject(Gate::EffectKey, reason);
    let key = facts.effect_key.unwrap_or_default();
    findings.push(finding.with("effect_key", key).with("intent", effect.intent.as_str()));
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn the_same_effect_is_not_started_twice() {
        let case = case().once("pay:{amount}").amount(5).check("ACCEPT").check("REJECT IN_PROGRESS");
        case.amount(6).check("ACCEPT").flow("another").check("REJECT IN_PROGRESS");
    }

    #[test]
    fn without_a_key_flow_step_and_params_name_the_effect() {
        let case = case().flow("f").step("1").check("ACCEPT").check("REJECT IN_PROGRESS");
        case.step("2").check("ACCEPT").flow("g").check("ACCEPT");
    }

    #[test]
    fn secrets_do_not_name_effects() {
        let schema = br#"{"type":"object","properties":{"amount":{},"pin":{"secret":true}}}"#;
        let schema = values::json::Json::parse(schema).unwrap();
        let case = case().contract(|contract| contract.actions.get_mut("pay").unwrap().params = schema.clone().into());
        let case = case.flow("f").params(r#"{"amount":5,"pin":"1"}"#).check("ACCEPT");
        let case = case.params(r#"{"amount":5,"pin":"2"}"#).check("REJECT IN_PROGRESS");
        case.params(r#"{"amount":6,"pin":"1"}"#).check("ACCEPT");
    }

    #[test]
    fn reads_have_no_effect_to_repeat() {
        case().flow("f").action("look").params("{}").check("ACCEPT").check("ACCEPT");
    }

    #[test]
    fn duplicates_do_not_use_up_retries() {
        let mut case = case().once("pay:{amount}").flow("f").amount(5).check("ACCEPT");
        for _ in 0..5 {
            case = case.check("REJECT IN_PROGRESS");
        }
        case.amount(6).check("ACCEPT");
    }
}
