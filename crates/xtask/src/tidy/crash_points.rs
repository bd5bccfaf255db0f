//! Whatever reaches a disk or another process can be interrupted there by tests.

use super::{Finding, SourceFile};
use std::collections::BTreeSet;

/// Calls that leave something behind.
const STEPS: &[&str] = &[
    ".commit()",
    ".sync_all()",
    ".sync_data()",
    "fsync(",
    "rename(",
    "hard_link(",
    "fs::write(",
    // Threads take an argument, programs do not.
    ".spawn()",
    "Command::spawn(",
    ".output()",
    "agent.run(",
    "request.send(",
    "executor.perform(",
];

/// Above or on the line of a step that needs none; a reason follows.
const EXCEPTION: &str = "// no crash point: ";

const FOLDERS: &[&str] = &["crates/runtime/src/", "crates/adapters/src/"];

/// Where the points are declared.
const DECLARED_IN: &str = "crates/runtime/src/crash.rs";

/// A step stands inside `around(`, or says why not.
pub fn uncovered(file: &SourceFile, findings: &mut Vec<Finding>) {
    let Some(rust) = &file.rust else { return };
    let in_place = FOLDERS.iter().any(|folder| file.path.starts_with(folder));
    if !in_place || file.is_test {
        return;
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let mut met = BTreeSet::new();
    for step in STEPS {
        for (offset, _) in rust.code.match_indices(step) {
            let line = super::masked::line_index(&rust.code, offset);
            let excused = [Some(line), line.checked_sub(1)].into_iter().flatten().any(|line| is_excused(&lines, line));
            if !excused && !rust.is_test_line(line + 1) && !is_around(&rust.code, offset) && met.insert(line) {
                let message = format!("`{step}` outside of `around(…)`; or say why above it: `{EXCEPTION}…`");
                findings.push(Finding { line: line + 1, message });
            }
        }
    }
}

fn is_excused(lines: &[&str], line: usize) -> bool {
    let reason = lines.get(line).and_then(|line| line.split_once(EXCEPTION)).map(|(_, reason)| reason.trim());
    reason.is_some_and(|reason| reason.len() > 3)
}

/// Whether the parentheses open at an offset include those of `around(`.
fn is_around(code: &str, offset: usize) -> bool {
    let mut closed = 0_usize;
    let before = code.get(..offset).unwrap_or_default();
    for (at, character) in before.char_indices().rev() {
        match character {
            ')' => closed += 1,
            '(' if closed > 0 => closed -= 1,
            '(' if before.get(..at).is_some_and(|text| text.ends_with("around")) => return true,
            ';' if closed == 0 => return false,
            _ => {}
        }
    }
    false
}

/// Points that are used and not declared, and the other way round.
pub fn undeclared(files: &[SourceFile]) -> Vec<String> {
    let Some(declaring) = files.iter().find(|file| file.path == DECLARED_IN) else { return Vec::new() };
    let list = declaring.text.split_once("CRASH_POINTS").and_then(|(_, rest)| rest.split_once("];"));
    let declared: BTreeSet<&str> =
        list.map(|(list, _)| list.split('"').skip(1).step_by(2).collect()).unwrap_or_default();
    let mut used = BTreeSet::new();
    for file in files.iter().filter(|file| file.path.contains("/src/") && !file.path.contains("xtask")) {
        for call in ["around(\"", "synced(\""] {
            let names = file.text.split(call).skip(1).filter_map(|rest| rest.split('"').next());
            used.extend(names.flat_map(|name| [format!("{name}.before"), format!("{name}.after")]));
        }
    }
    let unknown = used.iter().filter(|name| !declared.contains(name.as_str()));
    let unused = declared.iter().filter(|name| !used.contains(**name));
    unknown
        .map(|name| format!("{DECLARED_IN}: [crash-points] `{name}` is not declared"))
        .chain(unused.map(|name| format!("{DECLARED_IN}: [crash-points] nothing is called `{name}`")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::undeclared;
    use crate::tidy::SourceFile;
    use crate::tidy::rows::broken;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(broken("crates/adapters/src/flow.rs", &format!("//! Flows.\n{text}\n")), expected, "{text}");
    }

    #[test]
    fn steps_without_a_crash_point() {
        check("fn a() { t.commit()?; }", &["crash-points"]);
        check("fn a() { around(\"a.b\", || t.commit())?; }", &[]);
        check("fn a() { around(\"a.b\", || b()); t.commit()?; }", &["crash-points"]);
        check("fn a() { f(around(\"a.b\", || b()), t.commit()); }", &["crash-points"]);
        check("fn a() {\n    around(\"a.b\", || {\n        std::fs::rename(a, b)\n    })\n}", &[]);
        check("fn a() { s.spawn(b); }", &[]);
        check("// no crash point: a figure\nfn a() { t.commit(); }", &[]);
        check("// no crash point: \nfn a() { t.commit(); }", &["trailing-blanks", "crash-points"]);
        check("#[cfg(test)]\nmod tests { fn a() { t.commit() } }", &[]);
        for step in ["f.sync_all()", "f.sync_data()", "fsync(f)", "std::fs::write(a, b)", "c.spawn()", "agent.run(r)"] {
            check(&format!("fn a() {{ {step}; }}"), &["crash-points"]);
        }
        assert!(broken("crates/app/src/flow.rs", "//! Flows.\nfn a() { t.commit() }\n").is_empty());
    }

    #[test]
    fn names_are_declared_and_used() {
        let file = |path: &str, text: &str| SourceFile::new(path.to_owned(), text.to_owned());
        let declared = file(super::DECLARED_IN, "const CRASH_POINTS: &[&str] = &[\"a.after\", \"a.before\", \"c\"];");
        let using = file("crates/app/src/x.rs", "around(\"a\", b); around(\"d\", b)");
        assert_eq!(undeclared(&[declared, using]).len(), 3);
    }
}
