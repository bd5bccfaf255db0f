//! The values everything else is made of. They know nothing of decisions, ledgers or stores.
//!
//! | to | use |
//! |---|---|
//! | read untrusted bytes, write canonical ones | [`json`] |
//! | count money | [`decimal`] |
//! | say how many | [`count`] |
//! | say when, and for how long | [`time`] |
//! | name things, and digest them | [`ids`] |
//! | split a record into what is kept for ever and what may be erased | [`sealed`] |
//! | bring a known fault back in a test | [`bugs`] |

pub mod bugs;
pub mod count;
pub mod decimal;
pub mod ids;
pub mod json;
pub mod sealed;
pub mod time;
