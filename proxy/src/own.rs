//! Where the proxy itself listens: addresses that nobody may reach through it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The proxy's own TCP listeners, the admin listener among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnListeners(Vec<SocketAddr>);

impl OwnListeners {
    /// These.
    pub(crate) fn new(listeners: Vec<SocketAddr>) -> Self {
        Self(listeners)
    }

    /// Whether one of them takes connections to every local address on this port.
    pub(crate) fn take_all(&self, port: u16) -> bool {
        let mut own = self.0.iter();
        own.any(|own| own.port() == port && own.ip().is_unspecified())
    }

    /// Whether a connection to this address and port would arrive at the proxy. `local` says
    /// that the address is one of this host, for a listener on the wildcard address.
    pub(crate) fn holds(&self, address: IpAddr, port: u16, local: bool) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|own| {
            let listening = own.ip().to_canonical();
            own.port() == port
                && (listening == address
                    || is_localhost(listening) && is_localhost(address)
                    || listening.is_unspecified()
                        && (local || address.is_loopback() || address.is_unspecified()))
        })
    }
}

/// `127.0.0.1` and `::1` are one resource: what opens one opens the other, so both are the proxy's.
fn is_localhost(address: IpAddr) -> bool {
    address == Ipv4Addr::LOCALHOST || address == Ipv6Addr::LOCALHOST
}

#[cfg(test)]
mod tests {
    use super::OwnListeners;

    fn holds(listeners: &[&str], address: &str, port: u16, local: bool) -> bool {
        let listeners = listeners.iter().map(|text| text.parse().unwrap());
        OwnListeners::new(listeners.collect()).holds(address.parse().unwrap(), port, local)
    }

    #[test]
    fn holds_its_address_in_every_spelling() {
        assert!(holds(&["127.0.0.1:3128"], "127.0.0.1", 3128, false));
        assert!(holds(&["127.0.0.1:3128"], "::ffff:127.0.0.1", 3128, false));
        assert!(holds(&["127.0.0.1:3128"], "::1", 3128, false));
        assert!(holds(&["[::1]:3128"], "127.0.0.1", 3128, false));
        assert!(!holds(&["127.0.0.1:3128"], "127.0.0.2", 3128, true));
        assert!(!holds(&["127.0.0.1:3128"], "127.0.0.1", 3129, false));
        assert!(!holds(&["127.0.0.1:3128"], "192.0.2.1", 3128, false));
    }

    #[test]
    fn a_wildcard_listener_holds_every_local_address() {
        for listener in ["0.0.0.0:3128", "[::]:3128"] {
            assert!(holds(&[listener], "127.0.0.1", 3128, false));
            assert!(holds(&[listener], "127.8.8.8", 3128, false));
            assert!(holds(&[listener], "::1", 3128, false));
            assert!(holds(&[listener], "0.0.0.0", 3128, false));
            assert!(holds(&[listener], "10.0.0.7", 3128, true));
            assert!(!holds(&[listener], "10.0.0.7", 3128, false));
        }
    }
}
