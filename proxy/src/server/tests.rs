use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use moat_policy::policy::Policy;
use moat_policy::record::{Cause, EndedBy, Event, Record};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

use super::{Bound, Server, Signals, join, runtime, spawn, until_told};
use crate::config::{AuditOnFailure, AuditTo, Config, ListenAddress, ServerTls};
use crate::drain::Phase;
use crate::error::RunError;
use crate::listener::Share;
use crate::source::{LoadError, PolicySource};
use crate::testing;

const POLICY: &str = "version: 1\nallow: [{id: test, net: [a.test]}]\n";
/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A policy file.
struct Source(PathBuf);

impl PolicySource for Source {
    fn load(&self) -> Result<Arc<Policy>, LoadError> {
        let text = fs::read_to_string(&self.0).map_err(|error| LoadError(error.to_string()))?;
        testing::compiled(&text).map_err(LoadError)
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.0.clone()]
    }
}

/// A running proxy.
struct Proxy {
    bound: Bound,
    hangup: mpsc::Sender<()>,
    end: mpsc::Sender<()>,
    thread: JoinHandle<Result<(), RunError>>,
    folder: TempDir,
}

impl Proxy {
    fn start(adjust: impl FnOnce(&mut Config, &Path)) -> Self {
        Self::start_with(adjust, |_| {})
    }

    /// The same, with a look at the server before it runs.
    fn start_with(adjust: impl FnOnce(&mut Config, &Path), look: impl FnOnce(&mut Server)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy.yaml");
        fs::write(&policy, POLICY).unwrap();
        let mut config = testing::config();
        config.listen = vec![ListenAddress::Tcp("127.0.0.1:0".parse().unwrap())];
        config.admin = Some("127.0.0.1:0".parse().unwrap());
        config.audit = AuditTo::File(folder.path().join("audit.jsonl"));
        adjust(&mut config, folder.path());
        let (hangup, hangups) = mpsc::channel(1);
        let (end, ends) = mpsc::channel(2);
        let signals = || Ok(Signals { hangups, ends });
        let source = Arc::new(Source(policy));
        let mut server = Server::bind_with(config, source, None, signals).unwrap();
        look(&mut server);
        let bound = server.bound().clone();
        let thread = std::thread::spawn(move || server.run());
        let proxy = Self {
            bound,
            hangup,
            end,
            thread,
            folder,
        };
        proxy.wait_for("/readyz", "200 OK");
        proxy
    }

    fn address(&self) -> SocketAddr {
        self.bound.listeners[0].ip().unwrap()
    }

    /// What the admin listener answers.
    fn ask(&self, request: &str) -> String {
        let mut stream = connect(self.bound.admin.unwrap());
        write!(stream, "{request} HTTP/1.1\r\nHost: admin\r\n\r\n").unwrap();
        read_to_end(stream)
    }

    /// Asks until the answer holds this.
    fn wait_for(&self, path: &str, wanted: &str) -> String {
        let start = Instant::now();
        loop {
            let answer = self.ask(&format!("GET {path}"));
            if answer.contains(wanted) {
                return answer;
            }
            assert!(start.elapsed() < PATIENCE, "no `{wanted}` in\n{answer}");
        }
    }

    fn write_policy(&self, text: &str) {
        let new = self.folder.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.folder.path().join("policy.yaml")).unwrap();
    }

    /// Ends it, and gives back its record.
    fn stop(self) -> Vec<Record> {
        self.end.try_send(()).unwrap();
        self.thread.join().unwrap().unwrap();
        let text = fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "a client, not the proxy")]
fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn read_to_end(mut stream: impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    // A reset ends it as well as a close.
    drop(stream.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a CONNECT to a name that no policy allows is answered with.
fn refusal(mut stream: impl std::io::Read + std::io::Write) -> String {
    stream
        .write_all(b"CONNECT refused.test:443 HTTP/1.1\r\nHost: refused.test:443\r\n\r\n")
        .unwrap();
    read_to_end(stream)
}

#[test]
fn the_admin_listener_is_for_reading_only() {
    let proxy = Proxy::start(|_, _| {});
    assert!(proxy.ask("GET /livez").ends_with("\r\n\r\nalive\n"));
    assert!(proxy.ask("GET /metrics").contains("\nmoat_workers 1\n"));
    let head = proxy.ask("HEAD /metrics");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"));
    let posted = proxy.ask("POST /metrics");
    assert!(posted.starts_with("HTTP/1.1 405 ") && posted.contains("allow: GET, HEAD"));
    assert!(proxy.ask("GET /").starts_with("HTTP/1.1 404 "));
    proxy.stop();
}

#[test]
fn readiness_says_how_the_proxy_is() {
    let proxy = Proxy::start(|_, _| {});
    let answer = proxy.ask("GET /readyz HTTP/1.1\r\nAccept: application/json\r\nX:");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let health: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(health["ready"], true);
    assert_eq!(health["phase"], "running");
    assert_eq!(health["mode"], "enforce");
    assert_eq!(health["policy"]["generation"], 1);
    assert_eq!(health["audit"]["to"], "file");
    assert_eq!(health["connections"]["limit"], 100);
    proxy.stop();
}

#[test]
fn the_record_begins_with_a_start_and_ends_with_a_stop() {
    let proxy = Proxy::start(|_, _| {});
    let answer = refusal(connect(proxy.address()));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let records = proxy.stop();
    let events: Vec<Event> = records.iter().map(|record| record.event).collect();
    assert_eq!(events, [Event::Start, Event::Decision, Event::Stop]);
    let numbers: Vec<u64> = records.iter().map(|record| record.seq).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(records[1].host.as_deref(), Some("refused.test"));
    assert!(records[1].actor.as_ref().unwrap().client.is_some());
}

#[test]
fn a_changed_policy_file_is_in_force_by_itself() {
    let proxy = Proxy::start(|_, _| {});
    proxy.write_policy("version: 1\nallow: [{id: test, net: [b.test]}]\n");
    proxy.wait_for("/metrics", "\nmoat_policy_generation 2\n");
    let records = proxy.stop();
    assert!(records.iter().any(|record| record.event == Event::Reload));
}

#[test]
fn a_policy_that_does_not_load_changes_nothing_and_is_told() {
    let proxy = Proxy::start(|_, _| {});
    for (count, broken) in [(1, "allow: [a.test\n"), (2, "")] {
        proxy.write_policy(broken);
        let wanted = format!("\nmoat_policy_reload_failures_total {count}\n");
        proxy.wait_for("/metrics", &wanted);
    }
    fs::remove_file(proxy.folder.path().join("policy.yaml")).unwrap();
    proxy.wait_for("/metrics", "\nmoat_policy_reload_failures_total 3\n");
    let answer = proxy.wait_for("/readyz", "the last reload failed");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("generation 1,"));
    proxy.write_policy(POLICY);
    let start = Instant::now();
    while proxy.ask("GET /readyz").contains("the last reload failed") {
        assert!(start.elapsed() < PATIENCE);
    }
    assert!(proxy.ask("GET /readyz").contains("generation 1,"));
    proxy.stop();
}

#[test]
fn a_hang_up_reloads_at_once() {
    let proxy = Proxy::start(|_, _| {});
    fs::remove_file(proxy.folder.path().join("policy.yaml")).unwrap();
    proxy.hangup.try_send(()).unwrap();
    proxy.wait_for("/metrics", "\nmoat_policy_reload_failures_total 1\n");
    proxy.stop();
}

#[test]
fn clients_beyond_the_limit_are_told_to_come_back() {
    let proxy = Proxy::start(|config, _| config.max_connections = 1);
    let first = connect(proxy.address());
    proxy.wait_for("/metrics", "\nmoat_connections_active 1\n");
    let answer = refusal(connect(proxy.address()));
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("\r\nRetry-After: "), "{answer}");
    proxy.wait_for("/metrics", "\nmoat_connections_rejected_total 1\n");
    drop(first);
    proxy.wait_for("/metrics", "\nmoat_connections_active 0\n");
    let answer = refusal(connect(proxy.address()));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    proxy.stop();
}

#[test]
fn a_drain_waits_for_open_connections_and_a_second_order_cuts_them() {
    let proxy = Proxy::start(|_, _| {});
    let mut open = connect(proxy.address());
    open.write_all(b"CONNECT a.test:443 HTTP/1.1\r\n").unwrap();
    proxy.wait_for("/metrics", "\nmoat_connections_active 1\n");
    proxy.end.try_send(()).unwrap();
    let answer = proxy.wait_for("/readyz", "draining");
    assert!(answer.starts_with("HTTP/1.1 503 "));
    assert!(!proxy.thread.is_finished());
    let start = Instant::now();
    proxy.stop();
    assert!(start.elapsed() < PATIENCE);
    let answer = read_to_end(open);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
}

