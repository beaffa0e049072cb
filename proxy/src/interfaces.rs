//! The addresses of this host's interfaces: guarded, whatever their class.
//!
//! It does not know which of them the proxy listens on.

use std::io;
use std::net::IpAddr;

use arc_swap::ArcSwap;

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

    /// Whether one of this host's interfaces has this address.
    pub(crate) fn hold(&self, address: IpAddr) -> bool {
        let addresses = self.addresses.load();
        addresses.binary_search(&address.to_canonical()).is_ok()
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
