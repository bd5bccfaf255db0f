//! Contracts that were written for something else, as text that [`Keeper::contract`](crate::Keeper::contract) takes.

use crate::Error;
use values::json::Json;

pub use contract::import::Imported;

/// A contract of the Decision Intelligence Runtime for Python, as JSON or YAML: flat, nested or stored. What cannot be
/// carried over is refused and named.
///
/// ```
/// let made = writkeeper::imports::from_dir("{agent_id: bot, allowed_policy_types: [HOLD]}").unwrap();
/// assert!(writkeeper::Keeper::contract(&made.text).is_ok());
/// assert!(writkeeper::imports::from_dir("{agent_id: bot}").is_err());
/// ```
pub fn from_dir(text: &str) -> Result<Imported, Error> {
    let imported = contract::import::dir::import(&read(text).map_err(Error::Invalid)?);
    imported.map_err(|problems| Error::Invalid(format!("this cannot be carried over: {}", problems.join("; "))))
}

/// A document in JSON or YAML.
pub fn read(text: &str) -> Result<Json, String> {
    engines::yaml::parse(text).map(|node| node.to_json()).map_err(|found| found.to_string())
}
