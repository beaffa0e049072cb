//! Open exchanges under a policy that came later.

use std::rc::Rc;
use std::sync::Arc;

use moat_policy::policy::Policy;
use moat_policy::record::{Cause, EndedBy, Event};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{connect, get, read_head};
use crate::testing::{self, Records, local};
use crate::worker::Worker;

/// A policy that allows loopback.
fn loopback() -> Arc<Policy> {
    testing::policy(&["127.0.0.1/32:*"])
}

fn stage() -> (Rc<Worker>, Records) {
    let mut config = testing::config();
    config.recheck = true;
    testing::worker(loopback(), config, &[])
}

#[test]
fn an_exchange_that_a_new_policy_refuses_is_cut() {
    local(async {
        for version in ["1.1", "1.0"] {
            let (worker, records) = stage();
            let (listener, address) = testing::listener().await;
            let (mut client, task) = connect(&worker).await;
            let request =
                get(&address, "/o/long", "").replace("HTTP/1.1", &format!("HTTP/{version}"));
            client.write_all(request.as_bytes()).await.unwrap();
            let (mut upstream, _) = listener.accept().await.unwrap();
            read_head(&mut upstream).await.unwrap();
            let start = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf";
            upstream.write_all(start).await.unwrap();
            read_head(&mut client).await.unwrap();
            testing::replace(&worker, testing::policy(&["other.test"]));
            task.await.unwrap();
            let mut rest = Vec::new();
            let ended = client.read_to_end(&mut rest).await;
            let looks_whole = version == "1.0" && ended.is_ok() || rest.ends_with(b"0\r\n\r\n");
            assert!(!looks_whole, "{ended:?} {rest:?}");
            assert_eq!(upstream.read(&mut [0]).await.unwrap_or(0), 0);
            let mut records = records.take();
            assert_eq!(records.len(), 2);
            let close = records.pop().unwrap();
            assert_eq!((close.event, close.cause), (Event::Close, Cause::Shutdown));
            assert_eq!(close.traffic.unwrap().ended_by, EndedBy::Moat);
        }
    });
}

#[test]
fn a_client_without_an_answer_is_told_of_the_new_policy() {
    local(async {
        let (worker, records) = stage();
        let (listener, address) = testing::listener().await;
        let (mut client, task) = connect(&worker).await;
        let request = get(&address, "/o/slow", "Connection: close\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut upstream, _) = listener.accept().await.unwrap();
        read_head(&mut upstream).await.unwrap();
        testing::replace(&worker, testing::policy(&["other.test"]));
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        drop(client);
        task.await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        let records = records.take();
        let digests: Vec<_> = records.iter().map(|entry| &entry.policy).collect();
        assert_ne!(digests[0], digests[1], "who refused is in the record");
        let seen: Vec<_> = records
            .iter()
            .map(|entry| (entry.event, entry.cause, entry.status))
            .collect();
        let expected = [
            (Event::Decision, Cause::Policy, None),
            (Event::Decision, Cause::Guarded, Some(403)),
            (Event::Close, Cause::Shutdown, Some(403)),
        ];
        assert_eq!(seen, expected);
    });
}

#[test]
fn an_exchange_that_a_new_policy_allows_goes_on() {
    local(async {
        let (worker, records) = stage();
        let (listener, address) = testing::listener().await;
        let (mut client, task) = connect(&worker).await;
        let request = get(&address, "/o/long", "Connection: close\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut upstream, _) = listener.accept().await.unwrap();
        read_head(&mut upstream).await.unwrap();
        let start = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha";
        upstream.write_all(start).await.unwrap();
        read_head(&mut client).await.unwrap();
        testing::replace(&worker, loopback());
        upstream.write_all(b"lf").await.unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"half");
        task.await.unwrap();
        assert_eq!(records.take().pop().unwrap().cause, Cause::Done);
    });
}
