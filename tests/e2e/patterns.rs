//! What an entry covers, and that the proxy and `moat check` agree on it.

use crate::support::bed;

#[test]
fn a_wildcard_needs_a_label_boundary() {
    bed(|bed| {
        let moat = bed.moat().allow_also(&["*.wild.test"]).start();
        for host in ["evilwild.test", "notwild.test"] {
            assert_eq!(moat.connect(&format!("{host}:443")), 403, "{host}");
            assert_eq!(bed.check(&format!("https://{host}/")), 2, "{host}");
        }
        moat.finish();
    });
}

#[test]
fn one_star_leaves_out_the_apex() {
    bed(|bed| {
        let moat = bed.moat().allow_also(&["*.wild.test"]).start();
        for (host, status, code) in [
            ("wild.test", 403, 2),
            ("a.wild.test", 200, 0),
            ("a.b.wild.test", 200, 0),
        ] {
            assert_eq!(moat.connect(&format!("{host}:443")), status, "{host}");
            assert_eq!(bed.check(&format!("https://{host}/")), code, "{host}");
        }
        moat.finish();
    });
}

#[test]
fn two_stars_include_the_apex() {
    bed(|bed| {
        let moat = bed.moat().allow_also(&["**.wild.test"]).start();
        for host in ["wild.test", "a.wild.test", "a.b.wild.test"] {
            assert_eq!(moat.connect(&format!("{host}:443")), 200, "{host}");
            assert_eq!(bed.check(&format!("https://{host}/")), 0, "{host}");
        }
        moat.finish();
    });
}

#[test]
fn an_exact_entry_is_exact() {
    bed(|bed| {
        let moat = bed.moat().allow(&["allowed.test"]).start();
        assert_eq!(moat.connect("bucket-of-mallory.allowed.test:443"), 403);
        moat.finish();
    });
}

#[test]
fn a_star_stays_inside_its_label() {
    bed(|bed| {
        let list = ["allowed.test", "wild.*.test", "*wild.test", "**.far.test"];
        let moat = bed.moat().allow(&list).start();
        for (host, status) in [
            ("wild.a.test", 200),
            ("wild.a.b.test", 403),
            ("notwild.test", 200),
            ("a.notwild.test", 403),
            ("far.test", 200),
            ("a.b.far.test", 200),
        ] {
            assert_eq!(moat.connect(&format!("{host}:443")), status, "{host}");
        }
        moat.finish();
    });
}

#[test]
fn an_entry_that_can_never_match_does_not_load() {
    bed(|bed| {
        for entry in ["w?ld.test", "*.", "wild..test"] {
            let text = format!("version: 1\nallow:\n  - id: a\n    net:\n      - \"{entry}\"\n");
            let said = bed.refuses(&text);
            assert!(said.contains("5:"), "{entry}: no place in {said}");
            assert!(said.contains(entry), "{entry}: not named in {said}");
        }
    });
}

#[test]
fn an_empty_list_allows_nothing() {
    bed(|bed| {
        let moat = bed
            .moat()
            .policy("version: 1\nallow: []\n")
            .ordinary(403)
            .start();
        assert_eq!(moat.connect("allowed.test:443"), 403);
        assert_eq!(moat.get("allowed.test/").status(), 403);
        assert_eq!(moat.socks("allowed.test", 443), 2);
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn deny_beats_a_wider_allow_in_any_order() {
    bed(|bed| {
        let allow = "allow:\n  - id: names\n    net: [\"allowed.test\", \"*.wild.test\"]\n  \
                     - id: origins\n    net: [\"127.0.0.2/32:*\"]\n";
        let deny = "deny:\n  - id: denied\n    net: [\"secret.wild.test:*\"]\n";
        for text in [
            format!("version: 1\n{allow}{deny}"),
            format!("{deny}{allow}version: 1\n"),
        ] {
            let moat = bed.moat().policy(&text).start();
            assert_eq!(moat.connect("secret.wild.test:443"), 403);
            assert_eq!(moat.connect("a.wild.test:443"), 200);
            moat.finish();
            std::fs::remove_file(bed.directory().join("audit.jsonl")).unwrap();
        }
    });
}

#[test]
fn an_entry_without_ports_means_the_web() {
    bed(|bed| {
        let moat = bed.moat().allow_also(&["ssh.wild.test:22"]).start();
        bed.origins.tcp(22, crate::support::origin::echo);
        for (target, status) in [
            ("a.wild.test:22", 403),
            ("a.wild.test:25", 403),
            ("a.wild.test:80", 200),
            ("a.wild.test:443", 200),
            ("ssh.wild.test:22", 200),
        ] {
            assert_eq!(moat.connect(target), status, "{target}");
        }
        moat.finish();
    });
}
