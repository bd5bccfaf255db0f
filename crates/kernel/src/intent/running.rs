//! How an intent is performed: who has it, how often, and what is known of its attempts.

use crate::contract::{EffectClass, Impact};
use crate::intent::{Observed, Order};
use values::ids::Digest;
use values::json::Object;
use values::time::{Duration, Instant};

/// For how long an intent in doubt is tried again of its own accord: providers keep keys for a day, and the last attempt
/// needs time too.
pub const HORIZON: Duration = Duration::from_secs(23 * 3_600);

/// The longest lease; whoever needs longer renews by reporting.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Late observations kept in the row; all of them stand in records.
const EVIDENCE_MAX: usize = 8;

const BACKOFF_FIRST: Duration = Duration::from_secs(1);
const BACKOFF_MAX: Duration = Duration::from_secs(600);

/// The key under which a provider recognises an effect: the same in every attempt and every intent.
pub fn provider_key(tenant: &str, effect_key: &str) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let digest = Digest::of_parts(&[tenant.as_bytes(), effect_key.as_bytes()]);
    let mut text = String::with_capacity(52);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in digest.bytes() {
        bits = bits << 8 | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            let digit = usize::try_from(bits >> held & 31).unwrap_or_default();
            text.extend(DIGITS.get(digit).map(|digit| char::from(*digit)));
        }
        bits &= (1 << held) - 1;
    }
    // 256 bits are 51 digits and one bit.
    let digit = usize::try_from(bits << (5 - held) & 31).unwrap_or_default();
    text.extend(DIGITS.get(digit).map(|digit| char::from(*digit)));
    text
}

/// How an intent is performed.
#[derive(Clone, PartialEq, Debug)]
pub struct Running {
    /// The intent as it stands in the ledger; what is performed is exactly this.
    pub order: Order,
    /// Params that the ledger withholds; forgotten once it is over.
    pub secrets: Object,
    /// Whether a person approved it: then it starts although its agent is passive.
    pub approved: bool,
    /// Whether the agent's host performs it, and owes a report.
    pub by_host: bool,
    /// The agents above its own: none of them may be stopped when it starts.
    pub above: Vec<String>,
    /// Monitors that wait for its outcome.
    pub watched: Vec<String>,
    /// Groups whose members may say what became of it.
    pub approvers: Vec<String>,
    /// How many of them must agree.
    pub quorum: u64,
    /// Whether only signed answers count.
    pub signed: bool,
    /// Grows with every claim; an outcome under another epoch is late evidence.
    pub epoch: u64,
    /// Who claimed it last.
    pub owner: String,
    /// Until when the claim counts.
    pub lease_until: Option<Instant>,
    /// How often nobody knew.
    pub doubts: u64,
    /// When the first attempt was marked.
    pub first_sent: Option<Instant>,
    /// When it is tried again.
    pub retry_at: Option<Instant>,
    /// Until when it may be tried again.
    pub retry_until: Option<Instant>,
    /// When the latest answer of the other side was recorded.
    pub answered_at: Option<Instant>,
    /// What came too late to count by itself.
    pub evidence: Vec<Evidence>,
    /// The open question whether it happened.
    pub question: Option<String>,
    /// The intent it undoes.
    pub undoes: Option<String>,
    /// The intent that undoes it.
    pub undone_by: Option<String>,
    /// When it was over.
    pub over_at: Option<Instant>,
}

/// An observation under an epoch that no longer counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// Under which epoch.
    pub epoch: u64,
    /// What was observed.
    pub observed: Observed,
    /// When it was recorded.
    pub at: Instant,
}

impl Running {
    /// What is to be performed, by nobody yet.
    pub fn new(order: Order) -> Running {
        Running {
            order,
            secrets: Object::new(),
            approved: false,
            by_host: false,
            above: Vec::new(),
            watched: Vec::new(),
            approvers: Vec::new(),
            quorum: 1,
            signed: false,
            epoch: 0,
            owner: String::new(),
            lease_until: None,
            doubts: 0,
            first_sent: None,
            retry_at: None,
            retry_until: None,
            answered_at: None,
            evidence: Vec::new(),
            question: None,
            undoes: None,
            undone_by: None,
            over_at: None,
        }
    }

    /// What an attempt must be: the digest of the ledgered bytes.
    pub fn digest(&self) -> Digest {
        self.order.digest()
    }

    /// What the receiving side guarantees.
    pub fn class(&self) -> EffectClass {
        self.order.class
    }

    /// How much it may hurt.
    pub fn impact(&self) -> Impact {
        self.order.impact
    }

    /// How long performing it may take.
    pub fn timeout(&self) -> Duration {
        self.order.timeout()
    }

    /// Everything the effect needs: the ledgered params, and those that the ledger withholds.
    pub fn params(&self) -> Object {
        self.order.params.clone().into_iter().chain(self.secrets.clone()).collect()
    }

