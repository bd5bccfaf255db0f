//! What a stream or topic holds after a relay, beside the ledger it came from.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A message: its subject or key, the id that its receivers drop what comes twice by, and the event.
pub struct Message {
    pub place: String,
    pub id: String,
    pub event: Value,
}

impl Message {
    /// The entry that it tells of.
    pub fn index(&self) -> u64 {
        self.event.get("id").and_then(Value::as_str).unwrap().parse().unwrap()
    }

    pub fn flow(&self) -> Option<&str> {
        self.event.pointer("/data/flow").and_then(Value::as_str)
    }
}

/// Every entry from `from` on is there, in order within its flow, and where it belongs; how many came twice.
pub fn check(messages: &[Message], (from, entries): (u64, u64), belongs: impl Fn(&Message) -> bool) -> usize {
    let mut seen = BTreeSet::new();
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let mut twice = 0;
    for message in messages {
        let (index, id) = (message.index(), &message.id);
        assert!(id.ends_with(&format!("/{index}")), "{id}");
        if !seen.insert(index) {
            twice += 1;
            continue;
        }
        assert!(belongs(message), "{index} does not belong to `{}`", message.place);
        if let Some(flow) = message.flow() {
            let before = last.insert(flow.to_owned(), index);
            assert!(before.is_none_or(|before| before < index), "flow {flow}: {before:?} before {index}");
        }
    }
    let missing: Vec<u64> = (from..entries).filter(|index| !seen.contains(index)).take(9).collect();
    assert!(missing.is_empty(), "entries are missing: {missing:?} and perhaps more");
    assert_eq!(seen.len() as u64, entries - from, "there are messages of no entry");
    twice
}
