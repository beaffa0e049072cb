use moat_policy::record::Cause;
use moat_policy::request::Target;
use moat_policy::verdict::{Grant, SniRule, TlsRule};

use super::{Greeting, Judged, LIMIT, Progress};
use crate::hello::tests::{ech, hello, hello_with, usual};
use crate::testing::target;

const MATCH: Grant = Grant {
    tls: TlsRule::Any,
    sni: SniRule::Match,
    until: None,
};
const REQUIRE: Grant = Grant {
    tls: TlsRule::Require,
    ..MATCH
};

/// Judges bytes that come one at a time, with `other.test` as the only other name allowed. Gives
/// the cause of a refusal and the number of bytes that it took.
fn judge_ended(to: &str, grant: Grant, bytes: &[u8], ended: bool) -> Result<usize, (Cause, usize)> {
    let to = target(to);
    let allowed = |asked: &Target| *asked == target(&format!("other.test:{}", to.port));
    let greeting = Greeting {
        target: &to,
        grant,
        allowed: &allowed,
    };
    let mut progress = Progress::default();
    for length in 0..=bytes.len() {
        match greeting.judge(
            &mut progress,
            &bytes[..length],
            ended && length == bytes.len(),
        ) {
            Judged::More => {}
            Judged::Pass => return Ok(length),
            Judged::Refuse(refusal) => return Err((refusal.cause, length)),
        }
    }
    Ok(usize::MAX)
}

fn judge(to: &str, grant: Grant, bytes: &[u8]) -> Result<usize, Cause> {
    judge_ended(to, grant, bytes, false).map_err(|(cause, _)| cause)
}

#[test]
fn passes_a_hello_for_the_permitted_host_once_it_is_whole() {
    let bytes = hello("allowed.test");
    for port in [443, 22, 80] {
        assert_eq!(
            judge(&format!("allowed.test:{port}"), MATCH, &bytes),
            Ok(bytes.len())
        );
    }
}

#[test]
fn refuses_a_hello_for_another_host_on_any_port() {
    for port in [443, 22, 80, 9000] {
        let to = format!("allowed.test:{port}");
        assert_eq!(judge(&to, MATCH, &hello("denied.test")), Err(Cause::Sni));
        // The name must be the permitted one; that another is allowed too changes nothing.
        assert_eq!(judge(&to, MATCH, &hello("other.test")), Err(Cause::Sni));
    }
}

#[test]
fn nothing_in_front_of_a_hello_hides_it() {
    let warning = [21, 3, 1, 0, 2, 1, 90];
    let change = [20, 3, 3, 0, 1, 1];
    for prefix in [&warning[..], &change] {
        for name in ["denied.test", "allowed.test"] {
            let bytes = [prefix, &hello(name)].concat();
            for port in [443, 9000] {
                let to = format!("allowed.test:{port}");
                assert_eq!(judge(&to, MATCH, &bytes), Err(Cause::Sni), "{name}");
            }
        }
    }
}

#[test]
fn a_hello_of_ssl_2_is_a_hello_without_a_name() {
    for version in [[0, 2], [3, 3]] {
        let bytes = [&[0x80, 25, 1], &version[..], &[0; 22]].concat();
        let found = judge_ended("allowed.test:9000", MATCH, &bytes, false);
        assert_eq!(found, Err((Cause::Sni, 5)));
    }
}

#[test]
fn what_only_begins_like_tls_passes_as_soon_as_it_differs() {
    let to = "allowed.test:9000";
    for (bytes, length) in [
        (&[21, 21, 3][..], 2),
        (&[0x80, 0, 0, 0, 7], 3),
        (&[0xff, 0xfd, 1], 1),
        (&[0x90, 1, 1, 4], 4),
    ] {
        assert_eq!(judge(to, MATCH, bytes), Ok(length), "{bytes:?}");
    }
    for bytes in [&[21][..], &[0x80, 0], &[0x80, 0, 1]] {
        let found = judge_ended(to, MATCH, bytes, true);
        assert_eq!(found, Ok(bytes.len()), "{bytes:?}");
    }
}

