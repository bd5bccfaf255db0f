//! A server in place of a store: reached with a key, and it says who that is.

use super::OpenOptions;
use crate::error::Error;
use client::{Address, Client, Settings};
use runtime::ports::service::Service;
use runtime::ports::store::StoreFault;
use std::sync::Arc;

/// Reaches a server.
pub(crate) fn connect(location: &str, options: &OpenOptions) -> Result<Arc<dyn Service>, Error> {
    let settings =
        Settings { key: options.key.clone(), authorities: options.authorities.clone(), ..Settings::default() };
    let connected = location.parse::<Address>().and_then(|address| Client::connect(&address, &settings));
    Ok(Arc::new(connected.map_err(|fault| unreached(location, &fault))?))
}

/// A server that cannot be used.
pub(crate) fn unreached(location: &str, fault: &StoreFault) -> Error {
    match fault {
        StoreFault::Refused(problem) => Error::Invalid(format!("cannot use the server `{location}`: {problem}")),
        StoreFault::Corrupt(problem) => Error::Damaged(format!("cannot use the server `{location}`: {problem}")),
        StoreFault::Unavailable(problem) | StoreFault::Conflict(problem) | StoreFault::Ambiguous(problem) => {
            // The problem names the server as well, because it may come up in the middle of something.
            let own = format!("the server at {}: ", location.trim_end_matches('/'));
            let problem = problem.strip_prefix(&own).unwrap_or(problem);
            Error::Unavailable(format!("cannot reach the server `{location}`: {problem}"))
        }
    }
}
