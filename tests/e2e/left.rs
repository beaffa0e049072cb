//! Clients that leave before there is an answer, and clients that only stop sending.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::SockRef;

use crate::support::bed;
use crate::support::client::{Client, socks_target};
use crate::support::moat::Moat;
use crate::support::namespace::Bed;
use crate::support::origin::After;
use crate::support::socket;
use crate::support::wait::wait_for;

/// A connection attempt to this place takes longer than any test.
const NOWHERE: &str = "127.0.0.2:82";

/// How a client leaves.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Leave {
    Reset,
    Close,
}

fn leave(client: Client, how: Leave) {
    if how == Leave::Reset {
        let now = Some(Duration::ZERO);
        SockRef::from(&client.stream).set_linger(now).unwrap();
    }
    drop(client);
}

/// The exchange has one close, which names the client, and its place is free.
fn is_let_go(moat: &Moat) {
    let close = moat.wait_record("close", |record| record["cause"] == "client");
    assert_eq!(close["ended_by"], "client", "{close}");
    assert!(close["status"].is_null(), "{close}");
    let closes = || {
        let records = moat.records();
        records.iter().filter(|one| one["event"] == "close").count()
    };
    assert_eq!(closes(), 1);
    wait_for("a free place", || {
        (moat.metric("moat_connections_active") < 0.5).then_some(())
    });
}

/// A client that leaves during the dial that this request leads to.
fn during_a_dial(bed: &Bed, request: &[u8], how: Leave) {
    let _full = socket::swallow(([127, 0, 0, 2], 82).into());
    let moat = bed.moat().flag("--connect-timeout", "1h").start();
    moat.count(1);
    let mut client = moat.dial();
    client.send(request);
    moat.decision("127.0.0.2");
    leave(client, how);
    is_let_go(&moat);
    moat.finish();
}

fn connect() -> String {
    format!("CONNECT {NOWHERE} HTTP/1.1\r\nHost: {NOWHERE}\r\n\r\n")
}

fn socks() -> Vec<u8> {
    [&[5, 1, 0][..], &socks_target("127.0.0.2", 82)].concat()
}

#[test]
fn a_connect_that_is_reset_during_its_dial_ends_at_once() {
    bed(|bed| during_a_dial(bed, connect().as_bytes(), Leave::Reset));
}

#[test]
fn a_connect_that_is_closed_during_its_dial_ends_at_once() {
    bed(|bed| during_a_dial(bed, connect().as_bytes(), Leave::Close));
}

#[test]
fn a_connect_that_is_reset_with_bytes_ahead_ends_at_once() {
    bed(|bed| {
        during_a_dial(
            bed,
            &[connect().as_bytes(), b"early"].concat(),
            Leave::Reset,
        );
    });
}

#[test]
fn a_socks_request_that_is_reset_during_its_dial_ends_at_once() {
    bed(|bed| during_a_dial(bed, &socks(), Leave::Reset));
}

#[test]
fn a_socks_request_that_is_closed_during_its_dial_ends_at_once() {
    bed(|bed| during_a_dial(bed, &socks(), Leave::Close));
}

#[test]
fn a_plain_request_that_is_reset_during_its_dial_ends_at_once() {
    let request = format!("GET http://{NOWHERE}/ HTTP/1.1\r\nHost: {NOWHERE}\r\n\r\n");
    bed(|bed| during_a_dial(bed, request.as_bytes(), Leave::Reset));
}

#[test]
fn a_client_that_resets_while_it_waits_for_a_response_is_let_go_with_its_origin() {
    bed(|bed| {
        let (asked, is_asked) = sync_channel(1);
        let (ended, has_ended) = sync_channel(1);
        bed.origins.on("/slow", move |stream, _| {
            asked.send(()).unwrap();
            ended.send(stream.read(&mut [0]).unwrap_or(0)).unwrap();
            After::Close
        });
        let moat = bed.moat().start();
        moat.count(1);
        let mut client = moat.dial();
        client.send("GET http://allowed.test/slow HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
        is_asked.recv().unwrap();
        leave(client, Leave::Reset);
        assert_eq!(has_ended.recv(), Ok(0));
        is_let_go(&moat);
        moat.finish();
    });
}

/// A client of this version, with these headers, that ends its sending before its download begins.
fn half_closed(bed: &Bed, version: &str, headers: &str) {
    const SIZE: usize = 4 << 20;
    let (go, going) = sync_channel::<()>(1);
    let going = Arc::new(Mutex::new(going));
    bed.origins.on("/long", move |stream, _| {
        going.lock().unwrap().recv().unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&vec![b'x'; SIZE]);
        After::Keep
    });
    let moat = bed.moat().start();
    moat.count(1);
    let mut client = moat.dial();
    client.send(format!(
        "GET http://allowed.test/long HTTP/{version}\r\nHost: allowed.test\r\n{headers}\r\n"
    ));
    client.half_close();
    moat.decision("allowed.test");
    go.send(()).unwrap();
    let answer = client.answer();
    assert_eq!((answer.status(), answer.body.len()), (200, SIZE));
    assert!(client.rest().0.is_empty());
    let close = moat.wait_record("close", |_| true);
    assert_eq!(close["cause"], "done", "{close}");
    moat.finish();
}

#[test]
fn a_client_that_ends_its_sending_gets_its_whole_response() {
    bed(|bed| half_closed(bed, "1.1", ""));
}

#[test]
fn an_old_client_that_ends_its_sending_gets_its_whole_response() {
    bed(|bed| half_closed(bed, "1.0", ""));
}

#[test]
fn an_old_client_that_would_go_on_gets_its_whole_response_without() {
    bed(|bed| half_closed(bed, "1.0", "Connection: keep-alive\r\n"));
}