#[test]
fn refuses_a_hello_without_a_name_unless_the_rule_says_so() {
    let bytes = hello_with(&usual(None));
    assert_eq!(judge("allowed.test:443", REQUIRE, &bytes), Err(Cause::Sni));
    let any = Grant {
        sni: SniRule::Any,
        ..REQUIRE
    };
    assert_eq!(judge("allowed.test:443", any, &bytes), Ok(bytes.len()));
}

#[test]
fn judges_the_outer_name_of_an_encrypted_hello() {
    let with_ech = |name: &[u8]| {
        let mut extensions = usual(Some(name));
        extensions.push(ech());
        hello_with(&extensions)
    };
    assert_eq!(
        judge("allowed.test:443", REQUIRE, &with_ech(b"ech-provider.test")),
        Err(Cause::Sni)
    );
    let feigned = with_ech(b"allowed.test");
    assert_eq!(
        judge("allowed.test:443", REQUIRE, &feigned),
        Ok(feigned.len())
    );
}

#[test]
fn a_literal_target_needs_no_name_and_takes_only_one_that_is_allowed_itself() {
    let none = hello_with(&usual(None));
    assert_eq!(judge("127.0.0.2:443", REQUIRE, &none), Ok(none.len()));
    let other = hello("other.test");
    assert_eq!(judge("127.0.0.2:443", REQUIRE, &other), Ok(other.len()));
    assert_eq!(
        judge("127.0.0.2:443", REQUIRE, &hello("denied.test")),
        Err(Cause::Sni)
    );
    let itself = hello_with(&usual(Some(b"127.0.0.2")));
    assert_eq!(judge("127.0.0.2:443", REQUIRE, &itself), Ok(itself.len()));
    let another = hello_with(&usual(Some(b"127.0.0.1")));
    assert_eq!(judge("127.0.0.2:443", REQUIRE, &another), Err(Cause::Sni));
}

#[test]
fn an_address_as_server_name_is_no_way_round_a_name() {
    let address = hello_with(&usual(Some(b"127.0.0.2")));
    assert_eq!(
        judge("allowed.test:443", REQUIRE, &address),
        Err(Cause::Sni)
    );
}

#[test]
fn what_is_not_tls_passes_or_is_refused_by_its_first_byte() {
    let ssh = b"SSH-2.0-x\r\n";
    assert_eq!(judge("allowed.test:22", MATCH, ssh), Ok(1));
    assert_eq!(
        judge_ended("allowed.test:443", REQUIRE, ssh, false),
        Err((Cause::Sni, 1))
    );
}

#[test]
fn a_broken_hello_is_refused_even_where_tls_is_not_required() {
    assert_eq!(
        judge("allowed.test:22", MATCH, &[22, 9, 9, 0, 1, 7]),
        Err(Cause::Sni)
    );
}

#[test]
fn an_end_in_the_middle_is_refused_and_one_before_the_first_byte_is_passed_on() {
    let bytes = hello("allowed.test");
    let cut = judge_ended("allowed.test:443", REQUIRE, &bytes[..50], true);
    assert_eq!(cut, Err((Cause::Malformed, 50)));
    assert_eq!(judge_ended("allowed.test:443", REQUIRE, b"", true), Ok(0));
}

#[test]
fn on_port_80_the_first_request_must_name_the_permitted_host() {
    for good in [
        "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "GET / HTTP/1.1\r\nhost:  ALLOWED.test.:80 \r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "GET http://allowed.test/x HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "GET http://allowed.test?q HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    ] {
        assert_eq!(
            judge("allowed.test:80", MATCH, good.as_bytes()),
            Ok(good.len()),
            "{good}"
        );
    }
    for bad in [
        "GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: allowed.test:81\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: allowed.test\r\nHost: denied.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: allowed.test\r\nHost: allowed.test\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://denied.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "GET http://allowed.test@denied.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "GET ftp://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "CONNECT denied.test:443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "GET / HTTP/1.1\r\nX: y\r\n Host: allowed.test\r\n\r\n",
        "GET / HTTP/1.1\nHost: denied.test\n\r\nHost: allowed.test\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "SSH-2.0-x\r\n\r\n",
    ] {
        assert_eq!(
            judge("allowed.test:80", MATCH, bad.as_bytes()),
            Err(Cause::Host),
            "{bad}"
        );
    }
}

