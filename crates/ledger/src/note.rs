//! Signed notes: text, a blank line, and one line per signature.

use super::keys::{KeyId, KeyName, NoteSigner, VerifierKey};
use super::text::{from_base64, has_control, to_base64};
use std::fmt;

/// Longest note: room for the signatures below even if they are of the large kind that quantum computers cannot forge.
pub const NOTE_BYTES_MAX: usize = 256 * 1024;

/// Most signatures on a note; the format demands that at least 16 are read.
pub const SIGNATURES_MAX: usize = 64;

/// What every signature line starts with: an em dash and a blank.
const SIGNATURE_START: &str = "\u{2014} ";

/// Why bytes are no signed note, or a note is not to be believed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoteProblem {
    /// Longer than allowed.
    TooLong,
    /// Not UTF-8.
    NotUtf8,
    /// A control character other than a newline.
    ControlCharacter,
    /// The text is empty or does not end with a newline.
    UnendedText,
    /// No signatures behind the last blank line.
    NoSignatures,
    /// More signatures than allowed.
    TooManySignatures,
    /// A line that is no signature.
    BadSignatureLine {
        /// Which one, from 1.
        at: usize,
    },
    /// A signature of a known key does not fit the text.
    WrongSignature {
        /// The key.
        name: KeyName,
    },
    /// No signature is of a known key.
    UnknownSigners,
}

impl fmt::Display for NoteProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoteProblem::TooLong => write!(formatter, "the note is longer than {NOTE_BYTES_MAX} bytes"),
            NoteProblem::NotUtf8 => formatter.write_str("the note is not UTF-8"),
            NoteProblem::ControlCharacter => formatter.write_str("the note has control characters"),
            NoteProblem::UnendedText => formatter.write_str("the text of the note does not end with a newline"),
            NoteProblem::NoSignatures => formatter.write_str("the note has no signatures"),
            NoteProblem::TooManySignatures => write!(formatter, "the note has more than {SIGNATURES_MAX} signatures"),
            NoteProblem::BadSignatureLine { at } => write!(formatter, "line {at} of the signatures is no signature"),
            NoteProblem::WrongSignature { name } => {
                write!(formatter, "the signature of `{name}` does not fit the text")
            }
            NoteProblem::UnknownSigners => formatter.write_str("no signature is of a known key"),
        }
    }
}

impl std::error::Error for NoteProblem {}

/// One signature as it stands on a note. Nothing is known about it until the note is verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureLine {
    name: KeyName,
    id: KeyId,
    bytes: Vec<u8>,
}

impl SignatureLine {
    pub(super) fn new(name: KeyName, id: KeyId, bytes: Vec<u8>) -> SignatureLine {
        SignatureLine { name, id, bytes }
    }

    /// Reads one line without its newline.
    pub fn parse(line: &str) -> Option<SignatureLine> {
        let (name, signature) = line.strip_prefix(SIGNATURE_START)?.split_once(' ')?;
        let bytes = from_base64(signature)?;
        let (id, bytes) = bytes.split_first_chunk()?;
        let name = KeyName::parse(name)?;
        (!bytes.is_empty()).then(|| SignatureLine { name, id: KeyId::from_bytes(*id), bytes: bytes.to_vec() })
    }

    /// Who is said to have signed.
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    /// Which key is said to have been used.
    pub fn id(&self) -> KeyId {
        self.id
    }
}

impl fmt::Display for SignatureLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [self.id.bytes().as_slice(), &self.bytes].concat();
        write!(formatter, "{SIGNATURE_START}{} {}", self.name, to_base64(bytes))
    }
}