#[test]
fn a_drain_does_not_wait_for_silent_connections() {
    let proxy = Proxy::start(|config, _| config.timeouts.drain = Duration::from_mins(10));
    let silent = connect(proxy.address());
    proxy.wait_for("/metrics", "\nmoat_connections_active 1\n");
    proxy.stop();
    assert_eq!(read_to_end(silent), "");
}

#[test]
fn clients_come_by_unix_sockets_too() {
    let proxy = Proxy::start(|config, folder| {
        let path = folder.join("proxy.sock");
        config.listen.push(ListenAddress::Unix(path));
    });
    let path = proxy.folder.path().join("proxy.sock");
    let answer = refusal(UnixStream::connect(&path).unwrap());
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    proxy.wait_for("/metrics", "\nmoat_accepted_total{listener=\"unix\"} 1\n");
    proxy.end.try_send(()).unwrap();
    proxy.thread.join().unwrap().unwrap();
    assert!(!path.exists());
}

#[test]
fn clients_come_by_tls_too() {
    let made = rcgen::generate_simple_self_signed(vec!["proxy.test".to_owned()]).unwrap();
    let proxy = Proxy::start(|config, folder| {
        let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        fs::write(&certificate, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        config.tls = Some(ServerTls { certificate, key });
        config.listen = vec![ListenAddress::Tls("127.0.0.1:0".parse().unwrap())];
    });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "proxy.test".try_into().unwrap();
    let session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = rustls::StreamOwned::new(session, connect(proxy.address()));
    let answer = refusal(stream);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let mut plain = connect(proxy.address());
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    read_to_end(plain);
    proxy.wait_for("/metrics", "\nmoat_tls_handshake_errors_total 1\n");
    proxy.stop();
}

/// A tunnel through the proxy to an origin on loopback, under a policy that allows it: the
/// client's end and the origin's.
fn tunnel(proxy: &Proxy) -> (TcpStream, TcpStream) {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = origin.local_addr().unwrap();
    proxy.write_policy(&format!(
        "version: 1\nallow: [{{id: test, net: [\"{address}\"]}}]\n"
    ));
    proxy.wait_for("/metrics", "\nmoat_policy_generation 2\n");
    let mut client = connect(proxy.address());
    write!(
        client,
        "CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n"
    )
    .unwrap();
    let (upstream, _) = origin.accept().unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    proxy.wait_for("/metrics", "\nmoat_tunnels_active 1\n");
    (client, upstream)
}

/// The close record, which must be the only one.
fn close(records: &[Record]) -> &Record {
    let mut closes = records.iter().filter(|record| record.event == Event::Close);
    let close = closes.next().unwrap();
    assert!(closes.next().is_none());
    close
}

#[test]
fn a_tunnel_that_outlives_the_drain_is_cut_with_a_record() {
    let proxy = Proxy::start(|config, _| config.timeouts.drain = Duration::from_millis(50));
    let (client, upstream) = tunnel(&proxy);
    let records = proxy.stop();
    assert_eq!(close(&records).cause, Cause::Shutdown);
    assert_eq!(close(&records).ended_by, Some(EndedBy::Moat));
    read_to_end(client);
    assert_eq!(read_to_end(upstream), "");
}

#[test]
fn a_drain_waits_for_a_tunnel_that_ends_by_itself() {
    let proxy = Proxy::start(|config, _| config.timeouts.drain = Duration::from_mins(10));
    let (client, mut upstream) = tunnel(&proxy);
    proxy.end.try_send(()).unwrap();
    proxy.wait_for("/readyz", "draining");
    upstream.write_all(b"still here").unwrap();
    drop(upstream);
    assert!(read_to_end(&client).ends_with("still here"));
    drop(client);
    proxy.thread.join().unwrap().unwrap();
    let text = fs::read_to_string(proxy.folder.path().join("audit.jsonl")).unwrap();
    assert!(text.contains("\"cause\":\"done\""), "{text}");
}

#[test]
fn rechecking_cuts_the_tunnels_that_a_new_policy_refuses() {
    let proxy = Proxy::start(|config, _| config.recheck = true);
    let (client, upstream) = tunnel(&proxy);
    proxy.write_policy(POLICY);
    assert_eq!(read_to_end(upstream), "");
    read_to_end(client);
    proxy.wait_for("/metrics", "\nmoat_tunnels_active 0\n");
    let records = proxy.stop();
    assert_eq!(close(&records).cause, Cause::Shutdown);
}

#[test]
fn the_bytes_of_a_tunnel_are_counted_while_it_is_open() {
    let proxy = Proxy::start(|_, _| {});
    let (mut client, mut upstream) = tunnel(&proxy);
    upstream.write_all(b"hello").unwrap();
    proxy.wait_for("/metrics", "\nmoat_bytes_total{direction=\"down\"} 5\n");
    client.write_all(b"hi").unwrap();
    proxy.wait_for("/metrics", "\nmoat_bytes_total{direction=\"up\"} 2\n");
    drop((client, upstream));
    proxy.stop();
}

#[test]
fn a_worker_that_cannot_work_ends_the_proxy_with_its_record_whole() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    fs::write(&policy, POLICY).unwrap();
    let mut config = testing::config();
    config.audit = AuditTo::File(folder.path().join("audit.jsonl"));
    let (_end, ends) = mpsc::channel(1);
    let (_hangup, hangups) = mpsc::channel(1);
    let signals = || Ok(Signals { hangups, ends });
    let source = Arc::new(Source(policy.clone()));
    let mut server = Server::bind_with(config, source, None, signals).unwrap();
    // A file cannot be waited for, so that this listener cannot be set up.
    let broken = TcpListener::from(OwnedFd::from(fs::File::open(policy).unwrap()));
    broken.set_nonblocking(true).unwrap();
    server.shares[0].push(Share::Tcp(broken));
    assert!(server.run().is_err());
    let text = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    assert!(
        text.trim_end().lines().last().unwrap().contains("\"stop\""),
        "{text}"
    );
}

