//! The only wiring: bind, run, drain.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use moat_policy::record::{Cause, Event};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::audit::{self, Audit};
use crate::config::{Config, ListenAddress, Mode};
use crate::drain::Phase;
use crate::error::{BindError, RunError};
use crate::interfaces::Interfaces;
use crate::limit::{Connections, Quiet};
use crate::listener::{self, Share};
use crate::metrics::Metrics;
use crate::own::OwnListeners;
use crate::record::Entry;
use crate::source::PolicySource;
use crate::worker::{self, Loaded, Shared};

/// What was bound, with the real ports.
#[derive(Clone, Debug)]
pub struct Bound {
    /// In the order of the configuration.
    pub listeners: Vec<ListenAddress>,
    /// The admin listener.
    pub admin: Option<SocketAddr>,
}

/// A proxy that is bound and not yet running.
pub struct Server {
    shared: Arc<Shared>,
    bound: Bound,
    /// For each worker its share of every listener.
    shares: Vec<Vec<Share>>,
    audit: Audit,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Loads the policy, opens the record and binds every listener. No thread runs yet.
    pub fn bind(
        config: Config,
        policy: Arc<dyn PolicySource>,
        stdout: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, BindError> {
        let first = Loaded {
            policy: policy.load()?,
            generation: 1,
        };
        let workers = config.workers.get();
        let mut shares: Vec<Vec<Share>> = (0..workers).map(|_| Vec::new()).collect();
        let mut listeners = Vec::new();
        for wanted in &config.listen {
            let (bound, sockets) = listener::bind::every(wanted, config.tls.as_ref(), workers)?;
            listeners.push(bound);
            for (share, socket) in shares.iter_mut().zip(sockets) {
                share.push(socket);
            }
        }
        let audit = audit::open(&config.audit, stdout)?;
        let own = listeners.iter().filter_map(ListenAddress::ip).collect();
        let interfaces = Interfaces::new().map_err(|source| BindError::Setup {
            what: "the list of this host's addresses",
            source,
        })?;
        let shared = Arc::new(Shared {
            interfaces,
            policy: ArcSwap::from_pointee(first),
            recorder: audit.recorder().clone(),
            metrics: Arc::new(Metrics::new(workers, config.metrics_hosts)),
            connections: Arc::new(Connections::new(config.max_connections)),
            own: OwnListeners::new(own),
            accept_log: Quiet::default(),
            config,
        });
        Ok(Self {
            shared,
            bound: Bound {
                listeners,
                admin: None,
            },
            shares,
            audit,
        })
    }

    /// What was bound.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Runs until a signal ends it.
    pub fn run(self) -> Result<(), RunError> {
        let runtime = runtime()?;
        let audit = self.audit.start()?;
        note(&self.shared, Event::Start);
        let (phase, phases) = watch::channel(Phase::Running);
        // Each worker holds a sender: they are all gone when the last worker is.
        let (ended, workers) = mpsc::channel::<()>(1);
        let mut threads = Vec::new();
        for (index, shares) in self.shares.into_iter().enumerate() {
            let (shared, phases) = (Arc::clone(&self.shared), phases.clone());
            let ended = ended.clone();
            let thread = std::thread::Builder::new()
                .name(format!("moat-{index}"))
                .spawn(move || {
                    let _ended = ended;
                    work(shared, index, shares, phases)
                })
                .map_err(|source| RunError::Start {
                    what: "a worker thread",
                    source,
                })?;
            threads.push(thread);
        }
        drop(ended);
        let limit = self.shared.config.timeouts.drain;
        runtime.block_on(until_told(&phase, workers, limit))?;
        for thread in threads {
            thread.join().map_err(|_| RunError::WorkerEnded)??;
        }
        note(&self.shared, Event::Stop);
        audit.close();
        Ok(())
    }
}

/// Records that the proxy itself starts or stops.
fn note(shared: &Shared, event: Event) {
    let policy = Arc::clone(shared.policy.load().policy.digest());
    let mut entry = Entry::of_proxy(event, Cause::Done, Some(policy));
    entry.enforced = shared.config.mode == Mode::Enforce;
    entry.reason = Some(concat!("moat ", env!("CARGO_PKG_VERSION")).into());
    let _ = shared.recorder.push(entry); // The recorder counts what is lost.
}

/// One worker thread.
fn work(
    shared: Arc<Shared>,
    index: usize,
    shares: Vec<Share>,
    phases: watch::Receiver<Phase>,
) -> Result<(), RunError> {
    let runtime = runtime()?;
    let local = tokio::task::LocalSet::new();
    local
        .block_on(&runtime, worker::run(shared, index, shares, phases))
        .map_err(|source| RunError::Start {
            what: "a worker",
            source,
        })
}

fn runtime() -> Result<tokio::runtime::Runtime, RunError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| RunError::Start {
            what: "a runtime",
            source,
        })
}

/// Drains on the first signal, cuts on the second or when the drain's time is over.
async fn until_told(
    phase: &watch::Sender<Phase>,
    mut workers: mpsc::Receiver<()>,
    limit: Duration,
) -> Result<(), RunError> {
    let failed = |source| RunError::Start {
        what: "a signal handler",
        source,
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = workers.recv() => {}
    }
    phase.send_replace(Phase::Draining);
    tokio::select! {
        _ = workers.recv() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = tokio::time::sleep(limit) => {}
    }
    phase.send_replace(Phase::Cut);
    Ok(())
}
