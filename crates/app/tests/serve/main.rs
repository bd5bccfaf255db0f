//! `writkeeper serve` as others meet it: the real binary, real sockets, keys and bytes.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

mod authority;
mod deciding;
mod demo;
mod ending;
mod events;
mod exact;
mod guide;
mod handing;
mod hostile;
mod http;
mod keys;
mod lifting;
mod limits;
mod own_flow;
mod own_things;
mod performing;
mod reading;
mod secrets;
mod server;
mod snoozing;
mod sockets;
mod tokens;
mod waiting;
