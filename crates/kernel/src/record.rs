//! Records: what the ledger keeps. Structured, versioned, tenant first; sentences are put together on reading.

use crate::json::{Json, Object};

/// Version of the record format.
pub const VERSION: u64 = 1;

/// Version of the judging rules: two decisions under the same number and inputs are equal.
pub const SEMANTICS: u64 = 1;

/// One entry for the ledger.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// What kind of record.
    pub kind: RecordKind,
    /// Everything in it.
    pub body: Json,
}

/// What a record tells of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// A proposal was judged.
    Decision,
    /// Something that was no proposal was refused.
    Refusal,
}

impl RecordKind {
    /// The word in the record.
    pub fn word(self) -> &'static str {
        match self {
            RecordKind::Decision => "decision",
            RecordKind::Refusal => "refusal",
        }
    }
}

impl Record {
    /// Puts the header in front of the members.
    pub fn new<const N: usize>(kind: RecordKind, tenant: &str, members: [(&str, Json); N]) -> Record {
        let mut body: Object = members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        body.insert("version".to_owned(), Json::from(VERSION));
        body.insert("semantics".to_owned(), Json::from(SEMANTICS));
        body.insert("tenant".to_owned(), Json::text(tenant));
        body.insert("kind".to_owned(), Json::text(kind.word()));
        Record { kind, body: Json::Object(body) }
    }
}
