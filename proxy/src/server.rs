//! The only wiring: bind, run, drain.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;

use arc_swap::ArcSwap;
use moat_policy::record::Actor;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::config::{Config, ListenAddress};
use crate::error::{BindError, RunError};
use crate::record::Recorder;
use crate::source::PolicySource;
use crate::stream::ClientStream;
use crate::worker::{Loaded, Shared, Worker};
use crate::{connection, listener};

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
    shares: Vec<Vec<TcpListener>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

/// How far the end has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Running,
    Draining,
    Cut,
}

impl Server {
    /// Loads the policy, opens the record and binds every listener. No thread runs yet.
    pub fn bind(
        config: Config,
        policy: Arc<dyn PolicySource>,
        stdout: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, BindError> {
        drop(stdout);
        let first = Loaded {
            policy: policy.load()?,
            generation: 1,
        };
        let workers = config.workers.get();
        let mut shares: Vec<Vec<TcpListener>> = (0..workers).map(|_| Vec::new()).collect();
        let mut listeners = Vec::new();
        for wanted in &config.listen {
            let failed = |source| BindError::Listen {
                address: wanted.clone(),
                source,
            };
            let ListenAddress::Tcp(address) = wanted else {
                return Err(failed(std::io::ErrorKind::Unsupported.into()));
            };
            let sockets = listener::bind(*address, workers).map_err(failed)?;
            if let Some(socket) = sockets.first() {
                listeners.push(ListenAddress::Tcp(socket.local_addr().map_err(failed)?));
            }
            for (share, socket) in shares.iter_mut().zip(sockets) {
                share.push(socket);
            }
        }
        let shared = Arc::new(Shared {
            config,
            policy: ArcSwap::from_pointee(first),
            recorder: Recorder::off(),
        });
        Ok(Self {
            shared,
            bound: Bound {
                listeners,
                admin: None,
            },
            shares,
        })
    }

    /// What was bound.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Runs until a signal ends it.
    pub fn run(self) -> Result<(), RunError> {
        let runtime = runtime()?;
        let (phase, phases) = watch::channel(Phase::Running);
        let mut threads = Vec::new();
        for (index, share) in self.shares.into_iter().enumerate() {
            let (shared, phases) = (Arc::clone(&self.shared), phases.clone());
            let thread = std::thread::Builder::new()
                .name(format!("moat-{index}"))
                .spawn(move || work(&shared, share, phases))
                .map_err(|source| RunError::Start {
                    what: "a worker thread",
                    source,
                })?;
            threads.push(thread);
        }
        drop(phases);
        let limit = self.shared.config.timeouts.drain;
        runtime.block_on(until_told(phase, limit))?;
        for thread in threads {
            thread.join().map_err(|_| RunError::WorkerEnded)??;
        }
        Ok(())
    }
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
    phase: watch::Sender<Phase>,
    limit: std::time::Duration,
) -> Result<(), RunError> {
    let failed = |source| RunError::Start {
        what: "a signal handler",
        source,
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    phase.send_replace(Phase::Draining);
    tokio::select! {
        () = phase.closed() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = tokio::time::sleep(limit) => {}
    }
    phase.send_replace(Phase::Cut);
    Ok(())
}

/// One worker thread, from its runtime to its last connection.
fn work(
    shared: &Arc<Shared>,
    share: Vec<TcpListener>,
    mut phases: watch::Receiver<Phase>,
) -> Result<(), RunError> {
    let runtime = runtime()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async move {
        let failed = |source| RunError::Start {
            what: "a worker",
            source,
        };
        let worker = Rc::new(Worker::new(Arc::clone(shared)).map_err(failed)?);
        let mut connections = tokio::task::JoinSet::new();
        let (accepted, mut incoming) = tokio::sync::mpsc::channel(64);
        let mut acceptors = tokio::task::JoinSet::new();
        for socket in share {
            let listener = tokio::net::TcpListener::from_std(socket).map_err(failed)?;
            let accepted = accepted.clone();
            acceptors.spawn_local(async move {
                while let Ok((stream, peer)) = listener.accept().await {
                    if accepted.send((stream, peer)).await.is_err() {
                        break;
                    }
                }
            });
        }
        loop {
            tokio::select! {
                _ = phases.wait_for(|phase| *phase != Phase::Running) => break,
                Some((stream, _peer)) = incoming.recv() => {
                    drop(stream.set_nodelay(true));
                    let worker = Rc::clone(&worker);
                    connections.spawn_local(async move {
                        let actor = Arc::new(Actor::default());
                        connection::serve(&worker, ClientStream::Tcp(stream), actor).await;
                    });
                }
                Some(_) = connections.join_next() => {}
            }
        }
        acceptors.shutdown().await;
        loop {
            tokio::select! {
                _ = phases.wait_for(|phase| *phase == Phase::Cut) => break,
                next = connections.join_next() => if next.is_none() { break },
            }
        }
        connections.shutdown().await;
        Ok(())
    })
}
