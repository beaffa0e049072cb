//! The life of a tunnel.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use crate::support::bed;
use crate::support::client::{Client, End};
use crate::support::moat::policy_with;
use crate::support::origin::Tap;
use crate::support::socket;
use crate::support::wait::pace;

const MIB: usize = 1 << 20;

#[test]
fn bytes_that_arrive_with_connect_come_through_once_and_in_order() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        let head = "CONNECT svc.allowed.test:7 HTTP/1.1\r\nHost: svc.allowed.test:7\r\n\r\n";
        client.send(format!("{head}HELLO-EARLY"));
        assert_eq!(client.answer_to("CONNECT").status(), 200);
        assert_eq!(client.exactly(11), b"HELLO-EARLY");
        client.send("late").half_close();
        assert_eq!(client.rest().0, b"late");
        moat.finish();
    });
}

#[test]
fn bytes_behind_a_refused_connect_are_dropped() {
    bed(|bed| {
        let moat = bed.moat().start();
        let second = "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n";
        let said = moat.raw_to_end(format!(
            "CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\
             Proxy-Connection: keep-alive\r\n\r\n{second}"
        ));
        assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
        assert_eq!(bed.origins.connections(), 0);
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
        let (answer, mut client) = moat.tunnel("svc.allowed.test:22");
        assert_eq!(answer.status(), 200);
        assert_eq!(client.exactly(11), b"SSH-2.0-x\r\n");
        assert!(start.elapsed() < Duration::from_secs(1));
        let (code, mut client) = moat.socks_tunnel("svc.allowed.test", 22);
        assert_eq!(code, 0);
        assert_eq!(client.exactly(11), b"SSH-2.0-x\r\n");
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
        let (answer, mut client) = moat.tunnel("svc.allowed.test:9000");
        assert_eq!(answer.status(), 200);
        client.send("req").half_close();
        assert_eq!(client.rest().0.len(), MIB);
        let (code, mut client) = moat.socks_tunnel("svc.allowed.test", 9000);
        assert_eq!(code, 0);
        client.send("req").half_close();
        assert_eq!(client.rest().0.len(), MIB);
        assert_eq!(bed.origins.arrived(9000), [b"req", b"req"]);
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
        let (_, mut client) = moat.tunnel("svc.allowed.test:9002");
        client.send("x");
        assert_eq!(client.rest().1, End::Reset);
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
fn the_answer_to_an_open_tunnel_has_no_body_headers() {
    bed(|bed| {
        let moat = bed.moat().start();
        let (answer, _) = moat.tunnel("allowed.test:443");
        moat.count(1);
        let old = "CONNECT allowed.test:443 HTTP/1.0\r\n\r\n";
        let old = moat.dial().send(old).answer_to("CONNECT");
        for answer in [answer, old] {
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.header("content-length"), None);
            assert_eq!(answer.header("transfer-encoding"), None);
        }
        moat.finish();
    });
}

#[test]
fn the_tunnel_opens_only_once_the_origin_is_connected() {
    bed(|bed| {
        let _full = socket::swallow(([127, 0, 0, 2], 82).into());
        let moat = bed.moat().flag("--connect-timeout", "1s").start();
        let start = Instant::now();
        let (refused, _) = moat.tunnel("svc.allowed.test:81");
        assert_eq!(refused.status(), 502);
        assert!(start.elapsed() < Duration::from_millis(500));
        let (hung, _) = moat.tunnel("svc.allowed.test:82");
        assert_eq!(hung.status(), 504);
        assert!(
            start.elapsed() < Duration::from_millis(2500),
            "{:?}",
            start.elapsed()
        );
        for (answer, cause) in [(refused, "connect"), (hung, "timeout")] {
            let id = answer.header("moat-id").unwrap().to_owned();
            let close = moat.wait_record("close", |record| record["id"] == id.as_str());
            assert_eq!(close["cause"], cause, "{close}");
            assert_eq!(close["effect"], "allow", "{close}");
        }
        moat.finish();
    });
}

#[test]
fn idle_time_counts_for_the_whole_tunnel() {
    bed(|bed| {
        bed.origins.tcp(9001, |mut tap: Tap| {
            for _ in 0..6 {
                pace(Duration::from_millis(300));
                let _ = tap.write_all(b".");
            }
            let _ = tap.read(&mut [0; 64]);
        });
        let moat = bed.moat().flag("--idle-timeout", "1s").start();
        let (_, mut client) = moat.tunnel("svc.allowed.test:9001");
        assert_eq!(client.exactly(6), b"......");
        let start = Instant::now();
        assert_eq!(client.rest().1, End::Reset);
        let silent = start.elapsed();
        assert!(silent > Duration::from_millis(800) && silent < Duration::from_secs(3));
        let close = moat.wait_record("close", |record| record["host"] == "svc.allowed.test");
        assert_eq!(close["ended_by"], "moat", "{close}");
        assert_eq!(close["bytes_down"], 6, "{close}");
        moat.finish();
    });
}

#[test]
fn cleartext_http_in_a_tunnel_to_port_80_names_the_permitted_host() {
    bed(|bed| {
        let moat = bed.moat().start();
        let (_, mut client) = moat.tunnel("allowed.test:80");
        client.send("GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n");
        assert_eq!(client.rest().0, b"");
        assert!(!bed.origins.everything().contains("denied.test"));
        let (_, mut client) = moat.tunnel("allowed.test:80");
        client.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
        assert_eq!(client.answer().status(), 200);
        moat.finish();
    });
}
