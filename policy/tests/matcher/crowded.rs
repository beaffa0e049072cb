//! Agreement with the naive matcher where many entries with conditions and many lists with
//! exclusions meet at a few hosts.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moat_policy::entry::{Entry, EntryList, Exclusion, parse};
use moat_policy::host::Host;
use moat_policy::http::HttpRule;
use moat_policy::policy::{Defaults, Policy};
use moat_policy::port::{Port, PortSet};
use moat_policy::request::{Request, Surface, Target};
use moat_policy::verdict::{Effect, Layer};

use crate::generate::{Numbers, rule};
use crate::naive;

const DENY: Defaults = Defaults {
    net: Effect::Deny,
    fetch: Effect::Deny,
};
const HOSTS: &[&str] = &["a.test", "b.a.test", "c.b.a.test", "10.1.2.3", "x.test"];
const PATTERNS: &[&str] = &[
    "a.test",
    "*.a.test",
    "**.a.test",
    "b.a.test",
    "10.0.0.0/8",
    "*",
];
const EXCLUDED: &[&str] = &[
    "b.a.test",
    "*.b.a.test",
    "a.test",
    "10.1.2.0/24",
    "*.test",
    "b*.a.test",
];
const METHODS: &[&[&str]] = &[&[], &[], &["GET"], &["POST", "PUT"], &["DELETE"]];
const SEGMENTS: &[&str] = &["a", "b", "x-1", "%20", "*", "x-*", "**"];

