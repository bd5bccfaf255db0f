//! The ladder, the policy, the choice of a rung and the corrective result.

use super::{Compared, is_error, text};
use kernel::enforcement::corrective::{Corrective, MARK};
use kernel::enforcement::decision::Decision;
use kernel::enforcement::gating::{GatingPolicy, PolicySpec, Unsupported};
use kernel::enforcement::ladder::{Ladder, Rung, RungSpec};
use serde_json::{Value, json};
use values::decimal::Decimal;

/// `None` for operations that are not built, and for calls whose arguments nobody traced.
pub fn answer(op: &str, row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let ladder = Ladder::base();
    let token = text(&input["token"]);
    let by = input["by"].as_i64().unwrap_or_default();
    let named = |rung: Result<&Rung, _>| rung.map_or(json!("error"), |rung| json!(rung.token()));
    let ours = match op {
        "rank_of" => ladder.rung(&token).map_or(json!("error"), |rung| json!(rung.rank())),
        "dispatches" => json!(ladder.dispatches(&token)),
        "returns_synthetic" => json!(ladder.returns_synthetic(&token)),
        "disruption_cost" => ladder.disruption_cost(&token).map_or(json!("error"), |cost| rounded(cost, 1_000_000)),
        "escalate" => named(ladder.escalate(&token, by)),
        "de_escalate" => named(ladder.de_escalate(&token, by)),
        "clamp" => named(ladder.clamp(&token, &text(&input["floor"]), &text(&input["ceiling"]))),
        "policy" => GatingPolicy::new(policy_spec(input), &ladder).map_or(json!("error"), |_| json!("ok")),
        "ladder" => {
            let specs = specs(&input["specs"])?;
            Ladder::new(&specs, &text(&input["default"])).map_or(json!("error"), |_| json!("ok"))
        }
        "spec" => {
            let spec = RungSpec {
                token: token.clone(),
                rank: input["rank"].as_i64()?,
                summary: String::new(),
                dispatches: input["dispatches"].as_bool()?,
                returns_synthetic: input["returns_synthetic"].as_bool()?,
            };
            ladder.extended(&[spec]).map_or(json!("error"), |_| json!("ok"))
        }
        "extend" => {
            let extended = ladder.extended(&specs(&input["add"])?);
            extended.map_or(json!("error"), |ladder| ladder.rungs().iter().map(Rung::token).collect())
        }
        "choose_intervention" => chosen(input)?,
        "synthetic_corrective_result" => return corrective(input, expect),
        _ => return None,
    };
    let theirs = if is_error(expect) { json!("error") } else { without_prose(expect) };
    let is_extended = op == "choose_intervention" && is_error(expect) && ours != json!("error");
    Some(Compared::new(ours.to_string(), theirs.to_string()).by(is_extended.then_some("added_rung")))
}

fn without_prose(expect: &Value) -> Value {
    let mut expect = expect.clone();
    if let Some(members) = expect.as_object_mut() {
        members.remove("reason");
    }
    expect
}

fn specs(listed: &Value) -> Option<Vec<RungSpec>> {
    let spec = |pair: &Value| {
        let (token, rank) = (text(pair.get(0)?), pair.get(1)?.as_i64()?);
        Some(RungSpec { token, rank, summary: String::new(), dispatches: false, returns_synthetic: false })
    };
    listed.as_array()?.iter().map(spec).collect()
}

fn rounded(value: Decimal, scale: i64) -> Value {
    let scale = Decimal::from(scale);
    let rounded = value.checked_mul(scale).and_then(|scaled| scaled.round().checked_div(scale));
    rounded.map_or(Value::Null, number)
}

fn number(value: Decimal) -> Value {
    value.to_string().parse::<f64>().map_or(Value::Null, |number| json!(number))
}

fn policy_spec(input: &Value) -> PolicySpec {
    PolicySpec {
        on_high: text(&input["on_high_confidence"]),
        on_low: text(&input["on_low_confidence"]),
        on_none: text(&input["on_none"]),
        floor: text(&input["floor"]),
        ceiling: text(&input["ceiling"]),
    }
}

