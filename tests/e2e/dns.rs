//! Names, and the way to their addresses.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{Name, RData, Record, RecordType};

use crate::support::dns::{Over, packed};
use crate::support::socket;
use crate::support::wait::pace;
use crate::support::{Moat, bed};

/// The status of CONNECT and of a plain request, and the code of SOCKS5, with the time each took.
fn doors(moat: &Moat, host: &str) -> [(u16, Duration); 3] {
    let timed = |ask: &dyn Fn() -> u16| {
        let start = Instant::now();
        (ask(), start.elapsed())
    };
    [
        timed(&|| moat.connect(&format!("{host}:80"))),
        timed(&|| moat.get(&format!("{host}/")).status()),
        timed(&|| moat.socks(host, 80).into()),
    ]
}

fn statuses(moat: &Moat, host: &str) -> [u16; 3] {
    doors(moat, host).map(|(status, _)| status)
}

/// What every door says when it reached the origin, and when the address is guarded.
const REACHED: [u16; 3] = [200, 200, 0];
const GUARDED: [u16; 3] = [403, 403, 2];
/// What every door says when the name servers failed, and when they were silent.
const FAILED: [u16; 3] = [502, 502, 4];
const SILENT: [u16; 3] = [504, 504, 4];

#[test]
fn a_refused_name_is_never_looked_up() {
    bed(|bed| {
        let moat = bed.moat().start();
        assert_eq!(moat.connect("733363723374.exfil.denied.test:443"), 403);
        assert_eq!(moat.get("s3cr3t.exfil.denied.test/").status(), 403);
        for (host, rule) in [
            ("S3cr3t.Exfil.DENIED.test.", None),
            ("s3cr3t.mal.test", None),
            ("mal.test", Some("denied")),
            ("allowed.test.denied.test", None),
        ] {
            assert_eq!(statuses(&moat, host), GUARDED, "{host}");
            let host = host.to_ascii_lowercase();
            let record = moat.decision(host.trim_end_matches('.'));
            assert_eq!(record["rule"].as_str(), rule, "{record}");
        }
        // On a port that the policy does not open, an allowed name is as refused.
        assert_eq!(moat.connect("s3cr3t.allowed.test:22"), 403);
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
        let moat = bed.moat().flag("--dns-timeout", "2s").start();
        for (name, expected, reason) in [
            ("nx", FAILED, "the name does not exist"),
            ("sf", FAILED, "the name servers failed"),
            ("slow", SILENT, "the name servers did not answer in time"),
        ] {
            let host = format!("{name}.allowed.test");
            let start = Instant::now();
            let (answer, _) = moat.tunnel(&format!("{host}:443"));
            let took = start.elapsed();
            assert_eq!(answer.status(), expected[0], "{name}: {}", answer.head);
            for said in [answer.reason(), answer.header("proxy-status").unwrap()] {
                assert!(said.contains(reason), "{name}: {}", answer.head);
            }
            let decision = moat.decision(&host);
            assert_eq!(decision["effect"], "allow", "{decision}");
            let close = moat.wait_record("close", |record| record["id"] == decision["id"]);
            assert_eq!(close["cause"], "dns", "{close}");
            assert_eq!(close["reason"], reason, "{close}");

            let limit = Duration::from_secs(2);
            let slow = name == "slow";
            assert_eq!(took >= Duration::from_millis(1950), slow, "{took:?}");
            assert!(
                took < limit + Duration::from_secs(1),
                "{name} took {took:?}"
            );
            for ((status, took), expected) in doors(&moat, &host).into_iter().zip(expected) {
                assert_eq!(status, expected, "{name}");
                assert!(
                    took < limit + Duration::from_secs(1),
                    "{name} took {took:?}"
                );
            }
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
            let slow = scope.spawn(|| statuses(&moat, "slow.allowed.test"));
            let start = Instant::now();
            for round in 0..10 {
                assert_eq!(moat.get("allowed.test/").status(), 200);
                // Names that are not cached yet ask the same server.
                let other = format!("n{round}.allowed.test");
                assert_eq!(statuses(&moat, &other), REACHED);
            }
            assert!(start.elapsed() < Duration::from_secs(1));
            assert!(!slow.is_finished());
            assert_eq!(slow.join().unwrap(), SILENT);
        });
        moat.finish();
    });
}

