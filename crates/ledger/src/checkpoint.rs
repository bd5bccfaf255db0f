//! Checkpoints: which log, how many entries, which root. Three lines that commit to all of history.

use super::keys::NAME_BYTES_MAX;
use super::merkle::TreeHash;
use super::text::{decimal, has_control};
use std::fmt;

/// Most extension lines that are read; we write none.
const EXTENSIONS_MAX: usize = 16;

/// Why text is no checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckpointProblem {
    /// Fewer than three lines, empty lines, or a last line without its end.
    Lines,
    /// The name of the log is empty, too long, or not one line.
    Origin,
    /// The size is not a decimal number of 64 bits without leading zeroes.
    Size,
    /// The root is not the base64 of 32 bytes.
    Root,
    /// A tree without entries has one root, and it is another.
    EmptyRoot,
    /// More extension lines than are read.
    Extensions,
}

impl fmt::Display for CheckpointProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            CheckpointProblem::Lines => "a checkpoint is at least three lines, none of them empty",
            CheckpointProblem::Origin => "the name of the log is not one line of 1 to 255 bytes",
            CheckpointProblem::Size => "the size of the tree is not a plain decimal number",
            CheckpointProblem::Root => "the root of the tree is not the base64 of 32 bytes",
            CheckpointProblem::EmptyRoot => "the root is not that of a tree without entries",
            CheckpointProblem::Extensions => "the checkpoint has too many extension lines",
        })
    }
}

impl std::error::Error for CheckpointProblem {}

/// The head of a log at one size.
///
/// ```
/// use ledger::checkpoint::Checkpoint;
/// use ledger::merkle::TreeHash;
/// let checkpoint = Checkpoint::new("log.example/default/0", 1, TreeHash::of_leaf(b"entry")).unwrap();
/// assert_eq!(Checkpoint::parse(&checkpoint.to_string()), Ok(checkpoint));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    origin: String,
    size: u64,
    root: TreeHash,
    /// Kept because signatures cover them; no auditor can check what they say, so nothing here relies on them.
    extensions: Vec<String>,
}

impl Checkpoint {
    /// The head of the log `origin` at a size.
    pub fn new(origin: &str, size: u64, root: TreeHash) -> Result<Checkpoint, CheckpointProblem> {
        if !(1..=NAME_BYTES_MAX).contains(&origin.len()) || origin.contains('\n') || has_control(origin) {
            return Err(CheckpointProblem::Origin);
        }
        if size == 0 && root != TreeHash::of_nothing() {
            return Err(CheckpointProblem::EmptyRoot);
        }
        Ok(Checkpoint { origin: origin.to_owned(), size, root, extensions: Vec::new() })
    }

    /// Reads the text of a note.
    pub fn parse(text: &str) -> Result<Checkpoint, CheckpointProblem> {
        let mut lines = text.strip_suffix('\n').ok_or(CheckpointProblem::Lines)?.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(CheckpointProblem::Lines);
        };
        let size = decimal(size).ok_or(CheckpointProblem::Size)?;
        let root = TreeHash::parse(root).ok_or(CheckpointProblem::Root)?;
        let mut checkpoint = Checkpoint::new(origin, size, root)?;
        for line in lines {
            if line.is_empty() || has_control(line) {
                return Err(CheckpointProblem::Lines);
            }
            if checkpoint.extensions.len() == EXTENSIONS_MAX {
                return Err(CheckpointProblem::Extensions);
            }
            checkpoint.extensions.push(line.to_owned());
        }
        Ok(checkpoint)
    }

    /// Which log.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How many entries.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root of the tree.
    pub fn root(&self) -> TreeHash {
        self.root
    }

    /// Lines behind the root that someone else's log wrote.
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}\n{}\n{}", self.origin, self.size, self.root)?;
        self.extensions.iter().try_for_each(|line| writeln!(formatter, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

    #[test]
    fn checkpoints_come_back_as_they_were() {
        for text in [
            format!("log.example\n0\n{ROOT}\n"),
            format!("go.sum database tree\n18446744073709551615\n{ROOT}\n"),
            format!("log.example\n7\n{ROOT}\nextension one\nextension two\n"),
        ] {
            assert_eq!(Checkpoint::parse(&text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_checkpoint() {
        let check = |text: &str, expected| assert_eq!(Checkpoint::parse(text), Err(expected), "{text:?}");
        check("", CheckpointProblem::Lines);
        check("log\n1\n", CheckpointProblem::Lines);
        check(&format!("log\n1\n{ROOT}"), CheckpointProblem::Lines);
        check(&format!("log\n1\n{ROOT}\n\n"), CheckpointProblem::Lines);
        check(&format!("log\n1\n{ROOT}\n\nlate\n"), CheckpointProblem::Lines);
        check(&format!("\n1\n{ROOT}\n"), CheckpointProblem::Origin);
        check(&format!("{}\n1\n{ROOT}\n", "l".repeat(256)), CheckpointProblem::Origin);
        check(&format!("l\tog\n1\n{ROOT}\n"), CheckpointProblem::Origin);
        for size in ["", "01", "-1", "+1", " 1", "1.0", "1e3", "18446744073709551616"] {
            check(&format!("log\n{size}\n{ROOT}\n"), CheckpointProblem::Size);
        }
        check("log\n1\n47DEQpj8\n", CheckpointProblem::Root);
        check(&format!("log\n1\n{}\n", ROOT.replace("FU=", "FV=")), CheckpointProblem::Root);
        check(&format!("log\n0\n{}\n", ROOT.replace("47D", "47E")), CheckpointProblem::EmptyRoot);
        check(&format!("log\n1\n{ROOT}\n{}", "x\n".repeat(17)), CheckpointProblem::Extensions);
        assert_eq!(Checkpoint::new("a\nb", 0, TreeHash::of_nothing()), Err(CheckpointProblem::Origin));
    }
}
