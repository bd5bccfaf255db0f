//! Reference pages that are written from the code, so that they cannot disagree with it.

mod contract;
mod drift;
mod picture;
mod reasons;
mod shell;

use anyhow::Result;
use serde_json::json;

/// A page under `docs/reference`.
struct Page {
    /// Its path below that folder.
    file: String,
    /// Its whole text.
    text: String,
}

/// Every generator. To add one: write a file with a function that yields its pages, and a line here.
const GENERATORS: &[fn() -> Result<Vec<Page>>] =
    &[reasons::pages, contract::pages, shell::pages, picture::pages, drift::pages];

/// Prints every page as one line of JSON, `{"file": …, "text": …}`.
pub fn print() -> Result<bool> {
    for generator in GENERATORS {
        for Page { file, text } in generator()? {
            println!("{}", json!({ "file": file, "text": text }));
        }
    }
    Ok(true)
}
