//! What goes wrong before or around the data path: binding and running.
//!
//! What a single request runs into is a [`crate::refusal::Refusal`].

use std::io;

use crate::config::ListenAddress;
use crate::source::LoadError;

/// The proxy cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The policy does not load.
    #[error("the policy does not load\n{0}")]
    Policy(#[from] LoadError),
    /// A listener's address cannot be bound.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// Which.
        address: ListenAddress,
        /// Why.
        source: io::Error,
    },
    /// The admin address cannot be bound.
    #[error("cannot listen on `{address}` for the admin listener")]
    Admin {
        /// Which.
        address: std::net::SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The record file cannot be opened.
    #[error("cannot write the record to `{path}`")]
    Audit {
        /// Which file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A runtime or a resolver cannot be made.
    #[error("cannot set up {what}")]
    Setup {
        /// What was being made.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// The proxy ended in another way than by being told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A thread or a signal handler cannot be made.
    #[error("cannot start {what}")]
    Start {
        /// What was being started.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A worker thread ended by itself.
    #[error("a worker ended unexpectedly")]
    WorkerEnded,
}
