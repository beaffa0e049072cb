//! One tunnel through every door that has tunnels, since what holds in one of them holds in all.

use super::client::{Client, socks_target};
use super::moat::Moat;

impl Moat {
    /// Opens a tunnel by CONNECT and by SOCKS5 and sends `first` into it, once when it is open and
    /// once in the same piece as what asks for it. Gives each with its door's name.
    pub(crate) fn tunnels(
        &self,
        host: &str,
        port: u16,
        first: impl AsRef<[u8]>,
    ) -> Vec<(&'static str, Client)> {
        let (first, none) = (first.as_ref(), &b""[..]);
        let mut all = Vec::new();
        for (door, early, late) in [
            ("CONNECT", none, first),
            ("CONNECT in one piece", first, none),
        ] {
            let target = format!("{host}:{port}");
            let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
            let mut client = self.dial();
            client.send([head.as_bytes(), early].concat());
            assert_eq!(client.answer_to("CONNECT").status(), 200, "{door} {target}");
            client.send(late);
            all.push((door, client));
        }
        for (door, early, late) in [("SOCKS", none, first), ("SOCKS in one piece", first, none)] {
            let request = [&[5, 1, 0], &*socks_target(host, port), early].concat();
            let mut client = self.dial();
            client.send(request);
            let said = client.exactly(12);
            assert_eq!(said[..5], [5, 0, 5, 0, 0], "{door} {host}:{port}");
            client.send(late);
            all.push((door, client));
        }
        self.count(all.len());
        all
    }
}
