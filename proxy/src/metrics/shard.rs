//! One worker's counters: written by that worker alone, read by a scrape.

use std::sync::atomic::{AtomicU64, Ordering};

use moat_policy::record::{Cause, Protocol};
use moat_policy::verdict::Effect;

use super::histogram::{Histogram, Scale};
use super::{Door, Lookup};

/// A counter with one writer: a load and a store, no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(more);
        self.0.store(sum, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many of something there are now, with one writer.
#[derive(Debug, Default)]
pub(crate) struct Level(Count);

impl Level {
    pub(crate) fn up(&self) {
        self.0.add(1);
    }

    pub(crate) fn down(&self) {
        let less = self.0.read().saturating_sub(1);
        self.0.0.store(less, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
        self.0.read()
    }
}

/// One counter for each value of a label.
#[derive(Debug)]
pub(crate) struct Counts<const N: usize>([Count; N]);

impl<const N: usize> Counts<N> {
    fn new() -> Self {
        Self(std::array::from_fn(|_| Count::default()))
    }

    /// Adds to the counter with this number.
    pub(crate) fn add(&self, index: usize, more: u64) {
        if let Some(count) = self.0.get(index) {
            count.add(more);
        }
    }

    /// The counter with this number.
    pub(crate) fn read(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, Count::read)
    }
}

/// Those that are counted apart; the last one stands for every other.
pub(crate) const PROTOCOLS: [Protocol; 4] = [
    Protocol::Connect,
    Protocol::Http,
    Protocol::Socks5,
    Protocol::Unknown,
];

/// The effects that a request can have: `pass` is for hooks.
pub(crate) const EFFECTS: [Effect; 3] = [Effect::Allow, Effect::Ask, Effect::Deny];

const CAUSES: usize = Cause::ALL.len();
const DECISIONS: usize = PROTOCOLS.len() * EFFECTS.len();

/// The number of the counter for a protocol and an effect.
pub(crate) fn decision(protocol: Protocol, effect: Effect) -> usize {
    let known = PROTOCOLS.iter().position(|&known| known == protocol);
    let protocol = known.unwrap_or(PROTOCOLS.len() - 1);
    let effect = match effect {
        Effect::Allow => 0,
        Effect::Ask => 1,
        Effect::Deny | Effect::Pass => 2,
    };
    protocol * EFFECTS.len() + effect
}

/// What one host that has a label used.
#[derive(Debug, Default)]
pub(crate) struct HostCounts {
    pub(crate) requests: Count,
    pub(crate) up: Count,
    pub(crate) down: Count,
}

/// The counters. Aligned to two cache lines, since processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) accepted: Counts<{ Door::ALL.len() }>,
    pub(crate) connections: Level,
    pub(crate) over_limit: Count,
    pub(crate) accept_errors: Count,
    pub(crate) handshake_errors: Count,
    pub(crate) panics: Count,
    pub(crate) decisions: Counts<DECISIONS>,
    pub(crate) unenforced: Count,
    pub(crate) refusals: Counts<CAUSES>,
    pub(crate) failures: Counts<CAUSES>,
    pub(crate) tunnels: Level,
    pub(crate) bytes_up: Count,
    pub(crate) bytes_down: Count,
    pub(crate) lookups: Counts<{ Lookup::ALL.len() }>,
    pub(crate) pool_reused: Count,
    pub(crate) pool_idle: Level,
    pub(crate) deciding: Histogram,
    pub(crate) resolving: Histogram,
    pub(crate) dialling: Histogram,
    pub(crate) establishing: Histogram,
    hosts: Box<[HostCounts]>,
    other: HostCounts,
}

impl Shard {
    /// Zeroes, with room for this many hosts.
    pub(crate) fn new(hosts: usize) -> Self {
        Self {
            accepted: Counts::new(),
            connections: Level::default(),
            over_limit: Count::default(),
            accept_errors: Count::default(),
            handshake_errors: Count::default(),
            panics: Count::default(),
            decisions: Counts::new(),
            unenforced: Count::default(),
            refusals: Counts::new(),
            failures: Counts::new(),
            tunnels: Level::default(),
            bytes_up: Count::default(),
            bytes_down: Count::default(),
            lookups: Counts::new(),
            pool_reused: Count::default(),
            pool_idle: Level::default(),
            deciding: Histogram::new(Scale::COMPUTE),
            resolving: Histogram::new(Scale::NETWORK),
            dialling: Histogram::new(Scale::NETWORK),
            establishing: Histogram::new(Scale::NETWORK),
            hosts: (0..hosts).map(|_| HostCounts::default()).collect(),
            other: HostCounts::default(),
        }
    }

    /// Counts a request to the host with this slot, or to any other.
    pub(crate) fn host(&self, slot: Option<usize>, up: u64, down: u64) {
        let counts = self.host_counts(slot);
        counts.requests.add(1);
        counts.up.add(up);
        counts.down.add(down);
    }

    /// The counters of the host with this slot, or of all others.
    pub(crate) fn host_counts(&self, slot: Option<usize>) -> &HostCounts {
        slot.and_then(|slot| self.hosts.get(slot))
            .unwrap_or(&self.other)
    }
}
