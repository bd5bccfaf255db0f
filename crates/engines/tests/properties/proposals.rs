//! Random proposals: valid, nearly valid, hostile JSON and plain bytes.

use crate::contracts::AMOUNTS;
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt;
use values::json::Json;

/// The text every secret holds; it must never come out again.
pub const SECRET: &str = "s3cret-pin-4711";

/// What a run knows from the start.
pub const CONTEXT: &str = r#"{"state":{"limit":50,"price/late":100,"price/lost":7,"status":"open"},
    "snapshots":{"seen":{"at":"2026-01-01T00:00:00Z","data":{"limit":50.5,"price/late":96,"price/lost":7,"status":"open"}},
    "odd":{"at":"2026-01-01T00:00:00Z","data":{"limit":"50","price/late":90,"status":null}}}}"#;

/// A line of a run; a failing case shows it as text.
#[derive(Clone, PartialEq)]
pub struct Line(pub Json);

impl fmt::Debug for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.to_canonical())
    }
}

/// Bytes that may be a line.
#[derive(Clone)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "b\"{}\"", self.0.escape_ascii())
    }
}

/// A run of proposals as JSON, each made some seconds after the one before.
pub fn runs(length: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<Line>> {
    // Agents repeat themselves, so now and then a line is an earlier one again.
    let again = proptest::option::weighted(0.2, any::<prop::sample::Index>());
    let later = select(&[0_i64, 1, 30, 599, 600, 1800, 3600][..]);
    prop::collection::vec((proposal(), later, again), length).prop_map(|made| {
        let (mut seconds, mut plain) = (0, Vec::<Json>::new());
        let stamped = made.into_iter().map(|(proposal, later, again)| {
            seconds += later;
            let earlier = again.filter(|_| !plain.is_empty()).map(|again| again.get(&plain).clone());
            plain.push(earlier.unwrap_or(proposal));
            Line(stamped(plain.last().cloned().unwrap_or_default(), seconds))
        });
        stamped.collect()
    })
}

/// A run whose clocks disagree.
pub fn disordered(length: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<Line>> {
    prop::collection::vec((proposal(), 0..7200_i64), length)
        .prop_map(|made| made.into_iter().map(|(proposal, seconds)| Line(stamped(proposal, seconds))).collect())
}

/// Bytes that need not be a proposal at all.
pub fn lines() -> impl Strategy<Value = Bytes> {
    let text = |json: Json| json.to_canonical().into_bytes();
    let cut = (proposal(), any::<prop::sample::Index>()).prop_map(move |(json, index)| {
        let mut bytes = text(json);
        bytes.truncate(index.index(bytes.len()));
        bytes
    });
    let flipped = (proposal(), any::<prop::sample::Index>(), any::<u8>()).prop_map(move |(json, index, byte)| {
        let mut bytes = text(json);
        let index = index.index(bytes.len());
        bytes[index] = byte;
        bytes
    });
    prop_oneof![
        4 => proposal().prop_map(text),
        2 => envelope().prop_map(text),
        1 => hostile().prop_map(text),
        1 => cut,
        1 => flipped,
        1 => prop::collection::vec(any::<u8>(), 0..64),
    ]
    .prop_map(Bytes)
}

fn stamped(proposal: Json, seconds: i64) -> Json {
    let Json::Object(mut members) = proposal else { return proposal };
    members.insert("created_at".to_owned(), Json::text(instant(seconds)));
    // Validity was chosen relative to the time of making.
    if let Some(Json::Number(offset)) = members.get("valid_until").cloned() {
        let offset = offset.to_i64().unwrap_or_default();
        members.insert("valid_until".to_owned(), Json::text(instant(seconds + offset)));
    }
    Json::Object(members)
}

/// So many seconds into the first of January.
pub fn instant(seconds: i64) -> String {
    let micros = values::time::Instant::PURE_DEFAULT.micros() + seconds * 1_000_000;
    values::time::Instant::from_micros(micros).to_string()
}

fn parsed(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or(Json::Null)
}

fn number() -> BoxedStrategy<Json> {
    prop_oneof![
        12 => select(AMOUNTS).prop_map(parsed),
        2 => select(&["-1", "-0.01", "-50"][..]).prop_map(parsed),
        1 => select(&["1e27", "1e-20", "79228162514264337593543950335", "0.30000000000000004"][..]).prop_map(parsed),
    ]
    .boxed()
}

fn amount() -> BoxedStrategy<Json> {
    let quantity = |unit: &'static str| {
        number().prop_map(move |value| Json::object([("value", value), ("unit", Json::text(unit))]))
    };
    prop_oneof![
        10 => number(),
        1 => quantity("EUR"),
        1 => quantity("USD"),
        1 => select(&["5", "1e1", "NaN", ""][..]).prop_map(Json::text),
        1 => hostile(),
    ]
    .boxed()
}

/// A value: mostly one that ought to pass, now and then anything.
fn value(good: &'static [&'static str], wild: BoxedStrategy<Json>) -> BoxedStrategy<Json> {
    prop_oneof![15 => select(good).prop_map(parsed), 1 => wild].boxed()
}

fn text(words: &'static [&'static str]) -> BoxedStrategy<Json> {
    prop_oneof![9 => select(words).prop_map(Json::text), 1 => hostile()].boxed()
}

