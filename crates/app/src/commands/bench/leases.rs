//! What a decision about a lease costs with a thousand of them in the book.

use super::each;
use anyhow::anyhow;
use kernel::lease::book::LeaseBook;
use kernel::lease::region::Region;
use kernel::lease::{Mode, Party, Request};
use serde_json::{Value, json};
use std::hint::black_box;
use values::time::{Duration, Instant};

/// Leases that are live while one more is asked for.
const LIVE: usize = 1_000;

/// Microseconds a decision; none of them changes the book.
pub fn figures(slice: std::time::Duration) -> anyhow::Result<Value> {
    let others = filled(|number| format!("holder-{}", number % 50))?;
    let own = filled(|_| "me".to_owned())?;
    let decide = |book: &LeaseBook, path: &str| -> anyhow::Result<f64> {
        let request = request("me", path)?;
        Ok(each(slice, || black_box(book).decide(black_box(&request), Instant::PURE_DEFAULT)))
    };
    Ok(json!({
        "live": LIVE,
        "free_us": decide(&others, "/ws/crates/new/src/main.rs")?,
        "held_us": decide(&others, "/ws/crates/c7/src/deep/er/f507.rs")?,
        "whole_tree_us": decide(&others, "/ws")?,
        "whole_tree_all_own_us": decide(&own, "/ws")?,
    }))
}

fn filled(holder: impl Fn(usize) -> String) -> anyhow::Result<LeaseBook> {
    let mut book = LeaseBook::default();
    for number in 0..LIVE {
        let path = format!("/ws/crates/c{}/src/deep/er/f{number}.rs", number % 20);
        book.acquire(&request(&holder(number), &path)?, Instant::PURE_DEFAULT);
    }
    Ok(book)
}

fn request(holder: &str, path: &str) -> anyhow::Result<Request> {
    let party = Party::parse(holder).map_err(|problem| anyhow!("{problem}"))?;
    let region = Region::from_text(path)?;
    Ok(Request::new(party, Mode::Exclusive, [region], Duration::from_secs(3_600))?)
}
