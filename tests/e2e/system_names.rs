//! Names as the system has them: its hosts file and its name servers.

use crate::support::bed;
use crate::support::dns::StubDns;
use crate::support::namespace::ip;

#[test]
fn the_hosts_file_comes_first_and_is_guarded_like_every_answer() {
    bed(|bed| {
        bed.cover(
            "/etc/hosts",
            "127.0.0.2 ORIGIN.allowed.test second.allowed.test # c\n\
             10.0.0.5 inner.allowed.test\n0.0.0.0 blocked.allowed.test\n\
             127.0.0.2 mixed.allowed.test\n10.0.0.5 mixed.allowed.test\n\
             fe80::1%eth0 near.allowed.test\n127.0.0.2 denied.test\n",
        );
        bed.cover("/etc/resolv.conf", "nameserver 127.0.0.1\n");
        let moat = bed.moat().system_names().start();
        for name in ["origin", "second"] {
            let target = format!("{name}.allowed.test:443");
            assert_eq!(moat.connect(&target), 200, "{name}");
        }
        for name in ["inner", "blocked", "mixed", "near"] {
            let host = format!("{name}.allowed.test");
            assert_eq!(moat.connect(&format!("{host}:443")), 403, "{name}");
            assert_eq!(moat.decision(&host)["cause"], "guarded", "{name}");
        }
        assert_eq!(moat.connect("denied.test:443"), 403);
        assert_eq!(moat.decision("denied.test")["cause"], "default");
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
        assert_eq!(bed.dns.asked("allowed.test"), 2);
    });
}

#[test]
fn a_link_local_name_server_is_asked_through_its_interface() {
    bed(|bed| {
        ip("-6 address add fe80::53/64 dev lo nodad");
        let near = StubDns::at("[fe80::53%1]:53");
        bed.cover(
            "/etc/resolv.conf",
            "nameserver fe80::53%lo\nnameserver fe80::54%no-such-one\n",
        );
        let moat = bed.moat().system_names().start();
        assert_eq!(moat.connect("allowed.test:443"), 200);
        assert_eq!(near.asked("allowed.test"), 2);
        assert_eq!(bed.dns.queries(), []);
        let log = moat.log();
        assert!(
            log.contains("/etc/resolv.conf:2: name server `fe80::54%no-such-one`"),
            "{log}"
        );
        moat.finish();
    });
}
