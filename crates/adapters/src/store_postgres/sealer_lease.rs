//! Who signs for a tenant: a row under the lock of the head, with an epoch that only grows.

use super::fault::{commit_fault, fault};
use super::load::PostgresCache;
use super::open_batch::OpenBatch;
use super::save::integer;
use super::value::{Found, Value};
use super::{PostgresStore, begun};
use runtime::crash::around;
use runtime::ports::store::{Claimed, SealerLease, StoreFault};
use std::time::Duration;

/// A claim of the same owner that is not over keeps its epoch; every other one gets the next.
const CLAIM: &str = "INSERT INTO writkeeper.sealer AS s (number, owner, epoch, until) \
                     VALUES ($1::int4, $2::text, 1, clock_timestamp() + $3::int8 * interval '1 millisecond') \
                     ON CONFLICT (number) DO UPDATE SET owner = EXCLUDED.owner, until = EXCLUDED.until, \
                     epoch = CASE WHEN s.owner = EXCLUDED.owner AND s.until > clock_timestamp() THEN s.epoch \
                     ELSE s.epoch + 1 END \
                     WHERE s.owner = EXCLUDED.owner OR s.until <= clock_timestamp() OR $4::int4 = 1 RETURNING epoch";

const LEFT: &str = "SELECT greatest(0, ceil(extract(epoch FROM until - clock_timestamp()) * 1000))::int8, \
                    coalesce(entries, 0) FROM writkeeper.sealer WHERE number = $1::int4";

const KEEP: &str = "UPDATE writkeeper.sealer SET entries = $3::int8, note = $4::text WHERE number = $1::int4 AND \
                    epoch = $2::int8 AND coalesce(entries, 0) <= $3::int8 RETURNING epoch";

const RELEASE: &str = "UPDATE writkeeper.sealer SET until = clock_timestamp() WHERE number = $1::int4 AND \
                       epoch = $2::int8 RETURNING epoch";

impl SealerLease for PostgresStore {
    fn claim(&mut self, owner: &str, length: Duration, by_force: bool) -> Result<Claimed, StoreFault> {
        let mut cache = PostgresCache::default();
        let mut open = self.locked(&mut cache)?;
        let number = open.head.number;
        let millis = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        let values = [Value::Int4(number), Value::Text(owner), Value::Int8(millis), Value::Int4(i32::from(by_force))];
        if let Some(epoch) = integer_of(&open.query(CLAIM, &values)?)? {
            open.end()?;
            return Ok(Claimed::Own(epoch));
        }
        let found = open.query(LEFT, &[Value::Int4(number)])?;
        let left = Duration::from_millis(integer_of(&found)?.unwrap_or_default());
        let signed = found.first().map(|found| found.integer(1)).transpose().map_err(fault)?.unwrap_or_default();
        Ok(Claimed::Others { left, signed: u64::try_from(signed).unwrap_or_default() })
    }

    fn keep(&mut self, epoch: u64, entries: u64, note: &str) -> Result<bool, StoreFault> {
        let mut cache = PostgresCache::default();
        let mut open = self.locked(&mut cache)?;
        let (epoch, entries) = (Value::Int8(integer(epoch)?), Value::Int8(integer(entries)?));
        let values = [Value::Int4(open.head.number), epoch, entries, Value::Text(note)];
        let is_kept = integer_of(&open.query(KEEP, &values)?)?.is_some();
        if is_kept {
            open.end()?;
        }
        Ok(is_kept)
    }

    fn release(&mut self, epoch: u64) -> Result<(), StoreFault> {
        let mut cache = PostgresCache::default();
        let mut open = self.locked(&mut cache)?;
        open.query(RELEASE, &[Value::Int4(open.head.number), Value::Int8(integer(epoch)?)])?;
        open.end()
    }
}

impl PostgresStore {
    /// A transaction under the lock of the head that decides nothing.
    fn locked<'a>(&'a mut self, cache: &mut PostgresCache) -> Result<OpenBatch<'a>, StoreFault> {
        let place = (&self.address, &self.tenant, self.line);
        begun(&mut self.connection, place, (None, Vec::new()), cache).map(|(open, _)| open)
    }
}

impl OpenBatch<'_> {
    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Found>, StoreFault> {
        self.connection.query(sql, values).map_err(fault)
    }

    fn end(mut self) -> Result<(), StoreFault> {
        self.is_over = true;
        around("store.transact", || self.connection.run("COMMIT")).map_err(commit_fault)
    }
}

fn integer_of(found: &[Found]) -> Result<Option<u64>, StoreFault> {
    let Some(found) = found.first() else { return Ok(None) };
    let number = found.integer(0).map_err(fault)?;
    u64::try_from(number).map(Some).map_err(|_| StoreFault::Corrupt("the row of the sealer cannot be read".to_owned()))
}
