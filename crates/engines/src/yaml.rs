//! Contract text to a tree with places. YAML 1.2, and JSON as its subset, without the parts two readers could
//! understand differently: no anchors, no tags, no merge keys, no second document, no number in a doubtful spelling.

#![expect(clippy::result_large_err, reason = "a fault is made once per document, never in a loop")]

use contract::source::{Diagnostic, Member, Node, Place, Severity, Value};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};
use std::collections::BTreeSet;
use values::decimal::Decimal;
use values::json::{Bounds, Json, is_exact};

/// A contract longer than this is no contract.
pub const BYTES_MAX: usize = 1024 * 1024;
/// Containers inside containers; the JSON door has the same bound.
pub const DEPTH_MAX: usize = 32;
/// Values and members in all; the JSON door has the same bound.
pub const NODES_MAX: usize = 10_000;
/// Length of one key; the JSON door has the same bound.
pub const KEY_BYTES_MAX: usize = 256;

/// Reads one document.
///
/// ```
/// let node = engines::yaml::parse("max: 12.50\nversion: 1.4.0").unwrap();
/// assert_eq!(node.to_json().to_canonical(), r#"{"max":12.5,"version":"1.4.0"}"#);
/// let fault = engines::yaml::parse("a: 1\na: 2").unwrap_err();
/// assert_eq!((fault.place.line, fault.place.column), (2, 1));
/// ```
pub fn parse(text: &str) -> Result<Node, Diagnostic> {
    if text.len() > BYTES_MAX {
        return Err(fault(Place { line: 1, column: 1, start: 0, end: 0 }, "the file is longer than 1 MiB", None));
    }
    let places = Places::of(text);
    if let Some(offset) = text.find(['\0', '\u{FEFF}']) {
        let help = "save the file as UTF-8 without a byte order mark";
        let message = "the file contains U+0000 or a byte order mark";
        return Err(fault(places.at_byte(text, offset), message, Some(help)));
    }
    let mut reader =
        Reader { parser: Parser::new_from_str(text), places, nodes: 0, last: Place::default(), unscannable: false };
    match reader.document() {
        // The scanner does not know all of JSON, such as surrogate pairs in escapes. What our own limits refuse stays
        // refused.
        Err(fault) if reader.unscannable => json(text).ok_or(fault),
        read => read,
    }
}

/// A JSON object, without places: the strict reader keeps none.
fn json(text: &str) -> Option<Node> {
    let trimmed = text.trim();
    let bounds = Bounds { bytes_max: BYTES_MAX, nodes_max: NODES_MAX, ..Bounds::FILE };
    let read = trimmed.starts_with('{').then(|| Json::parse_within(trimmed.as_bytes(), &bounds));
    read?.ok().map(Node::from)
}

struct Reader<'text> {
    parser: Parser<'text, StrInput<'text>>,
    places: Places,
    nodes: usize,
    last: Place,
    /// The scanner gave up, as opposed to a document that we refuse.
    unscannable: bool,
}

impl<'text> Reader<'text> {
    fn document(&mut self) -> Result<Node, Diagnostic> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (Event::StreamEnd | Event::DocumentEnd, place) => {
                    return Err(fault(place, "the file is empty", Some("start with `agent:` and `actions:`")));
                }
                (event, place) => {
                    let root = self.value(event, place, 0)?;
                    self.nothing_follows()?;
                    return Ok(root);
                }
            }
        }
    }

    fn nothing_follows(&mut self) -> Result<(), Diagnostic> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentEnd | Event::Nothing, _) => {}
                (_, place) => {
                    let help = "keep each contract in a file of its own";
                    return Err(fault(place, "the file holds a second document", Some(help)));
                }
            }
        }
    }

    fn value(&mut self, event: Event<'text>, place: Place, depth: usize) -> Result<Node, Diagnostic> {
        self.count_node(place)?;
        let (anchor, tagged) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some()),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => (*anchor, tag.is_some()),
            Event::Alias(_)
            | Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => (0, false),
        };
        refuse_anchor_and_tag(anchor, tagged, place)?;
        match event {
            Event::Scalar(text, style, _, _) => Ok(Node { value: Value::Scalar(scalar(&text, style, place)?), place }),
            Event::SequenceStart(..) => self.list(place, deeper(depth, place)?),
            Event::MappingStart(..) => self.map(place, deeper(depth, place)?),
            Event::Alias(_) => Err(fault(place, "aliases are not supported", Some("write the value out"))),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Err(fault(place, "a value is missing here", None)),
        }
    }

    fn list(&mut self, opened: Place, depth: usize) -> Result<Node, Diagnostic> {
        let mut items = Vec::new();
        loop {
            let (event, place) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Node { value: Value::List(items), place: Place { end: place.end, ..opened } });
            }
            items.push(self.value(event, place, depth)?);
        }
    }

    fn map(&mut self, opened: Place, depth: usize) -> Result<Node, Diagnostic> {
        let mut members = Vec::new();
        let mut seen = BTreeSet::new();
        loop {
            let (event, key_place) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Node { value: Value::Map(members), place: Place { end: key_place.end, ..opened } });
            }
            let key = key_text(event, key_place)?;
            if !seen.insert(key.clone()) {
                let message = format!("the key `{key}` stands twice in one map");
                return Err(fault(key_place, message, Some("keep one of them")));
            }
            let (event, place) = self.next()?;
            let node = self.value(event, place, depth)?;
            members.push(Member { key, key_place, node });
        }
    }

    fn next(&mut self) -> Result<(Event<'text>, Place), Diagnostic> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.last = self.places.of_span(span);
                Ok((event, self.last))
            }
            Some(Err(error)) => {
                self.unscannable = true;
                let place = self.places.of_span(Span::empty(*error.marker()));
                Err(fault(place, format!("this is not YAML: {}", error.info()), None))
            }
            None => Err(fault(self.last, "the file ends too early", None)),
        }
    }

    fn count_node(&mut self, place: Place) -> Result<(), Diagnostic> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(fault(place, "the file holds more than 10,000 values", None));
        }
        Ok(())
    }
}

