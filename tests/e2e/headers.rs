//! Headers that mean one hop only.

use crate::support::origin::{After, Request};
use crate::support::{Moat, bed};

/// A plain request with these fields behind its Host.
fn with(method: &str, fields: &str) -> String {
    format!("{method} http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n{fields}\r\n")
}

/// Neither the records nor what is printed holds any of these.
fn keeps_to_itself(moat: &Moat, secrets: &[&str]) {
    let metrics = moat.admin_get("/metrics").text();
    for text in [moat.log(), format!("{:?}", moat.records()), metrics] {
        for secret in secrets {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn proxy_credentials_stay_at_the_proxy() {
    bed(|bed| {
        let moat = bed.moat().start();
        let fields = "Proxy-Authorization: Basic dTpzZWNyZXQ=\r\nproxy-connection: keep-alive\r\n\
                      Proxy-X: secret\r\nTE: trailers\r\nKeep-Alive: 5\r\n\
                      Authorization: Bearer own\r\nCookie: secret\r\nVia: 1.1 client\r\n";
        let mut client = moat.dial();
        for _ in 0..2 {
            moat.count(1);
            assert_eq!(client.send(with("GET", fields)).answer().status(), 200);
        }
        for request in bed.origins.requests() {
            for name in [
                "proxy-authorization",
                "proxy-connection",
                "proxy-x",
                "te",
                "keep-alive",
            ] {
                assert_eq!(request.header(name), None, "{name}");
            }
            // What the client says to the origin is no business of the proxy's.
            assert_eq!(request.header("authorization"), Some("Bearer own"));
            assert_eq!(request.header("cookie"), Some("secret"));
            assert_eq!(request.header("via"), Some("1.1 client"));
        }
        // Wherever the request ends, its fields are not written down.
        let before = bed.origins.everything();
        let denied = with("GET", fields).replace("allowed.test", "denied.test");
        assert_eq!(moat.raw(denied).status(), 403);
        let folded = with("GET", &format!("{fields}X: y\r\n z\r\n"));
        assert_eq!(moat.raw(folded).status(), 400);
        for (host, status) in [("svc.allowed.test:7", 200), ("denied.test:443", 403)] {
            moat.count(1);
            let head = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
            let mut client = moat.dial();
            assert_eq!(client.send(head).answer_to("CONNECT").status(), status);
            if status == 200 {
                client.half_close();
                assert_eq!(client.rest().0, b"");
            }
        }
        assert_eq!(bed.origins.everything(), before);
        assert_eq!(bed.origins.arrived(7), [b""]);
        keeps_to_itself(&moat, &["dTpzZWNyZXQ", "secret", "Bearer", "trailers"]);
        moat.finish();
    });
}

#[test]
fn paths_queries_and_bodies_are_not_written_down() {
    bed(|bed| {
        let moat = bed.moat().start();
        for host in ["allowed.test", "denied.test", "user:secret@allowed.test"] {
            moat.count(1);
            let url = format!("http://{host}/secret?token=secret");
            let head = format!("POST {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 6\r\n\r\n");
            moat.dial().send(format!("{head}secret")).answer();
        }
        assert_eq!(bed.origins.requests().len(), 1);
        keeps_to_itself(&moat, &["secret", "token"]);
        moat.finish();
    });
}

#[test]
fn headers_that_connection_names_are_removed_both_ways() {
    bed(|bed| {
        let moat = bed.moat().start();
        for connection in [
            "Connection: X-Hop, keep-alive\r\n",
            "Connection: x-hop\r\n",
            "CONNECTION: keep-alive\r\nConnection: X-HOP\r\n",
            "Connection: close, ,X-Hop,,\r\n",
            "Connection: \"quoted\", X-Hop, bad name\r\n",
            "Connection:keep-alive,\tX-Hop\t\r\n",
        ] {
            let fields = format!("{connection}X-Hop: 1\r\nX-End: 2\r\nx-hop: 3\r\n");
            let answer = format!(
                "HTTP/1.1 200 OK\r\n{fields}Keep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n\
                 Proxy-Connection: close\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok"
            );
            bed.origins.answer("/", &answer, After::Keep);
            let answer = moat.raw(with("GET", &fields));
            let request = bed.origins.requests().pop().unwrap();
            assert_eq!(request.header("x-hop"), None, "{connection}");
            assert_eq!(request.header("x-end"), Some("2"), "{connection}");
            assert_eq!(answer.text(), "ok", "{connection}");
            for name in [
                "x-hop",
                "keep-alive",
                "proxy-authenticate",
                "proxy-connection",
                "upgrade",
            ] {
                assert_eq!(answer.header(name), None, "{connection} {name}");
            }
            assert_eq!(answer.header("x-end"), Some("2"), "{connection}");
        }
        moat.finish();
    });
}

#[test]
fn connection_cannot_name_away_what_a_message_needs() {
    bed(|bed| {
        let all = "Connection: Host, Content-Length, Transfer-Encoding, Connection, Date\r\n";
        let moat = bed.moat().start();
        let bodies = [
            ("Content-Length: 5\r\n", "hello"),
            ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
        ];
        for (framing, body) in bodies {
            let answer = format!("HTTP/1.1 200 OK\r\n{all}{framing}\r\n{body}");
            bed.origins.answer("/", &answer, After::Keep);
            let mut client = moat.dial();
            for _ in 0..2 {
                moat.count(1);
                client.send(with("POST", &format!("{all}{framing}")) + body);
                assert_eq!(client.answer().text(), "hello", "{framing}");
                let request = bed.origins.requests().pop().unwrap();
                assert_eq!(request.header("host"), Some("allowed.test"));
                assert_eq!(request.body, b"hello", "{framing}");
            }
        }
        moat.finish();
    });
}

#[test]
fn an_origin_that_closes_leaves_the_client_its_connection() {
    bed(|bed| {
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
        bed.origins.answer("/", answer, After::Close);
        let moat = bed.moat().start();
        let mut client = moat.dial();
        for _ in 0..2 {
            moat.count(1);
            assert_eq!(client.send(with("GET", "")).answer().text(), "ok");
        }
        // A client that closes is told so, and leaves the origin its connection.
        let said = moat.raw_to_end(with("GET", "Connection: close\r\n"));
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        assert_eq!(bed.origins.requests()[2].header("connection"), None);
        moat.finish();
    });
}

#[test]
fn what_has_no_place_in_a_trailer_is_taken_out() {
    bed(|bed| {
        let names = "X-Sum, Host, Content-Length, Transfer-Encoding, Authorization, Set-Cookie, \
                     Proxy-Authorization, Moat-Decision, Connection, Content-Type, TE";
        let fields = "X-Sum: kept\r\nHost: bad.test\r\nContent-Length: 0\r\n\
                      Transfer-Encoding: bad\r\nAuthorization: bad\r\nSet-Cookie: bad\r\n\
                      Proxy-Authorization: bad\r\nMoat-Decision: bad\r\nConnection: bad\r\n\
                      Content-Type: bad\r\nTE: bad\r\nX-Unnamed: bad\r\n";
        let framing = format!("Transfer-Encoding: chunked\r\nTrailer: {names}\r\n");
        let body = format!("2\r\nok\r\n0\r\n{fields}\r\n");
        let answer = format!("HTTP/1.1 200 OK\r\n{framing}\r\n{body}");
        bed.origins.answer("/", &answer, After::Keep);
        let moat = bed.moat().start();
        let request = with(
            "POST",
            &format!("{framing}TE: trailers\r\nConnection: TE, close\r\n"),
        );
        let said = moat.raw_to_end(request + &body);
        for text in [said, bed.origins.everything()] {
            let text = text.to_ascii_lowercase();
            let (_, trailer) = text.rsplit_once("\r\n0\r\n").unwrap();
            assert_eq!(trailer, "x-sum: kept\r\n\r\n");
        }
        moat.finish();
    });
}

#[test]
fn only_a_websocket_is_switched_to() {
    bed(|bed| {
        let moat = bed.moat().start();
        let upgrades = |request: &Request| {
            let named = ["upgrade", "http2-settings"].map(|name| request.header(name));
            named.iter().any(Option::is_some)
        };
        for fields in [
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
            "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
            "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n",
            "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n",
            "Upgrade: websocket\r\n",
        ] {
            assert_eq!(moat.raw(with("GET", fields)).status(), 200, "{fields}");
            let request = bed.origins.requests().pop().unwrap();
            assert!(!upgrades(&request), "{fields}: {request:?}");
        }
        moat.finish();
    });
}

#[test]
fn an_origin_cannot_speak_for_the_proxy() {
    bed(|bed| {
        let answer = "HTTP/1.1 200 OK\r\nMoat-Decision: deny\r\nProxy-Status: moat; error=x\r\n\
                      Content-Length: 2\r\n\r\nok";
        bed.origins.answer("/", answer, After::Keep);
        let moat = bed.moat().start();
        let answer = moat.get("allowed.test/");
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.header("moat-decision"), None);
        assert_eq!(answer.header("proxy-status"), None);
        moat.finish();
    });
}
