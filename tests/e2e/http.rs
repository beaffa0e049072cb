//! Plain HTTP as a service: uploads, streams, upgrades, old clients.

use std::io::{Read as _, Write as _};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::bed;
use crate::support::origin::{After, Stream};

const ACCEPT: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                      Connection: Upgrade\r\nSec-WebSocket-Accept: xxx\r\n\r\n";

const UPGRADE: &str = "Host: allowed.test\r\nConnection: keep-alive, Upgrade\r\n\
                       Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: bW9hdC10ZXN0LW5vbmNlIQ==\r\n\r\n";

/// Accepts the upgrade and sends back what comes.
fn websocket(stream: &mut dyn Stream) -> After {
    let _ = stream.write_all(ACCEPT.as_bytes());
    let mut buffer = [0; 4096];
    while let Ok(count) = stream.read(&mut buffer) {
        if count == 0 || stream.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    After::Close
}

#[test]
fn a_refused_upload_is_refused_before_its_body() {
    bed(|bed| {
        bed.dns.set("inside.allowed.test", "A 10.0.0.5");
        let moat = bed.moat().start();
        for host in ["denied.test", "mal.test", "10.0.0.5", "inside.allowed.test"] {
            for framing in ["Content-Length: 100000", "Transfer-Encoding: chunked"] {
                moat.count(1);
                let mut client = moat.dial();
                client.send(format!(
                    "PUT http://{host}/put HTTP/1.1\r\nHost: {host}\r\n\
                     {framing}\r\nExpect: 100-continue\r\n\r\n"
                ));
                assert_eq!(client.answer().status(), 403, "{host} {framing}");
                // The body was asked of nobody, so nothing more can be read here.
                assert_eq!(client.rest().0, b"", "{host} {framing}");
            }
        }
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn an_expected_continue_comes_before_the_body() {
    bed(|bed| {
        let moat = bed.moat().start();
        let sized = vec![b'x'; 100_000];
        let chunked = [b"186a0\r\n".as_slice(), &sized, b"\r\n0\r\n\r\n"].concat();
        for (framing, body) in [
            ("Content-Length: 100000", sized),
            ("Transfer-Encoding: chunked", chunked),
        ] {
            for word in ["100-continue", "100-Continue"] {
                moat.count(1);
                let start = Instant::now();
                let mut client = moat.dial();
                client.send(format!(
                    "PUT http://allowed.test/put HTTP/1.1\r\nHost: allowed.test\r\n\
                     {framing}\r\nExpect: {word}\r\n\r\n"
                ));
                assert_eq!(client.answer().status(), 100, "{framing} {word}");
                client.send(&body);
                let answer = client.answer();
                assert_eq!(answer.status(), 200);
                assert!(answer.text().contains("read 100000"), "{}", answer.text());
                assert!(start.elapsed() < Duration::from_secs(1), "{framing} {word}");
            }
        }
        moat.finish();
    });
}

#[test]
fn an_upload_ends_with_the_status_of_the_origin() {
    bed(|bed| {
        // It answers before the body and without a 100.
        bed.origins.tcp(8000, |mut tap| {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                tap.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            let said = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno";
            let _ = tap.write_all(said.as_bytes());
        });
        let moat = bed.moat().start();
        moat.count(1);
        let start = Instant::now();
        let mut client = moat.dial();
        client.send(
            "PUT http://svc.allowed.test:8000/put HTTP/1.1\r\nHost: svc.allowed.test:8000\r\n\
             Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n",
        );
        let mut answer = client.answer();
        if answer.status() == 100 {
            answer = client.answer();
        }
        assert_eq!(answer.status(), 417, "{}", answer.head);
        assert!(start.elapsed() < Duration::from_secs(1));
        moat.finish();
    });
}

#[test]
fn a_websocket_over_plain_http_carries_both_ways() {
    bed(|bed| {
        bed.origins.on("/ws", |stream, _| websocket(stream));
        let moat = bed.moat().start();
        let head = format!("GET http://allowed.test/ws HTTP/1.1\r\n{UPGRADE}");
        for (early, late) in [("", "first"), ("early", "late")] {
            moat.count(1);
            let mut client = moat.dial();
            client.send(format!("{head}{early}"));
            let answer = client.answer();
            assert_eq!(answer.status(), 101);
            assert_eq!(answer.header("sec-websocket-accept"), Some("xxx"));
            assert_eq!(client.exactly(early.len()), early.as_bytes());
            assert_eq!(client.send(late).exactly(late.len()), late.as_bytes());
            client.half_close();
            client.rest();
        }
        let seen = &bed.origins.requests()[0];
        assert_eq!(seen.header("upgrade"), Some("websocket"));
        assert_eq!(seen.header("connection"), Some("Upgrade"));
        let close = moat.wait_record("close", |record| record["bytes_up"] == 9);
        assert_eq!(close["bytes_down"], 9, "{close}");
        moat.finish();
    });
}

#[test]
fn a_websocket_scheme_is_a_websocket() {
    bed(|bed| {
        bed.origins.on("/ws", |stream, _| websocket(stream));
        let moat = bed.moat().start();
        // Without a key, as the origin may want it.
        let ask = |url: &str, host: &str| {
            moat.count(1);
            let mut client = moat.dial();
            client.send(format!(
                "GET {url} HTTP/1.1\r\nHost: {host}\r\n\
                 Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            ));
            (client.answer(), client)
        };
        for url in ["ws://allowed.test/ws", "WS://allowed.test:80/ws"] {
            let (answer, mut client) = ask(url, "allowed.test");
            assert_eq!(answer.status(), 101, "{url}: {}", answer.head);
            assert_eq!(client.send("both ways").exactly(9), b"both ways");
        }
        let (answer, _) = ask("wss://allowed.test/ws", "allowed.test");
        assert_eq!(answer.status(), 400, "{}", answer.head);
        assert!(answer.text().contains("CONNECT"), "{}", answer.text());
        for scheme in ["ws", "http"] {
            let (answer, _) = ask(&format!("{scheme}://denied.test/ws"), "denied.test");
            assert_eq!(answer.status(), 403, "{scheme}");
        }
        assert_eq!(bed.origins.connections(), 2);
        moat.finish();
    });
}

#[test]
fn an_upgrade_nobody_asked_for_is_a_bad_gateway() {
    bed(|bed| {
        bed.origins.on("/", |stream, _| websocket(stream));
        let moat = bed.moat().ordinary(502).start();
        assert_eq!(moat.get("allowed.test/").status(), 502);
        moat.finish();
    });
}

#[test]
fn an_upgrade_to_http2_is_not_passed_on() {
    bed(|bed| {
        let moat = bed.moat().start();
        let answer = moat.raw(
            "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\
             Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
        );
        assert_eq!(answer.status(), 200);
        assert_eq!(bed.origins.requests()[0].header("upgrade"), None);
        assert_eq!(bed.origins.requests()[0].header("http2-settings"), None);
        moat.finish();
    });
}

#[test]
fn each_event_of_a_stream_arrives_at_once() {
    bed(|bed| {
        let (next, events) = sync_channel::<()>(1);
        let events = Arc::new(Mutex::new(events));
        bed.origins.on("/sse", move |stream, _| {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            while events.lock().unwrap().recv().is_ok() {
                let _ = stream.write_all(b"data: x\n\n");
            }
            After::Close
        });
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        client.send("GET http://allowed.test/sse HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
        let mut heard = String::new();
        for count in 1..=5 {
            next.send(()).unwrap();
            let start = Instant::now();
            while heard.matches("data: x\n\n").count() < count {
                heard.push(char::from(client.exactly(1)[0]));
            }
            assert!(start.elapsed() < Duration::from_millis(200));
        }
        drop(next);
        moat.finish();
    });
}

#[test]
fn an_old_client_gets_a_body_without_chunks_and_an_end() {
    bed(|bed| {
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        bed.origins.answer("/chunked", chunked, After::Keep);
        let moat = bed.moat().start();
        for fields in [
            "Host: allowed.test\r\n",
            "",
            "Host: allowed.test\r\nConnection: keep-alive\r\n",
        ] {
            let head = format!("GET http://allowed.test/chunked HTTP/1.0\r\n{fields}\r\n");
            let said = moat.raw_to_end(head);
            assert!(said.starts_with("HTTP/1.0 200 "), "{said}");
            assert!(said.ends_with("\r\n\r\nhello"), "{said}");
            assert!(!said.to_ascii_lowercase().contains("chunked"), "{said}");
        }
        moat.finish();
    });
}

#[test]
fn a_large_head_passes_up_to_its_limit() {
    bed(|bed| {
        let moat = bed.moat().start();
        let fits = "a".repeat(16_000);
        let huge = "a".repeat(1_000_000);
        let many = "X: y\r\n".repeat(101);
        let get = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n";
        let connect = "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n";
        for (head, method) in [(get, "GET"), (connect, "CONNECT")] {
            moat.count(1);
            let mut client = moat.dial();
            client.send(format!("{head}Cookie: {fits}\r\n\r\n"));
            assert_eq!(client.answer_to(method).status(), 200, "{method}");
            for fields in [&format!("Cookie: {huge}\r\n"), &many] {
                let said = moat.raw_to_end(format!("{head}{fields}\r\n"));
                assert!(said.starts_with("HTTP/1.1 431 "), "{method}: {said}");
            }
        }
        for line in [format!("GET http://allowed.test/{huge} HTTP/1.1"), huge] {
            let said = moat.raw_to_end(format!("{line}\r\n\r\n"));
            assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
        }
        moat.finish();
    });
}

#[test]
fn heads_without_an_end_are_not_kept() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.get("allowed.test/").status(), 200);
        let before = moat.resident();
        let head = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nCookie: ";
        let mut clients: Vec<_> = (0..50).map(|_| moat.dial()).collect();
        let part = "a".repeat(100_000);
        for client in &mut clients {
            moat.count(1);
            client.send(head);
        }
        for _ in 0..10 {
            for client in &mut clients {
                client.send(&part);
            }
        }
        // 50 MB were sent.
        let grown = moat.resident().saturating_sub(before);
        assert!(grown < 10_000, "{grown} KiB more");
        for client in &mut clients {
            let (said, _) = client.rest();
            assert!(said.starts_with(b"HTTP/1.1 431 "));
        }
        moat.finish();
    });
}

#[test]
fn a_large_body_streams_both_ways() {
    bed(|bed| {
        bed.origins.on("/echo", |stream, request| {
            let length = request.body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&request.body);
            After::Keep
        });
        let moat = bed.moat().start();
        let size = 8 << 20;
        let head = format!(
            "POST http://allowed.test/echo HTTP/1.1\r\nHost: allowed.test\r\n\
             Content-Length: {size}\r\n\r\n"
        );
        let mut request = head.into_bytes();
        request.resize(request.len() + size, b'x');
        assert_eq!(moat.raw(request).body.len(), size);
        moat.finish();
    });
}

#[test]
fn connections_are_kept_on_both_sides() {
    bed(|bed| {
        let moat = bed.moat().flag("--workers", "1").start();
        let mut client = moat.dial();
        for _ in 0..20 {
            moat.count(1);
            client.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
            assert_eq!(client.answer().status(), 200);
        }
        assert_eq!(bed.origins.arrived(80).len(), 1);
        moat.finish();
    });
}

#[test]
fn trailers_and_head_requests_keep_their_framing() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.count(2);
        let mut client = moat.dial();
        client.send("HEAD http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
        assert_eq!(client.answer_to("HEAD").status(), 200);
        client.send(
            "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\
             Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
        );
        let answer = client.answer();
        assert!(answer.text().contains("read 5"), "{}", answer.text());
        moat.finish();
    });
}

