//! The proxy is never a way to itself.

use std::time::{Duration, Instant};

use crate::support::{Bed, Moat, bed};

/// Every spelling of the address that the proxy of the bed listens on.
const SPELLINGS: [&str; 9] = [
    "127.0.0.1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "localhost",
    "LocalHost.",
    "me.localhost",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
];

/// Holds every spelling of the proxy's and the admin listener's own address to a refusal.
fn refuses_itself(bed: &Bed, moat: &Moat) {
    let (proxy, admin) = (moat.port(), moat.admin().port());
    for port in [proxy, admin] {
        for host in SPELLINGS
            .into_iter()
            .chain(["0.0.0.0", "[::]", "[::ffff:0.0.0.0]"])
        {
            assert_eq!(moat.everywhere(host, port), 403, "{host}:{port}");
        }
    }
    for (at, answer) in [
        "A 127.0.0.1",
        "AAAA ::1",
        "AAAA ::ffff:127.0.0.1",
        "AAAA 64:ff9b::7f00:1",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("me{at}.allowed.test");
        bed.dns.set(&name, answer);
        for port in [proxy, admin] {
            assert_eq!(moat.everywhere(&name, port), 403, "{answer} {port}");
        }
    }
}

#[test]
fn own_listeners_are_never_openable() {
    bed(|bed| {
        for list in [
            &["allowed.test", "*.allowed.test:*"][..],
            &["*:*"],
            &["*:*", "127.0.0.0/8:*", "[::/0]:*", "localhost:*"],
        ] {
            let moat = bed.moat().allow(list).start();
            refuses_itself(bed, &moat);
            // No entry opens it, so none is named.
            let refused = moat.get(&format!("127.0.0.1:{}/", moat.admin().port()));
            assert!(!refused.text().contains("moat allow"), "{}", refused.text());
            assert!(!refused.text().contains("moat_"), "{}", refused.text());
            moat.finish();
            bed.again();
        }
    });
}

#[test]
fn observing_opens_no_listener() {
    bed(|bed| {
        let moat = bed
            .moat()
            .allow(&["allowed.test"])
            .switch("--observe")
            .start();
        refuses_itself(bed, &moat);
        moat.finish();
    });
}

#[test]
fn a_listener_of_another_kind_is_guarded_as_well() {
    bed(|bed| {
        let chain = bed.write("chain.pem", &bed.authority.chain);
        let key = bed.write("key.pem", &bed.authority.key);
        let moat = bed
            .moat()
            .flag("--listen", "tls:127.0.0.1:0")
            .flag("--listen", "10.9.9.9:0")
            .flag("--tls-cert", chain.to_str().unwrap())
            .flag("--tls-key", key.to_str().unwrap())
            .allow_also(&["*.allowed.test:*", "127.0.0.0/8:*", "10.0.0.0/8:*"])
            .start();
        bed.dns.set("inner.allowed.test", "A 10.9.9.9");
        let port = |mark| {
            moat.printed(mark)
                .rsplit(':')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        };
        let (tls, inner) = (
            port("listening on https://"),
            port("listening on http://10.9.9.9"),
        );
        for (host, port) in [
            ("127.0.0.1", tls),
            ("[::1]", tls),
            ("10.9.9.9", inner),
            ("[::ffff:10.9.9.9]", inner),
            ("inner.allowed.test", inner),
        ] {
            assert_eq!(moat.everywhere(host, port), 403, "{host}:{port}");
        }
        moat.finish();
    });
}

#[test]
fn a_wildcard_listener_is_guarded_on_every_address() {
    bed(|bed| {
        let open = ["*.allowed.test:*", "0.0.0.0/0:*", "[::/0]:*"];
        for listener in ["0.0.0.0:0", "[::]:0"] {
            let moat = bed
                .moat()
                .without_listener()
                .flag("--listen", listener)
                .allow_also(&open)
                .start();
            let port = moat.port();
            // Those of interfaces, and those that a route alone makes local.
            for address in ["127.0.0.2", "127.9.9.9", "10.9.9.9", "93.184.216.34"] {
                assert_eq!(moat.everywhere(address, port), 403, "{address}");
                let name = format!("a{address}.allowed.test");
                bed.dns.set(&name, &format!("A {address}"));
                assert_eq!(moat.everywhere(&name, port), 403, "{name}");
            }
            for address in [
                "fd00::9",
                "2606:4700::9",
                "::ffff:10.9.9.9",
                "64:ff9b::a09:909",
            ] {
                assert_eq!(
                    moat.everywhere(format!("[{address}]"), port),
                    403,
                    "{address}"
                );
            }
            moat.finish();
            bed.again();
        }
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
        assert_eq!(moat.everywhere("loop.allowed.test", port), 403);
        assert!(start.elapsed() < Duration::from_secs(1));
        crate::support::wait::wait_for("the descriptors to be given back", || {
            (descriptors(&moat) <= before).then_some(())
        });
        moat.finish();
    });
}

#[test]
fn a_request_without_a_url_is_told_that_this_is_a_proxy() {
    bed(|bed| {
        let moat = bed.moat().start();
        let admin = moat.admin();
        for (line, host) in [
            ("GET / HTTP/1.1", "allowed.test"),
            ("GET /metrics HTTP/1.1", "denied.test"),
            ("GET /metrics HTTP/1.1", &admin.to_string()),
            ("GET /livez HTTP/1.0", "allowed.test"),
            ("HEAD / HTTP/1.1", "allowed.test"),
            ("POST /readyz HTTP/1.1", "allowed.test"),
            ("OPTIONS * HTTP/1.1", "allowed.test"),
            ("GET //allowed.test/ HTTP/1.1", "allowed.test"),
            ("GET ?x HTTP/1.1", "allowed.test"),
            ("GET allowed.test HTTP/1.1", "allowed.test"),
            ("GET allowed.test:80 HTTP/1.1", "allowed.test"),
            ("GET http:/metrics HTTP/1.1", "allowed.test"),
        ] {
            moat.count(1);
            let method = line.split(' ').next().unwrap();
            let request = format!("{line}\r\nHost: {host}\r\n\r\n");
            let answer = moat.dial().send(&request).answer_to(method);
            assert_eq!(answer.status(), 400, "{request}");
            let hint = if method == "HEAD" {
                &answer.head
            } else {
                &answer.text()
            };
            assert!(
                hint.contains("this port is a proxy"),
                "{request}: {answer:?}"
            );
            assert!(!hint.contains("moat_"), "{request}: {answer:?}");
        }
        let record = moat.wait_record("decision", |_| true);
        assert_eq!(record["cause"], "malformed", "{record}");
        assert!(record["host"].is_null(), "{record}");
        assert_eq!(bed.dns.queries(), []);
        assert_eq!(bed.origins.connections(), 0);
        moat.finish();
    });
}

fn descriptors(moat: &Moat) -> usize {
    let folder = format!("/proc/{}/fd", moat.pid().as_raw_nonzero());
    std::fs::read_dir(folder).unwrap().count()
}
