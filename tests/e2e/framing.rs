//! Where a message ends: one reading, or a refusal.

use std::time::Duration;

use crate::support::client::Client;
use crate::support::origin::After;
use crate::support::wait::pace;
use crate::support::{Bed, Moat, bed};

const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: denied.test\r\n\r\n";
const FAKE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nFAKE";
const LENGTHS: &str = "Content-Length: 5\r\nTransfer-Encoding: chunked";
const PLAIN: &str = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n";

/// A connection on which one request was refused already, so that no origin has seen any.
fn later(moat: &Moat) -> Client {
    moat.count(1);
    let mut client = moat.dial();
    let first = "GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n";
    assert_eq!(client.send(first).answer().status(), 403);
    client
}

/// Wants one refusal and an end for each of these requests, as the first request of a connection
/// and as a later one.
fn refuses_each(bed: &Bed, requests: &[String]) {
    let moat = bed.moat().start();
    for request in requests {
        for mut client in [moat.dial(), later(&moat)] {
            moat.count(1);
            let (said, _) = client.send(request).rest();
            let said = String::from_utf8_lossy(&said);
            assert!(said.starts_with("HTTP/1.1 400 "), "{request:?}: {said}");
            assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{request:?}: {said}");
            assert!(said.contains("\r\nConnection: close\r\n"), "{said}");
        }
    }
    assert_eq!(bed.origins.connections(), 0);
    assert_eq!(bed.dns.queries(), []);
    let records = moat.records();
    let mut judged = records
        .iter()
        .filter(|record| record["event"] == "decision");
    let causes = ["malformed", "default"].map(serde_json::Value::from);
    assert!(judged.all(|record| causes.contains(&record["cause"])));
    moat.finish();
}

/// The same for what follows a request line and a Host, in a plain request and in a CONNECT.
fn refuses_after_host(bed: &Bed, rests: &[String]) {
    let starts = [
        "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n",
        "CONNECT svc.allowed.test:7 HTTP/1.1\r\nHost: svc.allowed.test:7\r\n",
    ];
    let requests = rests
        .iter()
        .flat_map(|rest| starts.map(|start| format!("{start}{rest}")));
    refuses_each(bed, &requests.collect::<Vec<_>>());
}

#[test]
fn content_length_with_transfer_encoding_is_malformed() {
    bed(|bed| {
        let both = [
            LENGTHS,
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "TRANSFER-ENCODING: chunked\r\nX: y\r\ncontent-length: 0",
        ];
        let rests = both.map(|both| format!("{both}\r\n\r\n0\r\n\r\n{HIDDEN}"));
        refuses_after_host(bed, &rests);
    });
}

#[test]
fn a_transfer_encoding_other_than_chunked_is_malformed() {
    bed(|bed| {
        let fields = [
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: chunked, gzip",
            "Transfer-Encoding: chunked,",
            "Transfer-Encoding: chunked;q=1",
            "Transfer-Encoding: \"chunked\"",
            "Transfer-Encoding: identity",
            "Transfer-Encoding: identity, chunked",
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding: chunk",
            "Transfer-Encoding: chu\u{212a}ed",
            "Transfer-Encoding:",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding : chunked",
            "Transfer-Encoding\t: chunked",
            " Transfer-Encoding: chunked",
            "X: y\r\n Transfer-Encoding: chunked",
            "Transfer-Encoding: chunked\u{b}",
            "Transfer-Encoding:\r\n chunked",
        ];
        let mut rests = fields
            .map(|field| format!("{field}\r\n\r\n0\r\n\r\n"))
            .to_vec();
        rests.push(format!("Transfer-Encoding: chunked\n\n0\r\n\r\n{HIDDEN}"));
        refuses_after_host(bed, &rests);
    });
}

#[test]
fn a_repeated_or_malformed_content_length_is_refused() {
    bed(|bed| {
        let mut rests = ["0\r\nContent-Length: 40", "2\r\ncontent-length: 2"]
            .map(|lengths| format!("Content-Length: {lengths}\r\n\r\n{HIDDEN}"))
            .to_vec();
        for value in [
            "2, 2",
            "2,2",
            "2,",
            "",
            "+2",
            "2x",
            "-2",
            "0x2",
            "2.0",
            "2 2",
            "\"2\"",
            "\u{662}",
            "99999999999999999999999",
            "18446744073709551616",
        ] {
            rests.push(format!("Content-Length: {value}\r\n\r\nok"));
        }
        rests.push("Content-Length : 2\r\n\r\nok".to_owned());
        refuses_after_host(bed, &rests);
    });
}

