//! The addresses of this host's interfaces: guarded, whatever their class.
//!
//! It does not know which of them the proxy listens on.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::net::UdpSocket;

/// The kernel's groups for changes of IPv4 and IPv6 addresses (rtnetlink(7)).
const ADDRESS_CHANGES: u32 = 0x10 | 0x100;
/// How often the addresses are read where the kernel does not tell of changes.
const POLL: Duration = Duration::from_secs(10);

/// The addresses as last read. Shared by all workers; asking takes no lock.
#[derive(Debug)]
pub(crate) struct Interfaces {
    /// Sorted.
    addresses: ArcSwap<Vec<IpAddr>>,
}

impl Interfaces {
    /// As they are now.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            addresses: ArcSwap::from_pointee(read()?),
        })
    }

    /// Reads the addresses again whenever they change, for as long as it is polled.
    pub(crate) async fn follow(&self) {
        let changes = changes();
        if let Err(error) = &changes {
            tracing::debug!(%error, "the kernel does not tell of address changes");
        }
        loop {
            // Once more after the socket is there, and whenever it says so.
            match read() {
                Ok(addresses) => self.addresses.store(addresses.into()),
                Err(error) => tracing::warn!(%error, "this host's addresses cannot be read"),
            }
            match &changes {
                Ok(socket) if drained(socket).await.is_ok() => {}
                Ok(_) | Err(_) => tokio::time::sleep(POLL).await,
            }
        }
    }

    /// Whether one of this host's interfaces has this address.
    pub(crate) fn hold(&self, address: IpAddr) -> bool {
        let addresses = self.addresses.load();
        addresses.binary_search(&address.to_canonical()).is_ok()
    }
}

/// A socket that becomes readable when an address comes or goes. It carries datagrams, and tokio's
/// type for those asks nothing about the address family.
fn changes() -> io::Result<UdpSocket> {
    let route = None; // The number of the routing protocol is 0, the default.
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        route,
    )?;
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, ADDRESS_CHANGES))?;
    UdpSocket::from_std(socket.into())
}

/// Waits for messages and throws them away: that there were some is all that counts, so losing
/// some to a full queue loses nothing.
async fn drained(socket: &UdpSocket) -> io::Result<()> {
    let mut buffer = [0_u8; 4096];
    socket.readable().await?;
    loop {
        match socket.try_recv(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.raw_os_error() != Some(Errno::NOBUFS.raw_os_error()) => {
                return Err(error);
            }
            Ok(_) | Err(_) => {}
        }
    }
}

/// The addresses of all interfaces, sorted.
fn read() -> io::Result<Vec<IpAddr>> {
    let mut found: Vec<IpAddr> = if_addrs::get_if_addrs()?
        .iter()
        .map(|interface| interface.ip().to_canonical())
        .collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests;
