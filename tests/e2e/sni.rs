//! The server name inside a tunnel must be the permitted host.

use std::io::{self, Read, Write};
use std::time::Duration;

use crate::support::client::Client;
use crate::support::tls::with_extension;
use crate::support::wait::pace;
use crate::support::{Bed, Moat, bed};

/// The extension of an encrypted ClientHello, and of the greeting that only looks like one.
const ECH: u16 = 0xfe0d;

/// An outer ClientHello's extension: HKDF-SHA256, AES-128-GCM, an id, a key and a payload.
fn encrypted() -> Vec<u8> {
    let mut data = vec![0, 0, 1, 0, 1, 7, 0, 32];
    data.extend([0x5a; 32]);
    data.extend([0, 144]);
    data.extend([0xa5; 144]);
    data
}

/// Opens a tunnel, sends these bytes, and says whether the origin got any.
fn reaches(bed: &Bed, moat: &Moat, target: &str, hello: &[u8]) -> bool {
    let before = bed.origins.everything().len();
    let (answer, mut client) = moat.tunnel(target);
    assert_eq!(answer.status(), 200, "{target}");
    client.send(hello);
    // The origin answers with a handshake; a refusal is an alert and an end.
    let mut first = [0; 1];
    let answered = matches!(client.stream.read(&mut first), Ok(1)) && first == [22];
    if !answered {
        client.rest();
    }
    let arrived = bed.origins.everything().len() > before;
    assert_eq!(answered, arrived, "{target}");
    arrived
}

#[test]
fn another_server_name_never_reaches_the_origin() {
    bed(|bed| {
        let moat = bed.moat().start();
        let hello = bed.authority.hello("denied.test");
        assert!(!reaches(bed, &moat, "allowed.test:443", &hello));
        let record = moat.wait_record("decision", |record| record["cause"] == "sni");
        assert_eq!(record["effect"], "deny", "{record}");
        assert_eq!(record["host"], "allowed.test", "{record}");
        moat.finish();
    });
}

#[test]
fn the_check_holds_on_every_port_and_through_socks() {
    bed(|bed| {
        bed.origins.https(([127, 0, 0, 2], 8443).into());
        let moat = bed.moat().start();
        let hello = bed.authority.hello("denied.test");
        assert!(!reaches(bed, &moat, "svc.allowed.test:8443", &hello));
        let (code, mut client) = moat.socks_tunnel("allowed.test", 443);
        assert_eq!(code, 0);
        client.send(&hello);
        client.rest();
        assert_eq!(bed.origins.everything(), "");
        moat.finish();
    });
}

#[test]
fn a_warning_in_front_of_the_hello_does_not_hide_its_server_name() {
    bed(|bed| {
        bed.origins.https(([127, 0, 0, 2], 8443).into());
        let moat = bed.moat().start();
        let warning = [21, 3, 1, 0, 2, 1, 90];
        let hello = [&warning[..], &bed.authority.hello("denied.test")].concat();
        assert!(!reaches(bed, &moat, "svc.allowed.test:8443", &hello));
        let record = moat.wait_record("decision", |record| record["cause"] == "sni");
        assert_eq!(record["host"], "svc.allowed.test", "{record}");
        moat.finish();
    });
}

#[test]
fn no_server_name_is_refused_unless_the_rule_says_any() {
    bed(|bed| {
        let nameless = bed.authority.hello("127.0.0.9");
        let any = "version: 1\nallow:\n  - id: names\n    net:\n      - allowed.test\n      \
                   - { host: any.allowed.test, sni: any }\n  - id: origins\n    \
                   net: [\"127.0.0.2/32:*\"]\n";
        let moat = bed.moat().policy(any).start();
        assert!(!reaches(bed, &moat, "allowed.test:443", &nameless));
        assert!(reaches(bed, &moat, "any.allowed.test:443", &nameless));
        assert!(reaches(bed, &moat, "127.0.0.2:443", &nameless));
        moat.finish();
    });
}

#[test]
fn a_server_name_inside_a_tunnel_to_an_address_must_be_allowed_itself() {
    bed(|bed| {
        let moat = bed.moat().start();
        let allowed = bed.authority.hello("allowed.test");
        let denied = bed.authority.hello("denied.test");
        assert!(reaches(bed, &moat, "127.0.0.2:443", &allowed));
        assert!(!reaches(bed, &moat, "127.0.0.2:443", &denied));
        moat.finish();
    });
}

#[test]
fn a_hello_in_pieces_is_a_hello() {
    bed(|bed| {
        let moat = bed.moat().start();
        let slow = [
            (150, Duration::from_millis(200)),
            (1, Duration::from_millis(1)),
        ];
        for (size, pause) in slow {
            let (_, client) = moat.tunnel("allowed.test:443");
            let pieces = Pieces {
                client,
                size,
                pause,
            };
            let mut tls = bed.authority.connect(pieces, "allowed.test");
            tls.write_all(b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
                .unwrap();
            let mut start = [0; 15];
            tls.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"HTTP/1.1 200 OK");
        }
        let before = bed.origins.everything();
        for (size, pause) in slow {
            let (_, client) = moat.tunnel("allowed.test:443");
            let mut pieces = Pieces {
                client,
                size,
                pause,
            };
            let hello = bed.authority.hello("denied.test");
            let _ = pieces.write_all(&hello);
            pieces.client.rest();
        }
        assert_eq!(bed.origins.everything(), before);
        moat.finish();
    });
}

#[test]
fn what_is_not_tls_ends_on_the_tls_port() {
    bed(|bed| {
        let moat = bed.moat().start();
        let (answer, mut client) = moat.tunnel("allowed.test:443");
        assert_eq!(answer.status(), 200);
        client.send("SSH-2.0-x\r\n");
        client.rest();
        let record = moat.wait_record("decision", |record| record["cause"] == "sni");
        assert_eq!(record["host"], "allowed.test", "{record}");
        assert_eq!(bed.origins.everything(), "");
        moat.finish();
    });
}

#[test]
fn an_encrypted_hello_is_judged_by_its_outer_name() {
    bed(|bed| {
        let moat = bed.moat().start();
        let outer = with_extension(&bed.authority.hello("ech-provider.test"), ECH, &encrypted());
        assert!(!reaches(bed, &moat, "allowed.test:443", &outer));
        let grease = with_extension(&bed.authority.hello("allowed.test"), ECH, &encrypted());
        assert!(reaches(bed, &moat, "allowed.test:443", &grease));
        moat.finish();
    });
}

#[test]
fn a_rule_may_let_what_is_not_tls_pass() {
    bed(|bed| {
        bed.origins
            .serve(([127, 0, 0, 4], 443).into(), crate::support::origin::echo);
        bed.dns.set("plain.allowed.test", "A 127.0.0.4");
        let any = "version: 1\nallow:\n  - id: names\n    net:\n      - allowed.test\n      \
                   - { host: plain.allowed.test, tls: any }\n  - id: origins\n    \
                   net: [\"127.0.0.2/32:*\", \"127.0.0.4/32:*\"]\n";
        let moat = bed.moat().policy(any).start();
        let (_, mut client) = moat.tunnel("plain.allowed.test:443");
        assert_eq!(client.send("SSH-2.0-x\r\n").exactly(11), b"SSH-2.0-x\r\n");
        moat.finish();
    });
}

/// A connection whose writes go out in pieces.
struct Pieces {
    client: Client,
    size: usize,
    pause: Duration,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.size);
        let written = self.client.stream.write(&bytes[..count])?;
        pace(self.pause);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.client.stream.flush()
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.client.stream.read(buffer)
    }
}