/// A text under at least one signature.
///
/// ```
/// use ledger::keys::NoteSigner;
/// use ledger::note::{Note, NoteProblem};
/// let (mine, other) = (NoteSigner::new("mine", &[1; 32]).unwrap(), NoteSigner::new("other", &[2; 32]).unwrap());
/// let note = Note::sign("all is well\n", &[&mine]).unwrap();
/// let read = Note::parse(note.to_string().as_bytes()).unwrap();
/// assert_eq!(read.verify(&[mine.verifier()]).unwrap().len(), 1);
/// assert_eq!(read.verify(&[other.verifier()]), Err(NoteProblem::UnknownSigners));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// INVARIANT: ends with a newline and has no control characters.
    text: String,
    /// INVARIANT: 1 to `SIGNATURES_MAX`.
    signatures: Vec<SignatureLine>,
}

/// A signature that was verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endorsement<'a> {
    /// The key.
    pub key: &'a VerifierKey,
    /// The second that a witness stated.
    pub seconds: Option<u64>,
}

impl Note {
    /// Signs a text with every signer.
    pub fn sign(text: &str, signers: &[&NoteSigner]) -> Result<Note, NoteProblem> {
        let note = Note { text: text.to_owned(), signatures: signers.iter().map(|signer| signer.line(text)).collect() };
        note.demand_form()?;
        Ok(note)
    }

    /// Adds a signature, a witness's for example. A line that is there already is not added twice.
    pub fn add(&mut self, line: SignatureLine) -> Result<(), NoteProblem> {
        if self.signatures.contains(&line) {
            return Ok(());
        }
        self.signatures.push(line);
        // What is handed out can be read again.
        let form = self.demand_form();
        if form.is_err() {
            self.signatures.pop();
        }
        form
    }

    /// Reads a note. What was read and is printed again has the same bytes.
    pub fn parse(bytes: &[u8]) -> Result<Note, NoteProblem> {
        if bytes.len() > NOTE_BYTES_MAX {
            return Err(NoteProblem::TooLong);
        }
        let note = std::str::from_utf8(bytes).map_err(|_| NoteProblem::NotUtf8)?;
        // The text may have blank lines, signatures never do: the last one separates them.
        let blank = note.rfind("\n\n").ok_or(NoteProblem::NoSignatures)?;
        let (text, rest) = note.split_at_checked(blank + 1).ok_or(NoteProblem::NoSignatures)?;
        let lines = rest.strip_prefix('\n').filter(|lines| !lines.is_empty()).ok_or(NoteProblem::NoSignatures)?;
        let count = lines.split_inclusive('\n').count();
        if count > SIGNATURES_MAX {
            return Err(NoteProblem::TooManySignatures);
        }
        let mut signatures = Vec::with_capacity(count);
        for (at, line) in (1..).zip(lines.split_inclusive('\n')) {
            let line = line.strip_suffix('\n').and_then(SignatureLine::parse);
            signatures.push(line.ok_or(NoteProblem::BadSignatureLine { at })?);
        }
        let note = Note { text: text.to_owned(), signatures };
        note.demand_form()?;
        Ok(note)
    }

    /// The text, its last newline included. Not to be believed before [`Note::verify`].
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures, verified or not.
    pub fn signatures(&self) -> &[SignatureLine] {
        &self.signatures
    }

