//! The server name inside a tunnel must be the permitted host.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::client::Client;
use crate::support::moat::base_policy;
use crate::support::tls::with_extension;
use crate::support::wait::{pace, wait_for};
use crate::support::{Bed, Moat, bed};

/// The first byte of a record with a handshake.
const HANDSHAKE: u8 = 22;
/// The extension that lists server names.
const SERVER_NAME: u16 = 0;
/// The extension of an encrypted ClientHello, and of the greeting that only looks like one.
const ECH: u16 = 0xfe0d;
/// A policy with one host whose server name is not looked at.
const ANY: &str = "version: 1\nallow:\n  - id: names\n    net:\n      - allowed.test\n      \
                   - { host: any.allowed.test, sni: any }\n  - id: origins\n    \
                   net: [\"127.0.0.2/32:*\"]\n";

/// An outer ClientHello's extension: HKDF-SHA256, AES-128-GCM, an id, a key and a payload.
fn encrypted() -> Vec<u8> {
    let mut data = vec![0, 0, 1, 0, 1, 7, 0, 32];
    data.extend([0x5a; 32]);
    data.extend([0, 144]);
    data.extend([0xa5; 144]);
    data
}

/// Opens a tunnel at every door, sends these bytes, and says whether the origin got any: at all of
/// them or at none.
fn reaches(bed: &Bed, moat: &Moat, target: &str, hello: &[u8]) -> bool {
    let (host, port) = target.rsplit_once(':').unwrap();
    let before = bed.origins.everything().len();
    let mut found = Vec::new();
    for (door, mut client) in moat.tunnels(host, port.parse().unwrap(), hello) {
        // The origin answers with a handshake; a refusal is an alert and an end.
        let answered = client.byte_or_end() == Some(HANDSHAKE);
        if !answered {
            client.rest();
        }
        found.push((door, answered));
    }
    let passed = found[0].1;
    let agree = found.iter().all(|(_, answered)| *answered == passed);
    assert!(agree, "{target}: {found:?}");
    assert_eq!(bed.origins.everything().len() > before, passed, "{target}");
    passed
}

/// The records of tunnels that were refused for their server name, once there are `count`.
fn refused(moat: &Moat, count: usize) -> Vec<Value> {
    wait_for("the refusals", || {
        let mut records = moat.records();
        records.retain(|record| record["event"] == "decision" && record["cause"] == "sni");
        (records.len() >= count).then_some(records)
    })
}

/// A hello whose list of server names has these entries, each a type and a text.
fn named(bed: &Bed, entries: &[(u8, &str)]) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, name) in entries {
        list.push(*kind);
        list.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
        list.extend(name.as_bytes());
    }
    let length = u16::try_from(list.len()).unwrap().to_be_bytes();
    let nameless = bed.authority.hello("127.0.0.9");
    with_extension(&nameless, SERVER_NAME, &[&length[..], &list].concat())
}

/// The same hello in records of this many bytes.
fn in_records(hello: &[u8], size: usize) -> Vec<u8> {
    let records = hello[5..].chunks(size).map(|piece| {
        let length = u16::try_from(piece.len()).unwrap().to_be_bytes();
        [&[22, 3, 1], &length[..], piece].concat()
    });
    records.collect::<Vec<_>>().concat()
}

#[test]
fn another_server_name_never_reaches_the_origin() {
    bed(|bed| {
        let moat = bed.moat().start();
        let hello = bed.authority.hello("denied.test");
        assert!(!reaches(bed, &moat, "allowed.test:443", &hello));
        assert_eq!(bed.origins.everything(), "");
        for record in refused(&moat, 4) {
            assert_eq!(record["effect"], "deny", "{record}");
            assert_eq!(record["host"], "allowed.test", "{record}");
            assert_eq!(record["status"], Value::Null, "nothing was sent: {record}");
            let reason = record["reason"].as_str().unwrap();
            assert!(reason.contains("server name `denied.test`"), "{record}");
            let close = moat.wait_record("close", |close| close["id"] == record["id"]);
            assert_eq!(close["cause"], "sni", "{close}");
            assert_eq!(close["bytes_up"], 0, "{close}");
        }
        moat.finish();
    });
}

#[test]
fn the_check_holds_on_every_port() {
    bed(|bed| {
        bed.origins.https(([127, 0, 0, 2], 8443).into());
        bed.origins.https(([127, 0, 0, 4], 80).into());
        bed.dns.set("tls.allowed.test", "A 127.0.0.4");
        let text = base_policy().replace("127.0.0.2/32:*", "127.0.0.2/32:*\", \"127.0.0.4/32:*");
        let moat = bed.moat().policy(&text).start();
        let denied = bed.authority.hello("denied.test");
        assert!(!reaches(bed, &moat, "svc.allowed.test:8443", &denied));
        assert!(!reaches(bed, &moat, "tls.allowed.test:80", &denied));
        assert_eq!(bed.origins.everything(), "");
        let svc = bed.authority.hello("svc.allowed.test");
        assert!(reaches(bed, &moat, "svc.allowed.test:8443", &svc));
        let tls = bed.authority.hello("tls.allowed.test");
        assert!(reaches(bed, &moat, "tls.allowed.test:80", &tls));
        moat.finish();
    });
}

