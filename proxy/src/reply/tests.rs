use std::net::IpAddr;
use std::sync::Arc;

use moat_policy::address::AddressClass;
use moat_policy::record::Cause;
use moat_policy::request::Wire;
use moat_policy::verdict::{Basis, Effect, Grant, Layer, Rule, SniRule, TlsRule, Verdict};

use super::{Form, Reply, Then, socks_code};
use crate::id::EventId;
use crate::refusal::Refusal;
use crate::testing;

fn rule(effect: Effect, layer: Layer, reason: Option<&str>) -> Arc<Rule> {
    Arc::new(Rule {
        id: "no-paste".into(),
        effect,
        layer,
        reason: reason.map(Into::into),
        entry: "docs.test".into(),
        preset: None,
        file: "/secret/policy.yaml".into(),
        line: 7,
    })
}

fn verdict(effect: Effect, basis: Basis, rule: Option<&Arc<Rule>>) -> Refusal {
    verdict_where(TlsRule::Any, effect, basis, rule)
}

/// The refusal of what is sent in clear, where this is granted.
fn verdict_where(tls: TlsRule, effect: Effect, basis: Basis, rule: Option<&Arc<Rule>>) -> Refusal {
    let grant = Grant {
        tls,
        sni: SniRule::Match,
        until: None,
    };
    let verdict = Verdict {
        effect,
        basis,
        rule,
        grant,
    };
    Refusal::verdict(&verdict, Wire::Clear)
}

fn shown(refusal: &Refusal, target: &str) -> String {
    let target = (!target.is_empty()).then(|| testing::target(target));
    let reply = Reply {
        refusal,
        target: target.as_ref(),
        id: EventId::from_bits(0x2_4b1d_7fa3_9c5e),
        form: Form::Text,
        then: Then::Close,
    };
    String::from_utf8(reply.to_bytes())
        .unwrap()
        .replace('\r', "")
}

/// The reason phrase and the body, which say what the reader can do.
fn brief(refusal: &Refusal, target: &str) -> String {
    let shown = shown(refusal, target);
    let (head, body) = shown.split_once("\n\n").unwrap();
    format!("{}\n{body}", head.lines().next().unwrap())
}

