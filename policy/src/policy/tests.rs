use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{BuildError, Defaults, Policy};
use crate::entry::{Entry, EntryList, Exclusion, parse};
use crate::host::Host;
use crate::http::HttpRule;
use crate::port::{Port, PortSet};
use crate::request::{Request, Surface, Target};
use crate::verdict::{AddressVerdict, Basis, Effect, Layer, Rule};

fn entry(effect: Effect, layer: Layer, text: &str) -> Entry {
    let parsed = parse(text).unwrap();
    let default = if effect == Effect::Allow {
        PortSet::web()
    } else {
        PortSet::all()
    };
    Entry {
        pattern: parsed.pattern,
        ports: parsed.ports.unwrap_or(default),
        http: None,
        tls: None,
        sni: None,
        until: None,
        rule: Arc::new(Rule {
            id: "group".into(),
            effect,
            layer,
            reason: None,
            entry: text.into(),
            preset: None,
            file: "policy.yaml".into(),
            line: 1,
        }),
    }
}

/// A list of the user's file: entries as written, exclusions with their `!`.
fn list(effect: Effect, texts: &[&str]) -> EntryList {
    let (exclusions, entries): (Vec<&str>, Vec<&str>) =
        texts.iter().partition(|text| text.starts_with('!'));
    EntryList {
        effect,
        layer: Layer::User,
        surface: Surface::Net,
        entries: entries
            .iter()
            .map(|text| entry(effect, Layer::User, text))
            .collect(),
        exclusions: exclusions
            .iter()
            .map(|text| parse(text).unwrap())
            .map(|parsed| Exclusion {
                pattern: parsed.pattern,
                ports: parsed.ports.unwrap_or_else(PortSet::all),
            })
            .collect(),
    }
}

fn try_policy(lists: Vec<EntryList>) -> Result<Policy, BuildError> {
    let defaults = Defaults {
        net: Effect::Deny,
        fetch: Effect::Ask,
    };
    Policy::build(lists, defaults, "digest".into())
}

fn policy(allow: &[&str], deny: &[&str]) -> Policy {
    let mut lists = vec![list(Effect::Allow, allow)];
    if !deny.is_empty() {
        lists.push(list(Effect::Deny, deny));
    }
    try_policy(lists).unwrap()
}

fn target(text: &str) -> Target {
    let (host, port) = text.rsplit_once(':').unwrap();
    Target {
        host: Host::parse(host.as_bytes()).unwrap(),
        port: Port::parse(port).unwrap(),
    }
}

/// The verdict in words: the effect, and the entry or why there is none.
fn decide(policy: &Policy, text: &str) -> String {
    let target = target(text);
    let verdict = policy.decide(&Request::connection(&target, SystemTime::UNIX_EPOCH));
    match (verdict.basis, verdict.rule) {
        (Basis::Rule, Some(rule)) => format!("{} {}", verdict.effect, rule.entry),
        (Basis::Default, None) => format!("{} default", verdict.effect),
        (Basis::Guarded(class), None) => format!("{} {class}", verdict.effect),
        odd => panic!("{odd:?}"),
    }
}

fn answer(policy: &Policy, address: &str, port: u16, own: bool) -> String {
    let address: IpAddr = address.parse().unwrap();
    let target = Target {
        host: Host::Address(address),
        port: Port::from_number(port).unwrap(),
    };
    let request = Request::connection(&target, SystemTime::UNIX_EPOCH);
    match policy.judge_address(&request, address, &|_| own) {
        AddressVerdict::Open => "open".to_owned(),
        AddressVerdict::Guarded(class) => format!("guarded {class}"),
        AddressVerdict::Refused(rule) => format!("refused {}", rule.entry),
    }
}

