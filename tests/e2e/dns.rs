//! Names, and the way to their addresses.

use std::time::{Duration, Instant};

use crate::support::socket;
use crate::support::{Moat, bed};

#[test]
fn a_refused_name_is_never_looked_up() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.connect("733363723374.exfil.denied.test:443"), 403);
        assert_eq!(moat.get("s3cr3t.exfil.denied.test/").status(), 403);
        assert_eq!(moat.socks("s3cr3t.exfil.denied.test", 443), 2);
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn a_failed_lookup_is_not_a_denial_and_is_bounded() {
    bed(|bed| {
        bed.dns.set("nx.allowed.test", "NXDOMAIN");
        bed.dns.set("sf.allowed.test", "SERVFAIL");
        bed.dns.set("slow.allowed.test", "NOANSWER");
        let moat = bed.moat().flag("--dns-timeout", "1s").start();
        for (name, status) in [("nx", 502), ("sf", 502), ("slow", 504)] {
            let host = format!("{name}.allowed.test");
            let start = Instant::now();
            let (answer, _) = moat.tunnel(&format!("{host}:443"));
            let took = start.elapsed();
            assert_eq!(answer.status(), status, "{name}: {}", answer.head);
            assert!(took < Duration::from_millis(2500), "{name} took {took:?}");
            assert_eq!(moat.socks(&host, 443), 4, "{name}");
        }
        moat.finish();
    });
}

#[test]
fn a_slow_name_server_delays_nobody_else() {
    bed(|bed| {
        bed.dns.set("slow.allowed.test", "NOANSWER");
        let moat = bed.moat().flag("--dns-timeout", "2s").start();
        assert_eq!(moat.get("allowed.test/").status(), 200);
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| moat.connect("slow.allowed.test:443"));
            let start = Instant::now();
            for _ in 0..10 {
                assert_eq!(moat.get("allowed.test/").status(), 200);
            }
            assert!(start.elapsed() < Duration::from_secs(1));
            assert_eq!(slow.join().unwrap(), 504);
        });
        moat.finish();
    });
}

#[test]
fn a_broken_leg_does_not_stall() {
    bed(|bed| {
        let dead = "2001:db8::dead".parse::<std::net::Ipv6Addr>().unwrap();
        let _full = socket::swallow((dead, 443).into());
        bed.dns
            .set("dual.allowed.test", "AAAA 2001:db8::dead A 127.0.0.2");
        let moat = bed.moat().allow_also(&["[2001:db8::/32]:443"]).start();
        let start = Instant::now();
        assert_eq!(moat.connect("dual.allowed.test:443"), 200);
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
        moat.finish();
    });
}

#[test]
fn an_answer_is_kept_for_its_time() {
    bed(|bed| {
        let moat = bed.moat().start();
        for _ in 0..5 {
            assert_eq!(moat.connect("kept.allowed.test:443"), 200);
        }
        let asked = bed.dns.asked("kept.allowed.test");
        assert!(asked <= workers(&moat) * 2, "{asked} queries");
        moat.finish();
    });
}

#[test]
fn a_dead_name_server_is_an_upstream_failure() {
    bed(|bed| {
        let moat = bed
            .moat()
            .dns("127.0.0.1:5353")
            .flag("--dns-timeout", "1s")
            .start();
        let (answer, _) = moat.tunnel("allowed.test:443");
        assert!([502, 504].contains(&answer.status()), "{}", answer.head);
        assert_eq!(moat.connect("denied.test:443"), 403);
        let moat = moat.expecting(answer.status());
        moat.finish();
    });
}

/// Each worker may keep answers of its own.
fn workers(moat: &Moat) -> usize {
    let folder = format!("/proc/{}/task", moat.pid().as_raw_nonzero());
    std::fs::read_dir(folder).unwrap().count()
}