#[test]
fn denies_by_default_in_full() {
    let refusal = verdict(Effect::Deny, Basis::Default, None);
    insta::assert_snapshot!(shown(&refusal, "docs.test:443"), @r#"
    HTTP/1.1 403 docs.test:443 denied by default; moat allow docs.test
    Proxy-Status: moat; error=http_request_denied; details="docs.test:443 denied by default"
    Moat-Decision: deny
    Moat-Id: JB3NZT772Y
    Content-Type: text/plain; charset=utf-8
    Content-Length: 270
    Connection: close

    moat: docs.test:443 denied by default
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow docs.test` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    "#);
    insta::assert_snapshot!(brief(&refusal, "docs.test:8443"), @r"
    HTTP/1.1 403 docs.test:8443 denied by default; moat allow docs.test:8443
    moat: docs.test:8443 denied by default
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow docs.test:8443` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    ");
}

#[test]
fn what_needs_tls_is_told_so_whatever_else_it_lacks() {
    let rule = rule(Effect::Allow, Layer::User, None);
    let words = "This port is for TLS: the URL has to begin with `https:`.\n";
    for (basis, rule) in [(Basis::Default, None), (Basis::Clear, Some(&rule))] {
        let text = shown(
            &verdict_where(TlsRule::Require, Effect::Deny, basis, rule),
            "docs.test:443",
        );
        assert!(text.contains(words), "{text}");
        assert_eq!(text.contains("moat allow docs.test"), rule.is_none());
    }
    let text = shown(
        &verdict(Effect::Deny, Basis::Default, None),
        "docs.test:443",
    );
    assert!(!text.contains(words), "{text}");
}

#[test]
fn denies_by_a_rule_in_full() {
    let rule = rule(Effect::Deny, Layer::User, Some("no paste bins"));
    let refusal = verdict(Effect::Deny, Basis::Rule, Some(&rule));
    let shown = shown(&refusal, "docs.test:443");
    assert!(!shown.contains("secret"), "{shown}");
    insta::assert_snapshot!(shown, @r#"
    HTTP/1.1 403 docs.test:443 denied by rule no-paste
    Proxy-Status: moat; error=http_request_denied; details="docs.test:443 denied by rule no-paste"
    Moat-Decision: deny
    Moat-Rule: no-paste
    Moat-Id: JB3NZT772Y
    Content-Type: text/plain; charset=utf-8
    Content-Length: 301
    Connection: close

    moat: docs.test:443 denied by rule no-paste
    reason: no paste bins
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    An allow does not overrule this rule; `moat why JB3NZT772Y` tells a person what does.
    id: JB3NZT772Y
    "#);
}

#[test]
fn says_that_nobody_can_answer_an_ask() {
    let own = rule(Effect::Ask, Layer::User, None);
    let refusal = verdict(Effect::Ask, Basis::Rule, Some(&own));
    insta::assert_snapshot!(shown(&refusal, "docs.test:80"), @r#"
    HTTP/1.1 403 docs.test:80 needs an approval by rule no-paste, and nobody can answer; moat allow docs.test
    Proxy-Status: moat; error=http_request_denied; details="docs.test:80 needs an approval by rule no-paste, and nobody can answer"
    Moat-Decision: ask
    Moat-Rule: no-paste
    Moat-Id: JB3NZT772Y
    Content-Type: text/plain; charset=utf-8
    Content-Length: 309
    Connection: close

    moat: docs.test:80 needs an approval by rule no-paste, and nobody can answer
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow docs.test` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    "#);
    let machine = rule(Effect::Ask, Layer::Machine, None);
    let refusal = verdict(Effect::Ask, Basis::Rule, Some(&machine));
    insta::assert_snapshot!(brief(&refusal, "docs.test:80"), @r"
    HTTP/1.1 403 docs.test:80 needs an approval by rule no-paste, and nobody can answer
    moat: docs.test:80 needs an approval by rule no-paste, and nobody can answer
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    An allow does not overrule this rule; `moat why JB3NZT772Y` tells a person what does.
    id: JB3NZT772Y
    ");
    let refusal = verdict(Effect::Ask, Basis::Default, None);
    insta::assert_snapshot!(brief(&refusal, "docs.test:80"), @r"
    HTTP/1.1 403 docs.test:80 needs an approval by default, and nobody can answer; moat allow docs.test
    moat: docs.test:80 needs an approval by default, and nobody can answer
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow docs.test` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    ");
}

#[test]
fn offers_the_address_of_a_guarded_name_and_never_the_name() {
    let address: IpAddr = "10.0.0.5".parse().unwrap();
    let refusal = Refusal::guarded(AddressClass::Private, address);
    insta::assert_snapshot!(shown(&refusal, "db.test:443"), @r#"
    HTTP/1.1 403 db.test:443 denied: it leads to 10.0.0.5, and private addresses are guarded; moat allow 10.0.0.5
    Proxy-Status: moat; error=destination_ip_prohibited; details="db.test:443 denied: it leads to 10.0.0.5, and private addresses are guarded"
    Moat-Decision: deny
    Moat-Id: JB3NZT772Y
    Content-Type: text/plain; charset=utf-8
    Content-Length: 313
    Connection: close

    moat: db.test:443 denied: it leads to 10.0.0.5, and private addresses are guarded
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow 10.0.0.5` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    "#);
    insta::assert_snapshot!(brief(&refusal, "db.test:5432"), @r"
    HTTP/1.1 403 db.test:5432 denied: it leads to 10.0.0.5, and private addresses are guarded; moat allow 10.0.0.5:5432
    moat: db.test:5432 denied: it leads to 10.0.0.5, and private addresses are guarded
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow 10.0.0.5:5432` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    ");
    let address: IpAddr = "fd00::5".parse().unwrap();
    let refusal = Refusal::guarded(AddressClass::Private, address);
    insta::assert_snapshot!(brief(&refusal, "db.test:5432"), @r"
    HTTP/1.1 403 db.test:5432 denied: it leads to fd00::5, and private addresses are guarded; moat allow [fd00::5]:5432
    moat: db.test:5432 denied: it leads to fd00::5, and private addresses are guarded
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow [fd00::5]:5432` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    ");
}

#[test]
fn offers_nothing_for_an_address_that_no_entry_opens() {
    let refusal = Refusal::guarded(AddressClass::Listener, "127.0.0.1".parse().unwrap());
    insta::assert_snapshot!(brief(&refusal, "me.test:3128"), @r"
    HTTP/1.1 403 me.test:3128 denied: it leads to 127.0.0.1, and own listener addresses are guarded
    moat: me.test:3128 denied: it leads to 127.0.0.1, and own listener addresses are guarded
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    No entry of a policy opens this address.
    id: JB3NZT772Y
    ");
}

#[test]
fn offers_a_literal_address_as_it_was_asked_for() {
    let refusal = verdict(Effect::Deny, Basis::Guarded(AddressClass::Loopback), None);
    insta::assert_snapshot!(brief(&refusal, "127.0.0.1:5432"), @r"
    HTTP/1.1 403 127.0.0.1:5432 denied: loopback addresses are guarded; moat allow 127.0.0.1:5432
    moat: 127.0.0.1:5432 denied: loopback addresses are guarded
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow 127.0.0.1:5432` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    ");
    let refusal = verdict(Effect::Deny, Basis::Default, None);
    insta::assert_snapshot!(brief(&refusal, "[2001:4860::8]:443"), @r"
    HTTP/1.1 403 [2001:4860::8]:443 denied by default; moat allow [2001:4860::8]
    moat: [2001:4860::8]:443 denied by default
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    A person can allow it with `moat allow [2001:4860::8]` or `moat allow --id JB3NZT772Y`.
    id: JB3NZT772Y
    ");
}

#[test]
fn says_which_rule_names_the_address_of_a_name() {
    let rule = rule(Effect::Deny, Layer::User, None);
    let refusal = Refusal::address_rule(&rule, "203.0.114.9".parse().unwrap());
    insta::assert_snapshot!(brief(&refusal, "docs.test:443"), @r"
    HTTP/1.1 403 docs.test:443 denied: it leads to 203.0.114.9, which rule no-paste names
    moat: docs.test:443 denied: it leads to 203.0.114.9, which rule no-paste names
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    An allow does not overrule this rule; `moat why JB3NZT772Y` tells a person what does.
    id: JB3NZT772Y
    ");
}

#[test]
fn says_what_is_wrong_with_a_request_in_full() {
    let refusal = Refusal::malformed("more than one Host header");
    insta::assert_snapshot!(shown(&refusal, ""), @r#"
    HTTP/1.1 400 more than one Host header
    Proxy-Status: moat; error=http_request_error; details="more than one Host header"
    Moat-Decision: deny
    Moat-Id: JB3NZT772Y
    Content-Type: text/plain; charset=utf-8
    Content-Length: 47
    Connection: close

    moat: more than one Host header
    id: JB3NZT772Y
    "#);
}

#[test]
fn says_whose_fault_everything_else_is() {
    let all = [
        Refusal::head_too_large(),
        Refusal::head_too_slow(),
        Refusal::misdirected(Cause::Host, "the Host header names another host"),
        Refusal::misdirected(Cause::Sni, "the server name is another host"),
        Refusal::dns("the name has no address", false),
        Refusal::dns("the name servers did not answer in time", true),
        Refusal::connect("the origin refused the connection", false),
        Refusal::connect("the origin did not accept in time", true),
        Refusal::upstream("the origin's answer breaks the protocol"),
        Refusal::stalled(),
        Refusal::unrecorded(),
        Refusal::over_limit(),
    ];
    let lines: Vec<String> = all
        .iter()
        .map(|refusal| {
            let shown = shown(refusal, "docs.test:443");
            let mut lines = shown.lines();
            let first = lines.next().unwrap().to_owned();
            let retry = if shown.contains("\nRetry-After: ") {
                " (retry)"
            } else {
                ""
            };
            format!("{first}\n  {}{retry}", lines.next().unwrap())
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    HTTP/1.1 431 docs.test:443: the head is larger than 16 KiB or 100 headers
      Proxy-Status: moat; error=http_request_error; details="docs.test:443: the head is larger than 16 KiB or 100 headers"
    HTTP/1.1 408 docs.test:443: the head did not arrive in time
      Proxy-Status: moat; error=http_request_error; details="docs.test:443: the head did not arrive in time"
    HTTP/1.1 421 docs.test:443: the Host header names another host
      Proxy-Status: moat; error=http_request_error; details="docs.test:443: the Host header names another host"
    HTTP/1.1 421 docs.test:443: the server name is another host
      Proxy-Status: moat; error=http_request_error; details="docs.test:443: the server name is another host"
    HTTP/1.1 502 docs.test:443: the name has no address
      Proxy-Status: moat; error=dns_error; details="docs.test:443: the name has no address"
    HTTP/1.1 504 docs.test:443: the name servers did not answer in time
      Proxy-Status: moat; error=dns_timeout; details="docs.test:443: the name servers did not answer in time"
    HTTP/1.1 502 docs.test:443: the origin refused the connection
      Proxy-Status: moat; error=destination_unavailable; details="docs.test:443: the origin refused the connection"
    HTTP/1.1 504 docs.test:443: the origin did not accept in time
      Proxy-Status: moat; error=connection_timeout; details="docs.test:443: the origin did not accept in time"
    HTTP/1.1 502 docs.test:443: the origin's answer breaks the protocol
      Proxy-Status: moat; error=http_protocol_error; details="docs.test:443: the origin's answer breaks the protocol"
    HTTP/1.1 504 docs.test:443: the origin did not answer in time
      Proxy-Status: moat; error=http_response_timeout; details="docs.test:443: the origin did not answer in time"
    HTTP/1.1 503 docs.test:443: the record cannot be written
      Proxy-Status: moat; error=proxy_internal_error; details="docs.test:443: the record cannot be written" (retry)
    HTTP/1.1 503 docs.test:443: the proxy has as many connections as it may have
      Proxy-Status: moat; error=proxy_internal_error; details="docs.test:443: the proxy has as many connections as it may have" (retry)
    "#);
}

#[test]
fn answers_in_json_whoever_accepts_it() {
    let rule = rule(Effect::Deny, Layer::User, Some("no paste bins"));
    let refusal = verdict(Effect::Deny, Basis::Rule, Some(&rule));
    let target = testing::target("docs.test:443");
    let reply = Reply {
        refusal: &refusal,
        target: Some(&target),
        id: EventId::from_bits(7),
        form: Form::Json,
        then: Then::KeepAlive,
    };
    let text = String::from_utf8(reply.to_bytes()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("Content-Type: application/json\r\n"),
        "{head}"
    );
    assert!(head.ends_with("Connection: keep-alive"), "{head}");
    assert!(
        head.contains(&format!("Content-Length: {}\r\n", body.len())),
        "{head}"
    );
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&body).unwrap(), @r#"
    {
      "cause": "policy",
      "decision": "deny",
      "error": "http_request_denied",
      "hint": "An allow does not overrule this rule; `moat why 0000000007` tells a person what does.",
      "host": "docs.test",
      "id": "0000000007",
      "message": "docs.test:443 denied by rule no-paste",
      "policy": true,
      "port": 443,
      "reason": "no paste bins",
      "rule": "no-paste",
      "status": 403
    }
    "#);
}

#[test]
fn keeps_control_bytes_and_length_out_of_the_head() {
    let refusal = Refusal::malformed(format!("\r\nX: \u{1b}[31m\"\\\u{e9}{}", "a".repeat(1000)));
    let shown = shown(&refusal, "");
    let mut lines = shown.lines();
    let reason = lines.next().unwrap();
    assert!(reason.len() < 450, "{reason}");
    assert!(
        reason.starts_with("HTTP/1.1 400 ??X: ?[31m\"\\?aaa"),
        "{reason}"
    );
    let status = lines.next().unwrap();
    assert!(
        status.contains("details=\"??X: ?[31m\\\"\\\\?aaa"),
        "{status}"
    );
}

#[test]
fn tells_socks_clients_by_code() {
    let denied = verdict(Effect::Deny, Basis::Default, None);
    assert_eq!(socks_code(&denied), 2);
    assert_eq!(socks_code(&Refusal::dns("x", true)), 4);
    assert_eq!(socks_code(&Refusal::connect("x", false)), 5);
    assert_eq!(socks_code(&Refusal::connect("x", true)), 6);
    assert_eq!(socks_code(&Refusal::unrecorded()), 1);
}

#[test]
fn under_an_exclusive_machine_no_command_is_named_that_would_fail() {
    let refusal = Refusal {
        exclusive: true,
        ..verdict(Effect::Deny, Basis::Default, None)
    };
    insta::assert_snapshot!(brief(&refusal, "docs.test:443"), @r"
    HTTP/1.1 403 docs.test:443 denied by default
    moat: docs.test:443 denied by default
    This is the policy of the machine or its owner, not a fault of the network: retrying, or another way to the same host, will not work.
    Only the machine's policy can allow it: ask whoever keeps that.
    id: JB3NZT772Y
    ");
}
