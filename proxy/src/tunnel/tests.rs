use std::future::pending;
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use moat_policy::record::{Cause, EndedBy, Event};
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::relay::Relay;
use super::{Ends, Opening};
use crate::client::ClientStream;
use crate::config::Config;
use crate::connect;
use crate::hello::tests::hello;
use crate::metrics::gather::Gatherer;
use crate::record::Entry;
use crate::testing::{self, Records, asked, client, config, listener, local};
use crate::worker::{Loaded, Worker};

const FAILURES: &str = "moat_upstream_failures_total{";

/// A tunnel at work: its two ends, its task and what was recorded.
struct Bed {
    client: TcpStream,
    origin: TcpStream,
    worker: Rc<Worker>,
    task: JoinHandle<()>,
    records: Records,
}

/// A tunnel to a literal address on some port.
async fn bed(config: Config, early: &[u8]) -> Bed {
    let (near, far) = client().await;
    bed_for(config, early, near, far).await
}

async fn bed_for(config: Config, early: &[u8], near: ClientStream, client: TcpStream) -> Bed {
    let (listener, address) = listener().await;
    let policy = testing::policy(&["127.0.0.0/8:*"]);
    let (worker, records) = testing::worker(policy, config, &[]);
    let asked = asked(&worker, &address);
    let (upstream, ticket) = connect::open(&worker, asked, pending()).await.unwrap();
    let (origin, _) = listener.accept().await.unwrap();
    let ends = ends(near, early, upstream, Vec::new());
    let at = Rc::clone(&worker);
    let task = tokio::task::spawn_local(async move {
        super::serve(&at, ticket, ends, Opening::Judged).await;
    });
    Bed {
        client,
        origin,
        worker,
        task,
        records,
    }
}

fn ends(client: ClientStream, early: &[u8], upstream: TcpStream, late: Vec<u8>) -> Ends {
    Ends {
        client,
        early: early.to_vec(),
        upstream,
        late,
    }
}

impl Bed {
    /// Waits for the end and gives the last record.
    async fn end(self) -> Entry {
        self.task.await.unwrap();
        self.records.take().pop().unwrap()
    }
}

fn assert_end(entry: &Entry, by: EndedBy, cause: Cause, moved: (u64, u64)) {
    let traffic = entry.traffic.unwrap();
    assert_eq!(entry.event, Event::Close);
    assert_eq!((traffic.ended_by, entry.cause), (by, cause));
    assert_eq!((traffic.up, traffic.down), moved);
}

/// Makes the end of this stream a reset.
fn arm(stream: &TcpStream) {
    SockRef::from(stream)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
}

async fn is_reset(stream: &mut TcpStream) -> bool {
    let read = stream.read(&mut [0; 16]).await;
    read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

#[test]
fn early_bytes_come_first_and_once() {
    local(async {
        let mut bed = bed(config(), b"EARLY-").await;
        bed.client.write_all(b"LATE").await.unwrap();
        bed.client.shutdown().await.unwrap();
        let mut got = Vec::new();
        bed.origin.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, b"EARLY-LATE");
    });
}

#[test]
fn a_client_that_half_closes_still_gets_the_whole_answer() {
    local(async {
        let mut bed = bed(config(), b"").await;
        bed.client.write_all(b"req").await.unwrap();
        bed.client.shutdown().await.unwrap();
        let mut got = Vec::new();
        bed.origin.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, b"req");
        let answer = vec![7; 1024 * 1024];
        let (wrote, read) = tokio::join!(
            async {
                bed.origin.write_all(&answer).await.unwrap();
                bed.origin.shutdown().await.unwrap();
            },
            async {
                let mut got = Vec::new();
                bed.client.read_to_end(&mut got).await.unwrap();
                got
            }
        );
        let () = wrote;
        assert!(read == answer);
        let entry = bed.end().await;
        assert_end(&entry, EndedBy::Client, Cause::Done, (3, 1024 * 1024));
    });
}

#[test]
fn an_origin_that_closes_first_is_named() {
    local(async {
        let mut bed = bed(config(), b"").await;
        bed.origin.write_all(b"bye").await.unwrap();
        bed.origin.shutdown().await.unwrap();
        let mut got = Vec::new();
        bed.client.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, b"bye");
        bed.client.shutdown().await.unwrap();
        assert_end(&bed.end().await, EndedBy::Upstream, Cause::Done, (0, 3));
    });
}

