//! How a host may be spelled.

use crate::support::bed;

#[test]
fn a_trailing_dot_is_the_same_host() {
    bed(|bed| {
        let moat = bed.moat().allow(&["*"]).start();
        assert_eq!(moat.connect("mal.test.:443"), 403);
        assert_eq!(moat.connect("allowed.test.:443"), 200);
        assert_eq!(moat.decision("allowed.test")["rule"], "names");
        assert_eq!(moat.connect("allowed.test..:443"), 400);
        moat.finish();
    });
}

#[test]
fn capitals_are_the_same_host() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.connect("MAL.Test:443"), 403);
        assert_eq!(moat.get("ALLOWED.TEST/").status(), 200);
        moat.finish();
    });
}

#[test]
fn capitals_in_an_entry_are_the_same_host() {
    bed(|bed| {
        let moat = bed.moat().allow(&["Allowed.TEST"]).start();
        assert_eq!(moat.connect("allowed.test:443"), 200);
        moat.finish();
    });
}

#[test]
fn brackets_around_a_name_are_malformed() {
    bed(|bed| {
        let moat = bed.moat().start();
        for target in ["[mal.test]:443", "[allowed.test]:443"] {
            assert_eq!(moat.connect(target), 400, "{target}");
        }
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn control_bytes_in_a_host_are_malformed() {
    bed(|bed| {
        let moat = bed.moat().start();
        for byte in ['\0', '\x0b', '\x7f'] {
            let target = format!("denied.test{byte}.wild.test:443");
            assert_eq!(moat.connect(&target), 400, "{byte:?}");
            let (code, _) = moat.socks_tunnel(&format!("denied.test{byte}.wild.test"), 443);
            assert_ne!(code, 0, "{byte:?}");
        }
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn unicode_and_punycode_are_one_name() {
    bed(|bed| {
        let policy = "version: 1\nallow:\n  - id: all\n    net: [\"*\", \"127.0.0.2/32:*\"]\n\
                      deny:\n  - id: books\n    net: [\"bücher.test\"]\n";
        let moat = bed.moat().policy(policy).start();
        assert_eq!(moat.connect("xn--bcher-kva.test:443"), 403);
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn raw_unicode_in_a_request_is_never_looked_up() {
    bed(|bed| {
        let moat = bed.moat().allow_also(&["xn--bcher-kva.test"]).start();
        let status = moat.get("b\u{fc}cher.test/").status();
        assert!([200, 400].contains(&status), "{status}");
        for query in bed.dns.queries() {
            assert_eq!(query.name, "xn--bcher-kva.test");
        }
        moat.finish();
    });
}

#[test]
fn an_entry_that_idna_cannot_convert_does_not_load() {
    bed(|bed| {
        let said = bed.refuses("version: 1\nallow:\n  - id: a\n    net: [\"xn--a\u{fc}.test\"]\n");
        assert!(said.contains("4:"), "{said}");
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
        ] {
            let answer = moat.raw(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(answer.status(), 400, "{target}");
        }
        assert_eq!(moat.connect("allowed.test:443@denied.test:443"), 400);
        assert_eq!(bed.origins.connections(), 0);
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn an_underscore_is_legal() {
    bed(|bed| {
        let moat = bed.moat().allow_also(&["my_db.allowed.test"]).start();
        assert_eq!(moat.connect("my_db.allowed.test:443"), 200);
        moat.finish();
    });
}

#[test]
fn what_dns_cannot_carry_is_malformed() {
    bed(|bed| {
        let moat = bed.moat().start();
        let label = "a".repeat(64);
        let long = "abcdefg.".repeat(32);
        for host in [
            "a..wild.test".to_owned(),
            ".wild.test".to_owned(),
            format!("{label}.wild.test"),
            format!("{long}wild.test"),
        ] {
            assert_eq!(moat.connect(&format!("{host}:443")), 400, "{host}");
            assert_eq!(moat.get(&format!("{host}/")).status(), 400, "{host}");
        }
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}
