//! Whom the reader believes: keys given, a policy, or nobody in particular.

use crate::cli::proof::VerifyArgs;
use crate::exit::{InvalidData, UsageError};
use crate::files;
use crate::terminal::counted;
use ledger::checkpoint::Checkpoint;
use ledger::ed25519::PublicKey;
use ledger::envelope::read_key;
use ledger::keyring::Keyring;
use ledger::keys::{KeyKind, VerifierKey};
use ledger::note::{Note, NoteProblem};
use ledger::policy::{Policy, TrustProblem};

/// Whom the reader believes.
#[derive(Default)]
pub struct Trust {
    logs: Vec<VerifierKey>,
    witnesses: Vec<VerifierKey>,
    witnesses_min: usize,
    plain: Vec<PublicKey>,
}

impl Trust {
    /// From what was typed.
    pub fn read(args: &VerifyArgs) -> anyhow::Result<Trust> {
        let mut trust = Trust::default();
        for text in &args.keys {
            match (VerifierKey::parse(text), read_key(text)) {
                (Ok(key), _) => trust.log(key),
                (Err(_), Some(key)) => trust.plain.push(key),
                (Err(problem), None) => return Err(UsageError(format!("--key `{text}`: {problem}")).into()),
            }
        }
        if let Some(path) = &args.policy {
            let text = files::read_text(path)?;
            let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
            for (line, number) in lines {
                trust
                    .statement(line)
                    .map_err(|problem| InvalidData(format!("`{}` line {number}: {problem}", path.display())))?;
            }
        }
        if let Some(path) = args.policy.as_ref().filter(|_| trust.logs.is_empty()) {
            let problem = "names no log, so nobody would be believed; write `log KEY`";
            return Err(InvalidData(format!("`{}` {problem}", path.display())).into());
        }
        if trust.witnesses_min > trust.witnesses.len() {
            let problem = "more witnesses are demanded than are named".to_owned();
            return Err(InvalidData(problem).into());
        }
        Ok(trust)
    }

    fn statement(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let key = || VerifierKey::parse(rest.trim()).map_err(|problem| problem.to_string());
        match word {
            "log" => self.log(key()?),
            "witness" => self.witnesses.push(key()?),
            "witnesses" => {
                self.witnesses_min = rest.trim().parse().map_err(|_| "`witnesses` needs a number".to_owned())?;
            }
            other => return Err(format!("`{other}` is none of `log`, `witness` and `witnesses`")),
        }
        Ok(())
    }

    fn log(&mut self, key: VerifierKey) {
        match key.kind() {
            KeyKind::Ed25519 => self.logs.push(key),
            KeyKind::CosignatureV1 => self.witnesses.push(key),
        }
    }

    /// Whether anybody was named.
    pub fn is_stated(&self) -> bool {
        !self.logs.is_empty() || !self.plain.is_empty()
    }

    /// Whether a key was given, as that of a log or by itself.
    pub fn knows(&self, key: &PublicKey) -> bool {
        self.plain.contains(key) || self.logs.iter().any(|log| log.key() == key)
    }

    /// Which of the keys given has signed a note.
    pub fn signer_of(&self, note: &Note) -> Option<String> {
        let signed = self.logs.iter().find(|key| note.verify(std::slice::from_ref(*key)).is_ok());
        signed.map(ToString::to_string)
    }

