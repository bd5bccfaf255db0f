//! The book of leases as a row of state: what a store keeps and a command loads.

use super::book::LeaseBook;
use super::fence::Fence;
use super::region::Region;
use super::{Lease, Mode, Party};
use crate::stored::{instant_json, instant_of, text_of, texts_of};
use std::collections::BTreeSet;
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

/// Where state keeps the leases. Nobody writes there but leasing itself.
pub const LEASES: &str = "leases/";

/// The one row that holds them: who overlaps whom is a question about all of them.
pub const BOOK: &str = "leases/book";

/// Longest row: it is read and written as a whole with every change.
pub const BOOK_BYTES_MAX: usize = 1024 * 1024;

impl LeaseBook {
    /// The book as a row holds it. Numbers of leases are texts: a JSON number is not exact beyond 2^53.
    pub fn to_json(&self) -> Json {
        let lease = |lease: &Lease| {
            Json::object([
                ("fence", Json::text(lease.fence.to_string())),
                ("holder", Json::text(lease.holder.as_str())),
                ("mode", Json::text(lease.mode.word())),
                ("regions", Json::texts(lease.regions.iter().map(Region::to_text))),
                ("ttl_us", Json::Number(Decimal::from(lease.ttl.micros()))),
                ("acquired", instant_json(lease.acquired_at)),
                ("expires", instant_json(lease.expires_at)),
            ])
        };
        Json::object([
            ("last", Json::text(self.fence_last().to_string())),
            ("leases", Json::List(self.leases().map(lease).collect())),
        ])
    }

    /// Reads back what [`LeaseBook::to_json`] wrote; `None` is damage.
    pub fn from_json(json: &Json) -> Option<LeaseBook> {
        let leases: Option<Vec<Lease>> = json.get("leases")?.as_list()?.iter().map(lease).collect();
        LeaseBook::restore(leases?, fence(json, "last")?).ok()
    }
}

fn fence(json: &Json, key: &str) -> Option<Fence> {
    json.get(key)?.as_text()?.parse().ok().map(Fence::from_number)
}

fn lease(json: &Json) -> Option<Lease> {
    let regions: Option<BTreeSet<Region>> = texts_of(json, "regions")?.iter().map(|text| Region::kept(text)).collect();
    Some(Lease {
        fence: fence(json, "fence")?,
        holder: Party::parse(&text_of(json, "holder")?).ok()?,
        mode: Mode::from_word(json.get("mode")?.as_text()?)?,
        regions: regions?,
        ttl: Duration::from_micros(json.get("ttl_us")?.as_number()?.to_i64()?),
        acquired_at: instant_of(json, "acquired")?,
        expires_at: instant_of(json, "expires")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Request;
    use values::time::Instant;

    #[test]
    fn a_book_is_read_back_as_it_was() {
        let mut book = LeaseBook::default();
        // The small form of this letter holds a combining point, which nobody may type.
        for (number, path) in ["/ws/src", "/ws/\u{130}", "/", "thing:db:orders"].into_iter().enumerate() {
            let holder = Party::parse(&format!("bot:{number}")).unwrap();
            let mode = if number == 1 { Mode::Exclusive } else { Mode::Shared };
            let region = Region::from_text(path).unwrap();
            let request = Request::new(holder, mode, [region], Duration::from_secs(60)).unwrap();
            book.acquire(&request, Instant::from_micros(7));
        }
        assert_eq!(LeaseBook::from_json(&book.to_json()), Some(book.clone()));
        assert_eq!(book.leases().len(), 3, "the whole tree is not shared with who holds a part of it alone");
        assert_eq!(LeaseBook::from_json(&Json::object([("last", Json::text("1"))])), None, "damage");
    }
}
