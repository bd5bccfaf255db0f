//! Keys as bytes: tenant, zero, name, and a zero and the second part of the name where there is one. A store that tells
//! tenants apart by other means keeps the bytes of the name alone.
//!
//! Raw and never hashed, so that time-ordered keys stay in order and a page of the index takes many of them. No part
//! may contain a zero, which the doors refuse anyway.

use kernel::stored::Kind;
use kernel::world::{Entity, Key};
use runtime::ports::store::StoreFault;
use std::sync::Arc;
use uuid::Uuid;

/// An idempotency key goes on with the 16 bytes of a UUID in its usual text, then its agent. UUIDs of all agents stand in
/// order of time together, so that new ones meet in few pages.
const MARK_UUID: u8 = 1;
/// An idempotency key goes on with its agent, then any text.
const MARK_TEXT: u8 = 2;

/// The bytes of a key.
pub(crate) fn encode(key: &Key) -> Result<Vec<u8>, StoreFault> {
    let mut bytes = Vec::with_capacity(64);
    encode_into(key, &mut bytes)?;
    Ok(bytes)
}

/// Appends the bytes of a key.
pub(crate) fn encode_into(key: &Key, bytes: &mut Vec<u8>) -> Result<(), StoreFault> {
    push_tenant(&key.tenant, bytes)?;
    encode_name_into(&key.entity, bytes)
}

/// The bytes of an entity's name.
pub(crate) fn encode_name(entity: &Entity) -> Result<Vec<u8>, StoreFault> {
    let mut bytes = Vec::with_capacity(64);
    encode_name_into(entity, &mut bytes)?;
    Ok(bytes)
}

/// Appends the bytes of an entity's name.
pub(crate) fn encode_name_into(entity: &Entity, bytes: &mut Vec<u8>) -> Result<(), StoreFault> {
    let (first, second) = entity.parts();
    if entity.kind() == Kind::Idempotency {
        let second = second.unwrap_or_default();
        match usual_uuid(second) {
            Some(uuid) => {
                bytes.push(MARK_UUID);
                bytes.extend_from_slice(uuid.as_bytes());
                push_text(first, bytes)?;
            }
            None => {
                bytes.push(MARK_TEXT);
                push_text(first, bytes)?;
                bytes.push(0);
                push_text(second, bytes)?;
            }
        }
        return Ok(());
    }
    push_text(first, bytes)?;
    if let Some(second) = second {
        bytes.push(0);
        push_text(second, bytes)?;
    }
    Ok(())
}

/// The key of bytes.
pub(crate) fn decode(kind: Kind, bytes: &[u8]) -> Option<Key> {
    let (tenant, rest) = split_at_zero(bytes)?;
    let tenant: Arc<str> = Arc::from(std::str::from_utf8(tenant).ok()?);
    Some(Key { tenant, entity: decode_name(kind, rest)? })
}

/// The entity of the bytes of a name.
pub(crate) fn decode_name(kind: Kind, bytes: &[u8]) -> Option<Entity> {
    if kind == Kind::Idempotency {
        let (agent, name) = decode_marked(bytes)?;
        return Entity::from_parts(kind, agent, Some(&name));
    }
    let (first, second) = match split_at_zero(bytes) {
        None => (bytes, None),
        Some((first, second)) => (first, Some(std::str::from_utf8(second).ok()?)),
    };
    Entity::from_parts(kind, std::str::from_utf8(first).ok()?, second)
}

/// Where the keys of a tenant start whose first part comes after a name, and where the tenant's keys end.
pub(crate) fn range(tenant: &str, after: Option<&str>) -> Result<(Vec<u8>, Vec<u8>), StoreFault> {
    let mut from = Vec::with_capacity(64);
    push_tenant(tenant, &mut from)?;
    push_after(after, &mut from)?;
    let mut to = tenant.as_bytes().to_vec();
    to.push(1);
    Ok((from, to))
}

/// Where names start whose first part comes after a name.
pub(crate) fn name_after(after: Option<&str>) -> Result<Vec<u8>, StoreFault> {
    let mut from = Vec::with_capacity(64);
    push_after(after, &mut from)?;
    Ok(from)
}

fn push_after(after: Option<&str>, from: &mut Vec<u8>) -> Result<(), StoreFault> {
    let Some(after) = after else { return Ok(()) };
    push_text(after, from)?;
    // Below every name that continues this one, above every second part.
    from.push(1);
    Ok(())
}

fn push_tenant(tenant: &str, bytes: &mut Vec<u8>) -> Result<(), StoreFault> {
    push_text(tenant, bytes)?;
    bytes.push(0);
    Ok(())
}

