//! What is no store, and lists of nothing.

use super::*;

/// A typing error must not leave lock files in the root of the disk or beside a contract.
#[test]
fn what_is_no_store_is_refused_and_nothing_is_left_beside_it() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("inside")).unwrap();
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names(desk.path());
    for (location, said) in
        [("contract.yaml", "another kind and no store"), ("inside", "is a folder"), ("/", "is a folder")]
    {
        for verb in ["flows", "agents register --contract contract.yaml", "report"] {
            let output = desk.run(&format!("{verb} --store {location}"), "");
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(65), "{verb} --store {location}: {error}");
            assert!(error.contains(said), "{verb} --store {location}: {error}");
        }
    }
    assert_eq!(names(desk.path()), before);
    assert!(names(&desk.path().join("inside")).is_empty());
    assert!(!Path::new("/-queue").exists() && !Path::new("/-turn").exists());
}

#[test]
fn a_list_of_no_rows_is_a_mistake_and_not_an_empty_store() {
    let desk = Desk::new();
    desk.says("agents register --contract contract.yaml --store kept.db", 0);
    for verb in ["flows --limit 0", "flows list --limit 0", "intents list --limit 0"] {
        let output = desk.run(&format!("{verb} --store kept.db"), "");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{verb}: {error}");
        assert!(error.contains("list at least one"), "{verb}: {error}");
    }
}
