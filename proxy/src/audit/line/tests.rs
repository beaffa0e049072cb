use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::record::{Actor, Cause, EndedBy, Event, Protocol, Record, Severity};
use moat_policy::request::Target;
use moat_policy::verdict::{Effect, Layer, Rule};

use super::{append, record};
use crate::id::EventId;
use crate::record::{Entry, Traffic};

fn line(entry: Entry) -> String {
    let mut out = Vec::new();
    append(&mut out, entry, 7).unwrap();
    String::from_utf8(out).unwrap()
}

fn full() -> Entry {
    let mut actor = Actor::default();
    actor.client = Some("127.0.0.1:50000".into());
    Entry {
        at: SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_042),
        id: EventId::from_bits(1),
        event: Event::Close,
        protocol: Some(Protocol::Connect),
        actor: Some(Arc::new(actor)),
        target: Some(Target {
            host: Host::parse(b"docs.test").unwrap(),
            port: Port::parse("443").unwrap(),
        }),
        method: Some("CONNECT"),
        address: Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))),
        effect: Some(Effect::Allow),
        enforced: true,
        cause: Cause::Done,
        status: Some(200),
        rule: Some(Arc::new(Rule {
            id: "docs".into(),
            effect: Effect::Allow,
            layer: Layer::User,
            reason: None,
            entry: "docs.test".into(),
            preset: None,
            file: "policy.yaml".into(),
            line: 5,
        })),
        reason: None,
        policy: Some("0011".into()),
        traffic: Some(Traffic {
            up: 10,
            down: 20,
            duration: Duration::from_millis(30),
            ended_by: EndedBy::Client,
        }),
    }
}

#[test]
fn an_event_is_one_line_with_everything_that_is_known() {
    insta::assert_snapshot!(line(full()), @r#"{"v":1,"ts":"2023-11-14T22:13:20.000042Z","seq":7,"id":"0000000001","event":"close","protocol":"connect","actor":{"client":"127.0.0.1:50000"},"host":"docs.test","port":443,"method":"CONNECT","address":"192.0.2.1","effect":"allow","enforced":true,"cause":"done","severity":"info","status":200,"rule":"docs","source":"policy.yaml:5","policy":"0011","bytes_up":10,"bytes_down":20,"duration_ms":30,"ended_by":"client"}"#);
}

#[test]
fn what_is_not_known_is_left_out_except_the_host() {
    let entry = Entry {
        at: SystemTime::UNIX_EPOCH,
        id: EventId::from_bits(0),
        ..Entry::of_proxy(Event::Start, Cause::Done, None)
    };
    insta::assert_snapshot!(line(entry), @r#"{"v":1,"ts":"1970-01-01T00:00:00.000000Z","seq":7,"id":"0000000000","event":"start","host":null,"enforced":true,"cause":"done","severity":"info"}"#);
}

#[test]
fn a_line_stays_a_line_and_steers_no_terminal() {
    let nasty = "a\nb\r\u{1b}[2K\u{7f}\u{9b}\u{2028}\u{2029}\u{202e}\u{feff}\u{e0041}\"\\é";
    let text = line(Entry {
        reason: Some(nasty.into()),
        ..full()
    });
    assert_eq!(text.matches('\n').count(), 1);
    assert!(text.ends_with('\n'));
    assert!(!text.trim_end().chars().any(super::is_hidden));
    assert!(text.contains('é'));
    let record: Record = serde_json::from_str(&text).unwrap();
    assert_eq!(record.reason.as_deref(), Some(nasty));
}

#[test]
fn what_was_refused_or_went_wrong_stands_out_by_its_severity() {
    let severity = |event, effect, cause| {
        let entry = Entry {
            effect,
            ..Entry::of_proxy(event, cause, None)
        };
        record(entry, 1).severity
    };
    let decision = |effect, cause| severity(Event::Decision, Some(effect), cause);
    assert_eq!(decision(Effect::Allow, Cause::Policy), Severity::Info);
    assert_eq!(decision(Effect::Deny, Cause::Default), Severity::Warning);
    assert_eq!(decision(Effect::Ask, Cause::Policy), Severity::Warning);
    assert_eq!(decision(Effect::Deny, Cause::Audit), Severity::Error);
    assert_eq!(severity(Event::Reload, None, Cause::Done), Severity::Info);
    assert_eq!(
        severity(Event::Reload, None, Cause::Malformed),
        Severity::Error
    );
    assert_eq!(
        severity(Event::Close, Some(Effect::Allow), Cause::Dns),
        Severity::Info
    );
}

#[test]
fn a_decision_says_why_the_rule_is_there() {
    let with = |event, effect, words: Option<&'static str>| {
        let mut entry = full();
        entry.event = event;
        entry.effect = Some(effect);
        entry.reason = words.map(Into::into);
        let mut rule = Arc::into_inner(entry.rule.take().unwrap()).unwrap();
        rule.reason = Some("asked by legal".into());
        entry.rule = Some(Arc::new(rule));
        record(entry, 1).reason
    };
    let denied = with(Event::Decision, Effect::Deny, Some("denied by rule docs"));
    assert_eq!(denied.unwrap(), "denied by rule docs: asked by legal");
    let allowed = with(Event::Decision, Effect::Allow, None);
    assert_eq!(allowed.unwrap(), "asked by legal");
    assert_eq!(with(Event::Close, Effect::Allow, None), None);
}
