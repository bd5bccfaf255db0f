//! The ladder, the policy, the choice of a rung and the corrective result.

use super::{check, text};
use kernel::enforcement::corrective::{Corrective, MARK};
use kernel::enforcement::decision::Decision;
use kernel::enforcement::gating::{GatingPolicy, PolicySpec, Unsupported};
use kernel::enforcement::ladder::{Ladder, Rung, RungSpec};
use serde_json::{Value, json};
use values::decimal::Decimal;

#[test]
fn given_rows() {
    check("ladder.jsonl", 143, &[], |row| Some(answer(row)));
}

fn answer(row: &Value) -> (String, String) {
    let (input, expect) = (&row["input"], &row["expect"]);
    let ladder = Ladder::base();
    let token = text(&input["token"]);
    let by = input["by"].as_i64().unwrap_or_default();
    let named = |rung: Result<&Rung, _>| rung.map_or(json!("error"), |rung| json!(rung.token()));
    let ours = match row["op"].as_str().unwrap() {
        "rank_of" => ladder.rung(&token).map_or(json!("error"), |rung| json!(rung.rank())),
        "dispatches" => json!(ladder.dispatches(&token)),
        "returns_synthetic" => json!(ladder.returns_synthetic(&token)),
        "disruption_cost" => ladder.disruption_cost(&token).map_or(json!("error"), |cost| rounded(cost, 1_000_000)),
        "escalate" => named(ladder.escalate(&token, by)),
        "de_escalate" => named(ladder.de_escalate(&token, by)),
        "clamp" => named(ladder.clamp(&token, &text(&input["floor"]), &text(&input["ceiling"]))),
        "policy" => GatingPolicy::new(policy_spec(input), &ladder).map_or(json!("error"), |_| json!("ok")),
        "ladder" => {
            let specs = specs(&input["specs"]);
            Ladder::new(&specs, &text(&input["default"])).map_or(json!("error"), |_| json!("ok"))
        }
        "spec" => {
            let spec = RungSpec {
                token: token.clone(),
                rank: input["rank"].as_i64().unwrap(),
                summary: String::new(),
                dispatches: input["dispatches"].as_bool().unwrap(),
                returns_synthetic: input["returns_synthetic"].as_bool().unwrap(),
            };
            ladder.extended(&[spec]).map_or(json!("error"), |_| json!("ok"))
        }
        "extend" => {
            let extended = ladder.extended(&specs(&input["add"]));
            extended.map_or(json!("error"), |ladder| ladder.rungs().iter().map(Rung::token).collect())
        }
        "choose_intervention" => chosen(input),
        "synthetic_corrective_result" => return corrective(input, expect),
        other => panic!("unknown operation {other}"),
    };
    let theirs = if expect.get("error").is_some() { json!("error") } else { without_prose(expect) };
    (ours.to_string(), theirs.to_string())
}

fn without_prose(expect: &Value) -> Value {
    let mut expect = expect.clone();
    if let Some(members) = expect.as_object_mut() {
        members.remove("reason");
    }
    expect
}

fn specs(listed: &Value) -> Vec<RungSpec> {
    let spec = |pair: &Value| RungSpec {
        token: text(&pair[0]),
        rank: pair[1].as_i64().unwrap(),
        summary: String::new(),
        dispatches: false,
        returns_synthetic: false,
    };
    listed.as_array().unwrap().iter().map(spec).collect()
}

fn rounded(value: Decimal, scale: i64) -> Value {
    let scale = Decimal::from(scale);
    let rounded = value.checked_mul(scale).unwrap().round().checked_div(scale).unwrap();
    json!(rounded.to_string().parse::<f64>().unwrap())
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

fn chosen(input: &Value) -> Value {
    let decision: Decision = policy(&text(&input["policy"])).choose(
        &ladder(&text(&input["ladder"])),
        "update_incident",
        &unsupported(input),
    );
    let rung = decision.rung();
    json!({
        "intervention": rung.token(),
        "confidence": decision.confidence().word(),
        "rung": rung.token(),
        "dispatches": rung.actuation().dispatches(),
        "returns_synthetic": rung.actuation().returns_synthetic(),
        "disruption_cost": decision.disruption_cost().to_string().parse::<f64>().unwrap(),
        "unsupported": decision.unsupported().iter().map(|argument| &argument.argument).collect::<Vec<_>>(),
    })
}

fn policy(name: &str) -> GatingPolicy {
    let same = |token: &str| PolicySpec {
        on_high: token.to_owned(),
        on_low: token.to_owned(),
        on_none: token.to_owned(),
        floor: token.to_owned(),
        ceiling: token.to_owned(),
    };
    let spec = match name {
        "default" => return GatingPolicy::standard(),
        "defer" => PolicySpec { on_high: "DEFER".to_owned(), ceiling: "DEFER".to_owned(), ..PolicySpec::default() },
        "observe_only" => same("OBSERVE"),
        other => panic!("unknown policy {other}"),
    };
    GatingPolicy::new(spec, &Ladder::base()).unwrap()
}

fn ladder(name: &str) -> Ladder {
    let spec = |token: &str, rank: i64, dispatches: bool, returns_synthetic: bool| RungSpec {
        token: token.to_owned(),
        rank,
        summary: String::new(),
        dispatches,
        returns_synthetic,
    };
    match name {
        "base" => Ladder::base(),
        "extended_quarantine_25" => Ladder::base().extended(&[spec("QUARANTINE", 25, false, false)]).unwrap(),
        "reordered_block_below_warn" => {
            let rungs = [
                spec("OBSERVE", 0, true, false),
                spec("BLOCK", 5, false, true),
                spec("WARN", 10, true, false),
                spec("DEFER", 30, false, false),
            ];
            Ladder::new(&rungs, "WARN").unwrap()
        }
        other => panic!("unknown ladder {other}"),
    }
}

/// What a reader of provenance finds in the few calls of the file: it is not part of what is tested here.
fn unsupported(input: &Value) -> Vec<Unsupported> {
    let (args, prior) = (input["args"].to_string(), input["prior_tool_results"].to_string());
    let incident = Unsupported::new("sys_id", 1, ["9999999"]);
    match (args.as_str(), prior.as_str()) {
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
        other => panic!("a call that nobody looked at: {other:?}"),
    }
}

/// Status, unresolved parts and the mark; the mark has our name.
fn corrective(input: &Value, expect: &Value) -> (String, String) {
    let tool = text(&input["tool_name"]);
    let corrective = Corrective::unresolved(&tool, &unsupported(input), input["read_tool_hint"].as_str());
    let ours: Value = serde_json::from_str(&corrective.to_json().to_canonical()).unwrap();
    for prose in ["error", "remediation"] {
        let sentence = text(&ours[prose]);
        assert!(sentence.contains(&tool), "{sentence}");
    }
    let pick = |value: &Value, mark: &str| json!([value["status"], value["unresolved"], value[mark]]).to_string();
    (pick(&ours, MARK), pick(expect, "dos_blocked"))
}
