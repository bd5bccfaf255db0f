//! Published vectors: Merkle proofs, Ed25519, checkpoints of another log.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests read vectors, say what they skip, and fail where they cannot go on"
)]

use ledger::checkpoint::Checkpoint;
use ledger::ed25519::{PublicKey, SecretKey};
use ledger::keys::VerifierKey;
use ledger::merkle::TreeHash;
use ledger::policy::Policy;
use ledger::proof::{verify_consistency, verify_inclusion};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The vectors lie outside of the repository: beside it, or beside one of the folders that hold it.
fn vectors(folder: &str) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .flat_map(|folder| [folder.join("shared/cases"), folder.join("../shared/cases")])
        .find(|candidate| candidate.is_dir());
    if found.is_none() {
        println!("skipped: shared cases not present");
    }
    found.map(|cases| cases.join("vectors").join(folder))
}

/// Every JSON file below a folder.
fn documents(folder: &Path) -> Vec<(PathBuf, Value)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(documents(&path));
        } else {
            found.push((path.clone(), serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()));
        }
    }
    found
}

fn hash(value: &Value) -> Option<TreeHash> {
    TreeHash::parse(value.as_str()?)
}

fn proof(value: &Value) -> Option<Vec<TreeHash>> {
    // An empty proof is written as an empty list or as null.
    value.as_array().map_or(Some(Vec::new()), |hashes| hashes.iter().map(hash).collect())
}

/// Whether a vector holds; one whose values cannot even be read does not.
fn inclusion_holds(vector: &Value) -> Option<bool> {
    let (index, size) = (vector["leafIdx"].as_u64()?, vector["treeSize"].as_u64()?);
    let (root, leaf, proof) = (hash(&vector["root"])?, hash(&vector["leafHash"])?, proof(&vector["proof"])?);
    Some(verify_inclusion(index, size, root, leaf, &proof).is_ok())
}

fn consistency_holds(vector: &Value) -> Option<bool> {
    let (old, new) = (vector["size1"].as_u64()?, vector["size2"].as_u64()?);
    // Some vectors have words instead of roots because their sizes alone decide; a hash of the words is as good.
    let root = |value: &Value| hash(value).or_else(|| Some(TreeHash::of_leaf(value.as_str()?.as_bytes())));
    let (old_root, new_root, proof) = (root(&vector["root1"])?, root(&vector["root2"])?, proof(&vector["proof"])?);
    Some(verify_consistency(old, new, old_root, new_root, &proof).is_ok())
}

fn check_proofs(folder: &str, count_min: usize, holds: fn(&Value) -> Option<bool>) {
    let Some(folder) = vectors("merkle/testdata").map(|data| data.join(folder)) else { return };
    let documents = documents(&folder);
    let (mut accepted, mut refused) = (0, 0);
    for (path, vector) in &documents {
        let wanted = !vector["wantErr"].as_bool().unwrap();
        assert_eq!(holds(vector).unwrap_or(false), wanted, "{}", path.display());
        if wanted { accepted += 1 } else { refused += 1 }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(documents.len() >= count_min && accepted >= 5, "only {} vectors", documents.len());
}

#[test]
fn inclusion_proofs() {
    check_proofs("inclusion", 90, inclusion_holds);
}

#[test]
fn consistency_proofs() {
    check_proofs("consistency", 90, consistency_holds);
}

fn hex(text: &str) -> Vec<u8> {
    let nibble = |digit: &u8| char::from(*digit).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| nibble(&pair[0]) << 4 | nibble(&pair[1])).collect()
}

#[test]
fn ed25519_of_rfc_8032() {
    let Some(file) = vectors("ed25519-rfc8032/sign.input") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let mut checked = 0;
    for line in text.lines() {
        let fields: Vec<Vec<u8>> = line.split(':').map(hex).collect();
        let (seed, key, message, signature) = (&fields[0][..32], &fields[1], &fields[2], &fields[3][..64]);
        let secret = SecretKey::from_seed(seed.try_into().unwrap());
        assert_eq!(secret.public().bytes().as_slice(), key, "line {checked}");
        assert_eq!(secret.sign(message), signature, "line {checked}");
        assert!(PublicKey::read(key).unwrap().verify(message, signature), "line {checked}");
        checked += 1;
    }
    assert_eq!(checked, 1024);
}

#[test]
fn ed25519_of_wycheproof() {
    let Some(file) = vectors("wycheproof/testvectors_v1/ed25519_test.json") else { return };
    let document: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in document["testGroups"].as_array().unwrap() {
        let key = PublicKey::read(&hex(group["publicKey"]["pk"].as_str().unwrap()));
        for test in group["tests"].as_array().unwrap() {
            let field = |name: &str| hex(test[name].as_str().unwrap());
            let holds = key.as_ref().is_some_and(|key| key.verify(&field("msg"), &field("sig")));
            let wanted = test["result"] == "valid";
            assert_eq!(holds, wanted, "test {}", test["tcId"]);
            if wanted { valid += 1 } else { invalid += 1 }
        }
    }
    assert_eq!((valid, invalid), (88, 63));
}

/// Checkpoints that another implementation signed. The key is the public one of that log.
#[test]
fn checkpoints_of_another_log() {
    const KEY: &str = "example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx";
    let Some(folder) = vectors("tessera-log/testdata/log") else { return };
    let policy = Policy::of_log(VerifierKey::parse(KEY).unwrap()).unwrap();
    for (name, size) in [("checkpoint", 15), ("checkpoint.1", 1), ("checkpoint.10", 10)] {
        let note = std::fs::read(folder.join(name)).unwrap();
        let checkpoint = policy.verify(&note).unwrap().checkpoint;
        assert_eq!((checkpoint.origin(), checkpoint.size()), ("example.com/log/testdata", size));
        assert_eq!(Checkpoint::parse(&checkpoint.to_string()), Ok(checkpoint));
        for at in 0..note.len() {
            let mut changed = note.clone();
            changed[at] ^= 1;
            assert!(policy.verify(&changed).is_err(), "{name} byte {at}");
        }
    }
}
