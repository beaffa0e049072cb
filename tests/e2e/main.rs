//! End to end: the built binary, real sockets, real clients.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that fails panics, and its clients open sockets of their own"
)]

mod allow;
