//! Wildcard listeners on the ports that matter: whoever dials an address that no origin owns
//! lands here, and the case fails.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread;

use super::socket;

/// The traps of one case.
#[derive(Debug, Default)]
pub(crate) struct Traps {
    sprung: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Traps {
    /// Lays a trap on `port` of every address, v4 and v6.
    pub(crate) fn lay(&self, port: u16) {
        let listener = socket::listen((Ipv6Addr::UNSPECIFIED, port).into());
        let sprung = Arc::clone(&self.sprung);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                sprung.lock().unwrap().push(stream.local_addr().unwrap());
            }
        });
    }

    /// The addresses that were dialled and should not have been.
    pub(crate) fn sprung(&self) -> Vec<SocketAddr> {
        self.sprung.lock().unwrap().clone()
    }
}
