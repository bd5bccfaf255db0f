//! Ed25519 with the strict rules: no weak keys, no second encoding of a key or signature.
//!
//! Signing takes no randomness: the same key and bytes give the same signature.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::fmt;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// A public key that was checked: on the curve, in its one encoding, and not of small order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads the 32 bytes of RFC 8032.
    pub fn read(bytes: &[u8]) -> Option<PublicKey> {
        let bytes: &[u8; 32] = bytes.try_into().ok()?;
        let key = VerifyingKey::from_bytes(bytes).ok()?;
        // Under a weak key one signature fits many messages; a second encoding would give one key two names.
        let is_sound = !key.is_weak() && key.to_edwards().compress().to_bytes() == *bytes;
        is_sound.then_some(PublicKey(key))
    }

    /// The 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Whether the signature is this key's over exactly these bytes.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(signature) = Signature::from_slice(signature) else { return false };
        self.0.verify_strict(message, &signature).is_ok()
    }
}

/// A private key. It is never printed.
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// From the 32 secret bytes, which come from outside: there is no randomness here.
    pub fn from_seed(seed: &[u8; 32]) -> SecretKey {
        SecretKey(SigningKey::from_bytes(seed))
    }

    /// The 32 secret bytes.
    pub fn seed(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The public key to it.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs the bytes.
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_prove_nothing_are_refused() {
        assert_eq!(PublicKey::read(&[0; 32]), None, "small order");
        let mut neutral = [0; 32];
        neutral[0] = 1;
        assert_eq!(PublicKey::read(&neutral), None, "the neutral element");
        neutral[31] = 0x80;
        assert_eq!(PublicKey::read(&neutral), None, "the neutral element with a sign");
        assert_eq!(PublicKey::read(&[0xFF; 32]), None, "a coordinate beyond the field");
        assert_eq!(PublicKey::read(&[0; 31]), None);
        assert_eq!(PublicKey::read(&[0; 33]), None);
    }

    #[test]
    fn a_signature_fits_one_message_and_one_key() {
        let (key, other) = (SecretKey::from_seed(&[1; 32]), SecretKey::from_seed(&[2; 32]));
        let signature = key.sign(b"text");
        assert_eq!(signature, key.sign(b"text"));
        assert!(key.public().verify(b"text", &signature));
        assert!(!key.public().verify(b"Text", &signature));
        assert!(!other.public().verify(b"text", &signature));
        assert!(!key.public().verify(b"text", &signature[..63]));
        assert!(!key.public().verify(b"text", &[]));
        assert_eq!(format!("{key:?}"), "SecretKey(…)");
    }
}
