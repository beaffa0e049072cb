//! What may go over a connection that served others before.

use std::net::Ipv4Addr;
use std::rc::Rc;

use hyper::Request;
use moat_policy::record::{Cause, Event};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{LAST, connect, exchange, get, read_head, stage};
use crate::client::ClientStream;
use crate::forward::body::{Moved, Upload};
use crate::pool::Upstream;
use crate::testing::{self, Records, local};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const FORGED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";

/// Serves one request on the next connection, with these bytes.
async fn answer(listener: &TcpListener, bytes: &[u8]) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    read_head(&mut stream).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// Reads an answer that has `ok` as its body.
async fn read_ok(client: &mut TcpStream) {
    let head = read_head(client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let mut body = [0; 2];
    client.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"ok");
}

/// What happened, without times.
fn events(records: &Records) -> Vec<(Event, Cause, Option<u16>)> {
    let records = records.take();
    records
        .iter()
        .map(|entry| (entry.event, entry.cause, entry.status))
        .collect()
}

#[test]
fn an_answer_that_nobody_asked_for_answers_no_later_request() {
    local(async {
        for method in ["GET", "POST"] {
            let (worker, records) = stage();
            let (listener, address) = testing::listener().await;
            let (mut client, _task) = connect(&worker).await;
            let first = get(&address, "/", "");
            client.write_all(first.as_bytes()).await.unwrap();
            let mut kept = answer(&listener, OK).await;
            read_ok(&mut client).await;
            while worker.pool.len() == 0 {
                tokio::task::yield_now().await;
            }
            // The kernel has it before the runtime can look, as an origin that takes aim wants it.
            testing::write_now(&mut kept, FORGED);
            let body = "Content-Length: 3\r\n";
            let second = get(&address, "/", body).replacen("GET", method, 1) + "abc";
            testing::write_now(&mut client, second.as_bytes());
            let mut fresh = answer(&listener, OK).await;
            read_ok(&mut client).await;
            let mut sent = [0; 3];
            fresh.read_exact(&mut sent).await.unwrap();
            assert_eq!(
                &sent, b"abc",
                "the body goes whole over the fresh connection"
            );
            assert_eq!(kept.read(&mut [0]).await.unwrap_or(0), 0, "nothing came");
            assert_eq!(
                events(&records).len(),
                4,
                "a second dial is no second request"
            );
        }
    });
}

#[test]
fn what_only_the_kernel_knows_of_answers_no_request() {
    local(async {
        let (worker, _records) = stage();
        let (near, mut far) = testing::client().await;
        let ClientStream::Tcp(near) = near else {
            panic!("a client by TCP");
        };
        let here = Ipv4Addr::LOCALHOST.into();
        let mut upstream = Upstream::new(near, here).await.unwrap();
        upstream.ready().await;
        // No turn of the runtime's own lies between this and the request.
        testing::write_now(&mut far, FORGED);
        let moved = Rc::new(Moved::new(&worker));
        let upload = Upload::new(moved, Rc::clone(&upstream.line));
        let request = Request::get("/").header("host", "a.test");
        let answered = upstream.send(request.body(upload).unwrap()).await;
        assert!(answered.is_err(), "{answered:?}");
        assert!(!upstream.line.has_begun());
    });
}

