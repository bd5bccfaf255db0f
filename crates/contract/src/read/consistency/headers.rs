//! Headers a contract may add to a request: neither those that say where it goes and where it ends, nor the runtime's own.

use super::Found;
use kernel::contract::Run;

/// Whoever could set these could send another request than the one that was judged.
const FRAMING: [&str; 11] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "http2-settings",
];

/// Set by the runtime, besides all that begin with its name.
const OWN: [&str; 2] = ["idempotency-key", "content-type"];
const OWN_PREFIX: &str = "writkeeper-";

/// How a value refers to a secret.
const SECRET: &str = "secret://";

pub(super) fn check(path: &str, run: &Run, found: &mut Found) {
    for (name, value) in &run.headers {
        let path = format!("{path}.headers.{name}");
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) || value.chars().any(char::is_control) {
            found.at(&path, format!("`{name}` is no HTTP header"), None);
        }
        let lower = name.to_ascii_lowercase();
        if FRAMING.contains(&lower.as_str()) {
            let message = format!("`{name}` says where a request goes or ends, which follows from `http`");
            found.at(&path, message, Some("remove it; another host is written in the address of `http`"));
        } else if OWN.contains(&lower.as_str()) || lower.starts_with(OWN_PREFIX) {
            let message = format!("the runtime sets `{name}` itself");
            found.at(&path, message, Some("remove it, or use a header with another name"));
        }
        if value.contains(['{', '}']) && !value.starts_with(SECRET) {
            let message = format!("`{value}` would be sent as it is: no param is put into headers");
            found.at(&path, message, Some("put the param into the address of `http`; the body has every param"));
        }
    }
}
