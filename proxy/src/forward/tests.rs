use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use moat_policy::record::{Actor, Cause, EndedBy, Event};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::connection;
use crate::testing::{self, Records, local};
use crate::worker::Worker;

mod bounded;
mod early;
mod kept;
mod recheck;

/// An origin on loopback that answers by a function of the head, and remembers what it got.
struct Origin {
    address: String,
    seen: Rc<RefCell<Vec<String>>>,
    dials: Rc<Cell<usize>>,
}

type Script = fn(&str) -> Vec<u8>;

impl Origin {
    async fn start(script: Script) -> Self {
        let (listener, address) = testing::listener().await;
        let seen = Rc::new(RefCell::new(Vec::new()));
        let dials = Rc::new(Cell::new(0));
        let (heads, count) = (Rc::clone(&seen), Rc::clone(&dials));
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.set(count.get() + 1);
                tokio::task::spawn_local(serve(stream, script, Rc::clone(&heads)));
            }
        });
        Self {
            address,
            seen,
            dials,
        }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.borrow().clone()
    }
}

/// Answers heads until a script's answer is empty or says `close`.
async fn serve(mut stream: TcpStream, script: Script, seen: Rc<RefCell<Vec<String>>>) {
    loop {
        let Some(head) = read_head(&mut stream).await else {
            return;
        };
        let length = length_of(&head);
        let mut body = vec![0; length];
        if stream.read_exact(&mut body).await.is_err() {
            return;
        }
        let text = format!("{head}{}", String::from_utf8_lossy(&body));
        seen.borrow_mut().push(text.clone());
        let answer = script(&text);
        if stream.write_all(&answer).await.is_err() || answer.is_empty() {
            return;
        }
        if String::from_utf8_lossy(&answer).contains("Connection: close") {
            return;
        }
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

fn length_of(head: &str) -> usize {
    head.lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        })
        .unwrap_or(0)
}

fn ok(_: &str) -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec()
}

fn stage() -> (Rc<Worker>, Records) {
    let policy = testing::policy(&["127.0.0.1/32:*"]);
    testing::worker(policy, testing::config(), &[])
}

/// A client of this worker whose connection is being served, and the task that serves it.
async fn connect(worker: &Rc<Worker>) -> (TcpStream, JoinHandle<()>) {
    let (near, far) = testing::client().await;
    let worker = Rc::clone(worker);
    let task = tokio::task::spawn_local(async move {
        connection::serve(&worker, near, Arc::new(Actor::default())).await;
    });
    (far, task)
}

/// Sends the bytes and reads until the proxy closes; what it had to record is recorded then.
async fn exchange(worker: &Rc<Worker>, request: &str) -> String {
    let (mut client, task) = connect(worker).await;
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    drop(client);
    task.await.unwrap();
    String::from_utf8(answer).unwrap()
}

fn get(host: &str, path: &str, headers: &str) -> String {
    format!("GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n")
}

const LAST: &str = "Connection: close\r\n";

#[test]
fn carries_a_request_over_with_its_target_unchanged() {
    local(async {
        let (worker, records) = stage();
        let origin = Origin::start(ok).await;
        let path = "/o/a%2Fb%20c/..;/x//y?q=%2e%2e&u=http://denied.test/";
        let answer = exchange(&worker, &get(&origin.address, path, LAST)).await;
        assert_eq!(
            answer,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nconnection: close\r\n\r\nok"
        );
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", origin.address);
        assert_eq!(origin.seen(), [head]);
        let records = records.take();
        assert_eq!(records.len(), 2, "{records:?}");
        assert_eq!(
            (records[1].event, records[1].cause),
            (Event::Close, Cause::Done)
        );
        assert_eq!(records[1].traffic.unwrap().down, 2);
        assert_eq!(records[1].status, Some(200), "as sent");
        assert_eq!(records[1].id, records[0].id);
    });
}

