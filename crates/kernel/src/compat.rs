//! The hashes of the Python reference implementation, for those who move here with stored ones.
//!
//! Nothing in the kernel uses them: they cut ids to 64 bits, join fields without a separator and tell 1 from 1.0. They
//! are computed exactly as the reference does, so that old keys, snapshots and proofs can be found again.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use values::ids::Digest;
use values::json::Json;

/// A value as Python's `json` module sees it: whole numbers and floats are two things.
#[derive(Clone, PartialEq, Debug)]
pub enum PyValue {
    /// `None`
    Null,
    /// `True` or `False`
    Bool(bool),
    /// A whole number, as its digits.
    Int(String),
    /// A float.
    Float(f64),
    /// Text; what is no JSON (a time, say) as Python's `str` prints it.
    Text(String),
    /// A list.
    List(Vec<PyValue>),
    /// A dictionary, in the order of code points.
    Object(BTreeMap<String, PyValue>),
}

impl PyValue {
    /// Of a JSON value. Its numbers do not remember how they were written: whole ones become `int`.
    pub fn of(json: &Json) -> PyValue {
        match json {
            Json::Null => PyValue::Null,
            Json::Bool(value) => PyValue::Bool(*value),
            Json::Number(number) if number.is_integer() => PyValue::Int(number.to_string()),
            Json::Number(number) => PyValue::Float(number.to_string().parse().unwrap_or_default()),
            Json::Text(text) => PyValue::Text(text.clone()),
            Json::List(items) => PyValue::List(items.iter().map(PyValue::of).collect()),
            Json::Object(members) => {
                PyValue::Object(members.iter().map(|(key, value)| (key.clone(), PyValue::of(value))).collect())
            }
        }
    }

    /// As `json.dumps(value, sort_keys=True)` prints it.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, ", ", ": ");
        text
    }

    /// The same without blanks.
    pub fn to_compact_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, ",", ":");
        text
    }

    fn write(&self, text: &mut String, comma: &str, colon: &str) {
        match self {
            PyValue::Null => text.push_str("null"),
            PyValue::Bool(true) => text.push_str("true"),
            PyValue::Bool(false) => text.push_str("false"),
            PyValue::Int(digits) => text.push_str(digits),
            PyValue::Float(float) => text.push_str(&float_text(*float)),
            PyValue::Text(string) => write_text(string, text),
            PyValue::List(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    text.push_str(if index > 0 { comma } else { "" });
                    item.write(text, comma, colon);
                }
                text.push(']');
            }
            PyValue::Object(members) => {
                text.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    text.push_str(if index > 0 { comma } else { "" });
                    write_text(key, text);
                    text.push_str(colon);
                    value.write(text, comma, colon);
                }
                text.push('}');
            }
        }
    }
}

/// A float as Python's `repr` prints it.
fn float_text(float: f64) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = format!("{float}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn write_text(string: &str, text: &mut String) {
    text.push('"');
    for letter in string.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            ' '..='~' => text.push(letter),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
        }
    }
    text.push('"');
}

/// `dfid:step:params`.
pub fn idempotency_key(dfid: &str, step: &str, params: &PyValue) -> String {
    Digest::of(format!("{dfid}:{step}:{}", params.to_text())).to_string()
}

/// The first 16 digits over the data alone.
pub fn snapshot_id(data: &PyValue) -> String {
    hash_content(data).chars().take(16).collect()
}

/// Of a context, or of a contract in some samples.
pub fn hash_content(value: &PyValue) -> String {
    Digest::of(value.to_text()).to_string()
}

/// Everything joined without a separator.
pub fn evidence_hash(dfid: &str, context: &str, contract: &str, proposal: &str) -> String {
    Digest::of(format!("{dfid}{context}{contract}{proposal}")).to_string()
}

/// HMAC-SHA256 under a key that stands in the sample's source.
pub fn sample_signature(key: &[u8], payload: &PyValue) -> String {
    let mut block = [0_u8; 64];
    let short: Vec<u8> = if key.len() > block.len() { Sha256::digest(key).to_vec() } else { key.to_vec() };
    for (target, byte) in block.iter_mut().zip(short) {
        *target = byte;
    }
    let padded = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(payload.to_text()).finalize();
    let outer: [u8; 32] = Sha256::new().chain_update(padded(0x5C)).chain_update(inner).finalize().into();
    Digest::from_bytes(outer).to_string()
}

/// Of a contract in Contract Studio: compact, without nulls.
pub fn contract_content_hash(contract: &PyValue) -> String {
    Digest::of(contract.to_compact_text()).to_string()
}