#[test]
fn names_match_by_label_and_never_by_chance() {
    let policy = policy(
        &[
            "allowed.test",
            "*.wild.test",
            "**.both.test",
            "svc.allowed.test:*",
            "api-*.glob.test",
        ],
        &["mal.test", "secret.wild.test"],
    );
    for (host, want) in [
        ("allowed.test:443", "allow allowed.test"),
        ("allowed.test:80", "allow allowed.test"),
        ("allowed.test:22", "deny default"),
        ("bucket-of-mallory.allowed.test:443", "deny default"),
        ("svc.allowed.test:22", "allow svc.allowed.test:*"),
        ("evilwild.test:443", "deny default"),
        ("wild.test:443", "deny default"),
        ("a.wild.test:443", "allow *.wild.test"),
        ("a.b.wild.test:443", "allow *.wild.test"),
        ("secret.wild.test:443", "deny secret.wild.test"),
        ("mal.test:25", "deny mal.test"),
        ("both.test:443", "allow **.both.test"),
        ("a.b.both.test:443", "allow **.both.test"),
        ("api-1.glob.test:443", "allow api-*.glob.test"),
        ("api-.glob.test:443", "deny default"),
        ("api-1.x.glob.test:443", "deny default"),
        ("x.api-1.glob.test:443", "deny default"),
    ] {
        assert_eq!(decide(&policy, host), want, "{host}");
    }
}

#[test]
fn only_address_entries_match_literals() {
    let policy = policy(&["*:*", "10.1.2.3:443", "127.0.0.2:*"], &[]);
    for (host, want) in [
        ("any.test:22", "allow *:*"),
        ("8.8.8.8:443", "deny default"),
        ("10.1.2.3:443", "allow 10.1.2.3:443"),
        ("[::ffff:10.1.2.3]:443", "allow 10.1.2.3:443"),
        ("10.1.2.3:80", "deny private"),
        ("[::ffff:10.1.2.4]:443", "deny private"),
        ("127.0.0.1:80", "deny loopback"),
        ("127.0.0.2:80", "allow 127.0.0.2:*"),
        ("[64:ff9b::7f00:1]:80", "deny reserved"),
        ("[2002:7f00:1::1]:80", "deny loopback"),
        ("localhost:80", "deny loopback"),
        ("app.localhost:80", "deny loopback"),
        ("metadata.goog:80", "deny cloud metadata"),
        ("169.254.169.254:80", "deny cloud metadata"),
        ("0.0.0.0:80", "deny unspecified"),
        ("[ff02::1]:80", "deny multicast"),
    ] {
        assert_eq!(decide(&policy, host), want, "{host}");
    }
}

#[test]
fn localhost_and_its_two_addresses_are_one_resource() {
    for entry in ["localhost:5432", "127.0.0.1:5432", "[::1]:5432"] {
        let policy = policy(&[entry], &[]);
        for host in [
            "localhost",
            "x.localhost",
            "127.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            let (open, shut) = (format!("{host}:5432"), format!("{host}:5433"));
            assert_eq!(decide(&policy, &open), format!("allow {entry}"), "{host}");
            assert_eq!(decide(&policy, &shut), "deny loopback", "{host}");
        }
        assert_eq!(answer(&policy, "::1", 5432, false), "open");
        assert_eq!(decide(&policy, "127.0.0.2:5432"), "deny loopback");
    }
    let denied = policy(&["127.0.0.0/8:*"], &["[::1]:22"]);
    assert_eq!(decide(&denied, "localhost:22"), "deny [::1]:22");
    assert_eq!(decide(&denied, "127.0.0.1:22"), "deny [::1]:22");
    assert_eq!(decide(&denied, "127.0.0.1:23"), "allow 127.0.0.0/8:*");
    assert_eq!(decide(&denied, "[::1]:23"), "allow 127.0.0.0/8:*");
}

