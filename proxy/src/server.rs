//! The only wiring: bind, run, drain.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use moat_policy::record::{Cause, Event};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::admin;
use crate::audit::{self, Audit};
use crate::config::{Config, ListenAddress, Mode};
use crate::drain::Phase;
use crate::error::{BindError, RunError};
use crate::listener::Share;
use crate::listener::bind::{self, SocketFile};
use crate::own::OwnListeners;
use crate::record::Entry;
use crate::reload::{self, Prints, Reloader};
use crate::resolve::SystemNames;
use crate::source::PolicySource;
use crate::worker::{self, Orders, Shared};

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
    /// The files of Unix listeners, removed at the end.
    sockets: Vec<SocketFile>,
    admin: Option<std::net::TcpListener>,
    audit: Audit,
    source: Arc<dyn PolicySource>,
    /// How the policy's files were before they were loaded.
    prints: Prints,
    /// Of signals, admin listener and reloads.
    runtime: Runtime,
    signals: Signals,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Loads the policy, binds every listener and opens the record. No thread runs yet. Signals
    /// are caught from here on: one that comes before [`Server::run`] is not lost.
    pub fn bind(
        config: Config,
        policy: Arc<dyn PolicySource>,
        stdout: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, BindError> {
        Self::bind_with(config, policy, stdout, Signals::of_process)
    }

    /// The same, told what to do by what this makes inside the runtime.
    fn bind_with(
        config: Config,
        policy: Arc<dyn PolicySource>,
        stdout: Option<Box<dyn Write + Send>>,
        signals: impl FnOnce() -> io::Result<Signals>,
    ) -> Result<Self, BindError> {
        let setup = |what| move |source| BindError::Setup { what, source };
        let runtime = runtime().map_err(setup("a runtime"))?;
        let signals = {
            let _inside = runtime.enter();
            signals().map_err(setup("signal handlers"))?
        };
        let prints = reload::prints(&*policy);
        let first = policy.load()?;
        let workers = config.workers.get();
        let mut shares: Vec<Vec<Share>> = (0..workers).map(|_| Vec::new()).collect();
        let (mut listeners, mut sockets) = (Vec::new(), Vec::new());
        for wanted in &config.listen {
            let (bound, ours) = bind::every(wanted, config.tls.as_ref(), workers)?;
            sockets.extend(SocketFile::of(&bound));
            listeners.push(bound);
            for (share, socket) in shares.iter_mut().zip(ours) {
                share.push(socket);
            }
        }
        let (admin, admin_address) = config.admin.map(admin::bind).transpose()?.unzip();
        let audit = audit::open(&config.audit, stdout)?;
        let own = listeners.iter().filter_map(ListenAddress::ip);
        let own = OwnListeners::new(own.chain(admin_address).collect());
        let recorder = audit.recorder().clone();
        let shared = Shared::new(config, first, recorder, own);
        let shared = shared.map_err(setup("this host's addresses and name servers"))?;
        Ok(Self {
            shared: Arc::new(shared),
            bound: Bound {
                listeners,
                admin: admin_address,
            },
            shares,
            sockets,
            admin,
            audit,
            source: policy,
            prints,
            runtime,
            signals,
        })
    }

    /// What was bound.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Runs until a signal ends it.
    pub fn run(self) -> Result<(), RunError> {
        let runtime = self.runtime;
        let shared = self.shared;
        let audit = self.audit.start()?;
        note(&shared, Event::Start);
        let (phase, phases) = watch::channel(Phase::Running);
        let (recheck, rechecks) = watch::channel(1);
        let (gone, ended) = mpsc::channel(1);
        let orders = Orders {
            phase: phases,
            recheck: rechecks,
            ends: gone.clone(),
        };
        let mut threads = Vec::new();
        for (index, shares) in self.shares.into_iter().enumerate() {
            let (shared, orders) = (Arc::clone(&shared), orders.clone());
            let work = move || work(shared, index, shares, orders);
            threads.push(spawn(index, gone.clone(), work)?);
        }
        drop((gone, orders));
        let Signals { hangups, ends } = self.signals;
        let reloader = Reloader::new(Arc::clone(&shared), self.source, self.prints, recheck);
        let told = runtime.block_on(async {
            let admin = async {
                match self.admin {
                    None => std::future::pending().await,
                    Some(listener) => admin::run(listener, Arc::clone(&shared)).await,
                }
            };
            tokio::select! {
                ended = until_told(&phase, &shared, ends, ended) => ended,
                never = admin => match never? {},
                never = reloader.run(hangups) => match never {},
                () = shared.interfaces.follow() => Ok(()),
                never = follow(shared.names.as_deref()) => match never {},
            }
        });
        // However it ended: workers end when nobody can tell them more, and the record is whole.
        drop(phase);
        let ended = threads.into_iter().map(join).fold(told, Result::and);
        note(&shared, Event::Stop);
        audit.close();
        for socket in self.sockets {
            socket.remove();
        }
        ended
    }
}