#[test]
fn judges_every_request_of_a_connection_anew_and_reuses_upstreams() {
    local(async {
        let (worker, records) = stage();
        let origin = Origin::start(ok).await;
        let mut requests = get(&origin.address, "/1", "");
        requests += &get("denied.test", "/", "");
        requests += &get(&origin.address, "/2", "");
        let post = get(&origin.address, "/3", "Content-Length: 3\r\n");
        requests += &(post.replacen("GET", "POST", 1) + "abc");
        requests += &get(&origin.address, "/4", LAST);
        let answer = exchange(&worker, &requests).await;
        let statuses: Vec<&str> = answer
            .lines()
            .filter(|line| line.contains("HTTP/1.1 "))
            .map(|line| line.split("HTTP/1.1 ").nth(1).unwrap().get(..3).unwrap())
            .collect();
        assert_eq!(statuses, ["200", "403", "200", "200", "200"], "{answer}");
        assert_eq!(origin.seen().len(), 4);
        assert_eq!(origin.dials.get(), 1);
        assert_eq!(
            records
                .take()
                .iter()
                .filter(|entry| entry.event == Event::Decision)
                .count(),
            5
        );
    });
}

#[test]
fn keeps_one_hop_fields_to_their_hop() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(|_| {
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\n\
              Moat-Decision: allow\r\nProxy-Status: moat; error=x, other; details=\"a, moat\"\r\n\
              Proxy-Authenticate: Basic\r\nKeep-Alive: timeout=5\r\n\r\n"
                .to_vec()
        })
        .await;
        let headers = "Proxy-Authorization: Basic dTpz\r\nProxy-Connection: keep-alive\r\n\
                       TE: trailers\r\nKeep-Alive: 5\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\n\
                       X-End: 2\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
        let answer = exchange(&worker, &get(&origin.address, "/", headers)).await;
        let head = format!(
            "GET / HTTP/1.1\r\nHost: {}\r\nX-End: 2\r\n\r\n",
            origin.address
        );
        assert_eq!(origin.seen(), [head]);
        insta::assert_snapshot!(answer.replace('\r', ""), @r#"
            HTTP/1.1 200 OK
            X-End: 2
            Proxy-Status: other; details="a, moat"
            Connection: close
            Content-Length: 0
            "#);
    });
}

#[test]
fn streams_a_chunked_body_and_its_trailer() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(|_| {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
              2\r\nok\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n"
                .to_vec()
        })
        .await;
        let headers = "TE: trailers\r\nConnection: TE, close\r\n";
        let answer = exchange(&worker, &get(&origin.address, "/", headers)).await;
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        assert_eq!(body, "2\r\nok\r\n0\r\nx-sum: 1", "{answer}");
    });
}

#[test]
fn gives_an_old_client_no_chunks_and_an_end() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(|_| {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n".to_vec()
        })
        .await;
        let request = format!("GET http://{}/ HTTP/1.0\r\n\r\n", origin.address);
        let answer = exchange(&worker, &request).await;
        assert_eq!(answer, "HTTP/1.0 200 OK\r\n\r\nok");
        let head = format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", origin.address);
        assert_eq!(origin.seen(), [head]);
    });
}

#[test]
fn refuses_responses_that_two_readers_could_read_differently() {
    local(async {
        let scripts: [Script; 7] = [
            |_| {
                b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nX: fake\r\n\r\n".to_vec()
            },
            |_| b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok".to_vec(),
            |_| b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok".to_vec(),
            |_| b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n".to_vec(),
            |_| b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_vec(),
            |_| {
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n".to_vec()
            },
            |_| b"SSH-2.0-x\r\n\r\n".to_vec(),
        ];
        for script in scripts {
            let (worker, records) = stage();
            let origin = Origin::start(script).await;
            let answer = exchange(&worker, &get(&origin.address, "/", LAST)).await;
            assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
            assert!(!answer.contains("fake"));
            assert_eq!(worker.pool.len(), 0);
            let close = records.take().pop().unwrap();
            assert_eq!((close.event, close.cause), (Event::Close, Cause::Upstream));
        }
    });
}

#[test]
fn answers_502_where_the_origin_hangs_up_and_goes_on() {
    local(async {
        let (worker, records) = stage();
        let origin = Origin::start(|head| {
            if head.contains("/gone") {
                Vec::new()
            } else {
                ok(head)
            }
        })
        .await;
        let requests = get(&origin.address, "/gone", "") + &get(&origin.address, "/", LAST);
        let answer = exchange(&worker, &requests).await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
        let statuses: Vec<_> = records.take().iter().map(|entry| entry.status).collect();
        assert_eq!(statuses, [None, Some(502), None, Some(200)], "as sent");
    });
}

