//! How a host may be spelled.

use crate::support::bed;

#[test]
fn a_trailing_dot_is_the_same_host() {
    bed(|bed| {
        let moat = bed.moat().allow(&["*"]).start();
        for port in [80, 443] {
            assert_eq!(moat.connect(&format!("mal.test.:{port}")), 403);
            assert_eq!(moat.connect(&format!("allowed.test.:{port}")), 200);
        }
        assert_eq!(moat.everywhere("mal.test.", 80), 403);
        assert_eq!(bed.dns.asked("mal.test"), 0);
        assert_eq!(moat.everywhere("allowed.test.", 80), 200);
        for host in ["allowed.test..", "mal.test..", "."] {
            assert_eq!(moat.everywhere(host, 80), 400, "{host}");
        }
        // The origin hears the name as it was decided, and the record has it in one spelling.
        for request in bed.origins.requests() {
            assert_eq!(request.header("host"), Some("allowed.test"));
        }
        for record in moat.records() {
            assert_ne!(record["host"], "allowed.test.", "{record}");
        }
        assert_eq!(moat.decision("allowed.test")["rule"], "names");
        bed.judged(&[
            ("mal.test.:443", "deny"),
            ("http://mal.test./", "deny"),
            ("https://allowed.test./", "allow"),
        ]);
        bed.unreadable(&["allowed.test..:443", "https://mal.test../"]);
        moat.finish();
    });
}

#[test]
fn capitals_are_the_same_host() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.everywhere("MAL.Test", 443), 403);
        assert_eq!(moat.everywhere("ALLOWED.TEST", 80), 200);
        assert_eq!(moat.everywhere("A.WiLd.TeSt.", 80), 200);
        assert_eq!(moat.everywhere("SECRET.wild.TEST", 80), 403);
        bed.judged(&[
            ("MAL.Test:443", "deny"),
            ("http://ALLOWED.TEST/", "allow"),
            ("A.WiLd.TeSt.", "allow"),
        ]);
        moat.finish();
    });
}

#[test]
fn capitals_and_a_dot_in_an_entry_are_the_same_host() {
    bed(|bed| {
        let policy = "version: 1\nallow:\n  - id: names\n    net: [\"Allowed.TEST\", \"*.WILD.Test.\", \"Mal.TEST\"]\n  \
                      - id: origins\n    net: [\"127.0.0.2/32:*\"]\n\
                      deny:\n  - id: denied\n    net: [\"MAL.test.\", \"SECRET.Wild.test\"]\n";
        let moat = bed.moat().policy(policy).start();
        for (host, status) in [
            ("allowed.test", 200),
            ("a.wild.test", 200),
            ("mal.test", 403),
            ("secret.wild.test", 403),
        ] {
            assert_eq!(moat.everywhere(host, 80), status, "{host}");
        }
        bed.judged(&[
            ("allowed.test", "allow"),
            ("a.wild.test", "allow"),
            ("mal.test", "deny"),
            ("secret.wild.test", "deny"),
        ]);
        moat.finish();
    });
}

