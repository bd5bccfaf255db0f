//! Keys of signed notes: a name, a kind of signature, and the key itself.
//!
//! Public keys are written `name+hash+base64`, as Go's `note` package and the public witnesses write them.

use super::ed25519::{PublicKey, SIGNATURE_BYTES, SecretKey};
use super::note::{Note, SignatureLine};
use super::text::{from_base64, to_base64};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Longest name of a key: cosignatures put its length into one byte.
pub const NAME_BYTES_MAX: usize = 255;

/// Latest second a cosignature may state.
const TIME_MAX: u64 = i64::MAX as u64;

/// The name of a key: `log.example/tenant/shard`.
///
/// Without blanks and `+`, which separate it from what follows in notes and key texts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KeyName(String);

impl KeyName {
    /// Reads a name.
    pub fn parse(text: &str) -> Option<KeyName> {
        let is_separator = |character: char| character.is_whitespace() || character.is_control() || character == '+';
        let fits = (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.contains(is_separator);
        fits.then(|| KeyName(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The first four bytes of a hash over name, kind and key: a hint which key to try, never a proof.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(u32);

impl KeyId {
    /// From the four bytes in front of a signature.
    pub const fn from_bytes(bytes: [u8; 4]) -> KeyId {
        KeyId(u32::from_be_bytes(bytes))
    }

    /// The four bytes.
    pub const fn bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    fn of(name: &KeyName, kind: KeyKind, key: &PublicKey) -> KeyId {
        let mut hasher = Sha256::new();
        hasher.update(name.as_str());
        hasher.update([b'\n', kind.byte()]);
        hasher.update(key.bytes());
        let hash: [u8; 32] = hasher.finalize().into();
        KeyId(hash.first_chunk().map_or(0, |first| u32::from_be_bytes(*first)))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// What a key signs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyKind {
    /// The text of a note: logs.
    Ed25519,
    /// The text of a checkpoint and the second at which it was the largest seen: witnesses.
    CosignatureV1,
}

impl KeyKind {
    /// The byte that stands for it in key texts and ids.
    pub const fn byte(self) -> u8 {
        match self {
            KeyKind::Ed25519 => 0x01,
            KeyKind::CosignatureV1 => 0x04,
        }
    }

    fn from_byte(byte: u8) -> Option<KeyKind> {
        [KeyKind::Ed25519, KeyKind::CosignatureV1].into_iter().find(|kind| kind.byte() == byte)
    }
}

/// Why text is no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyProblem {
    /// Not of the form `name+hash+base64`.
    Malformed,
    /// Signatures of a kind that is not known here.
    UnknownKind(u8),
    /// Not a point on the curve, of small order, or not in its one encoding.
    Unsound,
    /// The hash in the text is another one.
    WrongHash,
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyProblem::Malformed => formatter.write_str("the key is not of the form `name+hash+base64`"),
            KeyProblem::UnknownKind(byte) => write!(formatter, "keys of kind {byte} are not known here"),
            KeyProblem::Unsound => formatter.write_str("the key is not a sound Ed25519 key"),
            KeyProblem::WrongHash => formatter.write_str("the hash in the key does not fit the key"),
        }
    }
}

impl std::error::Error for KeyProblem {}

/// A public key under its name.
///
/// ```
/// use ledger::keys::{NoteSigner, VerifierKey};
/// let signer = NoteSigner::new("log.example/default/0", &[7; 32]).unwrap();
/// let text = signer.verifier().to_string();
/// assert_eq!(VerifierKey::parse(&text), Ok(signer.verifier()));
/// assert!(text.starts_with("log.example/default/0+"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifierKey {
    name: KeyName,
    id: KeyId,
    kind: KeyKind,
    key: PublicKey,
}

impl VerifierKey {
    /// Puts a key under a name.
    pub fn new(name: KeyName, kind: KeyKind, key: PublicKey) -> VerifierKey {
        VerifierKey { id: KeyId::of(&name, kind, &key), name, kind, key }
    }

    /// Reads `name+hash+base64`.
    pub fn parse(text: &str) -> Result<VerifierKey, KeyProblem> {
        let (name, hash, kind, bytes) = key_parts(text).ok_or(KeyProblem::Malformed)?;
        let kind = KeyKind::from_byte(kind).ok_or(KeyProblem::UnknownKind(kind))?;
        let key = PublicKey::read(&bytes).ok_or(KeyProblem::Unsound)?;
        let verifier = VerifierKey::new(name, kind, key);
        if verifier.id.to_string() == hash { Ok(verifier) } else { Err(KeyProblem::WrongHash) }
    }

    /// Under which name.
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    /// The hint in front of its signatures.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// What it signs.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// The key itself.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Checks a signature over the text of a note; a cosignature yields its second.
    pub(super) fn check(&self, text: &str, signature: &[u8]) -> Option<Option<u64>> {
        match self.kind {
            KeyKind::Ed25519 => self.key.verify(text.as_bytes(), signature).then_some(None),
            KeyKind::CosignatureV1 => {
                let (time, signature) = signature.split_first_chunk()?;
                let time = u64::from_be_bytes(*time);
                let message = cosigned(text, time)?;
                self.key.verify(message.as_bytes(), signature).then_some(Some(time))
            }
        }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}+{}+{}", self.name, self.id, kinded(self.kind, self.key.bytes()))
    }
}

/// A private key that signs notes. Printing it shows the public half.
pub struct NoteSigner {
    verifier: VerifierKey,
    secret: SecretKey,
}

impl NoteSigner {
    /// A signer under a name; `None` if the name cannot be one.
    pub fn new(name: &str, seed: &[u8; 32]) -> Option<NoteSigner> {
        let secret = SecretKey::from_seed(seed);
        let verifier = VerifierKey::new(KeyName::parse(name)?, KeyKind::Ed25519, secret.public());
        Some(NoteSigner { verifier, secret })
    }

