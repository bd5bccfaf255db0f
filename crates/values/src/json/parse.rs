//! One pass from bytes to [`Json`], refusing what two readers could understand differently.
//!
//! Written by hand because no library refuses duplicate keys, keeps exact decimals, bounds depth and nodes and
//! reports positions in one pass.

use super::{Json, Object, canonical};
use crate::bugs::{self, Bug};
use crate::decimal::Decimal;
use std::fmt;

/// What a document may cost.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Length of the document.
    pub bytes_max: usize,
    /// Containers inside containers.
    pub depth_max: usize,
    /// Values in all, the outermost included; a member counts as its value.
    pub nodes_max: usize,
    /// Length of one key.
    pub key_bytes_max: usize,
}

impl Bounds {
    /// Proposals, contexts and contracts sent by agents.
    pub const PROPOSAL: Bounds = Bounds { bytes_max: 256 * 1024, depth_max: 32, nodes_max: 10_000, key_bytes_max: 256 };

    /// Files an operator hands over.
    pub const FILE: Bounds =
        Bounds { bytes_max: 16 * 1024 * 1024, depth_max: 32, nodes_max: 1_000_000, key_bytes_max: 256 };

    /// What the kernel wrote itself: a record holds proposals, so it is deeper than any of them may be.
    pub const OWN: Bounds =
        Bounds { bytes_max: 16 * 1024 * 1024, depth_max: 40, nodes_max: 1_000_000, key_bytes_max: 256 };
}

/// Why a document was refused, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// What is wrong.
    pub problem: Problem,
    /// Byte offset from the start.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// What can be wrong with a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// Not UTF-8.
    NotUtf8,
    /// Starts with a byte order mark.
    ByteOrderMark,
    /// Longer than allowed.
    TooLong {
        /// The bound.
        max: usize,
    },
    /// Nested deeper than allowed.
    TooDeep {
        /// The bound.
        max: usize,
    },
    /// More values than allowed.
    TooManyNodes {
        /// The bound.
        max: usize,
    },
    /// A key longer than allowed.
    KeyTooLong {
        /// The bound.
        max: usize,
    },
    /// The same key twice in one object.
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A number that its own canonical text would change. Its digits are not told: they may be a secret, and the place says
    /// which number is meant.
    NumberNotExact,
    /// A `\u` escape of half a surrogate pair.
    LoneSurrogate,
    /// U+0000 in a string or key.
    Nul,
    /// Anything the grammar does not know here.
    Unexpected {
        /// What would have fitted.
        expected: &'static str,
    },
    /// The document ended too early.
    Truncated,
    /// Something follows the document.
    TrailingData,
}

impl Refusal {
    /// Whether the number, not the grammar, was the reason.
    pub fn is_inexact_number(&self) -> bool {
        matches!(self.problem, Problem::NumberNotExact)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at line {}, column {}", self.problem, self.line, self.column)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NotUtf8 => write!(formatter, "not UTF-8"),
            Problem::ByteOrderMark => write!(formatter, "a byte order mark"),
            Problem::TooLong { max } => write!(formatter, "longer than {max} bytes"),
            Problem::TooDeep { max } => write!(formatter, "nested deeper than {max} levels"),
            Problem::TooManyNodes { max } => write!(formatter, "more than {max} values"),
            Problem::KeyTooLong { max } => write!(formatter, "a key longer than {max} bytes"),
            Problem::DuplicateKey { key } => {
                // Keys are the sender's words: control and direction characters must not reach a terminal.
                write!(formatter, "the key `{}` stands twice in one object", key.escape_debug())
            }
            Problem::NumberNotExact => write!(formatter, "a number cannot be kept exactly"),
            Problem::LoneSurrogate => write!(formatter, "half a surrogate pair"),
            Problem::Nul => write!(formatter, "the character U+0000"),
            Problem::Unexpected { expected } => write!(formatter, "expected {expected}"),
            Problem::Truncated => write!(formatter, "the document ends too early"),
            Problem::TrailingData => write!(formatter, "something follows the document"),
        }
    }
}

/// A problem and the byte offset where it was met; lines are counted only when it is reported.
struct Fault {
    problem: Problem,
    offset: usize,
}

pub(super) fn document(bytes: &[u8], bounds: &Bounds) -> Result<Json, Refusal> {
    let located = |fault: Fault| {
        let (line, column) = line_and_column(bytes, fault.offset);
        Refusal { problem: fault.problem, offset: fault.offset, line, column }
    };
    if bytes.len() > bounds.bytes_max {
        return Err(located(Fault { problem: Problem::TooLong { max: bounds.bytes_max }, offset: bounds.bytes_max }));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| located(Fault { problem: Problem::NotUtf8, offset: error.valid_up_to() }))?;
    let mut start = 0;
    if text.starts_with('\u{feff}') {
        if !bugs::on(Bug::JsonByteOrderMark) {
            return Err(located(Fault { problem: Problem::ByteOrderMark, offset: 0 }));
        }
        start = 3;
    }
    let mut parser = Parser { text, bytes, position: start, nodes: 0, bounds };
    parser.whole_document().map_err(located)
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    nodes: usize,
    bounds: &'a Bounds,
}

