//! Random contracts in the full form: three actions over a few params, every kind of rule present in some of them.

use engines::load::load;
use kernel::evaluator::Compiled;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::fmt::{self, Write as _};
use std::sync::Arc;
use values::json::{Bounds, Json};

/// Amounts contracts and proposals share, so that bounds are met exactly as often as missed.
pub const AMOUNTS: &[&str] = &["0", "0.01", "1", "5", "9.99", "10", "10.01", "49.5", "50", "99", "100", "1000"];

/// A contract that compiles. Its JSON is the full form, the digest's form.
#[derive(Clone)]
pub struct Made {
    pub json: Json,
    pub compiled: Arc<Compiled>,
}

/// A failing case shows the contract as it can be read again.
impl fmt::Debug for Made {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.json.to_canonical())
    }
}

/// Loads a contract; `None` if it is not a contract.
pub fn made(json: &Json) -> Option<Made> {
    let compiled = load(&json.to_canonical()).ok()?.compiled;
    Some(Made { json: compiled.contract.to_json(), compiled: Arc::new(compiled) })
}

/// A random contract: mostly a calm one, under which much is accepted, now and then one that has every kind of rule.
pub fn contracts() -> impl Strategy<Value = Made> {
    prop_oneof![2 => contract(0.35), 1 => contract(0.8)]
}

fn contract(dense: f64) -> impl Strategy<Value = Made> {
    let head =
        (proposal_rules(dense), escalation(), budgets(dense), drift(dense), option(policy(), dense * 0.2), role());
    let body = (action(dense), action(dense), select(&["1", "10", "50", "150"][..]), any::<bool>());
    (head, body).prop_map(|((proposal, escalation, budgets, drift, policies, role), (pay, send, capacity, slots))| {
        let kind = if slots { "slots" } else { "stock" };
        let mut text = format!(
            r#"{{"agent":"bot","role":"{role}","proposal":{proposal},"escalation":{escalation},"budgets":[{budgets}],
            "drift":{{{drift}}},"resources":{{"pool":{{"kind":"{kind}","capacity":{capacity}}}}},
            "actions":{{"pay":{pay},"send":{send},"look":{{"reads":true,
            "params":{{"type":"object","properties":{{"kind":{{"type":"string"}}}}}}}}}}"#
        );
        if let Some(policies) = policies {
            write!(text, r#","policies":"{policies}""#).expect("text grows");
        }
        text.push('}');
        let json = Json::parse_within(text.as_bytes(), &Bounds::FILE);
        let json = json.unwrap_or_else(|refusal| panic!("{refusal}: {text}"));
        load(&json.to_canonical()).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
        made(&json).expect("it has just been loaded")
    })
}

fn option(strategy: impl Strategy<Value = String>, probability: f64) -> impl Strategy<Value = Option<String>> {
    proptest::option::weighted(probability, strategy)
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

fn role() -> impl Strategy<Value = &'static str> {
    prop_oneof![60 => Just("EXECUTOR"), 1 => Just("STRATEGIST"), 1 => Just("MONITOR"), 1 => Just("INTERFACE")]
}

/// A member of an object, or nothing.
fn maybe(key: &'static str, probability: f64, value: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    option(value.prop_map(move |value| format!("\"{key}\":{value}")), probability)
        .prop_map(Option::unwrap_or_default)
        .boxed()
}

fn joined(parts: Vec<String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",")
}

fn object(parts: Vec<BoxedStrategy<String>>) -> BoxedStrategy<String> {
    parts.prop_map(|parts| format!("{{{}}}", joined(parts))).boxed()
}

