//! The life of a tunnel.

use std::io::{ErrorKind, Read as _, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::bed;
use crate::support::client::{Client, End, socks_target};
use crate::support::moat::policy_with;
use crate::support::origin::{After, Stream, Tap};
use crate::support::socket;
use crate::support::wait::{pace, wait_for};

const MIB: usize = 1 << 20;
const WEBSOCKET: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                         Upgrade: websocket\r\n\r\n";

#[test]
fn bytes_that_arrive_with_the_request_come_through_once_and_in_order() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (door, mut client) in moat.tunnels("svc.allowed.test", 7, "HELLO-EARLY") {
            assert_eq!(client.exactly(11), b"HELLO-EARLY", "{door}");
            client.send("late").half_close();
            assert_eq!(client.rest().0, b"late", "{door}");
        }
        assert_eq!(bed.origins.arrived(7), [b"HELLO-EARLYlate"; 4]);
        moat.finish();
    });
}

#[test]
fn bytes_behind_a_refused_request_for_a_tunnel_are_dropped() {
    bed(|bed| {
        let moat = bed.moat().start();
        let second = "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n";
        for (target, status) in [("denied.test:443", 403), ("denied.test", 400)] {
            let said = moat.raw_to_end(format!(
                "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\
                 Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\n\r\n{second}"
            ));
            let start = format!("HTTP/1.1 {status} ");
            assert!(said.starts_with(&start), "{said}");
            assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
            assert!(said.contains("\r\nConnection: close\r\n"), "{said}");
        }
        moat.count(1);
        let target = socks_target("denied.test", 443);
        let request = [&[5, 1, 0], &*target, second.as_bytes()].concat();
        let (said, _) = moat.dial().send(request).rest();
        assert_eq!(said, [5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bed.origins.connections(), 0);
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn a_refused_connect_is_a_whole_answer_that_says_why() {
    bed(|bed| {
        let moat = bed.moat().start();
        let (answer, mut client) = moat.tunnel("denied.test:443");
        assert_eq!(answer.status(), 403);
        assert_eq!(answer.header("connection"), Some("close"));
        let length = answer
            .header("content-length")
            .unwrap()
            .parse::<usize>()
            .unwrap();
        assert_eq!(answer.body.len(), length);
        assert_eq!(client.rest().0, b"");
        assert!(
            answer.reason().contains("denied.test:443"),
            "{}",
            answer.head
        );
        assert!(
            answer.text().contains("moat allow denied.test"),
            "{}",
            answer.text()
        );
        assert_eq!(answer.header("moat-decision"), Some("deny"));
        assert!(
            answer
                .header("proxy-status")
                .unwrap()
                .starts_with("moat; error=")
        );
        let id = answer.header("moat-id").unwrap();
        assert!(id.len() >= 8, "{id}");
        assert_eq!(moat.decision("denied.test")["id"], id);
        let (rule, _) = moat.tunnel("mal.test:443");
        assert_eq!(rule.header("moat-rule"), Some("denied"));
        assert!(rule.reason().contains("denied"), "{}", rule.head);
        moat.finish();
    });
}

#[test]
fn a_server_that_speaks_first_is_not_held_up() {
    bed(|bed| {
        bed.origins.tcp(22, |mut tap: Tap| {
            let _ = tap.write_all(b"SSH-2.0-x\r\n");
            let _ = tap.read(&mut [0; 64]);
        });
        let moat = bed.moat().start();
        let start = Instant::now();
        for (door, mut client) in moat.tunnels("svc.allowed.test", 22, "") {
            assert_eq!(client.exactly(11), b"SSH-2.0-x\r\n", "{door}");
        }
        assert!(start.elapsed() < Duration::from_secs(1));
        moat.finish();
    });
}

#[test]
fn a_reply_after_a_half_close_arrives_in_full() {
    bed(|bed| {
        bed.origins.tcp(9000, |mut tap: Tap| {
            let mut request = Vec::new();
            let _ = tap.read_to_end(&mut request);
            let _ = tap.write_all(&vec![b'x'; MIB]);
        });
        let moat = bed.moat().start();
        for (door, mut client) in moat.tunnels("svc.allowed.test", 9000, "req") {
            client.half_close();
            assert_eq!(client.rest().0.len(), MIB, "{door}");
        }
        // The end may come before the tunnel is open.
        moat.count(2);
        let target = "svc.allowed.test:9000";
        let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\nreq");
        let mut client = moat.dial();
        client.send(head).half_close();
        assert_eq!(client.answer_to("CONNECT").status(), 200);
        assert_eq!(client.rest().0.len(), MIB);
        let target = socks_target("svc.allowed.test", 9000);
        let mut client = moat.dial();
        client.send([&[5, 1, 0], &*target, b"req"].concat());
        client.half_close();
        assert_eq!(client.rest().0.len(), 12 + MIB);
        assert_eq!(bed.origins.arrived(9000), [b"req"; 6]);
        moat.finish();
    });
}

#[test]
fn a_reset_is_passed_on() {
    bed(|bed| {
        bed.origins.tcp(9002, |mut tap: Tap| {
            let _ = tap.read(&mut [0; 1]);
            let socket = socket2::SockRef::from(&tap.stream);
            socket.set_linger(Some(Duration::ZERO)).unwrap();
        });
        let moat = bed.moat().start();
        for (door, mut client) in moat.tunnels("svc.allowed.test", 9002, "x") {
            assert_eq!(client.rest().1, End::Reset, "{door}");
        }
        moat.finish();
    });
}

#[test]
fn a_tunnel_that_is_cut_looks_whole_to_neither_side() {
    bed(|bed| {
        let (seen, sees) = std::sync::mpsc::sync_channel(8);
        bed.origins.tcp(9003, move |mut tap: Tap| {
            let mut up = vec![0; 9];
            let _ = tap.read_exact(&mut up);
            let _ = tap.write_all(b"half");
            let end = tap.read(&mut [0; 1]).map_err(|error| error.kind());
            seen.send((up, end)).unwrap();
        });
        let moat = bed
            .moat()
            .switch("--recheck")
            .flag("--idle-timeout", "1s")
            .start();
        let half = || {
            let (_, mut client) = moat.tunnel("svc.allowed.test:9003");
            assert_eq!(client.send("also half").exactly(4), b"half");
            client
        };
        let cut = |mut client: Client, why: &str| {
            assert_eq!(client.rest(), (Vec::new(), End::Reset), "{why}");
            let (up, end) = sees.recv().unwrap();
            assert_eq!(up, b"also half", "{why}");
            assert_eq!(end, Err(ErrorKind::ConnectionReset), "{why}");
        };
        cut(half(), "silence");
        let open = half();
        moat.write_policy(&policy_with(&["allowed.test"]));
        moat.reload();
        cut(open, "a new policy");
        moat.finish();
    });
}

#[test]
fn the_answer_to_an_open_tunnel_is_a_status_line_and_nothing_more() {
    bed(|bed| {
        let moat = bed.moat().start();
        for version in ["1.1", "1.0"] {
            moat.count(1);
            let host = "Host: allowed.test:443\r\n".repeat(usize::from(version == "1.1"));
            let request = format!("CONNECT allowed.test:443 HTTP/{version}\r\n{host}\r\n");
            let answer = moat.dial().send(request).answer_to("CONNECT");
            let head = "HTTP/1.1 200 Connection established\r\n\r\n";
            assert_eq!(answer.head, head, "{version}");
        }
        moat.finish();
    });
}

#[test]
fn no_door_says_yes_before_the_origin_is_connected() {
    bed(|bed| {
        let _full = socket::swallow(([127, 0, 0, 2], 82).into());
        let moat = bed.moat().flag("--connect-timeout", "2s").start();
        for (port, status, code, cause, wait) in [
            (81, 502, 5, "connect", Duration::ZERO),
            (82, 504, 6, "timeout", Duration::from_secs(2)),
        ] {
            let start = Instant::now();
            moat.count(3);
            let target = format!("svc.allowed.test:{port}");
            let socks = socks_target("svc.allowed.test", port);
            let mut clients = [
                format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").into_bytes(),
                format!("GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n").into_bytes(),
                [&[5, 1, 0], &*socks].concat(),
            ]
            .map(|request| {
                let mut client = moat.dial();
                client.send(request);
                client
            });
            for client in &mut clients[..2] {
                let answer = client.answer();
                assert_eq!(answer.status(), status, "{}", answer.head);
            }
            assert_eq!(clients[2].exactly(4), [5, 0, 5, code]);
            let took = start.elapsed();
            assert!(
                took >= wait && took < wait + Duration::from_millis(800),
                "{took:?}"
            );
            for protocol in ["connect", "http", "socks5"] {
                let close = moat.wait_record("close", |record| {
                    record["protocol"] == protocol && record["port"] == port
                });
                assert_eq!(close["cause"], cause, "{close}");
                assert_eq!(close["effect"], "allow", "{close}");
                assert_eq!(
                    close["status"],
                    if protocol == "socks5" {
                        code.into()
                    } else {
                        status
                    }
                );
            }
        }
        moat.finish();
    });
}

/// Ten bytes, one a second, and then nothing until the other side ends.
fn drip(stream: &mut dyn Stream) {
    for _ in 0..10 {
        pace(Duration::from_secs(1));
        let _ = stream.write_all(b".");
    }
    let _ = stream.read(&mut [0; 64]);
}

#[test]
fn idle_time_counts_for_the_whole_tunnel() {
    bed(|bed| {
        bed.origins.tcp(9001, |mut tap: Tap| drip(&mut tap));
        bed.origins.tcp(9003, |mut tap: Tap| {
            let _ = tap.read_to_end(&mut Vec::new());
            let _ = tap.write_all(b"end");
        });
        let moat = bed.moat().flag("--idle-timeout", "3s").start();
        // One way is enough, whichever it is.
        let down = moat.tunnels("svc.allowed.test", 9001, "");
        let mut up = moat.tunnels("svc.allowed.test", 9003, "");
        let silent = moat.tunnels("svc.allowed.test", 7, "");
        thread::scope(|scope| {
            for (door, client) in down {
                scope.spawn(move || drips_and_ends(door, client));
            }
            for (door, client) in silent {
                scope.spawn(move || assert_eq!(ends_in_three(door, client), End::Reset));
            }
            for _ in 0..5 {
                for (_, client) in &mut up {
                    client.send("x");
                }
                pace(Duration::from_secs(1));
            }
            for (door, client) in &mut up {
                let rest = client.half_close().rest();
                assert_eq!(rest, (b"end".to_vec(), End::Closed), "{door}");
            }
        });
        assert_eq!(bed.origins.arrived(9003), [b"xxxxx"; 4]);
        for protocol in ["connect", "socks5"] {
            let close = moat.wait_record("close", |record| {
                record["port"] == 9001 && record["protocol"] == protocol
            });
            assert_eq!(close["ended_by"], "moat", "{close}");
            assert_eq!(close["cause"], "timeout", "{close}");
            assert_eq!(close["bytes_down"], 10, "{close}");
        }
        moat.finish();
    });
}

#[test]
fn idle_time_counts_for_what_a_plain_request_opens() {
    bed(|bed| {
        for (path, head) in [
            ("/answer", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"),
            ("/websocket", WEBSOCKET),
        ] {
            bed.origins.on(path, move |stream, _| {
                let _ = stream.write_all(head.as_bytes());
                let mut stream = stream;
                drip(&mut stream);
                After::Close
            });
        }
        let moat = bed.moat().flag("--idle-timeout", "3s").start();
        let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
        thread::scope(|scope| {
            for (path, fields, status) in [("/answer", "", 200), ("/websocket", upgrade, 101)] {
                moat.count(1);
                let mut client = moat.dial();
                let line = format!("GET http://allowed.test{path} HTTP/1.1\r\n");
                client.send(format!("{line}Host: allowed.test\r\n{fields}\r\n"));
                let head = client.head();
                assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
                scope.spawn(move || drips_and_ends(path, client));
            }
        });
        moat.finish();
    });
}

/// Wants all that drips, and then the end.
fn drips_and_ends(door: &str, mut client: Client) {
    assert_eq!(client.exactly(10), b"..........", "{door}");
    let end = ends_in_three(door, client);
    // An answer that lacks a byte does not look whole in any case.
    assert!(end == End::Reset || door == "/answer", "{door}: {end:?}");
}

/// Wants the end of a silent connection at its idle limit of three seconds.
fn ends_in_three(door: &str, mut client: Client) -> End {
    let start = Instant::now();
    let (said, end) = client.rest();
    assert_eq!(said, b"", "{door}");
    let silent = start.elapsed();
    let near = Duration::from_millis(2500)..Duration::from_millis(4500);
    assert!(near.contains(&silent), "{door}: {silent:?}");
    end
}

#[test]
fn cleartext_http_in_a_tunnel_to_port_80_names_the_permitted_host() {
    bed(|bed| {
        let moat = bed.moat().start();
        let mut refused = 0;
        for first in [
            "GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: other-allowed.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: allowed.test:81\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: u@allowed.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost:\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: allowed.test\r\nhost: denied.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: allowed.test\r\nHost : denied.test\r\n\r\n",
            "GET / HTTP/1.1\r\nX: a\rHost: denied.test\r\nHost: allowed.test\r\n\r\n",
            "GET / HTTP/1.1\r\nX: a\nHost: denied.test\r\nHost: allowed.test\r\n\r\n",
            "GET / HTTP/1.1\r\nX: a\r\n Host: allowed.test\r\n\r\n",
            "GET http://denied.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
            "GET http://allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "CONNECT denied.test:443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "SSH-2.0-x\r\n\r\n",
            "\r\nGET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        ] {
            for (door, mut client) in moat.tunnels("allowed.test", 80, first) {
                assert_eq!(client.rest().0, b"", "{door} {first:?}");
                refused += 1;
            }
        }
        wait_for("a refusal for each", || {
            let records = moat.records();
            let ours = records.iter().filter(|record| record["cause"] == "host");
            let decisions = ours.filter(|record| record["event"] == "decision");
            (decisions.count() == refused).then_some(())
        });
        assert_eq!(bed.origins.everything(), "");
        let first = "GET / HTTP/1.1\r\nHost: ALLOWED.test.:80\r\n\r\n";
        for (door, mut client) in moat.tunnels("allowed.test", 80, first) {
            assert_eq!(client.answer().status(), 200, "{door}");
        }
        moat.finish();
    });
}
