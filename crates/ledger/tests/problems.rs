//! What the ledger's problems say to whoever has to do something about them, and that keys are never shown.

use ledger::bundle::BundleProblem;
use ledger::checkpoint::CheckpointProblem;
use ledger::discontinuity::DiscontinuityProblem;
use ledger::edge::EdgeProblem;
use ledger::keyring::KeyringProblem;
use ledger::keys::{Cosigner, KeyName, KeyProblem, NoteSigner};
use ledger::merkle::{Node, TreeFull, TreeHash};
use ledger::note::NoteProblem;
use ledger::policy::{PolicyProblem, TrustProblem};
use ledger::proof::ProofProblem;
use ledger::publish::SignRefusal;
use ledger::receipt::{ReceiptProblem, UnprovenReceipt};
use ledger::tile_path::TilePath;
use ledger::tiles::TileProblem;

#[test]
fn a_problem_names_the_thing_and_the_number() {
    let path = TilePath::parse("tile/0/001.p/5").unwrap();
    let name = || KeyName::parse("log.example").unwrap();
    let id = NoteSigner::new("log.example", &[7; 32]).unwrap().verifier().id();
    let shrinks = || ProofProblem::Shrinks { old: 9, new: 5 };
    let rows: [(&dyn std::error::Error, &str); 20] = [
        (&BundleProblem::CutOff { whole: 3 }, "the bundle is cut off behind 3 entries"),
        (&CheckpointProblem::Size, "the size of the tree is not a plain decimal number"),
        (&DiscontinuityProblem::OtherLog, "the two checkpoints are of different logs"),
        (&EdgeProblem::Missing(path), "`tile/0/001.p/5` is missing"),
        (&EdgeProblem::Tile(TileProblem::NotHashes(path)), "`tile/0/001.p/5` holds entries instead of hashes"),
        (&KeyringProblem::NotInUse(id), &format!("the key `{id}` is not in use")),
        (&KeyProblem::UnknownKind(9), "keys of kind 9 are not known here"),
        (&TreeFull, "the tree cannot grow: it has as many leaves as a 64-bit number can count"),
        (&NoteProblem::TooLong, "the note is longer than 262144 bytes"),
        (&NoteProblem::WrongSignature { name: name() }, "the signature of `log.example` does not fit the text"),
        (&PolicyProblem::SharedKey(name()), "the key of `log.example` is there twice"),
        (&TrustProblem::TooFewWitnesses { demanded: 2, found: 1 }, "1 of 2 demanded witnesses cosigned the checkpoint"),
        (&TrustProblem::Note(NoteProblem::NotUtf8), "the note is not UTF-8"),
        (&shrinks(), "a tree of 5 entries does not continue one of 9"),
        (&ProofProblem::Missing(Node { level: 8, index: 2 }), "the hash of node 2 at level 8 is missing"),
        (
            &SignRefusal::NotContinued(shrinks()),
            "the published tree is not continued: a tree of 5 entries does not continue one of 9",
        ),
        (&ReceiptProblem::Hash { at: 2 }, "line 2 of the proof is not the base64 of 32 bytes"),
        (&ReceiptProblem::TooLong, "the receipt is longer than 4194304 bytes"),
        (&UnprovenReceipt::Entry(shrinks()), "the entry is not proved: a tree of 5 entries does not continue one of 9"),
        (&TileProblem::WrongLength { path, found: 7 }, "`tile/0/001.p/5` has 7 bytes instead of 160"),
    ];
    for (problem, expected) in rows {
        assert_eq!(problem.to_string(), expected);
    }
}

#[test]
fn keys_are_shown_by_their_public_half() {
    let (signer, witness) = (NoteSigner::new("log", &[7; 32]).unwrap(), Cosigner::new("witness", &[8; 32]).unwrap());
    assert_eq!(format!("{signer:?}"), format!("NoteSigner({})", signer.verifier()));
    assert_eq!(format!("{witness:?}"), format!("Cosigner({})", witness.verifier()));
    assert_eq!(format!("{:?}", signer.verifier().id()), signer.verifier().id().to_string());
    assert_eq!(format!("{:?}", TreeHash::of_nothing()), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}