#[test]
fn a_name_server_without_tcp_is_enough() {
    bed(|bed| {
        // What is sent to its TCP port vanishes.
        let _full = socket::swallow(([127, 0, 0, 3], 53).into());
        bed.dns.also_over_udp("127.0.0.3:53");
        let moat = bed.moat().dns("127.0.0.3:53");
        let moat = moat.flag("--dns-timeout", "1s").start();
        for round in 0..2 {
            for (name, answer, expected) in [
                ("slow", "NOANSWER", SILENT),
                ("sf", "SERVFAIL", FAILED),
                ("nx", "NXDOMAIN", FAILED),
            ] {
                // A name that fails costs the names after it nothing.
                let host = format!("{name}{round}.allowed.test");
                bed.dns.set(&host, answer);
                assert_eq!(statuses(&moat, &host), expected, "{host}");
                let host = format!("after-{host}");
                for (status, took) in doors(&moat, &host) {
                    assert!([200, 0].contains(&status), "{host}: {status}");
                    assert!(took < Duration::from_millis(500), "{host}: {took:?}");
                }
            }
        }
        moat.finish();
    });
}

#[test]
fn a_broken_leg_does_not_stall() {
    bed(|bed| {
        let dead = "2001:db8::dead".parse::<std::net::Ipv6Addr>().unwrap();
        let _full = [80, 443].map(|port| socket::swallow((dead, port).into()));
        bed.dns
            .set("dual.allowed.test", "AAAA 2001:db8::dead A 127.0.0.2");
        let moat = bed.moat().allow_also(&["2001:db8::/32"]).start();
        let start = Instant::now();
        assert_eq!(moat.connect("dual.allowed.test:443"), 200);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
        for ((status, took), reached) in doors(&moat, "dual.allowed.test").into_iter().zip(REACHED)
        {
            assert_eq!(status, reached);
            assert!(took < Duration::from_secs(1), "{took:?}");
        }
        let close = moat.wait_record("close", |record| record["port"] == 443);
        assert_eq!(close["address"], "127.0.0.2", "{close}");
        moat.finish();
    });
}

/// Answers a question for IPv4 with these addresses in the place of the honest one.
fn addressed(mut reply: Message, addresses: impl IntoIterator<Item = Ipv4Addr>) -> Message {
    let owner = reply.queries[0].name().clone();
    if reply.queries[0].query_type() != RecordType::A {
        return reply;
    }
    reply.answers.clear();
    for address in addresses {
        reply.add_answer(Record::from_rdata(owner.clone(), 60, RData::A(A(address))));
    }
    reply
}

const OPEN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const CLOSED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 5);

fn truncated(mut reply: Message) -> Message {
    reply.metadata.truncation = true;
    reply
}

/// A forgery by somebody who does not see the question.
fn with_other_id(reply: &Message) -> Message {
    let mut forged = addressed(reply.clone(), [CLOSED]);
    forged.metadata.id ^= 1;
    forged
}

fn with_other_question(reply: &Message) -> Message {
    let mut forged = addressed(reply.clone(), [CLOSED]);
    forged.queries[0].set_name(Name::from_ascii("other-allowed.test.").unwrap());
    forged
}

/// Fails, and gives addresses all the same.
fn failing(mut reply: Message, code: ResponseCode) -> Vec<Vec<u8>> {
    reply.metadata.response_code = code;
    vec![packed(&reply)]
}

/// Over UDP this, and over TCP no answer.
fn datagram(over: Over, message: &Message) -> Vec<Vec<u8>> {
    match over {
        Over::Udp => vec![packed(message)],
        Over::Tcp => Vec::new(),
    }
}

type Odd = fn(Message, Over) -> Vec<Vec<u8>>;

