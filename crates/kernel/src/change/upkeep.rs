//! Looking after the ledger: erasing bodies, holding them, changing keys. Each is a command, recorded like any other.

use crate::stored::{optional_text, text_of, texts_of};
use ledger::ed25519::PublicKey;
use ledger::envelope::{key_text, read_key};
use ledger::keyring::Keyring;
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

/// What an operator does to the ledger.
#[derive(Clone, PartialEq, Debug)]
pub enum Upkeep {
    /// Bodies are erased; their leaves stay, and with them every proof.
    Erase {
        /// The first entry.
        from: u64,
        /// The entry behind the last.
        to: u64,
        /// Intents these entries tell of; their rows forget the params too.
        intents: Vec<String>,
        /// Questions these entries tell of; their rows forget the params too.
        questions: Vec<String>,
        /// Why.
        because: String,
    },
    /// Bodies may not be erased.
    Hold {
        /// Names the hold.
        hold: String,
        /// The first entry.
        from: u64,
        /// The entry behind the last; also what is yet to come if there is none.
        to: Option<u64>,
        /// Why.
        because: String,
    },
    /// A hold is over.
    Release {
        /// Which.
        hold: String,
        /// Why.
        because: String,
    },
    /// The keys of the log change; the ring says which may sign from which size to which.
    Rotate {
        /// All of them, old and new.
        keyring: Keyring,
        /// Why.
        because: String,
    },
    /// An agent's public key: from now on it signs what it proposes.
    EnrolKey {
        /// The agent.
        agent: String,
        /// Its key.
        key: PublicKey,
    },
    /// How long idempotency keys are kept from now on.
    KeepKeys {
        /// So long.
        kept: Duration,
        /// Why.
        because: String,
    },
    /// Idempotency keys that are older than they are kept are forgotten. What they were answered with stays in the ledger.
    ForgetKeys {
        /// Why, where a person asked for it.
        because: Option<String>,
    },
}

impl Upkeep {
    /// Everything needed to carry it out again. Indices are texts: a JSON number is not exact beyond 2^53.
    pub fn to_json(&self) -> Json {
        let index = |index: u64| Json::text(index.to_string());
        match self {
            Upkeep::Erase { from, to, intents, questions, because } => Json::object([
                ("from", index(*from)),
                ("to", index(*to)),
                ("intents", Json::texts(intents.iter().map(String::as_str))),
                ("questions", Json::texts(questions.iter().map(String::as_str))),
                ("because", Json::text(because.as_str())),
            ]),
            Upkeep::Hold { hold, from, to, because } => Json::object([
                ("hold", Json::text(hold.as_str())),
                ("from", index(*from)),
                ("to", to.map_or(Json::Null, index)),
                ("because", Json::text(because.as_str())),
            ]),
            Upkeep::Release { hold, because } => {
                Json::object([("hold", Json::text(hold.as_str())), ("because", Json::text(because.as_str()))])
            }
            Upkeep::Rotate { keyring, because } => {
                Json::object([("keyring", Json::text(keyring.to_string())), ("because", Json::text(because.as_str()))])
            }
            Upkeep::EnrolKey { agent, key } => {
                Json::object([("agent", Json::text(agent.as_str())), ("key", Json::text(key_text(key)))])
            }
            Upkeep::KeepKeys { kept, because } => Json::object([
                ("kept_us", Json::Number(Decimal::from(kept.micros()))),
                ("because", Json::text(because.as_str())),
            ]),
            Upkeep::ForgetKeys { because } => Json::Object(
                because.iter().map(|because| ("because".to_owned(), Json::text(because.as_str()))).collect(),
            ),
        }
    }

    pub(super) fn read_erase(command: &Json) -> Option<Upkeep> {
        Some(Upkeep::Erase {
            from: index(command, "from")?,
            to: index(command, "to")?,
            intents: texts_of(command, "intents")?,
            questions: texts_of(command, "questions")?,
            because: text_of(command, "because")?,
        })
    }

    pub(super) fn read_hold(command: &Json) -> Option<Upkeep> {
        Some(Upkeep::Hold {
            hold: text_of(command, "hold")?,
            from: index(command, "from")?,
            to: match optional_text(command, "to") {
                Some(to) => Some(to.parse().ok()?),
                None => None,
            },
            because: text_of(command, "because")?,
        })
    }

    pub(super) fn read_release(command: &Json) -> Option<Upkeep> {
        Some(Upkeep::Release { hold: text_of(command, "hold")?, because: text_of(command, "because")? })
    }

    pub(super) fn read_rotate(command: &Json) -> Option<Upkeep> {
        let keyring = Keyring::parse(command.get("keyring")?.as_text()?).ok()?;
        Some(Upkeep::Rotate { keyring, because: text_of(command, "because")? })
    }

    pub(super) fn read_key(command: &Json) -> Option<Upkeep> {
        let key = read_key(command.get("key")?.as_text()?)?;
        Some(Upkeep::EnrolKey { agent: text_of(command, "agent")?, key })
    }

    pub(super) fn read_keep_keys(command: &Json) -> Option<Upkeep> {
        let kept = Duration::from_micros(command.get("kept_us")?.as_number()?.to_i64()?);
        Some(Upkeep::KeepKeys { kept, because: text_of(command, "because")? })
    }

    pub(super) fn read_forget_keys(command: &Json) -> Option<Upkeep> {
        let because = match command.get("because") {
            Some(because) => Some(because.as_text()?.to_owned()),
            None => None,
        };
        Some(Upkeep::ForgetKeys { because })
    }
}

fn index(command: &Json, key: &str) -> Option<u64> {
    command.get(key)?.as_text()?.parse().ok()
}