#[test]
fn dials_anew_when_a_kept_connection_has_ended() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(|_| {
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".to_vec()
        })
        .await;
        for _ in 0..3 {
            let answer = exchange(&worker, &get(&origin.address, "/", LAST)).await;
            assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
        }
        assert_eq!(origin.dials.get(), 3);
    });
}

#[test]
fn refuses_a_fault_in_the_second_request_after_the_first_answer() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(ok).await;
        let requests = get(&origin.address, "/", "") + &get(&origin.address, "/", "X: a\n");
        let answer = exchange(&worker, &requests).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(answer.contains("okHTTP/1.1 400 "), "{answer}");
        assert_eq!(origin.seen().len(), 1);
    });
}

#[test]
fn refuses_garbage_in_chunks_without_replaying_it() {
    for size in ["1zz", " 1"] {
        local(async {
            let (worker, records) = stage();
            let origin = Origin::start(ok).await;
            let answer = exchange(
                &worker,
                &format!(
                    "POST http://{0}/ HTTP/1.1\r\nHost: {0}\r\nTransfer-Encoding: chunked\r\n\r\n\
                     {size}\r\nZ\r\n0\r\n\r\n",
                    origin.address
                ),
            )
            .await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
            assert!(!origin.seen().concat().contains('Z'));
            let close = records.take().pop().unwrap();
            assert_eq!((close.event, close.cause), (Event::Close, Cause::Malformed));
        });
    }
}

#[test]
fn says_continue_and_passes_a_large_body_on() {
    local(async {
        let (worker, records) = stage();
        let origin = Origin::start(|text| {
            let length = text.split("\r\n\r\n").nth(1).unwrap().len();
            format!("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{length:07}").into_bytes()
        })
        .await;
        let (mut client, _task) = connect(&worker).await;
        let head = format!(
            "PUT http://{0}/ HTTP/1.1\r\nHost: {0}\r\nContent-Length: 3000000\r\n\
             Expect: 100-continue\r\nConnection: close\r\n\r\n",
            origin.address
        );
        client.write_all(head.as_bytes()).await.unwrap();
        assert!(
            read_head(&mut client)
                .await
                .unwrap()
                .starts_with("HTTP/1.1 100 ")
        );
        client.write_all(&vec![b'a'; 3_000_000]).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("3000000"), "{answer}");
        assert_eq!(records.take().pop().unwrap().traffic.unwrap().up, 3_000_000);
    });
}

#[test]
fn refuses_before_the_body_of_a_client_that_waits() {
    local(async {
        let (worker, _records) = stage();
        let request = "PUT http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\
                       Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n";
        let (mut client, _task) = connect(&worker).await;
        client.write_all(request.as_bytes()).await.unwrap();
        let head = read_head(&mut client).await.unwrap();
        assert!(
            head.starts_with(
                "HTTP/1.1 403 denied.test:80 denied by default; moat allow denied.test\r\n"
            ),
            "{head}"
        );
        assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
    });
}

#[test]
fn reads_the_small_body_of_a_refused_request_and_goes_on() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(ok).await;
        let mut requests = "POST http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\
                            Content-Length: 5\r\n\r\n12345"
            .to_owned();
        requests += &get(&origin.address, "/", LAST);
        let answer = exchange(&worker, &requests).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    });
}

#[test]
fn passes_head_204_and_304_without_a_body() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(|head| {
            if head.starts_with("HEAD") {
                b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec()
            } else if head.contains("/204") {
                b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()
            } else {
                b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n".to_vec()
            }
        })
        .await;
        let mut requests = get(&origin.address, "/", "").replacen("GET", "HEAD", 1);
        requests += &get(&origin.address, "/204", "");
        requests += &get(&origin.address, "/304", LAST);
        let answer = exchange(&worker, &requests).await;
        insta::assert_snapshot!(answer.replace('\r', ""), @r#"
        HTTP/1.1 200 OK
        Content-Length: 1000

        HTTP/1.1 204 No Content

        HTTP/1.1 304 Not Modified
        ETag: "x"
        connection: close
        "#);
        assert_eq!(origin.dials.get(), 1);
    });
}

#[test]
fn holds_the_host_header_to_the_target() {
    local(async {
        let (worker, records) = stage();
        let origin = Origin::start(ok).await;
        for (host, status) in [
            ("Host: denied.test\r\n", "421"),
            ("Host:\r\n", "400"),
            ("", "400"),
        ] {
            let request = format!("GET http://{}/ HTTP/1.1\r\n{host}\r\n", origin.address);
            let answer = exchange(&worker, &request).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{answer}"
            );
            assert_eq!(records.take().len(), 1);
        }
        assert_eq!(origin.dials.get(), 0);
    });
}

