//! Notes, keys and checkpoints against another implementation, and texts that somebody changed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "oracle/log.rs"]
mod log;

use ledger::bundle;
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::keyring::Keyring;
use ledger::keys::{Cosigner, NoteSigner, VerifierKey};
use ledger::note::{Note, SignatureLine};
use ledger::policy::Policy;
use ledger::proof;
use ledger::publish::{History, may_sign};
use ledger::receipt::{self, Receipt};
use ledger::tile_path::TilePath;
use log::{Log, entry};
use proptest::prelude::*;
use signed_note::{Signer, StandardSigner, StandardVerifier, VerifierList};

const ORIGIN: &str = "log.example/default/0";

/// Size of the tree, the entry, and what the receipt proves.
const SIZE: u64 = 300;
const INDEX: u64 = 123;

fn signer(seed: u8) -> NoteSigner {
    NoteSigner::new(ORIGIN, &[seed; 32]).unwrap()
}

fn witness() -> Cosigner {
    Cosigner::new("witness.example/w", &[99; 32]).unwrap()
}

/// A receipt as it leaves the house, signed by two keys of a rotation and by a witness.
fn sealed() -> (Receipt, Keyring) {
    let log = Log::of(SIZE);
    let head = Checkpoint::new(ORIGIN, SIZE, log.frontier.root()).unwrap();
    let early = Checkpoint::new(ORIGIN, 0, ledger::merkle::TreeHash::of_nothing()).unwrap();
    let (one, two) = (signer(1), signer(2));
    let mut ring = Keyring::new(one.verifier()).unwrap();
    ring.introduce(two.verifier(), &early).unwrap();
    let permit = may_sign(History::Published { last: &early, growth: &[] }, head).unwrap();
    let note = permit.sign(&ring, &[&one, &two]).unwrap();
    let needs = proof::inclusion_needs(INDEX, SIZE).unwrap();
    let path = proof::prove_inclusion(&log.source(&needs, SIZE), INDEX, SIZE).unwrap();
    let mut receipt = Receipt::new(INDEX, path, note).unwrap();
    let line = witness().cosign(receipt.checkpoint(), 1_790_000_000).unwrap();
    receipt.witnessed(line).unwrap();
    (receipt, ring)
}

#[test]
fn a_receipt_holds_under_each_key_of_a_rotation_and_under_the_ring() {
    let (receipt, ring) = sealed();
    let text = receipt.to_string();
    for seed in [1, 2] {
        let policy = Policy::of_log(signer(seed).verifier()).unwrap();
        assert!(receipt::verify(text.as_bytes(), &policy, &entry(INDEX)).is_ok());
    }
    let policy = ring.policy_at(SIZE, vec![witness().verifier()], 1).unwrap();
    let trusted = receipt::verify(text.as_bytes(), &policy, &entry(INDEX)).unwrap();
    assert_eq!((trusted.log_keys.len(), trusted.witnesses.len()), (2, 1));
    assert!(receipt::verify(text.as_bytes(), &policy, &entry(INDEX + 1)).is_err());
    let stranger = Policy::of_log(signer(3).verifier()).unwrap();
    assert!(receipt::verify(text.as_bytes(), &stranger, &entry(INDEX)).is_err());
}

/// With one known signature nothing can be changed; signatures of strangers are passed over, and so are changes to them.
#[test]
fn every_flipped_byte_is_noticed_where_every_signature_is_demanded() {
    let (receipt, ring) = sealed();
    let policy = ring.policy_at(SIZE, vec![witness().verifier()], 1).unwrap();
    let good = receipt.to_string().into_bytes();
    let (mut refused, mut fewer) = (0, 0);
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
            match receipt::verify(&bytes, &policy, &entry(INDEX)) {
                Err(_) => refused += 1,
                Ok(trusted) => {
                    // Only the name or id of one of the two log keys can have become a stranger's.
                    assert_eq!(trusted.log_keys.len(), 1, "byte {at}");
                    assert_eq!(ring.missing(&trusted).count(), 1, "byte {at}");
                    assert_eq!(trusted.checkpoint.to_string(), receipt.checkpoint().text());
                    fewer += 1;
                }
            }
        }
    }
    assert_eq!(refused + fewer, good.len() * 8);
    assert!(refused > fewer * 5, "{refused} {fewer}");
}

#[test]
fn every_flipped_byte_of_a_checkpoint_is_noticed() {
    let head = Checkpoint::new(ORIGIN, SIZE, Log::of(SIZE).frontier.root()).unwrap();
    let good = Note::sign(&head.to_string(), &[&signer(1)]).unwrap().to_string().into_bytes();
    let policy = Policy::of_log(signer(1).verifier()).unwrap();
    assert!(policy.verify(&good).is_ok());
    for at in 0..good.len() {
        for value in 0..=u8::MAX {
            let mut bytes = good.clone();
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
            assert_eq!(policy.verify(&bytes).is_ok(), bytes == good, "byte {at} as {value}");
        }
    }
}

