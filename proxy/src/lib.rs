//! The data path: an egress proxy that evaluates a Moat policy for every request.
//!
//! It takes a [`Config`] and a [`PolicySource`], binds its listeners and runs until it is told to
//! stop. It does not know where policies come from, what a command line looks like, or that
//! sandboxes and hooks exist.
#![forbid(unsafe_code)]

mod admin;
mod audit;
mod authorize;
mod client;
mod config;
mod connect;
mod connection;
mod dial;
mod drain;
mod error;
mod forward;
pub mod fuzz;
mod gate;
mod greeting;
mod head;
mod hello;
mod id;
mod interfaces;
mod limit;
mod linger;
mod listener;
mod metrics;
mod own;
mod pool;
mod record;
mod refusal;
mod reload;
mod reply;
mod resolve;
mod scratch;
mod server;
mod socks;
mod source;
mod target;
#[cfg(test)]
mod testing;
mod tunnel;
mod worker;

pub use config::{AuditOnFailure, AuditTo, Config, ListenAddress, Mode, ServerTls, Timeouts};
pub use error::{BindError, RunError, TlsError};
pub use server::{Bound, Server};
pub use source::{LoadError, PolicySource};
