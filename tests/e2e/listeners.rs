//! Other ways to reach the proxy: TLS and a Unix socket.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use rustix::process::Signal;

use crate::support::bed;
use crate::support::client::Client;

const REFUSED: &[u8] = b"CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n";
const ALLOWED: &[u8] = b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n";

#[test]
fn a_client_may_reach_the_proxy_over_tls() {
    bed(|bed| {
        let chain = bed.write("chain.pem", &bed.authority.chain);
        let key = bed.write("key.pem", &bed.authority.key);
        let moat = bed
            .moat()
            .flag("--listen", "tls:127.0.0.1:0")
            .flag("--tls-cert", chain.to_str().unwrap())
            .flag("--tls-key", key.to_str().unwrap())
            .start();
        let address = moat.printed("listening on https://");
        for (request, start) in [(ALLOWED, "HTTP/1.1 200 "), (REFUSED, "HTTP/1.1 403 ")] {
            moat.count(1);
            let client = Client::dial(address.parse().unwrap());
            let mut tls = bed.authority.connect(client.stream, "allowed.test");
            tls.write_all(request).unwrap();
            let mut head = vec![0; start.len()];
            tls.read_exact(&mut head).unwrap();
            assert_eq!(String::from_utf8_lossy(&head), start);
        }
        // What is not TLS there is no request.
        let plain = Client::dial(address.parse().unwrap())
            .send(ALLOWED)
            .rest()
            .0;
        assert!(!plain.starts_with(b"HTTP/1.1 200"));
        moat.finish();
    });
}

#[test]
fn a_client_may_reach_the_proxy_over_a_unix_socket() {
    bed(|bed| {
        let path = bed.directory().join("proxy.sock");
        let mut moat = bed
            .moat()
            .flag("--listen", &format!("unix:{}", path.display()))
            .start();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        for (request, start) in [(ALLOWED, "HTTP/1.1 200 "), (REFUSED, "HTTP/1.1 403 ")] {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.write_all(request).unwrap();
            let mut head = vec![0; start.len()];
            stream.read_exact(&mut head).unwrap();
            assert_eq!(String::from_utf8_lossy(&head), start);
        }
        moat.signal(Signal::TERM);
        assert!(moat.wait_exit().success());
        assert!(!path.exists());
    });
}

#[test]
fn a_port_in_use_stops_the_start() {
    bed(|bed| {
        let moat = bed.moat().start();
        let port = moat.address().to_string();
        let arguments = [
            "proxy",
            "--policy",
            "policy.yaml",
            "--audit",
            "off",
            "--admin",
            "127.0.0.1:0",
            "--listen",
            &port,
        ];
        let said = bed.command(&arguments);
        assert_ne!(said.code, 0, "{said:?}");
        assert!(said.stderr.contains(&port), "{said:?}");
        moat.finish();
    });
}
