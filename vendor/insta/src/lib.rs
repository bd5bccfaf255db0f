//! Nothing: only tests of a dependency would use what belongs here, and those are never built.
