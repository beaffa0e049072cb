//! What a request names: its target and its Host header.

use crate::support::namespace::ORIGIN;
use crate::support::{Moat, bed};

/// What a request gets, as the first of its connection and as a later one: the same.
fn status(moat: &Moat, request: &str) -> u16 {
    let mut later = moat.dial();
    let refused = "GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n";
    assert_eq!(later.send(refused).answer().status(), 403);
    moat.count(3);
    let both = [moat.dial(), later].map(|mut client| client.send(request).answer().status());
    assert_eq!(both[0], both[1], "{request:?}");
    both[0]
}

#[test]
fn a_refused_target_with_an_allowed_host_header_is_refused() {
    bed(|bed| {
        let moat = bed.moat().start();
        for target in [
            "denied.test",
            "mal.test",
            "127.0.0.1",
            "[::1]",
            "allowed.test:81",
        ] {
            for version in ["1.1", "1.0"] {
                let line = format!("GET http://{target}/ HTTP/{version}");
                let status = status(&moat, &format!("{line}\r\nHost: allowed.test\r\n\r\n"));
                assert!([403, 421].contains(&status), "{line}: {status}");
            }
        }
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn the_host_header_of_a_request_names_its_target_and_nothing_else() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (host, wanted) in [
            ("Host: denied.test", 421),
            ("Host: other-allowed.test", 421),
            ("Host: sub.allowed.test", 421),
            ("Host: allowed.test:81", 421),
            ("Host: allowed.test:443", 421),
            ("Host: 127.0.0.2", 421),
            ("Host:", 400),
            ("Host: \t ", 400),
            ("Host: allowed.test:", 400),
            ("Host: allowed.test:0", 400),
            ("Host: allowed.test:+80", 400),
            ("Host: u@allowed.test", 400),
            ("Host: allowed.test@denied.test", 400),
            ("Host: allowed.test, denied.test", 400),
            ("Host: allowed.test denied.test", 400),
            ("Host: allowed.test/", 400),
            ("Host: http://allowed.test", 400),
            ("Host: [allowed.test]", 400),
            ("Host: allowed.test\u{e9}", 400),
            ("Host: allowed.test\r\nHost: denied.test", 400),
            ("Host: denied.test\r\nhost: allowed.test", 400),
            ("Host: allowed.test\r\nHOST: allowed.test", 400),
            ("Host : allowed.test", 400),
            ("X: y\r\n Host: allowed.test", 400),
        ] {
            for version in ["1.1", "1.0"] {
                let line = format!("GET http://allowed.test/ HTTP/{version}");
                let found = status(&moat, &format!("{line}\r\n{host}\r\n\r\n"));
                assert_eq!(found, wanted, "{version} {host:?}");
            }
        }
        let none = "GET http://allowed.test/ HTTP/1.1\r\n\r\n";
        assert_eq!(status(&moat, none), 400);
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn what_leaves_names_what_was_approved() {
    bed(|bed| {
        bed.origins.http(([127, 0, 0, 2], 8080).into());
        let moat = bed.moat().start();
        for (version, target, host, wanted) in [
            ("1.0", "allowed.test", "", "allowed.test"),
            ("1.0", "svc.allowed.test:8080", "", "svc.allowed.test:8080"),
            (
                "1.1",
                "allowed.test",
                "Host: ALLOWED.test.:80\r\n",
                "allowed.test",
            ),
            (
                "1.1",
                "Allowed.Test.:80",
                "Host: allowed.test\r\n",
                "allowed.test",
            ),
            (
                "1.1",
                "svc.allowed.test:8080",
                "Connection: Host\r\nhOST:\tsvc.allowed.test:8080 \r\n",
                "svc.allowed.test:8080",
            ),
            ("1.1", "127.0.0.2", "Host: 127.0.0.2\r\n", "127.0.0.2"),
        ] {
            let request = format!("GET http://{target}/ HTTP/{version}\r\n{host}\r\n");
            assert_eq!(status(&moat, &request), 200, "{request}");
            let seen = bed.origins.requests().pop().unwrap();
            let mut hosts = seen.headers;
            hosts.retain(|(name, _)| name.eq_ignore_ascii_case("host"));
            assert_eq!(hosts.len(), 1, "{request}");
            assert_eq!(hosts[0].1, wanted, "{request}");
            assert_eq!(seen.version, "HTTP/1.1");
        }
        moat.finish();
    });
}

#[test]
fn a_target_for_tls_is_told_to_use_connect() {
    bed(|bed| {
        let moat = bed.moat().start();
        for scheme in ["https", "HTTPS", "wss"] {
            let head = "Host: allowed.test\r\nAuthorization: Bearer t\r\n";
            let request = format!("GET {scheme}://allowed.test/ HTTP/1.1\r\n{head}\r\n");
            assert_eq!(status(&moat, &request), 400);
            let answer = moat.raw(&request);
            assert!(answer.text().contains("use CONNECT"), "{}", answer.text());
        }
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn a_target_is_an_absolute_http_url() {
    bed(|bed| {
        let moat = bed.moat().start();
        let hostname = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        for target in [
            "ftp://allowed.test/x",
            "file:///etc/hostname",
            "gopher://allowed.test/",
            "http+unix://allowed.test/",
            "javascript:alert(1)",
            "data:,x",
            "http:///x",
            "//allowed.test/",
            "/",
            "/etc/hostname",
            "*",
            "?x",
            "allowed.test",
            "allowed.test/",
            "allowed.test:80",
            "http:allowed.test",
            "http:/allowed.test/",
            "http:\\\\allowed.test/",
            "http://",
            "http://:80/",
            "http://?x",
            "http://allowed.test:/",
            "http://allowed.test:0/",
            "http://allowed.test:65536/",
            "http://allowed.test:+80/",
            "http://allowed.test:80:80/",
            "http://allowed.test#x",
            "http://allowed.test/#x",
            "http://allowed.test#@denied.test/",
            "http://allowed.test\\@denied.test/",
            "http://allowed.test\\.denied.test/",
            "http://allowed.test;denied.test/",
            "http://allowed.test,denied.test/",
            "http://allowed%2etest/",
            "http://u:p@allowed.test/",
            "http://@allowed.test/",
        ] {
            let request = format!("GET {target} HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
            assert_eq!(status(&moat, &request), 400, "{target}");
            let text = moat.raw(&request).text();
            assert!(hostname.is_empty() || !text.contains(hostname.trim()));
        }
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        let shouted = "GET HTTP://allowed.test HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
        assert_eq!(status(&moat, shouted), 200);
        moat.finish();
    });
}

#[test]
fn a_tunnel_needs_a_host_and_a_port_and_no_more() {
    bed(|bed| {
        let moat = bed.moat().start();
        for target in [
            "allowed.test",
            "allowed.test:0",
            "allowed.test:",
            "allowed.test:00",
            "allowed.test:65536",
            "allowed.test:+443",
            "allowed.test:0x1bb",
            "allowed.test:443:443",
            "allowed.test:443/",
            "allowed.test:443?x",
            "allowed.test:443#x",
            "allowed.test:https",
            ":443",
            "443",
            "/",
            "*",
            "//allowed.test:443",
            "http://allowed.test:443/",
            "https://allowed.test:443",
            "u@allowed.test:443",
        ] {
            assert_eq!(moat.connect(target), 400, "{target}");
            let request = format!("CONNECT {target} HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
            assert_eq!(status(&moat, &request), 400, "{target}");
        }
        assert_eq!(moat.socks("allowed.test", 0), 1);
        assert_eq!(moat.socks("127.0.0.2", 0), 1);
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn the_host_header_of_a_connect_agrees_or_is_absent() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (host, status) in [
            ("Host: allowed.test:443\r\n", 200),
            ("Host: allowed.test\r\n", 200),
            ("Host: ALLOWED.test.\r\n", 200),
            ("", 200),
            ("Host: denied.test:443\r\n", 421),
            ("Host: denied.test\r\n", 421),
            ("Host: allowed.test:80\r\n", 421),
            ("Host:\r\n", 400),
            ("Host: u@allowed.test:443\r\n", 400),
            ("Host: allowed.test:443\r\nHost: allowed.test:443\r\n", 400),
        ] {
            moat.count(1);
            let request = format!("CONNECT allowed.test:443 HTTP/1.1\r\n{host}\r\n");
            let answer = moat.dial().send(request).answer_to("CONNECT");
            assert_eq!(answer.status(), status, "{host}");
        }
        moat.finish();
    });
}

#[test]
fn each_request_of_a_connection_is_a_decision() {
    bed(|bed| {
        bed.origins.http(([127, 0, 0, 3], 80).into());
        bed.dns.set("other-allowed.test", "A 127.0.0.3");
        let list = ["allowed.test", "other-allowed.test", "127.0.0.3:80"];
        let moat = bed.moat().allow(&list).start();
        let row = [
            ("allowed.test", 200),
            ("denied.test", 403),
            ("other-allowed.test", 200),
        ];
        let requests =
            row.map(|(host, _)| format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        moat.count(8);
        let mut one_by_one = moat.dial();
        let mut at_once = moat.dial();
        at_once.send(requests.concat());
        for (request, (host, status)) in requests.iter().zip(row) {
            assert_eq!(one_by_one.send(request).answer().status(), status, "{host}");
            assert_eq!(at_once.answer().status(), status, "{host}");
        }
        // A tunnel is asked for anew as well.
        for (client, host, status) in [
            (&mut one_by_one, "denied.test", 403),
            (&mut at_once, "allowed.test", 200),
        ] {
            client.send(format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n"));
            assert_eq!(client.answer_to("CONNECT").status(), status, "{host}");
        }
        let requests = bed.origins.requests();
        let mut seen: Vec<_> = requests
            .iter()
            .map(|request| (request.origin.ip(), request.header("host")))
            .collect();
        seen.sort_unstable();
        let first = (ORIGIN, Some("allowed.test"));
        let other = ([127, 0, 0, 3].into(), Some("other-allowed.test"));
        assert_eq!(seen, [first, first, other, other]);
        moat.finish();
    });
}

#[test]
fn the_path_reaches_the_origin_byte_by_byte() {
    bed(|bed| {
        let moat = bed.moat().start();
        let long = format!("/{}", "x".repeat(15_000));
        for path in [
            "/o/a%2Fb%20c/..;/x//y?q=%2e%2e&u=http://denied.test/",
            "/../../x/./y/..",
            "/%2e%2e/%00/%ff/%zz/%",
            "//denied.test/",
            "/@denied.test:80/",
            "/a|b/{c}/\"d\"/[e]/^/f\\g",
            "/\u{e9}\u{4e2d}",
            "/?",
            "/??a=?",
            "/*",
            &long,
        ] {
            let request = format!("GET http://allowed.test{path} HTTP/1.1");
            let status = status(&moat, &format!("{request}\r\nHost: allowed.test\r\n\r\n"));
            assert_eq!(status, 200, "{path}");
            assert_eq!(bed.origins.requests().pop().unwrap().target, path);
        }
        // What no URL may hold.
        for path in ["/`", "/<x>", "/a b", "/a\tb", "/a\u{7f}"] {
            let request = format!("GET http://allowed.test{path} HTTP/1.1");
            let found = status(&moat, &format!("{request}\r\nHost: allowed.test\r\n\r\n"));
            assert_eq!(found, 400, "{path:?}");
        }
        for (method, rest, path) in [
            ("GET", "", "/"),
            ("GET", "?q", "/?q"),
            ("GET", "?@denied.test/", "/?@denied.test/"),
            ("OPTIONS", "", "*"),
            ("OPTIONS", "/", "/"),
        ] {
            let request = format!("{method} http://allowed.test{rest} HTTP/1.1");
            let status = status(&moat, &format!("{request}\r\nHost: allowed.test\r\n\r\n"));
            assert_eq!(status, 200, "{method} {rest}");
            assert_eq!(bed.origins.requests().pop().unwrap().target, path);
        }
        moat.finish();
    });
}

#[test]
fn a_path_opens_methods_and_paths_only_where_they_are_seen() {
    bed(|bed| {
        let policy = "version: 1\nallow:\n  - id: api\n    net:\n      \
                      - { host: allowed.test, methods: [GET], paths: [\"/repos/**\"] }\n  \
                      - id: origins\n    net: [\"127.0.0.2/32:*\"]\n";
        let moat = bed.moat().policy(policy).ordinary(403).start();
        assert_eq!(moat.get("allowed.test/repos/a/b").status(), 200);
        assert_eq!(moat.get("allowed.test/other").status(), 403);
        let post = "POST http://allowed.test/repos/a HTTP/1.1\r\nHost: allowed.test\r\n\
                    Content-Length: 0\r\n\r\n";
        assert_eq!(moat.raw(post).status(), 403);
        assert_eq!(moat.connect("allowed.test:443"), 403);
        assert_eq!(moat.connect("allowed.test:80"), 403);
        moat.finish();
    });
}

#[test]
fn the_case_of_a_method_is_no_way_round_a_rule() {
    bed(|bed| {
        let policy = "version: 1\nallow:\n  - id: reads\n    net:\n      \
                      - { host: allowed.test, methods: [GET] }\n      - other-allowed.test\n  \
                      - id: origins\n    net: [\"127.0.0.2/32:*\"]\ndeny:\n  - id: writes\n    \
                      net:\n      - { host: other-allowed.test, methods: [POST] }\n";
        let moat = bed.moat().policy(policy).start();
        for (method, host, wanted) in [
            ("GET", "allowed.test", 200),
            ("get", "allowed.test", 403),
            ("GETS", "allowed.test", 403),
            ("GET", "other-allowed.test", 200),
            ("POST", "other-allowed.test", 403),
            ("post", "other-allowed.test", 403),
            ("pOST", "other-allowed.test", 403),
        ] {
            let request = format!("{method} http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(status(&moat, &request), wanted, "{method} {host}");
        }
        moat.finish();
    });
}
