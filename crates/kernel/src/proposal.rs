//! A proposal: what an agent wants to do. Past this door the type is the proof.

use crate::contract::Origin;
use crate::finding::{Finding, Findings, Gate};
use crate::nearest::suggestion;
use crate::reasons::Reason;
use std::collections::BTreeMap;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::ids::{Digest, identifier_problem};
use values::json::{Json, Members, Object, Refusal, write_members};
use values::time::Instant;

/// Longest justification.
const JUSTIFICATION_BYTES_MAX: usize = 64 * 1024;

/// Every field a proposal may have.
pub const FIELDS: [&str; 14] = [
    "action",
    "agent",
    "confidence",
    "created_at",
    "flow",
    "id",
    "idempotency_key",
    "justification",
    "params",
    "provenance",
    "snapshot",
    "step",
    "tokens",
    "valid_until",
];

/// What an agent wants to do.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// The caller's own id.
    pub id: Option<String>,
    /// Who proposes.
    pub agent: String,
    /// What kind of action.
    pub action: String,
    /// With which params.
    pub params: Object,
    /// How sure the agent is, 0 to 1.
    pub confidence: Option<Decimal>,
    /// Why, in words; never judged.
    pub justification: Option<String>,
    /// In which flow.
    pub flow: Option<String>,
    /// At which step of it.
    pub step: Option<String>,
    /// What the agent saw.
    pub snapshot: Option<String>,
    /// Until when it is meant.
    pub valid_until: Option<Instant>,
    /// When it was made.
    pub created_at: Option<Instant>,
    /// Names the request, so that a repeated one gets the same answer.
    pub idempotency_key: Option<String>,
    /// Where values came from, as the door states it.
    pub provenance: Option<BTreeMap<String, Origin>>,
    /// Tokens spent on it.
    pub tokens: u64,
    /// SHA-256 over the canonical proposal without id, time of making and idempotency key.
    pub fingerprint: Digest,
}

/// A proposal that could not be read, with everything wrong with it.
#[derive(Clone, PartialEq, Debug)]
pub struct Malformed {
    /// The caller's id, where it could be read.
    pub id: Option<String>,
    /// The agent, where it could be read.
    pub agent: Option<String>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

impl Proposal {
    /// Reads a proposal from the bytes an agent sent.
    ///
    /// ```
    /// use kernel::proposal::Proposal;
    /// let proposal = Proposal::parse(br#"{"agent":"bot","action":"pay","params":{"amount":5}}"#).unwrap();
    /// assert_eq!(proposal.action, "pay");
    /// let refused = Proposal::parse(br#"{"agent":"bot","action":"pay"}"#).unwrap_err();
    /// assert_eq!(refused.findings[0].message(), "`params` is missing");
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Proposal, Malformed> {
        Proposal::parse_line(bytes, 1)
    }

    /// Reads a proposal from one line of a longer input. Its number, from 1, is named where the line cannot be read.
    pub fn parse_line(bytes: &[u8], number: u64) -> Result<Proposal, Malformed> {
        let refused = |finding: Finding| Err(Malformed { id: None, agent: None, findings: vec![finding] });
        if bytes.trim_ascii().is_empty() {
            let blank = Finding::reject(Gate::Shape, Reason::JsonMalformed);
            return refused(blank.with("problem", format!("line {number} is blank")).with("line", number));
        }
        match Json::parse(bytes) {
            Ok(json) => Proposal::from_json(json),
            Err(mut refusal) => {
                let before = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
                refusal.line = refusal.line.saturating_add(before);
                refused(door_finding(&refusal))
            }
        }
    }

