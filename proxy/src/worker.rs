//! One thread's share of the proxy: what every connection on that thread needs, and the loop
//! that the thread runs.

use std::cell::Cell;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use moat_policy::policy::Policy;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;

use crate::authorize;
use crate::config::Config;
use crate::drain::{Drain, Phase, Stage};
use crate::id::EventId;
use crate::interfaces::Interfaces;
use crate::limit::{Connections, Quiet};
use crate::listener::{self, Handover, Share, handover};
use crate::metrics::{Meter, Metrics};
use crate::own::OwnListeners;
use crate::pool::Pool;
use crate::record::Recorder;
use crate::reload::Reloads;
use crate::resolve::{Resolver, SystemNames};
use crate::tunnel::Tunnels;

/// What connections that were cut may take to write their last words.
const LAST_WORDS: Duration = Duration::from_secs(1);

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
    /// What the proxy was told.
    pub(crate) config: Config,
    /// The policy in force.
    pub(crate) policy: ArcSwap<Loaded>,
    /// The way to the record.
    pub(crate) recorder: Recorder,
    /// The addresses of this host.
    pub(crate) interfaces: Interfaces,
    /// What the system says about names, where no name servers were given.
    pub(crate) names: Option<Arc<SystemNames>>,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// Places for clients.
    pub(crate) connections: Arc<Connections>,
    /// The ways of clients from worker to worker.
    pub(crate) handover: Handover,
    /// Where the proxy itself listens, which nobody may reach through it.
    pub(crate) own: OwnListeners,
    /// What became of reloads.
    pub(crate) reloads: Reloads,
    /// Whether the proxy serves.
    pub(crate) stage: Stage,
    /// When it started.
    pub(crate) started: SystemTime,
    /// Keeps a flood of accept errors out of the log.
    pub(crate) accept_log: Quiet,
}

impl Shared {
    /// The state of a proxy that starts now, with its first policy.
    pub(crate) fn new(
        config: Config,
        policy: Arc<Policy>,
        recorder: Recorder,
        own: OwnListeners,
    ) -> io::Result<Self> {
        let workers = config.workers.get();
        let names = config.dns.is_empty().then(SystemNames::new).transpose()?;
        Ok(Self {
            policy: ArcSwap::from_pointee(Loaded {
                policy,
                generation: 1,
            }),
            recorder,
            interfaces: Interfaces::new()?,
            names: names.map(Arc::new),
            metrics: Arc::new(Metrics::new(workers, config.metrics_hosts)),
            connections: Arc::new(Connections::new(config.max_connections, workers)),
            handover: Handover::new(workers),
            own,
            reloads: Reloads::new(),
            stage: Stage::new(workers),
            started: SystemTime::now(),
            accept_log: Quiet::default(),
            config,
        })
    }
}

/// What the connections of one worker share. It never leaves its thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) resolver: Resolver,
    pub(crate) tunnels: Tunnels,
    pub(crate) pool: Pool,
    rechecks: Notify,
    meter: Rc<Meter>,
    drain: Rc<Drain>,
    index: usize,
    ids: Cell<u64>,
}

impl Worker {
    /// The worker with this number; call it inside its own runtime, since its resolver lives
    /// there.
    pub(crate) fn new(shared: Arc<Shared>, index: usize) -> io::Result<Self> {
        let meter = shared.metrics.meter(index);
        let meter = meter.ok_or_else(|| io::Error::other("more workers than were planned"))?;
        let meter = Rc::new(meter);
        let limit = shared.config.timeouts.dns;
        let (servers, system) = (&shared.config.dns, shared.names.clone());
        let resolver = Resolver::new(servers, system, limit, Rc::clone(&meter))?;
        let seed = RandomState::new().hash_one("event ids");
        Ok(Self {
            shared,
            resolver,
            tunnels: Tunnels::default(),
            pool: Pool::new(Rc::clone(&meter)),
            rechecks: Notify::new(),
            meter,
            drain: Rc::default(),
            index,
            ids: Cell::new(seed | 1),
        })
    }

    /// The policy in force now, to be asked once per request.
    pub(crate) fn policy(&self) -> Arc<Loaded> {
        self.shared.policy.load_full()
    }

    /// Its number.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// What the proxy was told.
    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    /// The way to the record.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.shared.recorder
    }

    /// This worker's counters.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Whether the proxy is coming to its end.
    pub(crate) fn drain(&self) -> &Rc<Drain> {
        &self.drain
    }

    /// Resolves when what is open is to be held to a new policy, counted from this call. Tunnels are
    /// looked at by themselves; this is for what is no tunnel.
    pub(crate) fn rechecked(&self) -> Notified<'_> {
        self.rechecks.notified()
    }

    /// Cuts the open tunnels that the policy now refuses, and has open exchanges look for themselves.
    pub(crate) fn hold_to_policy(&self) {
        self.rechecks.notify_waiters();
        let cut = self
            .tunnels
            .cut_unless(|ticket| authorize::recheck(self, ticket).is_ok());
        if cut > 0 {
            tracing::info!(cut, "ended tunnels that the new policy refuses");
        }
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

/// What a worker is told from outside its thread.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    /// How far the end has come.
    pub(crate) phase: watch::Receiver<Phase>,
    /// The generation whose policy open tunnels are to be held to.
    pub(crate) recheck: watch::Receiver<u64>,
    /// Where a worker says that it comes to its end without having been told to.
    pub(crate) ends: mpsc::Sender<()>,
}

/// Runs a worker from its first client to its last.
pub(crate) async fn run(
    shared: Arc<Shared>,
    index: usize,
    shares: Vec<Share>,
    orders: Orders,
) -> io::Result<()> {
    let worker = Rc::new(Worker::new(shared, index)?);
    let mut acceptors = JoinSet::new();
    for share in shares {
        let listener = share.activate()?;
        acceptors.spawn_local(listener::run(Rc::clone(&worker), listener));
    }
    acceptors.spawn_local(handover::run(Rc::clone(&worker)));
    worker.shared.stage.accepts();
    let Orders {
        phase: mut phases,
        mut recheck,
        ends,
    } = orders;
    let mut ended = Ok(());
    loop {
        tokio::select! {
            phase = phases.wait_for(|phase| *phase > Phase::Running) => {
                drop(phase);
                break;
            }
            Ok(()) = recheck.changed() => worker.hold_to_policy(),
            // A worker that no longer accepts would leave its share of the clients waiting, so it
            // comes to its end in the ordinary way, and takes the others with it.
            Some(stopped) = acceptors.join_next() => {
                ended = Err(stopped.map_or_else(io::Error::other, why));
                // A message that is there already says the same.
                let _ = ends.try_send(());
                break;
            }
        }
    }
    worker.drain.begin();
    while acceptors.join_next().await.is_some() {}
    tokio::select! {
        () = worker.drain.empty() => return ended,
        phase = phases.wait_for(|phase| *phase == Phase::Cut) => drop(phase),
    }
    worker.drain.finish();
    worker.tunnels.cut_unless(|_| false);
    // What is still there then is dropped with the runtime.
    drop(tokio::time::timeout(LAST_WORDS, worker.drain.empty()).await);
    ended
}

/// Why a listener stopped before the drain.
fn why(stopped: io::Result<()>) -> io::Error {
    let error = stopped.err();
    error.unwrap_or_else(|| io::Error::other("a listener stopped"))
}