    /// Verifies a checkpoint by the keys given; without any, by those the file states. Who signed, in words.
    pub fn checkpoint(&self, note: &Note, stated: Option<&Keyring>) -> Result<String, Unbelieved> {
        let wrong = |problem: String| Unbelieved::Wrong(problem);
        let own = Checkpoint::parse(note.text()).map_err(|problem| wrong(problem.to_string()))?;
        let origin = stated.map_or_else(|| own.origin(), Keyring::origin);
        let valid: Vec<VerifierKey> =
            stated.map(|ring| ring.valid_at(own.size()).cloned().collect()).unwrap_or_default();
        let keys = if self.is_stated() { self.of_log(origin, stated, &valid)? } else { valid };
        if keys.is_empty() {
            return Err(Unbelieved::NoKey("no key is known; give one with --key".to_owned()));
        }
        let policy = Policy::new(origin, keys, self.witnesses.clone(), self.witnesses_min);
        let trusted = policy.map_err(|problem| wrong(problem.to_string()))?.verify_note(note);
        let trusted = trusted.map_err(|problem| match problem {
            TrustProblem::Note(NoteProblem::UnknownSigners) | TrustProblem::NotSignedByLog if self.is_stated() => {
                not_given(note, origin)
            }
            TrustProblem::Note(_)
            | TrustProblem::Checkpoint(_)
            | TrustProblem::OtherLog { .. }
            | TrustProblem::NotSignedByLog
            | TrustProblem::TooFewWitnesses { .. } => wrong(problem.to_string()),
        })?;
        let names: Vec<String> = trusted.log_keys.iter().map(ToString::to_string).collect();
        let seen = match trusted.witnesses.len() {
            0 => String::new(),
            count => format!(", seen by {}", counted(count as u64, "witness")),
        };
        Ok(format!("{}{seen}", names.join(" and ")))
    }

    /// Whether one of the keys given is or was one of a log.
    pub fn knows_log(&self, ring: &Keyring) -> bool {
        ring.periods().iter().any(|period| self.knows(period.key.key()))
    }

    /// Those of the keys given that can have signed for a log.
    fn of_log(
        &self,
        origin: &str,
        stated: Option<&Keyring>,
        valid: &[VerifierKey],
    ) -> Result<Vec<VerifierKey>, Unbelieved> {
        let plain = valid.iter().filter(|key| self.plain.contains(key.key()));
        let named = self.logs.iter().filter(|key| key.name().as_str() == origin);
        let keys: Vec<VerifierKey> = named.chain(plain).cloned().collect();
        match stated {
            // A key that was retired before, or joined later, is no reason to speak of damage.
            Some(ring) if self.knows_log(ring) && keys.is_empty() => {
                let ids: Vec<String> = valid.iter().map(|key| key.id().to_string()).collect();
                Err(Unbelieved::NotGiven(missing(&ids, origin)))
            }
            Some(ring) if !self.knows_log(ring) => Err(other_log()),
            None if keys.is_empty() => Err(other_log()),
            Some(_) | None => Ok(keys),
        }
    }
}

/// Why a checkpoint is not believed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unbelieved {
    /// Nobody was named, and there are no keys beside it.
    NoKey(String),
    /// The keys given are of other logs.
    OtherLog(String),
    /// It is signed in the name of the log, by a key that was not given.
    NotGiven(String),
    /// A signature does not fit, or too few people saw it.
    Wrong(String),
}

impl Unbelieved {
    /// The sentence.
    pub fn text(self) -> String {
        match self {
            Unbelieved::NoKey(text)
            | Unbelieved::OtherLog(text)
            | Unbelieved::NotGiven(text)
            | Unbelieved::Wrong(text) => text,
        }
    }
}

fn other_log() -> Unbelieved {
    Unbelieved::OtherLog("none of the keys given is one of this log".to_owned())
}

/// Who signed in the name of a log, where it was none of the keys given.
fn not_given(note: &Note, origin: &str) -> Unbelieved {
    let lines = note.signatures().iter().filter(|line| line.name().as_str() == origin);
    let ids: Vec<String> = lines.map(|line| line.id().to_string()).collect();
    if ids.is_empty() {
        return Unbelieved::Wrong(format!("nobody signed it in the name of `{origin}`"));
    }
    Unbelieved::NotGiven(missing(&ids, origin))
}

fn missing(ids: &[String], origin: &str) -> String {
    let ids = ids.join(" and ");
    format!("it is signed by the key {ids} of `{origin}`, which was not given; give it too with --key")
}
