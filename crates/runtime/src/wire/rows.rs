//! Rows as a service shows them: the parts of the name, and what a store keeps.

use super::{PAGE_BYTES, REPLY_BOUNDS, optional, text};
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use std::sync::Arc;
use values::json::{Json, Object};

/// The bytes of a page of rows, cut where it is long enough; whoever wants more goes on behind its last row.
pub fn write_page(rows: &[(Key, Row)]) -> Vec<u8> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    for (key, row) in rows {
        let stored = row.to_stored();
        bytes += stored.len();
        taken.push(row_json(&key.entity, &stored));
        if bytes >= PAGE_BYTES {
            break;
        }
    }
    Json::object([("rows", Json::List(taken))]).to_canonical().into_bytes()
}

/// Reads a page of rows of a kind; `None` if that is none.
pub fn read_page(kind: Kind, tenant: &Arc<str>, bytes: &[u8]) -> Option<Vec<(Key, Row)>> {
    let json = Json::parse_within(bytes, &REPLY_BOUNDS).ok()?;
    let read = |json: &Json| {
        let (entity, row) = row_of(kind, json)?;
        Some((Key { tenant: tenant.clone(), entity }, row))
    };
    json.get("rows")?.as_list()?.iter().map(read).collect()
}

/// The bytes of one row.
pub fn write_row(entity: &Entity, row: &Row) -> Vec<u8> {
    row_json(entity, &row.to_stored()).to_canonical().into_bytes()
}

/// Reads one row of a kind; `None` if that is none.
pub fn read_row(kind: Kind, bytes: &[u8]) -> Option<Row> {
    row_of(kind, &Json::parse_within(bytes, &REPLY_BOUNDS).ok()?).map(|(_, row)| row)
}

fn row_json(entity: &Entity, stored: &str) -> Json {
    let (name, second) = entity.parts();
    let mut members =
        Object::from_iter([("name".to_owned(), Json::text(name)), ("row".to_owned(), Json::parse_own(stored))]);
    members.extend(second.map(|second| ("second".to_owned(), Json::text(second))));
    Json::Object(members)
}

fn row_of(kind: Kind, json: &Json) -> Option<(Entity, Row)> {
    let second = optional(json, "second")?;
    let entity = Entity::from_parts(kind, &text(json, "name")?, second.as_deref())?;
    Some((entity, Row::from_stored(kind, &json.get("row")?.to_canonical())?))
}
