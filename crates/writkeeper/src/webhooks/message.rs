//! A message after Standard Webhooks 1.0: an id that stays the same when it comes again, the second it was sent in, and an
//! Ed25519 signature over id, second and body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ledger::ed25519::{PublicKey, SecretKey};
use values::ids::Digest;

/// One message on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The header `webhook-id`.
    pub id: String,
    /// The header `webhook-timestamp`: seconds since 1970.
    pub timestamp: String,
    /// The header `webhook-signature`.
    pub signature: String,
}

impl Message {
    /// Signs a body that is sent now.
    pub fn sign(key: &SecretKey, id: String, seconds: i64, body: &str) -> Message {
        let timestamp = seconds.to_string();
        let signed = key.sign(format!("{id}.{timestamp}.{body}").as_bytes());
        Message { id, timestamp, signature: format!("v1a,{}", STANDARD.encode(signed)) }
    }

    /// The id of what an entry of a tenant's ledger tells. Two stores never give the same: each has a key of its own.
    pub fn id(key: &PublicKey, tenant: &str, index: u64) -> String {
        let store = Digest::of_parts(&[b"writkeeper/webhooks/v1", key.bytes(), tenant.as_bytes()]).to_string();
        let store: String = store.chars().take(16).collect();
        format!("msg_{store}_{index}")
    }
}

/// A public key as receivers configure it.
pub(super) fn key_text(key: &PublicKey) -> String {
    format!("whpk_{}", STANDARD.encode(key.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_id_second_and_body_are_signed() {
        let key = SecretKey::from_seed(&[9; 32]);
        let message = Message::sign(&key, "msg_1".to_owned(), 1_700_000_000, "{\"a\":1}");
        let signature = STANDARD.decode(message.signature.strip_prefix("v1a,").unwrap()).unwrap();
        assert!(key.public().verify(b"msg_1.1700000000.{\"a\":1}", &signature));
        assert!(!key.public().verify(b"msg_2.1700000000.{\"a\":1}", &signature));
        assert!(!Message::id(&key.public(), "a.b", 7).contains('.'), "a dot would make two readings of what is signed");
        assert_ne!(Message::id(&key.public(), "a", 7), Message::id(&key.public(), "b", 7));
    }
}