fn deeper(depth: usize, place: Place) -> Result<usize, Diagnostic> {
    if depth >= DEPTH_MAX {
        return Err(fault(place, "this is nested deeper than 32 levels", None));
    }
    Ok(depth + 1)
}

fn refuse_anchor_and_tag(anchor: usize, tagged: bool, place: Place) -> Result<(), Diagnostic> {
    if anchor != 0 {
        return Err(fault(place, "anchors are not supported", Some("write the value out where it is needed")));
    }
    if tagged {
        return Err(fault(place, "tags are not supported", Some("put text into quotes and leave the tag out")));
    }
    Ok(())
}

fn key_text(event: Event<'_>, place: Place) -> Result<String, Diagnostic> {
    let Event::Scalar(text, style, anchor, tag) = event else {
        return Err(fault(place, "a key must be text, not a list, a map or an alias", None));
    };
    refuse_anchor_and_tag(anchor, tag.is_some(), place)?;
    if text.is_empty() {
        return Err(fault(place, "a key is empty", None));
    }
    if text.len() > KEY_BYTES_MAX {
        return Err(fault(place, "a key is longer than 256 bytes", None));
    }
    if text == "<<" && style == ScalarStyle::Plain {
        return Err(fault(place, "merge keys are not supported", Some("write the members out")));
    }
    if text.contains('\0') {
        return Err(fault(place, "a key contains U+0000", None));
    }
    Ok(text.into_owned())
}

fn scalar(text: &str, style: ScalarStyle, place: Place) -> Result<Json, Diagnostic> {
    if text.contains('\0') {
        return Err(fault(place, "text contains U+0000", None));
    }
    if style != ScalarStyle::Plain {
        return Ok(Json::text(text));
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Ok(Json::Null),
        "true" | "True" | "TRUE" => Ok(Json::Bool(true)),
        "false" | "False" | "FALSE" => Ok(Json::Bool(false)),
        _ => number_or_text(text, place),
    }
}

fn number_or_text(text: &str, place: Place) -> Result<Json, Diagnostic> {
    match Spelling::of(text) {
        Spelling::Text => Ok(Json::text(text)),
        Spelling::Doubtful => {
            let message = format!("`{text}` may be read as a number or as text");
            Err(fault(place, message, Some("write a plain number such as `7` or `0.5`, or put text into quotes")))
        }
        Spelling::Number { negative, whole, fraction, exponent } => {
            match Decimal::from_parts(negative, whole, fraction, exponent).filter(|number| is_exact(*number)) {
                Some(number) => Ok(Json::Number(number)),
                None => {
                    let shown: String = text.chars().take(40).collect();
                    let message = format!("the number `{shown}` cannot be held exactly");
                    Err(fault(place, message, Some("put it into quotes, or use fewer digits")))
                }
            }
        }
    }
}

/// How a plain scalar is spelled.
enum Spelling<'text> {
    Number {
        negative: bool,
        whole: &'text str,
        fraction: &'text str,
        exponent: i64,
    },
    /// A number to YAML but not to JSON (`007`, `+1`, `.5`, `0x1F`, `.inf`): readers disagree about these.
    Doubtful,
    Text,
}