#[test]
fn refuses_targets_that_are_no_absolute_http_url() {
    local(async {
        let (worker, records) = stage();
        for target in [
            "/",
            "/metrics",
            "*",
            "https://a.test/",
            "ftp://a.test/",
            "http:///x",
        ] {
            let request = format!("OPTIONS {target} HTTP/1.1\r\nHost: a.test\r\n\r\n");
            let answer = exchange(&worker, &request).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
            let records = records.take();
            assert_eq!(records.len(), 1);
            assert_eq!(records[0].cause, Cause::Malformed);
        }
    });
}

#[test]
fn switches_to_a_websocket_with_the_early_bytes_of_both_sides() {
    local(async {
        let (worker, records) = stage();
        let (listener, address) = testing::listener().await;
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let head = read_head(&mut stream).await.unwrap();
            assert!(head.contains("Connection: Upgrade\r\n"), "{head}");
            let answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                           Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nhello";
            stream.write_all(answer).await.unwrap();
            let mut echo = [0; 5];
            stream.read_exact(&mut echo).await.unwrap();
            stream.write_all(&echo).await.unwrap();
        });
        let headers = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n";
        let answer = exchange(&worker, &(get(&address, "/ws", headers) + "early")).await;
        assert!(
            answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n"),
            "{answer}"
        );
        assert!(answer.contains("Sec-WebSocket-Accept: x\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nhelloearly"), "{answer}");
        let close = records.take().pop().unwrap();
        assert_eq!((close.event, close.cause), (Event::Close, Cause::Done));
    });
}

#[test]
fn answers_a_websocket_that_the_origin_refuses_as_any_request() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(ok).await;
        let headers = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
        let requests = get(&origin.address, "/ws", headers) + &get(&origin.address, "/", LAST);
        let answer = exchange(&worker, &requests).await;
        assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
    });
}

#[test]
fn passes_each_event_on_at_once() {
    local(async {
        let (worker, _records) = stage();
        let (listener, address) = testing::listener().await;
        let (go, mut wait) = tokio::sync::mpsc::channel::<()>(1);
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            while wait.recv().await.is_some() {
                stream.write_all(b"data: x\n\n").await.unwrap();
            }
        });
        let (mut client, _task) = connect(&worker).await;
        client
            .write_all(get(&address, "/sse", "").as_bytes())
            .await
            .unwrap();
        read_head(&mut client).await.unwrap();
        for _ in 0..3 {
            go.send(()).await.unwrap();
            let mut event = [0; 14];
            client.read_exact(&mut event).await.unwrap();
            assert_eq!(&event, b"9\r\ndata: x\n\n\r\n");
        }
    });
}

#[test]
fn answers_504_to_an_origin_that_stays_silent() {
    local(async {
        let mut config = testing::config();
        config.timeouts.idle = Duration::from_millis(50);
        let (worker, records) = testing::worker(testing::policy(&["127.0.0.1/32:*"]), config, &[]);
        let (listener, address) = testing::listener().await;
        let answer = exchange(&worker, &get(&address, "/", LAST)).await;
        assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
        let close = records.take().pop().unwrap();
        assert_eq!(close.cause, Cause::Timeout);
        assert_eq!(close.traffic.unwrap().ended_by, EndedBy::Moat);
        drop(listener);
    });
}

#[test]
fn sends_nothing_in_clear_where_tls_is_required() {
    local(async {
        let policy = testing::policy_text(
            "version: 1\nallow:\n- id: tls\n  net: [{cidr: 127.0.0.1/32, ports: \"*\", tls: require}]\n",
        );
        let (worker, records) = testing::worker(policy, testing::config(), &[]);
        let origin = Origin::start(ok).await;
        let answer = exchange(&worker, &get(&origin.address, "/", LAST)).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(answer.contains("this port is for TLS"), "{answer}");
        assert_eq!(records.take().len(), 1);
        assert_eq!(origin.dials.get(), 0);
    });
}

#[test]
fn passes_a_head_of_16_000_bytes() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(ok).await;
        let cookie = format!("Cookie: {}\r\n{LAST}", "a".repeat(16_000));
        let answer = exchange(&worker, &get(&origin.address, "/", &cookie)).await;
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
        assert!(origin.seen()[0].contains(&"a".repeat(16_000)));
    });
}

