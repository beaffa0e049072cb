//! Addresses in place of names, in every spelling.

use crate::support::{Bed, Moat, bed};

/// Guarded addresses with the class that a refusal names.
const GUARDED: [(&str, &str); 46] = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("::1", "loopback"),
    ("10.0.0.5", "private"),
    ("172.16.0.1", "private"),
    ("192.168.1.1", "private"),
    ("fd00::1", "private"),
    ("fec0::1", "private"),
    ("169.254.1.1", "link-local"),
    ("fe80::1", "link-local"),
    ("169.254.169.254", "cloud metadata"),
    ("100.100.100.200", "cloud metadata"),
    ("168.63.129.16", "cloud metadata"),
    ("fd00:ec2::254", "cloud metadata"),
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "unspecified"),
    ("::", "unspecified"),
    ("::0", "unspecified"),
    ("100.64.0.1", "shared"),
    ("100.127.255.254", "shared"),
    ("198.18.0.1", "benchmarking"),
    ("192.0.0.1", "reserved"),
    ("240.0.0.1", "reserved"),
    ("64:ff9b::808:808", "reserved"),
    ("100::1", "reserved"),
    ("::ffff:0:7f00:1", "reserved"),
    ("203.0.113.9", "documentation"),
    ("2001:db8::1", "documentation"),
    ("255.255.255.255", "broadcast"),
    ("224.0.0.1", "multicast"),
    ("ff02::1", "multicast"),
    // IPv4 inside IPv6: mapped, NAT64, 6to4, Teredo, ISATAP, and mapped in longer spellings.
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:a00:1", "private"),
    ("::ffff:169.254.169.254", "cloud metadata"),
    ("0:0:0:0:0:FFFF:7F00:1", "loopback"),
    ("0000:0000:0000:0000:0000:ffff:0a00:0001", "private"),
    ("::FFFF:0.0.0.0", "unspecified"),
    ("64:ff9b::7f00:1", ""),
    ("64:ff9b::a9fe:a9fe", "cloud metadata"),
    ("64:ff9b:1::a00:1", ""),
    ("2002:7f00:1::1", "loopback"),
    ("2002:a00:1::", "private"),
    ("2001:0:808:808::f5ff:fffe", "private"),
    ("2606:4700::5efe:a9fe:a9fe", "cloud metadata"),
    ("2606:4700::200:5efe:7f00:1", "loopback"),
    ("::10.0.0.1", ""),
];

/// The host of an authority for an address.
fn written(address: &str) -> String {
    if address.contains(':') {
        format!("[{address}]")
    } else {
        address.to_owned()
    }
}

/// Runs a part of a case under a short list of names and under those that allow any name: nothing
/// is asked for, and nothing dialled.
fn under_each_list(bed: &Bed, part: impl Fn(&Moat)) {
    for list in [&["allowed.test"][..], &["*"], &["*:*", "**.*:*"]] {
        let moat = bed.moat().allow(list).start();
        let before = (bed.dns.queries().len(), bed.origins.connections());
        part(&moat);
        let after = (bed.dns.queries().len(), bed.origins.connections());
        assert_eq!(after, before, "{list:?}");
        moat.finish();
        bed.again();
    }
}

/// Holds that no door reads these as a host.
fn malformed_under_each_list(bed: &Bed, hosts: &[&str]) {
    under_each_list(bed, |moat| {
        for host in hosts {
            if !host.contains('/') {
                assert_eq!(moat.everywhere(host, 80), 400, "{host}");
            }
            assert_eq!(moat.connect(&format!("{host}:443")), 400, "{host}");
            assert_eq!(moat.socks_by_name(host, 80), 1, "{host}");
        }
    });
}

#[test]
fn legacy_spellings_of_an_address_are_malformed() {
    bed(|bed| {
        let hosts = [
            "2130706433",
            "0x7f000001",
            "0X7F.0.0.1",
            "2852039166",
            "0177.0.0.1",
            "017700000001",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0",
            "0x0",
            "0x",
            "00000000000",
            "4294967296",
            "127.0.0.01",
            "127.0.0.0x1",
            "127.0.0.1.",
            "127.0.0.1..",
            "127.0.0.1.1",
            "256.1.1.1",
            "allowed.test.1",
            "allowed.test.0x7f",
            "127.0.0.1/32",
            "-127.0.0.1",
        ];
        malformed_under_each_list(bed, &hosts);
        bed.unreadable(&hosts);
    });
}

