//! Listeners that may stand beside a wildcard on the same port.

use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Binds `address`, also where the address is on no interface, and beside a trap.
pub(crate) fn listen(address: SocketAddr) -> TcpListener {
    with_backlog(address, 1024).into()
}

/// A listener whose queue is so short that all but the first connections hang in their SYN.
///
/// It must be kept, together with the connections that fill it.
pub(crate) fn swallow(address: SocketAddr) -> Vec<Socket> {
    let mut kept = vec![with_backlog(address, 0)];
    for _ in 0..8 {
        let filler = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        filler.set_nonblocking(true).unwrap();
        let pending = filler.connect(&address.into()).err().is_none_or(|error| {
            error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error())
        });
        assert!(pending, "cannot fill the queue of {address}");
        kept.push(filler);
    }
    kept
}

fn with_backlog(address: SocketAddr, backlog: i32) -> Socket {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP)).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_reuse_port(true).unwrap();
    match address {
        SocketAddr::V4(_) => socket.set_freebind_v4(true).unwrap(),
        SocketAddr::V6(own) => {
            socket.set_freebind_v6(true).unwrap();
            socket.set_only_v6(!own.ip().is_unspecified()).unwrap();
        }
    }
    socket
        .bind(&address.into())
        .unwrap_or_else(|error| panic!("cannot bind {address}: {error}"));
    socket.listen(backlog).unwrap();
    socket
}
