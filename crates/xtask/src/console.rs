//! Console blocks of the documentation are executed and compared, so that no page promises what does not happen.
//!
//! ````text
//! ```console
//! $ writkeeper decide --contract examples/refunds.yaml < proposals.jsonl
//! {"id":"1","verdict":"REJECT",...
//! [exit 1]
//! ```
//! ````
//!
//! A page is one session: its commands run from top to bottom in one fresh folder. For pages of the guide it holds a
//! copy of `examples/`; for the README it is empty.

mod block;
mod compare;
mod execute;

use crate::{process, repository};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Whether pages are compared or rewritten.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Fails on what differs.
    Compare,
    /// Writes what happened into the pages.
    Bless,
}

/// How many commands behaved as their page says, and how many did not.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    /// As written.
    pub passed: usize,
    /// Differently.
    pub failed: usize,
}

/// Runs all pages; whether every command behaved as written.
pub fn run(mode: Mode) -> Result<bool> {
    let tally = run_pages(mode)?;
    println!("console: {} commands as written, {} not", tally.passed, tally.failed);
    Ok(tally.failed == 0)
}

/// Runs all pages.
pub fn run_pages(mode: Mode) -> Result<Tally> {
    let root = repository::root()?;
    let mut tally = Tally::default();
    let pages = pages_with_blocks(&root)?;
    if pages.is_empty() {
        println!("console: no page has a console block");
        return Ok(tally);
    }
    let programs = process::built(&root)?;
    for page in pages {
        let name = repository::relative(&root, &page);
        // The README promises that its ten minutes work in any folder.
        let examples = if name == "README.md" { None } else { Some(root.join("examples")) };
        let session = execute::Session::open(&programs, examples.as_deref())?;
        let text = fs::read_to_string(&page)?;
        let (rewritten, page_tally) = run_page(&name, &text, &session)?;
        if mode == Mode::Bless && rewritten != text {
            fs::write(&page, rewritten).with_context(|| format!("writing `{name}`"))?;
            println!("console: rewrote {name}");
        } else {
            tally.failed += page_tally.failed;
        }
        tally.passed += page_tally.passed;
    }
    Ok(tally)
}

/// Runs one page, prints what differs, and yields the page as it should read.
fn run_page(name: &str, text: &str, session: &execute::Session) -> Result<(String, Tally)> {
    let mut tally = Tally::default();
    let mut rewritten = String::new();
    for piece in block::pieces(text) {
        let command = match piece {
            block::Piece::Prose(prose) => {
                rewritten.push_str(prose);
                continue;
            }
            block::Piece::Command(command) => command,
        };
        let happened = session.run(&command.script())?;
        rewritten.push_str(command.source);
        if compare::matches(&command.expected, &happened) {
            tally.passed += 1;
            command.expected.iter().for_each(|line| block::push_line(&mut rewritten, line));
        } else {
            tally.failed += 1;
            println!("{name}:{}: $ {}", command.line, command.script());
            print!("{}", compare::unified(&command.expected, &happened));
            happened.iter().for_each(|line| block::push_line(&mut rewritten, line));
        }
    }
    Ok((rewritten, tally))
}

/// README.md and the task pages, as far as they have console blocks.
fn pages_with_blocks(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = vec![root.join("README.md")];
    let guide = root.join("docs/guide");
    if guide.is_dir() {
        pages.extend(repository::files_under(&guide)?);
    }
    let has_commands = |page: &PathBuf| {
        let is_page = page.extension().is_some_and(|ending| ending == "md");
        let text = if is_page { fs::read_to_string(page).unwrap_or_default() } else { String::new() };
        block::pieces(&text).iter().any(|piece| matches!(piece, block::Piece::Command(_)))
    };
    pages.retain(has_commands);
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_text(text: &str) -> (String, Tally) {
        let root = repository::root().unwrap();
        let session = execute::Session::open(Path::new("/usr/bin"), Some(&root.join("examples"))).unwrap();
        run_page("page.md", text, &session).unwrap()
    }

    #[test]
    fn a_page_is_one_session() {
        let page = "# Title\n\n```console\n$ echo one > file\n```\n\nthen\n\n```console\n$ cat file\none\n$ cat nothing 2> err; echo $?\n1\n```\n";
        let (rewritten, tally) = run_text(page);
        assert_eq!((tally.passed, tally.failed), (3, 0));
        assert_eq!(rewritten, page);
    }

    #[test]
    fn a_page_that_is_wrong_is_rewritten() {
        let (rewritten, tally) =
            run_text("```console\n$ printf 'a\\nb  \\n\\n'; exit 3\na\nc\n$ echo x\n...\n```\nprose\n");
        assert_eq!((tally.passed, tally.failed), (1, 1));
        assert_eq!(
            rewritten,
            "```console\n$ printf 'a\\nb  \\n\\n'; exit 3\na\nb\n[exit 3]\n$ echo x\n...\n```\nprose\n"
        );
    }

    #[test]
    fn errors_are_part_of_the_output() {
        let (_, tally) = run_text("```console\n$ echo wrong >&2; false\nwrong\n[exit 1]\n```\n");
        assert_eq!((tally.passed, tally.failed), (1, 0));
    }

    #[test]
    fn commands_may_go_on_over_lines() {
        let (_, tally) = run_text("```console\n$ cat <<END\n> one\n> END\none\n$ echo a \\\n>   b\na b\n```\n");
        assert_eq!((tally.passed, tally.failed), (2, 0));
    }

    #[test]
    fn a_command_cannot_wait_for_input() {
        let (_, tally) = run_text("```console\n$ cat\n```\n");
        assert_eq!((tally.passed, tally.failed), (1, 0));
    }
}
