//! Reads the ledger and insists on what must always hold of it.

use runtime::ports::store::Reader;
use std::collections::BTreeMap;
use values::json::{Bounds, Json};
use values::sealed::Sealed;

/// Records read in one go.
const PAGE: usize = 1_000;

/// What the ledger has said so far.
#[derive(Default)]
pub struct Ledger {
    pub size: u64,
    /// Index and verdict of every decision, by the proposal's id.
    pub decisions: BTreeMap<String, (u64, String)>,
    /// The proposal decided for every idempotency key.
    pub keys: BTreeMap<String, String>,
    /// Every record's kind and body.
    pub records: Vec<(String, Json)>,
}

impl Ledger {
    /// All of it.
    pub fn of(reader: &mut dyn Reader) -> Result<Ledger, String> {
        let mut ledger = Ledger::default();
        ledger.read_on(reader)?;
        Ok(ledger)
    }

    /// What was appended since.
    pub fn read_on(&mut self, reader: &mut dyn Reader) -> Result<(), String> {
        loop {
            let page = reader.records(self.size, PAGE).map_err(|fault| fault.to_string())?;
            if page.is_empty() {
                return Ok(());
            }
            for record in page {
                if record.index != self.size {
                    return Err(format!("record {} stands where {} should", record.index, self.size));
                }
                let (body, salt) = record.body.ok_or_else(|| format!("record {} has no body", record.index))?;
                let sealed = Sealed { leaf: record.leaf, body, salt };
                if !sealed.is_consistent() {
                    return Err(format!("leaf and body of record {} do not fit", record.index));
                }
                self.take(&sealed.body)?;
            }
        }
    }

    fn take(&mut self, body: &str) -> Result<(), String> {
        let body = Json::parse_within(body.as_bytes(), &Bounds::OWN).map_err(|refusal| refusal.to_string())?;
        let text = |json: &Json, name: &str| json.get(name).and_then(Json::as_text).map(str::to_owned);
        let kind = text(&body, "kind").ok_or("a record without a kind")?;
        if kind == "decision" {
            let id = text(&body, "proposal_id").ok_or("a decision without its proposal")?;
            let verdict = text(&body, "verdict").ok_or("a decision without its verdict")?;
            if self.decisions.insert(id.clone(), (self.size, verdict)).is_some() {
                return Err(format!("proposal {id} was decided twice"));
            }
            let key = body.get("proposal").and_then(|proposal| text(proposal, "idempotency_key"));
            if let Some(key) = key
                && let Some(other) = self.keys.insert(key.clone(), id.clone())
            {
                return Err(format!("key `{key}` was decided twice, as {other} and as {id}"));
            }
        }
        self.records.push((kind, body));
        self.size += 1;
        Ok(())
    }

    /// Where the first record of a kind stands.
    pub fn first(&self, kind: &str) -> Option<usize> {
        self.records.iter().position(|(found, _)| found == kind)
    }

    /// How many decisions of a verdict stand behind an index.
    pub fn verdicts_behind(&self, index: usize, verdict: &str) -> usize {
        self.decisions.values().filter(|(at, said)| *at > index as u64 && said == verdict).count()
    }
}