#[test]
fn an_origin_that_dies_is_a_bad_gateway() {
    bed(|bed| {
        bed.origins.answer("/dies", "", After::Close);
        bed.origins
            .answer("/garbage", "nonsense\r\n\r\n", After::Close);
        let moat = bed.moat().start();
        assert_eq!(moat.get("allowed.test/dies").status(), 502);
        assert_eq!(moat.get("allowed.test/garbage").status(), 502);
        moat.finish();
    });
}

#[test]
fn an_origin_that_dies_in_the_middle_does_not_look_whole() {
    bed(|bed| {
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
        bed.origins.answer("/half", half, After::Close);
        let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
        bed.origins.answer("/chunk", chunk, After::Close);
        let moat = bed.moat().start();
        for path in ["/half", "/chunk"] {
            let request =
                format!("GET http://allowed.test{path} HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
            let said = moat.raw_to_end(request);
            assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
            assert!(!said.ends_with("0\r\n\r\n"), "{said}");
        }
        let broken = moat.wait_record("close", |record| record["cause"] == "upstream");
        assert_eq!(broken["ended_by"], "upstream", "{broken}");
        moat.finish();
    });
}

#[test]
fn a_refused_request_keeps_the_connection() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.count(2);
        let mut client = moat.dial();
        let body = "x".repeat(1000);
        client.send(format!(
            "POST http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\
             Content-Length: 1000\r\n\r\n{body}"
        ));
        assert_eq!(client.answer().status(), 403);
        client.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
        assert_eq!(client.answer().status(), 200);
        moat.finish();
    });
}
