//! Allowed names that lead inside.

use crate::support::bed;

#[test]
fn an_allowed_name_with_an_inner_address_is_refused() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (at, (answer, class)) in [
            ("A 127.0.0.1", "loopback"),
            ("A 10.0.0.5", "private"),
            ("A 169.254.169.254", "metadata"),
            ("AAAA ::1", "loopback"),
            ("AAAA fd00::1", "private"),
            ("A 127.0.0.2 A 10.0.0.5", "private"),
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("in{at}.allowed.test");
            bed.dns.set(&name, answer);
            let (refused, _) = moat.tunnel(&format!("{name}:80"));
            assert_eq!(refused.status(), 403, "{answer}");
            let get = moat.get(&format!("{name}/"));
            assert_eq!(get.status(), 403, "{answer}");
            assert!(get.text().contains(class), "{answer}: {}", get.text());
            assert_eq!(moat.socks(&name, 80), 2, "{answer}");
            let record = moat.decision(&name);
            assert_eq!(record["cause"], "guarded", "{answer}");
        }
        moat.finish();
    });
}

#[test]
fn an_answer_that_flips_never_reaches_the_inside() {
    bed(|bed| {
        let moat = bed.moat().start();
        bed.dns
            .sequence("flip.allowed.test", &["A 127.0.0.2", "A 127.0.0.1"]);
        for _ in 0..50 {
            let status = moat.connect("flip.allowed.test:80");
            assert!([200, 403].contains(&status), "{status}");
        }
        for record in moat.records() {
            if record["host"] == "flip.allowed.test" && record["effect"] == "allow" {
                let address = &record["address"];
                assert!(address == "127.0.0.2" || address.is_null(), "{record}");
            }
        }
        moat.finish();
    });
}

#[test]
fn an_alias_is_judged_by_the_name_asked_for_and_its_final_address() {
    bed(|bed| {
        let moat = bed.moat().start();
        bed.dns
            .set("open.allowed.test", "CNAME backend.denied.test");
        bed.dns.set("backend.denied.test", "A 127.0.0.2");
        bed.dns.set("inner.allowed.test", "CNAME inner.denied.test");
        bed.dns.set("inner.denied.test", "A 10.0.0.9");
        assert_eq!(moat.connect("open.allowed.test:443"), 200);
        assert_eq!(moat.connect("inner.allowed.test:443"), 403);
        let before = bed.dns.queries().len();
        assert_eq!(moat.connect("backend.denied.test:443"), 403);
        assert_eq!(bed.dns.queries().len(), before);
        moat.finish();
    });
}

#[test]
fn an_address_entry_opens_only_what_it_names() {
    bed(|bed| {
        bed.origins.http(([10, 1, 2, 3], 443).into());
        let moat = bed
            .moat()
            .allow_also(&["other.test", "10.1.2.3/32:443"])
            .start();
        bed.dns.set("inner.allowed.test", "A 10.1.2.3");
        bed.dns.set("beside.allowed.test", "A 10.1.2.4");
        for (target, status) in [
            ("inner.allowed.test:443", 200),
            ("10.1.2.3:443", 200),
            ("10.1.2.3:80", 403),
            ("inner.allowed.test:80", 403),
            ("beside.allowed.test:443", 403),
            ("[::ffff:10.1.2.4]:443", 403),
        ] {
            assert_eq!(moat.connect(target), status, "{target}");
        }
        moat.finish();
    });
}

#[test]
fn a_range_never_opens_a_metadata_address() {
    bed(|bed| {
        bed.origins.http(([169, 254, 170, 2], 80).into());
        let list = ["allowed.test", "169.254.0.0/16:80", "169.254.170.2:80"];
        let moat = bed.moat().allow(&list).start();
        assert_eq!(moat.connect("169.254.169.254:80"), 403);
        assert_eq!(moat.connect("169.254.170.2:80"), 200);
        moat.finish();
    });
}