#[test]
fn a_server_name_is_the_permitted_host_however_it_is_written() {
    bed(|bed| {
        bed.origins.https(([127, 0, 0, 2], 8443).into());
        let moat = bed.moat().start();
        for (target, entries, passes) in [
            ("allowed.test:443", &[(0, "ALLOWED.Test")][..], true),
            ("allowed.test:443", &[(0, "allowed.test.")], true),
            ("allowed.test:443", &[(0, "allowed.test..")], false),
            ("allowed.test:443", &[(0, "allowed.test\0")], false),
            ("allowed.test:443", &[(0, "allowed.test:443")], false),
            ("allowed.test:443", &[(0, "\u{ff41}llowed.test")], false),
            ("allowed.test:443", &[(0, "*.test")], false),
            ("allowed.test:443", &[(0, "")], false),
            ("allowed.test:443", &[], false),
            // Allowed too, but not what was asked for.
            ("allowed.test:443", &[(0, "svc.allowed.test")], false),
            ("allowed.test:443", &[(0, "127.0.0.2")], false),
            ("allowed.test:443", &[(1, "allowed.test")], false),
            (
                "allowed.test:443",
                &[(0, "allowed.test"), (0, "denied.test")],
                false,
            ),
            (
                "allowed.test:443",
                &[(0, "denied.test"), (0, "allowed.test")],
                false,
            ),
            (
                "allowed.test:443",
                &[(0, "allowed.test"), (1, "denied.test")],
                false,
            ),
            ("127.0.0.2:443", &[(0, "127.0.0.2")], true),
            ("127.0.0.2:443", &[(0, "127.0.0.1")], false),
            ("127.0.0.2:443", &[(0, "2130706434")], false),
            (
                "127.0.0.2:443",
                &[(0, "127.0.0.2"), (0, "denied.test")],
                false,
            ),
            (
                "127.0.0.2:443",
                &[(1, "127.0.0.2"), (0, "denied.test")],
                false,
            ),
            ("127.0.0.2:443", &[(0, "allowed.test")], true),
            ("127.0.0.2:443", &[(0, "denied.test")], false),
            ("127.0.0.2:443", &[(0, "mal.test")], false),
            // Allowed on other ports only.
            ("127.0.0.2:8443", &[(0, "allowed.test")], false),
            ("127.0.0.2:8443", &[(0, "svc.allowed.test")], true),
        ] {
            let hello = named(bed, entries);
            let passed = reaches(bed, &moat, target, &hello);
            assert_eq!(passed, passes, "{target} {entries:?}");
        }
        let twice = with_extension(&named(bed, &[(0, "allowed.test")]), SERVER_NAME, &[0, 0]);
        assert!(!reaches(bed, &moat, "allowed.test:443", &twice));
        moat.finish();
    });
}

#[test]
fn nothing_in_front_of_a_hello_hides_its_server_name() {
    bed(|bed| {
        bed.origins.https(([127, 0, 0, 2], 8443).into());
        let moat = bed.moat().start();
        let mut count = 0;
        for front in [
            // A warning, a change of cipher, a fatal alert, data, a heartbeat, an empty record.
            &[21, 3, 1, 0, 2, 1, 90][..],
            &[20, 3, 3, 0, 1, 1],
            &[21, 3, 3, 0, 2, 2, 40],
            &[23, 3, 3, 0, 1, 7],
            &[24, 3, 3, 0, 3, 1, 0, 0],
            &[22, 3, 1, 0, 0],
            // A hello request, which only servers send.
            &[22, 3, 1, 0, 4, 0, 0, 0, 0],
        ] {
            for (target, name) in [
                ("svc.allowed.test:8443", "denied.test"),
                ("svc.allowed.test:8443", "svc.allowed.test"),
                ("allowed.test:443", "denied.test"),
            ] {
                let hello = [front, &bed.authority.hello(name)].concat();
                assert!(!reaches(bed, &moat, target, &hello), "{front:?} {name}");
                count += 4;
            }
        }
        let ssl2 = [&[0x80, 46, 1, 3, 1, 0, 21, 0, 0, 0, 16][..], &[7; 37]].concat();
        assert!(!reaches(bed, &moat, "svc.allowed.test:8443", &ssl2));
        assert_eq!(refused(&moat, count + 4).len(), count + 4);
        assert_eq!(bed.origins.everything(), "");
        moat.finish();
    });
}

