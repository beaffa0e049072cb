//! Agreement with the naive matcher over many patterns and many hosts near them.

use std::sync::Arc;
use std::time::SystemTime;

use moat_policy::entry::EntryList;
use moat_policy::host::{Host, HostName};
use moat_policy::policy::{Defaults, Policy};
use moat_policy::port::Port;
use moat_policy::request::{Request, Target};
use moat_policy::verdict::Effect;

use crate::generate::{Numbers, host_near, list, pattern};
use crate::naive::{Endings, matches_name};

const DENY: Defaults = Defaults {
    net: Effect::Deny,
    fetch: Effect::Deny,
};

/// The rules that the two matchers name for the hosts, host by host; the number of hits.
fn agree(policy: &Policy, list: &EntryList, hosts: &[String]) -> usize {
    let mut hits = 0;
    let endings = Endings::new(list.entries.iter().map(|entry| &entry.pattern));
    for host in hosts {
        let name = HostName::parse(host).unwrap();
        let target = Target {
            host: Host::Name(name),
            port: Port::HTTPS,
        };
        let verdict = policy.decide(&Request::connection(&target, SystemTime::UNIX_EPOCH));
        let naive = endings
            .first(host, |index| {
                matches_name(&list.entries[index].pattern, host)
            })
            .map(|index| &list.entries[index]);
        match (verdict.rule, naive) {
            (Some(rule), Some(entry)) => {
                assert!(Arc::ptr_eq(rule, &entry.rule), "{host}: {rule:?} {entry:?}");
                assert_eq!(verdict.effect, Effect::Allow, "{host}");
                hits += 1;
            }
            (None, None) => assert_eq!(verdict.effect, Effect::Deny, "{host}"),
            (rule, entry) => panic!("{host}: {rule:?} {entry:?}"),
        }
    }
    hits
}

fn both_agree(patterns: usize, hosts: usize, variety: usize) {
    let mut numbers = Numbers::new(0x6d6f_6174);
    let patterns: Vec<String> = (0..patterns)
        .map(|_| pattern(&mut numbers, variety))
        .collect();
    let hosts: Vec<String> = (0..hosts)
        .map(|_| {
            let near = numbers.below(patterns.len());
            host_near(&mut numbers, &patterns[near])
        })
        .collect();
    let list = list(Effect::Allow, &patterns);
    let policy = Policy::build(vec![list.clone()], DENY, "digest".into()).unwrap();
    let (first, second) = hosts.split_at(hosts.len() / 2);
    let hits: usize = std::thread::scope(|scope| {
        let half = |hosts| {
            let (policy, list) = (&policy, &list);
            move || agree(policy, list, hosts)
        };
        let halves = [scope.spawn(half(first)), scope.spawn(half(second))];
        halves.map(|half| half.join().unwrap()).iter().sum()
    });
    let share = hits * 100 / (first.len() + second.len());
    assert!((40..=90).contains(&share), "{share} % of the hosts match");
}

#[test]
fn a_thousand_patterns_and_two_hundred_thousand_hosts() {
    both_agree(1_000, 200_000, 12);
}

#[test]
fn a_hundred_thousand_patterns_and_two_thousand_hosts() {
    both_agree(100_000, 2_000, 3_000);
}