/// Answers that a name server should not give, and what the doors make of them.
const ODD: &[(&str, Odd, [u16; 3])] = &[
    (
        "cut-off",
        |reply, over| match over {
            Over::Udp => vec![packed(&truncated(addressed(reply, [])))],
            Over::Tcp => vec![packed(&reply)],
        },
        REACHED,
    ),
    (
        // What is cut off does not count, for one address in the rest refuses the name.
        "cut-off-before-a-guarded-one",
        |reply, over| match over {
            Over::Udp => vec![packed(&truncated(addressed(reply, [OPEN])))],
            Over::Tcp => vec![packed(&addressed(reply, [OPEN, CLOSED]))],
        },
        GUARDED,
    ),
    (
        "cut-off-and-nothing-more",
        |reply, over| datagram(over, &truncated(addressed(reply, [OPEN]))),
        SILENT,
    ),
    (
        "forged-id-first",
        |reply, over| match over {
            Over::Udp => vec![packed(&with_other_id(&reply)), packed(&reply)],
            Over::Tcp => vec![packed(&reply)],
        },
        REACHED,
    ),
    (
        "forged-id-only",
        |reply, over| datagram(over, &with_other_id(&reply)),
        SILENT,
    ),
    (
        "another-question-first",
        |reply, over| match over {
            Over::Udp => vec![packed(&with_other_question(&reply)), packed(&reply)],
            Over::Tcp => vec![packed(&reply)],
        },
        REACHED,
    ),
    (
        "another-question-only",
        |reply, over| datagram(over, &with_other_question(&reply)),
        SILENT,
    ),
    (
        "noise",
        |_, over| match over {
            Over::Udp => vec![b"\0".to_vec(), vec![0xff; 600]],
            Over::Tcp => vec![],
        },
        SILENT,
    ),
    (
        "nothing",
        |reply, _| vec![packed(&addressed(reply, []))],
        FAILED,
    ),
    (
        "refused",
        |reply, _| failing(reply, ResponseCode::Refused),
        FAILED,
    ),
    (
        "failing",
        |reply, _| failing(reply, ResponseCode::ServFail),
        FAILED,
    ),
    (
        "other-owner",
        |mut reply, _| {
            for answer in &mut reply.answers {
                answer.name = Name::from_ascii("elsewhere.test.").unwrap();
            }
            vec![packed(&reply)]
        },
        FAILED,
    ),
    (
        "a-hundred",
        |reply, _| vec![packed(&addressed(reply, [OPEN; 100]))],
        REACHED,
    ),
    (
        "a-hundred-and-a-guarded-one",
        |reply, _| {
            let all = [OPEN; 100].into_iter().chain([CLOSED]);
            vec![packed(&addressed(reply, all))]
        },
        GUARDED,
    ),
    (
        "two-hundred",
        |reply, _| vec![packed(&addressed(reply, [OPEN; 200]))],
        FAILED,
    ),
    (
        "for-ever",
        |mut reply, _| {
            for answer in &mut reply.answers {
                answer.ttl = u32::MAX;
            }
            vec![packed(&reply)]
        },
        REACHED,
    ),
    (
        "late",
        |reply, _| {
            pace(Duration::from_millis(400));
            vec![packed(&reply)]
        },
        REACHED,
    ),
];

#[test]
fn odd_answers_are_followed_refused_or_waited_out() {
    bed(|bed| {
        let moat = bed.moat().flag("--dns-timeout", "2s").start();
        std::thread::scope(|scope| {
            for (name, odd, expected) in ODD {
                let host = format!("{name}.allowed.test");
                bed.dns.twist(&host, odd);
                let moat = &moat;
                scope.spawn(move || assert_eq!(statuses(moat, &host), *expected, "{host}"));
            }
        });
        moat.finish();
    });
}

#[test]
fn aliases_are_followed_as_far_as_they_lead_somewhere() {
    bed(|bed| {
        let alias = |from: &str, to: &str| bed.dns.set(from, &format!("CNAME {to}"));
        alias("self.allowed.test", "self.allowed.test");
        alias("one.allowed.test", "two.allowed.test");
        alias("two.allowed.test", "one.allowed.test");
        alias("dangling.allowed.test", "gone.test");
        bed.dns.set("gone.test", "NXDOMAIN");
        alias("inside.allowed.test", "inner.test");
        bed.dns.set("inner.test", "A 10.0.0.5");
        // Links of a chain that the proxy has to ask for one by one.
        for at in 0..20 {
            let own = format!("l{at}.allowed.test");
            alias(&own, &format!("l{}.allowed.test", at + 1));
            alias(&format!("one-{own}"), &format!("inner{at}.test"));
            bed.dns.set(&format!("inner{at}.test"), "A 10.0.0.5");
            for own in [own.clone(), format!("one-{own}")] {
                bed.dns.twist(&own, |mut reply, _| {
                    reply.answers.truncate(1);
                    vec![packed(&reply)]
                });
            }
        }
        for at in 0..4 {
            alias(
                &format!("c{at}.allowed.test"),
                &format!("c{}.allowed.test", at + 1),
            );
        }
        let moat = bed.moat().start();
        for (name, expected) in [
            ("self", FAILED),
            ("one", FAILED),
            ("dangling", FAILED),
            ("inside", GUARDED),
            ("c0", REACHED),
            ("l0", FAILED),
            ("l17", REACHED),
            ("one-l0", GUARDED),
        ] {
            let host = format!("{name}.allowed.test");
            assert_eq!(statuses(&moat, &host), expected, "{host}");
        }
        moat.finish();
    });
}

#[test]
fn a_failure_is_soon_forgotten() {
    bed(|bed| {
        let moat = bed.moat().start();
        for failure in ["SERVFAIL", "NXDOMAIN"] {
            let host = format!("{}.allowed.test", failure.to_ascii_lowercase());
            bed.dns.set(&host, failure);
            assert_eq!(statuses(&moat, &host), FAILED, "{host}");
            bed.dns.set(&host, "A 127.0.0.2");
            let start = Instant::now();
            crate::support::wait::wait_for("the name to be found", || {
                (statuses(&moat, &host) == REACHED).then_some(())
            });
            assert!(start.elapsed() < Duration::from_secs(3), "{host}");
        }
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