#[test]
fn folded_headers_and_bare_line_ends_are_malformed() {
    bed(|bed| {
        let rests = [
            "Content-Length:\r\n 2\r\n\r\nok",
            "X: a\r\n Transfer-Encoding: chunked\r\n\r\n",
            "X: a\r\n\tfolded\r\n\r\n",
            "X: a\r\n \r\n\r\n",
            "X: a\rHost: denied.test\r\n\r\n",
            "X: a\r\r\n\r\n",
            "X: a\nContent-Length: 0\r\n\r\n",
            "X: a\n\n",
            "X: a\0b\r\n\r\n",
            "X\0: a\r\n\r\n",
            "X: \u{1b}[31m\r\n\r\n",
            "X : a\r\n\r\n",
            ": a\r\n\r\n",
            "X\r\n\r\n",
            "X(y): a\r\n\r\n",
        ];
        refuses_after_host(bed, &rests.map(str::to_owned));
    });
}

#[test]
fn a_request_line_that_is_not_http_1_is_malformed() {
    bed(|bed| {
        let url = "http://allowed.test/";
        let lines = [
            format!("GET {url} HTTP/1.2"),
            format!("GET {url} HTTP/2.0"),
            format!("GET {url} HTTP/0.9"),
            format!("GET {url} HTTP/11"),
            format!("GET {url} http/1.1"),
            format!("GET {url} HTTP/1.1 "),
            format!("GET {url} HTTP/1.1 x"),
            format!("GET {url}"),
            format!("GET  {url} HTTP/1.1"),
            format!("GET {url}  HTTP/1.1"),
            format!("GET\t{url}\tHTTP/1.1"),
            format!(" GET {url} HTTP/1.1"),
            format!("\r\n\r\nGET {url} HTTP/1.1"),
            format!("\nGET {url} HTTP/1.1"),
            format!("G(T {url} HTTP/1.1"),
            format!("GET: {url} HTTP/1.1"),
            // Methods have a case, and this one is no CONNECT.
            "connect allowed.test:443 HTTP/1.1".to_owned(),
            format!("CONNECT {url} HTTP/1.1"),
            "PRI * HTTP/2.0\r\n\r\nSM".to_owned(),
        ];
        let requests = lines.map(|line| format!("{line}\r\nHost: allowed.test\r\n\r\n"));
        refuses_each(bed, &requests);
    });
}

#[test]
fn empty_lines_in_front_are_counted_however_they_arrive() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (lines, status) in [(1, 200), (2, 400)] {
            moat.count(2);
            let whole = "\r\n".repeat(lines) + PLAIN;
            assert_eq!(moat.dial().send(&whole).answer().status(), status);
            let mut client = moat.dial();
            for byte in whole.as_bytes() {
                client.send([*byte]);
                pace(Duration::from_millis(1));
            }
            assert_eq!(client.answer().status(), status, "{lines} in pieces");
        }
        moat.finish();
    });
}

#[test]
fn a_method_reaches_the_origin_as_sent() {
    bed(|bed| {
        let moat = bed.moat().start();
        let methods = ["get", "pOST", "M-SEARCH", "BREW", "!#$%&'*+-.^_`|~0z"];
        for method in methods {
            let head = format!("{method} http://allowed.test/ HTTP/1.1\r\nHost: allowed.test");
            assert_eq!(moat.raw(format!("{head}\r\n\r\n")).status(), 200);
        }
        let requests = bed.origins.requests();
        let seen: Vec<_> = requests.iter().map(|one| one.method.as_str()).collect();
        assert_eq!(seen, methods);
        let record = moat.decision("allowed.test");
        assert_eq!(record["method"], "OTHER", "{record}");
        moat.finish();
    });
}

