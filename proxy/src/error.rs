//! What goes wrong before or around the data path: binding and running.
//!
//! What a single request runs into is a [`crate::refusal::Refusal`].

use std::io;
use std::path::PathBuf;

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
    /// The certificate of the TLS listeners cannot be used.
    #[error("cannot serve TLS")]
    Tls(#[from] TlsError),
    /// A `tls:` listener without a certificate.
    #[error("cannot serve TLS on `{address}` without a certificate and its key")]
    NoCertificate {
        /// Which.
        address: ListenAddress,
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

impl BindError {
    /// What a person can do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Listen { source, .. } | Self::Admin { source, .. } => help_to_listen(source),
            Self::NoCertificate { .. } => Some("name them with `--tls-cert` and `--tls-key`"),
            Self::Audit { .. } => {
                Some("choose another file with `--audit FILE`, or standard output with `--audit -`")
            }
            Self::Policy(_) | Self::Tls(_) | Self::Setup { .. } => None,
        }
    }
}

fn help_to_listen(error: &io::Error) -> Option<&'static str> {
    let helps = [
        (
            io::ErrorKind::AddrInUse,
            "another program listens there, perhaps another `moat proxy`; stop it, or choose \
             another port (port 0 picks a free one)",
        ),
        (
            io::ErrorKind::AddrNotAvailable,
            "this machine has no such address; `0.0.0.0` listens on all of them",
        ),
        (
            io::ErrorKind::PermissionDenied,
            "ports below 1024 and other people's folders need privileges",
        ),
        (
            io::ErrorKind::AlreadyExists,
            "remove the file, or choose another path for the socket",
        ),
    ];
    let known = helps.into_iter().find(|(kind, _)| *kind == error.kind());
    known.map(|(_, help)| help)
}

/// A certificate or key that TLS listeners cannot use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read `{path}`")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not PEM.
    #[error("`{path}` is not PEM: {problem}")]
    Pem {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The file is PEM, and not of the wanted kind.
    #[error("`{path}` holds no {wanted}")]
    Empty {
        /// Which.
        path: PathBuf,
        /// What should be in it.
        wanted: &'static str,
    },
    /// Certificate and key cannot be used together.
    #[error("cannot use the certificate in `{certificate}` with the key in `{key}`")]
    Unusable {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
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
    /// A worker cannot accept clients, or cannot any more.
    #[error("a worker cannot accept clients")]
    WorkerFailed {
        /// Why.
        source: io::Error,
    },
    /// A worker thread ended by a fault.
    #[error("a worker ended unexpectedly")]
    WorkerEnded,
}
