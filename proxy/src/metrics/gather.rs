//! Shards and gauges into what Prometheus reads, at each scrape.

use std::fs;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use moat_policy::record::Cause;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{MetricFamily, MetricType};
use prometheus::{Encoder as _, Registry, TextEncoder};

use super::family::{self, Sample};
use super::histogram::Histogram;
use super::names::{self, Name};
use super::shard::{self, EFFECTS, HostCounts, PROTOCOLS, Shard};
use super::{Door, Lookup, Metrics};
use crate::config::Mode;
use crate::worker::Shared;

/// The label of all hosts that have none of their own.
const OTHER: &str = "other";

/// What a scrape asks.
#[derive(Debug)]
pub(crate) struct Gatherer {
    registry: Registry,
}

impl Gatherer {
    /// Everything that these share.
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Self, prometheus::Error> {
        let describe = |name: &Name| {
            let labels = name.labels.iter().map(ToString::to_string).collect();
            Desc::new(
                name.text.to_owned(),
                name.help.to_owned(),
                labels,
                std::collections::HashMap::new(),
            )
        };
        let descriptions: Result<_, _> = names::ALL.iter().map(describe).collect();
        let registry = Registry::new();
        registry.register(Box::new(Gathered {
            shared,
            descriptions: descriptions?,
        }))?;
        Ok(Self { registry })
    }

    /// All metrics in the text format of Prometheus.
    pub(crate) fn text(&self) -> Result<Vec<u8>, prometheus::Error> {
        let mut text = Vec::with_capacity(16 << 10);
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }

    /// The content type of that text.
    pub(crate) const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";
}

struct Gathered {
    shared: Arc<Shared>,
    descriptions: Vec<Desc>,
}

impl Collector for Gathered {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut families = clients(&self.shared);
        families.extend(requests(&self.shared.metrics));
        families.extend(upstreams(&self.shared.metrics));
        families.extend(policy(&self.shared));
        families.extend(record(&self.shared));
        families.extend(process(&self.shared));
        if self.shared.metrics.hosts.limit() > 0 {
            families.extend(hosts(&self.shared.metrics));
        }
        families
    }
}

/// The sum over all shards.
fn sum(metrics: &Metrics, read: impl Fn(&Shard) -> u64) -> u64 {
    metrics.shards.iter().map(read).fold(0, u64::wrapping_add)
}

fn counter(name: Name, value: u64) -> MetricFamily {
    family::of(name, MetricType::COUNTER, [Sample::of(value)])
}

fn gauge(name: Name, value: u64) -> MetricFamily {
    family::of(name, MetricType::GAUGE, [Sample::of(value)])
}

fn clients(shared: &Shared) -> Vec<MetricFamily> {
    let metrics = &shared.metrics;
    let accepted = Door::ALL.map(|door| {
        let count = sum(metrics, |shard| shard.accepted.read(door as usize));
        Sample::of(count).labelled([door.as_str()])
    });
    let limit = u64::try_from(shared.connections.limit()).unwrap_or(u64::MAX);
    vec![
        family::of(names::ACCEPTED, MetricType::COUNTER, accepted),
        counter(
            names::ACCEPT_ERRORS,
            sum(metrics, |shard| shard.accept_errors.read()),
        ),
        counter(
            names::HANDSHAKE_ERRORS,
            sum(metrics, |shard| shard.handshake_errors.read()),
        ),
        gauge(
            names::CONNECTIONS_ACTIVE,
            sum(metrics, |shard| shard.connections.read()),
        ),
        gauge(names::CONNECTIONS_LIMIT, limit),
        counter(
            names::CONNECTIONS_REJECTED,
            sum(metrics, |shard| shard.over_limit.read()),
        ),
        counter(names::PANICS, sum(metrics, |shard| shard.panics.read())),
    ]
}

fn requests(metrics: &Metrics) -> Vec<MetricFamily> {
    let mut decisions = Vec::new();
    for effect in EFFECTS {
        for protocol in PROTOCOLS {
            let index = shard::decision(protocol, effect);
            let count = sum(metrics, |shard| shard.decisions.read(index));
            decisions.push(Sample::of(count).labelled([effect.as_str(), protocol.as_str()]));
        }
    }
    let refusals = Cause::ALL.map(|cause| {
        let count = sum(metrics, |shard| shard.refusals.read(cause as usize));
        Sample::of(count).labelled([cause.as_str()])
    });
    let up = sum(metrics, |shard| shard.bytes_up.read());
    let down = sum(metrics, |shard| shard.bytes_down.read());
    vec![
        family::of(names::CONNECTIONS, MetricType::COUNTER, decisions),
        family::of(names::REFUSED, MetricType::COUNTER, refusals),
        gauge(
            names::TUNNELS_ACTIVE,
            sum(metrics, |shard| shard.tunnels.read()),
        ),
        family::of(
            names::BYTES,
            MetricType::COUNTER,
            [
                Sample::of(down).labelled(["down"]),
                Sample::of(up).labelled(["up"]),
            ],
        ),
        histogram(metrics, names::DECISION, |shard| &shard.deciding),
        histogram(metrics, names::ESTABLISHED, |shard| &shard.establishing),
    ]
}