/// The message of a cosignature as the format writes it, put together by hand.
#[test]
fn a_cosignature_covers_the_message_of_the_format() {
    let note =
        Note::sign(&format!("{ORIGIN}\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"), &[&signer(1)]).unwrap();
    let line = witness().cosign(&note, 1_679_315_147).unwrap().to_string();
    let message =
        format!("cosignature/v1\ntime 1679315147\n{ORIGIN}\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n");
    let parsed = signed_note::Signature::from_bytes(line.as_bytes()).unwrap();
    let (time, signature) = parsed.signature().split_at(8);
    assert_eq!(time, 1_679_315_147_u64.to_be_bytes());
    assert!(witness().verifier().key().verify(message.as_bytes(), signature));
    let key = [&[0x04], witness().verifier().key().bytes().as_slice()].concat();
    assert_eq!(parsed.id(), signed_note::key_id("witness.example/w", &key));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_other_implementation_reads_and_writes_the_same_notes(
        seeds in (any::<[u8; 32]>(), any::<[u8; 32]>()),
        name in "[a-z0-9./é-]{1,40}",
        lines in proptest::collection::vec("[ -~é—]{0,60}", 0..6),
    ) {
        prop_assume!(seeds.0 != seeds.1);
        let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>() + "end\n";
        let (one, two) = (NoteSigner::new(&name, &seeds.0).unwrap(), NoteSigner::new(&name, &seeds.1).unwrap());
        let ours = Note::sign(&text, &[&one, &two]).unwrap().to_string();

        // Keys: both halves are read by the other side.
        let their_one = StandardSigner::new(&one.to_secret_text()).unwrap();
        let their_two = StandardSigner::new(&two.to_secret_text()).unwrap();
        prop_assert_eq!(their_one.key_id().to_be_bytes(), one.verifier().id().bytes());
        let known = |signer: &NoteSigner| {
            VerifierList::new(vec![Box::new(StandardVerifier::new(&signer.verifier().to_string()).unwrap())])
        };

        // Signing is deterministic, so the bytes are the same.
        let mut theirs = signed_note::Note::new(text.as_bytes(), &[]).unwrap();
        theirs.add_sigs(&[&their_one, &their_two]).unwrap();
        prop_assert_eq!(theirs.to_bytes(), ours.as_bytes());

        // Each key alone verifies the note on either side.
        let read = signed_note::Note::from_bytes(ours.as_bytes()).unwrap();
        for signer in [&one, &two] {
            prop_assert_eq!(read.verify(&known(signer)).unwrap().0.len(), 1);
            prop_assert_eq!(Note::parse(&theirs.to_bytes()).unwrap().verify(&[signer.verifier()]).unwrap().len(), 1);
        }
    }

    #[test]
    fn the_other_implementation_reads_the_same_checkpoints(
        origin in "[a-z0-9./-]{1,40}", size in any::<u64>(), root in any::<[u8; 32]>(),
    ) {
        prop_assume!(size > 0);
        let root = ledger::merkle::TreeHash::from_bytes(root);
        let ours = Checkpoint::new(&origin, size, root).unwrap();
        let theirs = tlog_tiles::Checkpoint::from_bytes(ours.to_string().as_bytes()).unwrap();
        prop_assert_eq!((theirs.origin(), theirs.size(), theirs.hash().0), (origin.as_str(), size, *root.bytes()));
        prop_assert_eq!(theirs.to_bytes(), ours.to_string().into_bytes());
    }

    /// What is read is printed as it was, and nothing panics.
    #[test]
    fn any_bytes_at_every_door(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for input in [text.clone(), format!("{ORIGIN}\n{text}"), format!("{text}\n\n— {text}\n"), format!("tile/{text}")] {
            doors(&input)?;
        }
        prop_assert!(bundle::read(&bytes, 3).map_or(true, |entries| bundle::to_bytes(&entries).unwrap() == bytes));
    }

    /// Good texts with a piece cut out, doubled, or taken from elsewhere.
    #[test]
    fn spliced_texts_at_every_door(cut in any::<(u16, u16, u16)>()) {
        let (receipt, ring) = sealed();
        for text in [receipt.to_string(), receipt.checkpoint().to_string(), ring.to_string()] {
            let position = |number: u16| text.floor_char_boundary(usize::from(number) % text.len());
            let (one, two, three) = (position(cut.0), position(cut.1), position(cut.2));
            let (from, to) = (one.min(two), one.max(two));
            let (before, behind) = (text.get(..three).unwrap(), text.get(three..).unwrap());
            doors(&format!("{before}{}{behind}", text.get(from..to).unwrap()))?;
            doors(&format!("{}{}", text.get(..from).unwrap(), text.get(to..).unwrap()))?;
        }
    }
}

fn doors(text: &str) -> Result<(), TestCaseError> {
    let bytes = text.as_bytes();
    let same = |printed: Option<String>| printed.is_none_or(|printed| printed == text);
    prop_assert!(same(Note::parse(bytes).ok().map(|note| note.to_string())), "{text:?}");
    prop_assert!(same(Receipt::parse(bytes).ok().map(|receipt| receipt.to_string())), "{text:?}");
    prop_assert!(same(Checkpoint::parse(text).ok().map(|checkpoint| checkpoint.to_string())), "{text:?}");
    prop_assert!(same(VerifierKey::parse(text).ok().map(|key| key.to_string())), "{text:?}");
    prop_assert!(same(NoteSigner::parse(text).ok().map(|key| key.to_secret_text())), "{text:?}");
    prop_assert!(same(SignatureLine::parse(text).map(|line| line.to_string())), "{text:?}");
    prop_assert!(same(TilePath::parse(text).map(|path| path.to_string())), "{text:?}");
    prop_assert!(same(Keyring::parse(text).ok().map(|ring| ring.to_string())), "{text:?}");
    prop_assert!(Discontinuity::parse(bytes).is_err());
    Ok(())
}