#[test]
fn garbage_in_chunks_ends_the_connection() {
    bed(|bed| {
        let moat = bed.moat().start();
        let long = format!("1;{}\r\nZ\r\n0\r\n\r\n", "x".repeat(300));
        let folded = "0\r\nX: a\r\n Host: denied.test\r\n\r\n";
        for body in [
            "1zz\r\nZ\r\n0\r\n\r\n",
            " 1\r\nZ\r\n0\r\n\r\n",
            "1 \r\nZ\r\n0\r\n\r\n",
            "1 ;x\r\nZ\r\n0\r\n\r\n",
            "\t1\r\nZ\r\n0\r\n\r\n",
            "-1\r\nZ\r\n0\r\n\r\n",
            "+1\r\nZ\r\n0\r\n\r\n",
            "0x1\r\nZ\r\n0\r\n\r\n",
            "1_0\r\nZ\r\n0\r\n\r\n",
            "ffffffffffffffffff\r\nZ\r\n0\r\n\r\n",
            "\r\nZ\r\n0\r\n\r\n",
            ";x\r\nZ\r\n0\r\n\r\n",
            "1\nZ\r\n0\r\n\r\n",
            "1\rZ\r\n0\r\n\r\n",
            "1;x\ry\r\nZ\r\n0\r\n\r\n",
            "1;x\0\r\nZ\r\n0\r\n\r\n",
            &long,
            // The size is too small, and the line end is half a one.
            "1\r\nZZ\r\n0\r\n\r\n",
            "1\r\nZ\n0\r\n\r\n",
            "1\r\nZ\r0\r\n\r\n",
            // The first chunk is fine.
            "1\r\nZ\r\n1zz\r\nZ\r\n0\r\n\r\n",
            // Trailers are fields.
            folded,
            "0\r\nX : a\r\n\r\n",
            "0\r\nX: a\n\r\n",
            "0\r\nX: a\rb\r\n\r\n",
            "0\r\nX\r\n\r\n",
            "0\r\n\n",
        ] {
            let head = "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n";
            let framing = "Transfer-Encoding: chunked\r\n\r\n";
            let said = moat.raw_to_end(format!("{head}{framing}{body}{HIDDEN}"));
            assert!(said.starts_with("HTTP/1.1 400 "), "{body:?}: {said}");
            assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{body:?}: {said}");
        }
        assert_eq!(bed.origins.requests().len(), 0);
        let seen = bed.origins.everything();
        for bad in ["1zz", "0x1", "ffff", "hidden", "denied.test"] {
            assert!(!seen.contains(bad), "{bad}: {seen}");
        }
        moat.finish();
    });
}

#[test]
fn chunks_are_written_anew() {
    bed(|bed| {
        let moat = bed.moat().start();
        let head = "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n";
        let body = "2;a=\"b;c\"\r\nhe\r\n0003\r\nllo\r\nA\r\n0123456789\r\n000;z\r\n\r\n";
        let answer = moat.raw(format!("{head}Transfer-Encoding: Chunked\r\n\r\n{body}"));
        assert_eq!(answer.status(), 200);
        assert_eq!(bed.origins.requests()[0].body, b"hello0123456789");
        assert_eq!(
            bed.origins.requests()[0].header("transfer-encoding"),
            Some("chunked")
        );
        assert!(!bed.origins.everything().contains(';'));
        moat.finish();
    });
}

#[test]
fn a_request_inside_a_refused_body_is_not_a_request() {
    bed(|bed| {
        let moat = bed.moat().start();
        let hidden = "GET http://allowed.test/hidden HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
        let (size, hex) = (hidden.len(), format!("{:x}", hidden.len()));
        let mut client = moat.dial();
        moat.count(2);
        let head = "POST http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n";
        client.send(format!(
            "{head}Content-Length: {size}\r\n\r\n{hidden}{PLAIN}"
        ));
        assert_eq!(client.answer().status(), 403);
        assert_eq!(client.answer().status(), 200);
        for rest in [
            format!("Transfer-Encoding: chunked\r\n\r\n{hex}\r\n{hidden}\r\n0\r\n\r\n"),
            format!("Content-Length: {size}\r\nExpect: 100-continue\r\n\r\n{hidden}"),
            format!("Content-Length: 9999999\r\n\r\n{hidden}"),
        ] {
            let said = moat.raw_to_end(format!("{head}{rest}"));
            assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
            assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
        }
        assert!(!bed.origins.everything().contains("hidden"));
        moat.finish();
    });
}

