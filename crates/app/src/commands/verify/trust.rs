//! Whom the reader believes: keys given, a policy, or nobody in particular.

use crate::cli::proof::VerifyArgs;
use crate::exit::{InvalidData, UsageError};
use crate::files;
use kernel::envelope::read_key;
use kernel::ledger::ed25519::PublicKey;
use kernel::ledger::keyring::Keyring;
use kernel::ledger::keys::{KeyKind, VerifierKey};
use kernel::ledger::note::Note;
use kernel::ledger::policy::Policy;

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
    pub fn checkpoint(&self, note: &Note, stated: Option<&Keyring>) -> Result<String, String> {
        let size = runtime::export::stated_size(note);
        let (origin, own) = match stated {
            Some(ring) => (ring.origin().to_owned(), ring.valid_at(size).cloned().collect()),
            None => (self.logs.first().map(|key| key.name().to_string()).unwrap_or_default(), Vec::new()),
        };
        let keys: Vec<VerifierKey> = if self.is_stated() {
            let own = own.into_iter().filter(|key: &VerifierKey| self.plain.contains(key.key()));
            self.logs.iter().filter(|key| key.name().as_str() == origin).cloned().chain(own).collect()
        } else {
            own
        };
        if keys.is_empty() {
            return Err(if self.is_stated() {
                "none of the keys given is one of this log".to_owned()
            } else {
                "no key is known; give one with --key".to_owned()
            });
        }
        let policy = Policy::new(&origin, keys, self.witnesses.clone(), self.witnesses_min);
        let trusted = policy.map_err(|problem| problem.to_string())?.verify_note(note);
        let trusted = trusted.map_err(|problem| problem.to_string())?;
        let names: Vec<String> = trusted.log_keys.iter().map(ToString::to_string).collect();
        let seen = match trusted.witnesses.len() {
            0 => String::new(),
            count => format!(", seen by {count} witnesses"),
        };
        Ok(format!("{}{seen}", names.join(" and ")))
    }
}
