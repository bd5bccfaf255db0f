//! Every refusal of the strict door, with its position; and what stands exactly on a bound.

use values::json::{Bounds, Json};

/// `expected` is the canonical text if the document is admitted, else the refusal and its byte offset.
#[track_caller]
fn check(document: impl AsRef<[u8]>, expected: &str) {
    let document = document.as_ref();
    let answer = match Json::parse(document) {
        Ok(value) => value.to_canonical(),
        Err(refusal) => format!("{refusal} (byte {})", refusal.offset),
    };
    assert_eq!(answer, expected, "{}", String::from_utf8_lossy(document.get(..200).unwrap_or(document)));
}

/// For documents too long to print: only whether, why and where.
#[track_caller]
fn check_large(document: impl AsRef<[u8]>, expected: &str) {
    let answer = match Json::parse(document.as_ref()) {
        Ok(_) => "admitted".to_owned(),
        Err(refusal) => format!("{refusal} (byte {})", refusal.offset),
    };
    assert_eq!(answer, expected);
}

#[test]
fn ordinary_documents_are_admitted() {
    check("null", "null");
    check(" \t\r\n true \n", "true");
    check("[]", "[]");
    check("{ }", "{}");
    check(r#"[1, -2.50, 3e2, "x", false, null, {}]"#, r#"[1,-2.5,300,"x",false,null,{}]"#);
    check(r#"{"b": 1, "a": {"c": []}}"#, r#"{"a":{"c":[]},"b":1}"#);
    check(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude02""#, "\"\\\"\\\\/\\b\\f\\n\\r\\té😂\"");
    check(r#"{"": ""}"#, r#"{"":""}"#);
}

#[test]
fn duplicate_keys() {
    check(r#"{"a": 1, "a": 2}"#, "the key `a` stands twice in one object at line 1, column 10 (byte 9)");
    check(r#"{"a": 1, "a": 1}"#, "the key `a` stands twice in one object at line 1, column 10 (byte 9)");
    check(r#"{"a": 1, "\u0061": 2}"#, "the key `a` stands twice in one object at line 1, column 10 (byte 9)");
    check(
        r#"{"x": [{"a": 1, "b": 2, "a": 3}]}"#,
        "the key `a` stands twice in one object at line 1, column 25 (byte 24)",
    );
    check("{\"é\": 1,\n  \"\\u00e9\": 2}", "the key `é` stands twice in one object at line 2, column 3 (byte 12)");
    check(r#"{"😂": 1, "\ud83d\ude02": 2}"#, "the key `😂` stands twice in one object at line 1, column 10 (byte 12)");
    check(r#"{"": 1, "": 2}"#, "the key `` stands twice in one object at line 1, column 9 (byte 8)");
    check(r#"[{"a": 1}, {"a": 2}]"#, r#"[{"a":1},{"a":2}]"#);
    check(r#"{"a": {"a": 1}}"#, r#"{"a":{"a":1}}"#);
    // Composed and decomposed spelling are two keys: RFC 8785 does not normalise, and neither do we.
    check("{\"\\u00e9\": 1, \"e\\u0301\": 2}", "{\"e\u{301}\":2,\"é\":1}");
}

#[test]
fn a_refusal_cannot_write_to_the_terminal() {
    check(
        r#"{"\u001b[2J\u202e": 1, "\u001b[2J\u202e": 2}"#,
        "the key `\\u{1b}[2J\\u{202e}` stands twice in one object at line 1, column 24 (byte 23)",
    );
}

#[test]
fn numbers_that_are_not_finite() {
    check("NaN", "expected a value at line 1, column 1 (byte 0)");
    check("Infinity", "expected a value at line 1, column 1 (byte 0)");
    check("-Infinity", "expected a digit at line 1, column 2 (byte 1)");
    check(r#"{"a": NaN}"#, "expected a value at line 1, column 7 (byte 6)");
    check("1e400", "a number cannot be kept exactly at line 1, column 1 (byte 0)");
    check("[-1e400]", "a number cannot be kept exactly at line 1, column 2 (byte 1)");
    check("1e999999999999999999999999", "a number cannot be kept exactly at line 1, column 1 (byte 0)");
}

#[test]
fn numbers_that_would_change() {
    for number in [
        "9007199254740993",
        "-9007199254740993",
        "9007199254740993.0",
        "0.10000000000000000001",
        "100.00000000000000001",
        "333333333.33333329",
        "18446744073709551615",
        "9223372036854775807",
        "12345678901234567890123",
        "1e-400",
        "1e-29",
        "5e-324",
    ] {
        check(number, "a number cannot be kept exactly at line 1, column 1 (byte 0)");
        check(format!("{{\"amount\":\n  {number}}}"), "a number cannot be kept exactly at line 2, column 3 (byte 13)");
    }
    check("1".repeat(100_000), "a number cannot be kept exactly at line 1, column 1 (byte 0)");
}

#[test]
fn numbers_that_stay_what_they_are() {
    check("9007199254740992", "9007199254740992");
    check("9007199254740994", "9007199254740994");
    check("-9007199254740991", "-9007199254740991");
    check("0.1", "0.1");
    check("1.0", "1");
    check("-0", "0");
    check("-0.0e-5", "0");
    check("0e999999999999999999999999", "0");
    check("1E2", "100");
    check("1e+2", "100");
    check("1.5e-3", "0.0015");
    check("0.000001", "0.000001");
    check("0.0000001", "1e-7");
    check("1e20", "100000000000000000000");
    check("1e21", "1e+21");
    check("1e28", "1e+28");
    check("1e-28", "1e-28");
    check("295147905179352830000", "295147905179352830000");
    check("9.999999999999997e22", "9.999999999999997e+22");
    check("0.30000000000000004", "0.30000000000000004");
    check(format!("1{}e-200000", "0".repeat(200_000)), "1");
    // Finite and equal to its canonical text, yet beyond 28 digits before the point: decimals are our limit.
    check("1e30", "a number cannot be kept exactly at line 1, column 1 (byte 0)");
}

#[test]
fn halves_of_surrogate_pairs() {
    check(r#""\ud800""#, "half a surrogate pair at line 1, column 2 (byte 1)");
    check(r#""\udc00""#, "half a surrogate pair at line 1, column 2 (byte 1)");
    check(r#""ab\uDBFFcd""#, "half a surrogate pair at line 1, column 4 (byte 3)");
    check(r#""\ude02\ud83d""#, "half a surrogate pair at line 1, column 2 (byte 1)");
    check(r#""\ud83d\ud83d""#, "half a surrogate pair at line 1, column 2 (byte 1)");
    check(r#""\ud83d\n""#, "half a surrogate pair at line 1, column 2 (byte 1)");
    check(r#""\ud83d\u0041""#, "half a surrogate pair at line 1, column 2 (byte 1)");
    check(r#"{"\ud800": 1}"#, "half a surrogate pair at line 1, column 3 (byte 2)");
    check(b"\"\xed\xa0\x80\"", "not UTF-8 at line 1, column 2 (byte 1)");
}

#[test]
fn nul_and_control_characters() {
    check(r#""a\u0000""#, "the character U+0000 at line 1, column 3 (byte 2)");
    check(r#"{"a\u0000": 1}"#, "the character U+0000 at line 1, column 4 (byte 3)");
    check(b"\"a\0\"", "the character U+0000 at line 1, column 3 (byte 2)");
    check(b"\0", "expected a value at line 1, column 1 (byte 0)");
    check(b"{}\0", "something follows the document at line 1, column 3 (byte 2)");
    for control in 1..0x20_u8 {
        check([b'"', control, b'"'], "expected an escaped control character at line 1, column 2 (byte 1)");
        let escaped = format!("\"\\u{control:04x}\"");
        assert!(Json::parse(escaped.as_bytes()).is_ok(), "{escaped}");
    }
    check("\"\u{7f}\u{80}\"", "\"\u{7f}\u{80}\"");
}

#[test]
fn depth_32_is_the_last() {
    let nested = |open: &str, close: &str, levels: usize| open.repeat(levels) + &close.repeat(levels);
    check(nested("[", "]", 32), &nested("[", "]", 32));
    check(nested("[", "]", 33), "nested deeper than 32 levels at line 1, column 33 (byte 32)");
    check_large(nested("[", "]", 100_000), "nested deeper than 32 levels at line 1, column 33 (byte 32)");
    let objects = |levels: usize| "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels);
    check(objects(32), &objects(32));
    check(objects(33), "nested deeper than 32 levels at line 1, column 161 (byte 160)");
    let mixed = |pairs: usize| "[{\"a\":".repeat(pairs) + "1" + &"}]".repeat(pairs);
    check(mixed(16), &mixed(16));
    check(mixed(17), "nested deeper than 32 levels at line 1, column 97 (byte 96)");
    // Siblings do not add up.
    check(format!("[{0},{0}]", nested("[", "]", 31)), &format!("[{0},{0}]", nested("[", "]", 31)));
}

#[test]
fn node_10_000_is_the_last() {
    // The list itself is a node.
    let list = |items: usize| format!("[{}]", vec!["0"; items].join(","));
    check_large(list(9_999), "admitted");
    check_large(list(10_000), "more than 10000 values at line 1, column 20000 (byte 19999)");
    let object = |members: usize| {
        let members: Vec<String> = (0..members).map(|index| format!("\"{index:05}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    check_large(object(9_999), "admitted");
    check_large(object(10_000), "more than 10000 values at line 1, column 100000 (byte 99999)");
}

#[test]
fn byte_262_144_is_the_last() {
    let text = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2));
    check_large(text(256 * 1024), "admitted");
    check_large(text(256 * 1024 + 1), "longer than 262144 bytes at line 1, column 262145 (byte 262144)");
    let blank = |bytes: usize| " ".repeat(bytes - 1) + "1";
    check_large(blank(256 * 1024), "admitted");
    check_large(blank(256 * 1024 + 1), "longer than 262144 bytes at line 1, column 262145 (byte 262144)");
    let file = Json::parse_within(text(256 * 1024 + 1).as_bytes(), &Bounds::FILE);
    assert!(file.is_ok(), "an operator's file may be longer");
}

#[test]
fn key_byte_256_is_the_last() {
    let keyed = |key: &str| format!("{{\"{key}\":1}}");
    check(keyed(&"k".repeat(256)), &keyed(&"k".repeat(256)));
    check(keyed(&"k".repeat(257)), "a key longer than 256 bytes at line 1, column 2 (byte 1)");
    check(keyed(&"é".repeat(128)), &keyed(&"é".repeat(128)));
    check(keyed(&"é".repeat(129)), "a key longer than 256 bytes at line 1, column 2 (byte 1)");
    // Escapes count as what they mean.
    check(keyed(&"\\u006b".repeat(256)), &keyed(&"k".repeat(256)));
}

#[test]
fn encodings_other_than_plain_utf_8() {
    check("\u{feff}{}", "a byte order mark at line 1, column 1 (byte 0)");
    check("{}\u{feff}", "something follows the document at line 1, column 3 (byte 2)");
    check(" \u{feff}{}", "expected a value at line 1, column 2 (byte 1)");
    check("\"\u{feff}\"", "\"\u{feff}\"");
    check(b"\"\xc0\xaf\"", "not UTF-8 at line 1, column 2 (byte 1)");
    check(b"\"\xe0\x80\xaf\"", "not UTF-8 at line 1, column 2 (byte 1)");
    check(b"\"\xf0\x80\x80\xaf\"", "not UTF-8 at line 1, column 2 (byte 1)");
    check(b"\"\xc0\x80\"", "not UTF-8 at line 1, column 2 (byte 1)");
    check(b"\"\xf5\x80\x80\x80\"", "not UTF-8 at line 1, column 2 (byte 1)");
    check(b"\"ab\xff\"", "not UTF-8 at line 1, column 4 (byte 3)");
    check(b"\xff\xfe{\0}\0", "not UTF-8 at line 1, column 1 (byte 0)");
    check(b"{\0\"\0", "expected a key in double quotes at line 1, column 2 (byte 1)");
    // Blanks of Unicode are not blanks of JSON.
    check("\u{a0}1", "expected a value at line 1, column 1 (byte 0)");
    check("\u{b}1", "expected a value at line 1, column 1 (byte 0)");
}

#[test]
fn a_document_cut_anywhere_is_refused() {
    let document = r#" {"a\n\ud83d\ude02": [1.5e-3, -2, true, false, null, "x\u00e9é"], "b": {"c": {}}, "d": []}"#;
    assert!(Json::parse(document.as_bytes()).is_ok());
    for cut in 0..document.len() {
        let prefix = &document.as_bytes()[..cut];
        let (line, column) = (1, String::from_utf8_lossy(prefix).chars().count() + 1);
        if document.is_char_boundary(cut) {
            check(prefix, &format!("the document ends too early at line {line}, column {column} (byte {cut})"));
        } else {
            check(prefix, &format!("not UTF-8 at line {line}, column {} (byte {})", column - 1, cut - 1));
        }
    }
    check("", "the document ends too early at line 1, column 1 (byte 0)");
    check("  \n ", "the document ends too early at line 2, column 2 (byte 4)");
}

#[test]
fn anything_behind_the_document() {
    check("{} {}", "something follows the document at line 1, column 4 (byte 3)");
    check("1 2", "something follows the document at line 1, column 3 (byte 2)");
    check("[]]", "something follows the document at line 1, column 3 (byte 2)");
    check("nullnull", "something follows the document at line 1, column 5 (byte 4)");
    check("{}\n\n// end", "something follows the document at line 3, column 1 (byte 4)");
}

#[test]
fn liberties_other_readers_take() {
    check("// x\n1", "expected a value at line 1, column 1 (byte 0)");
    check("[1, /* x */ 2]", "expected a value at line 1, column 5 (byte 4)");
    check("# x\n1", "expected a value at line 1, column 1 (byte 0)");
    check("[1,]", "expected a value at line 1, column 4 (byte 3)");
    check("[,1]", "expected a value at line 1, column 2 (byte 1)");
    check("[1 2]", "expected `,` or `]` at line 1, column 4 (byte 3)");
    check(r#"{"a": 1,}"#, "expected a key in double quotes at line 1, column 9 (byte 8)");
    check(r#"{"a": 1 "b": 2}"#, "expected `,` or `}` at line 1, column 9 (byte 8)");
    check(r#"{"a" 1}"#, "expected `:` at line 1, column 6 (byte 5)");
    check(r#"{"a": }"#, "expected a value at line 1, column 7 (byte 6)");
    check("{a: 1}", "expected a key in double quotes at line 1, column 2 (byte 1)");
    check("{1: 1}", "expected a key in double quotes at line 1, column 2 (byte 1)");
    check("{'a': 1}", "expected a key in double quotes at line 1, column 2 (byte 1)");
    check("'a'", "expected a value at line 1, column 1 (byte 0)");
    check("[1}", "expected `,` or `]` at line 1, column 3 (byte 2)");
    check("True", "expected a value at line 1, column 1 (byte 0)");
    check("trux", "expected a value at line 1, column 1 (byte 0)");
    check("undefined", "expected a value at line 1, column 1 (byte 0)");
    check(r#""\x41""#, "expected one of \" \\ / b f n r t u at line 1, column 3 (byte 2)");
    check(r#""\'""#, "expected one of \" \\ / b f n r t u at line 1, column 3 (byte 2)");
    check(r#""\u12g4""#, "expected four hexadecimal digits at line 1, column 6 (byte 5)");
    check(r#""\u{41}""#, "expected four hexadecimal digits at line 1, column 4 (byte 3)");
}

#[test]
fn numbers_in_other_spellings() {
    check("01", "expected a number without leading zeros at line 1, column 1 (byte 0)");
    check("-01", "expected a number without leading zeros at line 1, column 1 (byte 0)");
    check("00", "expected a number without leading zeros at line 1, column 1 (byte 0)");
    check("+1", "expected a value at line 1, column 1 (byte 0)");
    check(".5", "expected a value at line 1, column 1 (byte 0)");
    check("-.5", "expected a digit at line 1, column 2 (byte 1)");
    check("[1.]", "expected a digit at line 1, column 4 (byte 3)");
    check("1.", "the document ends too early at line 1, column 3 (byte 2)");
    check("[1.e3]", "expected a digit at line 1, column 4 (byte 3)");
    check("[1e]", "expected a digit at line 1, column 4 (byte 3)");
    check("[1e+-2]", "expected a digit at line 1, column 5 (byte 4)");
    check("[-]", "expected a digit at line 1, column 3 (byte 2)");
    check("--1", "expected a digit at line 1, column 2 (byte 1)");
    check("0x10", "something follows the document at line 1, column 2 (byte 1)");
    check("1_000", "something follows the document at line 1, column 2 (byte 1)");
    check("1,5", "something follows the document at line 1, column 2 (byte 1)");
    check("１", "expected a value at line 1, column 1 (byte 0)");
}
