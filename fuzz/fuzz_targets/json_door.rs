//! Any bytes at the strict JSON door: no panic, and no disagreement with a second reader.
#![no_main]

#[path = "../../crates/values/tests/oracle/door.rs"]
mod door;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(objection) = door::objection(bytes) {
        panic!("{objection}");
    }
});