    /// Keeps what came too late; the oldest makes room.
    pub fn keep(&mut self, evidence: Evidence) {
        if self.evidence.len() >= EVIDENCE_MAX {
            self.evidence.remove(0);
        }
        self.evidence.push(evidence);
    }

    /// When the next attempt is due, if the class permits one without a person.
    pub fn retry_after(&self, at: Instant) -> Option<Instant> {
        let repeatable = match self.class() {
            EffectClass::Keyed | EffectClass::Fenced => true,
            EffectClass::None | EffectClass::Local | EffectClass::Opaque => {
                values::bugs::on(values::bugs::Bug::OpaqueRetried)
            }
        };
        let until = self.retry_until.or(self.first_sent.map(|sent| sent.plus(HORIZON)))?;
        let doublings = u32::try_from(self.doubts.saturating_sub(1)).unwrap_or(u32::MAX);
        let factor = 1_i64.checked_shl(doublings.min(16)).unwrap_or(1);
        let wait = Duration::from_micros(BACKOFF_FIRST.micros().saturating_mul(factor)).min(BACKOFF_MAX);
        let next = at.plus(wait);
        (repeatable && !self.by_host && next <= until).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::order;
    use values::json::Json;

    const AT: Instant = Instant::PURE_DEFAULT;

    #[test]
    fn a_provider_key_is_base32_of_the_whole_digest() {
        // Reckoned by another implementation of RFC 4648; the last bit of the digest is 0 in the first and 1 in the second.
        let known = [
            ("default", "refund:AB-1", "dfv7ragppf7bbduwy3vq4djpforys52mlbnibrbiqkeaywpgohza"),
            ("acme", "pay:0", "wxpzfmp2uychkplkurc32r6enbvl22iba7qdlhjitaebayfloszq"),
        ];
        for (tenant, effect, key) in known {
            assert_eq!(provider_key(tenant, effect), key);
        }
        let key = provider_key("default", "refund:AB-1");
        assert_ne!(key, provider_key("defaultr", "efund:AB-1"), "the parts do not run into each other");
    }

    /// An intent of a class whose horizon ends so many seconds from now.
    fn sent(class: &str, doubts: u64, left: i64) -> Running {
        let mut running = Running::new(Order { class: EffectClass::from_word(class).unwrap(), ..order() });
        running.doubts = doubts;
        running.first_sent = Some(AT.minus(HORIZON).plus(Duration::from_secs(left)));
        running
    }

    #[track_caller]
    fn check(running: &Running, expected: Option<i64>) {
        assert_eq!(running.retry_after(AT), expected.map(|seconds| AT.plus(Duration::from_secs(seconds))));
    }

    #[test]
    fn waits_double_up_to_ten_minutes() {
        for (doubts, wait) in [(0, 1), (1, 1), (2, 2), (3, 4), (10, 512), (11, 600), (17, 600), (u64::MAX, 600)] {
            check(&sent("keyed", doubts, 3_600), Some(wait));
        }
    }

    #[test]
    fn nobody_tries_again_behind_the_horizon_or_without_a_guarantee() {
        for (class, left, expected) in [
            ("keyed", 1, Some(1)),
            ("keyed", 0, None),
            ("fenced", 1, Some(1)),
            ("opaque", 3_600, None),
            ("local", 3_600, None),
            ("none", 3_600, None),
        ] {
            check(&sent(class, 1, left), expected);
        }
        let by_host = Running { by_host: true, ..sent("keyed", 1, 3_600) };
        check(&by_host, None);
        // A person who asked for another try gave it another horizon.
        let again = Running { retry_until: Some(AT.plus(Duration::from_secs(1))), ..sent("keyed", 1, -3_600) };
        check(&again, Some(1));
        let never = Running { first_sent: None, ..sent("keyed", 1, 0) };
        check(&never, None);
    }

    #[test]
    fn the_newest_evidence_is_kept() {
        let mut running = sent("keyed", 1, 1);
        for epoch in 1..=10 {
            running.keep(Evidence { epoch, observed: Observed::Negative, at: AT });
        }
        let kept: Vec<u64> = running.evidence.iter().map(|evidence| evidence.epoch).collect();
        assert_eq!(kept, [3, 4, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn an_attempt_gets_what_the_ledger_shows_and_what_it_withholds() {
        let withheld = Json::object([("secret", Json::Bool(true))]);
        let params = Object::from([("amount".to_owned(), Json::from(5_u64)), ("pin".to_owned(), withheld)]);
        let mut running = Running::new(Order { params, ..order() });
        running.secrets = Object::from([("pin".to_owned(), Json::text("1234"))]);
        assert_eq!(Json::Object(running.params()).to_canonical(), r#"{"amount":5,"pin":"1234"}"#);
    }
}