fn maybe(key: &'static str, probability: f64, value: BoxedStrategy<Json>) -> BoxedStrategy<(String, Option<Json>)> {
    proptest::option::weighted(probability, value).prop_map(move |value| (key.to_owned(), value)).boxed()
}

fn always(key: &'static str, value: BoxedStrategy<Json>) -> BoxedStrategy<(String, Option<Json>)> {
    value.prop_map(move |value| (key.to_owned(), Some(value))).boxed()
}

fn object(members: Vec<BoxedStrategy<(String, Option<Json>)>>) -> BoxedStrategy<Json> {
    let kept = |members: Vec<(String, Option<Json>)>| {
        Json::Object(members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
    };
    members.prop_map(kept).boxed()
}

fn params() -> BoxedStrategy<Json> {
    let amounts = &["0", "0.01", "1", "2", "3", "5", "7", "9.99", "10", "10.01", "20", "49.5", "50"];
    let kinds = text(&[
        "late",
        "lost",
        "odd",
        "Lost",
        "mallory",
        "late/x",
        "late%2Fx",
        "l\u{043E}st",
        "\u{FF2C}OST",
        "lo\u{200B}st",
    ]);
    let payees = text(&[
        "mallory",
        "Mallory & co",
        "a:b",
        "a",
        "b",
        "a%3Ab",
        "m\u{0430}llory",
        "mal\u{200B}lory & co",
        "\u{FF45}d",
    ]);
    let prices = text(&["5", "10", "10.01", "49.5", "100", "-1", "1e1", "many"]);
    object(vec![
        maybe("amount", 0.98, value(amounts, amount())),
        maybe("fee", 0.85, value(&["0.01", "1", "5"], amount())),
        maybe("payee", 0.95, value(&["\"ann\"", "\"bob\"", "\"cy\"", "\"di\"", "\"ed\""], payees)),
        maybe("kind", 0.95, value(&["\"late\"", "\"late\"", "\"late\"", "\"lost\""], kinds)),
        maybe("price", 0.8, value(&["\"5\"", "\"7.50\""], prices)),
        maybe("pin", 0.8, value(&["\"s3cret-pin-4711\""], hostile())),
        maybe(
            "any",
            0.3,
            value(
                &[r#"["late"]"#, r#"["late","odd"]"#, "[]", "5", "true", r#"[["x"]]"#, r#"{"lost":[-1]}"#],
                hostile(),
            ),
        ),
        maybe("unknown", 0.01, hostile()),
    ])
}

/// A proposal with every field where it belongs; its values are mostly possible.
pub fn proposal() -> BoxedStrategy<Json> {
    let origin = || select(&["user", "state", "tool", "none"][..]).prop_map(Json::text).boxed();
    let wild = prop::collection::btree_map("payee|kind|amount", origin(), 0..=3).prop_map(Json::Object).boxed();
    const USUAL: &str = r#"{"payee":"user","kind":"tool","amount":"none"}"#;
    let stated = &[USUAL, USUAL, USUAL, r#"{"payee":"tool","kind":"user"}"#];
    let seconds = select(&["-1", "0", "5", "10", "11", "39", "41", "300", "301"][..]).prop_map(parsed).boxed();
    let named = |words: &'static [&'static str]| select(words).prop_map(Json::text).boxed();
    let unsure = select(&["0", "0.29", "0.3", "0.49", "0.9"][..]).prop_map(parsed).boxed();
    let actions = &["\"pay\"", "\"pay\"", "\"pay\"", "\"send\"", "\"look\""];
    object(vec![
        always("agent", value(&["\"bot\""], named(&["bot", "bot", "stranger"]))),
        always("action", value(actions, named(&["pay", "fly", "Pay"]))),
        always("params", params()),
        maybe("flow", 0.5, named(&["e", "f", "g", "h"])),
        maybe("step", 0.2, named(&["1", "2"])),
        maybe("snapshot", 0.95, value(&["\"current\"", "\"current\"", "\"seen\""], named(&["odd", "ghost"]))),
        maybe("confidence", 0.95, value(&["1", "0.95", "0.95", "0.6"], unsure)),
        maybe("valid_until", 0.15, seconds),
        maybe("provenance", 0.9, value(stated, wild)),
        maybe("tokens", 0.2, value(&["0", "10", "50"], value(&["100", "101"], Just(Json::Null).boxed()))),
    ])
}

/// The fields of a proposal with anything in them.
fn envelope() -> BoxedStrategy<Json> {
    let field = select(&kernel::proposal::FIELDS[..]).prop_map(str::to_owned);
    (proposal(), prop::collection::btree_map(field, hostile(), 1..3))
        .prop_map(|(proposal, changed)| {
            let Json::Object(mut members) = proposal else { return proposal };
            members.extend(changed);
            Json::Object(members)
        })
        .boxed()
}

/// Any JSON value, with a taste for what parsers and engines stumble over.
pub fn hostile() -> BoxedStrategy<Json> {
    let words = ["", "__entity", "__extn", "constructor", "%00", "a/../b", "\u{202E}x", "{amount}", "1e400", "true"];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number(),
        select(words.to_vec()).prop_map(Json::text),
        "[a-z\u{e9}\u{1F600}]{0,6}".prop_map(Json::text),
    ];
    let key = prop_oneof![select(words.to_vec()).prop_map(str::to_owned), "[a-z.]{1,4}"];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::List),
            prop::collection::btree_map(key.clone(), inner, 0..3).prop_map(Json::Object),
        ]
    })
    .boxed()
}
