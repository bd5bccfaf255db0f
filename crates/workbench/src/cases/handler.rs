//! What becomes of a call when a handler answers this or that.

use super::{Compared, is_error, json, renamed, text};
use kernel::enforcement::corrective::MARK;
use kernel::enforcement::decision::Decision;
use kernel::enforcement::handler::{Answer, Effect, Enforced, HandlerName, Taken, settle};
use kernel::enforcement::ladder::Ladder;
use kernel::enforcement::registry::{Handler, Registry};
use serde_json::{Value, json};
use values::json::Json;

pub fn answer(row: &Value) -> Option<Compared> {
    let ladder = Ladder::base();
    let decided = &row["decision"];
    let (rung, reason) = (text(&decided["intervention"]), text(&decided["reason"]));
    let decision = Decision::stated(&ladder, &rung, "update_incident", &reason).ok()?;
    let behaviour = &row["behaviour"];
    let kind = behaviour["kind"].as_str()?;
    let theirs = theirs(&row["expect"], &reason, kind)?;
    // A handler without a name is registered under that of its type.
    let named = &row["handler"];
    let name = named["name"].as_str().or(named["type_name"].as_str())?;
    if kind == "builtin_observe" {
        let registry = Registry::default();
        let Ok(Handler::BuiltIn(observe)) = registry.find(name) else { return None };
        let enforced = settle(&ladder, &decision, &observe.handler_name(), &observe.answer(&ladder, &decision));
        return Some(Compared::new(shown(&enforced, &decision)?, theirs));
    }
    let Ok(handler) = HandlerName::parse(name) else {
        let ours = "a handler without a name cannot be registered";
        return Some(Compared::new(ours, theirs).by(Some("nameless")));
    };
    let answer = match kind {
        "raises" => Answer::Failed(text(&behaviour["exception"])),
        "returns_wrong_type" => Answer::read(&stand_in(behaviour["type"].as_str()?)?),
        "returns_proposal" | "returns_proposal_raw_string" | "constructs_invalid_proposal" => {
            Answer::read(&json(&as_answer(&behaviour["proposal"]))?)
        }
        _ => return None,
    };
    let enforced = settle(&ladder, &decision, &handler, &answer);
    let is_own = matches!(&enforced.effect, Effect::Answer(corrective) if *corrective == decision.corrective());
    let rule = if is_error(&row["expect"]) {
        Some("escapes")
    } else if enforced.taken == Taken::Contradicts || is_own {
        Some("label")
    } else {
        enforced.claimed.as_ref().map(|_| "attribution")
    };
    Some(Compared::new(shown(&enforced, &decision)?, theirs).by(rule))
}

/// The proposal of a row in the words of our handlers.
fn as_answer(proposal: &Value) -> Value {
    let names = [
        ("rung", "intervention"),
        ("run", "dispatch_call"),
        ("result", "synthetic_result"),
        ("note", "note"),
        ("handler", "handler"),
        ("reason", "reason"),
    ];
    renamed(proposal, &names)
}

/// What comes closest in JSON to an object of the wrong type.
fn stand_in(kind: &str) -> Option<Json> {
    let value = match kind {
        "null" => json!(null),
        "dict" => json!({"intervention": "OBSERVE"}),
        "string" | "enum" => json!("OBSERVE"),
        "list" => json!([]),
        "int" => json!(1),
        "bool" => json!(true),
        "duck" => json!({"rung": "OBSERVE", "run": true, "quacks": true}),
        "decision" => json!({"rung": "OBSERVE", "confidence": "HIGH", "dispatches": true}),
        "class" => json!({"class": "EffectProposal"}),
        _ => return None,
    };
    json(&value)
}

/// Rung, dispatch, payload, note, attribution and how the answer was taken.
fn shown(enforced: &Enforced, decision: &Decision) -> Option<String> {
    let result = match &enforced.effect {
        Effect::Answer(corrective) if *corrective == decision.corrective() => "the kernel's own".to_owned(),
        Effect::Answer(corrective) => {
            let mut result: Value = serde_json::from_str(&corrective.to_json().to_canonical()).ok()?;
            // What a handler composed stays as it is and gets our mark besides.
            let mark = result.as_object_mut()?.remove(MARK);
            (mark == Some(json!(true))).then(|| json(&result).map(|result| result.to_canonical()))??
        }
        Effect::Run | Effect::Wait => "null".to_owned(),
    };
    let taken = match enforced.taken {
        Taken::Followed => "followed",
        Taken::Failed => "failed",
        Taken::Nonsense => "nonsense",
        Taken::Contradicts => "contradicts itself",
        Taken::Harder => "harder",
        Taken::Softer => "softer",
    };
    let run = if enforced.withholds_call() { "withheld" } else { "run" };
    let claimed = enforced.claimed.as_ref().filter(|_| enforced.taken == Taken::Followed);
    let claims = claimed.map_or_else(String::new, |claimed| format!(", claims {claimed}"));
    let (rung, note, handler) = (enforced.rung.token(), noted(&enforced.note, &decision.reason()), &enforced.handler);
    Some(format!("{rung} {run} {result} {note} by {handler}{claims}: {taken}"))
}

fn noted(note: &str, reason: &str) -> String {
    if note == reason && !reason.is_empty() { "(reason)".to_owned() } else { format!("`{note}`") }
}

fn theirs(expect: &Value, reason: &str, behaviour: &str) -> Option<String> {
    if is_error(expect) {
        return Some("crash".to_owned());
    }
    let taken = match expect["reason_kind"].as_str()? {
        "passthrough" | "builtin_observe" => "followed",
        // Their proposal cannot be constructed; ours is data, so it can be and is seen through.
        "handler_raised" if behaviour == "constructs_invalid_proposal" => "contradicts itself",
        "handler_raised" => "failed",
        "wrong_type" => "nonsense",
        "escalation_clamped" => "harder",
        _ => return None,
    };
    let run = if expect["withholds_call"].as_bool()? { "withheld" } else { "run" };
    let (rung, note) = (text(&expect["intervention"]), noted(&text(&expect["note"]), reason));
    let (result, handler) = (json(&expect["synthetic_result"])?.to_canonical(), text(&expect["handler"]));
    Some(format!("{rung} {run} {result} {note} by {handler}: {taken}"))
}
