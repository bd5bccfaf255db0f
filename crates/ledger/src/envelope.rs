//! Envelopes (DSSE): bytes of a stated type under signatures. What is signed is exactly type and bytes.
//!
//! `{"payload": base64, "payloadType": text, "signatures": [{"keyid": hex of the public key, "sig": base64}]}`

use crate::ed25519::{PublicKey, SecretKey};
use crate::text::{from_base64, to_base64};
use std::fmt;
use values::ids::Digest;
use values::json::Json;

/// Most signatures on an envelope.
pub const SIGNATURES_MAX: usize = 8;

/// Bytes of a type under signatures. Nothing is known about the signatures until [`Envelope::signers`] is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope {
    payload_type: String,
    payload: Vec<u8>,
    signatures: Vec<(PublicKey, Vec<u8>)>,
}

/// Why something is no envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EnvelopeProblem {
    /// Not the JSON of an envelope: members missing, left over, or of the wrong kind.
    Form,
    /// The payload or a signature is not strict base64.
    Base64,
    /// A key id is not the hexadecimal form of a sound Ed25519 key.
    Key,
    /// No signature, or too many.
    Signatures,
}

impl fmt::Display for EnvelopeProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            EnvelopeProblem::Form => "it does not have exactly `payload`, `payloadType` and `signatures`",
            EnvelopeProblem::Base64 => "its payload or a signature is not base64",
            EnvelopeProblem::Key => "a `keyid` is not the hexadecimal form of an Ed25519 public key",
            EnvelopeProblem::Signatures => "it has no signature or more than eight",
        })
    }
}

impl std::error::Error for EnvelopeProblem {}

impl Envelope {
    /// Signs bytes of a type.
    ///
    /// ```
    /// use ledger::envelope::Envelope;
    /// use ledger::ed25519::SecretKey;
    /// let key = SecretKey::from_seed(&[7; 32]);
    /// let envelope = Envelope::sign("application/json", b"{}".to_vec(), &[&key]);
    /// let read = Envelope::from_json(&envelope.to_json()).unwrap();
    /// assert_eq!(read.signers(), [&key.public()]);
    /// ```
    pub fn sign(payload_type: &str, payload: Vec<u8>, keys: &[&SecretKey]) -> Envelope {
        let message = pre_authentication(payload_type, &payload);
        let signatures = keys.iter().map(|key| (key.public(), key.sign(&message).to_vec())).collect();
        Envelope { payload_type: payload_type.to_owned(), payload, signatures }
    }

    /// Whether a value is meant to be an envelope; it may still be a bad one.
    pub fn is_meant(json: &Json) -> bool {
        json.get("payloadType").is_some() && json.get("signatures").is_some()
    }

    /// Reads an envelope. What was read and is written again has the same canonical bytes.
    pub fn from_json(json: &Json) -> Result<Envelope, EnvelopeProblem> {
        let members = json.as_object().filter(|members| members.len() == 3).ok_or(EnvelopeProblem::Form)?;
        let text = |key: &str| members.get(key).and_then(Json::as_text).ok_or(EnvelopeProblem::Form);
        let payload_type = text("payloadType")?.to_owned();
        let payload = from_base64(text("payload")?).ok_or(EnvelopeProblem::Base64)?;
        let lines = members.get("signatures").and_then(Json::as_list).ok_or(EnvelopeProblem::Form)?;
        if !(1..=SIGNATURES_MAX).contains(&lines.len()) {
            return Err(EnvelopeProblem::Signatures);
        }
        let mut signatures = Vec::with_capacity(lines.len());
        for line in lines {
            let members = line.as_object().filter(|members| members.len() == 2).ok_or(EnvelopeProblem::Form)?;
            let text = |key: &str| members.get(key).and_then(Json::as_text).ok_or(EnvelopeProblem::Form);
            let key = read_key(text("keyid")?).ok_or(EnvelopeProblem::Key)?;
            signatures.push((key, from_base64(text("sig")?).ok_or(EnvelopeProblem::Base64)?));
        }
        Ok(Envelope { payload_type, payload, signatures })
    }

    /// As it is sent and recorded.
    pub fn to_json(&self) -> Json {
        let line = |(key, signature): &(PublicKey, Vec<u8>)| {
            Json::object([("keyid", Json::text(key_text(key))), ("sig", Json::text(to_base64(signature)))])
        };
        Json::object([
            ("payload", Json::text(to_base64(&self.payload))),
            ("payloadType", Json::text(self.payload_type.as_str())),
            ("signatures", Json::List(self.signatures.iter().map(line).collect())),
        ])
    }

