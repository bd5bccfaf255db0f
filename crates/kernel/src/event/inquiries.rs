//! What agents did in their flows besides proposing.

use super::Event;
use crate::change::ActKind;
use crate::change::inquiry::{amounts_json, amounts_of};
use crate::stored::{optional_text, text_of, texts_of};
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

pub(super) fn to_json(event: &Event) -> Json {
    if let Event::QuestionAsked { question, digest, deadline } = event {
        return Json::object([
            ("question", Json::text(question.as_str())),
            ("digest", Json::text(digest.to_string())),
            ("deadline", Json::text(deadline.to_string())),
        ]);
    }
    if let Event::Reserved { flow, held, until } = event {
        let until = Json::from(until.map(|until| until.to_string()));
        return Json::object([("flow", Json::text(flow.as_str())), ("held", amounts_json(held)), ("until", until)]);
    }
    if let Event::Released { flow, resources } = event {
        let resources = Json::texts(resources.iter().map(String::as_str));
        return Json::object([("flow", Json::text(flow.as_str())), ("resources", resources)]);
    }
    let Event::Noted { flow, name } = event else { return Json::Null };
    Json::object([("flow", Json::text(flow.as_str())), ("name", Json::text(name.as_str()))])
}

pub(super) fn read(kind: ActKind, json: &Json) -> Option<Event> {
    if kind == ActKind::Ask {
        let digest = Digest::parse(json.get("digest")?.as_text()?)?;
        let deadline = Instant::parse(json.get("deadline")?.as_text()?)?;
        return Some(Event::QuestionAsked { question: text_of(json, "question")?, digest, deadline });
    }
    let flow = text_of(json, "flow")?;
    if kind == ActKind::Reserve {
        let until = match optional_text(json, "until") {
            None => None,
            Some(until) => Some(Instant::parse(&until)?),
        };
        return Some(Event::Reserved { flow, held: amounts_of(json.get("held")?)?, until });
    }
    if kind == ActKind::Release {
        return Some(Event::Released { flow, resources: texts_of(json, "resources")? });
    }
    (kind == ActKind::Note).then_some(Event::Noted { flow, name: text_of(json, "name")? })
}