#[test]
fn a_reset_is_passed_on_as_a_reset_both_ways() {
    local(async {
        let mut bed = bed(config(), b"").await;
        arm(&bed.client);
        drop(bed.client);
        assert!(is_reset(&mut bed.origin).await);
        bed.task.await.unwrap();
        let entry = bed.records.take().pop().unwrap();
        assert_end(&entry, EndedBy::Client, Cause::Client, (0, 0));
    });
    local(async {
        let mut bed = bed(config(), b"").await;
        arm(&bed.origin);
        drop(bed.origin);
        assert!(is_reset(&mut bed.client).await);
        bed.task.await.unwrap();
        let entry = bed.records.take().pop().unwrap();
        assert_end(&entry, EndedBy::Upstream, Cause::Upstream, (0, 0));
    });
}

#[test]
fn a_reset_is_seen_while_the_origin_takes_nothing() {
    local(async {
        let mut bed = bed(config(), b"").await;
        let full = Duration::from_millis(200);
        while let Ok(written) = timeout(full, bed.client.write(&[0; 8192])).await {
            written.unwrap();
        }
        arm(&bed.client);
        drop(bed.client);
        bed.task.await.unwrap();
        let entry = bed.records.take().pop().unwrap();
        assert_eq!(entry.cause, Cause::Client);
        let mut rest = Vec::new();
        let error = bed.origin.read_to_end(&mut rest).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_reset_is_seen_after_a_half_close() {
    local(async {
        let mut bed = bed(config(), b"").await;
        bed.client.write_all(b"req").await.unwrap();
        bed.client.shutdown().await.unwrap();
        bed.origin.read_to_end(&mut Vec::new()).await.unwrap();
        arm(&bed.client);
        drop(bed.client);
        bed.task.await.unwrap();
        let entry = bed.records.take().pop().unwrap();
        assert_end(&entry, EndedBy::Client, Cause::Client, (3, 0));
        let sent = bed.origin.write(b"into the void").await;
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_client_that_does_not_take_its_answer_is_waited_for_like_a_silent_one() {
    local(async {
        let (near, _client) = client().await;
        let ClientStream::Tcp(full) = &near else {
            panic!("no TCP");
        };
        full.writable().await.unwrap();
        while full.try_write(&[0; 16384]).is_ok() {}
        let (listener, address) = listener().await;
        let policy = testing::policy(&["127.0.0.0/8:*"]);
        let mut config = config();
        config.timeouts.idle = Duration::from_millis(50);
        let (worker, records) = testing::worker(policy, config, &[]);
        let asked = asked(&worker, &address);
        let (upstream, ticket) = connect::open(&worker, asked, pending()).await.unwrap();
        let (_origin, _) = listener.accept().await.unwrap();
        let ends = ends(near, b"", upstream, Vec::new());
        connect::carry(&worker, ticket, ends, b"HTTP/1.1 200 OK\r\n\r\n", 200).await;
        let end = records.take().pop().unwrap();
        assert_end(&end, EndedBy::Moat, Cause::Timeout, (0, 0));
    });
}

#[test]
fn silence_is_no_failure_of_the_upstream_and_a_reset_is() {
    for (resets, failures) in [(false, 0), (true, 1)] {
        local(async {
            let mut config = config();
            config.timeouts.idle = Duration::from_millis(50);
            let bed = bed(config, b"").await;
            if resets {
                arm(&bed.origin);
                drop(bed.origin);
            }
            bed.task.await.unwrap();
            let gatherer = Gatherer::new(Arc::clone(&bed.worker.shared)).unwrap();
            let text = String::from_utf8(gatherer.text().unwrap()).unwrap();
            let counted = text.lines().filter_map(|line| line.strip_prefix(FAILURES));
            let counted: Vec<_> = counted.filter(|count| !count.ends_with(" 0")).collect();
            assert_eq!(counted.len(), failures, "{counted:?}");
        });
    }
}

#[test]
fn a_slow_reader_gets_everything_and_holds_nothing_but_its_own_tunnel() {
    local(async {
        let bed = bed(config(), b"").await;
        let (mut reader, mut writer) = (bed.client, bed.origin);
        let sent = vec![1; 8 * 1024 * 1024];
        let length = sent.len();
        let writing = tokio::task::spawn_local(async move {
            writer.write_all(&sent).await.unwrap();
        });
        let mut count = 0;
        let mut small = [0; 999];
        loop {
            let read = reader.read(&mut small).await.unwrap();
            count += read;
            if read == 0 || count == length {
                break;
            }
        }
        writing.await.unwrap();
        assert_eq!(count, length);
    });
}

#[test]
fn silence_in_both_directions_ends_a_tunnel_and_one_direction_keeps_it() {
    local(async {
        let mut config = config();
        config.timeouts.idle = Duration::from_millis(300);
        let mut bed = bed(config, b"").await;
        let begun = std::time::Instant::now();
        let mut pace = tokio::time::interval(Duration::from_millis(100));
        for _ in 0..5 {
            pace.tick().await;
            bed.origin.write_all(b".").await.unwrap();
        }
        let mut got = [0; 5];
        bed.client.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b".....");
        assert!(is_reset(&mut bed.client).await);
        assert!(is_reset(&mut bed.origin).await);
        assert!(begun.elapsed() >= Duration::from_millis(650));
        assert_end(&bed.end().await, EndedBy::Moat, Cause::Timeout, (0, 5));
    });
}

#[test]
fn a_cut_ends_a_tunnel_that_is_silent() {
    local(async {
        let bed = bed(config(), b"").await;
        tokio::task::yield_now().await;
        assert_eq!(bed.worker.tunnels.cut_unless(|_| true), 0);
        assert_eq!(bed.worker.tunnels.cut_unless(|_| false), 1);
        assert_eq!(bed.worker.tunnels.cut_unless(|_| false), 0);
        assert_end(&bed.end().await, EndedBy::Moat, Cause::Shutdown, (0, 0));
    });
}

#[test]
fn a_cut_tunnel_looks_whole_to_neither_side() {
    local(async {
        let mut bed = bed(config(), b"").await;
        bed.client.write_all(b"half").await.unwrap();
        bed.origin.read_exact(&mut [0; 4]).await.unwrap();
        bed.origin.write_all(b"half").await.unwrap();
        bed.client.read_exact(&mut [0; 4]).await.unwrap();
        bed.worker.tunnels.cut_unless(|_| false);
        assert!(is_reset(&mut bed.client).await);
        assert!(is_reset(&mut bed.origin).await);
    });
}

#[test]
fn a_tunnel_that_ends_by_a_fault_looks_whole_to_neither_side() {
    local(async {
        let mut bed = bed(config(), b"").await;
        bed.origin.write_all(b"half").await.unwrap();
        bed.client.read_exact(&mut [0; 4]).await.unwrap();
        bed.task.abort();
        assert!(is_reset(&mut bed.client).await);
        assert!(is_reset(&mut bed.origin).await);
    });
}

#[test]
fn a_refusal_in_the_middle_of_an_answer_does_not_look_like_its_end() {
    local(async {
        let mut bed = bed(config(), b"").await;
        bed.origin.write_all(b"half").await.unwrap();
        bed.client.read_exact(&mut [0; 4]).await.unwrap();
        bed.client.write_all(&hello("denied.test")).await.unwrap();
        assert!(is_reset(&mut bed.client).await);
        assert!(is_reset(&mut bed.origin).await);
        assert_end(&bed.end().await, EndedBy::Moat, Cause::Sni, (0, 4));
    });
}

#[test]
fn a_tunnel_whose_policy_was_replaced_while_it_was_dialled_is_cut_where_tunnels_are_rechecked() {
    for (recheck, cause) in [(true, Cause::Shutdown), (false, Cause::Client)] {
        local(async {
            let (near, client) = client().await;
            let (listener, address) = listener().await;
            let policy = testing::policy(&["127.0.0.0/8:*"]);
            let config = Config {
                recheck,
                ..config()
            };
            let (worker, records) = testing::worker(policy, config, &[]);
            let asked = asked(&worker, &address);
            let (upstream, ticket) = connect::open(&worker, asked, pending()).await.unwrap();
            let (_origin, _) = listener.accept().await.unwrap();
            worker.shared.policy.store(Arc::new(Loaded {
                policy: testing::policy(&["a.test"]),
                generation: 2,
            }));
            arm(&client);
            drop(client);
            let ends = ends(near, b"", upstream, Vec::new());
            super::serve(&worker, ticket, ends, Opening::Judged).await;
            assert_eq!(records.take().pop().unwrap().cause, cause);
        });
    }
}

#[test]
fn a_tunnel_that_opens_when_all_others_are_cut_is_cut_too() {
    local(async {
        let (near, _client) = client().await;
        let (listener, address) = listener().await;
        let policy = testing::policy(&["127.0.0.0/8:*"]);
        let (worker, records) = testing::worker(policy, config(), &[]);
        let asked = asked(&worker, &address);
        let (upstream, ticket) = connect::open(&worker, asked, pending()).await.unwrap();
        let (mut origin, _) = listener.accept().await.unwrap();
        worker.drain().finish();
        worker.tunnels.cut_unless(|_| false);
        let ends = ends(near, b"", upstream, Vec::new());
        super::serve(&worker, ticket, ends, Opening::Judged).await;
        assert!(is_reset(&mut origin).await);
        let end = records.take().pop().unwrap();
        assert_end(&end, EndedBy::Moat, Cause::Shutdown, (0, 0));
    });
}

#[test]
fn a_tunnel_that_is_dropped_in_the_middle_has_a_record_of_its_end() {
    local(async {
        let mut bed = bed(config(), b"").await;
        bed.origin.write_all(b"half").await.unwrap();
        bed.client.read_exact(&mut [0; 4]).await.unwrap();
        bed.task.abort();
        assert!(is_reset(&mut bed.client).await);
        assert!(is_reset(&mut bed.origin).await);
        assert!(bed.task.await.unwrap_err().is_cancelled());
        let records = bed.records.take();
        assert_eq!(records.len(), 2, "{records:?}");
        assert_end(&records[1], EndedBy::Moat, Cause::Shutdown, (0, 4));
    });
}

#[test]
fn a_client_that_does_not_read_is_given_up_even_before_the_first_byte_of_a_switch() {
    local(async {
        let (near, _client) = client().await;
        let (listener, address) = listener().await;
        let policy = testing::policy(&["127.0.0.0/8:*"]);
        let mut config = config();
        config.timeouts.idle = Duration::from_millis(50);
        let (worker, records) = testing::worker(policy, config, &[]);
        let (upstream, ticket) = connect::open(&worker, asked(&worker, &address), pending())
            .await
            .unwrap();
        let (_origin, _) = listener.accept().await.unwrap();
        let ends = ends(near, b"", upstream, vec![0; 8 << 20]);
        super::serve(&worker, ticket, ends, Opening::Named).await;
        let end = records.take().pop().unwrap();
        assert_eq!(end.cause, Cause::Timeout);
        assert!(end.traffic.unwrap().down > 0, "what it took is counted");
    });
}

#[test]
fn a_hello_for_another_host_ends_the_tunnel_before_a_byte_goes_upstream() {
    local(async {
        let mut bed = bed(config(), b"").await;
        let hello = hello("denied.test");
        for part in hello.chunks(100) {
            bed.client.write_all(part).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut got = Vec::new();
        bed.client.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, crate::greeting::ALERT);
        let mut upstream = Vec::new();
        bed.origin.read_to_end(&mut upstream).await.unwrap();
        assert!(upstream.is_empty());
        drop(bed.client);
        bed.task.await.unwrap();
        let records = bed.records.take();
        let causes: Vec<_> = records
            .iter()
            .map(|entry| (entry.event, entry.cause))
            .collect();
        let expected = [
            (Event::Decision, Cause::Policy),
            (Event::Decision, Cause::Sni),
            (Event::Close, Cause::Sni),
        ];
        assert_eq!(causes, expected);
        assert!(records.iter().all(|entry| entry.id == records[0].id));
        assert_eq!(records[1].status, None, "an alert is no status");
        assert_end(&records[2], EndedBy::Moat, Cause::Sni, (0, 0));
    });
}

#[test]
fn a_server_that_speaks_first_is_heard_before_the_client_says_anything() {
    local(async {
        let mut bed = bed(config(), b"").await;
        bed.origin.write_all(b"SSH-2.0-x\r\n").await.unwrap();
        let mut banner = [0; 11];
        bed.client.read_exact(&mut banner).await.unwrap();
        bed.client.write_all(b"SSH-2.0-y\r\n").await.unwrap();
        bed.origin.read_exact(&mut banner).await.unwrap();
        assert_eq!(&banner, b"SSH-2.0-y\r\n");
    });
}

#[test]
fn a_hello_that_does_not_come_to_its_end_runs_out_of_time() {
    local(async {
        let mut config = config();
        config.timeouts.head = Duration::from_millis(100);
        let mut bed = bed(config, &hello("allowed.test")[..20]).await;
        let mut got = Vec::new();
        bed.client.read_to_end(&mut got).await.unwrap();
        bed.client.shutdown().await.unwrap();
        assert_end(&bed.end().await, EndedBy::Moat, Cause::Timeout, (0, 0));
    });
}

#[test]
fn a_tunnel_over_a_unix_socket_works_alike() {
    local(async {
        let (near, mut far) = tokio::net::UnixStream::pair().unwrap();
        let (_, unused) = client().await;
        let mut bed = bed_for(config(), b"", ClientStream::Unix(near), unused).await;
        far.write_all(b"up").await.unwrap();
        far.shutdown().await.unwrap();
        let mut got = Vec::new();
        bed.origin.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, b"up");
    });
}

#[test]
fn an_idle_tunnel_is_small() {
    assert!(size_of::<Relay<'_>>() < 512, "{}", size_of::<Relay<'_>>());
    let future = |worker| async move {
        let (worker, ticket, ends): (&Worker, _, _) = worker;
        super::serve(worker, ticket, ends, Opening::Judged).await;
    };
    let size = size_of_future(future);
    assert!(size <= 1536, "{size}");
}

/// The size of what a function's future keeps, without making one.
fn size_of_future<A, F>(_: impl Fn(A) -> F) -> usize {
    size_of::<F>()
}
