//! Exchanges that one side ends before their time.

use std::time::Duration;

use moat_policy::record::{Cause, EndedBy, Event};
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Origin, connect, exchange, get, read_head, stage};
use crate::testing::{self, local};

#[test]
fn lets_go_of_an_origin_when_the_client_has_left() {
    local(async {
        let (worker, records) = stage();
        let (listener, address) = testing::listener().await;
        let (mut client, task) = connect(&worker).await;
        let request = get(&address, "/", "");
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut upstream, _) = listener.accept().await.unwrap();
        read_head(&mut upstream).await.unwrap();
        SockRef::from(&client)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        drop(client);
        task.await.unwrap();
        assert_eq!(upstream.read(&mut [0]).await.unwrap(), 0);
        let close = records.take().pop().unwrap();
        assert_eq!((close.event, close.cause), (Event::Close, Cause::Client));
        assert_eq!(close.traffic.unwrap().ended_by, EndedBy::Client);
    });
}

#[test]
fn passes_on_an_answer_that_comes_before_the_body_was_read() {
    local(async {
        let (worker, _records) = stage();
        let (listener, address) = testing::listener().await;
        for _ in 0..8 {
            let (client, _task) = connect(&worker).await;
            let (mut reader, mut writer) = client.into_split();
            let head = format!(
                "POST http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\
                 Content-Length: 50000000\r\n\r\n"
            );
            tokio::task::spawn_local(async move {
                writer.write_all(head.as_bytes()).await.unwrap();
                while writer.write_all(&[0; 8192]).await.is_ok() {}
            });
            let (mut upstream, _) = listener.accept().await.unwrap();
            read_head(&mut upstream).await.unwrap();
            let answer = b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n";
            upstream.write_all(answer).await.unwrap();
            drop(upstream);
            let mut start = [0; 12];
            reader.read_exact(&mut start).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&start), "HTTP/1.1 413");
        }
    });
}

#[test]
fn tells_a_client_that_has_heard_nothing_of_a_broken_response() {
    local(async {
        let (worker, _records) = stage();
        let origin =
            Origin::start(|_| b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno".to_vec());
        let address = origin.await.address;
        let answer = exchange(&worker, &get(&address, "/", "Connection: close\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    });
}

#[test]
fn a_client_that_resets_in_the_middle_of_its_body_is_no_failure_of_the_origin() {
    local(async {
        let (worker, records) = stage();
        let (listener, address) = testing::listener().await;
        let (mut client, task) = connect(&worker).await;
        let body = "Content-Length: 100000\r\n";
        let request = get(&address, "/", body).replacen("GET", "POST", 1) + "abc";
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut origin, _) = listener.accept().await.unwrap();
        read_head(&mut origin).await.unwrap();
        origin.read_exact(&mut [0; 3]).await.unwrap();
        let linger = Some(Duration::ZERO);
        SockRef::from(&client).set_linger(linger).unwrap();
        drop(client);
        task.await.unwrap();
        let records = records.take();
        let end = records.last().unwrap();
        assert_eq!((end.event, end.cause), (Event::Close, Cause::Client));
        assert_eq!(end.traffic.unwrap().ended_by, EndedBy::Client);
    });
}
