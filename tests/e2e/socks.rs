//! SOCKS5, the third door.

use std::time::Duration;

use serde_json::Value;

use crate::support::client::{Client, End, socks_target};
use crate::support::wait::{pace, wait_for};
use crate::support::{Bed, Moat, bed};

const GREETING: [u8; 3] = [5, 1, 0];
/// Succeeded, and an address that tells nothing.
const SUCCEEDED: [u8; 10] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

/// A client and what it has to send to reach `allowed.test:443`: the greeting and the rest.
fn opening(moat: &Moat, greeting: &[u8]) -> (Client, Vec<u8>, Vec<u8>) {
    moat.count(1);
    let target = socks_target("allowed.test", 443);
    (moat.dial(), greeting.to_vec(), target)
}

/// A whole exchange over TLS proves that the tunnel works.
fn works(bed: &Bed, client: Client) {
    let mut inside = bed.authority.connect(client.stream, "allowed.test");
    let request = "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
    std::io::Write::write_all(&mut inside, request.as_bytes()).unwrap();
    let mut answer = [0; 12];
    std::io::Read::read_exact(&mut inside, &mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[test]
fn a_handshake_in_fragments_is_a_handshake() {
    bed(|bed| {
        let moat = bed.moat().start();
        let slowly = |client: &mut Client, bytes: &[u8]| {
            for byte in bytes {
                client.send([*byte]);
                pace(Duration::from_millis(50));
            }
        };
        let (mut client, greeting, target) = opening(&moat, &[5, 4, 0, 1, 2, 0x80]);
        slowly(&mut client, &greeting);
        assert_eq!(client.exactly(2), [5, 0]);
        slowly(&mut client, &target);
        assert_eq!(client.exactly(10), SUCCEEDED);
        works(bed, client);

        // The other doors know no message borders either.
        for (request, method) in [
            ("GET http://allowed.test/ HTTP/1.1\r\nHost: a", "GET"),
            ("CONNECT allowed.test:443 HTTP/1.1\r\nHost: a", "CONNECT"),
        ] {
            moat.count(1);
            let mut client = moat.dial();
            for byte in request.bytes() {
                client.send([byte]);
                pace(Duration::from_millis(5));
            }
            slowly(&mut client, b"llowed.test\r\n\r\n");
            assert_eq!(client.answer_to(method).status(), 200, "{method}");
        }
        moat.finish();
    });
}

#[test]
fn no_authentication_is_chosen_among_several_methods() {
    bed(|bed| {
        let moat = bed.moat().start();
        let all: Vec<u8> = [5, 255].into_iter().chain((0..=254).rev()).collect();
        for greeting in [&[5, 2, 2, 0][..], &[5, 3, 0, 0, 0], &all] {
            let (mut client, greeting, target) = opening(&moat, greeting);
            assert_eq!(client.send(greeting).exactly(2), [5, 0]);
            assert_eq!(client.send(target).exactly(10), SUCCEEDED);
            works(bed, client);
        }
        moat.finish();
    });
}

#[test]
fn a_client_that_does_not_wait_for_replies_loses_nothing() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        let target = socks_target("svc.allowed.test", 7);
        client.send([&GREETING[..], &target, b"EARLY"].concat());
        assert_eq!(client.exactly(2), [5, 0]);
        assert_eq!(client.exactly(10), SUCCEEDED);
        client.half_close();
        assert_eq!(client.rest(), (b"EARLY".to_vec(), End::Closed));
        moat.finish();
    });
}

/// The decision about a target at one door, once it is written.
fn decision(moat: &Moat, protocol: &str, host: &str) -> Value {
    moat.wait_record("decision", |record| {
        record["protocol"] == protocol && record["host"] == host
    })
}

#[test]
fn a_refused_target_is_code_two_and_a_record_like_that_of_http() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (host, port, cause) in [
            ("denied.test", 443, "default"),
            ("mal.test", 22, "policy"),
            ("allowed.test", 22, "default"),
            ("127.0.0.1", 80, "guarded"),
            ("::1", 80, "guarded"),
            ("::ffff:127.0.0.1", 80, "guarded"),
            ("93.184.216.34", 443, "default"),
            ("0.0.0.0", 80, "guarded"),
        ] {
            let (code, mut client) = moat.socks_tunnel(host, port);
            assert_eq!(code, 2, "{host}");
            assert_eq!(client.rest(), (Vec::new(), End::Closed), "{host}");
            let by_socks = decision(&moat, "socks5", host);
            let bracketed = format!("[{host}]:{port}");
            let plain = format!("{host}:{port}");
            let target = if host.contains(':') { bracketed } else { plain };
            let answer = moat.get(&format!("{target}/"));
            assert_eq!(answer.status(), 403, "{host}");
            let by_http = decision(&moat, "http", host);
            assert_eq!(moat.connect(&target), 403, "{host}");
            let by_connect = decision(&moat, "connect", host);
            assert_eq!(by_socks["cause"], cause, "{by_socks}");
            assert_eq!(by_socks["effect"], "deny", "{by_socks}");
            assert_eq!(by_socks["status"], 2, "{by_socks}");
            for other in [by_http, by_connect] {
                for (field, value) in by_socks.as_object().unwrap() {
                    let own = ["ts", "seq", "id", "actor", "protocol", "status"];
                    if !own.contains(&field.as_str()) {
                        assert_eq!(*value, other[field], "{field}: {by_socks}\n{other}");
                    }
                }
            }
        }
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

