//! Leases.

use super::{closed, list, span, text, truth};
use serde_json::{Value, json};

pub fn held() -> Value {
    closed([("leases", list(json!({ "type": "object", "minProperties": 1 })))])
}

pub fn wanted() -> Value {
    let regions = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
    closed([("holder?", text()), ("regions", regions), ("shared?", truth()), ("ttl?", span())])
}

pub fn holder() -> Value {
    closed([("holder?", text())])
}

pub fn heir() -> Value {
    closed([("to", text()), ("because", text())])
}
