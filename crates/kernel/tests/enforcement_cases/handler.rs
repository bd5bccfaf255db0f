//! What becomes of a call when a handler answers this or that.

use super::{Differs, check, json, text};
use kernel::enforcement::corrective::MARK;
use kernel::enforcement::decision::Decision;
use kernel::enforcement::handler::{Answer, Effect, Enforced, HandlerName, Taken, settle};
use kernel::enforcement::ladder::Ladder;
use kernel::enforcement::registry::{Handler, Registry};
use serde_json::{Value, json};
use values::json::Json;

const FORGED: &str = "attribution can be forged: a handler may call itself whatever it likes";
const LABEL: &str = "only the label is compared, so a soft label may withhold the call and a hard one let it run";
const ESCAPES: &str = "not total: a rung that is text and not of the enum crashes the runner";

const NAMELESS: &str = "attribution can be blank";

const DIFFERS: &[Differs] = &[
    Differs { id: "enf-002", fault: FORGED, ours: "OBSERVE run null `note-OBSERVE` by swarm, claims pep-1: followed" },
    Differs { id: "enf-010", fault: FORGED, ours: "OBSERVE run null `note-OBSERVE` by swarm, claims pep-1: followed" },
    Differs { id: "enf-018", fault: FORGED, ours: "OBSERVE run null `note-OBSERVE` by swarm, claims pep-1: followed" },
    Differs {
        id: "enf-022",
        fault: FORGED,
        ours: "BLOCK withheld composed `note-BLOCK` by swarm, claims pep-1: followed",
    },
    Differs { id: "enf-028", fault: FORGED, ours: "WARN run null `note-WARN` by swarm, claims pep-1: followed" },
    Differs {
        id: "enf-030",
        fault: FORGED,
        ours: "BLOCK withheld composed `note-BLOCK` by swarm, claims pep-1: followed",
    },
    Differs { id: "enf-032", fault: FORGED, ours: "DEFER withheld null `note-DEFER` by swarm, claims pep-1: followed" },
    Differs { id: "enf-127", fault: FORGED, ours: "BLOCK withheld composed `` by evil, claims observe: followed" },
    Differs { id: "enf-098", fault: NAMELESS, ours: "a handler without a name cannot be registered" },
    Differs { id: "enf-106", fault: LABEL, ours: "OBSERVE run null (reason) by odd: contradicts itself" },
    Differs { id: "enf-107", fault: LABEL, ours: "OBSERVE run null (reason) by odd: contradicts itself" },
    Differs { id: "enf-111", fault: LABEL, ours: "OBSERVE run null (reason) by odd: contradicts itself" },
    Differs { id: "enf-113", fault: LABEL, ours: "OBSERVE run null (reason) by odd: contradicts itself" },
    Differs { id: "enf-114", fault: LABEL, ours: "OBSERVE run null (reason) by odd: contradicts itself" },
    Differs { id: "enf-116", fault: LABEL, ours: "BLOCK withheld the kernel's own `` by odd: followed" },
    Differs { id: "enf-117", fault: LABEL, ours: "OBSERVE run null (reason) by odd: contradicts itself" },
    Differs { id: "enf-119", fault: LABEL, ours: "OBSERVE run null (reason) by odd: contradicts itself" },
    Differs { id: "enf-121", fault: LABEL, ours: "OBSERVE run null (reason) by odd: contradicts itself" },
    Differs { id: "enf-129", fault: ESCAPES, ours: "OBSERVE run null (reason) by raw: harder" },
    Differs { id: "enf-130", fault: ESCAPES, ours: "OBSERVE run null (reason) by raw: harder" },
];

#[test]
fn given_rows() {
    check("handler.jsonl", 72, DIFFERS, |row| Some(answer(row)));
}

