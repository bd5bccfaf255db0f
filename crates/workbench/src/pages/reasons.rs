//! A page per reason code, and their index.

use super::Page;
use anyhow::Result;
use kernel::reasons::{Entry, Reason};

/// Where the pages of single reasons are; `cargo xtask docs` removes from it what describes nothing.
const FOLDER: &str = "reasons";

/// The index and one page per code.
pub fn pages() -> Result<Vec<Page>> {
    let mut pages = vec![Page { file: "reasons.md".to_owned(), text: index() }];
    for reason in Reason::ALL {
        let entry = reason.entry();
        pages.push(Page { file: format!("{FOLDER}/{}.md", entry.code), text: page(&entry) });
    }
    Ok(pages)
}

fn index() -> String {
    let mut text = String::from(
        "# Reasons\n\nEvery verdict names its reasons by stable codes. `writkeeper explain CODE` prints the same.\n\
         Contracts may define codes of their own in `refuse` and `ask`.\n\n| code | about | what happened |\n|---|---|---|\n",
    );
    for reason in Reason::ALL {
        let Entry { code, category, sentence, .. } = reason.entry();
        text.push_str(&format!("| [{code}]({FOLDER}/{code}.md) | {} | {} |\n", category.word(), escaped(sentence)));
    }
    text
}

fn page(entry: &Entry) -> String {
    format!(
        "# {}\n\n*{}*\n\n{}\n\n* **The agent:** {}\n* **The operator:** {}\n\n[All reasons](../reasons.md)\n",
        entry.code,
        entry.category.word(),
        escaped(entry.sentence),
        escaped(entry.fix_agent),
        escaped(entry.fix_operator),
    )
}

/// Named values stand in braces; a bar would end the cell of a table.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
