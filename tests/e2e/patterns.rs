//! What an entry covers, and that the doors, `moat check` and a policy's own tests agree on it.

use crate::support::{Bed, Moat, bed};

/// Holds every door and every command to one answer for each host: allowed or not.
fn agree(bed: &Bed, moat: &Moat, hosts: &[(&str, bool)]) {
    let mut requests = Vec::new();
    for (host, allowed) in hosts {
        let (status, effect) = if *allowed {
            (200, "allow")
        } else {
            (403, "deny")
        };
        assert_eq!(moat.everywhere(host, 80), status, "{host}");
        assert_eq!(moat.connect(&format!("{host}:443")), status, "{host}");
        requests.push((format!("http://{host}/"), effect));
        requests.push((format!("https://{host}/"), effect));
    }
    let requests: Vec<_> = requests
        .iter()
        .map(|(request, effect)| (request.as_str(), *effect))
        .collect();
    bed.judged(&requests);
}

/// No query for any of these.
fn unasked(bed: &Bed, hosts: &[&str]) {
    for host in hosts {
        assert_eq!(bed.dns.asked(host), 0, "{host}");
    }
}

#[test]
fn a_wildcard_needs_a_label_boundary() {
    bed(|bed| {
        for entry in ["*.wild.test", "**.wild.test"] {
            let moat = bed.moat().allow(&["allowed.test", entry]).start();
            let hosts = [
                "evilwild.test",
                "notwild.test",
                "wild.test.evil.test",
                "a-wild.test",
            ];
            agree(bed, &moat, &hosts.map(|host| (host, false)));
            unasked(bed, &hosts);
            moat.finish();
            bed.again();
        }
    });
}

#[test]
fn a_wildcard_of_a_deny_needs_a_label_boundary_too() {
    bed(|bed| {
        for (entry, apex) in [("*.wild.test", true), ("**.wild.test", false)] {
            let policy = format!(
                "version: 1\nallow:\n  - id: all\n    net: [\"*\", \"127.0.0.2/32:*\"]\n\
                 deny:\n  - id: d\n    net: [\"mal.test\", \"{entry}\"]\n"
            );
            let moat = bed.moat().policy(&policy).start();
            let hosts = [
                ("evilwild.test", true),
                ("wild.test", apex),
                ("a.wild.test", false),
                ("a.b.wild.test", false),
            ];
            agree(bed, &moat, &hosts);
            moat.finish();
            bed.again();
        }
    });
}

#[test]
fn one_star_leaves_out_the_apex_and_two_include_it() {
    bed(|bed| {
        for (entry, apex) in [("*.wild.test", false), ("**.wild.test", true)] {
            let moat = bed.moat().allow(&["allowed.test", entry]).start();
            let hosts = [
                ("wild.test", apex),
                ("a.wild.test", true),
                ("a.b.wild.test", true),
            ];
            agree(bed, &moat, &hosts);
            moat.finish();
            bed.again();
        }
    });
}

#[test]
fn an_exact_entry_is_exact() {
    bed(|bed| {
        let moat = bed.moat().allow(&["allowed.test"]).start();
        let hosts = [
            "bucket-of-mallory.allowed.test",
            "allowed.test.mallory.test",
            "xallowed.test",
            "llowed.test",
            "allowed.tes",
            "test",
        ];
        agree(bed, &moat, &hosts.map(|host| (host, false)));
        agree(bed, &moat, &[("allowed.test", true)]);
        unasked(bed, &hosts);
        moat.finish();
    });
}

#[test]
fn a_star_stays_inside_its_label() {
    bed(|bed| {
        let list = ["allowed.test", "wild.*.test", "*wild.test", "**.far.test"];
        let moat = bed.moat().allow(&list).start();
        let hosts = [
            ("wild.a.test", true),
            ("wild.a.b.test", false),
            ("x.wild.a.test", false),
            ("wild.test", false),
            ("notwild.test", true),
            ("a.notwild.test", false),
            ("far.test", true),
            ("a.b.far.test", true),
            ("notfar.test", false),
        ];
        agree(bed, &moat, &hosts);
        moat.finish();
    });
}

