//! Checked addresses to a connected stream: the only file that opens sockets towards others.
//!
//! It does not know names: a name leads here only through the addresses that were checked.

mod race;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

use self::race::Lost;
use crate::authorize::{Checked, Permit, Ticket};
use crate::refusal::Refusal;

/// How long a question to a name server may wait for its connection.
const NAME_SERVER: Duration = Duration::from_secs(5);

/// Connects to one of the checked addresses, unless nobody waits for it any more, and uses the
/// permit up for it. The permit comes back with a refusal, for the record.
pub(crate) async fn dial(
    permit: Permit,
    checked: &Checked,
    limit: Duration,
    vain: impl Future<Output = Refusal>,
) -> Result<(TcpStream, Ticket), (Permit, Refusal)> {
    if !permit.is_valid(SystemTime::now()) {
        return Err((permit, Refusal::connect(VOID, false)));
    }
    let addresses: Vec<SocketAddr> = checked.addresses().collect();
    let won = tokio::select! {
        biased;
        won = first(&addresses, limit) => won,
        refusal = vain => return Err((permit, refusal)),
    };
    match won {
        Ok((stream, address)) if permit.is_valid(SystemTime::now()) => {
            drop(stream.set_nodelay(true));
            Ok((stream, permit.into_ticket(address.ip())))
        }
        Ok(_) => Err((permit, Refusal::connect(VOID, false))),
        Err(lost) => Err((permit, refusal(&lost))),
    }
}

/// The first of the addresses that can be connected to.
async fn first(addresses: &[SocketAddr], limit: Duration) -> Result<(TcpStream, SocketAddr), Lost> {
    let [only] = *addresses else {
        return race::run(addresses, connect, limit).await;
    };
    match tokio::time::timeout(limit, connect(only)).await {
        Ok(Ok(stream)) => Ok((stream, only)),
        Ok(Err(error)) => Err(Lost::new(only, error)),
        Err(_) => Err(Lost::late(only)),
    }
}

const VOID: &str = "the rule ran out before the connection was made";

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that connects, and each address was checked for a permit"
)]
async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    TcpStream::connect(address).await
}

/// What a client is told when nothing could be reached.
fn refusal(lost: &Lost) -> Refusal {
    let error = lost.error.as_ref().and_then(Errno::from_io_error);
    let refusal = match error {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL) => {
            Refusal::exhausted()
        }
        Some(Errno::CONNREFUSED) => Refusal::connect("the origin refused the connection", false),
        Some(Errno::NETUNREACH | Errno::HOSTUNREACH) => {
            Refusal::connect("no route leads to the origin", false)
        }
        Some(Errno::TIMEDOUT) => Refusal::connect(LATE, true),
        None if lost.error.is_none() => Refusal::connect(LATE, true),
        _ => Refusal::connect("the origin could not be reached", false),
    };
    Refusal {
        address: Some(lost.address.ip()),
        ..refusal
    }
}

const LATE: &str = "the origin did not accept the connection in time";

/// A connection to a name server, which configuration names and no permit is needed for.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that connects; name servers are named by configuration"
)]
pub(crate) async fn name_server_tcp(
    server: SocketAddr,
    local: Option<SocketAddr>,
    limit: Option<Duration>,
) -> io::Result<TcpStream> {
    let socket = if server.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    if let Some(local) = local {
        socket.bind(local)?;
    }
    let connecting = tokio::time::timeout(limit.unwrap_or(NAME_SERVER), socket.connect(server));
    let stream = connecting.await.map_err(|_| io::ErrorKind::TimedOut)??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A socket for one question to a name server.
pub(crate) async fn name_server_udp(local: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(local).await
}

/// Whether the kernel keeps on this host what is sent to an address, which it also does for ranges
/// that a route makes local and no interface has. Nothing is sent: connecting a datagram socket
/// only chooses the route.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that connects"
)]
pub(crate) fn is_kept_here(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let any = match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let source = || {
        let socket = std::net::UdpSocket::bind((any, 0))?;
        socket.connect((address, DISCARD))?;
        socket.local_addr()
    };
    match source() {
        Ok(source) => source.ip() == address || source.ip().is_loopback(),
        // Nobody can reach it; for any other error it is not known, so it is refused.
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable
        ),
    }
}

/// The port for a question about a route; which one it is plays no part.
const DISCARD: u16 = 9;

/// Whether anybody listens on this Unix socket: asked of a proxy's own path before it is bound,
/// by configuration and not for a client. Never waits.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that connects"
)]
pub(crate) fn is_answered(path: &std::path::Path) -> io::Result<bool> {
    use socket2::{Domain, SockAddr, Socket, Type};
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => Ok(true),
        // Somebody listens, with a queue that is full.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
