//! What a proxy needs to know before it starts, as plain data.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Where clients reach the proxy.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListenAddress {
    /// Plain TCP; port 0 picks one.
    Tcp(SocketAddr),
    /// TLS over TCP, with [`Config::tls`]; port 0 picks one.
    Tls(SocketAddr),
    /// A Unix socket at this path, mode 0600; a stale socket there is replaced.
    Unix(PathBuf),
}

impl ListenAddress {
    /// Its address and port, where it has one.
    pub(crate) fn ip(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) | Self::Tls(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Tls(address) => write!(f, "https://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The certificate of `tls:` listeners, as PEM files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerTls {
    /// Certificate chain, leaf first.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// How long each stage may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Timeouts {
    /// A head, a SOCKS handshake or a ClientHello, from its first byte.
    pub head: Duration,
    /// One name, over all its queries.
    pub dns: Duration,
    /// The whole dial, over all addresses.
    pub connect: Duration,
    /// No byte in either direction.
    pub idle: Duration,
    /// What a drain waits for open connections.
    pub drain: Duration,
}

/// Where records go.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the writer must know each of them")]
pub enum AuditTo {
    /// A file, created with mode 0600 and rotated.
    File(PathBuf),
    /// Standard output, through the sink that the caller gives.
    Stdout,
    /// Nowhere.
    Off,
}

/// What happens to allowed requests when a record cannot be kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a choice of two")]
pub enum AuditOnFailure {
    /// They get 503.
    Deny,
    /// They go on; the loss is counted.
    Continue,
}

/// Whether refusals by default and by `ask` are enforced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a choice of two")]
pub enum Mode {
    /// They are.
    Enforce,
    /// They are recorded and let through: UNENFORCED.
    Observe,
}

/// Everything that a [`crate::Server`] is told.
#[derive(Clone, Debug)]
pub struct Config {
    /// At least one.
    pub listen: Vec<ListenAddress>,
    /// The admin listener; `None` for none. Port 0 picks one.
    pub admin: Option<SocketAddr>,
    /// For `tls:` listeners.
    pub tls: Option<ServerTls>,
    /// Name servers; empty for the system's, together with its hosts file.
    pub dns: Vec<SocketAddr>,
    /// Worker threads.
    pub workers: NonZeroUsize,
    /// Client connections at a time, over all listeners.
    pub max_connections: usize,
    /// Limits in time.
    pub timeouts: Timeouts,
    /// Where records go.
    pub audit: AuditTo,
    /// What a lost record means.
    pub audit_on_failure: AuditOnFailure,
    /// Enforce or observe.
    pub mode: Mode,
    /// Whether a new policy cuts the open tunnels and exchanges that it refuses.
    pub recheck: bool,
    /// How many host names metrics may carry as labels; 0 for none.
    pub metrics_hosts: usize,
}
