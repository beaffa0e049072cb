//! The plain HTTP door: one request at a time from the client's connection to an upstream
//! connection of the pool or a fresh one, hyper on both sides.
//!
//! Each request of a connection is judged anew; what it may reach says nothing about the next.

mod body;
mod exchange;
mod fields;
mod held;
mod order;

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use bytes::BytesMut;
use moat_policy::record::{Actor, Cause, Protocol};
use moat_policy::request::Target;
use tokio::io::AsyncWriteExt as _;

pub(crate) use self::body::Upload;
use self::exchange::Exchange;
pub(crate) use self::order::Order;
use crate::authorize::{self, Asked, Exact, Unread};
use crate::client::ClientStream;
use crate::connect;
use crate::gate::Gate;
use crate::head::Framing;
use crate::id::EventId;
use crate::linger;
use crate::refusal::Refusal;
use crate::reply::{Form, Reply, Then};
use crate::worker::Worker;

/// A refused request's body is read up to this size, so that the connection can go on.
const MAX_DRAINED: u64 = 64 * 1024;

/// A client's connection between two requests, with what was read of the next.
pub(crate) type Client = (ClientStream, BytesMut);

/// Serves one request. `bytes` is what was read behind its head. Gives the connection back if the
/// next request may follow.
pub(crate) async fn serve(
    worker: &Rc<Worker>,
    client: Client,
    actor: &Arc<Actor>,
    mut order: Order,
) -> Option<Client> {
    let id = worker.next_id();
    let method = Some(order.registered());
    let no_target = Err((None, Refusal::malformed("no target")));
    let target = match std::mem::replace(&mut order.target, no_target) {
        Ok(target) => target,
        Err((target, refusal)) => {
            let unread = Unread {
                id,
                protocol: Protocol::Http,
                actor: Arc::clone(actor),
                target: target.clone(),
                method,
            };
            authorize::unread(worker, unread, &refusal, Some(refusal.status));
            let answer = Answer::new(worker, &order, target.as_ref(), id);
            return answer.refuse(client, &refusal).await;
        }
    };
    let asked = Asked {
        id,
        protocol: Protocol::Http,
        actor: Arc::clone(actor),
        target: target.clone(),
        method,
        exact: Some(Box::new(Exact {
            method: std::mem::take(&mut order.method),
            path: order.path.take(),
        })),
    };
    match open(worker, asked, &client.0).await {
        Ok(exchange) => exchange.run(client, order, id).await,
        // Nobody hears an answer.
        Err(refusal) if refusal.cause == Cause::Client => None,
        Err(refusal) => {
            let answer = Answer::new(worker, &order, Some(&target), id);
            answer.refuse(client, &refusal).await
        }
    }
}

/// From a read request to an upstream connection that may carry it.
async fn open(
    worker: &Rc<Worker>,
    asked: Asked,
    client: &ClientStream,
) -> Result<Rc<Exchange>, Refusal> {
    let mut gone = pin!(client.gone());
    let (permit, checked) = connect::judge(worker, asked, gone.as_mut()).await?;
    Exchange::open(worker, permit, checked, gone).await
}

/// Where and how a refusal is said.
struct Answer<'a> {
    worker: &'a Worker,
    target: Option<&'a Target>,
    id: EventId,
    form: Form,
    body: Framing,
    /// Whether the client would go on.
    persists: bool,
}

impl<'a> Answer<'a> {
    fn new(worker: &'a Worker, order: &Order, target: Option<&'a Target>, id: EventId) -> Self {
        Self {
            worker,
            target,
            id,
            form: order.form,
            body: order.body,
            // A client that waits for 100 may or may not send its body after another answer.
            persists: order.persists && !order.expects,
        }
    }

    /// Says no, and keeps the connection where the next request can be found.
    async fn refuse(self, (mut stream, bytes): Client, refusal: &Refusal) -> Option<Client> {
        let short = match self.body {
            Framing::Empty => true,
            Framing::Length(length) => length <= MAX_DRAINED,
            Framing::Chunked => false,
        };
        // After a fault of the client nothing it sends is trusted.
        let keeps = self.persists
            && short
            && matches!(refusal.status, 403 | 502 | 504)
            && !self.worker.drain().has_begun();
        let reply = Reply {
            refusal,
            target: self.target,
            id: self.id,
            form: self.form,
            then: if keeps { Then::KeepAlive } else { Then::Close },
        };
        let answer = reply.to_bytes();
        if !keeps {
            linger::say(&mut stream, &answer).await;
            return None;
        }
        let rest = async {
            stream.write_all(&answer).await?;
            let mut gate = Gate::new(stream, BytesMut::new(), &bytes, self.body);
            tokio::io::copy(&mut gate, &mut tokio::io::sink()).await?;
            Ok::<_, std::io::Error>(gate.into_inner())
        };
        let limit = self.worker.config().timeouts.head;
        match tokio::time::timeout(limit, rest).await {
            Ok(Ok(client)) => Some(client),
            Ok(Err(_)) | Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
