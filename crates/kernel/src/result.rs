//! Results: what the other side of an effect answered. Kept beside the outcome and never folded, so that erasing one costs
//! no replay.
//!
//! A [`Response`] is what an executor received; only [`EffectResult::of`] makes a record of it, without the secrets.

mod redaction;

use crate::intent::Running;
use crate::record::RecordKind;
use crate::semantics::Semantics;
use crate::stored::{optional_text, whole_of};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Instant;

/// Bytes of an answer that are kept; a longer one is cut here.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// The longest content type that is kept.
const CONTENT_TYPE_BYTES_MAX: usize = 128;

/// How the other side ended the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseStatus {
    /// The status of an HTTP response.
    Http(u16),
    /// The exit code of a program.
    Exit(i32),
    /// The signal that ended a program.
    Signal(i32),
    /// Somebody else performed it and reports what came back.
    Reported,
}

/// What an executor received. It may hold secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// How the other side ended the call.
    pub status: ResponseStatus,
    /// What it says the body is.
    pub content_type: Option<String>,
    /// The body as far as it was read.
    pub body: Vec<u8>,
    /// Whether that is all of it.
    pub complete: bool,
    /// Secrets that the executor itself added to the request, such as the value of a header.
    pub secrets: Vec<String>,
}

/// What must not stand in a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Secrets {
    /// All of them are known; there may be none.
    Known(Vec<Vec<u8>>),
    /// There were some, and the intent has forgotten them: nobody can look for them any more.
    Forgotten,
}

impl Secrets {
    /// The secret params of an intent.
    pub fn of(running: &Running) -> Secrets {
        if running.order.withheld().any(|name| !running.secrets.contains_key(name)) {
            return Secrets::Forgotten;
        }
        let mut known = Vec::new();
        running.secrets.values().for_each(|value| forms(value, &mut known));
        Secrets::Known(known)
    }

    /// With others besides.
    fn with(self, more: &[String]) -> Secrets {
        match self {
            Secrets::Known(mut known) => {
                known.extend(more.iter().filter(|text| !text.is_empty()).map(|text| text.clone().into_bytes()));
                Secrets::Known(known)
            }
            Secrets::Forgotten => Secrets::Forgotten,
        }
    }

    /// A text without them, for a sentence about what went wrong.
    pub fn removed_from(&self, text: &str) -> String {
        match self {
            Secrets::Known(known) => {
                String::from_utf8_lossy(&redaction::redact(text.as_bytes(), known, true)).into_owned()
            }
            Secrets::Forgotten if text.is_empty() => String::new(),
            Secrets::Forgotten => "withheld: it came when the secrets of the intent were forgotten".to_owned(),
        }
    }
}

/// The texts under which a value may come back: itself, and each value inside of it. Truth values and null are no secrets.
fn forms(value: &Json, known: &mut Vec<Vec<u8>>) {
    match value {
        Json::Null | Json::Bool(_) => {}
        Json::Text(text) if text.is_empty() => {}
        Json::Text(text) => known.push(text.clone().into_bytes()),
        Json::Number(_) => known.push(value.to_canonical().into_bytes()),
        Json::List(items) => {
            known.push(value.to_canonical().into_bytes());
            items.iter().for_each(|item| forms(item, known));
        }
        Json::Object(members) => {
            known.push(value.to_canonical().into_bytes());
            members.values().for_each(|member| forms(member, known));
        }
    }
}

/// The kept part of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResultBody {
    /// It is text.
    Text(String),
    /// It is not.
    Bytes(Vec<u8>),
    /// It may hold secrets that nobody can look for any more, so it is not kept.
    Withheld,
}

/// What the other side answered, as the ledger keeps it: without secrets and of bounded size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectResult {
    status: ResponseStatus,
    content_type: Option<String>,
    body: ResultBody,
    /// Of everything that was read, with secrets replaced.
    bytes: u64,
    digest: Option<Digest>,
    cut: bool,
    complete: bool,
}

impl EffectResult {
    /// What is kept of a response. Secrets are replaced first and the body is cut afterwards, so that no part of a secret
    /// is left at the cut.
    pub fn of(response: Response, secrets: Secrets) -> EffectResult {
        let Response { status, content_type, body, complete, secrets: own } = response;
        let Secrets::Known(known) = secrets.with(&own) else {
            let (body, bytes) = (ResultBody::Withheld, body.len() as u64);
            return EffectResult { status, content_type: None, body, bytes, digest: None, cut: false, complete };
        };
        let content_type = content_type.and_then(|text| plain_type(&redaction::redact(text.as_bytes(), &known, true)));
        let whole = redaction::redact(&body, &known, complete);
        let (bytes, digest) = (whole.len() as u64, Some(Digest::of(&whole)));
        let cut = whole.len() > BODY_BYTES_MAX;
        EffectResult { status, content_type, body: kept(whole), bytes, digest, cut, complete }
    }

    /// How the other side ended the call.
    pub fn status(&self) -> ResponseStatus {
        self.status
    }

    /// What it says the body is.
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// The kept part of the body.
    pub fn body(&self) -> &ResultBody {
        &self.body
    }

