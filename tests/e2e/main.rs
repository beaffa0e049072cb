//! End to end: the built binary, real sockets, real clients.
#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

mod allow;
