//! The proxy is never a way to itself.

use std::time::{Duration, Instant};

use crate::support::{Moat, bed};

#[test]
fn own_listeners_are_never_openable() {
    bed(|bed| {
        let open = ["*:*", "127.0.0.0/8:*"];
        for list in [&["allowed.test", "me.allowed.test:*"][..], &open] {
            let moat = bed.moat().allow(list).start();
            for host in [
                "127.0.0.1",
                "[::1]",
                "localhost",
                "[::ffff:127.0.0.1]",
                "0.0.0.0",
            ] {
                for port in [moat.port(), moat.admin().port()] {
                    let target = format!("{host}:{port}");
                    assert_eq!(moat.connect(&target), 403, "{target}");
                    assert_eq!(moat.get(&format!("{target}/")).status(), 403, "{target}");
                }
            }
            bed.dns.set("me.allowed.test", "A 127.0.0.1");
            assert_eq!(
                moat.connect(&format!("me.allowed.test:{}", moat.port())),
                403
            );
            moat.finish();
            std::fs::remove_file(bed.directory().join("audit.jsonl")).unwrap();
        }
    });
}

#[test]
fn a_wildcard_listener_is_guarded_on_every_address() {
    bed(|bed| {
        let moat = bed
            .moat()
            .without_listener()
            .flag("--listen", "[::]:0")
            .allow_also(&["me.allowed.test:*", "10.0.0.0/8:*", "[fd00::/8]:*"])
            .start();
        let port = moat.port();
        bed.dns.set("me.allowed.test", "A 10.9.9.9");
        // Those of interfaces, and those that a route alone makes local.
        for host in ["127.0.0.2", "10.9.9.9", "[fd00::9]", "me.allowed.test"] {
            assert_eq!(moat.connect(&format!("{host}:{port}")), 403, "{host}");
            assert_eq!(moat.get(&format!("{host}:{port}/")).status(), 403, "{host}");
        }
        moat.finish();
    });
}

#[test]
fn a_loop_through_the_proxy_ends_at_once() {
    bed(|bed| {
        bed.dns.set("loop.allowed.test", "A 127.0.0.1");
        let moat = bed
            .moat()
            .allow_also(&["loop.allowed.test:*", "127.0.0.1/32:*"])
            .start();
        assert_eq!(moat.get("allowed.test/").status(), 200);
        let before = descriptors(&moat);
        let start = Instant::now();
        let port = moat.port();
        assert_eq!(
            moat.get(&format!("loop.allowed.test:{port}/")).status(),
            403
        );
        assert_eq!(moat.connect(&format!("loop.allowed.test:{port}")), 403);
        assert!(start.elapsed() < Duration::from_secs(1));
        crate::support::wait::wait_for("the descriptors to be given back", || {
            (descriptors(&moat) <= before).then_some(())
        });
        moat.finish();
    });
}

#[test]
fn an_origin_form_request_is_told_that_this_is_a_proxy() {
    bed(|bed| {
        let moat = bed.moat().start();
        for request in [
            "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost: denied.test\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        ] {
            let answer = moat.raw(request);
            assert_eq!(answer.status(), 400, "{request}");
            assert!(
                answer.text().contains("proxy"),
                "{request}: {}",
                answer.text()
            );
        }
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

fn descriptors(moat: &Moat) -> usize {
    let folder = format!("/proc/{}/fd", moat.pid().as_raw_nonzero());
    std::fs::read_dir(folder).unwrap().count()
}