impl Spelling<'_> {
    fn of(text: &str) -> Spelling<'_> {
        let signed = text.strip_prefix(['-', '+']).unwrap_or(text);
        if matches!(signed, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") || is_radix(signed) {
            return Spelling::Doubtful;
        }
        let (mantissa, exponent) = match signed.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (signed, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let exponent_digits = exponent.map(|digits| digits.strip_prefix(['-', '+']).unwrap_or(digits));
        let is_number = all_digits(whole)
            && fraction.is_none_or(all_digits)
            && !(whole.is_empty() && fraction.is_none_or(str::is_empty))
            && exponent_digits.is_none_or(|digits| !digits.is_empty() && all_digits(digits));
        if !is_number {
            return Spelling::Text;
        }
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if text.starts_with('+') || whole.is_empty() || leading_zero || fraction == Some("") {
            return Spelling::Doubtful;
        }
        // Anything longer is far outside what a decimal holds; zero times it is still zero.
        let magnitude = exponent_digits.map_or(0, |digits| digits.parse::<i64>().unwrap_or(i64::MAX / 2));
        let exponent = if exponent.is_some_and(|digits| digits.starts_with('-')) { -magnitude } else { magnitude };
        Spelling::Number { negative: text.starts_with('-'), whole, fraction: fraction.unwrap_or_default(), exponent }
    }
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_radix(text: &str) -> bool {
    let holds = |prefix: &str, fits: fn(&u8) -> bool| {
        text.strip_prefix(prefix).is_some_and(|digits| !digits.is_empty() && digits.as_bytes().iter().all(fits))
    };
    holds("0x", u8::is_ascii_hexdigit) || holds("0o", |byte| (b'0'..=b'7').contains(byte))
}

/// Byte offsets of characters; the parser counts in characters.
struct Places {
    /// Empty where every character is one byte.
    starts: Vec<usize>,
    bytes: usize,
}

impl Places {
    fn of(text: &str) -> Places {
        let starts = if text.is_ascii() { Vec::new() } else { text.char_indices().map(|(offset, _)| offset).collect() };
        Places { starts, bytes: text.len() }
    }

    fn of_span(&self, span: Span) -> Place {
        let byte = |marker: Marker| {
            if self.starts.is_empty() {
                marker.index().min(self.bytes)
            } else {
                self.starts.get(marker.index()).copied().unwrap_or(self.bytes)
            }
        };
        Place {
            line: span.start.line(),
            column: span.start.col() + 1,
            start: byte(span.start),
            end: byte(span.end).max(byte(span.start)),
        }
    }

    fn at_byte(&self, text: &str, offset: usize) -> Place {
        let before = text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            start: offset,
            end: offset,
        }
    }
}

