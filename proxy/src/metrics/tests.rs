use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use moat_policy::record::{Cause, Protocol};
use moat_policy::verdict::Effect;

use super::gather::Gatherer;
use super::{Door, Lookup, names};
use crate::own::OwnListeners;
use crate::record::Recorder;
use crate::testing;
use crate::worker::Shared;

const DOCUMENTED: &str = include_str!("../../../docs/operations.md");

/// A proxy with two workers, and room for this many host labels.
fn shared(hosts: usize) -> Arc<Shared> {
    let mut config = testing::config();
    config.workers = NonZeroUsize::new(2).unwrap();
    config.metrics_hosts = hosts;
    let policy = testing::policy(&["a.test"]);
    let shared = Shared::new(config, policy, Recorder::off(), OwnListeners::default());
    Arc::new(shared.unwrap())
}

fn scrape(shared: &Arc<Shared>) -> String {
    let gatherer = Gatherer::new(Arc::clone(shared)).unwrap();
    String::from_utf8(gatherer.text().unwrap()).unwrap()
}

/// The lines of one metric.
fn lines<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let is_its = |line: &&str| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with([' ', '{']))
    };
    text.lines().filter(is_its).collect()
}

#[test]
fn every_metric_is_scraped_and_has_a_name() {
    let text = scrape(&shared(1));
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let scraped: BTreeSet<&str> = types.filter_map(|line| line.split(' ').next()).collect();
    let named: BTreeSet<&str> = names::ALL.iter().map(|name| name.text).collect();
    assert_eq!(scraped, named);
}

#[test]
fn every_metric_is_documented_with_its_labels_and_meaning() {
    for name in names::ALL {
        let labels: Vec<String> = name.labels.iter().map(|l| format!("`{l}`")).collect();
        let cells = [&labels.join(", "), name.help].join(" | ");
        let row = DOCUMENTED
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", name.text)))
            .unwrap_or_else(|| panic!("`{}` is not documented", name.text));
        assert!(row.ends_with(&format!("| {cells} |")), "{row}");
    }
    let rows = DOCUMENTED
        .lines()
        .filter(|line| line.starts_with("| `moat_"));
    assert_eq!(rows.count(), names::ALL.len());
}

#[test]
fn the_manual_and_its_alerts_name_no_other_metric() {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = DOCUMENTED.split(|letter| !is_part(letter));
    let mut count = 0;
    for word in words.filter(|word| word.starts_with("moat_")) {
        let name = word.strip_suffix("_bucket").unwrap_or(word);
        assert!(names::ALL.iter().any(|known| known.text == name), "{word}");
        count += 1;
    }
    assert!(count > names::ALL.len(), "the alerts use some");
}

#[test]
fn names_keep_to_the_rules_of_prometheus() {
    let text = scrape(&shared(1));
    for name in names::ALL {
        assert!(name.text.starts_with("moat_"));
        assert!(name.labels.is_sorted(), "{}", name.text);
        let counter = text.contains(&format!("# TYPE {} counter\n", name.text));
        assert_eq!(name.text.ends_with("_total"), counter, "{}", name.text);
    }
}

#[test]
fn the_workers_are_added_up() {
    let shared = shared(0);
    let meters = [0, 1].map(|index| shared.metrics.meter(index).unwrap());
    for meter in &meters {
        meter.opened(Door::Tls);
        meter.decision(Protocol::Connect, Effect::Deny, true);
        meter.refused(Cause::Default);
        meter.decision(Protocol::Http, Effect::Deny, false);
        meter.moved(3, 5);
        meter.looked_up(Lookup::Joined);
        meter.resolved(Duration::from_millis(1));
    }
    meters[0].closed();
    let text = scrape(&shared);
    for expected in [
        "moat_accepted_total{listener=\"tls\"} 2",
        "moat_connections_active 1",
        "moat_connections_total{effect=\"deny\",protocol=\"connect\"} 2",
        "moat_connections_total{effect=\"deny\",protocol=\"http\"} 2",
        "moat_connections_total{effect=\"allow\",protocol=\"connect\"} 0",
        "moat_unenforced_total 2",
        "moat_refused_total{cause=\"default\"} 2",
        "moat_bytes_total{direction=\"up\"} 6",
        "moat_bytes_total{direction=\"down\"} 10",
        "moat_dns_lookups_total{result=\"joined\"} 2",
        "moat_dns_seconds_count 2",
        "moat_dns_seconds_sum 0.002",
        "moat_workers 2",
    ] {
        assert!(
            text.lines().any(|line| line == expected),
            "{expected}\n{text}"
        );
    }
}

#[test]
fn buckets_are_cumulative_and_end_with_everything() {
    let shared = shared(0);
    let meter = shared.metrics.meter(0).unwrap();
    for millis in [1, 1, 200, 100_000] {
        meter.dialled(Duration::from_millis(millis));
    }
    let text = scrape(&shared);
    let counts: Vec<u64> = lines(&text, "moat_dial_seconds_bucket")
        .iter()
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(counts.is_sorted());
    assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&4)));
    assert!(counts.contains(&2) && counts.contains(&3));
}

#[test]
fn host_labels_are_bounded_and_only_for_what_a_rule_allowed() {
    let shared = shared(2);
    let meter = shared.metrics.meter(1).unwrap();
    for host in ["a.test", "b.test", "c.test", "d.test", "a.test"] {
        meter.host(Some(host), 1, 2);
    }
    meter.host(None, 1, 2);
    let text = scrape(&shared);
    assert_eq!(
        lines(&text, "moat_host_requests_total"),
        [
            "moat_host_requests_total{host=\"a.test\"} 2",
            "moat_host_requests_total{host=\"b.test\"} 1",
            "moat_host_requests_total{host=\"other\"} 3",
        ]
    );
    assert_eq!(lines(&text, "moat_host_bytes_total").len(), 6);
}

#[test]
fn without_host_labels_there_is_no_host_metric() {
    let shared = shared(0);
    shared.metrics.meter(0).unwrap().host(Some("a.test"), 1, 2);
    assert!(!scrape(&shared).contains("moat_host_"));
}

#[test]
fn a_panic_leaves_no_connection_counted_as_open() {
    let shared = shared(0);
    let meter = shared.metrics.meter(0).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _tunnel = meter.tunnel();
        panic!("a fault");
    }));
    assert!(caught.is_err());
    assert_eq!(
        lines(&scrape(&shared), "moat_tunnels_active"),
        ["moat_tunnels_active 0"]
    );
}
