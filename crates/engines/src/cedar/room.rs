//! Room to think: Cedar looks how much of the stack is left before it goes deeper, and gives up where it finds too little.
//!
//! That happens to threads with a small stack, and to the first thread of programs with musl, which tells of its stack
//! only what is used so far. Both would make a decision depend on who asked.

/// What must be left, or a stack of its own is taken.
const NEEDED: usize = 512 << 10;

/// As much as threads get elsewhere.
const STACK: usize = 2 << 20;

/// Runs something where there is room for it.
pub(super) fn with_room<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(NEEDED, STACK, run)
}
