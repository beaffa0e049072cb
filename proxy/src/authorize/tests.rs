use std::future::pending;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moat_policy::address::AddressClass;
use moat_policy::record::{Cause, EndedBy, Event, Protocol};
use moat_policy::verdict::Effect;

use super::{Asked, Permit, addresses, closed, request, unresolved};
use crate::config::{Config, Mode};
use crate::connect;
use crate::dial::dial;
use crate::refusal::Refusal;
use crate::testing::{self, Records, asked, config, listener, local};
use crate::worker::Worker;

fn judged(worker: &Worker, target: &str, answers: &[&str]) -> Result<Permit, Refusal> {
    let permit = request(worker, asked(worker, target))?;
    let answers: Arc<[IpAddr]> = answers.iter().map(|text| text.parse().unwrap()).collect();
    addresses(worker, &permit, &answers)?;
    Ok(permit)
}

fn events(records: &Records) -> Vec<(Event, Option<Effect>, Cause)> {
    let records = records.take();
    records
        .iter()
        .map(|entry| (entry.event, entry.effect, entry.cause))
        .collect()
}

/// What asking for these targets gives, each with these answers, under a policy.
fn under(entries: &[&str], config: Config, own: &[&str], test: impl FnOnce(&Worker, &Records)) {
    let policy = testing::policy(entries);
    local(async {
        let (worker, records) = testing::worker(policy, config, own);
        test(&worker, &records);
    });
}

#[test]
fn a_decision_makes_one_record_whatever_its_stage() {
    under(&["allowed.test"], config(), &[], |worker, records| {
        assert!(judged(worker, "denied.test:443", &[]).is_err());
        assert_eq!(
            events(records),
            [(Event::Decision, Some(Effect::Deny), Cause::Default)]
        );
        assert!(judged(worker, "allowed.test:443", &["10.0.0.1"]).is_err());
        assert_eq!(
            events(records),
            [(Event::Decision, Some(Effect::Deny), Cause::Guarded)]
        );
        assert!(judged(worker, "allowed.test:443", &["93.184.216.34"]).is_ok());
        assert_eq!(
            events(records),
            [(Event::Decision, Some(Effect::Allow), Cause::Policy)]
        );
    });
}

#[test]
fn a_name_that_does_not_resolve_is_an_allow_and_a_close() {
    under(&["allowed.test"], config(), &[], |worker, records| {
        let permit = request(worker, asked(worker, "allowed.test:443")).unwrap();
        assert!(events(records).is_empty());
        let sent = unresolved(worker, &permit, Refusal::dns("no such name", false));
        assert_eq!(sent.status, 502);
        let expected = [
            (Event::Decision, Some(Effect::Allow), Cause::Policy),
            (Event::Close, Some(Effect::Allow), Cause::Dns),
        ];
        assert_eq!(events(records), expected);
    });
}

#[test]
fn one_guarded_address_refuses_the_whole_name() {
    under(&["allowed.test"], config(), &[], |worker, records| {
        let refusal =
            judged(worker, "allowed.test:443", &["93.184.216.34", "fd00::1"]).unwrap_err();
        assert_eq!(refusal.class, Some(AddressClass::Private));
        assert_eq!(records.take()[0].address, Some("fd00::1".parse().unwrap()));
    });
}

#[test]
fn own_listeners_are_never_openable_in_any_spelling() {
    let entries = ["*:*", "127.0.0.0/8:*", "[::1]:*", "localhost:*", "[::/0]:*"];
    let own = ["127.0.0.1:3128", "[::1]:3128", "0.0.0.0:9128"];
    let literals = [
        "127.0.0.1:3128",
        "[::ffff:127.0.0.1]:3128",
        "[::1]:3128",
        "127.0.0.9:9128",
        "0.0.0.0:3128",
        "[::]:9128",
        "[64:ff9b::7f00:1]:3128",
        "[2002:7f00:1::]:3128",
        "[2606:4700::5efe:7f00:1]:9128",
    ];
    under(&["*:*"], config(), &own, |worker, _| {
        for host in ["127.0.0.1:3128", "localhost:3128"] {
            let refusal = judged(worker, host, &[]).unwrap_err();
            assert_eq!(
                refusal.class,
                Some(AddressClass::Listener),
                "no hint that would not help"
            );
        }
    });
    under(&entries, config(), &own, |worker, _| {
        for literal in literals {
            let (host, _) = literal.rsplit_once(':').unwrap();
            let address = host.trim_matches(['[', ']']);
            let refusal = judged(worker, literal, &[address]).unwrap_err();
            assert_eq!(refusal.status, 403, "{literal}");
        }
        let refusal = judged(worker, "me.test:3128", &["127.0.0.1"]).unwrap_err();
        assert_eq!(refusal.class, Some(AddressClass::Listener));
        let refusal = judged(worker, "me.test:3128", &["64:ff9b::7f00:1"]).unwrap_err();
        assert_eq!(refusal.class, Some(AddressClass::Listener));
        assert!(judged(worker, "localhost:3128", &["::1", "127.0.0.1"]).is_err());
        assert!(judged(worker, "127.0.0.1:3129", &["127.0.0.1"]).is_ok());
    });
}

