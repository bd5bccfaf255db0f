//! The two normative contracts load as they stand and pass their tests.

use engines::load::load;
use kernel::rehearse::rehearse;
use std::path::PathBuf;
use std::sync::Arc;

fn shared(name: &str) -> Option<String> {
    let start = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let candidates = start.ancestors().map(|folder| folder.join("shared").join(name));
    let found = candidates.into_iter().find(|path| path.is_file());
    match found {
        Some(path) => std::fs::read_to_string(path).ok(),
        None => {
            println!("skipped: shared cases not present");
            None
        }
    }
}

fn check(name: &str, inert: &[&str]) {
    let Some(text) = shared(name) else { return };
    let loaded = load(&text).unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
    let found: Vec<&str> = loaded.inert.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(found, inert, "keys that do nothing yet");
    let rows = rehearse(&Arc::new(loaded.compiled), &loaded.tests.unwrap());
    assert!(!rows.is_empty());
    for row in rows {
        assert!(row.passed(), "{name}: {}: {:#?}", row.name, row.result);
    }
}

#[test]
fn the_small_contract() {
    check("contract-small.yaml", &[]);
}

#[test]
fn the_full_contract() {
    check("contract-example.yaml", &["parent", "priority", "wake_when", "monitors"]);
}
