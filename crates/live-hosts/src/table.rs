//! The cells as people read them: on a terminal, as a page, as JSON.

use crate::cases::{self, Case};
use crate::hosts::Host;
use crate::outcome::Cell;
use anyhow::{Result, bail};
use serde_json::{Value, json};

/// What a run found.
pub struct Findings<'f> {
    pub hosts: &'f [&'static dyn Host],
    pub cases: &'f [&'static Case],
    pub cells: Vec<Cell>,
    /// By host, in the same order.
    pub versions: Vec<String>,
    /// When, as a date.
    pub date: String,
    /// What the binary under test says of itself.
    pub keeper: String,
}

/// Milliseconds from which it is told how long the slowest call took.
const WORTH_TELLING: u64 = 2000;

/// Stands after a word that is worse than expected.
const WORSE: &str = " (!)";

impl Findings<'_> {
    fn cell(&self, host: &str, case: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.host == host && cell.case == case)
    }

    fn shown(&self, host: &str, case: &str) -> String {
        let Some(cell) = self.cell(host, case) else { return "–".to_owned() };
        let slowest = cell.outcome.slowest;
        let time = if slowest < WORTH_TELLING {
            String::new()
        } else {
            format!(", {}.{} s", slowest / 1000, slowest % 1000 / 100)
        };
        format!("{}{time}{}", cell.outcome.word, if cell.is_as_expected { "" } else { WORSE })
    }

    /// Cells that are worse than expected.
    pub fn worse(&self) -> usize {
        self.cells.iter().filter(|cell| !cell.is_as_expected).count()
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let rows = self.cases.iter().map(|case| {
            let words = self.hosts.iter().map(|host| self.shown(host.word(), case.name));
            std::iter::once(case.name.to_owned()).chain(words).collect()
        });
        let titles = self.hosts.iter().map(|host| host.title().to_owned());
        let head: Vec<String> = std::iter::once(String::new()).chain(titles).collect();
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let width =
            |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max();
        let mut text = String::new();
        for row in &rows {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = width(column).unwrap_or(0);
                format!("{cell:width$}")
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        for cell in self.cells.iter().filter(|cell| !cell.is_as_expected) {
            text.push_str(&format!("{} × {}: {} {}\n", cell.host, cell.case, cell.outcome.word, cell.outcome.note));
        }
        text
    }

    /// For scripts.
    pub fn json(&self) -> Value {
        let versions =
            self.hosts.iter().zip(&self.versions).map(|(host, version)| (host.word().to_owned(), json!(version)));
        json!({
            "date": self.date, "binary": self.keeper, "versions": versions.collect::<serde_json::Map<_, _>>(),
            "cells": self.cells.iter().map(Cell::to_json).collect::<Vec<_>>(), "worse": self.worse(),
        })
    }

    /// For docs/reference.
    pub fn page(&self) -> String {
        let mut page = format!(
            "# Live hosts\n\nWritten by `cargo xtask hosts --write` on {} with {}; not edited by hand.\n\n\
             Each host is the real one from npm. A scripted model makes it call tools, without a network and in a home that\n\
             nobody has; everything but our hook is told to allow all. What is judged is what happened on disk and what the\n\
             model heard.\n\n",
            self.date, self.keeper
        );
        let titles = self.hosts.iter().zip(&self.versions).map(|(host, version)| format!("{} {version}", host.title()));
        page.push_str(&format!("| case | {} |\n", titles.collect::<Vec<_>>().join(" | ")));
        page.push_str(&format!("|---|{}\n", "---|".repeat(self.hosts.len())));
        for case in self.cases {
            let words = self.hosts.iter().map(|host| self.shown(host.word(), case.name).replace(WORSE, " **(!)**"));
            page.push_str(&format!("| {} | {} |\n", case.name, words.collect::<Vec<_>>().join(" | ")));
        }
        page.push_str("\nThe mark (!) stands where a cell is worse than expected. Seconds are those of the slowest call, where one took\ntwo or more.\n\n## Cases\n\n");
        for case in self.cases {
            page.push_str(&format!("* **{}**: {}.\n", case.name, case.about));
        }
        page.push_str("\n## Words\n\n");
        let mut words = Vec::new();
        for cell in &self.cells {
            if !words.contains(&cell.outcome.word) {
                words.push(cell.outcome.word);
            }
        }
        for word in words {
            page.push_str(&format!("* **{word}**: {}.\n", word.meaning()));
        }
        let noted: Vec<&Cell> = self.cells.iter().filter(|cell| !cell.outcome.note.is_empty()).collect();
        if !noted.is_empty() {
            page.push_str("\n## Notes\n\n");
        }
        for cell in noted {
            let note = cell.outcome.note.replace('|', "\\|").replace('<', "\\<");
            page.push_str(&format!("* {} × {}: {} ({note})\n", cell.host, cell.case, cell.outcome.word));
        }
        page
    }
}

/// The cases that were named, or all.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Case>> {
    if let Some(name) = names.iter().find(|name| !cases::ALL.iter().any(|case| case.name == name.as_str())) {
        let known: Vec<&str> = cases::ALL.iter().map(|case| case.name).collect();
        bail!("there is no case `{name}`; there are {}", known.join(", "));
    }
    Ok(cases::ALL.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;
    use crate::outcome::{Outcome, Word};

    fn cell(case: &str, word: Word, slowest: u64, is_as_expected: bool) -> Cell {
        let outcome = Outcome { slowest, ..Outcome::new(word, "why") };
        Cell { host: "codex".to_owned(), case: case.to_owned(), outcome, is_as_expected }
    }

    #[test]
    fn what_is_worse_than_expected_stands_out_everywhere() {
        let hosts = [hosts::named("codex").unwrap()];
        let cases = chosen(&["allowed".to_owned(), "typing".to_owned(), "mcp".to_owned()]).unwrap();
        let cells = vec![cell("allowed", Word::Passed, 10, true), cell("typing", Word::Passed, 2300, false)];
        let versions = vec!["1.2".to_owned()];
        let (date, keeper) = ("2026-11-18".to_owned(), "writkeeper 0".to_owned());
        let findings = Findings { hosts: &hosts, cases: &cases, cells, versions, date, keeper };
        let text = findings.text();
        assert!(text.contains("allowed  passed\n") && text.contains("typing   passed, 2.3 s (!)\n"), "{text}");
        assert!(text.contains("mcp      –\n") && text.contains("codex × typing: passed why"), "{text}");
        let page = findings.page();
        assert!(
            page.contains("| case | Codex CLI 1.2 |") && page.contains("| typing | passed, 2.3 s **(!)** |"),
            "{page}"
        );
        assert_eq!((findings.worse(), findings.json()["worse"].as_u64()), (1, Some(1)));
        assert!(chosen(&["nothing".to_owned()]).is_err());
    }

    #[test]
    fn cells_survive_the_way_out_of_the_namespace() {
        let cell = cell("mcp", Word::StartHeld, 7, true);
        let back = Cell::from_json(&cell.to_json()).unwrap();
        assert_eq!((back.outcome, back.case, back.is_as_expected), (cell.outcome, cell.case, true));
    }
}