fn end(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A path pattern of one to four segments.
fn path(numbers: &mut Numbers) -> String {
    let segments = (0..=numbers.below(4)).map(|_| format!("/{}", numbers.pick(SEGMENTS)));
    let path: String = segments.collect();
    let slash = if numbers.below(5) == 0 && !path.ends_with("**") {
        "/"
    } else {
        ""
    };
    format!("{path}{slash}")
}

fn entry(numbers: &mut Numbers, effect: Effect, layer: Layer, line: usize) -> Entry {
    let text = numbers.pick(PATTERNS);
    let paths: Vec<String> = match numbers.below(4) {
        0 => Vec::new(),
        1 => vec![path(numbers), path(numbers)],
        _ => vec![path(numbers)],
    };
    let methods = METHODS[numbers.below(METHODS.len())];
    let conditions = !methods.is_empty() || !paths.is_empty();
    Entry {
        pattern: parse(text).unwrap().pattern,
        ports: [PortSet::web(), PortSet::all()][numbers.below(2)].clone(),
        http: conditions.then(|| HttpRule::parse(methods, &paths).unwrap()),
        tls: None,
        sni: None,
        until: [
            None,
            None,
            Some(end(999)),
            Some(end(1_001)),
            Some(end(2_000)),
        ][numbers.below(5)],
        rule: rule(effect, layer, text, line),
    }
}

fn list(numbers: &mut Numbers, entries: usize) -> EntryList {
    let effect = [Effect::Allow, Effect::Allow, Effect::Ask, Effect::Deny][numbers.below(4)];
    let layer = [Layer::Project, Layer::User, Layer::Machine][numbers.below(3)];
    let entries = (0..entries).map(|line| entry(numbers, effect, layer, line));
    let entries = entries.collect();
    let exclusion = |numbers: &mut Numbers| Exclusion {
        pattern: parse(numbers.pick(EXCLUDED)).unwrap().pattern,
        ports: [PortSet::web(), PortSet::all()][numbers.below(2)].clone(),
    };
    let exclusions = (0..numbers.below(4)).map(|_| exclusion(numbers)).collect();
    EntryList {
        effect,
        layer,
        surface: Surface::Net,
        entries,
        exclusions,
    }
}

/// Asks both matchers for many requests; how often an entry decided.
fn agree(numbers: &mut Numbers, lists: &[EntryList], requests: usize) -> usize {
    let policy = Policy::build(lists.to_vec(), DENY, "digest".into()).unwrap();
    let mut decided = 0;
    for _ in 0..requests {
        let target = Target {
            host: Host::parse(numbers.pick(HOSTS).as_bytes()).unwrap(),
            port: [Port::HTTP, Port::HTTPS, Port::from_number(22).unwrap()][numbers.below(3)],
        };
        let path = match numbers.below(6) {
            0 => None,
            1 => Some("/a/../b".to_owned()),
            2 => Some("/a%2fb/x-1".to_owned()),
            _ => Some(path(numbers).replace("**", "a/b").replace('*', "2")),
        };
        let request = Request {
            method: [None, Some("GET"), Some("get"), Some("POST"), Some("DELETE")]
                [numbers.below(5)],
            path: path.as_deref(),
            ..Request::connection(&target, end(1_000))
        };
        let verdict = policy.decide(&request);
        let naive = naive::decide(lists, DENY, &request);
        assert_eq!(verdict.effect, naive.effect, "{request:?}");
        let same = match (verdict.rule, &naive.rule) {
            (Some(rule), Some(naive)) => Arc::ptr_eq(rule, naive),
            (None, None) => true,
            _ => false,
        };
        assert!(same, "{request:?}: {:?} {:?}", verdict.rule, naive.rule);
        if let Some(grant) = naive.grant {
            assert_eq!(verdict.grant, grant, "{request:?}");
        }
        decided += usize::from(verdict.rule.is_some());
    }
    decided
}

#[test]
fn many_conditions_at_a_few_hosts() {
    let mut numbers = Numbers::new(0x7061_7468);
    let mut decided = 0;
    for round in 0..80 {
        let lists: Vec<_> = (0..=numbers.below(5))
            .map(|_| list(&mut numbers, 1 + round / 2))
            .collect();
        decided += agree(&mut numbers, &lists, 60);
    }
    assert!((1_300..4_300).contains(&decided), "{decided} of 4,800");
}

#[test]
fn many_lists_with_exclusions_at_a_few_hosts() {
    let mut numbers = Numbers::new(0x6c69_7374);
    let lists: Vec<_> = (0..400).map(|_| list(&mut numbers, 2)).collect();
    agree(&mut numbers, &lists, 300);
    let allows: Vec<_> = lists
        .into_iter()
        .filter(|list| list.effect == Effect::Allow)
        .map(|mut list| {
            list.layer = Layer::User;
            list
        })
        .collect();
    agree(&mut numbers, &allows, 300);
}

#[test]
fn a_host_that_very_many_exclusions_cover() {
    let mut list = list(&mut Numbers::new(1), 0);
    list.effect = Effect::Allow;
    list.entries = vec![Entry {
        http: None,
        until: None,
        ports: PortSet::all(),
        ..entry(&mut Numbers::new(1), Effect::Allow, Layer::User, 0)
    }];
    list.entries[0].pattern = parse("*").unwrap().pattern;
    let deep = format!("{}test", "a.".repeat(40));
    let tails: Vec<&str> = deep
        .match_indices("a.")
        .map(|(at, _)| deep.split_at(at).1)
        .collect();
    list.exclusions = tails
        .iter()
        .map(|tail| Exclusion {
            pattern: parse(&format!("*.{tail}")).unwrap().pattern,
            ports: PortSet::web(),
        })
        .collect();
    let mut last = list.clone();
    last.exclusions = vec![Exclusion {
        pattern: parse(&format!("z*.{deep}")).unwrap().pattern,
        ports: PortSet::all(),
    }];
    let policy = Policy::build(vec![list, last], DENY, "digest".into()).unwrap();
    let effect = |host: &str, port| {
        let target = Target {
            host: Host::parse(host.as_bytes()).unwrap(),
            port,
        };
        policy.decide(&Request::connection(&target, end(0))).effect
    };
    let ssh = Port::from_number(22).unwrap();
    assert_eq!(effect(&format!("zz.{deep}"), Port::HTTPS), Effect::Deny);
    assert_eq!(effect(&format!("zz.{deep}"), ssh), Effect::Allow);
    assert_eq!(effect(&format!("y.{deep}"), Port::HTTPS), Effect::Allow);
}
