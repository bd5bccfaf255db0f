//! SCRAM-SHA-256 (RFC 5802, RFC 7677): the password is never sent, and the server shows that it knows it too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2, rand};
use std::num::NonZeroU32;
use unicode_normalization::UnicodeNormalization as _;

/// The only mechanism that is spoken here.
pub(super) const MECHANISM: &str = "SCRAM-SHA-256";

/// Rounds that a server may ask for: more would keep this process busy for minutes.
const ROUNDS_MAX: u32 = 1_000_000;

/// No channel binding, and nobody else's name.
const HEADER: &str = "n,,";

/// What the client has said and has still to check.
pub(super) struct Scram {
    password: String,
    nonce: String,
    /// What the server must show in the end: the signature of everything that was said under this key.
    expected: Option<(hmac::Key, String)>,
}

impl Scram {
    /// With a nonce of its own.
    pub(super) fn new(password: &str) -> Option<Scram> {
        let random: [u8; 18] = rand::generate(&rand::SystemRandom::new()).ok()?.expose();
        Some(Scram::with_nonce(password, STANDARD.encode(random)))
    }

    fn with_nonce(password: &str, nonce: String) -> Scram {
        Scram { password: password.nfkc().collect(), nonce, expected: None }
    }

    /// What the client says first; PostgreSQL takes the name from the start of the connection.
    pub(super) fn first(&self) -> String {
        format!("{HEADER}{}", self.first_bare())
    }

    fn first_bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// What the client answers to the server's first words; `None` if they cannot be right.
    pub(super) fn answer(&mut self, said: &str) -> Option<String> {
        let field = |name: &str| said.split(',').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        let nonce = field("r").filter(|nonce| nonce.starts_with(&self.nonce) && nonce.len() > self.nonce.len())?;
        let salt = STANDARD.decode(field("s")?).ok()?;
        let rounds: u32 = field("i")?.parse().ok().filter(|rounds| *rounds <= ROUNDS_MAX)?;
        let mut salted = [0; digest::SHA256_OUTPUT_LEN];
        let rounds = NonZeroU32::new(rounds)?;
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, self.password.as_bytes(), &mut salted);
        let last = format!("c={},r={nonce}", STANDARD.encode(HEADER));
        let all = format!("{},{said},{last}", self.first_bare());
        let client = signed(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, client.as_ref());
        let proof: Vec<u8> = client
            .as_ref()
            .iter()
            .zip(signed(stored.as_ref(), all.as_bytes()).as_ref())
            .map(|(one, two)| one ^ two)
            .collect();
        let server = signed(&salted, b"Server Key");
        self.expected = Some((hmac::Key::new(hmac::HMAC_SHA256, server.as_ref()), all));
        Some(format!("{last},p={}", STANDARD.encode(proof)))
    }

    /// Whether the server knows the password.
    pub(super) fn is_shown(&self, said: &str) -> bool {
        let shown =
            said.split(',').find_map(|field| field.strip_prefix("v=")).and_then(|shown| STANDARD.decode(shown).ok());
        let (Some(shown), Some((key, all))) = (shown, &self.expected) else { return false };
        hmac::verify(key, all.as_bytes(), &shown).is_ok()
    }
}

fn signed(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3, with the name that PostgreSQL leaves out.
    #[test]
    fn an_exchange_that_others_have_made_comes_out_alike() {
        let mut scram = Scram::with_nonce("pencil", "rOprNGfwEbeRWgbNEkqO".to_owned());
        let said = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let answer = scram.answer(said).unwrap();
        assert!(answer.starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="), "{answer}");
        assert!(!scram.is_shown("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), "the name is part of the exchange");
        let (key, all) = scram.expected.as_ref().unwrap();
        let shown = STANDARD.encode(hmac::sign(key, all.as_bytes()));
        assert!(scram.is_shown(&format!("v={shown}")) && !scram.is_shown("e=invalid-proof"));
    }

    #[test]
    fn words_that_cannot_be_right_are_not_answered() {
        for said in [
            "r=other,s=QUFB,i=4096",
            "r=own,s=QUFB,i=4096",
            "r=own1,s=?,i=4096",
            "r=own1,s=QUFB,i=0",
            "r=own1,s=QUFB,i=99999999",
            "",
        ] {
            assert_eq!(Scram::with_nonce("pencil", "own".to_owned()).answer(said), None, "{said}");
        }
    }
}
