//! End to end: the built binary, real sockets, real clients.
//!
//! Every case runs in a network namespace of its own, see `support/namespace.rs`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that fails panics, and its clients and servers open sockets of their own"
)]

mod admin;
mod allow;
mod audit;
mod cli;
mod clients;
mod completions;
mod dns;
mod drain;
mod framing;
mod headers;
mod hostile;
mod http;
mod interfaces;
mod left;
mod listeners;
mod literals;
mod load;
mod machine;
mod names;
mod own_listeners;
mod patterns;
mod policy_file;
mod rebinding;
mod registries;
mod reload;
mod sni;
mod socks;
mod ssh;
mod support;
mod system_names;
mod target;
mod tunnel;
