//! Decides from outside whether a history is right: from what callers were told, what the provider did and what an
//! exported ledger says. It knows the file format and nothing of the kernel's rules, so it can be wrong only by itself.
//!
//! The names of the invariants are those of the correctness model: I1–I4, I7, I8, I11, I12, I18–I25.

mod doctored;
mod effects;
mod ledger;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What an invariant says was broken, and where.
pub type Broken = (&'static str, String);

/// Everything that is known of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// One line per call: `op`, `key`, `args`, `t_inv`, `t_ret` (null: nobody knows), `status`, `response`.
    pub calls: Vec<Value>,
    /// What the provider applied.
    pub effects: Vec<Effect>,
    /// The entries of the export, in its order.
    pub entries: Vec<Entry>,
    /// How many entries the header states.
    pub size: u64,
    /// What the store's own counters say: held and used, by resource.
    pub counters: BTreeMap<String, (i64, i64)>,
    /// The earliest and latest instant a decision can have, in microseconds.
    pub bounds: (i64, i64),
}

/// One line of the provider's log.
#[derive(Clone, Debug)]
pub struct Effect {
    pub key: String,
    pub fence: u64,
    pub intent: String,
}

/// One entry of an export.
#[derive(Clone, Debug)]
pub struct Entry {
    pub index: u64,
    /// As the tile states it.
    pub hash: String,
    pub leaf: String,
    pub body: Value,
}

impl Entry {
    /// A member of the body, as text.
    pub fn text(&self, pointer: &str) -> &str {
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn number(&self, pointer: &str) -> i64 {
        self.body.pointer(pointer).and_then(Value::as_i64).unwrap_or(-1)
    }

    pub fn is_accept(&self) -> bool {
        self.text("/kind") == "decision" && self.text("/verdict") == "ACCEPT"
    }
}

impl History {
    /// Reads a client log, a provider's log and an export.
    pub fn read(clients: &Path, provider: &Path, export: &Path) -> History {
        let lines = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let mut history = History { bounds: (0, i64::MAX), ..History::default() };
        history.calls = lines(clients).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in lines(provider).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (key, intent) = (words[0].to_owned(), words[2].to_owned());
            history.effects.push(Effect { key, fence: words[1].parse().unwrap(), intent });
        }
        let export = lines(export);
        let mut rows = export.lines();
        let header: Value = serde_json::from_str(rows.next().unwrap_or("{}")).unwrap();
        history.size = header["size"].as_str().and_then(|size| size.parse().ok()).unwrap_or_default();
        let mut hashes = std::collections::VecDeque::new();
        for row in rows.skip(1) {
            let fields: Vec<&str> = row.split('\t').collect();
            match fields.as_slice() {
                ["tile", _, tile] => hashes = tile.split(' ').map(str::to_owned).collect(),
                ["entry", index, leaf, _, body] => history.entries.push(Entry {
                    index: index.parse().unwrap(),
                    hash: hashes.pop_front().unwrap_or_default(),
                    leaf: (*leaf).to_owned(),
                    // What was erased or only declared is known by its leaf alone.
                    body: serde_json::from_str(if *body == "-" { leaf } else { body }).unwrap_or(Value::Null),
                }),
                other => panic!("a line of another kind: {other:?}"),
            }
        }
        history
    }

    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Broken> {
        let mut broken = Vec::new();
        ledger::entries(self, &mut broken);
        ledger::answers(self, &mut broken);
        ledger::real_time(self, &mut broken);
        ledger::keys(self, &mut broken);
        effects::intents(self, &mut broken);
        effects::effects(self, &mut broken);
        effects::capacity(self, &mut broken);
        broken
    }

    /// I24: what is left where it can end by itself, though time has passed and nobody dies any more.
    pub fn check_settled(&self) -> Vec<Broken> {
        let mut broken = Vec::new();
        effects::settled(self, &mut broken);
        broken
    }

    /// How often every intent was called for, and by which of them it is over; for figures.
    pub fn states(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for state in effects::final_states(self).into_values() {
            *counts.entry(state).or_default() += 1;
        }
        counts
    }
}
