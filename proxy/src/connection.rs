//! One client connection, from its first byte to the door that it goes through.
//!
//! Bytes are read here until a whole head is there; a connection that is silent, fresh or between
//! two requests, owns no buffer.

use std::rc::Rc;
use std::sync::Arc;

use bytes::BytesMut;
use moat_policy::record::{Actor, Protocol};

use crate::authorize::{self, Unread};
use crate::client::ClientStream;
use crate::head;
use crate::linger;
use crate::refusal::Refusal;
use crate::reply;
use crate::scratch;
use crate::socks;
use crate::worker::Worker;
use crate::{connect, forward};

/// The first byte of a TLS record that carries a handshake (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 0x16;
const SOCKS4: u8 = 4;
const SOCKS5: u8 = 5;

/// Serves one connected client until the connection ends.
pub(crate) async fn serve(worker: &Rc<Worker>, mut stream: ClientStream, actor: Arc<Actor>) {
    let mut bytes = BytesMut::new();
    if !awaken(worker, &mut stream, &mut bytes).await {
        return;
    }
    match bytes.first() {
        Some(&SOCKS4 | &SOCKS5) => return socks::serve(worker, stream, actor, bytes).await,
        Some(&TLS_HANDSHAKE) => {
            let refusal = Refusal::malformed("this listener speaks plain HTTP, not TLS");
            return refuse(worker, stream, &actor, &refusal).await;
        }
        _ => {}
    }
    loop {
        let limit = worker.config().timeouts.head;
        let read = tokio::select! {
            biased;
            read = head::read(&mut stream, &mut bytes, limit) => read,
            () = worker.drain().over() => Err(Refusal::shut_down_unread()),
        };
        let length = match read {
            Ok(length) => length,
            Err(refusal) => return refuse(worker, stream, &actor, &refusal).await,
        };
        let text = bytes.split_to(length);
        let head = match head::check(&text) {
            Ok(head) => head,
            Err(refusal) => return refuse(worker, stream, &actor, &refusal).await,
        };
        if head.method == "CONNECT" {
            let wanted = connect::Wanted::new(&head);
            drop(text);
            return connect::serve(worker, stream, actor, wanted, bytes).await;
        }
        let order = forward::Order::new(&text, &head);
        drop(text);
        // Boxed, so that a tunnel's task is not as large as an exchange's.
        let served = Box::pin(forward::serve(worker, (stream, bytes), &actor, order));
        let Some(next) = served.await else {
            return;
        };
        (stream, bytes) = next;
        if !awaken(worker, &mut stream, &mut bytes).await {
            return;
        }
    }
}

/// Waits until a request begins; false if none will: the client left or stayed silent for too long,
/// or the proxy drains.
async fn awaken(worker: &Worker, stream: &mut ClientStream, bytes: &mut BytesMut) -> bool {
    if !is_silence(bytes) {
        return true;
    }
    // What is kept is in as much room as it takes, so that silence costs none.
    *bytes = BytesMut::from(&**bytes);
    let beginning = async {
        while is_silence(bytes) {
            if !matches!(scratch::read(stream, bytes).await, Ok(1..)) {
                return false;
            }
        }
        true
    };
    let beginning = tokio::time::timeout(worker.config().timeouts.idle, beginning);
    tokio::select! {
        biased;
        begun = beginning => begun.unwrap_or(false),
        () = worker.drain().begun() => false,
    }
}

/// Whether no head begins with these bytes. Some clients send an empty line behind a body, which
/// belongs to no request (RFC 9112, section 2.2).
fn is_silence(bytes: &[u8]) -> bool {
    b"\r\n".starts_with(bytes)
}

/// Refuses what could not be read as a request.
async fn refuse(worker: &Worker, mut stream: ClientStream, actor: &Arc<Actor>, refusal: &Refusal) {
    let unread = Unread::new(worker, Protocol::Unknown, actor);
    let bytes = reply::refusal(refusal, None, unread.id);
    authorize::unread(worker, unread, refusal, Some(refusal.status));
    linger::say(&mut stream, &bytes).await;
}

#[cfg(test)]
mod tests;