#[test]
fn gives_an_early_answer_to_a_client_that_still_sends() {
    local(async {
        let (worker, _records) = stage();
        let (listener, address) = testing::listener().await;
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await.unwrap();
            let answer = b"HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(answer).await.unwrap();
            let mut rest = Vec::new();
            drop(stream.read_to_end(&mut rest).await);
        });
        let (mut client, _task) = connect(&worker).await;
        let head = format!(
            "POST http://{address}/ HTTP/1.1\r\nHost: {address}\r\nContent-Length: 1000000\r\n\r\n"
        );
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(&[b'a'; 1000]).await.unwrap();
        let head = read_head(&mut client).await.unwrap();
        assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
    });
}

#[test]
fn tells_a_broken_response_from_a_whole_one() {
    local(async {
        let (worker, records) = stage();
        let origin = Origin::start(|_| {
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nX: Connection: close\r\n\r\nhalf".to_vec()
        })
        .await;
        let answer = exchange(&worker, &get(&origin.address, "/", "")).await;
        assert!(answer.ends_with("half"), "{answer}");
        let close = records.take().pop().unwrap();
        assert_eq!(close.cause, Cause::Upstream);
        assert_eq!(close.traffic.unwrap().ended_by, EndedBy::Upstream);
        assert_eq!(worker.pool.len(), 0);
    });
}

#[test]
fn resets_an_old_client_whose_response_broke_off() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(|_| {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: Connection: close\r\n\r\n9\r\nhalf"
                .to_vec()
        })
        .await;
        let (mut client, _task) = connect(&worker).await;
        let request = format!("GET http://{}/ HTTP/1.0\r\n\r\n", origin.address);
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let error = client.read_to_end(&mut answer).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn opens_a_tunnel_on_a_connection_that_served_a_request() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(ok).await;
        let mut requests = get(&origin.address, "/", "");
        requests += &["CONNECT ", &origin.address, " HTTP/1.1\r\n\r\n"].concat();
        requests += "GET /inner HTTP/1.1\r\nConnection: close\r\n\r\n";
        let (mut client, _task) = connect(&worker).await;
        client.write_all(requests.as_bytes()).await.unwrap();
        let wanted = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\
            HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\n";
        let mut answer = vec![0; wanted.len()];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(
            String::from_utf8_lossy(&answer),
            String::from_utf8_lossy(wanted)
        );
        assert_eq!(origin.seen().len(), 2);
    });
}

#[test]
fn records_a_client_that_leaves_in_the_middle_of_its_body() {
    local(async {
        let (worker, records) = stage();
        let origin = Origin::start(ok).await;
        let (mut client, task) = connect(&worker).await;
        let head = format!(
            "POST http://{0}/ HTTP/1.1\r\nHost: {0}\r\nContent-Length: 10\r\n\r\nhalf",
            origin.address
        );
        client.write_all(head.as_bytes()).await.unwrap();
        drop(client);
        task.await.unwrap();
        let records = records.take();
        let events: Vec<_> = records
            .iter()
            .map(|entry| (entry.event, entry.cause))
            .collect();
        // Whoever leaves was refused nothing.
        let expected = [
            (Event::Decision, Cause::Policy),
            (Event::Close, Cause::Client),
        ];
        assert_eq!(events, expected);
    });
}

#[test]
fn answers_every_head_whatever_is_in_it() {
    local(async {
        let (worker, _records) = stage();
        let origin = Origin::start(ok).await;
        let whole = get(
            &origin.address,
            "/a?b",
            "X-Some: thing\r\nConnection: close\r\n",
        );
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap()
        };
        for _ in 0..300 {
            let mut bytes = whole.clone().into_bytes();
            let at = next() % (bytes.len() - 4);
            bytes[at] = u8::try_from(next() % 256).unwrap();
            let (mut client, _task) = connect(&worker).await;
            client.write_all(&bytes).await.unwrap();
            let mut start = [0; 9];
            let read = client.read_exact(&mut start).await;
            assert!(read.is_ok(), "{:?}", String::from_utf8_lossy(&bytes));
            assert!(start.starts_with(b"HTTP/1.") || start[0] == 0 || start[0] == 5);
        }
    });
}