#[test]
fn metadata_is_opened_by_its_own_literal_and_exact_name_alone() {
    let ranges = policy(
        &["0.0.0.0/0:*", "169.254.0.0/16:*", "**.goog:*", "*:*"],
        &[],
    );
    assert_eq!(decide(&ranges, "169.254.169.254:80"), "deny cloud metadata");
    assert_eq!(decide(&ranges, "169.254.169.253:80"), "allow 0.0.0.0/0:*");
    assert_eq!(decide(&ranges, "metadata.goog:80"), "deny cloud metadata");
    assert_eq!(
        answer(&ranges, "169.254.169.254", 80, false),
        "guarded cloud metadata"
    );
    let exact = policy(&["169.254.169.254:80", "metadata.goog:80"], &[]);
    assert_eq!(
        decide(&exact, "169.254.169.254:80"),
        "allow 169.254.169.254:80"
    );
    assert_eq!(decide(&exact, "metadata.goog:80"), "allow metadata.goog:80");
    assert_eq!(answer(&exact, "169.254.169.254", 80, false), "open");
    let denied = policy(&["metadata.goog:80"], &["**.goog"]);
    assert_eq!(decide(&denied, "metadata.goog:80"), "deny **.goog");
}

#[test]
fn classes_that_nothing_opens_stay_shut() {
    let policy = policy(
        &["0.0.0.0/0:*", "[::/0]:*", "224.0.0.1:*", "0.0.0.0:*"],
        &[],
    );
    for (host, class) in [
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("255.255.255.255", "broadcast"),
        ("224.0.0.1", "multicast"),
        ("[::]", "unspecified"),
        ("[ff02::1]", "multicast"),
        ("[64:ff9b::e000:1]", "multicast"),
    ] {
        assert_eq!(
            decide(&policy, &format!("{host}:80")),
            format!("deny {class}"),
            "{host}"
        );
        let bare = host.trim_matches(['[', ']']);
        assert_eq!(
            answer(&policy, bare, 80, false),
            format!("guarded {class}"),
            "{host}"
        );
    }
}

#[test]
fn an_address_inside_another_needs_its_own_entry() {
    let outer = policy(
        &["[64:ff9b::/96]:*", "[2002::/16]:*"],
        &["203.0.113.0/24", "9.9.9.9"],
    );
    assert_eq!(
        decide(&outer, "[64:ff9b::808:808]:80"),
        "allow [64:ff9b::/96]:*"
    );
    assert_eq!(decide(&outer, "[64:ff9b::a01:203]:80"), "deny private");
    assert_eq!(decide(&outer, "[64:ff9b::909:909]:80"), "deny 9.9.9.9");
    assert_eq!(decide(&outer, "[2002:a01:203::1]:80"), "deny private");
    assert_eq!(
        answer(&outer, "64:ff9b::a01:203", 80, false),
        "guarded private"
    );
    assert_eq!(
        answer(&outer, "64:ff9b::909:909", 80, false),
        "refused 9.9.9.9"
    );
    assert_eq!(answer(&outer, "64:ff9b::808:808", 80, false), "open");
    let both = policy(&["[64:ff9b::/96]:*", "10.0.0.0/8:*"], &[]);
    assert_eq!(
        decide(&both, "[64:ff9b::a01:203]:80"),
        "allow [64:ff9b::/96]:*"
    );
    let inner = policy(&["10.0.0.0/8:*"], &[]);
    assert_eq!(decide(&inner, "[64:ff9b::a01:203]:80"), "deny reserved");
    let mapped = policy(&["10.0.0.0/8:*"], &["::/0"]);
    assert_eq!(decide(&mapped, "[::ffff:10.1.2.3]:80"), "deny ::/0");
    assert_eq!(decide(&mapped, "10.1.2.3:80"), "allow 10.0.0.0/8:*");
    assert_eq!(
        answer(&mapped, "::ffff:10.1.2.3", 80, false),
        "refused ::/0"
    );
}

