//! Plain HTTP as a service: uploads, streams, upgrades, old clients.

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
        let moat = bed.moat().start();
        let head = "PUT http://denied.test/put HTTP/1.1\r\nHost: denied.test\r\n\
                    Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n";
        assert_eq!(moat.raw(head).status(), 403);
        moat.finish();
    });
}

#[test]
fn an_expected_continue_comes_before_the_body() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        client.send(
            "PUT http://allowed.test/put HTTP/1.1\r\nHost: allowed.test\r\n\
             Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n",
        );
        assert_eq!(client.answer().status(), 100);
        client.send(vec![b'x'; 100_000]);
        let answer = client.answer();
        assert_eq!(answer.status(), 200);
        assert!(answer.text().contains("read 100000"), "{}", answer.text());
        moat.finish();
    });
}

#[test]
fn a_websocket_over_plain_http_carries_both_ways() {
    bed(|bed| {
        bed.origins.on("/ws", |stream, _| websocket(stream));
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        client.send(format!(
            "GET http://allowed.test/ws HTTP/1.1\r\n{UPGRADE}early"
        ));
        let answer = client.answer();
        assert_eq!(answer.status(), 101);
        assert_eq!(answer.header("sec-websocket-accept"), Some("xxx"));
        assert_eq!(client.exactly(5), b"early");
        assert_eq!(client.send("late").exactly(4), b"late");
        let seen = &bed.origins.requests()[0];
        assert_eq!(seen.header("upgrade"), Some("websocket"));
        moat.finish();
    });
}

#[test]
fn a_websocket_scheme_is_a_websocket_or_a_hint() {
    bed(|bed| {
        bed.origins.on("/ws", |stream, _| websocket(stream));
        let moat = bed.moat().start();
        let answer = moat.raw(format!("GET ws://allowed.test/ws HTTP/1.1\r\n{UPGRADE}"));
        assert!(
            answer.status() == 101 || answer.status() == 400 && answer.text().contains("http:"),
            "{}{}",
            answer.head,
            answer.text()
        );
        let refused = UPGRADE.replace("allowed.test", "denied.test");
        let refused = moat.raw(format!("GET http://denied.test/ws HTTP/1.1\r\n{refused}"));
        assert_eq!(refused.status(), 403);
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
        let said = moat
            .raw_to_end("GET http://allowed.test/chunked HTTP/1.0\r\nHost: allowed.test\r\n\r\n");
        assert!(said.ends_with("\r\n\r\nhello"), "{said}");
        assert!(!said.to_ascii_lowercase().contains("chunked"), "{said}");
        moat.finish();
    });
}

#[test]
fn a_large_head_passes_up_to_its_limit() {
    bed(|bed| {
        let moat = bed.moat().start();
        let head = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nCookie: ";
        let fits = "a".repeat(16_000);
        assert_eq!(moat.raw(format!("{head}{fits}\r\n\r\n")).status(), 200);
        let huge = "a".repeat(1 << 20);
        moat.count(1);
        let mut client = moat.dial();
        client.send(format!("{head}{huge}\r\n\r\n"));
        let (said, _) = client.rest();
        let said = String::from_utf8_lossy(&said).into_owned();
        // The rest of a head that is too large may meet a closed socket first.
        let fine = ["", "HTTP/1.1 431 ", "HTTP/1.1 400 "];
        assert!(fine.iter().any(|start| said.starts_with(start)), "{said}");
        let many = "X: y\r\n".repeat(101);
        let many = format!("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n{many}\r\n");
        let status = moat.raw(many).status();
        assert!([400, 431].contains(&status), "{status}");
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