fn chosen(input: &Value) -> Option<Value> {
    let (policy, ladder) = (policy(&text(&input["policy"]))?, ladder(&text(&input["ladder"]))?);
    let decision: Decision = policy.choose(&ladder, "update_incident", &unsupported(input)?);
    let rung = decision.rung();
    Some(json!({
        "intervention": rung.token(),
        "confidence": decision.confidence().word(),
        "rung": rung.token(),
        "dispatches": rung.actuation().dispatches(),
        "returns_synthetic": rung.actuation().returns_synthetic(),
        "disruption_cost": number(decision.disruption_cost()),
        "unsupported": decision.unsupported().iter().map(|argument| &argument.argument).collect::<Vec<_>>(),
    }))
}

fn policy(name: &str) -> Option<GatingPolicy> {
    let same = |token: &str| PolicySpec {
        on_high: token.to_owned(),
        on_low: token.to_owned(),
        on_none: token.to_owned(),
        floor: token.to_owned(),
        ceiling: token.to_owned(),
    };
    let spec = match name {
        "default" => return Some(GatingPolicy::standard()),
        "defer" => PolicySpec { on_high: "DEFER".to_owned(), ceiling: "DEFER".to_owned(), ..PolicySpec::default() },
        "observe_only" => same("OBSERVE"),
        _ => return None,
    };
    GatingPolicy::new(spec, &Ladder::base()).ok()
}

fn ladder(name: &str) -> Option<Ladder> {
    let spec = |token: &str, rank: i64, dispatches: bool, returns_synthetic: bool| RungSpec {
        token: token.to_owned(),
        rank,
        summary: String::new(),
        dispatches,
        returns_synthetic,
    };
    match name {
        "base" => Some(Ladder::base()),
        "extended_quarantine_25" => Ladder::base().extended(&[spec("QUARANTINE", 25, false, false)]).ok(),
        "reordered_block_below_warn" => {
            let rungs = [
                spec("OBSERVE", 0, true, false),
                spec("BLOCK", 5, false, true),
                spec("WARN", 10, true, false),
                spec("DEFER", 30, false, false),
            ];
            Ladder::new(&rungs, "WARN").ok()
        }
        _ => None,
    }
}

/// What a reader of provenance finds in the few calls of the given file. There is no such reader yet, so other calls are
/// not known.
fn unsupported(input: &Value) -> Option<Vec<Unsupported>> {
    let (args, prior) = (input["args"].to_string(), input["prior_tool_results"].to_string());
    let incident = Unsupported::new("sys_id", 1, ["9999999"]);
    Some(match (args.as_str(), prior.as_str()) {
        (_, "[]") | (r#"{"sys_id":"INC0010023"}"# | r#"{"note":"hello there"}"#, _) => vec![],
        (r#"{"sys_id":"INC9999999"}"#, _) => vec![incident],
        (r#"{"ids":["INC9999999","INC0010023"]}"#, _) => vec![Unsupported::new("ids", 2, ["9999999"])],
        (r#"{"ids":["INC9999999"]}"#, _) => vec![Unsupported::new("ids", 1, ["9999999"])],
        (r#"{"email":"user_4242@evilcorp.com"}"#, r#"["acme.com 4242"]"#) => {
            vec![Unsupported::new("email", 2, ["evilcorp"])]
        }
        (r#"{"email":"user_4242@evilcorp.com"}"#, _) => vec![Unsupported::new("email", 2, ["4242", "evilcorp"])],
        (r#"{"a_id":"CHG7777777","b":"user_4242@evilcorp.com"}"#, _) => {
            vec![Unsupported::new("a_id", 1, ["7777777"]), Unsupported::new("b", 2, ["4242", "evilcorp"])]
        }
        (_, _) => return None,
    })
}

/// Status, unresolved parts and the mark; the mark has our name.
fn corrective(input: &Value, expect: &Value) -> Option<Compared> {
    let tool = text(&input["tool_name"]);
    let corrective = Corrective::unresolved(&tool, &unsupported(input)?, input["read_tool_hint"].as_str());
    let ours: Value = serde_json::from_str(&corrective.to_json().to_canonical()).ok()?;
    let pick = |value: &Value, mark: &str| json!([value["status"], value["unresolved"], value[mark]]).to_string();
    Some(Compared::new(pick(&ours, MARK), pick(expect, "dos_blocked")))
}