#[test]
fn no_server_name_is_refused_unless_the_rule_says_any() {
    bed(|bed| {
        let nameless = bed.authority.hello("127.0.0.9");
        let moat = bed.moat().policy(ANY).start();
        assert!(!reaches(bed, &moat, "allowed.test:443", &nameless));
        assert!(reaches(bed, &moat, "any.allowed.test:443", &nameless));
        assert!(reaches(bed, &moat, "127.0.0.2:443", &nameless));
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
            // Nothing goes into them yet, so that every other one is like the one before.
            for (door, client) in moat.tunnels("allowed.test", 443, "").into_iter().step_by(2) {
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
                assert_eq!(&start, b"HTTP/1.1 200 OK", "{door}");
            }
        }
        let before = bed.origins.everything();
        for (size, pause) in slow {
            for (_, client) in moat.tunnels("allowed.test", 443, "").into_iter().step_by(2) {
                let mut pieces = Pieces {
                    client,
                    size,
                    pause,
                };
                let _ = pieces.write_all(&bed.authority.hello("denied.test"));
                pieces.client.rest();
            }
        }
        assert_eq!(bed.origins.everything(), before);
        assert_eq!(refused(&moat, 4).len(), 4);
        moat.finish();
    });
}

#[test]
fn where_a_hello_is_cut_means_nothing() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (name, passes) in [("allowed.test", true), ("denied.test", false)] {
            let hello = bed.authority.hello(name);
            let head = "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n";
            for at in 1..hello.len() {
                moat.count(1);
                let mut client = moat.dial();
                client.send([head.as_bytes(), &hello[..at]].concat());
                assert_eq!(client.answer_to("CONNECT").status(), 200);
                client.send(&hello[at..]);
                let answered = client.byte_or_end() == Some(HANDSHAKE);
                assert_eq!(answered, passes, "{name} cut at {at}");
            }
            for size in [1, 3, 4, 5, 50] {
                let hello = in_records(&hello, size);
                let passed = reaches(bed, &moat, "allowed.test:443", &hello);
                assert_eq!(passed, passes, "{name} in records of {size}");
                let empty = [&hello[..5 + size], &[22, 3, 1, 0, 0], &hello[5 + size..]].concat();
                assert!(
                    !reaches(bed, &moat, "allowed.test:443", &empty),
                    "{name} {size}"
                );
            }
        }
        moat.finish();
    });
}

#[test]
fn half_a_hello_has_the_time_of_a_head() {
    bed(|bed| {
        let moat = bed.moat().flag("--head-timeout", "1s").start();
        let half = &bed.authority.hello("allowed.test")[..100];
        let start = Instant::now();
        for (_, mut client) in moat.tunnels("allowed.test", 443, half) {
            client.rest();
        }
        assert!(start.elapsed() < Duration::from_secs(4));
        assert_eq!(bed.origins.everything(), "");
        let close = moat.wait_record("close", |close| close["host"] == "allowed.test");
        assert_eq!(close["cause"], "timeout", "{close}");
        moat.finish();
    });
}

#[test]
fn what_is_not_tls_ends_on_the_tls_port() {
    bed(|bed| {
        let moat = bed.moat().start();
        let start = Instant::now();
        let mut count = 0;
        for first in [
            "SSH-2.0-x\r\n",
            "S",
            "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
            "\0",
        ] {
            for (door, mut client) in moat.tunnels("allowed.test", 443, first) {
                client.rest();
                assert!(start.elapsed() < Duration::from_secs(1), "{door} {first:?}");
                count += 1;
            }
        }
        for record in refused(&moat, count) {
            assert_eq!(record["host"], "allowed.test", "{record}");
            let reason = record["reason"].as_str().unwrap();
            assert_eq!(reason, "the tunnel must speak TLS, and does not");
        }
        assert_eq!(bed.origins.everything(), "");
        moat.finish();
    });
}

#[test]
fn an_encrypted_hello_is_judged_by_its_outer_name() {
    bed(|bed| {
        let with_ech = |name| with_extension(&bed.authority.hello(name), ECH, &encrypted());
        let moat = bed.moat().policy(ANY).start();
        let outer = with_ech("ech-provider.test");
        assert!(!reaches(bed, &moat, "allowed.test:443", &outer));
        assert!(!reaches(bed, &moat, "127.0.0.2:443", &outer));
        assert!(reaches(bed, &moat, "any.allowed.test:443", &outer));
        // Nothing is named outside.
        let hidden = with_ech("127.0.0.9");
        assert!(!reaches(bed, &moat, "allowed.test:443", &hidden));
        // What browsers send to servers that know nothing of it.
        let grease = with_ech("allowed.test");
        assert!(reaches(bed, &moat, "allowed.test:443", &grease));
        assert!(reaches(bed, &moat, "127.0.0.2:443", &grease));
        let said = refused(&moat, 12);
        let named = "the outer TLS server name `ech-provider.test` is not the permitted host";
        assert!(
            said.iter().any(|record| record["reason"] == named),
            "{said:?}"
        );
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
        for (door, mut client) in moat.tunnels("plain.allowed.test", 443, "SSH-2.0-x\r\n") {
            assert_eq!(client.exactly(11), b"SSH-2.0-x\r\n", "{door}");
        }
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
