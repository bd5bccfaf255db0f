//! Receipts: one text that proves to a stranger that an entry is in the log (`c2sp.org/tlog-proof@v1`).

use super::export::{read_salt, salt_text};
use super::keyring::Keyring;
use super::merkle::TreeHash;
use super::note::{Note, NoteProblem};
use super::policy::{Policy, TrustProblem, Trusted};
use super::proof::{PROOF_HASHES_MAX, ProofProblem, verify_inclusion};
use super::text::{decimal, from_base64, to_base64};
use std::fmt;
use values::json::{Bounds, Json, Object};
use values::sealed::Sealed;

/// The first line.
pub const RECEIPT_FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// Longest receipt: a note, a proof, and beside it the record in full.
pub const RECEIPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Most entries beside the one a receipt is for.
pub const COMPANIONS_MAX: usize = 32;

/// Why text is no receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReceiptProblem {
    /// Longer than allowed.
    TooLong,
    /// Not UTF-8.
    NotUtf8,
    /// Another first line.
    FirstLine,
    /// No blank line before the checkpoint.
    NoCheckpoint,
    /// The line `extra` is not base64.
    Extra,
    /// The line `index` is missing or not a plain decimal number.
    Index,
    /// A line of the proof is not the base64 of 32 bytes.
    Hash {
        /// Which one, from 1.
        at: usize,
    },
    /// More hashes than the highest tree has levels.
    TooManyHashes,
    /// What follows the blank line is no signed note.
    Note(NoteProblem),
}

impl fmt::Display for ReceiptProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReceiptProblem::TooLong => write!(formatter, "the receipt is longer than {RECEIPT_BYTES_MAX} bytes"),
            ReceiptProblem::NotUtf8 => formatter.write_str("the receipt is not UTF-8"),
            ReceiptProblem::FirstLine => write!(formatter, "the first line is not `{RECEIPT_FIRST_LINE}`"),
            ReceiptProblem::NoCheckpoint => formatter.write_str("the receipt has no checkpoint behind a blank line"),
            ReceiptProblem::Extra => formatter.write_str("the line `extra` is not base64"),
            ReceiptProblem::Index => formatter.write_str("the line `index` is missing or not a plain decimal number"),
            ReceiptProblem::Hash { at } => write!(formatter, "line {at} of the proof is not the base64 of 32 bytes"),
            ReceiptProblem::TooManyHashes => formatter.write_str("the proof has too many hashes"),
            ReceiptProblem::Note(problem) => problem.fmt(formatter),
        }
    }
}

impl std::error::Error for ReceiptProblem {}

/// Why a receipt does not prove what it is said to prove.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnprovenReceipt {
    /// It cannot be read.
    Form(ReceiptProblem),
    /// Its checkpoint is not to be believed.
    Checkpoint(TrustProblem),
    /// The entry is not at its place under the checkpoint.
    Entry(ProofProblem),
    /// It does not carry the entry, which has to be given beside it.
    NoEntry,
    /// It carries a body that is not the entry's.
    OtherBody,
}

/// The entry that a receipt carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Carried {
    /// What is hashed into the tree.
    pub leaf: String,
    /// The record in full and its salt, unless it was erased.
    pub body: Option<(String, [u8; 16])>,
    /// The keys of the log as the receipt states them.
    pub keyring: Keyring,
    /// Entries that belong to the same matter, such as the answer to a question and what became of an intent.
    pub companions: Vec<Companion>,
}

/// An entry beside the one a receipt is for, with its own proof under the same checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Companion {
    /// Which entry, from 0.
    pub index: u64,
    /// The hashes from the entry up.
    pub proof: Vec<TreeHash>,
    /// What is hashed into the tree.
    pub leaf: String,
    /// The record in full and its salt, unless it was erased.
    pub body: Option<(String, [u8; 16])>,
}

