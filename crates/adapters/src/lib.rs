//! Where the runtime meets the world. No business rule lives here.

pub mod system_clock;