#[test]
fn observing_overrules_defaults_and_nothing_else() {
    let config = Config {
        mode: Mode::Observe,
        ..config()
    };
    under(
        &["allowed.test"],
        config,
        &["127.0.0.1:3128"],
        |worker, records| {
            assert!(judged(worker, "unlisted.test:443", &["93.184.216.34"]).is_ok());
            let record = records.take().remove(0);
            assert_eq!(
                (record.effect, record.enforced),
                (Some(Effect::Deny), false)
            );
            assert!(judged(worker, "unlisted.test:443", &["127.0.0.1"]).is_err());
            assert!(judged(worker, "127.0.0.1:80", &["127.0.0.1"]).is_err());
            assert!(judged(worker, "127.0.0.1:3128", &["127.0.0.1"]).is_err());
        },
    );
}

#[test]
fn observing_lets_nothing_pass_in_clear_where_tls_is_required() {
    let config = Config {
        mode: Mode::Observe,
        ..config()
    };
    under(&["allowed.test"], config, &[], |worker, _| {
        let in_clear = |target| {
            let asked = Asked {
                protocol: Protocol::Http,
                ..asked(worker, target)
            };
            request(worker, asked).is_ok()
        };
        assert!(in_clear("allowed.test:80"));
        assert!(in_clear("unlisted.test:80"));
        assert!(!in_clear("allowed.test:443"));
        assert!(!in_clear("unlisted.test:443"));
    });
}

#[test]
fn the_end_of_an_observed_request_says_what_policy_said() {
    let config = Config {
        mode: Mode::Observe,
        ..config()
    };
    under(&["allowed.test"], config, &[], |worker, records| {
        let address = "93.184.216.34";
        let permit = judged(worker, "unlisted.test:443", &[address]).unwrap();
        let ticket = permit.into_ticket(address.parse().unwrap());
        closed(worker, &ticket, Cause::Done, (1, 2), EndedBy::Client);
        let records = records.take();
        let effects: Vec<_> = records.iter().map(|entry| entry.effect).collect();
        assert_eq!(effects, [Some(Effect::Deny); 2]);
        assert!(records.iter().all(|entry| !entry.enforced));
    });
}

#[test]
fn a_request_on_its_way_when_the_proxy_ends_has_a_decision_and_an_end() {
    local(async {
        let silent = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (_listener, address) = listener().await;
        let config = Config {
            dns: vec![silent.local_addr().unwrap()],
            ..config()
        };
        let policy = testing::policy(&["slow.test", &address]);
        let (worker, records) = testing::worker(policy, config, &[]);
        worker.drain().finish();
        for target in ["slow.test:443", &address] {
            let refusal = connect::open(&worker, asked(&worker, target), pending())
                .await
                .unwrap_err();
            assert_eq!((refusal.status, refusal.cause), (503, Cause::Shutdown));
            let expected = [
                (Event::Decision, Some(Effect::Allow), Cause::Policy),
                (Event::Close, Some(Effect::Allow), Cause::Shutdown),
            ];
            assert_eq!(events(&records), expected, "{target}");
        }
    });
}

#[test]
fn a_name_that_does_not_resolve_is_503_where_no_record_can_be_kept() {
    under(&["allowed.test"], config(), &[], |worker, records| {
        let permit = request(worker, asked(worker, "allowed.test:443")).unwrap();
        worker.recorder().health().set_failing(true);
        let sent = unresolved(worker, &permit, Refusal::dns("no such name", false));
        assert_eq!(sent.status, 503);
        assert_eq!(
            events(records),
            [(Event::Decision, Some(Effect::Deny), Cause::Audit)]
        );
    });
}

#[test]
fn a_permit_is_void_past_the_end_of_its_rule() {
    let end = time::OffsetDateTime::now_utc() + Duration::from_hours(1);
    let end = end
        .format(&time::format_description::well_known::Rfc3339)
        .unwrap();
    let text = format!(
        "version: 1\nallow: [{{id: a, net: [{{cidr: 127.0.0.1/32, ports: \"*\", until: {end}}}]}}]\n"
    );
    local(async {
        let (_listener, address) = listener().await;
        let policy = testing::policy_text(&text);
        let (worker, _records) = testing::worker(policy, config(), &[]);
        let permit = request(&worker, asked(&worker, &address)).unwrap();
        let now = SystemTime::now();
        assert!(permit.is_valid(now));
        assert!(!permit.is_valid(now + Duration::from_secs(3601)));
        let answers = Arc::from(["127.0.0.1".parse::<IpAddr>().unwrap()]);
        let checked = addresses(&worker, &permit, &answers).unwrap();
        let (_stream, ticket) = dial(permit, &checked, Duration::from_secs(5), pending())
            .await
            .unwrap();
        assert_eq!(ticket.target().to_string(), address);
    });
}