/// A SOCKS5 request of any kind.
fn request(command: u8, reserved: u8, kind: u8, rest: &[u8]) -> Vec<u8> {
    [&[5, command, reserved, kind], rest].concat()
}

/// A SOCKS5 request for a name of any bytes.
fn named(name: &[u8], port: u16) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    request(1, 0, 3, &[&[length], name, &port.to_be_bytes()].concat())
}

#[test]
fn what_it_does_not_do_gets_the_code_for_that() {
    bed(|bed| {
        let moat = bed.moat().start();
        let origin = [127, 0, 0, 2, 0, 7];
        let long = ["a".repeat(63).as_str(); 4].join(".");
        let cases = [
            // BIND, UDP ASSOCIATE, and what does not exist.
            (request(2, 0, 1, &origin), 7),
            (request(3, 0, 1, &origin), 7),
            (request(0, 0, 1, &origin), 7),
            (request(0xf0, 0, 3, b"\x0callowed.test\x01\xbb"), 7),
            // Address types that do not exist.
            (request(1, 0, 0, &origin), 8),
            (request(1, 0, 2, &origin), 8),
            (request(1, 0, 9, &origin), 8),
            // A reserved byte that is used.
            (request(1, 1, 1, &origin), 1),
            // Another version in the middle.
            ([&[4, 1, 0, 1], &origin[..]].concat(), 1),
            // Port 0.
            (request(1, 0, 1, &[127, 0, 0, 2, 0, 0]), 1),
            (named(b"allowed.test", 0), 1),
            // Names that are none.
            (named(b"", 443), 1),
            (named(b".", 443), 1),
            (named(b"allowed..test", 443), 1),
            (named(b".allowed.test", 443), 1),
            (named(b"allowed.test..", 443), 1),
            (named(b"denied.test\0.allowed.test", 443), 1),
            (named(b"a\x1b[2Kb.allowed.test", 443), 1),
            (named(b"allowed.test:443", 443), 1),
            (named(b"a@allowed.test", 443), 1),
            (named(b"b\xc3\xbccher.allowed.test", 443), 1),
            (named(long.as_bytes(), 443), 1),
            (named(b"[allowed.test]", 443), 1),
            (named(b"2130706433", 80), 1),
            (named(b"0x7f.1", 80), 1),
            (named(b"127.1", 80), 1),
            // Addresses in the guise of names.
            (named(b"127.0.0.1", 80), 2),
            (named(b"[::1]", 80), 2),
            (named(b"[::ffff:127.0.0.1]", 80), 2),
            (named(b"LOCALHOST.", 80), 2),
            (named(b"MAL.Test.", 443), 2),
        ];
        for (at, (request, code)) in cases.iter().enumerate() {
            moat.count(1);
            let mut client = moat.dial();
            assert_eq!(client.send(GREETING).exactly(2), [5, 0]);
            let reply = client.send(request).rest();
            let expected = vec![5, *code, 0, 1, 0, 0, 0, 0, 0, 0];
            assert_eq!(reply, (expected, End::Closed), "{request:?}");
            assert_eq!(nth_decision(&moat, at)["status"], *code, "{request:?}");
        }
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        for (name, port) in [("ALLOWED.Test.", 443), ("127.0.0.2", 7)] {
            assert_eq!(moat.socks(name, port), 0, "{name}");
        }
        moat.finish();
    });
}

#[test]
fn what_is_no_handshake_is_told_so_and_recorded() {
    bed(|bed| {
        let moat = bed.moat().flag("--head-timeout", "1s").start();
        let rejected = [0, 91, 0, 0, 0, 0, 0, 0];
        let cases: &[(&[u8], &[u8], &str)] = &[
            // Versions 4 and 4a.
            (&[4, 1, 0, 7, 127, 0, 0, 2, 0], &rejected, "malformed"),
            (
                b"\x04\x01\x01\xbb\0\0\0\x01\0allowed.test\0",
                &rejected,
                "malformed",
            ),
            // No method, and none that is served: GSSAPI, name and password, a private one.
            (&[5, 0], &[5, 0xff], "malformed"),
            (&[5, 1, 1], &[5, 0xff], "malformed"),
            (&[5, 1, 2], &[5, 0xff], "malformed"),
            (&[5, 3, 1, 2, 0x80], &[5, 0xff], "malformed"),
            // What stops in the middle.
            (&[5], &[], "timeout"),
            (&[5, 2, 2], &[], "timeout"),
            (&[5, 1, 0, 5, 1, 0], &[5, 0], "timeout"),
            (&[5, 1, 0, 5, 1, 0, 3, 12, b'a'], &[5, 0], "timeout"),
        ];
        for (at, (bytes, said, cause)) in cases.iter().enumerate() {
            moat.count(1);
            let mut client = moat.dial();
            client.send(bytes);
            assert_eq!(client.rest(), (said.to_vec(), End::Closed), "{bytes:?}");
            let record = nth_decision(&moat, at);
            assert_eq!(record["protocol"], "socks5", "{record}");
            assert_eq!(record["cause"], *cause, "{bytes:?}: {record}");
            assert_eq!(record["host"], Value::Null, "{record}");
            // The greeting's reply says nothing of a refusal.
            let told = said.get(1).filter(|code| **code != 0);
            assert_eq!(record["status"].as_u64(), told.map(|code| u64::from(*code)));
        }
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

/// One of the decisions in their order, once it is written.
fn nth_decision(moat: &Moat, at: usize) -> Value {
    wait_for("the decision", || {
        let records = moat.records().into_iter();
        let mut decisions = records.filter(|record| record["event"] == "decision");
        decisions.nth(at)
    })
}
