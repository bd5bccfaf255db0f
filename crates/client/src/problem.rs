//! What a response that is no reply means: the fault that the same store, open here, would have had.

use runtime::ports::store::StoreFault;
use runtime::wire::CALL_BOUNDS;
use values::json::Json;

/// Longest part of a foreign response that is repeated.
const SHOWN_CHARS_MAX: usize = 500;

/// The fault of a response by its status and its body, which is a problem of RFC 9457 where the service wrote it.
pub(crate) fn fault(status: u16, body: &[u8]) -> StoreFault {
    let json = Json::parse_within(body, &CALL_BOUNDS).ok();
    let said = |key: &str| json.as_ref().and_then(|json| json.get(key)).and_then(Json::as_text);
    let detail = said("detail").or(said("title")).map(cut);
    let detail = detail.unwrap_or_else(|| format!("it answered with HTTP status {status}"));
    match (status, said("code")) {
        (_, Some("STORE_DAMAGED")) => StoreFault::Corrupt(detail),
        (408 | 429 | 502 | 503 | 504, _) => StoreFault::Unavailable(detail),
        (401, _) => StoreFault::Refused(format!("the server does not accept this key: {detail}")),
        (403, _) => StoreFault::Refused(format!("the server does not do this for this key: {detail}")),
        (500.., _) => StoreFault::Unavailable(detail),
        (_, _) => StoreFault::Refused(detail),
    }
}

/// A text of the other side as a sentence may repeat it.
fn cut(text: &str) -> String {
    kernel::finding::visible(&text.chars().take(SHOWN_CHARS_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_means_the_fault_that_the_store_would_have_had() {
        let check = |status: u16, body: &str, expected: StoreFault| {
            assert_eq!(fault(status, body.as_bytes()), expected, "{status} {body}");
        };
        let text = str::to_owned;
        check(503, r#"{"code":"UNAVAILABLE","detail":"busy"}"#, StoreFault::Unavailable(text("busy")));
        check(500, r#"{"code":"STORE_DAMAGED","detail":"row"}"#, StoreFault::Corrupt(text("row")));
        check(429, r#"{"detail":"too fast"}"#, StoreFault::Unavailable(text("too fast")));
        check(500, "<html>", StoreFault::Unavailable(text("it answered with HTTP status 500")));
        check(400, r#"{"detail":"`act` is missing"}"#, StoreFault::Refused(text("`act` is missing")));
        let key = "the server does not accept this key: it is revoked";
        check(401, r#"{"detail":"it is revoked"}"#, StoreFault::Refused(text(key)));
        let role = "the server does not do this for this key: role";
        check(403, r#"{"title":"role"}"#, StoreFault::Refused(text(role)));
    }
}
