use std::rc::Rc;
use std::sync::Arc;

use bytes::BytesMut;
use moat_policy::record::{Actor, Cause, Event, Protocol};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::drain::Drain;
use crate::testing::{self, Records, client, config, listener, local};

/// A client that talks to the door.
struct Bed {
    client: TcpStream,
    records: Records,
    drain: Rc<Drain>,
    task: JoinHandle<()>,
}

async fn bed() -> Bed {
    let (near, client) = client().await;
    let policy = testing::policy(&["127.0.0.1:*", "allowed.test"]);
    let (worker, records) = testing::worker(policy, config(), &[]);
    let drain = Rc::clone(worker.drain());
    let task = tokio::task::spawn_local(async move {
        let actor = Arc::new(Actor::default());
        super::serve(&worker, near, actor, BytesMut::new()).await;
    });
    Bed {
        client,
        records,
        drain,
        task,
    }
}

impl Bed {
    async fn expect(&mut self, bytes: &[u8]) {
        let mut got = vec![0; bytes.len()];
        self.client.read_exact(&mut got).await.unwrap();
        assert_eq!(got, bytes);
    }
}

/// What a client that sends all this at once gets until the end, and the one record.
async fn answer(bytes: &[u8]) -> (Vec<u8>, Cause, Option<u16>) {
    let mut bed = bed().await;
    bed.client.write_all(bytes).await.unwrap();
    let mut got = Vec::new();
    // The client ends its side too, so that the door need not wait for it.
    bed.client.shutdown().await.unwrap();
    bed.client.read_to_end(&mut got).await.unwrap();
    bed.task.await.unwrap();
    let records = bed.records.take();
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0].event, Event::Decision);
    assert_eq!(records[0].protocol, Some(Protocol::Socks5));
    (got, records[0].cause, records[0].status)
}

fn failed(code: u8) -> Vec<u8> {
    vec![5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

fn by_name(name: &[u8], port: u16) -> Vec<u8> {
    let mut bytes = vec![5, 1, 0, 5, 1, 0, 3, u8::try_from(name.len()).unwrap()];
    bytes.extend(name);
    bytes.extend(port.to_be_bytes());
    bytes
}

#[test]
fn a_handshake_byte_by_byte_with_several_methods_makes_a_tunnel() {
    local(async {
        let (origin, address) = listener().await;
        let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
        let mut bed = bed().await;
        for byte in [5, 4, 0, 1, 2, 0x80] {
            bed.client.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        bed.expect(&[5, 0]).await;
        let mut request = vec![5, 1, 0, 3, 9];
        request.extend(b"127.0.0.1");
        request.extend(port.to_be_bytes());
        for byte in request {
            bed.client.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        bed.expect(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await;
        let (mut origin, _) = origin.accept().await.unwrap();
        origin.write_all(b"hello").await.unwrap();
        bed.expect(b"hello").await;
    });
}

#[test]
fn bytes_behind_the_request_go_upstream_once() {
    local(async {
        let (origin, address) = listener().await;
        let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
        let mut bed = bed().await;
        let mut all = vec![5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1];
        all.extend(port.to_be_bytes());
        all.extend(b"EARLY");
        bed.client.write_all(&all).await.unwrap();
        bed.client.shutdown().await.unwrap();
        let (mut origin, _) = origin.accept().await.unwrap();
        let mut got = Vec::new();
        origin.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, b"EARLY");
    });
}

#[test]
fn policy_refuses_names_and_addresses_with_code_2() {
    local(async {
        let denied = answer(&by_name(b"denied.test", 443)).await;
        assert_eq!(denied, (failed(2), Cause::Default, Some(2)));
        let four = answer(&[5, 1, 0, 5, 1, 0, 1, 10, 0, 0, 1, 0, 80]).await;
        assert_eq!(four, (failed(2), Cause::Guarded, Some(2)));
        let mut six = vec![5, 1, 0, 5, 1, 0, 4];
        six.extend(std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).octets());
        six.extend([0, 80]);
        assert_eq!(answer(&six).await.0, failed(2));
    });
}

#[test]
fn what_the_protocol_has_and_moat_has_not_gets_its_own_code() {
    local(async {
        for (command, code) in [(2, 7), (3, 7), (9, 7)] {
            let said = answer(&[5, 1, 0, 5, command, 0, 1, 127, 0, 0, 1, 0, 80]).await;
            assert_eq!(said, (failed(code), Cause::Malformed, Some(code.into())));
        }
        let said = answer(&[5, 1, 0, 5, 1, 0, 2, 127, 0, 0, 1, 0, 80]).await;
        assert_eq!(said, (failed(8), Cause::Malformed, Some(8)));
        let said = answer(&[5, 2, 1, 2]).await;
        assert_eq!(said, (vec![5, 0xff], Cause::Malformed, Some(0xff)));
        let said = answer(&[4, 1, 0, 80, 127, 0, 0, 1, 0]).await;
        let rejected = vec![0, 91, 0, 0, 0, 0, 0, 0];
        assert_eq!(said, (rejected, Cause::Malformed, Some(91)));
    });
}

#[test]
fn names_that_are_no_names_are_malformed_and_recorded() {
    local(async {
        for name in [
            &b"a\0.test"[..],
            b"a\r\nb.test",
            b"",
            b"0x7f.1",
            b"2130706433",
        ] {
            let said = answer(&by_name(name, 443)).await;
            assert_eq!(said, (failed(1), Cause::Malformed, Some(1)), "{name:?}");
        }
        let said = answer(&by_name(b"allowed.test", 0)).await;
        assert_eq!(said, (failed(1), Cause::Malformed, Some(1)));
    });
}

#[test]
fn a_handshake_that_breaks_off_is_recorded() {
    local(async {
        let said = answer(&[5, 1, 0, 5, 1]).await;
        assert_eq!(said, (vec![5, 0], Cause::Malformed, None));
    });
}

#[test]
fn a_handshake_that_the_end_of_the_proxy_overtakes_is_refused_with_a_record() {
    local(async {
        let mut bed = bed().await;
        bed.client.write_all(&[5, 1, 0]).await.unwrap();
        bed.expect(&[5, 0]).await;
        bed.drain.finish();
        assert_eq!(bed.client.read(&mut [0; 16]).await.unwrap(), 0);
        bed.client.shutdown().await.unwrap();
        bed.task.await.unwrap();
        let records = bed.records.take();
        assert_eq!(records.len(), 1, "{records:?}");
        assert_eq!(records[0].cause, Cause::Shutdown);
        assert_eq!(records[0].status, None);
    });
}
