//! SOCKS5, the third door.

use std::time::Duration;

use crate::support::bed;
use crate::support::wait::pace;

#[test]
fn a_handshake_in_fragments_is_a_handshake() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        let send = |client: &mut crate::support::client::Client, bytes: &[u8]| {
            for byte in bytes {
                client.send([*byte]);
                pace(Duration::from_millis(10));
            }
        };
        send(&mut client, &[5, 4, 0, 1, 2, 0x80]);
        assert_eq!(client.exactly(2), [5, 0]);
        let target = crate::support::client::socks_target("svc.allowed.test", 7);
        send(&mut client, &target);
        assert_eq!(client.exactly(4), [5, 0, 0, 1]);
        client.exactly(6);
        client.send("echo").half_close();
        assert_eq!(client.rest().0, b"echo");
        moat.finish();
    });
}

#[test]
fn no_authentication_is_chosen_among_several_methods() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        assert_eq!(client.send([5, 2, 2, 0]).exactly(2), [5, 0]);
        let target = crate::support::client::socks_target("allowed.test", 443);
        assert_eq!(client.send(target).exactly(4), [5, 0, 0, 1]);
        moat.finish();
    });
}

#[test]
fn a_refused_target_is_code_two_and_a_record_like_that_of_http() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (host, port, cause) in [
            ("denied.test", 443, "default"),
            ("127.0.0.1", 80, "guarded"),
            ("::1", 80, "guarded"),
        ] {
            let (code, mut client) = moat.socks_tunnel(host, port);
            assert_eq!(code, 2, "{host}");
            assert_eq!(client.rest().0, b"", "{host}");
            let by_socks = moat.wait_record("decision", |record| {
                record["protocol"] == "socks5" && record["host"] == host
            });
            let shown = if host.contains(':') {
                format!("[{host}]")
            } else {
                host.to_owned()
            };
            assert_eq!(moat.connect(&format!("{shown}:{port}")), 403, "{host}");
            let by_http = moat.wait_record("decision", |record| {
                record["protocol"] == "connect" && record["host"] == host
            });
            for field in ["host", "port", "effect", "rule", "enforced"] {
                assert_eq!(by_socks[field], by_http[field], "{host} {field}");
            }
            assert_eq!(by_socks["effect"], "deny", "{host}");
            assert!(
                [cause, "default"].contains(&by_socks["cause"].as_str().unwrap()),
                "{host}"
            );
        }
        assert_eq!(bed.dns.queries(), []);
        moat.finish();
    });
}

#[test]
fn what_it_does_not_do_gets_the_code_for_that() {
    bed(|bed| {
        let moat = bed.moat().start();
        for (request, code) in [
            // BIND and UDP ASSOCIATE.
            ([5, 2, 0, 1, 127, 0, 0, 2, 0, 7], 7),
            ([5, 3, 0, 1, 127, 0, 0, 2, 0, 7], 7),
            // An address type that does not exist.
            ([5, 1, 0, 9, 127, 0, 0, 2, 0, 7], 8),
        ] {
            moat.count(1);
            let mut client = moat.dial();
            assert_eq!(client.send([5, 1, 0]).exactly(2), [5, 0]);
            let reply = client.send(request).exactly(2);
            assert_eq!(reply, [5, code]);
        }
        moat.finish();
    });
}

#[test]
fn a_client_that_offers_no_acceptable_method_is_told_so() {
    bed(|bed| {
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        assert_eq!(client.send([5, 1, 2]).exactly(2), [5, 0xff]);
        client.rest();
        moat.finish();
    });
}