#[test]
fn answers_are_judged_for_their_port_and_owner() {
    let policy = policy(
        &["inner.test", "10.1.2.3:443"],
        &["10.9.0.0/16", "9.9.9.0/24:53"],
    );
    for (address, port, own, want) in [
        ("8.8.8.8", 443, false, "open"),
        ("8.8.8.8", 443, true, "guarded own"),
        ("10.1.2.3", 443, false, "open"),
        ("10.1.2.3", 443, true, "open"),
        ("10.1.2.3", 80, false, "guarded private"),
        ("10.1.2.3", 80, true, "guarded private"),
        ("::ffff:10.1.2.3", 443, false, "open"),
        ("10.9.1.1", 443, false, "refused 10.9.0.0/16"),
        ("9.9.9.9", 53, false, "refused 9.9.9.0/24:53"),
        ("9.9.9.9", 443, false, "open"),
        ("127.0.0.1", 443, false, "guarded loopback"),
    ] {
        assert_eq!(
            answer(&policy, address, port, own),
            want,
            "{address}:{port}"
        );
    }
}

#[test]
fn an_exclusion_holds_in_its_own_list_whatever_the_order() {
    let first = list(
        Effect::Allow,
        &["!secret.x.test", "*.x.test", "!*.x.test:80"],
    );
    let second = list(Effect::Allow, &["secret.x.test:443"]);
    let policy = try_policy(vec![first, second]).unwrap();
    assert_eq!(decide(&policy, "a.x.test:443"), "allow *.x.test");
    assert_eq!(decide(&policy, "a.x.test:80"), "deny default");
    assert_eq!(
        decide(&policy, "secret.x.test:443"),
        "allow secret.x.test:443"
    );
    let ranges = list(
        Effect::Deny,
        &["10.0.0.0/8", "127.0.0.0/8", "!10.1.0.0/16", "!localhost"],
    );
    let policy = try_policy(vec![list(Effect::Allow, &["0.0.0.0/0"]), ranges]).unwrap();
    assert_eq!(decide(&policy, "10.2.0.1:80"), "deny 10.0.0.0/8");
    assert_eq!(decide(&policy, "10.1.0.1:80"), "allow 0.0.0.0/0");
    assert_eq!(decide(&policy, "[::1]:80"), "allow 0.0.0.0/0");
    assert_eq!(decide(&policy, "127.0.0.2:80"), "deny 127.0.0.0/8");
}

#[test]
fn effects_have_an_order_and_layers_too() {
    let of = |effect, layer, text| EntryList {
        layer,
        entries: vec![entry(effect, layer, text)],
        ..list(effect, &[text])
    };
    let allow = |layer| of(Effect::Allow, layer, "a.test:*");
    let ask = |layer| of(Effect::Ask, layer, "**.a.test");
    let deny = |layer| of(Effect::Deny, layer, "*");
    for (lists, want) in [
        (vec![allow(Layer::Machine), deny(Layer::Project)], "deny *"),
        (
            vec![allow(Layer::Machine), ask(Layer::Project)],
            "ask **.a.test",
        ),
        (
            vec![allow(Layer::User), ask(Layer::Machine)],
            "ask **.a.test",
        ),
        (vec![allow(Layer::User), ask(Layer::User)], "allow a.test:*"),
        (
            vec![allow(Layer::Machine), ask(Layer::User)],
            "allow a.test:*",
        ),
        (vec![ask(Layer::User)], "ask **.a.test"),
    ] {
        let policy = try_policy(lists.clone()).unwrap();
        assert_eq!(decide(&policy, "a.test:80"), want);
        let turned = try_policy(lists.into_iter().rev().collect()).unwrap();
        assert_eq!(decide(&turned, "a.test:80"), want);
    }
}

#[test]
fn net_covers_fetch_and_never_the_reverse() {
    let mut fetch = list(Effect::Allow, &["docs.test"]);
    fetch.surface = Surface::Fetch;
    let policy = try_policy(vec![fetch, list(Effect::Deny, &["mal.test"])]).unwrap();
    let ask = |host: &str, surface| {
        let target = target(host);
        let request = Request {
            surface,
            ..Request::connection(&target, SystemTime::UNIX_EPOCH)
        };
        policy.decide(&request).effect
    };
    assert_eq!(ask("docs.test:443", Surface::Fetch), Effect::Allow);
    assert_eq!(ask("docs.test:443", Surface::Net), Effect::Deny);
    assert_eq!(ask("mal.test:443", Surface::Fetch), Effect::Deny);
    assert_eq!(ask("other.test:443", Surface::Fetch), Effect::Ask);
}

