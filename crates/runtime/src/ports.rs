//! Ports: few, coarse, named for what the domain does. An adapter is right if it passes the conformance suite.

pub mod advisor;
pub mod clock;
pub mod executor;
pub mod service;
pub mod signer;
pub mod store;