fn proposal_rules(dense: f64) -> BoxedStrategy<String> {
    let confidence =
        word(&[r#"{"reject_below":0.3,"escalate_below":0.6}"#, r#"{"reject_below":0.5}"#, r#"{"escalate_below":0.9}"#]);
    object(vec![
        maybe("confidence", dense * 0.6, confidence),
        maybe("ttl", dense * 0.4, word(&[r#"{"max":"10s"}"#, r#"{"default":"20s","max":"40s"}"#])),
        maybe("context_max_age", dense * 0.3, word(&["\"1s\"", "\"2h\""])),
        maybe("retries", dense * 0.7, word(&["0", "1", "2", "5", "5"])),
        maybe("spend", dense * 0.3, word(&[r#"{"steps":2}"#, r#"{"tokens":100}"#, r#"{"steps":4,"tokens":150}"#])),
    ])
}

fn escalation() -> BoxedStrategy<String> {
    object(vec![
        maybe("budget", 0.6, word(&[r#"{"max":0}"#, r#"{"max":1,"per":"10m"}"#, r#"{"max":5,"per":"1h"}"#])),
        maybe("on_exhausted", 0.7, word(&["\"PASSIVE\"", "\"ABORT\"", "\"ABORT\""])),
    ])
}

fn budgets(dense: f64) -> BoxedStrategy<String> {
    let known = vec![
        r#"{"sum":"amount","max":120,"per":"1h"}"#,
        r#"{"sum":"amount","max":60.5,"per":"10m"}"#,
        r#"{"sum":"fee","max":10.01,"per":"1h"}"#,
        r#"{"count":true,"max":2,"per":"10m"}"#,
        r#"{"count":true,"max":4,"per":"24h"}"#,
    ];
    let some = subsequence(known, 1..=2).prop_map(|parts| parts.join(","));
    option(some, dense * 0.9).prop_map(Option::unwrap_or_default).boxed()
}

fn drift(dense: f64) -> BoxedStrategy<String> {
    let known = vec![r#""price/{kind}":{"percent":5}"#, r#""limit":{"absolute":1}"#, r#""status":"exact""#];
    let some = subsequence(known, 1..=2).prop_map(|parts| parts.join(","));
    option(some, dense * 0.5).prop_map(Option::unwrap_or_default).boxed()
}

fn policy() -> BoxedStrategy<String> {
    let known = [
        "forbid(principal, action, resource) when { context.params has kind && context.params.kind == \\\"lost\\\" };",
        "forbid(principal, action == Action::\\\"send\\\", resource);",
    ];
    prop_oneof![Just(known[0].to_owned()), Just(known[1].to_owned())].boxed()
}

/// The params of every action that has an effect; `price` is decimal text, `pin` is secret, `any` is anything.
fn schema() -> BoxedStrategy<String> {
    let optional = vec!["\"fee\"", "\"payee\"", "\"kind\"", "\"price\"", "\"pin\""];
    let required = subsequence(optional, 0..=2).prop_map(|names| names.join(","));
    (required, any::<bool>(), prop::bool::weighted(0.3))
        .prop_map(|(required, closed, open_amount)| {
            let amount = if open_amount { "{}" } else { r#"{"type":"number"}"# };
            let closed = if closed { r#""additionalProperties":false,"# } else { "" };
            format!(
                r#"{{"type":"object",{closed}"required":[{required}],"properties":{{"amount":{amount},
                "fee":{{"type":"number"}},"payee":{{"type":"string"}},"kind":{{"type":"string"}},
                "price":{{"type":"string","format":"decimal"}},"pin":{{"type":"string","secret":true}},"any":{{}}}}}}"#
            )
        })
        .boxed()
}

fn bounds() -> BoxedStrategy<String> {
    object(vec![
        maybe("min", 0.3, word(&["0.01", "1", "5"])),
        maybe("max", 0.7, word(&["5", "10", "49.5", "50", "100"])),
        maybe("unit", 0.2, word(&["\"EUR\""])),
        maybe("signed", 0.2, word(&["true", "false"])),
        maybe("state", 0.1, word(&["\"limit\"", r#"{"key":"limit","tolerance":{"percent":50}}"#])),
    ])
}

fn sets() -> BoxedStrategy<String> {
    let denied = word(&[r#"["mallory","ED"]"#, r#"["LOST","x","b"]"#]);
    let matching = word(&["\"exact\"", "\"substring\""]);
    let denying = (denied, matching).prop_map(|(denied, matching)| format!(r#""denied":{denied},"match":{matching}"#));
    let allowed = word(&[r#"["late","lost"]"#, r#"["late",5,true,"ann","bob","cy"]"#]);
    let allowing = allowed.prop_map(|allowed| format!("\"allowed\":{allowed}"));
    let single = Just(r#""script":"single""#.to_owned());
    prop_oneof![3 => denying, 2 => allowing, 1 => single].prop_map(|set| format!("{{{set}}}")).boxed()
}

fn rules() -> BoxedStrategy<String> {
    let known = vec![
        r#"{"when":"params.amount > 70"}"#,
        r#"{"when":"has(params.kind) && params.kind == 'odd'","reason":"ODD_KIND"}"#,
        r#"{"when":"state.limit > 60","reason":"LIMIT_HIGH"}"#,
        r#"{"when":"params.fee > params.amount","reason":"FEE_TOO_HIGH"}"#,
    ];
    subsequence(known, 0..=1).prop_map(|rules| format!("[{}]", rules.join(","))).boxed()
}

fn action(dense: f64) -> BoxedStrategy<String> {
    let limits = object(vec![
        maybe("amount", dense * 0.7, bounds()),
        maybe("fee", dense * 0.2, bounds()),
        maybe("price", dense * 0.2, bounds()),
        maybe("kind", dense * 0.4, sets()),
        maybe("payee", dense * 0.3, sets()),
        maybe("pin", dense * 0.2, sets()),
        maybe("any", dense * 0.3, sets()),
    ]);
    let from = word(&[
        r#"{"payee":["user"]}"#,
        r#"{"payee":["user","state"],"kind":["tool"]}"#,
        r#"{"amount":["none"]}"#,
        r#"{"amount":["user","tool"]}"#,
    ]);
    let reserves = word(&[
        r#"[{"resource":"pool","amount":"amount"}]"#,
        r#"[{"resource":"pool","amount":1},{"resource":"pool","amount":"amount"}]"#,
        r#"[{"resource":"pool","amount":0.5}]"#,
    ]);
    object(vec![
        schema().prop_map(|schema| format!("\"params\":{schema}")).boxed(),
        maybe(
            "once",
            dense * 0.5,
            word(&["\"a:{payee}\"", "\"a:{payee}:{kind}\"", "\"b:{amount}\"", "\"b:{amount}/{kind}\""]),
        ),
        limits.prop_map(|limits| format!("\"limits\":{limits}")).boxed(),
        maybe("refuse", dense * 0.4, rules()),
        maybe("allow", dense * 0.2, word(&["\"params.amount <= 50\"", "\"true\""])),
        maybe("ask", dense * 0.5, rules()),
        maybe("budgets", dense * 0.8, budgets(1.0).prop_map(|budgets| format!("[{budgets}]"))),
        maybe("reserves", dense * 0.3, reserves),
        maybe("from", dense * 0.4, from),
    ])
}