    /// Reads `PRIVATE+KEY+name+hash+base64`.
    pub fn parse(text: &str) -> Result<NoteSigner, KeyProblem> {
        let rest = text.strip_prefix("PRIVATE+KEY+").ok_or(KeyProblem::Malformed)?;
        let (name, hash, kind, seed) = key_parts(rest).ok_or(KeyProblem::Malformed)?;
        if kind != KeyKind::Ed25519.byte() {
            return Err(KeyProblem::UnknownKind(kind));
        }
        let seed: [u8; 32] = seed.try_into().map_err(|_| KeyProblem::Malformed)?;
        let signer = NoteSigner::new(name.as_str(), &seed).ok_or(KeyProblem::Malformed)?;
        if signer.verifier.id.to_string() == hash { Ok(signer) } else { Err(KeyProblem::WrongHash) }
    }

    /// The text in which the private key is kept. Whoever reads it can sign.
    pub fn to_secret_text(&self) -> String {
        let VerifierKey { name, id, .. } = &self.verifier;
        format!("PRIVATE+KEY+{name}+{id}+{}", kinded(KeyKind::Ed25519, self.secret.seed()))
    }

    /// The public half.
    pub fn verifier(&self) -> VerifierKey {
        self.verifier.clone()
    }

    /// Its name.
    pub fn name(&self) -> &KeyName {
        &self.verifier.name
    }

    /// A signature line over the text of a note.
    pub(super) fn line(&self, text: &str) -> SignatureLine {
        SignatureLine::new(self.verifier.name.clone(), self.verifier.id, self.secret.sign(text.as_bytes()).to_vec())
    }
}

impl fmt::Debug for NoteSigner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NoteSigner({})", self.verifier)
    }
}

/// A private key of a witness.
pub struct Cosigner {
    verifier: VerifierKey,
    secret: SecretKey,
}

impl Cosigner {
    /// A witness under a name; `None` if the name cannot be one.
    pub fn new(name: &str, seed: &[u8; 32]) -> Option<Cosigner> {
        let secret = SecretKey::from_seed(seed);
        let verifier = VerifierKey::new(KeyName::parse(name)?, KeyKind::CosignatureV1, secret.public());
        Some(Cosigner { verifier, secret })
    }

    /// The public half.
    pub fn verifier(&self) -> VerifierKey {
        self.verifier.clone()
    }

    /// States that the checkpoint was the largest seen at this second. `None` beyond the range of the format.
    ///
    /// Whoever calls this has verified that the checkpoint continues the last one it cosigned.
    pub fn cosign(&self, note: &Note, seconds: u64) -> Option<SignatureLine> {
        let message = cosigned(note.text(), seconds)?;
        let mut bytes = Vec::with_capacity(8 + SIGNATURE_BYTES);
        bytes.extend(seconds.to_be_bytes());
        bytes.extend(self.secret.sign(message.as_bytes()));
        Some(SignatureLine::new(self.verifier.name.clone(), self.verifier.id, bytes))
    }
}

