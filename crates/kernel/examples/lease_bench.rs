//! How long one decision about a lease takes with many leases in the book: `cargo run --release --example lease_bench`.
#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a measurement needs a clock and prints")]

use kernel::lease::book::LeaseBook;
use kernel::lease::region::Region;
use kernel::lease::{Mode, Party, Request};
use std::error::Error;
use std::hint::black_box;
use values::time::{Duration, Instant};

const LEASES: usize = 1_000;
const ROUNDS: u32 = 10_000;
const NOW: Instant = Instant::PURE_DEFAULT;

fn main() -> Result<(), Box<dyn Error>> {
    let others = filled(Mode::Exclusive, |number| format!("holder-{}", number % 50))?;
    let sharers = filled(Mode::Shared, |number| format!("holder-{}", number % 50))?;
    let own = filled(Mode::Exclusive, |_| "me".to_owned())?;
    let late = NOW.plus(Duration::from_secs(7_200));
    println!("{LEASES} leases, median and 99th percentile of {ROUNDS} decisions");
    measure("a free file", &others, Mode::Exclusive, "crates/new/src/main.rs", NOW)?;
    measure("a file that is held", &others, Mode::Exclusive, "crates/c7/src/deep/er/f507.rs", NOW)?;
    measure("the whole tree, held", &others, Mode::Exclusive, ".", NOW)?;
    measure("the whole tree, shared beside sharers", &sharers, Mode::Shared, ".", NOW)?;
    measure("the whole tree, all of it mine", &own, Mode::Exclusive, ".", NOW)?;
    measure("the whole tree, all of it expired", &others, Mode::Exclusive, ".", late)?;
    Ok(())
}

/// A tree of a few crates, one lease for each file.
fn filled(mode: Mode, holder: impl Fn(usize) -> String) -> Result<LeaseBook, Box<dyn Error>> {
    let mut book = LeaseBook::default();
    for number in 0..LEASES {
        let path = format!("crates/c{}/src/deep/er/f{number}.rs", number % 20);
        book.acquire(&request(&holder(number), mode, &path)?, NOW);
    }
    Ok(book)
}

fn request(holder: &str, mode: Mode, path: &str) -> Result<Request, Box<dyn Error>> {
    let region = Region::path("/home/user/project", path)?;
    Ok(Request::new(Party::parse(holder)?, mode, [region], Duration::from_secs(3_600))?)
}

fn measure(what: &str, book: &LeaseBook, mode: Mode, path: &str, at: Instant) -> Result<(), Box<dyn Error>> {
    let request = request("me", mode, path)?;
    let mut nanos: Vec<u128> = (0..ROUNDS)
        .map(|_| {
            let start = std::time::Instant::now();
            black_box(black_box(book).decide(black_box(&request), at));
            start.elapsed().as_nanos()
        })
        .collect();
    nanos.sort_unstable();
    let micros = |share: usize| nanos.get(nanos.len() * share / 100).map_or(0.0, |nanos| *nanos as f64 / 1_000.0);
    println!("{:>8.2} µs {:>8.2} µs  {what}", micros(50), micros(99));
    Ok(())
}