#[test]
fn a_literal_on_port_80_is_named_by_itself_alone() {
    let named = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert!(judge("127.0.0.2:80", MATCH, named("127.0.0.2").as_bytes()).is_ok());
    assert!(
        judge(
            "[2001:db8::1]:80",
            MATCH,
            named("[2001:db8:0::1]:80").as_bytes()
        )
        .is_ok()
    );
    assert_eq!(
        judge("127.0.0.2:80", MATCH, named("other.test").as_bytes()),
        Err(Cause::Host)
    );
}

#[test]
fn an_endless_head_is_refused_at_the_limit() {
    let to = target("allowed.test:80");
    let greeting = Greeting {
        target: &to,
        grant: MATCH,
        allowed: &|_| false,
    };
    let mut progress = Progress::default();
    let mut judge = |bytes: &[u8]| greeting.judge(&mut progress, bytes, false);
    let mut bytes = b"GET / HTTP/1.1\r\nX: ".to_vec();
    bytes.resize(LIMIT, b'x');
    assert!(matches!(judge(&bytes), Judged::More));
    bytes.push(b'x');
    assert!(matches!(judge(&bytes), Judged::Refuse(_)));
}

#[test]
fn what_was_looked_at_is_not_looked_at_again() {
    let head = b"GET / HTTP/1.1\r\nHost: allowed.test\r\nX: y".to_vec();
    let record = |fragment: &[u8]| [&[22, 3, 1, 0, 1], fragment].concat();
    let hello = [record(&[1]), record(&[0])].concat();
    for (to, mut bytes, next) in [
        ("allowed.test:80", head, b"z".to_vec()),
        ("allowed.test:443", hello, record(&[1])),
    ] {
        let to = target(to);
        let greeting = Greeting {
            target: &to,
            grant: MATCH,
            allowed: &|_| false,
        };
        let mut progress = Progress::default();
        let first = greeting.judge(&mut progress, &bytes, false);
        assert!(matches!(first, Judged::More), "{first:?}");
        // Whoever looks again cannot but refuse it. Only the first byte is looked at each time.
        bytes[1..].fill(b'\n');
        bytes.extend(next);
        let again = greeting.judge(&mut Progress::default(), &bytes, false);
        assert!(matches!(again, Judged::Refuse(_)), "{again:?}");
        let judged = greeting.judge(&mut progress, &bytes, false);
        assert!(matches!(judged, Judged::More), "{judged:?}");
    }
}

#[test]
fn a_message_that_ends_beyond_the_limit_is_refused_however_it_comes() {
    let mut head = b"GET / HTTP/1.1\r\nHost: allowed.test\r\nX: ".to_vec();
    head.resize(LIMIT - 3, b'x');
    head.extend(b"\r\n\r\n");
    let mut extensions = usual(Some(b"allowed.test"));
    extensions.push((0xfafa, vec![0; LIMIT - hello_with(&extensions).len() - 3]));
    let hello = hello_with(&extensions);
    for (port, bytes) in [(80, head), (443, hello)] {
        assert_eq!(bytes.len(), LIMIT + 1);
        let to = format!("allowed.test:{port}");
        let stepwise = judge_ended(&to, MATCH, &bytes, true);
        assert!(stepwise.is_err(), "{stepwise:?}");
        let to = target(&to);
        let greeting = Greeting {
            target: &to,
            grant: MATCH,
            allowed: &|_| false,
        };
        let whole = greeting.judge(&mut Progress::default(), &bytes, true);
        assert!(matches!(whole, Judged::Refuse(_)), "{whole:?}");
    }
}
