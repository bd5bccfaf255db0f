//! Entries of the ledger as a service shows them: leaves and bodies keep their exact text, which is what was hashed.

use super::{PAGE_BYTES, REPLY_BOUNDS, given, text, whole};
use crate::ports::store::StoredRecord;
use values::json::Json;

/// The bytes of a page of entries.
pub fn write_page(records: &[StoredRecord]) -> Vec<u8> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    for record in records {
        bytes += record.leaf.len() + record.body.as_ref().map_or(0, |(body, _)| body.len());
        taken.push(entry_json(record));
        if bytes >= PAGE_BYTES {
            break;
        }
    }
    Json::object([("entries", Json::List(taken))]).to_canonical().into_bytes()
}

/// Reads a page of entries; `None` if that is none.
pub fn read_page(bytes: &[u8]) -> Option<Vec<StoredRecord>> {
    let json = Json::parse_within(bytes, &REPLY_BOUNDS).ok()?;
    json.get("entries")?.as_list()?.iter().map(entry).collect()
}

fn entry_json(record: &StoredRecord) -> Json {
    let body = record.body.as_ref();
    Json::object([
        ("index", Json::from(record.index)),
        ("leaf", Json::text(record.leaf.as_str())),
        ("body", Json::from(body.map(|(body, _)| body.clone()))),
        ("salt", Json::from(body.map(|(_, salt)| hex(salt)))),
    ])
}

fn entry(json: &Json) -> Option<StoredRecord> {
    let body = match (given(json, "body"), given(json, "salt")) {
        (Some(body), Some(salt)) => Some((body.as_text()?.to_owned(), salt_of(salt.as_text()?)?)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return None,
    };
    Some(StoredRecord { index: whole(json, "index")?, leaf: text(json, "leaf")?, body })
}

fn hex(salt: &[u8; 16]) -> String {
    salt.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn salt_of(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}