    /// Reads a proposal from a value that came through the strict door.
    pub fn from_json(json: Json) -> Result<Proposal, Malformed> {
        let Json::Object(members) = json else {
            let finding = Finding::reject(Gate::Shape, Reason::JsonMalformed)
                .with("problem", format!("it is {}, not an object", json.kind()));
            return Err(Malformed { id: None, agent: None, findings: vec![finding] });
        };
        let mut reader = Reader { members, findings: Findings::default() };
        reader.refuse_unknown_fields();
        let mut proposal = Proposal {
            id: reader.identifier("id"),
            agent: reader.required_identifier("agent"),
            action: reader.required_identifier("action"),
            params: reader.params(),
            confidence: reader.confidence(),
            justification: reader.justification(),
            flow: reader.identifier("flow"),
            step: reader.step(),
            snapshot: reader.identifier("snapshot"),
            valid_until: reader.instant("valid_until"),
            created_at: reader.instant("created_at"),
            idempotency_key: reader.identifier("idempotency_key"),
            provenance: reader.provenance(),
            tokens: reader.tokens(),
            fingerprint: Digest::from_bytes([0; 32]),
        };
        let findings = reader.findings.into_ordered();
        if findings.is_empty() {
            proposal.fingerprint = proposal.fingerprinted();
            return Ok(proposal);
        }
        let agent = Some(proposal.agent).filter(|agent| !agent.is_empty());
        Err(Malformed { id: proposal.id, agent, findings })
    }

    /// The proposal as a value, as it is recorded.
    pub fn to_json(&self, params: Object) -> Json {
        let mut text = String::with_capacity(512);
        self.write(&mut text, |text| write_members(&params, text));
        Json::parse_own(&text)
    }

    /// Of what is recorded, not of the bytes that came: whoever judges a record again has to find the same.
    fn fingerprinted(&self) -> Digest {
        let mut text = String::with_capacity(512);
        self.write_with(false, &mut text, |text| write_members(&self.params, text));
        Digest::of(text)
    }

    /// Appends the canonical text of what is recorded; the closure writes the params.
    pub(crate) fn write(&self, text: &mut String, params: impl FnOnce(&mut String)) {
        self.write_with(true, text, params);
    }

    /// With or without what only names the request: id, time of making and idempotency key.
    fn write_with(&self, with_names: bool, text: &mut String, params: impl FnOnce(&mut String)) {
        Members::object(text, |members| {
            members.text("action", &self.action);
            members.text("agent", &self.agent);
            if let Some(confidence) = self.confidence {
                members.json("confidence", &Json::from_decimal(confidence));
            }
            if let Some(at) = self.created_at.filter(|_| with_names) {
                members.instant("created_at", at);
            }
            members.text_if_any("flow", self.flow.as_deref());
            members.text_if_any("id", self.id.as_deref().filter(|_| with_names));
            members.text_if_any("idempotency_key", self.idempotency_key.as_deref().filter(|_| with_names));
            members.text_if_any("justification", self.justification.as_deref());
            members.with("params", params);
            if let Some(known) = &self.provenance {
                let origin = |(param, origin): (&String, &Origin)| (param.clone(), Json::text(origin.word()));
                members.json("provenance", &Json::Object(known.iter().map(origin).collect()));
            }
            members.text_if_any("snapshot", self.snapshot.as_deref());
            members.text_if_any("step", self.step.as_deref());
            if self.tokens > 0 {
                members.count("tokens", self.tokens);
            }
            if let Some(at) = self.valid_until {
                members.instant("valid_until", at);
            }
        });
    }
}

/// The finding for bytes that are not strict JSON.
pub fn door_finding(refusal: &Refusal) -> Finding {
    let reason = if refusal.is_inexact_number() { Reason::NumberNotExact } else { Reason::JsonMalformed };
    Finding::reject(Gate::Shape, reason)
        .with("problem", refusal.to_string())
        .with("line", refusal.line as u64)
        .with("column", refusal.column as u64)
        .with("offset", refusal.offset as u64)
}

struct Reader {
    members: Object,
    findings: Findings,
}

impl Reader {
    fn refuse_unknown_fields(&mut self) {
        let unknown: Vec<String> = self.members.keys().filter(|key| !FIELDS.contains(&key.as_str())).cloned().collect();
        for key in unknown {
            let hint = suggestion(&key, FIELDS);
            self.invalid(&key, format!("is not a field of a proposal{hint}"));
        }
    }

    /// Null means absent everywhere in the envelope.
    fn take(&mut self, key: &str) -> Option<Json> {
        self.members.remove(key).filter(|value| *value != Json::Null)
    }