/// Says that a worker has ended, however it did.
struct Ends(mpsc::Sender<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        // A message that is there already says the same.
        let _ = self.0.try_send(());
    }
}

/// What a proxy is told from outside.
struct Signals {
    /// To reload.
    hangups: mpsc::Receiver<()>,
    /// To end: once to drain, once more to cut.
    ends: mpsc::Receiver<()>,
}

impl Signals {
    /// Those of the process. Must be called inside the runtime.
    fn of_process() -> io::Result<Self> {
        let (hangup, hangups) = mpsc::channel(1);
        let (end, ends) = mpsc::channel(2);
        pass_on(signal(SignalKind::hangup())?, hangup);
        pass_on(signal(SignalKind::terminate())?, end.clone());
        pass_on(signal(SignalKind::interrupt())?, end);
        Ok(Self { hangups, ends })
    }
}

/// Passes signals on for as long as the runtime lives. One that finds no room changes nothing:
/// as much has been said already.
fn pass_on(mut signal: Signal, to: mpsc::Sender<()>) {
    tokio::spawn(async move {
        while signal.recv().await.is_some() {
            let _ = to.try_send(());
        }
    });
}

fn failed(what: &'static str, source: io::Error) -> RunError {
    RunError::Start { what, source }
}

/// Records that the proxy itself starts or stops.
fn note(shared: &Shared, event: Event) {
    let policy = Arc::clone(shared.policy.load().policy.digest());
    let mut entry = Entry::of_proxy(event, Cause::Done, Some(policy));
    entry.enforced = shared.config.mode == Mode::Enforce;
    entry.reason = Some(concat!("moat ", env!("CARGO_PKG_VERSION")).into());
    let _ = shared.recorder.push(entry); // The recorder counts what is lost.
}

type Thread = JoinHandle<Result<(), RunError>>;

/// Starts the thread of a worker, which says so when it ends, however it does.
fn spawn(
    index: usize,
    gone: mpsc::Sender<()>,
    work: impl FnOnce() -> Result<(), RunError> + Send + 'static,
) -> Result<Thread, RunError> {
    let ends = Ends(gone);
    std::thread::Builder::new()
        .name(format!("moat-{index}"))
        .spawn(move || {
            let _ends = ends;
            work()
        })
        .map_err(|source| failed("a worker thread", source))
}

/// Waits for a worker: one that panicked has failed too.
fn join(thread: Thread) -> Result<(), RunError> {
    let joined = thread.join().map_err(|_| RunError::WorkerEnded);
    joined.and_then(std::convert::identity)
}

/// What one worker thread does.
fn work(
    shared: Arc<Shared>,
    index: usize,
    shares: Vec<Share>,
    orders: Orders,
) -> Result<(), RunError> {
    let runtime = runtime().map_err(|source| failed("a runtime", source))?;
    let local = tokio::task::LocalSet::new();
    local
        .block_on(&runtime, worker::run(shared, index, shares, orders))
        .map_err(|source| RunError::WorkerFailed { source })
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Drains on the first signal, cuts on the second or when the drain's time is over, and comes
/// back once every worker has ended.
async fn until_told(
    phase: &watch::Sender<Phase>,
    shared: &Shared,
    mut ends: mpsc::Receiver<()>,
    mut ended: mpsc::Receiver<()>,
) -> Result<(), RunError> {
    tokio::select! {
        _ = ends.recv() => {}
        // One that ends by itself takes the others with it: the proxy must not limp on.
        _ = ended.recv() => tracing::error!("a worker ended unexpectedly"),
    }
    shared.stage.drains();
    phase.send_replace(Phase::Draining);
    let limit: Duration = shared.config.timeouts.drain;
    tracing::info!(open = shared.connections.open(), "draining");
    tokio::select! {
        () = all(&mut ended) => {}
        _ = ends.recv() => {}
        () = tokio::time::sleep(limit) => {}
    }
    phase.send_replace(Phase::Cut);
    all(&mut ended).await;
    Ok(())
}

/// Keeps what the system says about names current, where it is asked.
async fn follow(names: Option<&SystemNames>) -> Infallible {
    match names {
        Some(names) => names.follow().await,
        None => std::future::pending().await,
    }
}

/// Resolves when every worker has ended.
async fn all(ended: &mut mpsc::Receiver<()>) {
    while ended.recv().await.is_some() {}
}

#[cfg(test)]
mod tests;