#[test]
fn an_entry_that_can_never_match_does_not_load() {
    bed(|bed| {
        let entries = [
            "w?ld.test",
            "*.",
            "**.",
            "**",
            "***.wild.test",
            "wild..test",
            ".wild.test",
            "a.**.test",
            "[a-z].test",
            "{a,b}.test",
            "wild.test/path",
            "wild.test:0",
            "wild.test:443-80",
            "[wild.test]",
            "127.1",
            "0x7f000001",
            "10.0.0.1/8",
            "u@wild.test",
            "a b.test",
            "*.localhost",
        ];
        for entry in entries {
            for (place, item) in [
                ("allow", format!("\"{entry}\"")),
                ("deny", format!("\"{entry}\"")),
                ("ask", format!("\"!{entry}\"")),
                ("allow", format!("{{ host: \"{entry}\" }}")),
            ] {
                let text = format!(
                    "version: 1\n{place}:\n  - id: a\n    net:\n      - {item}\n      - ok.test\n"
                );
                let said = bed.refuses(&text);
                let place = said.split_once("loads.yaml:5:").map(|(_, rest)| rest);
                let column = place
                    .and_then(|rest| rest.lines().next())
                    .unwrap_or_default();
                assert!(
                    column.parse::<usize>().is_ok(),
                    "{item}: no place in {said}"
                );
                assert!(said.contains(entry), "{item}: not named in {said}");
                assert!(said.contains("= help: "), "{item}: no fix in {said}");
            }
        }
        // All at once, with each in its place.
        let list = entries
            .map(|entry| format!("      - \"{entry}\"\n"))
            .concat();
        let text = format!("version: 1\nallow:\n  - id: a\n    net:\n{list}");
        bed.write("all.yaml", text);
        let said = bed.command(&["lint", "--policy", "all.yaml"]);
        assert_eq!(said.code, 1, "{said:?}");
        let said = said.stdout + &said.stderr;
        for (at, entry) in entries.iter().enumerate() {
            let place = format!("all.yaml:{}:", at + 5);
            assert!(said.contains(&place), "{entry}: {said}");
        }
    });
}

#[test]
fn an_empty_list_allows_nothing() {
    bed(|bed| {
        for policy in [
            "version: 1\nallow: []\n",
            "version: 1\n",
            "version: 1\nallow: []\ndeny: []\nask: []\n",
            "version: 1\nallow:\n  - id: a\n    net: []\n",
            "version: 1\nallow:\n  - id: a\n    reason: nothing yet\n    fetch: [\"*\"]\n",
        ] {
            let moat = bed.moat().policy(policy).ordinary(403).start();
            agree(bed, &moat, &[("allowed.test", false), ("127.0.0.2", false)]);
            assert_eq!(moat.socks("allowed.test", 443), 2);
            assert_eq!(moat.everywhere("[2606:4700::1]", 443), 403);
            assert_eq!(bed.dns.queries(), [], "{policy}");
            moat.finish();
            bed.again();
        }
        assert_eq!(bed.origins.connections(), 0);
    });
}

#[test]
fn deny_beats_a_wider_allow_in_any_order() {
    bed(|bed| {
        let names = [
            "\"allowed.test\"",
            "\"*.wild.test\"",
            "\"secret.wild.test\"",
        ];
        let list = names.join(", ");
        let swapped = [names[2], names[1], names[0]].join(", ");
        let origins = "  - id: origins\n    net: [\"127.0.0.2/32:*\"]\n";
        let denies = ["\"mal.test:*\"", "\"secret.wild.test\""];
        let deny = |list: &str| format!("deny:\n  - id: denied\n    net: [{list}]\n");
        for text in [
            format!(
                "version: 1\nallow:\n  - id: names\n    net: [{list}]\n{origins}{}",
                deny(&denies.join(", "))
            ),
            format!(
                "{}allow:\n{origins}  - id: names\n    net: [{swapped}]\nversion: 1\n",
                deny(&[denies[1], denies[0]].join(", "))
            ),
        ] {
            let moat = bed.moat().policy(&text).start();
            let hosts = [
                ("secret.wild.test", false),
                ("a.wild.test", true),
                ("SECRET.wild.test.", false),
            ];
            agree(bed, &moat, &hosts);
            for port in [22, 25, 8080] {
                assert_eq!(moat.everywhere("secret.wild.test", port), 403, "{port}");
                assert_eq!(moat.everywhere("a.wild.test", port), 403, "{port}");
            }
            unasked(bed, &["secret.wild.test"]);
            moat.finish();
            bed.again();
        }
    });
}

#[test]
fn an_entry_without_ports_means_the_web() {
    bed(|bed| {
        bed.origins.tcp(22, crate::support::origin::echo);
        let list = ["ssh.wild.test:22", "list.wild.test:22,8000-8100"];
        let moat = bed.moat().allow_also(&list).start();
        let targets = [
            ("a.wild.test:22", 403),
            ("a.wild.test:25", 403),
            ("a.wild.test:8080", 403),
            ("a.wild.test:80", 200),
            ("a.wild.test:443", 200),
            ("ssh.wild.test:22", 200),
            ("ssh.wild.test:25", 403),
            ("list.wild.test:22", 200),
            ("list.wild.test:7999", 403),
            ("list.wild.test:8101", 403),
            ("svc.allowed.test:7", 200),
        ];
        for (target, status) in targets {
            assert_eq!(moat.connect(target), status, "{target}");
            let (host, port) = target.split_once(':').unwrap();
            let code = moat.socks(host, port.parse().unwrap());
            assert_eq!(code, if status == 200 { 0 } else { 2 }, "{target}");
            if status == 403 {
                assert_eq!(moat.get(&format!("{target}/")).status(), 403, "{target}");
            }
        }
        let effect = |status| if status == 200 { "allow" } else { "deny" };
        bed.judged(&targets.map(|(target, status)| (target, effect(status))));
        unasked(bed, &["mal.test"]);
        moat.finish();
    });
}
