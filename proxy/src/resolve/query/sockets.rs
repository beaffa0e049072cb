//! Sockets for questions, which `dial` opens.
//!
//! A link-local server is reached through one interface. The resolver knows addresses and ports
//! alone, so the interface is put back here.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hickory_resolver::net::runtime::iocompat::AsyncIoTokioAsStd;
use hickory_resolver::net::runtime::{DnsUdpSocket, RuntimeProvider, TokioHandle, TokioTime};
use tokio::net::{TcpStream, UdpSocket};

use crate::dial;

/// What the resolver opens sockets with.
#[derive(Clone)]
pub(super) struct Sockets {
    handle: TokioHandle,
    /// The servers that belong to an interface.
    scoped: Arc<[SocketAddr]>,
}

impl Sockets {
    /// For these servers.
    pub(super) fn new(servers: &[SocketAddr]) -> Self {
        let scoped = servers.iter().copied();
        let scoped =
            scoped.filter(|server| matches!(server, SocketAddr::V6(v6) if v6.scope_id() > 0));
        Self {
            handle: TokioHandle::default(),
            scoped: scoped.collect(),
        }
    }

    /// The server with its interface.
    pub(super) fn whole(&self, server: SocketAddr) -> SocketAddr {
        let mut scoped = self.scoped.iter();
        let found = scoped.find(|own| own.ip() == server.ip() && own.port() == server.port());
        found.copied().unwrap_or(server)
    }
}

impl RuntimeProvider for Sockets {
    type Handle = TokioHandle;
    type Timer = TokioTime;
    type Udp = Udp;
    type Tcp = AsyncIoTokioAsStd<TcpStream>;

    fn create_handle(&self) -> Self::Handle {
        self.handle.clone()
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        local: Option<SocketAddr>,
        limit: Option<Duration>,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Self::Tcp>>>> {
        let server = self.whole(server);
        Box::pin(async move {
            let stream = dial::name_server_tcp(server, local, limit).await?;
            Ok(AsyncIoTokioAsStd(stream))
        })
    }

    fn bind_udp(
        &self,
        local: SocketAddr,
        server: SocketAddr,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Self::Udp>>>> {
        let server = self.whole(server);
        Box::pin(async move {
            let socket = dial::name_server_udp(local).await?;
            Ok(Udp { socket, server })
        })
    }
}

/// A socket for one question to one server.
pub(super) struct Udp {
    socket: UdpSocket,
    /// With its interface.
    server: SocketAddr,
}

impl DnsUdpSocket for Udp {
    type Time = TokioTime;

    fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        DnsUdpSocket::poll_recv_from(&self.socket, cx, buf)
    }

    fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        _: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_send_to(cx, buf, self.server)
    }
}

#[cfg(test)]
mod tests;