#[test]
fn bytes_on_a_connection_that_waits_end_it() {
    local(async {
        let (worker, _records) = stage();
        let (listener, address) = testing::listener().await;
        let (mut client, _task) = connect(&worker).await;
        let request = get(&address, "/", "");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut kept = answer(&listener, OK).await;
        read_ok(&mut client).await;
        kept.write_all(FORGED).await.unwrap();
        // Closed with bytes unread, or read and closed.
        drop(kept.read(&mut [0]).await);
        while worker.pool.len() > 0 {
            worker.pool.sweep();
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_connection_with_more_than_the_answer_is_not_kept() {
    local(async {
        let (worker, _records) = stage();
        let (listener, address) = testing::listener().await;
        for extra in [FORGED, b"x"] {
            let (mut client, _task) = connect(&worker).await;
            let request = get(&address, "/", "");
            client.write_all(request.as_bytes()).await.unwrap();
            let mut kept = answer(&listener, &[OK, extra].concat()).await;
            read_ok(&mut client).await;
            drop(kept.read(&mut [0]).await);
            assert_eq!(worker.pool.len(), 0);
        }
    });
}

#[test]
fn an_origin_that_speaks_first_is_no_answer() {
    local(async {
        let (worker, records) = stage();
        let (listener, address) = testing::listener().await;
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            testing::write_now(&mut stream, FORGED);
            drop(stream.read(&mut [0]).await);
        });
        let (mut client, _task) = connect(&worker).await;
        testing::write_now(&mut client, get(&address, "/", LAST).as_bytes());
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(!answer.contains("forged"), "{answer}");
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        let close = events(&records).pop().unwrap();
        assert_eq!(close, (Event::Close, Cause::Upstream, Some(502)));
    });
}

/// Sends a request of this method over a connection whose origin ends as soon as it has read that,
/// and says what a client was answered; a second connection answers `ok`.
async fn after_a_lost_connection(method: &str, body: &str) -> (String, usize) {
    let (worker, _records) = stage();
    let (listener, address) = testing::listener().await;
    let (mut client, _task) = connect(&worker).await;
    let request = get(&address, "/", "");
    client.write_all(request.as_bytes()).await.unwrap();
    let mut kept = answer(&listener, OK).await;
    read_ok(&mut client).await;
    let headers = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
    let second = get(&address, "/", &headers).replacen("GET", method, 1) + body;
    client.write_all(second.as_bytes()).await.unwrap();
    read_head(&mut kept).await.unwrap();
    drop(kept);
    let mut said = String::new();
    tokio::select! {
        read = client.read_to_string(&mut said) => { read.unwrap(); }
        fresh = answer(&listener, OK) => {
            client.read_to_string(&mut said).await.unwrap();
            drop(fresh);
            return (said, 2);
        }
    }
    (said, 1)
}

#[test]
fn a_request_that_may_be_repeated_is_where_its_kept_connection_ends() {
    local(async {
        for (method, body) in [("GET", ""), ("PUT", ""), ("OPTIONS", "")] {
            let (said, dials) = after_a_lost_connection(method, body).await;
            assert!(said.starts_with("HTTP/1.1 200 "), "{method}: {said}");
            assert_eq!(dials, 2);
        }
    });
}

#[test]
fn a_request_that_may_have_had_its_effect_is_not_repeated() {
    local(async {
        for (method, body) in [("POST", ""), ("PATCH", "abc"), ("PUT", "abc")] {
            let (said, dials) = after_a_lost_connection(method, body).await;
            assert!(said.starts_with("HTTP/1.1 502 "), "{method}: {said}");
            assert_eq!(dials, 1);
        }
    });
}

#[test]
fn a_request_is_not_repeated_on_a_fresh_connection() {
    local(async {
        let (worker, _records) = stage();
        let (listener, address) = testing::listener().await;
        let dials = tokio::task::spawn_local(async move {
            for count in 0.. {
                let Ok((mut stream, _)) = listener.accept().await else {
                    return count;
                };
                read_head(&mut stream).await.unwrap();
                if count > 0 {
                    return count;
                }
            }
            0
        });
        let said = exchange(&worker, &get(&address, "/", LAST)).await;
        assert!(said.starts_with("HTTP/1.1 502 "), "{said}");
        assert!(!dials.is_finished());
    });
}

#[test]
fn a_repeated_request_is_asked_about_anew() {
    local(async {
        let (worker, records) = stage();
        let (listener, address) = testing::listener().await;
        let (mut client, _task) = connect(&worker).await;
        client
            .write_all(get(&address, "/", "").as_bytes())
            .await
            .unwrap();
        let mut kept = answer(&listener, OK).await;
        read_ok(&mut client).await;
        client
            .write_all(get(&address, "/", LAST).as_bytes())
            .await
            .unwrap();
        read_head(&mut kept).await.unwrap();
        testing::replace(&worker, testing::policy(&["other.test"]));
        drop(kept);
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
        let expected = [
            (Event::Decision, Cause::Policy, None),
            (Event::Close, Cause::Done, Some(200)),
            (Event::Decision, Cause::Policy, None),
            (Event::Decision, Cause::Guarded, Some(403)),
            (Event::Close, Cause::Guarded, Some(403)),
        ];
        assert_eq!(events(&records), expected);
    });
}
