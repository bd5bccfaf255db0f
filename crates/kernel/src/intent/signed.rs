//! Signed intents: what an executor elsewhere checks with a public key alone.
//!
//! The form is a signed note, so any tool that verifies notes verifies intents. Single use is the kernel's: signing
//! claims the intent and marks it in flight, and its epoch is never given out again.

use crate::intent::{IntentRow, Order};
use ledger::keys::{NoteSigner, VerifierKey};
use ledger::note::Note;
use values::json::{Bounds, Json};
use values::time::{Duration, Instant};

/// Permission for one executor to cause one effect once, not after an instant.
#[derive(Clone, PartialEq, Debug)]
pub struct SignedIntent {
    /// The intent as it stands in the ledger.
    pub order: Order,
    /// The key under which the other side recognises the effect.
    pub key: String,
    /// The epoch it was claimed under; a report must name it.
    pub epoch: u64,
    /// For whom.
    pub executor: String,
    /// Nothing may be started after this.
    pub not_after: Instant,
}

impl SignedIntent {
    /// The first line keeps a signed intent from being taken for anything else that is signed.
    pub const HEADING: &str = "writkeeper-intent/v1";

    /// Until when a signed intent may be started: nobody starts what the kernel itself would not start any more.
    pub fn until(row: &IntentRow, at: Instant, within: Duration) -> Instant {
        let ends = match &row.running {
            Some(running) if row.is_doubted() => running.retry_until,
            Some(_) | None => Some(row.facts.valid_until()),
        };
        let asked = at.plus(within);
        ends.map_or(asked, |ends| ends.min(asked))
    }

    /// Signs it; `None` if the text cannot be a note.
    pub fn sign(&self, signer: &NoteSigner) -> Option<String> {
        let json = Json::object([
            ("order", self.order.to_json()),
            ("key", Json::text(self.key.as_str())),
            ("epoch", Json::from(self.epoch)),
            ("executor", Json::text(self.executor.as_str())),
            ("not_after", Json::text(self.not_after.to_string())),
        ]);
        let text = format!("{}\n{}\n", SignedIntent::HEADING, json.to_canonical());
        Note::sign(&text, &[signer]).ok().map(|note| note.to_string())
    }

    /// Checks one: signed by a known key, for this executor, not too late. The error says what is wrong.
    pub fn check(
        bytes: &[u8],
        known: &[VerifierKey],
        executor: &str,
        now: Instant,
    ) -> Result<SignedIntent, &'static str> {
        let note = Note::parse(bytes).map_err(|_| "it is no signed note")?;
        note.verify(known).map_err(|_| "no known key has signed it")?;
        let read = SignedIntent::stated(&note)?;
        if read.executor != executor {
            return Err("it is for another executor");
        }
        if now > read.not_after {
            return Err("its time is over");
        }
        Ok(read)
    }

    /// What a note states, whoever signed it.
    pub fn stated(note: &Note) -> Result<SignedIntent, &'static str> {
        let body = note.text().strip_prefix(SignedIntent::HEADING).and_then(|rest| rest.strip_prefix('\n'));
        let body = body.ok_or("it is signed, but no intent")?;
        let json = Json::parse_within(body.trim_end_matches('\n').as_bytes(), &Bounds::OWN).ok();
        json.as_ref().and_then(read).ok_or("it is signed, but cannot be read")
    }
}

fn read(json: &Json) -> Option<SignedIntent> {
    Some(SignedIntent {
        order: Order::from_json(json.get("order")?)?,
        key: json.get("key")?.as_text()?.to_owned(),
        epoch: u64::try_from(json.get("epoch")?.as_number()?.to_i64()?).ok()?,
        executor: json.get("executor")?.as_text()?.to_owned(),
        not_after: Instant::parse(json.get("not_after")?.as_text()?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_good_for_its_executor_its_time_and_its_bytes() {
        let signer = NoteSigner::new("kernel.example", &[7; 32]).unwrap();
        let known = [signer.verifier()];
        let intent = SignedIntent {
            order: crate::testing::order(),
            key: "k".to_owned(),
            epoch: 3,
            executor: "desk".to_owned(),
            not_after: Instant::PURE_DEFAULT,
        };
        let text = intent.sign(&signer).unwrap();
        let check = |text: &str, who: &str, seconds: i64| {
            let now = Instant::PURE_DEFAULT.minus(Duration::from_secs(1)).plus(Duration::from_secs(seconds));
            SignedIntent::check(text.as_bytes(), &known, who, now)
        };
        assert_eq!(check(&text, "desk", 1), Ok(intent));
        assert_eq!(check(&text, "desk", 2), Err("its time is over"));
        assert_eq!(check(&text, "till", 0), Err("it is for another executor"));
        assert!(check(&text.replace("\"epoch\":3", "\"epoch\":4"), "desk", 0).is_err());
        let other = NoteSigner::new("kernel.example", &[8; 32]).unwrap().verifier();
        assert!(SignedIntent::check(text.as_bytes(), &[other], "desk", Instant::PURE_DEFAULT).is_err());
        let note = Note::sign("something else\n", &[&signer]).unwrap().to_string();
        assert_eq!(check(&note, "desk", 0), Err("it is signed, but no intent"));
    }
}
