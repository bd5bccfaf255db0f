//! Finds the commands of a page and what the page says they print.

/// A page is prose and commands in turn; joined again they are the page.
#[derive(Debug)]
pub enum Piece<'a> {
    /// Copied as it stands.
    Prose(&'a str),
    /// Executed.
    Command(Command<'a>),
}

/// One command and its promised output.
#[derive(Debug)]
pub struct Command<'a> {
    /// Its lines as written, with `$ ` and `> `.
    pub source: &'a str,
    /// The lines below it.
    pub expected: Vec<String>,
    /// Line of the page, from 1.
    pub line: usize,
}

impl Command<'_> {
    /// What the shell is given.
    pub fn script(&self) -> String {
        let lines =
            self.source.lines().map(|line| line.strip_prefix("$ ").or(line.strip_prefix("> ")).unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Splits a page. Commands stand in fences marked `console` and start with `$ `; `> ` continues them.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut fence: Option<bool> = None;
    let mut lines = Lines { text, offset: 0, number: 0 };
    while let Some((start, line)) = lines.take() {
        let number = lines.number;
        match (fence, line.starts_with("```")) {
            (None, true) => fence = Some(line.trim_end() == "```console"),
            (Some(_), true) => fence = None,
            (Some(true), false) if line.starts_with("$ ") => {
                lines.take_while(|line| line.starts_with("> "));
                let source = text.get(start..lines.offset).unwrap_or_default();
                let expected_from = lines.offset;
                lines.take_while(|line| !line.starts_with("$ ") && !line.starts_with("```"));
                let expected = text.get(expected_from..lines.offset).unwrap_or_default();
                let expected = expected.lines().map(str::to_owned).collect();
                pieces.push(Piece::Command(Command { source, expected, line: number }));
                continue;
            }
            (Some(_) | None, false) => {}
        }
        pieces.push(Piece::Prose(text.get(start..lines.offset).unwrap_or_default()));
    }
    pieces
}

/// Appends a line and its end.
pub fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Lines with the offset at which each begins.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.text.get(self.offset..).and_then(|rest| rest.split_inclusive('\n').next())
    }

    fn take(&mut self) -> Option<(usize, &'a str)> {
        let line = self.peek()?;
        let start = self.offset;
        self.offset += line.len();
        self.number += 1;
        Some((start, line))
    }

    fn take_while(&mut self, wanted: impl Fn(&str) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<(usize, String, Vec<String>)> {
        let commands = pieces(text).into_iter().filter_map(|piece| match piece {
            Piece::Command(command) => Some((command.line, command.script(), command.expected)),
            Piece::Prose(_) => None,
        });
        commands.collect()
    }

    #[test]
    fn only_console_fences_count() {
        assert!(commands("$ not a command\n```bash\n$ neither\n```\n    $ nor this\n").is_empty());
        assert_eq!(
            commands("a\n```console\n$ x\none\ntwo\n$ y\n```\n$ no\n"),
            [(3, "x".to_owned(), vec!["one".to_owned(), "two".to_owned()]), (6, "y".to_owned(), vec![])]
        );
    }

    #[test]
    fn pieces_join_to_the_page() {
        let page = "# A\n\n```console\n$ x \\\n>  y\nout\n\n$ z\n```\n\nend";
        let mut joined = String::new();
        for piece in pieces(page) {
            match piece {
                Piece::Prose(prose) => joined.push_str(prose),
                Piece::Command(command) => {
                    joined.push_str(command.source);
                    command.expected.iter().for_each(|line| push_line(&mut joined, line));
                }
            }
        }
        assert_eq!(joined, page);
    }
}
