//! Allowed names that lead inside.

use std::process::Command;

use crate::support::wait::{LIMIT, pace};
use crate::support::{Moat, bed};

/// Asks for a host in turn at each door until `done`, and gives every status with its host's turn.
fn ask_until(moat: &Moat, host: &str, mut done: impl FnMut(&[u16]) -> bool) -> Vec<u16> {
    let start = std::time::Instant::now();
    let mut statuses = Vec::new();
    while !done(&statuses) {
        assert!(start.elapsed() < LIMIT, "{host}: {statuses:?}");
        statuses.push(moat.connect(&format!("{host}:80")));
        statuses.push(moat.get(&format!("{host}/")).status());
        statuses.push(match moat.socks(host, 80) {
            0 => 200,
            2 => 403,
            code => panic!("SOCKS code {code}"),
        });
        pace(std::time::Duration::from_millis(20));
    }
    statuses
}

#[test]
fn an_allowed_name_with_an_inner_address_is_refused() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (at, (answer, class)) in [
            ("A 127.0.0.1", "loopback"),
            ("A 10.0.0.5", "private"),
            ("A 169.254.169.254", "cloud metadata"),
            ("AAAA ::1", "loopback"),
            ("AAAA fd00::1", "private"),
            // One such address refuses the name, wherever it stands among open ones.
            ("A 127.0.0.2 A 10.0.0.5", "private"),
            ("A 10.0.0.5 A 127.0.0.2", "private"),
            ("A 127.0.0.2 AAAA ::1", "loopback"),
            ("AAAA ::ffff:127.0.0.2 A 10.0.0.5", "private"),
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("in{at}.allowed.test");
            bed.dns.set(&name, answer);
            assert_eq!(moat.everywhere(&name, 80), 403, "{answer}");
            for refused in [
                moat.tunnel(&format!("{name}:443")).0,
                moat.get(&format!("{name}/")),
            ] {
                assert_eq!(refused.status(), 403, "{answer}");
                assert!(
                    refused.reason().contains(class),
                    "{answer}: {}",
                    refused.head
                );
            }
            let text = moat.get(&format!("{name}/")).text();
            assert!(text.contains(class), "{answer}: {text}");
            assert!(!text.contains(&format!("moat allow {name}")), "{text}");
            for protocol in ["connect", "http", "socks5"] {
                let record = moat.wait_record("decision", |record| {
                    record["host"] == name && record["protocol"] == protocol
                });
                assert_eq!(record["cause"], "guarded", "{record}");
                assert!(
                    record["reason"].as_str().unwrap().contains(class),
                    "{record}"
                );
            }
        }
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn an_answer_that_flips_never_reaches_the_inside() {
    bed(|bed| {
        let moat = bed.moat().start();
        let name = "flip.allowed.test";
        bed.dns.sequence(name, &["A 127.0.0.2", "A 127.0.0.1"]);
        let statuses = ask_until(&moat, name, |statuses| {
            statuses.len() >= 50 && statuses.contains(&200) && statuses.contains(&403)
        });
        let odd = statuses.iter().find(|status| ![200, 403].contains(*status));
        assert_eq!(odd, None);
        let records = moat
            .records()
            .into_iter()
            .filter(|record| record["host"] == name);
        for record in records {
            let address = if record["effect"] == "allow" {
                "127.0.0.2"
            } else {
                "127.0.0.1"
            };
            assert_eq!(record["address"], address, "{record}");
        }
        moat.finish();
    });
}

#[test]
fn an_alias_is_judged_by_the_name_asked_for_and_its_final_address() {
    bed(|bed| {
        let moat = bed.moat().start();
        bed.dns.set("alias.allowed.test", "CNAME other.denied.test");
        bed.dns
            .set("other.denied.test", "CNAME backend.denied.test");
        bed.dns
            .sequence("backend.denied.test", &["A 127.0.0.2", "A 10.0.0.9"]);
        // As the final address goes, so goes the name.
        let statuses = ask_until(&moat, "alias.allowed.test", |statuses| {
            statuses.contains(&403)
        });
        assert_eq!(statuses.first(), Some(&200));
        // The name of a rule is the one asked for, in both directions.
        let before = bed.dns.queries().len();
        assert_eq!(moat.everywhere("backend.denied.test", 80), 403);
        assert_eq!(moat.connect("backend.denied.test:443"), 403);
        assert_eq!(bed.dns.queries().len(), before);
        bed.dns.set("back.allowed.test", "CNAME secret.wild.test");
        assert_eq!(moat.everywhere("back.allowed.test", 80), 200);
        assert_eq!(moat.everywhere("secret.wild.test", 80), 403);
        moat.finish();
    });
}

#[test]
fn an_alias_that_leads_nowhere_is_no_way_in() {
    bed(|bed| {
        let moat = bed.moat().start();
        bed.dns.set("loop.allowed.test", "CNAME round.allowed.test");
        bed.dns.set("round.allowed.test", "CNAME loop.allowed.test");
        assert_eq!(moat.connect("loop.allowed.test:80"), 502);
        assert_eq!(moat.get("loop.allowed.test/").status(), 502);
        assert_eq!(moat.socks("loop.allowed.test", 80), 4);
        moat.finish();
    });
}