#[test]
fn a_listener_that_stops_listening_drains_the_proxy_and_ends_it_with_an_error() {
    let mut listener = None;
    let proxy = Proxy::start_with(
        |config, _| {
            config.workers = NonZeroUsize::new(2).unwrap();
            config.timeouts.drain = Duration::from_mins(10);
        },
        |server| {
            let Some(Share::Tcp(socket)) = server.shares[0].first() else {
                panic!("no listener");
            };
            listener = Some(socket.try_clone().unwrap());
        },
    );
    let (mut client, mut upstream) = tunnel(&proxy);
    rustix::net::shutdown(listener.unwrap(), rustix::net::Shutdown::Both).unwrap();
    let answer = proxy.wait_for("/readyz", "draining");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    // Whichever worker carries it, an open tunnel goes on to its own end.
    upstream.write_all(b"still here").unwrap();
    drop(upstream);
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("still here"), "{rest}");
    drop(client);
    let ended = proxy.thread.join().unwrap();
    let failed = matches!(ended, Err(RunError::WorkerFailed { .. }));
    assert!(failed, "{ended:?}");
    let text = fs::read_to_string(proxy.folder.path().join("audit.jsonl")).unwrap();
    assert!(text.contains("\"cause\":\"done\""), "{text}");
}

#[test]
fn clients_of_a_worker_with_many_go_to_one_with_few_before_they_are_read() {
    let mut connections = None;
    let proxy = Proxy::start_with(
        |config, folder| {
            config.workers = NonZeroUsize::new(2).unwrap();
            config
                .listen
                .push(ListenAddress::Unix(folder.join("proxy.sock")));
        },
        |server| {
            // As a hash may have it: every client arrives at the first worker.
            server.shares[1].clear();
            connections = Some(Arc::clone(&server.shared.connections));
        },
    );
    let path = proxy.folder.path().join("proxy.sock");
    let open: Vec<_> = (0..4).map(|_| connect(proxy.address())).collect();
    let unix: Vec<_> = (0..4)
        .map(|_| UnixStream::connect(&path).unwrap())
        .collect();
    proxy.wait_for("/metrics", "\nmoat_connections_active 8\n");
    let loads: Vec<usize> = connections.unwrap().loads().collect();
    assert!(loads.iter().all(|&load| load >= 3), "{loads:?}");
    let count = open.len() + unix.len();
    let told = open.into_iter().map(refusal);
    for answer in told.chain(unix.into_iter().map(refusal)) {
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    let records = proxy.stop();
    let decisions = records
        .iter()
        .filter(|record| record.event == Event::Decision);
    let clients = decisions.filter_map(|record| record.actor.as_ref()?.client.clone());
    assert_eq!(clients.count(), count);
}

#[test]
fn clients_on_their_way_to_another_worker_are_not_lost_in_a_drain() {
    let proxy = Proxy::start_with(
        |config, _| config.workers = NonZeroUsize::new(2).unwrap(),
        |server| server.shares[1].clear(),
    );
    let mut open: Vec<_> = (0..20).map(|_| connect(proxy.address())).collect();
    for stream in &mut open {
        write!(stream, "CONNECT refused.test:443 HTTP/1.1\r\n").unwrap();
    }
    proxy.wait_for("/metrics", "\nmoat_connections_active 20\n");
    proxy.end.try_send(()).unwrap();
    for mut stream in open {
        write!(stream, "Host: refused.test:443\r\n\r\n").unwrap();
        let answer = read_to_end(stream);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    proxy.thread.join().unwrap().unwrap();
}

#[test]
fn a_worker_that_panics_drains_the_others_and_is_an_error() {
    let (worker, _records) = testing::worker(testing::policy(&["a.test"]), testing::config(), &[]);
    let shared = Arc::clone(&worker.shared);
    let (phase, mut phases) = watch::channel(Phase::Running);
    let (gone, ended) = mpsc::channel(1);
    let (_end, ends) = mpsc::channel(1);
    let other = gone.clone();
    let faulty = spawn(0, gone, || panic!("a fault")).unwrap();
    let other = spawn(1, other, move || {
        let told = runtime().unwrap().block_on(async {
            let told = phases.wait_for(|phase| *phase > Phase::Running).await;
            told.map(|phase| *phase)
        });
        assert_eq!(told.ok(), Some(Phase::Draining));
        Ok(())
    })
    .unwrap();
    let told = until_told(&phase, &shared, ends, ended);
    runtime().unwrap().block_on(told).unwrap();
    assert_eq!(shared.stage.as_str(), "draining");
    assert!(matches!(join(faulty), Err(RunError::WorkerEnded)));
    assert!(join(other).is_ok());
}

#[test]
fn without_rechecking_open_tunnels_go_on() {
    let proxy = Proxy::start(|_, _| {});
    let (mut client, mut upstream) = tunnel(&proxy);
    proxy.write_policy(POLICY);
    proxy.wait_for("/metrics", "\nmoat_policy_generation 3\n");
    upstream.write_all(b"hello").unwrap();
    drop(upstream);
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("hello"), "{rest}");
    drop(client);
    proxy.stop();
}

/// The folder of a `ConfigMap`, whose files are links through `..data`.
fn swap(folder: &Path, version: &str, text: &str) {
    fs::create_dir(folder.join(version)).unwrap();
    fs::write(folder.join(version).join("policy.yaml"), text).unwrap();
    symlink(version, folder.join("..new")).unwrap();
    fs::rename(folder.join("..new"), folder.join("..data")).unwrap();
}

#[test]
fn a_swapped_link_on_the_way_to_the_policy_is_noticed_every_time() {
    let proxy = Proxy::start(|_, folder| {
        swap(folder, "..first", POLICY);
        let policy = folder.join("policy.yaml");
        fs::remove_file(&policy).unwrap();
        symlink("..data/policy.yaml", policy).unwrap();
    });
    for (version, generation) in [("..second", 2), ("..third", 3)] {
        let text = format!("version: 1\nallow: [{{id: v{generation}, net: [b.test]}}]\n");
        swap(proxy.folder.path(), version, &text);
        let wanted = format!("\nmoat_policy_generation {generation}\n");
        proxy.wait_for("/metrics", &wanted);
    }
    proxy.stop();
}

/// What a CONNECT that the policy allows is answered with while the disk is full.
fn answer_on_a_full_disk(on_failure: AuditOnFailure) -> String {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = origin.local_addr().unwrap();
    let proxy = Proxy::start(|config, folder| {
        config.audit = AuditTo::File("/dev/full".into());
        config.audit_on_failure = on_failure;
        let text = format!("version: 1\nallow: [{{id: test, net: [\"{address}\"]}}]\n");
        fs::write(folder.join("policy.yaml"), text).unwrap();
    });
    proxy.wait_for("/metrics", "\nmoat_audit_failing 1\n");
    let refused = refusal(connect(proxy.address()));
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    let mut client = connect(proxy.address());
    write!(
        client,
        "CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n"
    )
    .unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    drop(client);
    proxy.end.try_send(()).unwrap();
    proxy.thread.join().unwrap().unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn without_a_record_nothing_is_allowed_and_refusals_are_sent() {
    assert_eq!(answer_on_a_full_disk(AuditOnFailure::Deny), "HTTP/1.1 503");
}

#[test]
fn without_a_record_requests_go_on_where_that_was_chosen() {
    let answer = answer_on_a_full_disk(AuditOnFailure::Continue);
    assert_eq!(answer, "HTTP/1.1 200");
}
