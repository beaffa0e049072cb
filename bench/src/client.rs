//! A client of the proxy: one CONNECT on one connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::bail;

const LIMIT: Duration = Duration::from_secs(10);

/// Connects to the proxy.
#[expect(
    clippy::disallowed_methods,
    reason = "a client that measures the proxy, not the proxy"
)]
fn open(proxy: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&proxy, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn ask(stream: &mut TcpStream, target: &str) -> anyhow::Result<()> {
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    Ok(())
}

/// A tunnel to this target.
pub(crate) fn tunnel(proxy: SocketAddr, target: &str) -> anyhow::Result<TcpStream> {
    let mut stream = open(proxy)?;
    ask(&mut stream, target)?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    if !head.starts_with(b"HTTP/1.1 200") {
        bail!("no tunnel: {}", String::from_utf8_lossy(&head));
    }
    Ok(stream)
}

/// Asks for a target that is refused and reads the refusal to its end.
pub(crate) fn refused(proxy: SocketAddr, target: &str) -> anyhow::Result<()> {
    let mut stream = open(proxy)?;
    ask(&mut stream, target)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    // Ended by a reset, so that tens of thousands of ends do not wait for their time to be over.
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
    if !answer.starts_with(b"HTTP/1.1 403 ") {
        bail!("no refusal: {}", String::from_utf8_lossy(&answer));
    }
    Ok(())
}