fn answer(row: &Value) -> (String, String) {
    let ladder = Ladder::base();
    let decided = &row["decision"];
    let (rung, reason) = (text(&decided["intervention"]), text(&decided["reason"]));
    let decision = Decision::stated(&ladder, &rung, "update_incident", &reason).unwrap();
    let behaviour = &row["behaviour"];
    let kind = behaviour["kind"].as_str().unwrap();
    let theirs = theirs(&row["expect"], &reason, kind);
    // A handler without a name is registered under that of its type.
    let name = row["handler"]["name"].as_str().or(row["handler"]["type_name"].as_str()).unwrap();
    if kind == "builtin_observe" {
        let registry = Registry::default();
        let Ok(Handler::BuiltIn(observe)) = registry.find(name) else { panic!("{name} is not built in") };
        let enforced = settle(&ladder, &decision, &observe.handler_name(), &observe.answer(&ladder, &decision));
        return (shown(&enforced, &decision), theirs);
    }
    let Ok(handler) = HandlerName::parse(name) else {
        return ("a handler without a name cannot be registered".to_owned(), theirs);
    };
    let answer = match kind {
        "raises" => Answer::Failed(text(&behaviour["exception"])),
        "returns_wrong_type" => Answer::read(&stand_in(behaviour["type"].as_str().unwrap())),
        "returns_proposal" | "returns_proposal_raw_string" | "constructs_invalid_proposal" => {
            Answer::read(&json(&as_answer(&behaviour["proposal"])))
        }
        other => panic!("unknown behaviour {other}"),
    };
    let enforced = settle(&ladder, &decision, &handler, &answer);
    (shown(&enforced, &decision), theirs)
}

/// The proposal of a row in the words of our handlers.
fn as_answer(proposal: &Value) -> Value {
    let mut answer = json!({"rung": proposal["intervention"], "run": proposal["dispatch_call"]});
    for (ours, theirs) in
        [("result", "synthetic_result"), ("note", "note"), ("handler", "handler"), ("reason", "reason")]
    {
        if let Some(value) = proposal.get(theirs) {
            answer[ours] = value.clone();
        }
    }
    answer
}

/// What comes closest in JSON to an object of the wrong type.
fn stand_in(kind: &str) -> Json {
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
        other => panic!("unknown type {other}"),
    };
    json(&value)
}

/// Rung, dispatch, payload, note, attribution and how the answer was taken.
fn shown(enforced: &Enforced, decision: &Decision) -> String {
    let result = match &enforced.effect {
        Effect::Answer(corrective) if *corrective == decision.corrective() => "the kernel's own",
        Effect::Answer(corrective) => {
            let mut result: Value = serde_json::from_str(&corrective.to_json().to_canonical()).unwrap();
            // What a handler composed stays as it is and gets our mark besides.
            assert_eq!(result.as_object_mut().unwrap().remove(MARK), Some(json!(true)));
            assert_eq!(result, composed());
            "composed"
        }
        Effect::Run | Effect::Wait => "null",
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
    format!("{rung} {run} {result} {note} by {handler}{claims}: {taken}")
}

/// The payload of all rows that have one.
fn composed() -> Value {
    json!({"status": "blocked_unresolved_id", "dos_blocked": true})
}

fn noted(note: &str, reason: &str) -> String {
    if note == reason && !reason.is_empty() { "(reason)".to_owned() } else { format!("`{note}`") }
}

fn theirs(expect: &Value, reason: &str, behaviour: &str) -> String {
    if expect.get("error").is_some() {
        return "crash".to_owned();
    }
    let withheld = expect["withholds_call"].as_bool().unwrap();
    assert_eq!(expect["dispatch_call"].as_bool(), Some(!withheld));
    let taken = match expect["reason_kind"].as_str().unwrap() {
        "passthrough" | "builtin_observe" => "followed",
        // Their proposal cannot be constructed; ours is data, so it can be and is seen through.
        "handler_raised" if behaviour == "constructs_invalid_proposal" => "contradicts itself",
        "handler_raised" => "failed",
        "wrong_type" => "nonsense",
        "escalation_clamped" => "harder",
        other => panic!("unknown kind {other}"),
    };
    let run = if withheld { "withheld" } else { "run" };
    let result = &expect["synthetic_result"];
    assert!(result.is_null() || *result == composed());
    let result = if result.is_null() { "null" } else { "composed" };
    let (rung, note) = (text(&expect["intervention"]), noted(&text(&expect["note"]), reason));
    format!("{rung} {run} {result} {note} by {}: {taken}", text(&expect["handler"]))
}
