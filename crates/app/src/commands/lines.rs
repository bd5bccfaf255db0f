//! Lines in, with a bound: what is too long to be judged is cut, so memory stays bounded.

use anyhow::Context;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longest line kept; one byte more than a proposal may have is enough to refuse it.
const LINE_BYTES_KEPT: usize = 256 * 1024 + 1;

/// Numbered lines of a file or of standard input.
pub struct Lines {
    input: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Opens a file; nothing or `-` is standard input.
    pub fn open(path: Option<&Path>) -> anyhow::Result<Lines> {
        let input: Box<dyn BufRead> = match path.filter(|path| *path != Path::new("-")) {
            None => Box::new(std::io::stdin().lock()),
            Some(path) => {
                let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
                Box::new(BufReader::new(file))
            }
        };
        Ok(Lines { input, line: Vec::new(), number: 0 })
    }

    /// The next line, blank or not, with its number from 1 and without its end.
    pub fn next_line(&mut self) -> anyhow::Result<Option<(u64, &[u8])>> {
        if !self.read()? {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some((self.number, &self.line)))
    }

    /// The next line that is not blank.
    pub fn next_filled_line(&mut self) -> anyhow::Result<Option<(u64, &[u8])>> {
        while self.read()? {
            self.number += 1;
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some((self.number, &self.line)));
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> anyhow::Result<bool> {
        self.line.clear();
        let mut input = Read::take(&mut self.input, LINE_BYTES_KEPT as u64 + 1);
        let read = input.read_until(b'\n', &mut self.line).context("cannot read the lines")?;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if self.line.len() > LINE_BYTES_KEPT {
            self.line.truncate(LINE_BYTES_KEPT);
            self.skip_rest()?;
        }
        Ok(read > 0)
    }

    fn skip_rest(&mut self) -> anyhow::Result<()> {
        loop {
            let buffer = self.input.fill_buf().context("cannot read the lines")?;
            if buffer.is_empty() {
                return Ok(());
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(buffer.len(), |position| position + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}
