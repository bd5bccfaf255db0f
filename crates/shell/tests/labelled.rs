//! The labelled cases, when they lie beside the project.
#![cfg(feature = "disguise")]

use std::path::Path;

#[test]
fn no_vital_row_is_missed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|above| above.join("shared/cases/shell"))
        .find(|folder| folder.is_dir());
    let Some(folder) = folder else {
        println!("skipped: shared cases not present");
        return;
    };
    let lines = std::fs::read_to_string(folder.join("commands_labelled.jsonl")).unwrap_or_default();
    let figures = shell::measure::figures(&shell::measure::cases(&lines), &shell::View::default());
    for kind in ["catastrophic", "credential", "privilege", "remote_exec", "destructive"] {
        assert_eq!(figures.pointer(&format!("/all/{kind}/missed")), Some(&serde_json::json!(0)), "{kind}\n{figures:#}");
    }
}