#[test]
fn an_address_entry_opens_only_what_it_names() {
    bed(|bed| {
        for port in [443, 8443] {
            bed.origins.http(([10, 1, 2, 3], port).into());
        }
        let list = ["inner.allowed.test:443,8443", "10.1.2.3/32:443,8443"];
        let moat = bed.moat().allow_also(&list).start();
        bed.dns.set("inner.allowed.test", "A 10.1.2.3");
        bed.dns.set("mapped.allowed.test", "AAAA ::ffff:10.1.2.3");
        bed.dns.set("beside.allowed.test", "A 10.1.2.4");
        bed.dns.set("both.allowed.test", "A 10.1.2.3 A 10.1.2.4");
        for (target, status) in [
            ("inner.allowed.test:443", 200),
            ("mapped.allowed.test:443", 200),
            ("10.1.2.3:443", 200),
            ("[::ffff:10.1.2.3]:443", 200),
        ] {
            assert_eq!(moat.connect(target), status, "{target}");
        }
        // A plain request for a port that is not one of TLS.
        assert_eq!(moat.everywhere("10.1.2.3", 8443), 200);
        assert_eq!(moat.everywhere("inner.allowed.test", 8443), 200);
        for (host, port) in [
            ("10.1.2.3", 80),
            ("10.1.2.3", 8080),
            ("[::ffff:10.1.2.3]", 80),
            ("10.1.2.4", 443),
            ("10.1.2.4", 8443),
            ("[::ffff:10.1.2.4]", 443),
            ("inner.allowed.test", 80),
            ("beside.allowed.test", 443),
            ("both.allowed.test", 443),
            // Others that hold the open address inside.
            ("[64:ff9b::a01:203]", 443),
            ("[2002:a01:203::1]", 443),
            ("[2606:4700::5efe:a01:203]", 443),
            // The entry is an address and allows no name.
            ("unlisted.test", 443),
        ] {
            assert_eq!(moat.everywhere(host, port), 403, "{host}:{port}");
        }
        bed.judged(&[
            ("10.1.2.3:443", "allow"),
            ("https://[::ffff:10.1.2.3]/", "allow"),
            ("http://10.1.2.3/", "deny"),
            ("https://10.1.2.4/", "deny"),
            ("[::ffff:10.1.2.4]:443", "deny"),
            ("[2002:a01:203::1]:443", "deny"),
        ]);
        moat.finish();
    });
}

#[test]
fn a_range_never_opens_a_metadata_address() {
    bed(|bed| {
        bed.origins.http(([169, 254, 170, 2], 80).into());
        let ranges = [
            "0.0.0.0/0:*",
            "169.254.0.0/16:80",
            "169.254.169.254/31:80",
            "[::/0]:*",
            "[fd00:ec2::/32]:80",
        ];
        let literal = ["169.254.170.2:80"];
        let moat = bed
            .moat()
            .allow_also(&[&ranges[..], &literal].concat())
            .start();
        for (at, address) in [
            "169.254.169.254",
            "169.254.170.23",
            "100.100.100.200",
            "168.63.129.16",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
        ]
        .into_iter()
        .enumerate()
        {
            let (kind, host) = if address.contains(':') {
                ("AAAA", format!("[{address}]"))
            } else {
                ("A", address.to_owned())
            };
            assert_eq!(moat.everywhere(host, 80), 403, "{address}");
            let name = format!("m{at}.allowed.test");
            bed.dns.set(&name, &format!("{kind} {address}"));
            assert_eq!(moat.everywhere(&name, 80), 403, "{address}");
        }
        assert_eq!(moat.everywhere("169.254.170.2", 80), 200);
        bed.judged(&[
            ("http://169.254.169.254/", "deny"),
            ("http://[fd00:ec2::254]/", "deny"),
            ("http://169.254.170.2/", "allow"),
            ("http://metadata.google.internal/", "deny"),
        ]);
        moat.finish();
    });
}

#[test]
fn an_address_of_this_host_is_guarded_inside_others_too() {
    bed(|bed| {
        let added = Command::new("ip")
            .args(["address", "add", "93.184.216.40/32", "dev", "lo"])
            .status();
        assert!(added.unwrap().success());
        let moat = bed.moat().start();
        for (at, answer) in [
            "A 93.184.216.40",
            "AAAA ::ffff:93.184.216.40",
            "AAAA 2002:5db8:d828::1",
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("own{at}.allowed.test");
            bed.dns.set(&name, answer);
            assert_eq!(moat.everywhere(&name, 80), 403, "{answer}");
            let record = moat.decision(&name);
            assert!(
                record["reason"].as_str().unwrap().contains("own addresses"),
                "{record}"
            );
        }
        moat.finish();
    });
}