#[test]
fn brackets_around_a_name_are_malformed() {
    bed(|bed| {
        let moat = bed.moat().allow(&["*"]).start();
        let hosts = [
            "[mal.test]",
            "[allowed.test]",
            "[allowed.test",
            "allowed.test]",
            "[]",
            "[[::1]]",
            "[127.0.0.2]",
            "[::1]allowed.test",
            "allowed.test[::1]",
            "[::1].allowed.test",
        ];
        for host in hosts {
            assert_eq!(moat.everywhere(host, 443), 400, "{host}");
            assert_eq!(moat.everywhere(host, 80), 400, "{host}");
        }
        bed.unreadable(&hosts);
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn bytes_that_no_host_holds_are_malformed() {
    bed(|bed| {
        let moat = bed.moat().allow(&["*"]).start();
        let controls = (0..=0x20).chain([0x7f, 0x80, 0xa0, 0xff]);
        let printable = *b"!\"$%&'()*+,;<=>\\^`{|}~";
        for byte in controls.chain(printable) {
            let host = [b"denied.test", &[byte][..], b".wild.test"].concat();
            assert_eq!(moat.everywhere(host, 443), 400, "{byte:#x}");
        }
        // These begin something else in a URL, and are bytes of a host at the other doors.
        for byte in ["/", "?", "#", ":"] {
            let host = format!("denied.test{byte}.wild.test");
            assert_eq!(moat.connect(&format!("{host}:443")), 400, "{host}");
            assert_eq!(moat.socks_by_name(&host, 443), 1, "{host}");
        }
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn percent_signs_and_unicode_in_a_request_are_never_interpreted() {
    bed(|bed| {
        let moat = bed.moat().allow(&["*", "xn--bcher-kva.test"]).start();
        let hosts = [
            "allowed%2etest",
            "%61llowed.test",
            "allowed.test%00.wild.test",
            "allowed.test%2f",
            "b%C3%BCcher.test",
            "b\u{fc}cher.test",
            "allowed\u{3002}test",
            "allowed\u{ff0e}test",
            "allowed\u{ff61}test",
            "\u{ff41}llowed.test",
            "\u{ff11}27.0.0.1",
            "127\u{3002}0.0.1",
            "\u{2460}.wild.test",
        ];
        for host in hosts {
            assert_eq!(moat.everywhere(host, 80), 400, "{host}");
        }
        // Bytes that nobody sees, and the same in the encoding of one byte each.
        for host in ["allow\u{ad}ed.test", "allowed.test\u{200b}"] {
            assert_eq!(moat.everywhere(host, 80), 400, "{host:?}");
        }
        assert_eq!(moat.everywhere(b"b\xfccher.test", 80), 400);
        bed.unreadable(&hosts);
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn unicode_and_punycode_are_one_name() {
    bed(|bed| {
        for entry in [
            "b\u{fc}cher.test",
            "B\u{dc}CHER.test.",
            "xn--BCHER-kva.test",
        ] {
            let policy = format!(
                "version: 1\nallow:\n  - id: all\n    net: [\"*\", \"127.0.0.2/32:*\"]\n\
                 deny:\n  - id: books\n    net: [\"mal.test\", \"{entry}\", \"*.{entry}\"]\n"
            );
            let moat = bed.moat().policy(&policy).start();
            for host in [
                "xn--bcher-kva.test",
                "XN--Bcher-KVA.test",
                "a.xn--bcher-kva.test.",
            ] {
                assert_eq!(moat.everywhere(host, 443), 403, "{entry}: {host}");
            }
            assert_eq!(bed.dns.asked("xn--bcher-kva.test"), 0);
            assert_eq!(moat.everywhere("bucher.test", 80), 200);
            bed.judged(&[
                ("https://xn--bcher-kva.test/", "deny"),
                ("a.xn--bcher-kva.test", "deny"),
                ("bucher.test", "allow"),
            ]);
            moat.finish();
            bed.again();
        }
    });
}

#[test]
fn an_entry_that_idna_cannot_convert_does_not_load() {
    bed(|bed| {
        for name in [
            "xn--a\u{fc}.test",
            "xn--0.test",
            "\u{ad}.test",
            "a\u{378}.test",
            "a\u{200d}b.test",
            "\u{301}a.test",
            "a\u{5d0}1.test",
        ] {
            for place in ["allow", "deny", "ask"] {
                let said = bed.refuses(&format!(
                    "version: 1\n{place}:\n  - id: a\n    net:\n      - \"{name}\"\n"
                ));
                assert!(said.contains("loads.yaml:5:"), "{name}: {said}");
                assert!(said.contains("= help:"), "{name}: {said}");
            }
        }
    });
}

#[test]
fn user_info_in_a_target_is_malformed() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (target, host) in [
            ("http://allowed.test@denied.test/", "denied.test"),
            ("http://allowed.test:80@denied.test/", "allowed.test"),
            ("http://denied.test@allowed.test/", "allowed.test"),
            ("http://@allowed.test/", "allowed.test"),
            ("http://u:p@allowed.test:80/", "allowed.test"),
            ("http://allowed.test@", "allowed.test"),
            ("http://allowed.test%40denied.test/", "allowed.test"),
            ("http://allowed.test\\@denied.test/", "allowed.test"),
            ("http://allowed.test/", "denied.test@allowed.test"),
        ] {
            let answer = moat.raw(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(answer.status(), 400, "{target}");
        }
        for host in [
            "allowed.test:443@denied.test",
            "allowed.test@denied.test",
            "@allowed.test",
        ] {
            assert_eq!(moat.connect(&format!("{host}:443")), 400, "{host}");
            assert_eq!(moat.socks_by_name(host, 443), 1, "{host}");
        }
        bed.unreadable(&[
            "http://allowed.test@denied.test/",
            "allowed.test:443@denied.test:443",
        ]);
        assert_eq!(bed.origins.connections(), 0);
        assert_eq!(bed.dns.queries(), []);
        // Behind the authority it is a letter like any other.
        assert_eq!(moat.get("allowed.test/@denied.test").status(), 200);
        assert_eq!(bed.origins.requests()[0].target, "/@denied.test");
        moat.finish();
    });
}

#[test]
fn odd_but_legal_names_are_hosts() {
    bed(|bed| {
        let moat = bed.moat().allow_also(&["my_db.allowed.test"]).start();
        let (label, tail) = ("a".repeat(63), "wild.test");
        let longest = format!("{label}.{label}.{label}.{}.{tail}", "b".repeat(51));
        assert_eq!(longest.len(), 253);
        for host in [
            "my_db.allowed.test",
            "_dmarc.wild.test",
            "-a-.wild.test",
            "r3---sn-a.wild.test",
            "127.0.0.1.wild.test",
            "0x7f.wild.test",
            &format!("{label}.{tail}"),
            &longest,
            &format!("{longest}."),
        ] {
            assert_eq!(moat.everywhere(host, 80), 200, "{host}");
        }
        assert_eq!(moat.connect("my_db.allowed.test:443"), 200);
        bed.judged(&[("my_db.allowed.test:443", "allow"), (&longest, "allow")]);
        moat.finish();
    });
}

#[test]
fn what_dns_cannot_carry_is_malformed() {
    bed(|bed| {
        let moat = bed.moat().allow(&["*"]).start();
        let label = "a".repeat(63);
        let hosts = [
            "a..wild.test".to_owned(),
            ".wild.test".to_owned(),
            "..".to_owned(),
            format!("{label}a.wild.test"),
            format!("a.{label}a"),
            format!("{label}.{label}.{label}.{}.wild.test", "b".repeat(52)),
            format!("{}wild.test", "abcdefg.".repeat(32)),
            "a".repeat(255),
            "a.".repeat(2000),
        ];
        for host in &hosts {
            assert_eq!(moat.everywhere(host, 443), 400, "{host}");
            assert_eq!(moat.everywhere(host, 80), 400, "{host}");
        }
        // Without any host.
        assert_eq!(moat.connect(":443"), 400);
        assert_eq!(
            moat.raw("GET http:///x HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
                .status(),
            400
        );
        assert_eq!(moat.socks_by_name("", 443), 1);
        bed.unreadable(&hosts.each_ref().map(String::as_str));
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn a_port_has_one_spelling() {
    bed(|bed| {
        let moat = bed.moat().allow(&["*", "svc.allowed.test:*"]).start();
        let mut targets = Vec::new();
        for port in [
            "",
            "0",
            "080",
            "00443",
            "+80",
            "-80",
            "65536",
            "65616",
            "0x50",
            "8o",
            "\u{ff18}0",
        ] {
            for host in ["svc.allowed.test", "127.0.0.2", "[::1]"] {
                let target = format!("{host}:{port}");
                assert_eq!(moat.connect(&target), 400, "{target}");
                assert_eq!(moat.get(&format!("{target}/")).status(), 400, "{target}");
                targets.push(target);
            }
        }
        assert_eq!(moat.socks_by_name("svc.allowed.test", 0), 1);
        bed.unreadable(&targets.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn a_host_header_is_read_as_strictly_as_a_target() {
    bed(|bed| {
        let moat = bed.moat().start();
        for host in [
            "allowed.test..",
            "[allowed.test]",
            "u@allowed.test",
            "allowed.test:",
            "allowed.test:0443",
            "allowed.test:+443",
            "b\u{fc}cher.test",
            "allowed%2etest",
            "2130706433",
            "allowed.test, denied.test",
            "allowed.test/",
        ] {
            let lines = format!("HTTP/1.1\r\nHost: {host}\r\n\r\n");
            for request in [
                format!("CONNECT allowed.test:443 {lines}"),
                format!("GET http://allowed.test/ {lines}"),
            ] {
                assert_eq!(moat.raw(&request).status(), 400, "{request}");
            }
        }
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        // Another spelling of the same host is the same host.
        for host in ["ALLOWED.test", "allowed.test.", "allowed.test:80"] {
            let request = format!("GET http://allowed.test/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(moat.raw(request).status(), 200, "{host}");
        }
        moat.finish();
    });
}
