//! What a request names: its target and its Host header.

use crate::support::bed;
use crate::support::namespace::ORIGIN;

#[test]
fn a_refused_target_with_an_allowed_host_header_is_refused() {
    bed(|bed| {
        let moat = bed.moat().start();
        let answer = moat.raw("GET http://denied.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
        assert!([403, 421].contains(&answer.status()), "{}", answer.head);
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn an_allowed_target_with_another_host_header_is_misdirected() {
    bed(|bed| {
        let moat = bed.moat().start();
        let other = moat.raw("GET http://allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n");
        assert_eq!(other.status(), 421);
        let empty = moat.raw("GET http://allowed.test/ HTTP/1.1\r\nHost:\r\n\r\n");
        assert_eq!(empty.status(), 400);
        let none = moat.raw("GET http://allowed.test/ HTTP/1.1\r\n\r\n");
        assert_eq!(none.status(), 400);
        let twice = "Host: allowed.test\r\nHost: denied.test\r\n";
        let twice = moat.raw(format!("GET http://allowed.test/ HTTP/1.1\r\n{twice}\r\n"));
        assert_eq!(twice.status(), 400);
        assert!(!bed.origins.everything().contains("denied.test"));
        moat.finish();
    });
}

#[test]
fn a_request_of_http_1_0_without_host_gets_one() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(
            moat.raw("GET http://allowed.test/ HTTP/1.0\r\n\r\n")
                .status(),
            200
        );
        let request = &bed.origins.requests()[0];
        assert_eq!(request.header("host"), Some("allowed.test"));
        assert_eq!(request.version, "HTTP/1.1");
        moat.finish();
    });
}

#[test]
fn https_in_absolute_form_is_told_to_use_connect() {
    bed(|bed| {
        let moat = bed.moat().start();
        let head = "Host: allowed.test\r\nAuthorization: Bearer t\r\n";
        let answer = moat.raw(format!("GET https://allowed.test/ HTTP/1.1\r\n{head}\r\n"));
        assert_eq!(answer.status(), 400);
        assert!(answer.text().contains("CONNECT"), "{}", answer.text());
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn other_schemes_are_malformed() {
    bed(|bed| {
        let moat = bed.moat().start();
        let hostname = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        for target in [
            "ftp://allowed.test/x",
            "file:///etc/hostname",
            "http:///x",
            "//allowed.test/",
        ] {
            let request = format!("GET {target} HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
            let answer = moat.raw(request);
            assert_eq!(answer.status(), 400, "{target}");
            assert!(hostname.is_empty() || !answer.text().contains(hostname.trim()));
        }
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn a_connect_names_a_host_and_a_port_and_no_more() {
    bed(|bed| {
        let moat = bed.moat().start();
        for target in [
            "allowed.test",
            "allowed.test:0",
            "allowed.test:",
            "allowed.test:65536",
            "allowed.test:+443",
            "allowed.test:443/",
            "/",
            "http://allowed.test:443/",
        ] {
            assert_eq!(moat.connect(target), 400, "{target}");
        }
        assert_eq!(bed.dns.queries(), []);
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
            ("", 200),
            ("Host: denied.test:443\r\n", 421),
            ("Host: allowed.test:80\r\n", 421),
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
        let mut client = moat.dial();
        for (host, status) in [
            ("allowed.test", 200),
            ("denied.test", 403),
            ("other-allowed.test", 200),
        ] {
            moat.count(1);
            let request = format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(client.send(request).answer().status(), status, "{host}");
        }
        let requests = bed.origins.requests();
        let seen: Vec<_> = requests
            .iter()
            .map(|request| (request.origin.ip(), request.header("host")))
            .collect();
        let other = std::net::IpAddr::from([127, 0, 0, 3]);
        assert_eq!(
            seen,
            [
                (ORIGIN, Some("allowed.test")),
                (other, Some("other-allowed.test"))
            ]
        );
        moat.finish();
    });
}

#[test]
fn the_path_reaches_the_origin_byte_by_byte() {
    bed(|bed| {
        let moat = bed.moat().start();
        let path = "/o/a%2Fb%20c/..;/x//y?q=%2e%2e&u=http://denied.test/";
        assert_eq!(moat.get(&format!("allowed.test{path}")).status(), 200);
        assert_eq!(bed.origins.requests()[0].target, path);
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
