//! An exported ledger as lines of text: a header, and then runs of entries behind the hashes they must have.
//!
//! ```text
//! {"format":"writkeeper.export/v1","logs":[…],"size":"2"}
//! 5c1e…                                            SHA-256 of the line above
//! tile   0  HASH HASH                              the hashes of up to 256 entries, as in a tile of level 0
//! entry  0  LEAF  SALT  BODY                       fields are separated by tabs; erased: `-` twice
//! entry  1  LEAF  SALT  BODY
//! ```
//!
//! Leaves and bodies are canonical JSON, which has no raw tabs and newlines. There is one text for one export, so that
//! a changed byte is a refused byte.

use super::audit::{Damage, Place};
use super::keyring::Keyring;
use super::merkle::TreeHash;
use super::note::Note;
use super::text::decimal;
use values::ids::Digest;
use values::json::{Bounds, Json};

/// Names the format and its version.
pub const EXPORT_FORMAT: &str = "writkeeper.export/v1";

/// Most logs in one export: each but the first follows a declared discontinuity.
pub const LOGS_MAX: usize = 16;

/// Most checkpoints of one log in an export.
pub const CHECKPOINTS_MAX: usize = 64;

/// One log of an export: who signs for it, where it starts, and what was signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogHead {
    /// Its keys.
    pub keyring: Keyring,
    /// Index of its first entry in the ledger.
    pub from: u64,
    /// Signed checkpoints, the smallest first.
    pub checkpoints: Vec<Note>,
}

/// What an export says about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Its logs, the oldest first.
    pub logs: Vec<LogHead>,
    /// How many entries it has.
    pub size: u64,
}

/// One entry of an export.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exported<'a> {
    /// What is hashed into the tree.
    pub leaf: &'a str,
    /// The record in full and its salt, unless it was erased.
    pub body: Option<(&'a str, [u8; 16])>,
}

impl Header {
    /// The two lines an export starts with.
    pub fn to_lines(&self) -> String {
        let log = |log: &LogHead| {
            Json::object([
                ("checkpoints", Json::texts(log.checkpoints.iter().map(ToString::to_string))),
                ("from", Json::text(log.from.to_string())),
                ("keyring", Json::text(log.keyring.to_string())),
            ])
        };
        let header = Json::object([
            ("format", Json::text(EXPORT_FORMAT)),
            ("logs", Json::List(self.logs.iter().map(log).collect())),
            ("size", Json::text(self.size.to_string())),
        ]);
        let line = header.to_canonical();
        format!("{line}\n{}\n", Digest::of(&line))
    }

    /// Reads the two lines, newlines included.
    pub fn read(first: &[u8], second: &[u8]) -> Result<Header, Damage> {
        let damaged = |problem: &str| Damage { place: Place::Header, problem: problem.to_owned() };
        let line = ended(first).ok_or_else(|| damaged("the first line is cut off"))?;
        let digest = ended(second).and_then(Digest::parse).ok_or_else(|| damaged("the digest cannot be read"))?;
        if Digest::of(line) != digest {
            return Err(damaged("the first line does not have the digest of the second"));
        }
        let header = Header::parse(line).ok_or_else(|| damaged("the first line is no header of an export"))?;
        if let Some(key) = unknown_key(line) {
            return Err(damaged(&format!("the first line has `{key}`, which no header of an export has")));
        }
        // There is one text for one header.
        let own = header.to_lines();
        if own.lines().next() == Some(line) {
            Ok(header)
        } else {
            Err(damaged("the first line is spelled differently"))
        }
    }

    fn parse(line: &str) -> Option<Header> {
        let json = Json::parse_within(line.as_bytes(), &Bounds::OWN).ok()?;
        if json.get("format")?.as_text()? != EXPORT_FORMAT {
            return None;
        }
        let logs = json.get("logs")?.as_list()?;
        let log = |json: &Json| {
            let notes = json.get("checkpoints")?.as_list()?;
            let note = |note: &Json| Note::parse(note.as_text()?.as_bytes()).ok();
            Some(LogHead {
                keyring: Keyring::parse(json.get("keyring")?.as_text()?).ok()?,
                from: decimal(json.get("from")?.as_text()?)?,
                checkpoints: notes.iter().map(note).collect::<Option<_>>()?,
            })
        };
        let logs: Vec<LogHead> = logs.iter().map(log).collect::<Option<_>>()?;
        let size = decimal(json.get("size")?.as_text()?)?;
        let starts = logs.first().is_some_and(|log| log.from == 0);
        let sorted = logs.is_sorted_by(|one, next| one.from < next.from);
        let bounded = logs.len() <= LOGS_MAX && logs.iter().all(|log| log.checkpoints.len() <= CHECKPOINTS_MAX);
        let inside = logs.last().is_some_and(|log| log.from <= size);
        (starts && sorted && bounded && inside).then_some(Header { logs, size })
    }
}

