use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use moat_policy::record::{Actor, Cause, Event, Protocol};
use moat_policy::verdict::Effect;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::config::Config;
use crate::testing::{self, Records, local};
use crate::worker::Worker;

fn stage(config: Config) -> (Rc<Worker>, Records) {
    testing::worker(testing::policy(&["127.0.0.1/32:*"]), config, &[])
}

/// Sends the bytes and gives all that comes back before the proxy closes.
async fn exchange(worker: &Rc<Worker>, request: &[u8]) -> Vec<u8> {
    let (near, mut far) = testing::client().await;
    let worker = Rc::clone(worker);
    let task = tokio::task::spawn_local(async move {
        super::serve(&worker, near, Arc::new(Actor::default())).await;
    });
    far.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    far.read_to_end(&mut answer).await.unwrap();
    drop(far);
    task.await.unwrap();
    answer
}

async fn text(worker: &Rc<Worker>, request: &str) -> String {
    String::from_utf8(exchange(worker, request.as_bytes()).await).unwrap()
}

#[test]
fn refuses_what_is_no_protocol_of_this_port_with_a_record() {
    local(async {
        let (worker, records) = stage(testing::config());
        let hello = b"\x16\x03\x01\x00\x05hello";
        let answer = exchange(&worker, hello).await;
        assert!(answer.starts_with(b"HTTP/1.1 400 this listener speaks plain HTTP, not TLS"));
        assert_eq!(
            exchange(&worker, b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00").await[1],
            0x5b
        );
        for garbage in [
            &b"\x00\x01\x02\n"[..],
            b"\xff\xfe\r\n\r\n",
            b"SSH-2.0-x\r\n\r\n",
            b"\n",
        ] {
            let answer = exchange(&worker, garbage).await;
            assert!(answer.starts_with(b"HTTP/1.1 400 "), "{garbage:?}");
        }
        let records = records.take();
        assert_eq!(records.len(), 6);
        for record in records {
            assert_eq!(
                (record.event, record.cause),
                (Event::Decision, Cause::Malformed)
            );
            assert_eq!(record.target, None);
        }
    });
}

#[test]
fn refuses_a_connect_wholly_and_drops_what_came_behind_it() {
    local(async {
        let (worker, records) = stage(testing::config());
        let answer = text(
            &worker,
            "CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\
             Proxy-Connection: keep-alive\r\n\r\n\
             CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
        )
        .await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(
            "HTTP/1.1 403 denied.test:443 denied by default; moat allow denied.test\r\n"
        ));
        assert!(
            head.contains(&format!("Content-Length: {}\r\n", body.len())),
            "{head}"
        );
        assert!(head.ends_with("Connection: close"), "{head}");
        assert_eq!(records.take().len(), 1);
    });
}

#[test]
fn holds_connect_to_its_form() {
    local(async {
        let (worker, records) = stage(testing::config());
        for (target, host, status) in [
            ("127.0.0.1", "127.0.0.1", 400),
            ("127.0.0.1:0", "127.0.0.1:0", 400),
            ("/", "127.0.0.1", 400),
            ("http://127.0.0.1:443/", "127.0.0.1", 400),
            ("[127.0.0.1]:443", "127.0.0.1", 400),
            ("a@127.0.0.1:443", "127.0.0.1", 400),
            ("127.0.0.1:443", "denied.test", 421),
            ("127.0.0.1:443", "127.0.0.1:80", 421),
            ("127.0.0.1:443", "", 400),
            ("127.0.0.1:443", "x\r\nContent-Length: 4", 400),
        ] {
            let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let answer = text(&worker, &request).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{request}: {answer}"
            );
            let record = records.take().pop().unwrap();
            assert_eq!(record.status, Some(status));
            assert_eq!(record.protocol, Some(Protocol::Connect));
        }
    });
}

#[test]
fn opens_tunnels_for_both_versions_with_early_bytes_and_no_body_fields() {
    local(async {
        let (worker, records) = stage(testing::config());
        let (listener, address) = testing::listener().await;
        tokio::task::spawn_local(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut early = [0; 5];
                stream.read_exact(&mut early).await.unwrap();
                stream.write_all(&early).await.unwrap();
            }
        });
        let port = address.rsplit(':').next().unwrap();
        for head in [
            format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n"),
            format!("CONNECT {address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
            format!("CONNECT 127.0.0.1:{port} HTTP/1.0\r\n\r\n"),
        ] {
            let answer = text(&worker, &(head + "early")).await;
            assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\nearly");
            assert_eq!(records.take().pop().unwrap().status, Some(200));
        }
    });
}