    fn invalid(&mut self, key: &str, problem: impl Into<String>) {
        self.findings
            .push(Finding::reject(Gate::Shape, Reason::ParamInvalid).field(key).with("problem", problem.into()));
    }

    fn identifier(&mut self, key: &str) -> Option<String> {
        let value = self.take(key)?;
        let Json::Text(text) = value else {
            self.invalid(key, format!("is {}, not text", value.kind()));
            return None;
        };
        if let Some(problem) = identifier_problem(&text) {
            self.invalid(key, problem);
            return None;
        }
        Some(text)
    }

    fn required_identifier(&mut self, key: &str) -> String {
        let missing = matches!(self.members.get(key), None | Some(Json::Null));
        if missing {
            self.findings.push(Finding::reject(Gate::Shape, Reason::ParamMissing).field(key));
        }
        self.identifier(key).unwrap_or_default()
    }

    fn params(&mut self) -> Object {
        match self.take("params") {
            Some(Json::Object(params)) => params,
            Some(other) => {
                self.invalid("params", format!("is {}, not an object", other.kind()));
                Object::new()
            }
            None => {
                self.findings.push(Finding::reject(Gate::Shape, Reason::ParamMissing).field("params"));
                Object::new()
            }
        }
    }

    fn confidence(&mut self) -> Option<Decimal> {
        let value = self.take("confidence")?;
        let within = |number: &Decimal| !number.is_negative() && *number <= Decimal::from(1);
        let confidence = value.as_number().filter(within);
        if confidence.is_none() {
            self.invalid("confidence", format!("is {}, not a number from 0 to 1", crate::finding::shown(&value)));
        }
        confidence
    }

    fn justification(&mut self) -> Option<String> {
        let value = self.take("justification")?;
        let Json::Text(text) = value else {
            self.invalid("justification", format!("is {}, not text", value.kind()));
            return None;
        };
        if text.len() > JUSTIFICATION_BYTES_MAX {
            self.invalid("justification", format!("is longer than {JUSTIFICATION_BYTES_MAX} bytes"));
            return None;
        }
        Some(text)
    }

    fn step(&mut self) -> Option<String> {
        if let Some(Json::Number(number)) = self.members.get("step") {
            let number = *number;
            self.members.insert("step".to_owned(), Json::Text(number.to_string()));
        }
        self.identifier("step")
    }

    fn instant(&mut self, key: &str) -> Option<Instant> {
        let value = self.take(key)?;
        let mut instant = value.as_text().and_then(Instant::parse);
        if instant.is_none() && bugs::on(Bug::W09TimeWithoutOffset) {
            instant = value.as_text().and_then(|text| Instant::parse(&format!("{text}Z")));
        }
        if instant.is_none() {
            self.invalid(key, "is not an RFC 3339 time with an offset, such as 2026-01-01T12:00:00Z");
        }
        instant
    }

    fn provenance(&mut self) -> Option<BTreeMap<String, Origin>> {
        let value = self.take("provenance")?;
        let Json::Object(members) = value else {
            self.invalid("provenance", format!("is {}, not an object", value.kind()));
            return None;
        };
        let mut origins = BTreeMap::new();
        for (param, origin) in members {
            match origin.as_text().and_then(Origin::from_word) {
                Some(origin) => {
                    origins.insert(param, origin);
                }
                None => self.invalid("provenance", format!("of `{param}` is not one of {}", Origin::WORDS.join(", "))),
            }
        }
        Some(origins)
    }

    fn tokens(&mut self) -> u64 {
        let Some(value) = self.take("tokens") else { return 0 };
        let tokens = value.as_number().and_then(Decimal::to_i64).and_then(|tokens| u64::try_from(tokens).ok());
        if tokens.is_none() {
            self.invalid("tokens", "is not a whole number from 0");
        }
        tokens.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let outcome = match Proposal::parse(text.as_bytes()) {
            Ok(_) => "fine".to_owned(),
            Err(malformed) => {
                let codes = malformed
                    .findings
                    .iter()
                    .map(|finding| format!("{} {}", finding.code.as_str(), finding.field.as_deref().unwrap_or("-")));
                codes.collect::<Vec<_>>().join(", ")
            }
        };
        assert_eq!(outcome, expected, "{text}");
    }