impl Companion {
    fn to_json(&self) -> Json {
        let body = self.body.as_ref().map(|(body, salt)| (body.as_str(), *salt));
        let mut members = entry_members(&self.leaf, body);
        members.insert("index".to_owned(), Json::text(self.index.to_string()));
        members.insert("proof".to_owned(), Json::texts(self.proof.iter().map(TreeHash::to_string)));
        Json::Object(members)
    }

    fn from_json(json: &Json) -> Option<Companion> {
        let (leaf, body) = read_entry(json)?;
        let proof = json.get("proof")?.as_list()?;
        let proof = proof.iter().map(|hash| TreeHash::parse(hash.as_text()?)).collect::<Option<Vec<_>>>()?;
        Some(Companion { index: decimal(json.get("index")?.as_text()?)?, proof, leaf, body })
    }
}

impl fmt::Display for UnprovenReceipt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnprovenReceipt::Form(problem) => problem.fmt(formatter),
            UnprovenReceipt::Checkpoint(problem) => problem.fmt(formatter),
            UnprovenReceipt::Entry(problem) => write!(formatter, "the entry is not proved: {problem}"),
            UnprovenReceipt::NoEntry => formatter.write_str("the receipt does not carry its entry"),
            UnprovenReceipt::OtherBody => formatter.write_str("the body is not that of the entry"),
        }
    }
}

impl std::error::Error for UnprovenReceipt {}

/// Where an entry lies, the hashes that lead from it to a root, and the signed checkpoint with that root.
///
/// ```
/// use ledger::checkpoint::Checkpoint;
/// use ledger::keys::NoteSigner;
/// use ledger::merkle::TreeHash;
/// use ledger::note::Note;
/// use ledger::policy::Policy;
/// use ledger::receipt::{self, Receipt};
/// let (left, right) = (TreeHash::of_leaf(b"left"), TreeHash::of_leaf(b"right"));
/// let signer = NoteSigner::new("log.example/default/0", &[7; 32]).unwrap();
/// let head = Checkpoint::new("log.example/default/0", 2, TreeHash::of_children(left, right)).unwrap();
/// let note = Note::sign(&head.to_string(), &[&signer]).unwrap();
/// let text = Receipt::new(1, vec![left], note).unwrap().to_string();
/// // The reader has the text, the entry and the public key, and nothing else.
/// let policy = Policy::of_log(signer.verifier()).unwrap();
/// assert!(receipt::verify(text.as_bytes(), &policy, b"right").is_ok());
/// assert!(receipt::verify(text.as_bytes(), &policy, b"wrong").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    extra: Option<Vec<u8>>,
    index: u64,
    /// INVARIANT: at most `PROOF_HASHES_MAX`.
    proof: Vec<TreeHash>,
    checkpoint: Note,
}

/// Reads a receipt and checks it against the bytes of the entry: no store, no network.
pub fn verify(receipt: &[u8], policy: &Policy, entry: &[u8]) -> Result<Trusted, UnprovenReceipt> {
    Receipt::parse(receipt).map_err(UnprovenReceipt::Form)?.verify(policy, entry)
}

impl Receipt {
    /// Puts a receipt together; `None` if the proof is longer than any can be.
    pub fn new(index: u64, proof: Vec<TreeHash>, checkpoint: Note) -> Option<Receipt> {
        (proof.len() <= PROOF_HASHES_MAX).then_some(Receipt { extra: None, index, proof, checkpoint })
    }