fn push_text(text: &str, bytes: &mut Vec<u8>) -> Result<(), StoreFault> {
    if text.as_bytes().contains(&0) {
        return Err(StoreFault::Refused("a name contains the character U+0000".to_owned()));
    }
    bytes.extend_from_slice(text.as_bytes());
    Ok(())
}

/// A UUID, if the text is exactly how it would be written back.
fn usual_uuid(text: &str) -> Option<Uuid> {
    let uuid = (text.len() == 36).then(|| Uuid::try_parse(text).ok())??;
    let mut buffer = Uuid::encode_buffer();
    (*uuid.hyphenated().encode_lower(&mut buffer) == *text).then_some(uuid)
}

/// The agent and the name of an idempotency key.
fn decode_marked(bytes: &[u8]) -> Option<(&str, String)> {
    let (mark, rest) = bytes.split_first()?;
    match *mark {
        MARK_UUID => {
            let (uuid, agent) = rest.split_at_checked(16)?;
            Some((std::str::from_utf8(agent).ok()?, Uuid::from_slice(uuid).ok()?.hyphenated().to_string()))
        }
        MARK_TEXT => {
            let (agent, name) = split_at_zero(rest)?;
            Some((std::str::from_utf8(agent).ok()?, std::str::from_utf8(name).ok()?.to_owned()))
        }
        _ => None,
    }
}

fn split_at_zero(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|byte| *byte == 0)?;
    let (before, rest) = bytes.split_at_checked(place)?;
    Some((before, rest.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tenant: &str, entity: Entity) -> Key {
        Key { tenant: Arc::from(tenant), entity }
    }

    fn idempotency(agent: &str, name: &str) -> Entity {
        Entity::Idempotency(agent.to_owned(), name.to_owned())
    }

    #[test]
    fn every_key_comes_back_and_no_two_share_bytes() {
        let uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
        // Bytes of a UUID may contain a zero and look like a separator.
        let with_zeros = "00000000-0000-7000-8000-000000000000";
        let keys = [
            key("t", Entity::Tenant),
            key("t", idempotency("a", uuid)),
            key("t", idempotency("a", &uuid.to_uppercase())),
            key("t", idempotency("a", with_zeros)),
            key("t", idempotency("a", &uuid.replace('-', ""))),
            key("t", idempotency("a", "\u{1}0123456789abcdef")),
            key("t", idempotency("a", "")),
            key("t", Entity::Budget("a".to_owned(), uuid.to_owned())),
            key("t", Entity::Flow("é".to_owned())),
            key("ta", Entity::Flow(String::new())),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for key in keys {
            let bytes = encode(&key).unwrap();
            assert_eq!(decode(key.entity.kind(), &bytes).as_ref(), Some(&key));
            assert!(seen.insert((key.entity.kind(), bytes)), "{key:?}");
        }
    }

    #[test]
    fn a_uuid_takes_sixteen_bytes_and_keeps_its_order_whoever_chose_it() {
        let early = encode(&key("t", idempotency("b", "01890a5d-ac96-774b-bcce-b302099a8057"))).unwrap();
        let late = encode(&key("t", idempotency("a", "01890a5e-0000-7000-8000-000000000000"))).unwrap();
        assert_eq!(early.len(), "t\0".len() + 1 + 16 + "b".len());
        assert!(early < late);
    }

    #[test]
    fn a_zero_in_a_name_is_refused() {
        assert!(encode(&key("t", Entity::Flow("a\0b".to_owned()))).is_err());
        assert!(encode(&key("t\0", Entity::Tenant)).is_err());
    }

    #[test]
    fn the_range_after_a_name_leaves_out_that_name_and_other_tenants() {
        let bytes = |tenant: &str, entity: Entity| encode(&key(tenant, entity)).unwrap();
        let (from, to) = range("t", Some("a")).unwrap();
        let inside = |bytes: &[u8]| from.as_slice() <= bytes && bytes < to.as_slice();
        assert!(!inside(&bytes("t", Entity::Flow("a".to_owned()))));
        assert!(!inside(&bytes("t", Entity::Budget("a".to_owned(), "z".to_owned()))));
        assert!(inside(&bytes("t", Entity::Flow("a\u{1}".to_owned()))));
        assert!(inside(&bytes("t", Entity::Flow("b".to_owned()))));
        assert!(!inside(&bytes("ta", Entity::Flow("b".to_owned()))));
        assert!(!inside(&bytes("t\u{1}", Entity::Flow("b".to_owned()))));
    }
}