    /// How long the body was, secrets replaced.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether only the beginning is kept.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether the body was received to its end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// SHA-256 of the body, secrets replaced, also where only its beginning is kept.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// As records and answers hold it.
    pub fn to_json(&self) -> Json {
        let body = match &self.body {
            ResultBody::Text(text) => Json::object([("text", Json::text(text.as_str()))]),
            ResultBody::Bytes(bytes) => Json::object([("base64", Json::text(STANDARD.encode(bytes)))]),
            ResultBody::Withheld => Json::object([("withheld", Json::Bool(true))]),
        };
        let status = match self.status {
            ResponseStatus::Http(status) => Json::object([("http", Json::from(u64::from(status)))]),
            ResponseStatus::Exit(code) => Json::object([("exit", whole(code))]),
            ResponseStatus::Signal(signal) => Json::object([("signal", whole(signal))]),
            ResponseStatus::Reported => Json::object([("reported", Json::Bool(true))]),
        };
        Json::object([
            ("status", status),
            ("content_type", Json::from(self.content_type.clone())),
            ("body", body),
            ("bytes", Json::from(self.bytes)),
            ("sha256", Json::from(self.digest.map(|digest| digest.to_string()))),
            ("cut", Json::Bool(self.cut)),
            ("complete", Json::Bool(self.complete)),
        ])
    }

    /// Reads back what [`EffectResult::to_json`] wrote.
    pub fn from_json(json: &Json) -> Option<EffectResult> {
        let body = json.get("body")?;
        let body = match (body.get("text"), body.get("base64"), body.get("withheld")) {
            (Some(text), None, None) => ResultBody::Text(text.as_text()?.to_owned()),
            (None, Some(text), None) => ResultBody::Bytes(STANDARD.decode(text.as_text()?).ok()?),
            (None, None, Some(Json::Bool(true))) => ResultBody::Withheld,
            (_, _, _) => return None,
        };
        let digest = match optional_text(json, "sha256") {
            Some(text) => Some(Digest::parse(&text)?),
            None => None,
        };
        Some(EffectResult {
            status: status(json.get("status")?)?,
            content_type: optional_text(json, "content_type"),
            body,
            bytes: whole_of(json, "bytes")?,
            digest,
            cut: json.get("cut")?.as_bool()?,
            complete: json.get("complete")?.as_bool()?,
        })
    }
}

fn whole(number: i32) -> Json {
    Json::Number(values::decimal::Decimal::from(i64::from(number)))
}

fn status(json: &Json) -> Option<ResponseStatus> {
    let number = |key: &str| json.get(key).and_then(Json::as_number).and_then(|number| number.to_i64());
    if let Some(status) = number("http") {
        return u16::try_from(status).ok().map(ResponseStatus::Http);
    }
    if let Some(code) = number("exit") {
        return i32::try_from(code).ok().map(ResponseStatus::Exit);
    }
    if let Some(signal) = number("signal") {
        return i32::try_from(signal).ok().map(ResponseStatus::Signal);
    }
    (json.get("reported")? == &Json::Bool(true)).then_some(ResponseStatus::Reported)
}

/// The beginning of a body: text where it is text, which is then cut between two characters.
fn kept(mut whole: Vec<u8>) -> ResultBody {
    let is_cut = whole.len() > BODY_BYTES_MAX;
    whole.truncate(BODY_BYTES_MAX);
    let valid = match std::str::from_utf8(&whole) {
        Ok(_) => whole.len(),
        Err(problem) if is_cut && problem.error_len().is_none() => problem.valid_up_to(),
        Err(_) => return ResultBody::Bytes(whole),
    };
    let cut = whole.get(..valid).map(<[u8]>::to_vec).unwrap_or_default();
    match String::from_utf8(cut) {
        // Text in records has no U+0000.
        Ok(text) if !text.contains('\0') => ResultBody::Text(text),
        Ok(_) | Err(_) => ResultBody::Bytes(whole),
    }
}

/// A content type as far as it is one: printable and of bounded length.
fn plain_type(text: &[u8]) -> Option<String> {
    let plain = text.iter().filter(|byte| byte.is_ascii_graphic() || **byte == b' ').take(CONTENT_TYPE_BYTES_MAX);
    let plain: String = plain.map(|byte| char::from(*byte)).collect();
    (!plain.is_empty()).then_some(plain)
}

/// A result in the ledger.
#[derive(Clone, PartialEq, Debug)]
pub struct ResultRecord {
    /// Whose.
    pub tenant: Arc<str>,
    /// The intent that was performed.
    pub intent: String,
    /// Under which claim; none where somebody else performed it.
    pub epoch: Option<u64>,
    /// What was answered.
    pub result: EffectResult,
    /// When the outcome was recorded, in the same transaction.
    pub at: Instant,
    /// The rules that the report was judged under.
    pub semantics: Semantics,
}

impl ResultRecord {
    /// What its record holds besides the header.
    pub(crate) fn members(&self) -> [(&'static str, Json); 4] {
        [
            ("at", Json::text(self.at.to_string())),
            ("intent", Json::text(self.intent.as_str())),
            ("epoch", self.epoch.map_or(Json::Null, Json::from)),
            ("response", self.result.to_json()),
        ]
    }

    /// The result of a record; `None` if that is no such record.
    pub fn from_record(body: &Json) -> Option<ResultRecord> {
        if RecordKind::of(body) != Some(RecordKind::Result) {
            return None;
        }
        Some(ResultRecord {
            tenant: Arc::from(body.get("tenant")?.as_text()?),
            intent: body.get("intent")?.as_text()?.to_owned(),
            epoch: match body.get("epoch")? {
                Json::Null => None,
                Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
                    Some(whole_of(body, "epoch")?)
                }
            },
            result: EffectResult::from_json(body.get("response")?)?,
            at: Instant::parse(body.get("at")?.as_text()?)?,
            semantics: Semantics::of(whole_of(body, "semantics")?)?,
        })
    }

    /// As answers hold it: the response, and when it was recorded.
    pub fn to_answer(&self) -> Json {
        let mut members = match self.result.to_json() {
            Json::Object(members) => members,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => Object::new(),
        };
        members.insert("at".to_owned(), Json::text(self.at.to_string()));
        Json::Object(members)
    }
}

#[cfg(test)]
mod tests;
