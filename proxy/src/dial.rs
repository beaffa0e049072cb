//! Checked addresses to a connected stream: the only file that opens sockets.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use tokio::net::TcpStream;

use crate::authorize::{Checked, Permit, Ticket};
use crate::refusal::Refusal;

/// Connects to one of the checked addresses and uses the permit up for it. The permit comes back
/// with a refusal, for the record.
pub(crate) async fn dial(
    permit: Permit,
    checked: &Checked,
    limit: Duration,
) -> Result<(TcpStream, Ticket), (Permit, Refusal)> {
    if !permit.is_valid(SystemTime::now()) {
        return Err((
            permit,
            Refusal::connect("the rule ran out before the connection", false),
        ));
    }
    match tokio::time::timeout(limit, first(checked.as_slice())).await {
        Ok(Some((stream, address))) => {
            let ticket = permit.into_ticket(address.ip());
            Ok((stream, ticket))
        }
        Ok(None) => Err((
            permit,
            Refusal::connect("no address accepted the connection", false),
        )),
        Err(_) => Err((
            permit,
            Refusal::connect("no address answered in time", true),
        )),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that connects"
)]
async fn first(addresses: &[SocketAddr]) -> Option<(TcpStream, SocketAddr)> {
    for &address in addresses {
        if let Ok(stream) = TcpStream::connect(address).await {
            drop(stream.set_nodelay(true));
            return Some((stream, address));
        }
    }
    None
}

/// Whether anybody listens on this Unix socket: asked of a proxy's own path before it is bound,
/// by configuration and not for a client. Never waits.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that connects"
)]
pub(crate) fn is_answered(path: &std::path::Path) -> std::io::Result<bool> {
    use socket2::{Domain, SockAddr, Socket, Type};
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => Ok(true),
        // Somebody listens, with a queue that is full.
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(false),
        Err(error) => Err(error),
    }
}
