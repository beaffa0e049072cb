use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use moat_policy::host::HostName;
use tokio::net::UdpSocket;
use tokio::time::Instant;

use super::{Failure, Resolver};
use crate::testing::{local, meter};

/// What the stub says to one question.
enum Say {
    Records(Vec<Record>),
    Code(ResponseCode),
    Nothing,
}

type Script = dyn Fn(&str, RecordType) -> Say;

/// A name server on loopback, and the questions that it has got.
async fn stub(script: Box<Script>) -> (SocketAddr, Rc<RefCell<Vec<String>>>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let log: Rc<RefCell<Vec<String>>> = Rc::default();
    let asked = Rc::clone(&log);
    tokio::task::spawn_local(async move {
        let mut buffer = [0; 1500];
        while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
            let query = Message::from_vec(&buffer[..length]).unwrap();
            let question = query.queries[0].clone();
            let (name, kind) = (question.name().to_string(), question.query_type());
            asked.borrow_mut().push(format!("{name} {kind}"));
            let mut reply = Message::response(query.metadata.id, query.metadata.op_code);
            reply.add_queries(query.queries.clone());
            match script(&name, kind) {
                Say::Records(records) => {
                    reply.add_answers(records);
                }
                Say::Code(code) => reply.metadata.response_code = code,
                Say::Nothing => continue,
            }
            answer(&socket, &reply.to_vec().unwrap(), peer).await;
        }
    });
    (address, log)
}

#[expect(clippy::disallowed_methods, reason = "a name server, not the proxy")]
async fn answer(socket: &UdpSocket, bytes: &[u8], peer: SocketAddr) {
    socket.send_to(bytes, peer).await.unwrap();
}

fn record(name: &str, ttl: u32, data: &str) -> Record {
    let data = match data.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => RData::A(A(address)),
        Ok(IpAddr::V6(address)) => RData::AAAA(AAAA(address)),
        Err(_) => RData::CNAME(CNAME(Name::from_ascii(data).unwrap())),
    };
    Record::from_rdata(Name::from_ascii(name).unwrap(), ttl, data)
}

/// The records of this kind, or none; a CNAME answers every question.
fn of(kind: RecordType, records: Vec<Record>) -> Say {
    let is_asked = |record: &Record| {
        let found = record.record_type();
        found == kind || found == RecordType::CNAME
    };
    Say::Records(records.into_iter().filter(is_asked).collect())
}

fn name(text: &str) -> HostName {
    HostName::parse(text).unwrap()
}

fn addresses(list: &[&str]) -> Arc<[IpAddr]> {
    list.iter().map(|text| text.parse().unwrap()).collect()
}

fn resolver(server: SocketAddr) -> Resolver {
    Resolver::new(&[server], None, Duration::from_millis(800), meter()).unwrap()
}

#[test]
fn both_families_are_asked_for_the_absolute_name_and_interleaved() {
    local(async {
        let (server, log) = stub(Box::new(|name, kind| {
            of(
                kind,
                vec![
                    record(name, 60, "192.0.2.1"),
                    record(name, 60, "192.0.2.2"),
                    record(name, 60, "2001:db8::1"),
                ],
            )
        }))
        .await;
        let found = resolver(server).lookup(&name("a.test")).await;
        assert_eq!(
            found,
            Ok(addresses(&["2001:db8::1", "192.0.2.1", "192.0.2.2"]))
        );
        log.borrow_mut().sort();
        assert_eq!(*log.borrow(), ["a.test. A", "a.test. AAAA"]);
    });
}

#[test]
fn every_name_that_dns_carries_is_asked_for() {
    local(async {
        let (server, log) = stub(Box::new(|_, _| Say::Code(ResponseCode::NXDomain))).await;
        let resolver = resolver(server);
        let longest = format!(
            "{}.{}",
            ["a".repeat(63).as_str(); 3].join("."),
            "b".repeat(61)
        );
        for (at, text) in ["-a.test", "a-.test", "_a.test", &longest]
            .into_iter()
            .enumerate()
        {
            let found = resolver.lookup(&name(text)).await;
            assert_eq!(found, Err(Failure::NoSuchName), "{text}");
            assert_eq!(log.borrow().len(), 2 * (at + 1), "{text}");
        }
    });
}

#[test]
fn an_answer_is_kept_and_one_query_serves_all_that_wait() {
    local(async {
        let (server, log) = stub(Box::new(|name, kind| {
            of(kind, vec![record(name, 60, "192.0.2.1")])
        }))
        .await;
        let resolver = resolver(server);
        let host = name("a.test");
        let (one, two) = tokio::join!(resolver.lookup(&host), resolver.lookup(&host));
        assert_eq!(one, two);
        assert_eq!(resolver.lookup(&host).await, one);
        assert_eq!(log.borrow().len(), 2);
        assert!(resolver.0.flights.borrow().is_empty());
    });
}

