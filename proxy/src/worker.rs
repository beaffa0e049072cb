//! One thread's share of the proxy: what every connection on that thread needs.

use std::cell::Cell;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use arc_swap::ArcSwap;
use moat_policy::policy::Policy;

use crate::config::Config;
use crate::id::EventId;
use crate::record::Recorder;
use crate::resolve::Resolver;

/// A compiled policy and its place in the order of reloads.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// What decides.
    pub(crate) policy: Arc<Policy>,
    /// 1 for the first, one more for each reload that changed it.
    pub(crate) generation: u64,
}

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) policy: ArcSwap<Loaded>,
    pub(crate) recorder: Recorder,
}

/// What the connections of one worker share. It never leaves its thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) resolver: Resolver,
    ids: Cell<u64>,
}

impl Worker {
    /// A worker; call it inside its own runtime, since its resolver lives there.
    pub(crate) fn new(shared: Arc<Shared>) -> std::io::Result<Self> {
        let resolver = Resolver::new(&shared.config.dns, shared.config.timeouts.dns)?;
        let seed = RandomState::new().hash_one("event ids");
        Ok(Self {
            shared,
            resolver,
            ids: Cell::new(seed | 1),
        })
    }

    /// The policy in force now, to be asked once per request.
    pub(crate) fn policy(&self) -> Arc<Loaded> {
        self.shared.policy.load_full()
    }

    /// What the proxy was told.
    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    /// The way to the record.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.shared.recorder
    }

    /// A new id: xorshift64* over a random seed, unpredictable enough to be unique, not a secret.
    pub(crate) fn next_id(&self) -> EventId {
        let mut x = self.ids.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.ids.set(x);
        EventId::from_bits(x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 14)
    }
}