    /// Reads a receipt. What was read and is printed again has the same bytes.
    pub fn parse(bytes: &[u8]) -> Result<Receipt, ReceiptProblem> {
        if bytes.len() > RECEIPT_BYTES_MAX {
            return Err(ReceiptProblem::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| ReceiptProblem::NotUtf8)?;
        let (head, note) = text.split_once("\n\n").ok_or(ReceiptProblem::NoCheckpoint)?;
        let mut lines = head.split('\n').peekable();
        if lines.next() != Some(RECEIPT_FIRST_LINE) {
            return Err(ReceiptProblem::FirstLine);
        }
        let extra = match lines.next_if(|line| line.starts_with("extra ")) {
            Some(line) => Some(line.strip_prefix("extra ").and_then(from_base64).ok_or(ReceiptProblem::Extra)?),
            None => None,
        };
        let index = lines.next().and_then(|line| line.strip_prefix("index ")).and_then(decimal);
        let index = index.ok_or(ReceiptProblem::Index)?;
        let mut proof = Vec::new();
        for (at, line) in (1..).zip(lines) {
            if at > PROOF_HASHES_MAX {
                return Err(ReceiptProblem::TooManyHashes);
            }
            proof.push(TreeHash::parse(line).ok_or(ReceiptProblem::Hash { at })?);
        }
        let checkpoint = Note::parse(note.as_bytes()).map_err(ReceiptProblem::Note)?;
        Ok(Receipt { extra, index, proof, checkpoint })
    }

    /// Which entry, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The hashes from the entry up.
    pub fn proof(&self) -> &[TreeHash] {
        &self.proof
    }

    /// The signed checkpoint. Not to be believed before [`Receipt::verify`].
    pub fn checkpoint(&self) -> &Note {
        &self.checkpoint
    }

    /// Puts leaf, body, salt and the public keys beside the proof, so that the receipt can be checked alone.
    ///
    /// The proof covers the leaf, the leaf covers body and salt, the keys fit the signature or not, and there is one
    /// text for all of them: what is changed here is noticed like everything else. Whose keys they are is another
    /// question, which only someone who knows them already can answer.
    pub fn carrying(
        mut self,
        leaf: &str,
        body: Option<(&str, [u8; 16])>,
        keyring: &Keyring,
        companions: &[Companion],
    ) -> Receipt {
        self.extra = Some(carried_json(leaf, body, keyring, companions).to_canonical().into_bytes());
        self
    }

    /// Leaf, body and salt as [`Receipt::carrying`] wrote them; `None` if something else stands there.
    pub fn carried(&self) -> Option<Carried> {
        let extra = self.extra.as_deref()?;
        let json = Json::parse_within(extra, &Bounds::OWN).ok()?;
        let (leaf, body) = read_entry(&json)?;
        let shown = body.as_ref().map(|(body, salt)| (body.as_str(), *salt));
        let keyring = Keyring::parse(json.get("keyring")?.as_text()?).ok()?;
        let companions = match json.get("companions") {
            None => Vec::new(),
            Some(list) => {
                let list = list.as_list().filter(|list| (1..=COMPANIONS_MAX).contains(&list.len()))?;
                list.iter().map(Companion::from_json).collect::<Option<_>>()?
            }
        };
        let same = carried_json(&leaf, shown, &keyring, &companions).to_canonical().as_bytes() == extra;
        same.then_some(Carried { leaf, body, keyring, companions })
    }

    /// Checks a receipt that carries its entry: the entry is in the log, and the body is the entry's.
    pub fn verify_carried(&self, policy: &Policy) -> Result<(Trusted, Carried), UnprovenReceipt> {
        let carried = self.carried().ok_or(UnprovenReceipt::NoEntry)?;
        let trusted = self.verify(policy, carried.leaf.as_bytes())?;
        demand_own_body(&carried.leaf, carried.body.as_ref())?;
        let (size, root) = (trusted.checkpoint.size(), trusted.checkpoint.root());
        for companion in &carried.companions {
            let leaf = TreeHash::of_leaf(companion.leaf.as_bytes());
            verify_inclusion(companion.index, size, root, leaf, &companion.proof).map_err(UnprovenReceipt::Entry)?;
            demand_own_body(&companion.leaf, companion.body.as_ref())?;
        }
        Ok((trusted, carried))
    }

    /// Adds a signature to the checkpoint: a receipt gains witnesses after it was handed out.
    pub fn witnessed(&mut self, line: super::note::SignatureLine) -> Result<(), NoteProblem> {
        self.checkpoint.add(line)
    }

    /// Checks that these bytes are the entry at `index` of a log that the policy believes.
    pub fn verify(&self, policy: &Policy, entry: &[u8]) -> Result<Trusted, UnprovenReceipt> {
        let trusted = policy.verify_note(&self.checkpoint).map_err(UnprovenReceipt::Checkpoint)?;
        let (size, root) = (trusted.checkpoint.size(), trusted.checkpoint.root());
        verify_inclusion(self.index, size, root, TreeHash::of_leaf(entry), &self.proof)
            .map_err(UnprovenReceipt::Entry)?;
        Ok(trusted)
    }
}

fn demand_own_body(leaf: &str, body: Option<&(String, [u8; 16])>) -> Result<(), UnprovenReceipt> {
    let Some((body, salt)) = body else { return Ok(()) };
    let sealed = Sealed { leaf: leaf.to_owned(), body: body.clone(), salt: *salt };
    if sealed.is_consistent() { Ok(()) } else { Err(UnprovenReceipt::OtherBody) }
}

fn carried_json(leaf: &str, body: Option<(&str, [u8; 16])>, keyring: &Keyring, companions: &[Companion]) -> Json {
    let mut members = entry_members(leaf, body);
    members.insert("keyring".to_owned(), Json::text(keyring.to_string()));
    if !companions.is_empty() {
        let list = companions.iter().map(Companion::to_json).collect();
        members.insert("companions".to_owned(), Json::List(list));
    }
    Json::Object(members)
}

fn entry_members(leaf: &str, body: Option<(&str, [u8; 16])>) -> Object {
    Object::from_iter([
        ("body".to_owned(), Json::from(body.map(|(body, _)| body.to_owned()))),
        ("leaf".to_owned(), Json::text(leaf)),
        ("salt".to_owned(), Json::from(body.map(|(_, salt)| salt_text(&salt)))),
    ])
}

/// Leaf, and body with its salt.
type Entry = (String, Option<(String, [u8; 16])>);

fn read_entry(json: &Json) -> Option<Entry> {
    let leaf = json.get("leaf")?.as_text()?.to_owned();
    let body = match (json.get("body")?, json.get("salt")?) {
        (Json::Text(body), Json::Text(salt)) => Some((body.clone(), read_salt(salt)?)),
        _ => None,
    };
    Some((leaf, body))
}

impl fmt::Display for Receipt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{RECEIPT_FIRST_LINE}")?;
        if let Some(extra) = &self.extra {
            writeln!(formatter, "extra {}", to_base64(extra))?;
        }
        writeln!(formatter, "index {}", self.index)?;
        self.proof.iter().try_for_each(|hash| writeln!(formatter, "{hash}"))?;
        write!(formatter, "\n{}", self.checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::Checkpoint;
    use super::super::keys::NoteSigner;
    use super::*;

    const ORIGIN: &str = "log.example/default/0";

    fn signer() -> NoteSigner {
        NoteSigner::new(ORIGIN, &[7; 32]).unwrap()
    }

    fn receipt() -> String {
        let (left, right) = (TreeHash::of_leaf(b"left"), TreeHash::of_leaf(b"right"));
        let head = Checkpoint::new(ORIGIN, 2, TreeHash::of_children(left, right)).unwrap();
        let note = Note::sign(&head.to_string(), &[&signer()]).unwrap();
        Receipt::new(1, vec![left], note).unwrap().to_string()
    }

    #[test]
    fn what_is_no_receipt() {
        let good = receipt();
        let hash = TreeHash::of_leaf(b"left").to_string();
        let check = |text: &str, expected| assert_eq!(Receipt::parse(text.as_bytes()), Err(expected), "{text}");
        check("", ReceiptProblem::NoCheckpoint);
        check(&good.replace("@v1", "@v2"), ReceiptProblem::FirstLine);
        check(&format!("\n{good}"), ReceiptProblem::FirstLine);
        check(&good.replace("index 1\n", ""), ReceiptProblem::Index);
        check(&good.replace("index 1", "index 01"), ReceiptProblem::Index);
        check(&good.replace("index 1", "index  1"), ReceiptProblem::Index);
        check(&good.replace("index 1", "index 1\r"), ReceiptProblem::Index);
        check(&good.replace("index 1", "extra AA=\nindex 1"), ReceiptProblem::Extra);
        check(&good.replace("index 1", "index 1\nextra AA=="), ReceiptProblem::Hash { at: 1 });
        check(&good.replace("index 1", "extra AA==\nextra AA==\nindex 1"), ReceiptProblem::Index);
        check(&good.replace(&hash, &format!("{hash}\nAAAA")), ReceiptProblem::Hash { at: 2 });
        let hashes = |count: usize| good.replace(&format!("{hash}\n"), &format!("{hash}\n").repeat(count));
        check(&hashes(PROOF_HASHES_MAX + 1), ReceiptProblem::TooManyHashes);
        assert_eq!(Receipt::parse(hashes(PROOF_HASHES_MAX).as_bytes()).unwrap().proof().len(), PROOF_HASHES_MAX);
        check(&good.replace(&format!("{hash}\n\n"), &format!("{hash}\n")), ReceiptProblem::Hash { at: 2 });
        check(&format!("{good}\n"), ReceiptProblem::Note(NoteProblem::NoSignatures));
        check(&"x".repeat(RECEIPT_BYTES_MAX + 1), ReceiptProblem::TooLong);
        check(&"x".repeat(RECEIPT_BYTES_MAX), ReceiptProblem::NoCheckpoint);
        assert_eq!(Receipt::parse(b"\xFF"), Err(ReceiptProblem::NotUtf8));
        let note = Receipt::parse(good.as_bytes()).unwrap().checkpoint;
        assert_eq!(Receipt::new(1, vec![TreeHash::of_leaf(b"left"); 66], note), None, "what is made can be read");
    }

    #[test]
    fn what_stands_beside_the_proof_comes_back_and_proves_nothing() {
        let text = receipt().replace("index 1", "extra AAE=\nindex 1");
        let read = Receipt::parse(text.as_bytes()).unwrap();
        assert_eq!(read.extra.as_deref(), Some([0, 1].as_slice()));
        assert_eq!(read.to_string(), text);
    }

    #[test]
    fn a_receipt_of_a_single_entry_has_no_hashes() {
        let head = Checkpoint::new(ORIGIN, 1, TreeHash::of_leaf(b"only")).unwrap();
        let text =
            Receipt::new(0, Vec::new(), Note::sign(&head.to_string(), &[&signer()]).unwrap()).unwrap().to_string();
        let policy = Policy::of_log(signer().verifier()).unwrap();
        assert_eq!(verify(text.as_bytes(), &policy, b"only").unwrap().checkpoint, head);
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let good = receipt();
        let policy = Policy::of_log(signer().verifier()).unwrap();
        assert!(verify(good.as_bytes(), &policy, b"right").is_ok());
        for at in 0..good.len() {
            let mut bytes = good.clone().into_bytes();
            for value in 0..=u8::MAX {
                bytes[at] = value;
                let same = bytes == good.as_bytes();
                assert_eq!(verify(&bytes, &policy, b"right").is_ok(), same, "byte {at} as {value}");
            }
            assert!(verify(&good.as_bytes()[..at], &policy, b"right").is_err(), "cut at {at}");
        }
        for at in 0..5 {
            let mut entry = *b"right";
            entry[at] ^= 1;
            assert!(verify(good.as_bytes(), &policy, &entry).is_err(), "entry byte {at}");
        }
    }
}
