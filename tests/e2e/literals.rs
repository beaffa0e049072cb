//! Addresses in place of names, in every spelling.

use crate::support::bed;

const EVERYTHING: [&str; 1] = ["*"];
const SHORT: [&str; 1] = ["allowed.test"];

#[test]
fn legacy_spellings_of_ipv4_are_malformed() {
    bed(|bed| {
        for list in [SHORT, EVERYTHING] {
            let before = bed.dns.queries().len();
            let moat = bed.moat().allow(&list).start();
            for host in [
                "2130706433",
                "0x7f000001",
                "0X7F.0.0.1",
                "2852039166",
                "0177.0.0.1",
            ] {
                assert_eq!(moat.get(&format!("{host}/")).status(), 400, "{host}");
                assert_eq!(moat.connect(&format!("{host}:80")), 400, "{host}");
                assert_ne!(moat.socks(host, 80), 0, "{host}");
            }
            assert_eq!(bed.dns.queries().len(), before);
            moat.finish();
            again(bed);
        }
    });
}

#[test]
fn an_ipv4_address_inside_ipv6_is_judged_as_itself() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (at, address) in [
            "::ffff:127.0.0.1",
            "::ffff:a00:1",
            "::ffff:169.254.169.254",
            "0:0:0:0:0:FFFF:7F00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::1",
            "2002:a00:1::",
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(moat.connect(&format!("[{address}]:80")), 403, "{address}");
            assert_eq!(moat.socks(address, 80), 2, "{address}");
            let name = format!("m{at}.allowed.test");
            bed.dns.set(&name, &format!("AAAA {address}"));
            assert_eq!(
                moat.connect(&format!("{name}:80")),
                403,
                "a name for {address}"
            );
        }
        moat.finish();
    });
}

#[test]
fn addresses_that_nobody_owns_in_public_are_guarded() {
    bed(|bed| {
        for list in [SHORT, EVERYTHING] {
            let moat = bed.moat().allow(&list).start();
            for host in [
                "0.0.0.0",
                "[::]",
                "[::0]",
                "100.64.0.1",
                "100.127.255.254",
                "198.18.0.1",
                "192.0.0.1",
                "240.0.0.1",
                "255.255.255.255",
                "[fe80::1]",
                "[fd00::1]",
                "[ff02::1]",
            ] {
                assert_eq!(moat.connect(&format!("{host}:80")), 403, "{host}");
                assert_eq!(moat.get(&format!("{host}/")).status(), 403, "{host}");
            }
            moat.finish();
            again(bed);
        }
    });
}

#[test]
fn a_public_address_is_no_way_round_the_list() {
    bed(|bed| {
        for list in [SHORT, EVERYTHING] {
            let moat = bed.moat().allow(&list).start();
            assert_eq!(moat.connect("203.0.113.9:443"), 403);
            assert_eq!(moat.connect("93.184.216.34:443"), 403);
            assert_eq!(moat.connect("[2606:2800:220:1::1]:443"), 403);
            assert_eq!(moat.socks("93.184.216.34", 443), 2);
            moat.finish();
            again(bed);
        }
    });
}

/// Makes room for the records of the next proxy.
fn again(bed: &crate::support::Bed) {
    std::fs::remove_file(bed.directory().join("audit.jsonl")).unwrap();
}
