//! What tests of several modules need: a worker with a policy, and streams that are connected.

use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use moat_policy::compile::compile;
use moat_policy::host::Host;
use moat_policy::layer::{LayerInput, Origin};
use moat_policy::policy::Policy;
use moat_policy::port::Port;
use moat_policy::record::{Actor, Protocol};
use moat_policy::request::Target;
use moat_policy::source::SourceFile;
use tokio::net::{TcpListener, TcpStream};

use crate::authorize::Asked;
use crate::client::ClientStream;
use crate::config::{AuditOnFailure, AuditTo, Config, Mode, Timeouts};
use crate::metrics::{Meter, Metrics};
use crate::own::OwnListeners;
use crate::record::{Entry, Message, Recorder};
use crate::worker::{Loaded, Shared, Worker};

/// A policy that allows these entries.
pub(crate) fn policy(entries: &[&str]) -> Arc<Policy> {
    let entries: Vec<String> = entries.iter().map(|entry| format!("{entry:?}")).collect();
    let text = format!(
        "version: 1\nallow: [{{id: test, net: [{}]}}]\n",
        entries.join(", ")
    );
    policy_text(&text)
}

/// The policy that a file holds.
pub(crate) fn policy_text(text: &str) -> Arc<Policy> {
    compiled(text).unwrap()
}

/// The same, or every problem of it.
pub(crate) fn compiled(text: &str) -> Result<Arc<Policy>, String> {
    let source = SourceFile::new("test.yaml", text);
    let input = LayerInput {
        origin: Origin::User,
        source,
    };
    match compile(vec![input]) {
        Ok(compiled) => Ok(Arc::new(compiled.policy)),
        Err(problems) => Err(format!("{problems:?}")),
    }
}

/// A configuration for one worker, with generous limits.
pub(crate) fn config() -> Config {
    Config {
        listen: Vec::new(),
        admin: None,
        tls: None,
        dns: vec!["127.0.0.1:9".parse().unwrap()],
        workers: NonZeroUsize::MIN,
        max_connections: 100,
        timeouts: Timeouts {
            head: Duration::from_secs(10),
            dns: Duration::from_secs(5),
            connect: Duration::from_secs(5),
            idle: Duration::from_mins(5),
            drain: Duration::from_secs(5),
        },
        audit: AuditTo::Off,
        audit_on_failure: AuditOnFailure::Deny,
        mode: Mode::Enforce,
        recheck: false,
        metrics_hosts: 0,
    }
}

/// A worker, and the records that it makes.
pub(crate) fn worker(policy: Arc<Policy>, config: Config, own: &[&str]) -> (Rc<Worker>, Records) {
    let (recorder, records) = Recorder::bounded();
    let own = own.iter().map(|address| address.parse().unwrap());
    let own = OwnListeners::new(own.collect());
    let shared = Shared::new(config, policy, recorder, own).unwrap();
    let worker = Worker::new(Arc::new(shared), 0).unwrap();
    (Rc::new(worker), Records(records))
}

/// Puts another policy in force, as a reload does.
pub(crate) fn replace(worker: &Worker, policy: Arc<Policy>) {
    let generation = worker.policy().generation + 1;
    let loaded = Loaded { policy, generation };
    worker.shared.policy.store(Arc::new(loaded));
    if worker.config().recheck {
        worker.hold_to_policy();
    }
}

/// Writes to a socket of this machine without a turn for anybody else: the other end's kernel has
/// the bytes before its runtime can hear of them.
pub(crate) fn write_now(stream: &mut TcpStream, bytes: &[u8]) {
    assert_eq!(stream.try_write(bytes).unwrap(), bytes.len());
}

/// Counters that nobody reads.
pub(crate) fn meter() -> Rc<Meter> {
    let metrics = Arc::new(Metrics::new(1, 0));
    Rc::new(metrics.meter(0).unwrap())
}

/// What a worker has recorded.
pub(crate) struct Records(Receiver<Message>);

impl Records {
    /// All records since the last call.
    pub(crate) fn take(&self) -> Vec<Entry> {
        let messages = self.0.try_iter();
        messages
            .filter_map(|message| match message {
                Message::Entry(entry) => Some(*entry),
                Message::Wake => None,
            })
            .collect()
    }
}

/// `HOST:PORT` as a target.
pub(crate) fn target(text: &str) -> Target {
    let (host, port) = text.rsplit_once(':').unwrap();
    Target {
        host: Host::parse(host.as_bytes()).unwrap(),
        port: Port::parse(port).unwrap(),
    }
}

/// A CONNECT to this target.
pub(crate) fn asked(worker: &Worker, text: &str) -> Asked {
    Asked {
        id: worker.next_id(),
        protocol: Protocol::Connect,
        actor: Arc::new(Actor::default()),
        target: target(text),
        method: Some("CONNECT"),
        exact: None,
    }
}

/// A listener on loopback, and its address.
pub(crate) async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// A connected client: the proxy's end and its own.
#[expect(clippy::disallowed_methods, reason = "a client, not the proxy")]
pub(crate) async fn client() -> (ClientStream, TcpStream) {
    let (listener, address) = listener().await;
    let (far, near) = tokio::join!(TcpStream::connect(address), listener.accept());
    (ClientStream::Tcp(near.unwrap().0), far.unwrap())
}

/// Runs a test as a worker runs its connections.
pub(crate) fn local<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(Duration::from_secs(20), test)
            .await
            .unwrap()
    })
}