impl<'a> Parser<'a> {
    fn whole_document(&mut self) -> Result<Json, Fault> {
        self.blanks();
        let value = self.value(0)?;
        self.blanks();
        match self.peek() {
            None => Ok(value),
            Some(_) => self.fail(Problem::TrailingData),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, Fault> {
        self.count_node()?;
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.list(depth + 1),
            Some(b'"') => self.string().map(Json::Text),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.fail(Problem::Unexpected { expected: "a value" }),
            None => self.fail(Problem::Truncated),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Fault> {
        self.enter(depth)?;
        let mut members = Object::new();
        if self.skip_if(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.blanks();
            let key_at = self.position;
            let key = match self.peek() {
                Some(b'"') => self.string()?,
                Some(_) => return self.fail(Problem::Unexpected { expected: "a key in double quotes" }),
                None => return self.fail(Problem::Truncated),
            };
            if key.len() > self.bounds.key_bytes_max {
                return Err(Fault { problem: Problem::KeyTooLong { max: self.bounds.key_bytes_max }, offset: key_at });
            }
            // What was written in order, as all canonical text is, needs no search: behind the last key nothing stands twice.
            let is_behind = members.last_key_value().is_none_or(|(last, _)| *last < key);
            if !is_behind && members.contains_key(&key) && !bugs::on(Bug::JsonDuplicateKeys) {
                return Err(Fault { problem: Problem::DuplicateKey { key }, offset: key_at });
            }
            self.blanks();
            self.require(b':', "`:`")?;
            self.blanks();
            let value = self.value(depth)?;
            members.insert(key, value);
            self.blanks();
            if self.skip_if(b'}') {
                return Ok(Json::Object(members));
            }
            self.require(b',', "`,` or `}`")?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, Fault> {
        self.enter(depth)?;
        let mut items = Vec::new();
        if self.skip_if(b']') {
            return Ok(Json::List(items));
        }
        loop {
            self.blanks();
            items.push(self.value(depth)?);
            self.blanks();
            if self.skip_if(b']') {
                return Ok(Json::List(items));
            }
            self.require(b',', "`,` or `]`")?;
        }
    }

    /// Steps over the opening bracket and the blanks behind it.
    fn enter(&mut self, depth: usize) -> Result<(), Fault> {
        // The switch still bounds recursion: a stack overflow would prove something else.
        let depth_max = if bugs::on(Bug::JsonDepth) { 512 } else { self.bounds.depth_max };
        if depth > depth_max {
            return self.fail(Problem::TooDeep { max: self.bounds.depth_max });
        }
        self.position += 1;
        self.blanks();
        Ok(())
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.position += 1;
        let clean = self.clean_text();
        // Most texts have nothing escaped, and then their room is known at once.
        if self.skip_if(b'"') {
            return Ok(clean.to_owned());
        }
        let mut string = clean.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(string);
                }
                Some(b'\\') => self.escape(&mut string)?,
                Some(0) => return self.fail(Problem::Nul),
                Some(_) => return self.fail(Problem::Unexpected { expected: "an escaped control character" }),
                None => return self.fail(Problem::Truncated),
            }
            string.push_str(self.clean_text());
        }
    }

    /// What stands for itself up to the next byte that does not.
    fn clean_text(&mut self) -> &'a str {
        let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let length = rest.iter().position(is_special).unwrap_or(rest.len());
        let start = self.position;
        self.position += length;
        self.text.get(start..self.position).unwrap_or_default()
    }

    fn escape(&mut self, string: &mut String) -> Result<(), Fault> {
        let escape_at = self.position;
        self.position += 1;
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.position += 1;
                let character = self.unicode_escape(escape_at)?;
                if character == '\0' && !bugs::on(Bug::JsonNul) {
                    return Err(Fault { problem: Problem::Nul, offset: escape_at });
                }
                string.push(character);
                return Ok(());
            }
            Some(_) => return self.fail(Problem::Unexpected { expected: "one of \" \\ / b f n r t u" }),
            None => return self.fail(Problem::Truncated),
        };
        self.position += 1;
        string.push(character);
        Ok(())
    }

    fn unicode_escape(&mut self, escape_at: usize) -> Result<char, Fault> {
        let lone = || Fault { problem: Problem::LoneSurrogate, offset: escape_at };
        let first = self.hex4()?;
        let code = match first {
            0xD800..=0xDBFF => {
                let rest = self.bytes.get(self.position..).unwrap_or_default();
                if rest.len() < 2 && b"\\u".starts_with(rest) {
                    self.position = self.bytes.len();
                    return self.fail(Problem::Truncated);
                }
                if !rest.starts_with(b"\\u") {
                    return if bugs::on(Bug::JsonLoneSurrogate) { Ok('\u{fffd}') } else { Err(lone()) };
                }
                self.position += 2;
                let second = self.hex4()?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(lone());
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            other => other,
        };
        match char::from_u32(code) {
            Some(character) => Ok(character),
            None if bugs::on(Bug::JsonLoneSurrogate) => Ok('\u{fffd}'),
            None => Err(lone()),
        }
    }

    fn hex4(&mut self) -> Result<u32, Fault> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(byte @ b'0'..=b'9') => byte - b'0',
                Some(byte @ b'a'..=b'f') => byte - b'a' + 10,
                Some(byte @ b'A'..=b'F') => byte - b'A' + 10,
                Some(_) => return self.fail(Problem::Unexpected { expected: "four hexadecimal digits" }),
                None => return self.fail(Problem::Truncated),
            };
            code = code * 16 + u32::from(digit);
            self.position += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<Json, Fault> {
        let start = self.position;
        let negative = self.skip_if(b'-');
        let whole = self.some_digits()?;
        if whole.len() > 1 && whole.starts_with('0') {
            self.position = start;
            return self.fail(Problem::Unexpected { expected: "a number without leading zeros" });
        }
        let fraction = if self.skip_if(b'.') { self.some_digits()? } else { "" };
        let mut exponent = 0;
        if self.skip_if(b'e') || self.skip_if(b'E') {
            let exponent_negative = self.skip_if(b'-');
            if !exponent_negative {
                self.skip_if(b'+');
            }
            let digits = self.some_digits()?;
            // Anything longer is far outside what a decimal holds; zero times it is still zero.
            let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX / 2);
            exponent = if exponent_negative { -magnitude } else { magnitude };
        }
        let value = Decimal::from_parts(negative, whole, fraction, exponent);
        match value {
            Some(value) if canonical::is_exact(value) => Ok(Json::Number(value)),
            Some(value) if bugs::on(Bug::JsonInexactNumbers) => Ok(Json::Number(rounded(value))),
            _ => Err(Fault { problem: Problem::NumberNotExact, offset: start }),
        }
    }

    fn some_digits(&mut self) -> Result<&'a str, Fault> {
        let digits = self.digits();
        if digits.is_empty() {
            return match self.peek() {
                Some(_) => self.fail(Problem::Unexpected { expected: "a digit" }),
                None => self.fail(Problem::Truncated),
            };
        }
        Ok(digits)
    }

    fn digits(&mut self) -> &'a str {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        self.text.get(start..self.position).unwrap_or_default()
    }

    fn word(&mut self, word: &'static str, value: Json) -> Result<Json, Fault> {
        let rest = self.text.get(self.position..).unwrap_or_default();
        if rest.starts_with(word) {
            self.position += word.len();
            return Ok(value);
        }
        if word.starts_with(rest) {
            self.position = self.bytes.len();
            return self.fail(Problem::Truncated);
        }
        self.fail(Problem::Unexpected { expected: "a value" })
    }

    fn count_node(&mut self) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > self.bounds.nodes_max {
            return self.fail(Problem::TooManyNodes { max: self.bounds.nodes_max });
        }
        Ok(())
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn skip_if(&mut self, byte: u8) -> bool {
        let met = self.peek() == Some(byte);
        if met {
            self.position += 1;
        }
        met
    }

    fn require(&mut self, byte: u8, expected: &'static str) -> Result<(), Fault> {
        if self.skip_if(byte) {
            return Ok(());
        }
        match self.peek() {
            Some(_) => self.fail(Problem::Unexpected { expected }),
            None => self.fail(Problem::Truncated),
        }
    }

    fn fail<T>(&self, problem: Problem) -> Result<T, Fault> {
        Err(Fault { problem, offset: self.position })
    }
}

/// What a reader that goes through a double makes of the number; used only to bring that fault back.
fn rounded(value: Decimal) -> Decimal {
    let double = value.to_string().parse::<f64>().unwrap_or_default();
    Decimal::parse(&format!("{double}")).unwrap_or(value)
}

fn line_and_column(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = bytes.get(..offset.min(bytes.len())).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
    let in_line = before.get(line_start..).unwrap_or_default();
    // Continuation bytes belong to the character before them.
    let column = in_line.iter().filter(|byte| (**byte & 0xC0) != 0x80).count() + 1;
    (line, column)
}
