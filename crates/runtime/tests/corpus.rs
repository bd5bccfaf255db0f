//! Records of every release, replayed by this program: what was decided stays decided. A difference here means that the
//! rules changed, and that they need a number of their own.
//!
//! A corpus is a folder named for a release with files of one record body per line. `make_corpus` makes one of what this
//! program records; it is made once, at the release, and never changed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

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

#[test]
fn every_release_is_replayed_byte_for_byte() {
    for path in files(&folder()) {
        let text = std::fs::read_to_string(&path).unwrap();
        let bodies: Vec<String> = text.lines().map(str::to_owned).collect();
        assert!(!bodies.is_empty(), "{}", path.display());
        check(&path.display().to_string(), &bodies);
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
}
