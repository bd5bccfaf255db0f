//! Leaves as a store keeps them: what every leaf says is left out, and its digest stands in bytes.

use rusqlite::types::ValueRef;
use values::ids::Digest;

/// Names this form of a leaf. What it leaves out never changes: another form gets a number of its own.
const FIRST_FORM: u8 = 1;

/// What stands before the time, the digest, the kind, the tenant, and at the end.
const BEFORE_AT: &str = r#"{"at":""#;
const BEFORE_BODY: &str = r#"","body":""#;
const BEFORE_KIND: &str = r#"","kind":""#;
const BEFORE_TENANT: &str = r#"","semantics":1,"tenant":""#;
const END: &str = r#"","version":1}"#;

/// Digits of a digest.
const DIGITS: usize = 64;

/// Appends a leaf in fewer bytes; appends nothing, and says so, if it is none that every record of this version has.
pub(super) fn pack_onto(leaf: &str, bytes: &mut Vec<u8>) -> bool {
    let Some((digest, parts)) = parted(leaf) else { return false };
    // Canonical text has no zero, and what has one is kept as it is.
    if parts.iter().any(|part| part.as_bytes().contains(&0)) {
        return false;
    }
    bytes.push(FIRST_FORM);
    bytes.extend_from_slice(digest.bytes());
    for (place, part) in parts.into_iter().enumerate() {
        if place > 0 {
            bytes.push(0);
        }
        bytes.extend_from_slice(part.as_bytes());
    }
    true
}

/// The digest, and what else tells leaves apart: time, kind, tenant.
fn parted(leaf: &str) -> Option<(Digest, [&str; 3])> {
    let (at, rest) = leaf.strip_prefix(BEFORE_AT)?.split_once(BEFORE_BODY)?;
    let (digest, rest) = rest.split_at_checked(DIGITS)?;
    let (kind, rest) = rest.strip_prefix(BEFORE_KIND)?.split_once(BEFORE_TENANT)?;
    let tenant = rest.strip_suffix(END)?;
    Some((Digest::parse(digest)?, [at, kind, tenant]))
}

/// The leaf that was packed; `None` if this is none.
pub(super) fn unpack(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(text) => std::str::from_utf8(text).ok().map(str::to_owned),
        ValueRef::Blob(bytes) => {
            let (_, rest) = bytes.split_first().filter(|(form, _)| **form == FIRST_FORM)?;
            let (digest, rest) = rest.split_first_chunk::<32>()?;
            let mut parts = std::str::from_utf8(rest).ok()?.split('\0');
            let (at, kind, tenant) = (parts.next()?, parts.next()?, parts.next()?);
            let digest = Digest::from_bytes(*digest);
            let whole = format!("{BEFORE_AT}{at}{BEFORE_BODY}{digest}{BEFORE_KIND}{kind}{BEFORE_TENANT}{tenant}{END}");
            parts.next().is_none().then_some(whole)
        }
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "3ca7b1bde584978f5054fac8d1785a228228b7024ce6e002cb1c22b8ed9144cd";

    fn leaf(at: &str, digest: &str, kind: &str, tenant: &str) -> String {
        format!(r#"{{"at":"{at}","body":"{digest}","kind":"{kind}","semantics":1,"tenant":"{tenant}","version":1}}"#)
    }

    fn pack(leaf: &str) -> Option<Vec<u8>> {
        let mut bytes = b"before".to_vec();
        let is_packed = pack_onto(leaf, &mut bytes);
        let packed = bytes.split_off("before".len());
        assert!(is_packed || packed.is_empty());
        is_packed.then_some(packed)
    }

    #[test]
    fn every_leaf_comes_back_and_most_are_short() {
        let at = "2026-11-16T07:01:18.11652Z";
        let usual = leaf(at, DIGEST, "decision", "default");
        let packed = pack(&usual).unwrap();
        assert!(packed.len() * 2 < usual.len(), "{} of {}", packed.len(), usual.len());
        for leaf in [
            usual.clone(),
            leaf(at, DIGEST, "human_answer", r#"a\"b\u0001é"#),
            leaf(at, DIGEST, r#"x","semantics":1,"tenant":"y"#, "z"),
            leaf("", DIGEST, "", ""),
            leaf(at, &DIGEST.to_uppercase(), "decision", "default"),
            leaf(at, "short", "decision", "default"),
            leaf(at, DIGEST, "deci\0sion", "default"),
            usual.replace("\"semantics\":1", "\"semantics\":2"),
            "leaf 7".to_owned(),
            String::new(),
        ] {
            let packed = pack(&leaf);
            let value = packed.as_deref().map_or(ValueRef::Text(leaf.as_bytes()), ValueRef::Blob);
            assert_eq!(unpack(value).as_deref(), Some(leaf.as_str()));
        }
    }

    #[test]
    fn what_was_written_once_is_read_for_ever() {
        let mut bytes = vec![1_u8; 33];
        bytes.extend_from_slice(b"2026-01-01T00:00:00Z\0decision\0default");
        let expected = leaf("2026-01-01T00:00:00Z", &"01".repeat(32), "decision", "default");
        assert_eq!(unpack(ValueRef::Blob(&bytes)), Some(expected));
    }

    #[test]
    fn damage_is_no_leaf() {
        let bytes = pack(&leaf("2026-01-01T00:00:00Z", DIGEST, "decision", "default")).unwrap();
        let lost = bytes.iter().rposition(|byte| *byte == 0).unwrap();
        for damaged in [&bytes[..20], &bytes[..lost], &[&bytes[..], b"\0"].concat(), &[&[2], &bytes[1..]].concat(), b""]
        {
            assert_eq!(unpack(ValueRef::Blob(damaged)), None);
        }
        assert_eq!(unpack(ValueRef::Null), None);
    }
}
