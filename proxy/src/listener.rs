//! Listening sockets: bound once, shared out to the workers by the kernel.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};

const BACKLOG: i32 = 4096;

/// One `SO_REUSEPORT` listener per worker on the same address. A first bind without the option
/// proves that nobody else holds the port.
pub(crate) fn bind(address: SocketAddr, workers: usize) -> io::Result<Vec<std::net::TcpListener>> {
    let probe = socket(address, false)?;
    let address = std::net::TcpListener::from(probe).local_addr()?;
    (0..workers)
        .map(|_| Ok(socket(address, true)?.into()))
        .collect()
}

fn socket(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking(),
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}
