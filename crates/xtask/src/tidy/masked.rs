//! Rust text with the insides of strings and comments blanked out, so that rules see code alone.

/// The code, the comments and the test-only lines of one file; all three keep the lines of the original.
pub struct Masked {
    /// Code; strings and comments are blanks.
    pub code: String,
    /// Comments; everything else is blank.
    pub comments: String,
    test_lines: Vec<bool>,
}

/// What the character at hand belongs to.
#[derive(Clone, Copy)]
enum Place {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

impl Masked {
    pub fn new(text: &str) -> Masked {
        let (code, comments) = split(text);
        let test_lines = test_lines(&code);
        Masked { code, comments, test_lines }
    }

    /// Whether the line (from 1) is compiled for tests only.
    pub fn is_test_line(&self, line: usize) -> bool {
        line.checked_sub(1).and_then(|index| self.test_lines.get(index)).copied().unwrap_or(false)
    }
}

fn split(text: &str) -> (String, String) {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or('\0');
    let (mut code, mut comments) = (String::with_capacity(text.len()), String::with_capacity(text.len()));
    let mut place = Place::Code;
    let mut index = 0;
    while index < characters.len() {
        let (width, next) = match place {
            Place::Code => from_code(&at, index),
            Place::LineComment if at(index) == '\n' => (1, Place::Code),
            Place::LineComment => (1, Place::LineComment),
            Place::BlockComment { depth } => match (at(index), at(index + 1)) {
                ('*', '/') if depth == 1 => (2, Place::Code),
                ('*', '/') => (2, Place::BlockComment { depth: depth - 1 }),
                ('/', '*') => (2, Place::BlockComment { depth: depth + 1 }),
                _ => (1, place),
            },
            Place::Text => match at(index) {
                '\\' => (2, Place::Text),
                '"' => (1, Place::Code),
                _ => (1, Place::Text),
            },
            Place::RawText { hashes } => {
                let closes = at(index) == '"' && (1..=hashes).all(|offset| at(index + offset) == '#');
                if closes { (1 + hashes, Place::Code) } else { (1, place) }
            }
        };
        let is_comment = |place: Place| matches!(place, Place::LineComment | Place::BlockComment { .. });
        let is_code = matches!((place, next), (Place::Code, Place::Code));
        for character in characters.iter().skip(index).take(width) {
            let keep = |kept: bool| if kept || *character == '\n' { *character } else { ' ' };
            // A character literal in code is kept as blanks: its quote or brace would mislead.
            code.push(keep(is_code && width == 1));
            comments.push(keep(is_comment(place) || is_comment(next)));
        }
        index += width;
        place = next;
    }
    (code, comments)
}

/// How many characters to step over, and what follows them.
fn from_code(at: &impl Fn(usize) -> char, index: usize) -> (usize, Place) {
    let previous_is_word = index > 0 && (at(index - 1).is_alphanumeric() || at(index - 1) == '_');
    match at(index) {
        '/' if at(index + 1) == '/' => (2, Place::LineComment),
        '/' if at(index + 1) == '*' => (2, Place::BlockComment { depth: 1 }),
        '"' => (1, Place::Text),
        'r' if !previous_is_word || at(index - 1) == 'b' => {
            let hashes = (1..).take_while(|offset| at(index + offset) == '#').count();
            if at(index + 1 + hashes) == '"' { (2 + hashes, Place::RawText { hashes }) } else { (1, Place::Code) }
        }
        '\'' if at(index + 1) == '\\' => {
            let end = (index + 3..index + 14).find(|end| at(*end) == '\'').unwrap_or(index + 3);
            (end + 1 - index, Place::Code)
        }
        '\'' if at(index + 2) == '\'' => (3, Place::Code),
        _ => (1, Place::Code),
    }
}

/// Marks the lines of `#[test]` functions and `#[cfg(test)]` items.
fn test_lines(code: &str) -> Vec<bool> {
    let mut marked = vec![false; code.lines().count()];
    for attribute in ["#[test]", "#[cfg(test)]"] {
        for (start, _) in code.match_indices(attribute) {
            let end = block_end(code, start + attribute.len()).unwrap_or(start);
            let (first, last) = (line_index(code, start), line_index(code, end));
            marked.iter_mut().take(last + 1).skip(first).for_each(|line| *line = true);
        }
    }
    marked
}

/// The offset of the brace that closes the first block behind `start`; `None` if a `;` comes first.
pub fn block_end(code: &str, start: usize) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (offset, character) in code.get(start..)?.char_indices() {
        match character {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            ';' if braces == 0 && brackets == 0 => return None,
            '{' => braces += 1,
            '}' if braces <= 1 => return Some(start + offset),
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

/// The line of an offset, from 0.
pub fn line_index(code: &str, offset: usize) -> usize {
    code.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str) {
        let masked = Masked::new(text);
        assert_eq!(masked.code.split_whitespace().collect::<Vec<_>>().join(" "), code, "{text}");
        assert_eq!(masked.code.lines().count(), text.lines().count());
    }

    #[test]
    fn strings_and_comments_are_blanked() {
        check("let a = \"{ \\\" }\"; b", "let a = ; b");
        check("let a = r#\"{ \" }\"#; b", "let a = ; b");
        check("let a = br\"{\"; b", "let a = b ; b");
        check("a // { \n b /* { /* } */ } */ c", "a b c");
        check("let a = '{'; let b = '\\''; let c = '\\u{1F}'; d", "let a = ; let b = ; let c = ; d");
        check("fn f<'a>(x: &'a str) -> &'a str { x }", "fn f<'a>(x: &'a str) -> &'a str { x }");
        check("let var\"x\" = r;", "let var = r;");
    }

    #[test]
    fn tests_are_recognised() {
        let masked = Masked::new("fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n");
        let marks: Vec<bool> = (1..=6).map(|line| masked.is_test_line(line)).collect();
        assert_eq!(marks, [false, true, true, true, true, false]);
    }
}