    /// Verifies the signatures of known keys; those of others are passed over, as the format demands.
    ///
    /// One wrong signature of a known key refuses the whole note, and so does a note without any known key.
    pub fn verify<'a>(&self, known: &'a [VerifierKey]) -> Result<Vec<Endorsement<'a>>, NoteProblem> {
        let mut endorsements: Vec<Endorsement<'a>> = Vec::new();
        for line in &self.signatures {
            // Ids are short: two keys may share name and id, so a line counts if it fits any of them.
            let mut candidates = known.iter().filter(|key| *key.name() == line.name && key.id() == line.id).peekable();
            if candidates.peek().is_none() {
                continue;
            }
            let fits = |key: &'a VerifierKey| Some(Endorsement { key, seconds: key.check(&self.text, &line.bytes)? });
            let endorsement = candidates.find_map(fits);
            let endorsement = endorsement.ok_or_else(|| NoteProblem::WrongSignature { name: line.name.clone() })?;
            // One key is one voice, however often it signed.
            if !endorsements.iter().any(|other| other.key == endorsement.key) {
                endorsements.push(endorsement);
            }
        }
        if endorsements.is_empty() { Err(NoteProblem::UnknownSigners) } else { Ok(endorsements) }
    }

    fn demand_form(&self) -> Result<(), NoteProblem> {
        if !self.text.ends_with('\n') {
            return Err(NoteProblem::UnendedText);
        }
        if has_control(&self.text) {
            return Err(NoteProblem::ControlCharacter);
        }
        match self.signatures.len() {
            0 => Err(NoteProblem::NoSignatures),
            count if count > SIGNATURES_MAX => Err(NoteProblem::TooManySignatures),
            _ if self.to_string().len() > NOTE_BYTES_MAX => Err(NoteProblem::TooLong),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.text)?;
        self.signatures.iter().try_for_each(|line| writeln!(formatter, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::Cosigner;
    use super::*;

    fn signer(name: &str) -> NoteSigner {
        NoteSigner::new(name, &[name.len() as u8; 32]).unwrap()
    }

    fn parse(text: &str) -> Result<Note, NoteProblem> {
        Note::parse(text.as_bytes())
    }

    #[test]
    fn notes_come_back_as_they_were() {
        for text in ["a\n", "a\nb\n", "a\n\nb\n", "\n", "\n\n\n", "— a AAAAAAA=\n", "é\n"] {
            let note = Note::sign(text, &[&signer("one"), &signer("second")]).unwrap();
            assert_eq!(parse(&note.to_string()), Ok(note.clone()), "{text:?}");
            assert_eq!(parse(&note.to_string()).unwrap().to_string(), note.to_string());
        }
    }

    #[test]
    fn what_is_no_note() {
        let good = Note::sign("a\n", &[&signer("one")]).unwrap().to_string();
        let line = good.lines().last().unwrap().to_owned();
        let check = |text: &str, expected: NoteProblem| assert_eq!(parse(text), Err(expected), "{text:?}");
        let bad_line = |at| NoteProblem::BadSignatureLine { at };
        check("", NoteProblem::NoSignatures);
        check("a\n", NoteProblem::NoSignatures);
        check("a\n\n", NoteProblem::NoSignatures);
        check(&format!("{good}\n"), NoteProblem::NoSignatures);
        check(&format!("\n{line}\n"), NoteProblem::NoSignatures);
        check(&format!("a{line}\n"), NoteProblem::NoSignatures);
        check(good.trim_end(), bad_line(1));
        check(&format!("{good}{line}"), bad_line(2));
        check(&good.replace("— ", "- "), bad_line(1));
        check(&good.replace("— ", "—"), bad_line(1));
        check(&good.replace("— one", "—  one"), bad_line(1));
        check(&good.replace("one ", "one  "), bad_line(1));
        check(&good.replace("one", "o+e"), bad_line(1));
        check(&good.replace("one", "o\u{2003}e"), bad_line(1));
        check(&good.replace("\n— ", "\r\n— "), NoteProblem::NoSignatures);
        check(&good.replace("a\n", "a\t\n"), NoteProblem::ControlCharacter);
        check("a\n\n— one AAAAAA==\n", bad_line(1));
        check(&format!("a\n\n{}", format!("{line}\n").repeat(65)), NoteProblem::TooManySignatures);
        assert!(parse(&format!("a\n\n{}", format!("{line}\n").repeat(64))).is_ok());
        check(&"x".repeat(NOTE_BYTES_MAX + 1), NoteProblem::TooLong);
        assert_eq!(Note::parse(b"a\xFF\n\n"), Err(NoteProblem::NotUtf8));
    }

    #[test]
    fn what_cannot_be_signed() {
        let one = signer("one");
        assert_eq!(Note::sign("a", &[&one]), Err(NoteProblem::UnendedText));
        assert_eq!(Note::sign("", &[&one]), Err(NoteProblem::UnendedText));
        assert_eq!(Note::sign("a\r\n", &[&one]), Err(NoteProblem::ControlCharacter));
        assert_eq!(Note::sign("a\n", &[]), Err(NoteProblem::NoSignatures));
    }

    #[test]
    fn unknown_signatures_are_passed_over_and_wrong_ones_are_not() {
        let (one, second) = (signer("one"), signer("second"));
        let note = Note::sign("a\n", &[&one, &second]).unwrap();
        let known = [second.verifier()];
        let names = |note: &Note, known: &[VerifierKey]| {
            note.verify(known).map(|found| found.iter().map(|one| one.key.name().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(names(&note, &known), Ok(vec!["second".to_owned()]));
        let changed = parse(&note.to_string().replace("a\n\n", "b\n\n")).unwrap();
        let wrong = NoteProblem::WrongSignature { name: second.name().clone() };
        assert_eq!(names(&changed, &known), Err(wrong));
        assert_eq!(names(&note, &[]), Err(NoteProblem::UnknownSigners));
        let renamed = NoteSigner::new("third", &[3; 32]).unwrap().verifier();
        assert_eq!(names(&note, &[renamed]), Err(NoteProblem::UnknownSigners), "the same key under another name");
        let mut doubled = note.clone();
        doubled.signatures.push(note.signatures[1].clone());
        assert_eq!(names(&doubled, &known), Ok(vec!["second".to_owned()]), "one key is one voice");
    }

    #[test]
    fn a_line_is_added_once() {
        let one = signer("one");
        let mut note = Note::sign("a\n", &[&one]).unwrap();
        note.add(one.line("a\n")).unwrap();
        assert_eq!(note.signatures().len(), 1);
        for second in 0..63 {
            note.add(Cosigner::new("w", &[9; 32]).unwrap().cosign(&note, second).unwrap()).unwrap();
        }
        let line = Cosigner::new("w", &[9; 32]).unwrap().cosign(&note, 99).unwrap();
        assert_eq!(note.add(line), Err(NoteProblem::TooManySignatures));
        let mut note = Note::sign("a\n", &[&one]).unwrap();
        let huge = SignatureLine::new(one.name().clone(), one.verifier().id(), vec![0; NOTE_BYTES_MAX]);
        assert_eq!(note.add(huge), Err(NoteProblem::TooLong));
        assert_eq!(note.signatures().len(), 1);
        let most = NOTE_BYTES_MAX - Note::sign("\n", &[&one]).unwrap().to_string().len();
        let long = |length: usize| Note::sign(&format!("{}\n", "a".repeat(length)), &[&one]);
        assert_eq!(long(most + 1), Err(NoteProblem::TooLong));
        assert_eq!(parse(&long(most).unwrap().to_string()), long(most), "the longest note can be read");
    }

    #[test]
    fn cosignatures_bind_text_and_second() {
        let (log, witness) = (signer("log"), Cosigner::new("witness", &[9; 32]).unwrap());
        let mut note = Note::sign("a\n", &[&log]).unwrap();
        let line = witness.cosign(&note, 1_700_000_000).unwrap();
        note.add(line.clone()).unwrap();
        let known = [witness.verifier()];
        let found = parse(&note.to_string()).unwrap().verify(&known).unwrap().first().and_then(|one| one.seconds);
        assert_eq!(found, Some(1_700_000_000));
        for at in 0..line.bytes.len() {
            let mut forged = note.clone();
            forged.signatures[1].bytes[at] ^= 1;
            assert!(forged.verify(&known).is_err(), "byte {at}");
        }
        let mut short = note.clone();
        short.signatures[1].bytes.truncate(7);
        assert!(short.verify(&known).is_err());
        assert_eq!(witness.cosign(&note, 1 << 63), None, "beyond the range of the format");
        assert!(witness.cosign(&note, (1 << 63) - 1).is_some());
    }
}
