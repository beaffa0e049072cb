//! What the proxy counts. Each worker writes a shard of its own, without locks and without
//! sharing a cache line; a scrape sums the shards.
//!
//! Names and help texts are in [`names`]. Nothing here depends on what a client sends, except
//! the host labels of [`hosts`], which are few and come from rules.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use moat_policy::record::{Cause, Protocol};
use moat_policy::verdict::Effect;

mod family;
pub(crate) mod gather;
mod histogram;
mod hosts;
pub(crate) mod names;
mod shard;

use hosts::{HostCache, HostNames};
use shard::Shard;

/// All shards, for the scrape.
#[derive(Debug)]
pub(crate) struct Metrics {
    shards: Box<[Shard]>,
    hosts: HostNames,
}

/// One worker's hand on its shard. It cannot leave its thread: a shard has one writer.
#[derive(Debug)]
pub(crate) struct Meter {
    metrics: Arc<Metrics>,
    index: usize,
    hosts: HostCache,
    one_thread: PhantomData<*const ()>,
}

/// By what kind of listener a client came in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Door {
    /// Plain TCP.
    Tcp,
    /// TLS.
    Tls,
    /// A Unix socket.
    Unix,
}

impl Door {
    pub(crate) const ALL: [Self; 3] = [Self::Tcp, Self::Tls, Self::Unix];

    /// The word used as a label.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Unix => "unix",
        }
    }
}

/// Where an answer for a name came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lookup {
    /// The worker's cache.
    Hit,
    /// A query that ran already for another request.
    Joined,
    /// A query of its own.
    Miss,
}

impl Lookup {
    pub(crate) const ALL: [Self; 3] = [Self::Hit, Self::Joined, Self::Miss];

    /// The word used as a label.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Joined => "joined",
            Self::Miss => "miss",
        }
    }
}

impl Metrics {
    /// Zeroes, for this many workers and host labels.
    pub(crate) fn new(workers: usize, hosts: usize) -> Self {
        let hosts = HostNames::new(hosts);
        Self {
            shards: (0..workers).map(|_| Shard::new(hosts.limit())).collect(),
            hosts,
        }
    }

    /// The hand of the worker with this number; `None` beyond the last.
    pub(crate) fn meter(self: &Arc<Self>, index: usize) -> Option<Meter> {
        (index < self.shards.len()).then(|| Meter {
            metrics: Arc::clone(self),
            index,
            hosts: HostCache::default(),
            one_thread: PhantomData,
        })
    }
}

impl Meter {
    fn with(&self, count: impl FnOnce(&Shard)) {
        if let Some(shard) = self.metrics.shards.get(self.index) {
            count(shard);
        }
    }

    /// A client was accepted.
    pub(crate) fn opened(&self, door: Door) {
        self.with(|shard| {
            shard.accepted.add(door as usize, 1);
            shard.connections.up();
        });
    }

    /// A client is gone.
    pub(crate) fn closed(&self) {
        self.with(|shard| shard.connections.down());
    }

    /// A client came while every place was taken.
    pub(crate) fn over_limit(&self) {
        self.with(|shard| shard.over_limit.add(1));
    }

    /// `accept` failed.
    pub(crate) fn accept_error(&self) {
        self.with(|shard| shard.accept_errors.add(1));
    }

    /// A TLS handshake with a client failed.
    pub(crate) fn handshake_error(&self) {
        self.with(|shard| shard.handshake_errors.add(1));
    }

    /// A connection's task panicked.
    pub(crate) fn panicked(&self) {
        self.with(|shard| shard.panics.add(1));
    }

    /// A request was judged: how it came in, what policy said, and whether that was enforced.
    pub(crate) fn decision(&self, protocol: Protocol, effect: Effect, enforced: bool) {
        self.with(|shard| {
            shard.decisions.add(shard::decision(protocol, effect), 1);
            if !enforced {
                shard.unenforced.add(1);
            }
        });
    }

    /// The policy took this long to answer.
    pub(crate) fn decided(&self, took: Duration) {
        self.with(|shard| shard.deciding.observe(took));
    }

    /// A request was refused, by policy or because it could not be understood or served.
    pub(crate) fn refused(&self, cause: Cause) {
        self.with(|shard| shard.refusals.add(cause as usize, 1));
    }

    /// An allowed request failed on the way to its upstream or back.
    pub(crate) fn failed(&self, cause: Cause) {
        self.with(|shard| shard.failures.add(cause as usize, 1));
    }

    /// A tunnel is open until what this gives is dropped.
    pub(crate) fn tunnel(&self) -> OpenTunnel<'_> {
        self.with(|shard| shard.tunnels.up());
        OpenTunnel(self)
    }

    /// Bytes went through.
    pub(crate) fn moved(&self, up: u64, down: u64) {
        self.with(|shard| {
            shard.bytes_up.add(up);
            shard.bytes_down.add(down);
        });
    }

    /// A name was looked up for a permitted request.
    pub(crate) fn looked_up(&self, lookup: Lookup) {
        self.with(|shard| shard.lookups.add(lookup as usize, 1));
    }

    /// A query took this long, answered or not.
    pub(crate) fn resolved(&self, took: Duration) {
        self.with(|shard| shard.resolving.observe(took));
    }

    /// A dial took this long, over all addresses, connected or not.
    pub(crate) fn dialled(&self, took: Duration) {
        self.with(|shard| shard.dialling.observe(took));
    }

    /// From the complete head to the answer that a tunnel is open, or to the upstream's answer.
    pub(crate) fn established(&self, took: Duration) {
        self.with(|shard| shard.establishing.observe(took));
    }

    /// A forwarded request used a connection that was open already.
    pub(crate) fn pool_reused(&self) {
        self.with(|shard| shard.pool_reused.add(1));
    }

    /// An allowed request to this host ended. `by_rule` is the host where a rule allowed it,
    /// which is what may become a label.
    pub(crate) fn host(&self, by_rule: Option<&str>, up: u64, down: u64) {
        if self.metrics.hosts.limit() == 0 {
            return;
        }
        let slot = by_rule.and_then(|host| self.hosts.slot(&self.metrics.hosts, host));
        self.with(|shard| shard.host(slot, up, down));
    }
}

/// A tunnel that is counted as open.
#[derive(Debug)]
pub(crate) struct OpenTunnel<'m>(&'m Meter);

impl Drop for OpenTunnel<'_> {
    fn drop(&mut self) {
        self.0.with(|shard| shard.tunnels.down());
    }
}

/// A connection of the pool that is counted as waiting.
#[derive(Debug)]
pub(crate) struct IdleUpstream(Rc<Meter>);

impl IdleUpstream {
    /// Counts one until it is dropped.
    pub(crate) fn new(meter: &Rc<Meter>) -> Self {
        meter.with(|shard| shard.pool_idle.up());
        Self(Rc::clone(meter))
    }
}

impl Drop for IdleUpstream {
    fn drop(&mut self) {
        self.0.with(|shard| shard.pool_idle.down());
    }
}

#[cfg(test)]
mod tests;