fn upstreams(metrics: &Metrics) -> Vec<MetricFamily> {
    let failures = [Cause::Connect, Cause::Dns, Cause::Timeout, Cause::Upstream].map(|cause| {
        let count = sum(metrics, |shard| shard.failures.read(cause as usize));
        Sample::of(count).labelled([cause.as_str()])
    });
    let lookups = Lookup::ALL.map(|lookup| {
        let count = sum(metrics, |shard| shard.lookups.read(lookup as usize));
        Sample::of(count).labelled([lookup.as_str()])
    });
    vec![
        family::of(names::FAILURES, MetricType::COUNTER, failures),
        family::of(names::DNS_LOOKUPS, MetricType::COUNTER, lookups),
        histogram(metrics, names::DNS, |shard| &shard.resolving),
        histogram(metrics, names::DIAL, |shard| &shard.dialling),
        gauge(
            names::POOL_IDLE,
            sum(metrics, |shard| shard.pool_idle.read()),
        ),
        counter(
            names::POOL_REUSED,
            sum(metrics, |shard| shard.pool_reused.read()),
        ),
    ]
}

fn policy(shared: &Shared) -> Vec<MetricFamily> {
    let loaded = shared.policy.load();
    let digest = Sample::of(1).labelled([loaded.policy.digest()]);
    let unenforced = sum(&shared.metrics, |shard| shard.unenforced.read());
    vec![
        gauge(names::POLICY_GENERATION, loaded.generation),
        family::of(names::POLICY_INFO, MetricType::GAUGE, [digest]),
        gauge(names::POLICY_LOADED, seconds(shared.reloads.last_good())),
        counter(names::POLICY_FAILURES, shared.reloads.failures()),
        gauge(
            names::UNENFORCED,
            u64::from(shared.config.mode == Mode::Observe),
        ),
        counter(names::UNENFORCED_REQUESTS, unenforced),
    ]
}

fn record(shared: &Shared) -> Vec<MetricFamily> {
    let health = shared.recorder.health();
    vec![
        gauge(names::AUDIT_FAILING, u64::from(health.is_failing())),
        counter(names::RECORDS_WRITTEN, health.written()),
        counter(names::RECORDS_LOST, health.lost()),
        gauge(names::RECORDS_QUEUED, health.queued()),
    ]
}

fn process(shared: &Shared) -> Vec<MetricFamily> {
    let version = Sample::of(1).labelled([env!("CARGO_PKG_VERSION")]);
    let workers = u64::try_from(shared.config.workers.get()).unwrap_or(u64::MAX);
    let mut families = vec![
        family::of(names::BUILD_INFO, MetricType::GAUGE, [version]),
        gauge(names::START_TIME, seconds(shared.started)),
        gauge(names::WORKERS, workers),
    ];
    // Left out, not zero, where they cannot be read.
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let open = u64::try_from(open.count()).unwrap_or(u64::MAX);
        // One of them is the directory that is read here.
        families.push(gauge(names::FDS_OPEN, open.saturating_sub(1)));
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if let Some(limit) = limit.current {
        families.push(gauge(names::FDS_LIMIT, limit));
    }
    families
}

fn hosts(metrics: &Metrics) -> Vec<MetricFamily> {
    let named = metrics.hosts.named();
    let slots: Vec<(Option<usize>, &str)> = named
        .map(|(slot, name)| (Some(slot), &**name))
        .chain([(None, OTHER)])
        .collect();
    let count = |slot: Option<usize>, read: fn(&HostCounts) -> u64| {
        sum(metrics, |shard| read(shard.host_counts(slot)))
    };
    let requests = slots
        .iter()
        .map(|&(slot, host)| Sample::of(count(slot, |host| host.requests.read())).labelled([host]));
    let bytes = slots.iter().flat_map(|&(slot, host)| {
        let down = count(slot, |host| host.down.read());
        let up = count(slot, |host| host.up.read());
        [
            Sample::of(down).labelled(["down", host]),
            Sample::of(up).labelled(["up", host]),
        ]
    });
    vec![
        family::of(names::HOST_REQUESTS, MetricType::COUNTER, requests),
        family::of(names::HOST_BYTES, MetricType::COUNTER, bytes),
    ]
}

fn histogram(metrics: &Metrics, name: Name, pick: impl Fn(&Shard) -> &Histogram) -> MetricFamily {
    let histograms: Vec<&Histogram> = metrics.shards.iter().map(pick).collect();
    family::of_histograms(name, &histograms)
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
