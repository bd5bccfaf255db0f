//! The vectors of RFC 8785, and the kept corpus of the fuzz target.
#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read vectors and say what they skip")]

#[path = "oracle/door.rs"]
mod door;

use std::path::{Path, PathBuf};
use values::json::Json;

/// The vectors lie outside of the repository: beside it, or beside one of the folders that hold it.
fn shared_cases() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .flat_map(|folder| [folder.join("shared/cases"), folder.join("../shared/cases")])
        .find(|candidate| candidate.is_dir())
}

#[test]
fn vectors_of_rfc_8785() {
    let Some(cases) = shared_cases() else {
        println!("skipped: shared cases not present");
        return;
    };
    let folder = cases.join("vectors/jcs/testdata");
    let canonical = |name: &str| {
        let input = std::fs::read(folder.join("input").join(name)).unwrap();
        let output = std::fs::read_to_string(folder.join("output").join(name)).unwrap();
        match Json::parse(&input) {
            Ok(value) => assert_eq!(value.to_canonical(), output.trim_end_matches('\n'), "{name}"),
            Err(refusal) => panic!("{name}: {refusal}"),
        }
    };
    for name in ["arrays.json", "french.json", "structures.json", "unicode.json", "weird.json"] {
        canonical(name);
    }
}

#[test]
fn the_vector_with_numbers_we_refuse() {
    let Some(cases) = shared_cases() else {
        println!("skipped: shared cases not present");
        return;
    };
    let folder = cases.join("vectors/jcs/testdata");
    let input = std::fs::read_to_string(folder.join("input/values.json")).unwrap();
    let output = std::fs::read_to_string(folder.join("output/values.json")).unwrap();
    let refused = |text: &str| Json::parse(text.as_bytes()).unwrap_err().to_string();
    // RFC 8785 rounds this number to 333333333.3333333; two different amounts would share one text.
    assert_eq!(refused(&input), "a number cannot be kept exactly at line 2, column 15");
    let input = input.replace("333333333.33333329", "333333333.3333333");
    // Exact, but beyond the 28 digits of a decimal.
    assert_eq!(refused(&input), "a number cannot be kept exactly at line 2, column 34");
    let value = Json::parse(input.replace("1E30", "1E28").as_bytes()).unwrap();
    assert_eq!(value.to_canonical(), output.trim_end_matches('\n').replace("1e+30", "1e+28"));
}

/// Number texts that ECMAScript prints for doubles at the edges of its formats.
#[test]
fn numbers_as_ecmascript_prints_them() {
    let check = |document: &str, expected: &str| {
        assert_eq!(Json::parse(document.as_bytes()).map(|value| value.to_canonical()), Ok(expected.to_owned()));
    };
    check("999999999999999900000", "999999999999999900000");
    check("1000000000000000000000", "1e+21");
    check("999999999999999800000000", "9.999999999999998e+23");
    check("0.000001", "0.000001");
    check("0.000009999999999999997", "0.000009999999999999997");
    check("0.000000999999999999999", "9.99999999999999e-7");
    check("-1e-7", "-1e-7");
    check("1424953923781206.2", "1424953923781206.2");
    check("333333333.3333332", "333333333.3333332");
    check("9007199254740991", "9007199254740991");
}

#[test]
fn the_kept_corpus_of_the_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/json_door");
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(door::objection(&bytes), None, "{}", path.display());
        replayed += 1;
    }
    assert!(replayed >= 20, "only {replayed} documents in the corpus");
}