/// Sends a request for `/`, which the origin answers with `bytes`, and a second one behind it.
/// Gives the first answer and wants the second to be the origin's own, and the connection that
/// brought the first to be used no more.
fn before_another(bed: &Bed, method: &str, bytes: &str) -> (u16, String) {
    bed.origins.answer("/first", bytes, After::Keep);
    // One worker, so that a connection that is kept would be used again.
    let moat = bed.moat().flag("--workers", "1").start();
    let first =
        format!("{method} http://allowed.test/first HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
    let other = PLAIN.replace("allowed.test", "other-allowed.test");
    moat.count(3);
    let mut client = moat.dial();
    client.send([&first, &other, PLAIN].concat());
    let answer = client.answer_to(method);
    for host in ["other-allowed.test", "allowed.test"] {
        let second = client.answer();
        assert_eq!(second.status(), 200, "{bytes:?}");
        assert!(
            second.text().contains(&format!("host {host} ")),
            "{bytes:?}"
        );
    }
    let seen = bed.origins.requests();
    assert_eq!(seen.len(), 3, "{bytes:?}");
    let arrived = bed.origins.arrived(80);
    assert_eq!(arrived.len(), 3, "{bytes:?}: a connection was used again");
    moat.finish();
    bed.origins.forget();
    std::fs::remove_file(bed.directory().join("audit.jsonl")).unwrap();
    (answer.status(), answer.text())
}

#[test]
fn an_answer_of_two_readings_is_a_bad_gateway() {
    bed(|bed| {
        for head in [
            "Content-Length: 3\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 3",
            "Content-Length: 5\r\nContent-Length: 5",
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: 5, 5",
            "Content-Length: +5",
            "Content-Length: 5x",
            "Content-Length:",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: identity",
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding : chunked",
            "Content-Length : 5",
            "Content-Length:\r\n 5",
            "X: a\rContent-Length: 5",
            "X: a\0b\r\nContent-Length: 5",
        ] {
            for method in ["GET", "HEAD"] {
                let bytes = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n0\r\n\r\n{FAKE}");
                let (status, text) = before_another(bed, method, &bytes);
                assert_eq!(status, 502, "{method} {head:?}");
                assert!(!text.contains("FAKE"), "{method} {head:?}: {text}");
            }
        }
        for line in ["HTTP/1.2 200 OK", "HTTP/2.0 200 OK", "ICY 200 OK", "200 OK"] {
            let bytes = format!("{line}\r\nContent-Length: 2\r\n\r\nok{FAKE}");
            assert_eq!(before_another(bed, "GET", &bytes).0, 502, "{line}");
        }
        let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(before_another(bed, "GET", &format!("{old}{FAKE}")).0, 502);
    });
}

#[test]
fn an_answer_nobody_asked_for_is_never_delivered() {
    bed(|bed| {
        for (method, bytes, status, body) in [
            ("GET", "200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok"),
            (
                "GET",
                "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
                200,
                "ok",
            ),
            ("GET", "204 No\r\nContent-Length: 4\r\n\r\nFAKE", 204, ""),
            ("GET", "304 No\r\nContent-Length: 4\r\n\r\nFAKE", 304, ""),
            (
                "GET",
                "204 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nFAKE\r\n0\r\n\r\n",
                204,
                "",
            ),
            ("HEAD", "200 OK\r\nContent-Length: 4\r\n\r\nFAKE", 200, ""),
            ("HEAD", "200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""),
        ] {
            let bytes = format!("HTTP/1.1 {bytes}{FAKE}");
            let answer = before_another(bed, method, &bytes);
            assert_eq!(answer, (status, body.to_owned()), "{method} {bytes:?}");
        }
    });
}

#[test]
fn an_origin_that_only_announces_is_given_up() {
    bed(|bed| {
        let early = "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n";
        let many = early.repeat(1000) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        bed.origins.answer("/many", &many, After::Keep);
        bed.origins.on("/endless", move |stream, _| {
            while stream.write_all(early.as_bytes()).is_ok() {}
            After::Close
        });
        let moat = bed.moat().start();
        assert_eq!(moat.get("allowed.test/many").text(), "ok");
        assert_eq!(moat.get("allowed.test/endless").status(), 502);
        let close = moat.wait_record("close", |close| close["cause"] == "upstream");
        assert_eq!(close["ended_by"], "upstream", "{close}");
        moat.finish();
    });
}
