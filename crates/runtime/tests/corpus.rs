//! Records of every release, replayed by this program: what was decided stays decided. A difference here means that the
//! rules changed, and that they need a number of their own.
//!
//! A corpus is a folder named for a release. Its `*.jsonl` hold one record body per line, `contracts` holds contracts beside
//! the digests that they had (`NAME.yaml`, `NAME.digest`). `make_corpus` makes one of what this program records and reads; it
//! is made once, at the release, and never changed.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

use runtime::replay::Replay;
use runtime::replay::rows::MemoryRows;
use runtime::simulation::{Options, recorded};
use std::path::{Path, PathBuf};

/// Simulations of one corpus.
const SEEDS: u64 = 4;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Demands that every line is the same again.
#[track_caller]
fn check(name: &str, bodies: &[String]) {
    let mut replay = Replay::new(Box::new(MemoryRows::default())).unwrap();
    for (index, body) in (0_u64..).zip(bodies) {
        replay.record(index, "{}", Some(body)).unwrap();
        assert_eq!(replay.found().differs, None, "{name}");
    }
    let found = replay.found();
    assert_eq!((found.same + found.results, found.withheld), (bodies.len() as u64, 0), "{name}");
}

/// Files below a folder; none where it does not exist.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Files of one kind in all corpora.
fn kept(extension: &str) -> Vec<PathBuf> {
    files(&folder()).into_iter().filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

fn digest_of(contract: &Path) -> String {
    let text = std::fs::read_to_string(contract).unwrap();
    let loaded = engines::load::load(&text);
    loaded.unwrap_or_else(|said| panic!("{}: {said:?}", contract.display())).compiled.contract.digest().to_string()
}

#[test]
fn every_release_is_replayed_byte_for_byte() {
    let paths = kept("jsonl");
    assert!(!paths.is_empty());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let bodies: Vec<String> = text.lines().map(str::to_owned).collect();
        assert!(!bodies.is_empty(), "{}", path.display());
        check(&path.display().to_string(), &bodies);
    }
}

#[test]
fn every_contract_of_a_release_keeps_its_digest() {
    let paths = kept("yaml");
    assert!(!paths.is_empty());
    for path in paths {
        let digest = std::fs::read_to_string(path.with_extension("digest")).unwrap();
        assert_eq!(digest_of(&path), digest.trim_end(), "{}", path.display());
    }
}

#[test]
fn what_is_recorded_now_would_be_a_corpus() {
    let bodies = recorded(&Options::of(1)).unwrap_or_else(|failure| panic!("{failure}"));
    check("seed 1", &bodies);
}

/// Writes `tests/corpus/VERSION`, where it does not exist yet:
/// `cargo test -p writkeeper-runtime --test corpus -- --ignored make_corpus`.
#[test]
#[ignore = "run once for a release"]
fn make_corpus() {
    let own = folder().join(env!("CARGO_PKG_VERSION"));
    assert!(!own.exists(), "{} is there; a corpus never changes", own.display());
    std::fs::create_dir_all(&own).unwrap();
    for seed in 0..SEEDS {
        let bodies = recorded(&Options::of(seed)).unwrap_or_else(|failure| panic!("{failure}"));
        std::fs::write(own.join(format!("simulation-{seed}.jsonl")), bodies.join("\n") + "\n").unwrap();
    }
    let contracts = own.join("contracts");
    std::fs::create_dir_all(&contracts).unwrap();
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contract/src/templates");
    for path in files(&templates).into_iter().filter(|path| path.extension().is_some_and(|found| found == "yaml")) {
        let own = contracts.join(path.file_name().unwrap());
        std::fs::copy(&path, &own).unwrap();
        std::fs::write(own.with_extension("digest"), digest_of(&own) + "\n").unwrap();
    }
}