#[test]
fn what_is_unknown_never_widens() {
    let http = Some(HttpRule::parse(&["GET"], &["/public/**"]).unwrap());
    let mut lists = vec![
        list(Effect::Allow, &["a.test"]),
        list(Effect::Deny, &["b.test"]),
    ];
    lists.push(list(Effect::Allow, &["b.test"]));
    for list in lists.iter_mut().take(2) {
        for entry in &mut list.entries {
            entry.http.clone_from(&http);
        }
    }
    let policy = try_policy(lists).unwrap();
    let effect = |host: &str, method, path| {
        let target = target(host);
        let request = Request {
            method,
            path,
            ..Request::connection(&target, SystemTime::UNIX_EPOCH)
        };
        policy.decide(&request).effect
    };
    for (method, path, allowed) in [
        (Some("GET"), Some("/public/a"), true),
        (Some("POST"), Some("/public/a"), false),
        (Some("GET"), Some("/private"), false),
    ] {
        let (allow, deny) = if allowed {
            (Effect::Allow, Effect::Deny)
        } else {
            (Effect::Deny, Effect::Allow)
        };
        assert_eq!(effect("a.test:80", method, path), allow);
        assert_eq!(effect("b.test:80", method, path), deny);
    }
    for (method, path) in [
        (None, None),
        (Some("GET"), None),
        (Some("GET"), Some("/public/%2e%2e/x")),
    ] {
        assert_eq!(effect("a.test:80", method, path), Effect::Deny);
        assert_eq!(effect("b.test:80", method, path), Effect::Deny);
    }
}

#[test]
fn an_entry_ends_at_its_time() {
    let mut allow = list(Effect::Allow, &["a.test"]);
    let end = SystemTime::UNIX_EPOCH + Duration::from_mins(1);
    allow.entries[0].until = Some(end);
    let policy = try_policy(vec![allow]).unwrap();
    let target = target("a.test:443");
    let at = |now| policy.decide(&Request::connection(&target, now));
    let before = at(end - Duration::from_secs(1));
    assert_eq!(
        (before.effect, before.grant.until),
        (Effect::Allow, Some(end))
    );
    assert_eq!(at(end).effect, Effect::Deny);
}

#[test]
fn patterns_without_anything_literal_are_capped_with_the_entry_named() {
    let name = |n: usize| format!("a*b{n:04}*c.test");
    let taken: Vec<String> = (0..1_000).map(name).collect();
    let mut texts: Vec<&str> = taken.iter().map(String::as_str).collect();
    let policy = policy(&texts, &[]);
    assert_eq!(decide(&policy, "axb0077xc.test:80"), "allow a*b0077*c.test");
    assert_eq!(decide(&policy, "axb0077c.test:80"), "deny default");
    texts.push("a*b*d.test");
    let error = try_policy(vec![list(Effect::Allow, &texts)]).unwrap_err();
    assert_eq!(&*error.rule.unwrap().entry, "a*b*d.test");
    let tails: Vec<String> = (0..1_001).map(|n| format!("api{n}-*")).collect();
    let texts: Vec<&str> = tails.iter().map(String::as_str).collect();
    let error = try_policy(vec![list(Effect::Allow, &texts)]).unwrap_err();
    assert_eq!(&*error.rule.unwrap().entry, "api1000-*");
}

#[test]
fn many_shapes_under_one_tail_are_still_found() {
    let texts: Vec<String> = (1..40)
        .map(|n| format!("{}*{}.x.test", "a".repeat(n % 20), "b".repeat(n)))
        .collect();
    let policy = policy(&texts.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    for (n, text) in (1..40).zip(&texts) {
        let host = format!("{}-{}.x.test:80", "a".repeat(n % 20), "b".repeat(n));
        assert!(
            decide(&policy, &host).starts_with("allow "),
            "{host} {text}"
        );
    }
    assert_eq!(decide(&policy, "a-a.x.test:80"), "deny default");
}