#[test]
fn aliases_are_followed_and_foreign_records_ignored() {
    local(async {
        let (server, _) = stub(Box::new(|asked, kind| {
            of(
                kind,
                vec![
                    record("other.test.", 60, "192.0.2.66"),
                    record("b.test.", 60, "192.0.2.1"),
                    record(asked, 60, "b.test."),
                ],
            )
        }))
        .await;
        let found = resolver(server).lookup(&name("a.test")).await;
        assert_eq!(found, Ok(addresses(&["192.0.2.1"])));
    });
}

#[test]
fn records_of_other_names_are_no_answer() {
    local(async {
        let (server, _) = stub(Box::new(|_, kind| {
            of(kind, vec![record("other.test.", 60, "192.0.2.66")])
        }))
        .await;
        assert!(resolver(server).lookup(&name("a.test")).await.is_err());
    });
}

#[test]
fn failures_are_told_apart() {
    for (code, failure, status) in [
        (ResponseCode::NXDomain, Failure::NoSuchName, 502),
        (ResponseCode::NoError, Failure::NoAddress, 502),
        (ResponseCode::ServFail, Failure::Servers, 502),
        (ResponseCode::Refused, Failure::Servers, 502),
    ] {
        local(async {
            let (server, _) = stub(Box::new(move |_, _| Say::Code(code))).await;
            let found = resolver(server).lookup(&name("a.test")).await;
            assert_eq!(found, Err(failure), "{code}");
            assert_eq!(failure.refusal().status, status);
        });
    }
}

#[test]
fn silence_ends_at_the_limit_and_delays_no_other_name() {
    local(async {
        let (server, _) = stub(Box::new(|name, kind| {
            if name == "slow.test." {
                return Say::Nothing;
            }
            of(kind, vec![record(name, 60, "192.0.2.1")])
        }))
        .await;
        let resolver = resolver(server);
        let begun = Instant::now();
        let (slow, quick) = (name("slow.test"), name("quick.test"));
        let (slow, quick) = tokio::join!(resolver.lookup(&slow), async {
            let found = resolver.lookup(&quick).await;
            (found, begun.elapsed())
        });
        assert_eq!(slow, Err(Failure::TimedOut));
        assert_eq!(Failure::TimedOut.refusal().status, 504);
        assert!(begun.elapsed() < Duration::from_millis(1600));
        assert_eq!(quick.0, Ok(addresses(&["192.0.2.1"])));
        assert!(quick.1 < Duration::from_millis(400));
    });
}

#[test]
fn one_family_counts_where_the_other_one_fails_or_is_silent() {
    for silent in [false, true] {
        local(async {
            let (server, _) = stub(Box::new(move |name, kind| {
                if kind == RecordType::A {
                    of(kind, vec![record(name, 60, "192.0.2.1")])
                } else if silent {
                    Say::Nothing
                } else {
                    Say::Code(ResponseCode::ServFail)
                }
            }))
            .await;
            let resolver =
                Resolver::new(&[server], None, Duration::from_secs(10), meter()).unwrap();
            let begun = Instant::now();
            let found = resolver.lookup(&name("a.test")).await;
            assert_eq!(found, Ok(addresses(&["192.0.2.1"])), "silent: {silent}");
            assert!(begun.elapsed() < Duration::from_secs(2));
        });
    }
}

#[test]
fn a_query_that_nobody_waits_for_is_given_up() {
    local(async {
        let (server, _) = stub(Box::new(|_, _| Say::Nothing)).await;
        let resolver = Resolver::new(&[server], None, Duration::from_mins(1), meter()).unwrap();
        let (host, short) = (name("a.test"), Duration::from_millis(20));
        let waited = tokio::time::timeout(short, resolver.lookup(&host)).await;
        assert!(waited.is_err());
        while !resolver.0.flights.borrow().is_empty() {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_name_with_more_addresses_than_are_checked_is_refused() {
    let record = |n| record("a.test.", 60, &format!("2001:db8::{n:x}"));
    let many: Vec<_> = (0..129).map(record).collect();
    let (most, _) = many.split_at(128);
    assert!(super::query::tests::follow_all("a.test.", most).is_ok());
    let found = super::query::tests::follow_all("a.test.", &many);
    assert_eq!(found, Err(Failure::TooMany));
}
