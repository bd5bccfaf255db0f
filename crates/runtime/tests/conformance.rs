//! The store in memory does what every store must do.

use runtime::conformance::{Opened, check};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{Store, StoreFault};
use std::sync::Arc;
use values::time::Instant;

struct Memory(MemoryStore);

impl Opened for Memory {
    fn open(&self, tenant: &str) -> Result<Box<dyn Store>, StoreFault> {
        Ok(Box::new(self.0.tenant_named(tenant)))
    }
}

#[test]
fn the_store_in_memory_conforms() {
    let failures = check(&mut |clock: Arc<ManualClock>| Box::new(Memory(MemoryStore::new(clock))));
    assert_eq!(failures, []);
}

#[test]
fn a_clock_stands_where_it_is_put() {
    use runtime::ports::clock::Clock;
    let clock = ManualClock::at(Instant::from_micros(5));
    clock.set(Instant::from_micros(3));
    assert_eq!(clock.now(), Instant::from_micros(3));
}
