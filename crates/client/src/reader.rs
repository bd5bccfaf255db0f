//! Reading rows and entries at a service, a page at a time.

use crate::connection::{Connection, Request};
use kernel::contract::Impact;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use runtime::ports::store::{Place, Reader, StoreFault, StoredRecord};
use runtime::wire::rows;
use runtime::wire::serve::{DUE_ROWS_MAX, ENTRIES_MAX, OWN_NAME, ROWS_MAX};
use runtime::wire::{CALL_BOUNDS, entries};
use std::sync::Arc;
use values::json::Json;
use values::time::Instant;

/// Reads at a service.
pub(crate) struct ServiceReader {
    pub connection: Arc<Connection>,
    pub tenant: Arc<str>,
}

impl Reader for ServiceReader {
    fn get(&mut self, entity: &Entity) -> Result<Option<Row>, StoreFault> {
        let kind = entity.kind();
        if *entity == Entity::DueIntents || kind == Kind::Idempotency {
            return Err(StoreFault::Refused(format!("a server shows no rows of kind `{}`", kind.word())));
        }
        let (name, second) = entity.parts();
        let name = if kind == Kind::Tenant { OWN_NAME } else { name };
        let mut path = format!("/v1/rows/{}/{}", kind.word(), encoded(name));
        if let Some(second) = second {
            path.push_str(&format!("?second={}", encoded(second)));
        }
        match self.connection.fetch(&Request::get(&path))? {
            Some(body) => rows::read_row(kind, &body).map(Some).ok_or_else(|| self.connection.unreadable()),
            None => Ok(None),
        }
    }

    fn scan(&mut self, kind: Kind, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        if kind == Kind::Idempotency {
            return Ok(Vec::new());
        }
        let (mut found, mut behind): (Vec<(Key, Row)>, _) = (Vec::new(), after.map(str::to_owned));
        while found.len() < limit {
            let after = behind.as_deref().map(|name| format!("&after={}", encoded(name)));
            let page = (limit - found.len()).min(ROWS_MAX);
            let path = format!("/v1/rows/{}?limit={page}{}", kind.word(), after.unwrap_or_default());
            let mut page = self.page(kind, &path)?;
            let Some((last, _)) = page.last() else { break };
            behind = Some(last.entity.parts().0.to_owned());
            found.append(&mut page);
        }
        Ok(found)
    }

    fn due(&mut self, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let (limit, due) = (limit.min(DUE_ROWS_MAX), until.micros());
        self.page(kind, &format!("/v1/rows/{}?limit={limit}&due={due}", kind.word()))
    }

    fn open_questions(
        &mut self,
        impact: Impact,
        behind: Place<'_>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        let (mut found, mut behind): (Vec<(Key, Row)>, _) = (Vec::new(), (behind.0, behind.1.to_owned()));
        while found.len() < limit {
            let ((asked, name), page) = (&behind, (limit - found.len()).min(ROWS_MAX));
            let after = if name.is_empty() { String::new() } else { format!("&after={}", encoded(name)) };
            let asked = asked.micros().max(0);
            let path = format!("/v1/rows/escalation?limit={page}&impact={}&asked={asked}{after}", impact.word());
            let mut page = self.page(Kind::Escalation, &path)?;
            let Some((key, Row::Escalation(last))) = page.last() else { break };
            behind = (last.asked_at, key.entity.parts().0.to_owned());
            found.append(&mut page);
        }
        Ok(found)
    }

    fn questions_of(&mut self, agent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let after = after.map(|name| format!("&after={}", encoded(name))).unwrap_or_default();
        let (limit, agent) = (limit.min(ROWS_MAX), encoded(agent));
        self.page(Kind::Escalation, &format!("/v1/rows/escalation?limit={limit}&agent={agent}{after}"))
    }

    fn due_questions_of(&mut self, agent: &str, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let (limit, due, agent) = (limit.min(DUE_ROWS_MAX), until.micros(), encoded(agent));
        self.page(Kind::Escalation, &format!("/v1/rows/escalation?limit={limit}&due={due}&agent={agent}"))
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        let mut found: Vec<StoredRecord> = Vec::new();
        while found.len() < limit {
            let next = found.last().map_or(from, |record| record.index.saturating_add(1));
            let page = (limit - found.len()).min(ENTRIES_MAX);
            let body =
                self.connection.demand(&Request::get(&format!("/v1/ledger/entries?from={next}&limit={page}")))?;
            let mut page = entries::read_page(&body).ok_or_else(|| self.connection.unreadable())?;
            let in_order = page.iter().zip(next..).all(|(record, index)| record.index == index);
            if !in_order {
                return Err(StoreFault::Corrupt(format!("the server left entries out behind {next}")));
            }
            if page.is_empty() {
                break;
            }
            found.append(&mut page);
        }
        Ok(found)
    }

    fn size(&mut self) -> Result<u64, StoreFault> {
        let body = self.connection.demand(&Request::get("/v1/ledger/size"))?;
        let json = Json::parse_within(&body, &CALL_BOUNDS).ok();
        let size = json.and_then(|json| u64::try_from(json.get("size")?.as_number()?.to_i64()?).ok());
        size.ok_or_else(|| self.connection.unreadable())
    }
}

impl ServiceReader {
    fn page(&self, kind: Kind, path: &str) -> Result<Vec<(Key, Row)>, StoreFault> {
        let body = self.connection.demand(&Request::get(path))?;
        rows::read_page(kind, &self.tenant, &body).ok_or_else(|| self.connection.unreadable())
    }
}

/// A name as one part of an address.
pub(crate) fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => text.push(char::from(byte)),
            // A name of dots alone would be taken for a way up.
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}