impl fmt::Debug for Cosigner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Cosigner({})", self.verifier)
    }
}

/// What a witness signs; the first line keeps it from passing for the text of another note.
fn cosigned(text: &str, seconds: u64) -> Option<String> {
    (seconds <= TIME_MAX).then(|| format!("cosignature/v1\ntime {seconds}\n{text}"))
}

fn kinded(kind: KeyKind, key: &[u8; 32]) -> String {
    let mut bytes = vec![kind.byte()];
    bytes.extend(key);
    to_base64(bytes)
}

/// Name, hash, kind and key bytes of `name+hash+base64`.
fn key_parts(text: &str) -> Option<(KeyName, &str, u8, Vec<u8>)> {
    let (name, rest) = text.split_once('+')?;
    let (hash, encoded) = rest.split_once('+')?;
    let bytes = from_base64(encoded)?;
    let (kind, key) = bytes.split_first()?;
    Some((KeyName::parse(name)?, hash, *kind, key.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_break_a_line_are_refused() {
        let long = "n".repeat(256);
        for name in ["", "a b", "a+b", "a\nb", "a\u{00A0}b", "a\u{2003}b", "a\tb", "a\u{0}b", "a\u{7F}b", long.as_str()]
        {
            assert_eq!(KeyName::parse(name), None, "{name:?}");
        }
        for name in ["a", "log.example/default/0", "é", &long[..255]] {
            assert!(KeyName::parse(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_key_of_the_public_checksum_database_has_the_hash_it_is_known_by() {
        let text = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
        let key = VerifierKey::parse(text).unwrap();
        assert_eq!((key.id().to_string().as_str(), key.kind()), ("033de0ae", KeyKind::Ed25519));
        assert_eq!(key.to_string(), text);
    }

    #[test]
    fn key_texts_are_strict() {
        let signer = NoteSigner::new("log.example", &[7; 32]).unwrap();
        let text = signer.verifier().to_string();
        let hash = signer.verifier().id().to_string();
        let check = |text: &str, expected| assert_eq!(VerifierKey::parse(text), Err(expected), "{text}");
        check("", KeyProblem::Malformed);
        check("log.example", KeyProblem::Malformed);
        check(&format!("log.example+{hash}"), KeyProblem::Malformed);
        check(&format!("log.example+{hash}+"), KeyProblem::Malformed);
        check(&text.replace("log.example", "log example"), KeyProblem::Malformed);
        check(&format!("{text}\n"), KeyProblem::Malformed);
        check(&text.replace("log.example", "log.example2"), KeyProblem::WrongHash);
        check(&text.replace(&hash, &hash.to_uppercase()), KeyProblem::WrongHash);
        check(&text.replace(&hash, &hash[..7]), KeyProblem::WrongHash);
        check(&format!("log.example+{hash}+{}", to_base64([1; 32])), KeyProblem::Unsound);
        check(&format!("log.example+{hash}+{}", to_base64([[1].as_slice(), &[0; 32]].concat())), KeyProblem::Unsound);
        check(&format!("log.example+{hash}+{}", to_base64([6; 33])), KeyProblem::UnknownKind(6));
    }

    #[test]
    fn secrets_come_back_and_are_not_shown() {
        let signer = NoteSigner::new("log.example", &[7; 32]).unwrap();
        let secret = signer.to_secret_text();
        assert_eq!(NoteSigner::parse(&secret).unwrap().verifier(), signer.verifier());
        assert!(!format!("{signer:?}").contains(secret.rsplit('+').next().unwrap()));
        assert_eq!(NoteSigner::parse(&signer.verifier().to_string()).err(), Some(KeyProblem::Malformed));
        let renamed = secret.replace("log.example", "log.other");
        assert_eq!(NoteSigner::parse(&renamed).err(), Some(KeyProblem::WrongHash));
    }

    #[test]
    fn the_same_key_as_log_and_as_witness_has_two_ids() {
        let log = NoteSigner::new("log.example", &[7; 32]).unwrap();
        let witness = Cosigner::new("log.example", &[7; 32]).unwrap();
        assert_ne!(log.verifier().id(), witness.verifier().id());
        assert_eq!(VerifierKey::parse(&witness.verifier().to_string()), Ok(witness.verifier()));
    }
}
