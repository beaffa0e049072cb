//! Asks a running proxy's admin listener, on this machine only.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// An answer of the admin listener.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: String,
}

/// The admin listener did not answer as one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdminError {
    /// It cannot be reached.
    #[error("it cannot be reached: {0}")]
    Unreachable(#[from] std::io::Error),
    /// What answered is no admin listener.
    #[error("its answer cannot be read")]
    Malformed,
}

/// What is understood: metrics are text.
const FORMS: &str = "application/json, text/plain";

/// More than any scrape holds.
const MAX_ANSWER: u64 = 16 << 20;

/// How long each step may take: it is on this machine.
const PATIENCE: Duration = Duration::from_secs(2);

/// Fetches one path, as JSON where there is such a form of it.
pub(crate) fn fetch(address: SocketAddr, path: &str) -> Result<Answer, AdminError> {
    let address = reachable(address);
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // HTTP/1.0: the answer ends with the connection and is never chunked.
    write!(
        stream,
        "GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: {FORMS}\r\n\r\n"
    )?;
    let mut bytes = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut bytes)?;
    parse(&bytes)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command asks the admin listener that a run file of this user names; nothing of a \
              client's or a policy's choosing is dialled"
)]
fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    TcpStream::connect_timeout(&address, PATIENCE)
}

/// A listener on every address is reached on the loopback one.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let loopback: IpAddr = match address {
        _ if !address.ip().is_unspecified() => return address,
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(loopback, address.port())
}

fn parse(bytes: &[u8]) -> Result<Answer, AdminError> {
    let text = std::str::from_utf8(bytes).map_err(|_| AdminError::Malformed)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(AdminError::Malformed)?;
    let mut words = head.split(' ');
    let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    let status = words
        .next()
        .filter(|_| is_http)
        .and_then(|word| word.get(..3))
        .and_then(|word| word.parse().ok())
        .ok_or(AdminError::Malformed)?;
    Ok(Answer {
        status,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests;