#[test]
fn answers_408_to_a_head_that_stops_and_431_to_one_that_does_not() {
    local(async {
        let mut config = testing::config();
        config.timeouts.head = Duration::from_millis(50);
        let (worker, records) = stage(config);
        let slow = text(&worker, "GET http://a.test/ HTTP/1.1\r\nX: ").await;
        assert!(slow.starts_with("HTTP/1.1 408 "), "{slow}");
        let large = format!("GET http://a.test/ HTTP/1.1\r\nX: {}", "a".repeat(100_000));
        let large = text(&worker, &large).await;
        assert!(large.starts_with("HTTP/1.1 431 "), "{large}");
        let statuses: Vec<_> = records.take().iter().map(|entry| entry.status).collect();
        assert_eq!(statuses, [Some(408), Some(431)]);
    });
}

#[test]
fn closes_a_silent_connection_without_a_word_or_a_record() {
    local(async {
        let mut config = testing::config();
        config.timeouts.idle = Duration::from_millis(50);
        let (worker, records) = stage(config);
        assert_eq!(exchange(&worker, b"").await, b"");
        assert_eq!(records.take().len(), 0);
    });
}

#[test]
fn an_empty_line_is_no_request_whoever_waits_behind_it() {
    local(async {
        let mut config = testing::config();
        config.timeouts.idle = Duration::from_millis(50);
        let (worker, records) = stage(config);
        for silence in ["\r", "\r\n"] {
            assert_eq!(text(&worker, silence).await, "");
        }
        assert_eq!(records.take().len(), 0);
        let refused = "GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\
                       Content-Length: 4\r\n\r\nbody\r\n";
        let answer = text(&worker, refused).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        let answer = text(&worker, &refused.repeat(2)).await;
        assert_eq!(answer.matches("HTTP/1.1 403 ").count(), 2, "{answer}");
        assert_eq!(records.take().len(), 3);
    });
}

#[test]
fn an_empty_line_before_the_end_is_no_request() {
    local(async {
        let (worker, records) = stage(testing::config());
        let (near, mut far) = testing::client().await;
        far.write_all(b"\r\n").await.unwrap();
        far.shutdown().await.unwrap();
        super::serve(&worker, near, Arc::new(Actor::default())).await;
        let mut answer = Vec::new();
        far.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"");
        assert_eq!(records.take().len(), 0);
    });
}

#[test]
fn closes_idle_connections_when_the_proxy_drains() {
    local(async {
        let (worker, _records) = stage(testing::config());
        let drain = Rc::clone(worker.drain());
        tokio::task::spawn_local(async move { drain.begin() });
        assert_eq!(exchange(&worker, b"").await, b"");
    });
}

#[test]
fn a_head_that_the_end_of_the_proxy_overtakes_is_refused_with_a_record() {
    local(async {
        let (worker, records) = stage(testing::config());
        let drain = Rc::clone(worker.drain());
        tokio::task::spawn_local(async move {
            drain.begin();
            drain.finish();
        });
        let answer = text(&worker, "CONNECT 127.0.0.1:1 HTTP/1.1\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("\r\nMoat-Decision: deny\r\n"), "{answer}");
        let records = records.take();
        assert_eq!(records.len(), 1, "{records:?}");
        assert_eq!(records[0].cause, Cause::Shutdown);
        assert_eq!(records[0].effect, Some(Effect::Deny));
        assert_eq!(records[0].status, Some(503));
    });
}

#[test]
fn goes_on_after_a_thousand_random_and_cut_heads() {
    local(async {
        let (worker, records) = stage(testing::config());
        let whole = b"GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n";
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap()
        };
        for _ in 0..1000 {
            let mut bytes = whole.to_vec();
            let at = next() % bytes.len();
            bytes[at] = u8::try_from(next() % 256).unwrap();
            bytes.truncate(next() % (bytes.len() + 1));
            let (near, mut far) = testing::client().await;
            far.write_all(&bytes).await.unwrap();
            far.shutdown().await.unwrap();
            super::serve(&worker, near, Arc::new(Actor::default())).await;
        }
        records.take();
        let answer = text(&worker, "CONNECT denied.test:1 HTTP/1.0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    });
}

#[test]
fn keeps_the_task_of_a_tunnel_small() {
    local(async {
        let (worker, _records) = stage(testing::config());
        let (near, _far) = testing::client().await;
        let task = super::serve(&worker, near, Arc::new(Actor::default()));
        let size = size_of_val(&task);
        assert!(size < 3072, "{size} bytes");
    });
}
