//! `writkeeper serve` as others meet it: the real binary, real sockets, keys and bytes.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

mod authority;
mod deciding;
mod ending;
mod events;
mod guide;
mod hostile;
mod http;
mod own_flow;
mod secrets;
mod server;