#[test]
fn ipv6_is_written_in_brackets_and_without_a_zone() {
    bed(|bed| {
        let hosts = [
            "::1",
            "::ffff:127.0.0.1",
            "fd00::1",
            "[::1",
            "::1]",
            "[::1].",
            "[::1]x",
            "[::1%lo]",
            "[::1%25lo]",
            "[fe80::1%251]",
            "[fe80::1%]",
            "[v1.a]",
            "[127.0.0.1]",
            "[::127.1]",
            "[::ffff:0x7f.0.0.1]",
            "[::ffff:127.0.0.01]",
            "[::ffff:127.0.0.1.]",
            "[::ffff:2130706433]",
            "[0:0:0:0:0:0:0:0:1]",
            "[00001::1]",
            "[::1::]",
            "[ ::1]",
            "[::1/128]",
        ];
        malformed_under_each_list(bed, &hosts);
        bed.unreadable(
            &hosts
                .map(|host| format!("https://{host}/"))
                .each_ref()
                .map(String::as_str),
        );
    });
}

#[test]
fn a_guarded_address_is_refused_whatever_names_are_allowed() {
    bed(|bed| {
        let names = ["localhost", "LOCALHOST.", "x.localhost"];
        for name in names {
            assert_eq!(bed.dns.asked(name), 0, "{name}");
        }
        let hosts = GUARDED.map(|(address, _)| written(address));
        let requests = hosts.each_ref().map(|host| format!("http://{host}/"));
        under_each_list(bed, |moat| {
            for (host, (address, class)) in hosts.iter().zip(GUARDED) {
                assert_eq!(moat.everywhere(host, 80), 403, "{host}");
                let refused = moat.get(&format!("{host}:443/"));
                assert_eq!(refused.status(), 403, "{host}");
                assert!(
                    refused.text().contains(class),
                    "{address}: {}",
                    refused.text()
                );
            }
            for host in ["localhost", "LocalHost.", "x.localhost"] {
                assert_eq!(moat.everywhere(host, 80), 403, "{host}");
            }
            bed.judged(
                &requests
                    .each_ref()
                    .map(|request| (request.as_str(), "deny")),
            );
        });
    });
}

#[test]
fn observing_opens_no_guarded_address() {
    bed(|bed| {
        let moat = bed.moat().allow(&["*"]).switch("--observe").start();
        for (at, (address, _)) in GUARDED.into_iter().enumerate() {
            assert_eq!(moat.everywhere(written(address), 80), 403, "{address}");
            let kind = if address.contains(':') { "AAAA" } else { "A" };
            let name = format!("m{at}.unlisted.test");
            bed.dns.set(&name, &format!("{kind} {address}"));
            assert_eq!(moat.everywhere(&name, 80), 403, "a name for {address}");
        }
        assert_eq!(moat.everywhere("127.1", 80), 400);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn a_guarded_address_is_refused_as_the_answer_for_an_allowed_name() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (at, (address, class)) in GUARDED.into_iter().enumerate() {
            let kind = if address.contains(':') { "AAAA" } else { "A" };
            let name = format!("m{at}.allowed.test");
            bed.dns.set(&name, &format!("{kind} {address}"));
            assert_eq!(moat.everywhere(&name, 80), 403, "a name for {address}");
            let record = moat.decision(&name);
            assert_eq!(record["cause"], "guarded", "{record}");
            let reason = record["reason"].as_str().unwrap();
            assert!(reason.contains(class), "{address}: {reason}");
        }
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

#[test]
fn a_public_address_is_no_way_round_the_list() {
    bed(|bed| {
        let hello = bed.authority.hello("allowed.test");
        let hosts = [
            "203.0.113.9",
            "93.184.216.34",
            "[2606:2800:220:1::1]",
            "[::ffff:93.184.216.34]",
        ];
        under_each_list(bed, |moat| {
            for host in hosts {
                assert_eq!(moat.everywhere(host, 443), 403, "{host}");
                assert_eq!(moat.everywhere(host, 80), 403, "{host}");
            }
            // An allowed server name inside, sent before the answer is known.
            moat.count(2);
            let mut client = moat.dial();
            client.send("CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: 93.184.216.34:443\r\n\r\n");
            assert_eq!(client.send(&hello).answer_to("CONNECT").status(), 403);
            let target = crate::support::client::socks_target("93.184.216.34", 443);
            let mut client = moat.dial();
            client.send([5, 1, 0]).send(target).send(&hello);
            assert_eq!(client.exactly(4), [5, 0, 5, 2]);
        });
        let moat = bed.moat().allow(&["*:*", "allowed.test"]).start();
        let requests = hosts.map(|host| format!("https://{host}/"));
        bed.judged(
            &requests
                .each_ref()
                .map(|request| (request.as_str(), "deny")),
        );
        moat.finish();
    });
}
