//! Agreement with the naive matcher over generated policies and requests.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moat_policy::entry::{Entry, EntryList, Exclusion, parse, parse_ports};
use moat_policy::host::{Host, Pattern};
use moat_policy::http::HttpRule;
use moat_policy::policy::{Defaults, Policy};
use moat_policy::port::{Port, PortSet};
use moat_policy::request::{Request, Surface, Target, Wire};
use moat_policy::verdict::{Effect, Layer, SniRule, TlsRule};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::select;

use crate::generate::rule;
use crate::naive;

const PATTERNS: &[&str] = &[
    "*",
    "a.test",
    "b.a.test",
    "*.test",
    "*.a.test",
    "**.a.test",
    "**.test",
    "*.*",
    "a.*",
    "*.b.a.test",
    "a*.test",
    "*a.test",
    "a*b.test",
    "a*b*c.test",
    "*a*.a.test",
    "b.*.test",
    "*.*.test",
    "**.*.a.test",
    "*.b*.a.test",
    "**.b-*.test",
    "metadata.goog",
    "*.goog",
    "**.metadata.goog",
    "10.0.0.0/8",
    "10.1.0.0/16",
    "10.1.2.3",
    "0.0.0.0/0",
    "203.0.113.0/24",
    "8.8.8.8",
    "localhost",
    "127.0.0.1",
    "::1",
    "::/0",
    "127.0.0.0/8",
    "[2001:4860::/32]",
];

const HOSTS: &[&str] = &[
    "test",
    "a.test",
    "b.a.test",
    "c.b.a.test",
    "aab.test",
    "ab.test",
    "aa.test",
    "axbxc.test",
    "abc.test",
    "ba.test",
    "bab.a.test",
    "b-1.test",
    "b-.test",
    "x.b-2.test",
    "a.goog",
    "metadata.goog",
    "x.metadata.goog",
    "other.example",
    "localhost",
    "app.localhost",
    "127.0.0.1",
    "127.0.0.2",
    "[::1]",
    "10.1.2.3",
    "10.1.2.4",
    "10.2.0.0",
    "11.0.0.1",
    "8.8.8.8",
    "203.0.113.9",
    "[2001:4860::1]",
    "[2001:db8::1]",
];

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000)
}

fn pattern() -> impl Strategy<Value = Pattern> {
    select(PATTERNS).prop_map(|text| parse(text).unwrap().pattern)
}

fn ports() -> impl Strategy<Value = PortSet> {
    let text = select(
        &[
            "80,443",
            "443",
            "22",
            "*",
            "1-100",
            "80-8080",
            "8080",
            "81,443-444",
        ][..],
    );
    text.prop_map(|text| parse_ports(text).unwrap())
}

fn http() -> impl Strategy<Value = Option<HttpRule>> {
    let rule = |methods: &[&str], paths: &[&str]| HttpRule::parse(methods, paths).unwrap();
    prop_oneof![
        4 => Just(None),
        1 => Just(Some(rule(&["GET"], &[]))),
        1 => Just(Some(rule(&[], &["/a/**"]))),
        1 => Just(Some(rule(&["GET", "POST"], &["/a/*", "/b"]))),
    ]
}

fn until() -> impl Strategy<Value = Option<SystemTime>> {
    let end = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    prop_oneof![
        4 => Just(None),
        1 => Just(end(999)),
        1 => Just(end(1_000)),
        1 => Just(end(1_001)),
        1 => Just(end(2_000)),
    ]
}

fn tls() -> impl Strategy<Value = Option<TlsRule>> {
    select(vec![None, None, Some(TlsRule::Require), Some(TlsRule::Any)])
}

fn sni() -> impl Strategy<Value = Option<SniRule>> {
    select(vec![None, None, Some(SniRule::Match), Some(SniRule::Any)])
}

fn entry() -> impl Strategy<Value = Entry> {
    (pattern(), ports(), http(), tls(), sni(), until()).prop_map(
        |(pattern, ports, http, tls, sni, until)| Entry {
            rule: rule(Effect::Allow, Layer::User, &pattern.to_string(), 0),
            pattern,
            ports,
            http,
            tls,
            sni,
            until,
        },
    )
}

fn list() -> impl Strategy<Value = EntryList> {
    let exclusion = (pattern(), ports()).prop_map(|(pattern, ports)| Exclusion { pattern, ports });
    let layers = [Layer::Project, Layer::User, Layer::Bundle, Layer::Machine];
    (
        prop_oneof![
            4 => Just(Effect::Allow),
            1 => Just(Effect::Ask),
            1 => Just(Effect::Deny),
        ],
        select(layers.to_vec()),
        select(&[Surface::Net, Surface::Net, Surface::Fetch][..]),
        proptest::collection::vec(entry(), 1..8),
        prop_oneof![
            2 => Just(Vec::new()),
            1 => proptest::collection::vec(exclusion, 1..3),
        ],
    )
        .prop_map(|(effect, layer, surface, entries, exclusions)| EntryList {
            effect,
            layer,
            surface,
            entries,
            exclusions,
        })
}

fn port() -> impl Strategy<Value = Port> {
    select(&[22, 80, 81, 443, 444, 8080, 65535][..])
        .prop_map(|port| Port::from_number(port).unwrap())
}

#[derive(Clone, Debug)]
struct Asked {
    target: Target,
    surface: Surface,
    method: Option<&'static str>,
    path: Option<&'static str>,
    wire: Wire,
}

fn asked() -> impl Strategy<Value = Asked> {
    (
        select(HOSTS),
        port(),
        any::<bool>(),
        select(vec![
            None,
            Some("GET"),
            Some("get"),
            Some("POST"),
            Some("DELETE"),
        ]),
        select(vec![
            None,
            Some("/a/x"),
            Some("/b"),
            Some("/a/x%2fy"),
            Some("/a/../b"),
        ]),
        select(vec![Wire::Unseen, Wire::Clear]),
    )
        .prop_map(|(host, port, fetch, method, path, wire)| Asked {
            target: Target {
                host: Host::parse(host.as_bytes()).unwrap(),
                port,
            },
            surface: if fetch { Surface::Fetch } else { Surface::Net },
            method,
            path,
            wire,
        })
}

proptest! {
    // The default has the number of `PROPTEST_CASES`, for a longer run.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(512),
        ..ProptestConfig::default()
    })]

    #[test]
    fn decides_as_the_naive_matcher_does(
        lists in proptest::collection::vec(list(), 0..8),
        asked in proptest::collection::vec(asked(), 1..60),
        ask_by_default in any::<bool>(),
    ) {
        let defaults = Defaults {
            net: if ask_by_default { Effect::Ask } else { Effect::Deny },
            fetch: Effect::Ask,
        };
        let policy = Policy::build(lists.clone(), defaults, "digest".into()).unwrap();
        for asked in asked {
            let request = Request {
                surface: asked.surface,
                target: &asked.target,
                method: asked.method,
                path: asked.path,
                wire: asked.wire,
                now: now(),
            };
            let verdict = policy.decide(&request);
            let naive = naive::decide(&lists, defaults, &request);
            let said = (verdict.effect, verdict.basis);
            assert_eq!(said, (naive.effect, naive.basis), "{asked:?}");
            let same_rule = match (verdict.rule, &naive.rule) {
                (Some(rule), Some(naive)) => Arc::ptr_eq(rule, naive),
                (None, None) => true,
                _ => false,
            };
            assert!(same_rule, "{asked:?}: {:?} {:?}", verdict.rule, naive.rule);
            if let Some(grant) = naive.grant {
                assert_eq!(verdict.grant, grant, "{asked:?}");
            }
        }
    }
}