    #[test]
    fn only_known_fields_of_the_right_kind_pass() {
        check(r#"{"agent":"a","action":"b","params":{}}"#, "fine");
        check(r#"{"agent":"a","action":"b","params":{},"id":null,"step":3}"#, "fine");
        check(r#"{"agent":"a","action":"b"}"#, "PARAM_MISSING params");
        check(r#"{"action":"b","params":{}}"#, "PARAM_MISSING agent");
        check(r#"{"agent":"","action":"b","params":{}}"#, "PARAM_INVALID agent");
        check(r#"{"agent":"a","action":7,"params":[]}"#, "PARAM_INVALID action, PARAM_INVALID params");
        check(r#"{"agent":"a","action":"b","params":{},"reasoning":"x"}"#, "PARAM_INVALID reasoning");
        check(r#"{"agent":"a","action":"b","params":{},"confidence":1.1}"#, "PARAM_INVALID confidence");
        check(r#"{"agent":"a","action":"b","params":{},"confidence":"0.9"}"#, "PARAM_INVALID confidence");
        check(r#"{"agent":"a","action":"b","params":{},"tokens":-1}"#, "PARAM_INVALID tokens");
        check(
            r#"{"agent":"a","action":"b","params":{},"valid_until":"2026-01-01T00:00:00"}"#,
            "PARAM_INVALID valid_until",
        );
        check(r#"{"agent":"a","action":"b","params":{},"provenance":{"x":"me"}}"#, "PARAM_INVALID provenance");
        check("[]", "JSON_MALFORMED -");
        check("{", "JSON_MALFORMED -");
        check(r#"{"agent":"a","action":"b","params":{"n":0.10000000000000000001}}"#, "NUMBER_NOT_EXACT -");
    }

    #[test]
    fn the_fingerprint_ignores_only_what_names_the_request() {
        let print = |text: &str| Proposal::parse(text.as_bytes()).unwrap().fingerprint;
        let base = print(r#"{"agent":"a","action":"b","params":{"n":1.0}}"#);
        assert_eq!(base, print(r#"{"params":{"n":1},"id":"x","agent":"a","action":"b","idempotency_key":"k"}"#));
        assert_ne!(base, print(r#"{"agent":"a","action":"b","params":{"n":2}}"#));
        assert_ne!(base, print(r#"{"agent":"a","action":"b","params":{"n":1},"confidence":1}"#));
        // As it is written in the ledger, whatever way it was written when it came.
        let full = |step: &str, until: &str, rest: &str| {
            print(&format!(r#"{{"agent":"a","action":"b","params":{{}},"step":{step},"valid_until":"{until}"{rest}}}"#))
        };
        let plain = full("\"1\"", "2026-01-01T00:00:00.12Z", "");
        assert_eq!(plain, full("1", "2026-01-01T00:00:00.120Z", ""));
        assert_eq!(plain, full("1.0", "2026-01-01T02:00:00.12+02:00", r#","flow":null,"tokens":0,"snapshot":null"#));
        assert_eq!(plain, full("1", "2026-01-01T00:00:00.12Z", r#","confidence":null,"provenance":null,"id":null"#));
        assert_ne!(plain, full("2", "2026-01-01T00:00:00.12Z", ""));
        assert_ne!(plain, full("1", "2026-01-01T00:00:00.13Z", ""));
        assert_ne!(plain, full("1", "2026-01-01T00:00:00.12Z", r#","tokens":1"#));
    }

    #[test]
    fn a_proposal_read_from_its_record_is_the_same() {
        let text = r#"{"agent":"a","action":"b","params":{"n":1.50,"m":null},"step":7,"valid_until":"2026-01-01T02:00:00.100+02:00",
            "confidence":0.50,"tokens":0,"provenance":{"n":"user"},"flow":null,"id":"x","created_at":"2026-01-01T00:00:00.000Z"}"#;
        let first = Proposal::parse(text.as_bytes()).unwrap();
        let again = Proposal::from_json(first.to_json(first.params.clone())).unwrap();
        assert_eq!(first, again);
    }
}