/// A key that is not one of a header: whoever wrote it wanted to say something that nobody here understands.
fn unknown_key(line: &str) -> Option<String> {
    let json = Json::parse_within(line.as_bytes(), &Bounds::OWN).ok()?;
    let of = |json: &Json, known: &[&str]| match json {
        Json::Object(members) => members.keys().find(|key| !known.contains(&key.as_str())).cloned(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => None,
    };
    let logs = json.get("logs").and_then(Json::as_list).unwrap_or_default();
    of(&json, &["format", "logs", "size"])
        .or_else(|| logs.iter().find_map(|log| of(log, &["checkpoints", "from", "keyring"])))
}

/// The line with the hashes of the entries that follow.
pub fn tile_line(first: u64, hashes: &[TreeHash]) -> String {
    let hashes: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    format!("tile\t{first}\t{}\n", hashes.join(" "))
}

/// Reads a line of hashes that must start at an entry and have so many.
pub fn read_tile_line(line: &[u8], first: u64, count: usize) -> Result<Vec<TreeHash>, Damage> {
    let at = |index: u64, problem: &str| Damage { place: Place::Entry(index), problem: problem.to_owned() };
    let cut = || at(first, "the line of hashes cannot be read");
    let text = std::str::from_utf8(line).map_err(|error| {
        let whole = line.get(..error.valid_up_to()).unwrap_or_default();
        let before = whole.iter().filter(|byte| **byte == b' ').count();
        at(first.saturating_add(before as u64), "its hash is not text")
    })?;
    let (text, is_ended) = match text.strip_suffix('\n') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let rest = text.strip_prefix("tile\t").ok_or_else(cut)?;
    let (start, hashes) = rest.split_once('\t').ok_or_else(cut)?;
    if decimal(start) != Some(first) {
        return Err(cut());
    }
    let mut read = Vec::with_capacity(count);
    for (index, field) in (first..).zip(hashes.split(' ')) {
        let hash = TreeHash::parse(field).filter(|_| read.len() < count);
        read.push(hash.ok_or_else(|| at(index.min(first + count as u64 - 1), "its hash cannot be read"))?);
    }
    let found = read.len() as u64;
    if read.len() < count {
        return Err(at(first.saturating_add(found), "its hash is missing"));
    }
    // The newline belongs to the last hash.
    if is_ended { Ok(read) } else { Err(at(first.saturating_add(found) - 1, "the line of hashes is cut off")) }
}

/// The line of an entry.
pub fn entry_line(index: u64, entry: &Exported<'_>) -> String {
    let Exported { leaf, body } = entry;
    match body {
        Some((body, salt)) => format!("entry\t{index}\t{leaf}\t{}\t{body}\n", salt_text(salt)),
        None => format!("entry\t{index}\t{leaf}\t-\t-\n"),
    }
}

/// Reads the line of the entry at an index.
pub fn read_entry_line(line: &[u8], index: u64) -> Result<Exported<'_>, Damage> {
    let damaged = |problem: &str| Damage { place: Place::Entry(index), problem: problem.to_owned() };
    let text = ended(line).ok_or_else(|| damaged("its line is cut off or is not text"))?;
    let mut fields = text.split('\t');
    if fields.next() != Some("entry") {
        return Err(damaged("its line does not start as the line of an entry"));
    }
    if fields.next().and_then(decimal) != Some(index) {
        return Err(damaged("another entry stands in its place"));
    }
    let (Some(leaf), Some(salt), Some(body), None) = (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(damaged("its line does not have five fields"));
    };
    if salt == "-" && body == "-" {
        return Ok(Exported { leaf, body: None });
    }
    let salt = read_salt(salt).ok_or_else(|| damaged("its salt cannot be read"))?;
    Ok(Exported { leaf, body: Some((body, salt)) })
}

/// The line of a body beside a bundle, in the form of a folder.
pub fn body_line(index: u64, body: Option<(&str, [u8; 16])>) -> String {
    match body {
        Some((body, salt)) => format!("{index}\t{}\t{body}\n", salt_text(&salt)),
        None => format!("{index}\t-\t-\n"),
    }
}

/// Reads the line of a body beside a bundle.
pub fn read_body_line(line: &[u8], index: u64) -> Result<Option<(&str, [u8; 16])>, Damage> {
    let damaged = |problem: &str| Damage { place: Place::Entry(index), problem: problem.to_owned() };
    let text = ended(line).ok_or_else(|| damaged("its body is cut off or is not text"))?;
    let mut fields = text.split('\t');
    if fields.next().and_then(decimal) != Some(index) {
        return Err(damaged("the body of another entry stands in its place"));
    }
    let (Some(salt), Some(body), None) = (fields.next(), fields.next(), fields.next()) else {
        return Err(damaged("the line of its body does not have three fields"));
    };
    if salt == "-" && body == "-" {
        return Ok(None);
    }
    let salt = read_salt(salt).ok_or_else(|| damaged("its salt cannot be read"))?;
    Ok(Some((body, salt)))
}

fn ended(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(line).ok()?.strip_suffix('\n')
}

pub(super) fn salt_text(salt: &[u8; 16]) -> String {
    salt.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn read_salt(text: &str) -> Option<[u8; 16]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let bytes: Vec<u8> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect::<Option<_>>()?;
    if rest.is_empty() { bytes.try_into().ok() } else { None }
}