/// One entry of sample 11's chain.
pub fn chain_entry_hash(index: u64, previous: &str, timestamp: f64, data: &PyValue) -> String {
    Digest::of(format!("{index}|{previous}|{}|{}", float_text(timestamp), hash_content(data))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object<const N: usize>(members: [(&str, PyValue); N]) -> PyValue {
        PyValue::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    fn int(value: i64) -> PyValue {
        PyValue::Int(value.to_string())
    }

    fn text(value: &str) -> PyValue {
        PyValue::Text(value.to_owned())
    }

    #[test]
    fn floats_print_as_python_prints_them() {
        for (float, expected) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (1e-7, "1e-07"),
            (1e22, "1e+22"),
            (-0.0, "-0.0"),
            (0.0001, "0.0001"),
            (0.000_012, "1.2e-05"),
            (1_700_000_000.5, "1700000000.5"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float_text(float), expected);
        }
    }

    #[test]
    fn idempotency_keys() {
        let order = object([("action", text("BUY")), ("instrument", text("BTC-USD")), ("qty", PyValue::Float(0.05))]);
        let key = idempotency_key("550e8400-e29b-41d4-a716-446655440000", "step-02", &order);
        assert_eq!(key, "312deb6958d8d95d35827e5376ec7be1411f3622bcea8729968913d9821c1888");
        let key = idempotency_key("df1", "pay", &object([]));
        assert_eq!(key, "eca179c0c8fdbdcf1c82884ebd4688424b5c816d5acfd916a393dbf22539d2a3");
        let list = PyValue::List(vec![int(1), PyValue::Float(2.0), PyValue::Null, PyValue::Bool(true)]);
        let odd = object([("a", text("é\"\\/\n")), ("b", list)]);
        assert_eq!(odd.to_text(), r#"{"a": "\u00e9\"\\/\n", "b": [1, 2.0, null, true]}"#);
        let key = idempotency_key("df1", "żółw", &odd);
        assert_eq!(key, "1049fe31996bfefed81539308a79c2060cb6f79efffc54e3764876515605e9ba");
    }

    #[test]
    fn snapshots_contexts_and_contracts() {
        assert_eq!(snapshot_id(&object([("a", int(1))])), "f9d86028c6e0d64e");
        let positions = PyValue::List(vec![object([("id", text("x")), ("qty", int(3))])]);
        let data = object([("price", PyValue::Float(99.5)), ("positions", positions)]);
        assert_eq!(snapshot_id(&data), "54bfec036ca080da");
        let data = object([("t", text("2026-01-02 03:04:05+00:00")), ("é", text("ü"))]);
        assert_eq!(snapshot_id(&data), "00fd3ca41591c591");
        let check = |value: PyValue, expected: &str| assert_eq!(hash_content(&value), expected);
        check(
            object([("a", int(1)), ("b", int(2))]),
            "d8497d9d82770a70729261095aa98f7ef5154d7af499f8037b6ca250296785a6",
        );
        check(
            object([("input_email", text("Please quote"))]),
            "4d1bdf9bccaebf83812a327fbbf9cb9cfd1de115a08aa4ec62948b5504b0c9ed",
        );
        check(
            object([
                ("agent_id", text("underwriting_agent")),
                ("role", text("EXECUTOR")),
                ("allowed_policy_types", PyValue::List(vec![text("ISSUE_POLICY"), text("REJECT")])),
                ("authorized_instruments", PyValue::List(vec![text("COMMERCIAL_FLEET")])),
            ]),
            "10acf5045bf62ebb53d5e0d5920f30a2c450bb83367c244e60e0cb121c9888f3",
        );
        let limit = object([("limit", object([("unit", text("USD")), ("value", PyValue::Float(1000.0))]))]);
        let hash = contract_content_hash(&limit);
        assert_eq!(hash, "8c59f7a7b4c44c76db46fab15267dbef863a5060382366094856119af9d9fcf5");
        let json = Json::parse(br#"{"b":[1,2],"a":1}"#).unwrap();
        let hash = contract_content_hash(&PyValue::of(&json));
        assert_eq!(hash, "8baa73198470c7bb4c3ce142a8fd651affc0310d878bb9bd159e37a573fb4874");
    }

    #[test]
    fn evidence_signatures_and_chains() {
        let (context, contract) = (hash_content(&object([("x", int(1))])), hash_content(&object([("max", int(100))])));
        let hash = evidence_hash("df1", &context, &contract, &object([("a", int(1))]).to_text());
        assert_eq!(hash, "7022e9411ca1407cb38bb7ffc1e69114f6c7cdf3a6da79d6d908e238c629e733");
        let hash = evidence_hash("dfid1", "ctx1", "contract1", r#"{"x":1}"#);
        assert_eq!(hash, "10507e9f2e902377091df7a4ecb1c3a6b38867279a7edae274ff2c2c4f9bdf41");
        let proposal = object([
            ("total_insured_value", PyValue::Float(1_000_000.0)),
            ("premium", PyValue::Float(5_000.0)),
            ("industry", text("Retail")),
        ]);
        let hash = evidence_hash("550e8400-e29b-41d4-a716-446655440000", &context, &contract, &proposal.to_text());
        assert_eq!(hash, "f40309feb88df5b7db63a52345d38c3f60e198ab6d5ef63fc79f68326c8a6218");
        let signature = sample_signature(b"bank_super_secret", &object([("a", int(2)), ("b", int(1))]));
        assert_eq!(signature, "3759b1547519deb1a2598e95f7bd6853ecddac455ebf83c3c3fc2843b416b8d2");
        let payload = object([
            ("agent_id", text("underwriting_agent")),
            ("confidence", PyValue::Float(0.95)),
            ("justification", text("x")),
            ("params", object([("vehicle_count", int(50))])),
            ("policy_kind", text("ISSUE_POLICY")),
        ]);
        let signature = sample_signature(b"underwriting_demo_secret", &payload);
        assert_eq!(signature, "8fba89ebb34bc4b61210c2941c7c9bb482099f02cafa88bc1476080761076f62");
        let chain = chain_entry_hash(0, &"0".repeat(64), 0.0, &object([]));
        assert_eq!(chain, "b936755fd0651fe2519fecba89a66682435870c3852415c254dc572bc066da67");
        let chain = chain_entry_hash(1, &"0".repeat(64), 1_700_000_000.5, &object([("k", int(1))]));
        assert_eq!(chain, "c852a460a59cb9729ddac0b09420dcc85cb69828bca82cac4510e9c88fe2b99d");
        let inner = object([("payload", object([("a", int(1))]))]);
        let chain = chain_entry_hash(2, &"ab".repeat(32), 1_700_000_001.0, &inner);
        assert_eq!(chain, "818408f9989cc80cf815cff5a4eceadf2dee56580fdf9fb411568dbdcd409ea0");
    }
}