fn fault(place: Place, message: impl Into<String>, help: Option<&str>) -> Diagnostic {
    Diagnostic {
        code: "CONTRACT_INVALID",
        severity: Severity::Error,
        path: String::new(),
        place,
        message: message.into(),
        help: help.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::strategy::Strategy;

    /// The canonical JSON, or `line:column message`.
    fn check(text: &str, expected: &str) {
        let found = match parse(text) {
            Ok(node) => node.to_json().to_canonical(),
            Err(fault) => format!("{}:{} {}", fault.place.line, fault.place.column, fault.message),
        };
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn scalars_of_the_core_schema() {
        check("[12.50, -3, 0, 1e3, 1.5E-1, 0.10]", "[12.5,-3,0,1000,0.15,0.1]");
        check("[null, ~, Null, true, FALSE]", "[null,null,null,true,false]");
        check("a:", r#"{"a":null}"#);
        check(
            "[1.4.0, 24h, DE89370400440532013000, yes, 1 per month, e5, 2026-01-01, a.b]",
            r#"["1.4.0","24h","DE89370400440532013000","yes","1 per month","e5","2026-01-01","a.b"]"#,
        );
        check(r#"['12', "true", "null", ""]"#, r#"["12","true","null",""]"#);
        check("a: |\n  one\n  two\n", r#"{"a":"one\ntwo\n"}"#);
        check("a: >-\n  one\n  two\n", r#"{"a":"one two"}"#);
    }

    #[test]
    fn json_is_a_subset() {
        check(r#"{"a": [1.50, {"b": "x\u00e9"}], "c": null}"#, r#"{"a":[1.5,{"b":"xé"}],"c":null}"#);
    }

    #[test]
    fn json_that_the_scanner_does_not_know_is_read_as_json() {
        check("\n {\"a\": \"\\ud83d\\ude00\", \"b\": [1.50]}\n", r#"{"a":"😀","b":[1.5]}"#);
        let problem = "this is not YAML: while parsing a quoted scalar, found invalid Unicode character escape code";
        check(r#"["\ud83d\ude00"]"#, &format!("1:2 {problem}"));
        check(r#"{"a": "\ud83d"}"#, &format!("1:7 {problem}"));
        check(r#"{"a": "\ud83d\ude00", "a": 1}"#, &format!("1:7 {problem}"));
        let long = format!(r#"{{"a": ["\ud83d\ude00"{}]}}"#, ", 1".repeat(10_000));
        check(&long, &format!("1:8 {problem}"));
        check(r#"{"a": {"b": *x}}"#, "1:13 this is not YAML: while parsing node, found unknown anchor");
        // Refused by us and not by the scanner: no other reader is asked.
        check(r#"{"a": 9007199254740993}"#, "1:7 the number `9007199254740993` cannot be held exactly");
    }

    #[test]
    fn keys_are_text_as_written() {
        check("1: a\ntrue: b\n1.0: c", r#"{"1":"a","1.0":"c","true":"b"}"#);
        check("? [a]\n: b", "1:3 a key must be text, not a list, a map or an alias");
        check("a: 1\nb:\n  c: 1\n  \"c\": 2", "4:3 the key `c` stands twice in one map");
        check("<<: {a: 1}", "1:1 merge keys are not supported");
    }

    #[test]
    fn doubtful_numbers_are_refused() {
        for text in ["007", "+1", ".5", "5.", "0x1F", "0o17", "-.inf", ".nan", "00"] {
            check(&format!("a: {text}"), &format!("1:4 `{text}` may be read as a number or as text"));
        }
        check("a: 0.10000000000000000001", "1:4 the number `0.10000000000000000001` cannot be held exactly");
        check("a: 1e400", "1:4 the number `1e400` cannot be held exactly");
        check("é: 9007199254740993", "1:4 the number `9007199254740993` cannot be held exactly");
    }

    #[test]
    fn what_two_readers_could_understand_differently_is_refused() {
        check("a: &x 1", "1:4 anchors are not supported");
        check("a: *x", "1:4 this is not YAML: while parsing node, found unknown anchor");
        check("a: !!str 1", "1:4 tags are not supported");
        check("a: 1\n---\nb: 2", "2:1 the file holds a second document");
        check("", "1:1 the file is empty");
        check("# nothing", "2:1 the file is empty");
        check("a: \"x\\0y\"", "1:4 text contains U+0000");
        check("\u{FEFF}a: 1", "1:1 the file contains U+0000 or a byte order mark");
        check("a: [1, 2", "2:1 this is not YAML: while parsing a flow sequence, expected ',' or ']'");
    }

    #[test]
    fn size_is_bounded() {
        check(&"[".repeat(33), "1:33 this is nested deeper than 32 levels");
        check(&format!("[{}]", "1,".repeat(10_000)), "1:20000 the file holds more than 10,000 values");
        check(&"#".repeat(BYTES_MAX + 1), "1:1 the file is longer than 1 MiB");
        check(&format!("{}: 1", "k".repeat(257)), "1:1 a key is longer than 256 bytes");
    }

    #[test]
    fn places_are_bytes_and_characters() {
        let node = parse("é: ü\nname: word # why").unwrap();
        let name = node.get("name").unwrap();
        assert_eq!((name.place.line, name.place.column, name.place.start, name.place.end), (2, 7, 13, 17));
        let first = node.get("é").unwrap();
        assert_eq!((first.place.column, first.place.start, first.place.end), (4, 4, 6));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(
            pieces in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::sample::select(PIECES).prop_map(str::to_owned),
                    "\\PC{0,3}",
                ],
                0..40,
            )
        ) {
            let text: String = pieces.concat();
            let read = parse(&text);
            if let Err(fault) = read {
                proptest::prop_assert!(fault.place.start <= text.len() && fault.place.end <= text.len());
            }
        }
    }

    const PIECES: &[&str] = &[
        "a",
        "b: ",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        " ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "\"",
        "'",
        "|",
        "|2-",
        ">",
        "&x ",
        "*x",
        "!!str ",
        "!",
        "%YAML 1.2\n",
        "---\n",
        "...\n",
        "# c\n",
        "? ",
        "\t",
        "\\",
        "\\u0041",
        "12.5",
        "é",
        "\r\n",
        "\u{2028}",
        "<<: ",
        "~",
        "@",
        "`",
        "0",
        "\u{85}",
    ];
}