    /// Of which type the payload is said, and signed, to be.
    pub fn payload_type(&self) -> &str {
        &self.payload_type
    }

    /// The bytes that were signed. Not to be believed before [`Envelope::signers`].
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The keys that are named on it, whether their signatures hold or not.
    pub fn named_keys(&self) -> impl Iterator<Item = &PublicKey> {
        self.signatures.iter().map(|(key, _)| key)
    }

    /// The keys whose signatures hold, each once.
    pub fn signers(&self) -> Vec<&PublicKey> {
        let message = pre_authentication(&self.payload_type, &self.payload);
        let mut held: Vec<&PublicKey> = Vec::new();
        for (key, signature) in &self.signatures {
            if !held.contains(&key) && key.verify(&message, signature) {
                held.push(key);
            }
        }
        held
    }

    /// Names what was signed, whoever signed it.
    pub fn digest(&self) -> Digest {
        Digest::of(pre_authentication(&self.payload_type, &self.payload))
    }
}

/// What is signed: the type is part of it, so that nothing signed as one thing passes for another.
fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend(payload);
    bytes
}

/// A public key as envelopes and registrations write it: 64 hexadecimal digits.
pub fn key_text(key: &PublicKey) -> String {
    Digest::from_bytes(*key.bytes()).to_string()
}

/// Reads what [`key_text`] wrote.
pub fn read_key(text: &str) -> Option<PublicKey> {
    PublicKey::read(Digest::parse(text)?.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROOF_TYPE: &str = "application/vnd.example.proof+json";
    const INTENT_TYPE: &str = "application/vnd.example.intent+json";

    fn key(seed: u8) -> SecretKey {
        SecretKey::from_seed(&[seed; 32])
    }

    #[test]
    fn the_signed_bytes_are_those_of_the_format() {
        let bytes = pre_authentication("http://example.com/HelloWorld", b"hello world");
        assert_eq!(bytes, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn a_signature_fits_one_type_one_payload_and_one_key() {
        let envelope = Envelope::sign(PROOF_TYPE, b"payload".to_vec(), &[&key(1), &key(2)]);
        assert_eq!(envelope.signers(), [&key(1).public(), &key(2).public()]);
        let other_type = Envelope { payload_type: INTENT_TYPE.to_owned(), ..envelope.clone() };
        assert!(other_type.signers().is_empty());
        let other_bytes = Envelope { payload: b"Payload".to_vec(), ..envelope.clone() };
        assert!(other_bytes.signers().is_empty());
        let mut swapped = envelope.clone();
        swapped.signatures[0].0 = key(3).public();
        assert_eq!(swapped.signers(), [&key(2).public()]);
    }

    #[test]
    fn every_flipped_byte_is_noticed() {
        let good = Envelope::sign(INTENT_TYPE, b"{\"id\":\"1\"}".to_vec(), &[&key(1)]).to_json().to_canonical();
        let holds = |bytes: &[u8]| {
            let json = Json::parse(bytes).ok()?;
            let envelope = Envelope::from_json(&json).ok()?;
            let canonical = json.to_canonical().as_bytes() == bytes;
            (canonical && envelope.payload_type() == INTENT_TYPE && envelope.signers() == [&key(1).public()])
                .then_some(())
        };
        assert!(holds(good.as_bytes()).is_some());
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                assert!(holds(&bytes).is_none(), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_no_envelope() {
        let check = |text: &str, expected| {
            assert_eq!(Envelope::from_json(&Json::parse(text.as_bytes()).unwrap()), Err(expected), "{text}");
        };
        let keyid = key_text(&key(1).public());
        check("{}", EnvelopeProblem::Form);
        check(r#"{"payload":"","payloadType":"t","signatures":[]}"#, EnvelopeProblem::Signatures);
        check(r#"{"payload":"A","payloadType":"t","signatures":[]}"#, EnvelopeProblem::Base64);
        check(r#"{"payload":"","payloadType":"t","signatures":[{"keyid":"00","sig":""}]}"#, EnvelopeProblem::Key);
        check(
            &format!(r#"{{"payload":"","payloadType":"t","signatures":[{{"keyid":"{keyid}","sig":"!"}}]}}"#),
            EnvelopeProblem::Base64,
        );
        check(r#"{"payload":"","payloadType":"t","signatures":[],"more":1}"#, EnvelopeProblem::Form);
    }
}
