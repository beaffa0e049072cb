//! One request and its response, from the client's connection through hyper to an upstream
//! connection and back.

mod send;
mod watch;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;

use hyper::body::Incoming;
use hyper::client::conn::http1::Parts;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use moat_policy::record::{Cause, EndedBy};
use tokio::sync::oneshot;

use self::send::dial;
use self::watch::Stop;
use super::body::{Download, Moved};
use super::fields::{self, Switch};
use super::held::Held;
use super::{Answer, Client, Order, order};
use crate::authorize::{self, Checked, Permit, Ticket};
use crate::client::ClientStream;
use crate::gate::Gate;
use crate::head::{Framing, MAX_HEAD, MAX_HEADERS, Version};
use crate::id::EventId;
use crate::linger;
use crate::pool::{BROKEN, Key, OriginSocket, Upstream};
use crate::refusal::Refusal;
use crate::tunnel::{self, Ends, Opening};
use crate::worker::Worker;

/// What hyper may buffer of a response that the client is slow to take.
const MAX_BUFFERED: usize = 64 * 1024;

/// What the client's and the upstream's half of an exchange share. Dropping it writes the close
/// record, so that an exchange that is cut anywhere has one.
#[derive(Debug)]
pub(super) struct Exchange {
    worker: Rc<Worker>,
    key: Key,
    checked: Checked,
    /// Gone once a tunnel has taken it over, or once the record of its end is written.
    ticket: RefCell<Option<Ticket>>,
    upstream: RefCell<Option<Upstream>>,
    /// Whether the upstream connection served others before.
    reused: bool,
    moved: Rc<Moved>,
    /// Why there will be no response of the origin.
    failure: RefCell<Option<Refusal>>,
    /// Whether a response has begun.
    answered: Cell<bool>,
    /// Gives the upstream's connection after a switch of protocols.
    switched: RefCell<Option<oneshot::Receiver<Parts<TokioIo<OriginSocket>>>>>,
    end: Cell<(Cause, EndedBy)>,
}

/// What hyper is told when there is no response; the reason is in [`Exchange::failure`].
#[derive(Debug)]
struct NoResponse;

impl fmt::Display for NoResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no response")
    }
}

impl std::error::Error for NoResponse {}

impl Exchange {
    /// Finds or makes an upstream connection to one of the checked addresses.
    pub(super) async fn open(
        worker: &Rc<Worker>,
        permit: Permit,
        checked: Checked,
        gone: impl Future<Output = ()>,
    ) -> Result<Rc<Self>, Refusal> {
        let key = Key {
            target: permit.target().clone(),
            generation: permit.generation(),
        };
        let is_checked = |address| checked.addresses().any(|one| one.ip() == address);
        let pooled = if permit.is_valid(std::time::SystemTime::now()) {
            worker.pool.take(&key, is_checked)
        } else {
            None
        };
        let reused = pooled.is_some();
        let (upstream, ticket) = match pooled {
            Some(upstream) => {
                worker.meter().pool_reused();
                let ticket = permit.into_ticket(upstream.address);
                (upstream, ticket)
            }
            None => dial(worker, permit, &checked, gone).await?,
        };
        Ok(Rc::new(Self {
            worker: Rc::clone(worker),
            key,
            checked,
            ticket: RefCell::new(Some(ticket)),
            upstream: RefCell::new(Some(upstream)),
            reused,
            moved: Rc::new(Moved::new(worker)),
            failure: RefCell::default(),
            answered: Cell::new(false),
            switched: RefCell::default(),
            end: Cell::new((Cause::Shutdown, EndedBy::Moat)),
        }))
    }

    /// Carries the request over and the response back. Gives the client's connection back if the
    /// next request may follow.
    pub(super) async fn run(
        self: Rc<Self>,
        (stream, bytes): Client,
        mut order: Order,
        id: EventId,
    ) -> Option<Client> {
        let head = std::mem::take(&mut order.head);
        let gate = Gate::new(stream, head, &bytes, order.body);
        drop(bytes);
        let (mut gate, stop) = self.serve(gate, &order).await?;
        let refusal = self.conclude(&mut gate, stop);
        let drained = gate.is_drained();
        let client = gate.into_inner();
        if let Some(switched) = self.switched.take() {
            self.tunnel(client, switched).await;
            return None;
        }
        self.close();
        let refusal = match stop {
            Stop::Gone => return None,
            // hyper read less than we did, or the client is gone and will not see this.
            Stop::Broken => {
                refusal.or_else(|| Some(Refusal::malformed("the request is malformed")))
            }
            Stop::Done | Stop::Stalled | Stop::Cut | Stop::Refused => refusal,
        };
        match refusal {
            Some(refusal) if !self.answered.get() => {
                let answer = Answer {
                    // What is left of a body is somewhere inside hyper.
                    persists: order.persists && order.body == Framing::Empty,
                    ..Answer::new(&self.worker, &order, Some(&self.key.target), id)
                };
                answer.refuse(client, &refusal).await
            }
            None if stop == Stop::Done => {
                if drained && order.persists && !self.worker.drain().has_begun() {
                    return Some(client);
                }
                let (mut stream, _) = client;
                linger::say(&mut stream, b"").await;
                None
            }
            Some(_) | None => {
                // A response that breaks off must not look whole, and to a client of HTTP/1.0 its
                // end may be nothing but the end of the connection.
                if order.version == Version::Http10 {
                    client.0.reset_when_closed();
                }
                None
            }
        }
    }

    /// Says how the exchange ended, and notes what its records hold: why there is no answer, if so.
    fn conclude(&self, gate: &mut Gate<ClientStream>, stop: Stop) -> Option<Refusal> {
        if !gate.has_spoken() {
            // The origin's response broke off before any of it was sent, so the client can still
            // be told.
            self.answered.set(false);
        }
        let fault = gate.take_fault();
        let failure = || self.failure.take();
        let broken =
            || (self.moved.broke.get() && !self.answered.get()).then(|| Refusal::upstream(BROKEN));
        let refusal = match stop {
            Stop::Gone => None,
            Stop::Cut => Some(Refusal::shutting_down()),
            Stop::Stalled => Some(Refusal::stalled()),
            Stop::Refused => failure(),
            Stop::Done | Stop::Broken => fault.clone().or_else(failure).or_else(broken),
        };
        self.end.set(self.ending(stop, refusal.as_ref()));
        if let Some(ticket) = &*self.ticket.borrow() {
            // A client that left was refused nothing; the close says that it did.
            if let Some(fault) = fault.as_ref().filter(|fault| fault.cause != Cause::Client) {
                let is_answer = matches!(stop, Stop::Done | Stop::Broken) && !self.answered.get();
                let sent = is_answer.then_some(fault.status);
                authorize::refused_late(&self.worker, ticket, fault, sent);
            }
            if let Some(refusal) = refusal.as_ref().filter(|_| !self.answered.get()) {
                if stop == Stop::Refused {
                    authorize::refused_anew(&self.worker, ticket, refusal);
                }
                ticket.answered(refusal.status);
            }
        }
        refusal
    }

    /// Lets hyper serve the one message behind the gate.
    async fn serve(
        self: &Rc<Self>,
        gate: Gate<ClientStream>,
        order: &Order,
    ) -> Option<(Gate<ClientStream>, Stop)> {
        let gate = Held::new(gate);
        let switch = if order.websocket {
            Switch::WebSocket
        } else {
            Switch::Stay
        };
        let chunked = order.body == Framing::Chunked;
        let service = service_fn(|request| {
            let this = Rc::clone(self);
            Box::pin(async move { this.forward(request, chunked, switch).await })
        });
        let mut connection = server::Builder::new()
            .half_close(true)
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_BUFFERED)
            .auto_date_header(false)
            .preserve_header_case(true)
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(gate.clone()), service);
        let stop = self.watch(&gate, Pin::new(&mut connection)).await;
        drop(connection);
        Some((gate.into_gate()?, stop))
    }

    /// The service that hyper calls: the request in, the origin's response out.
    async fn forward(
        self: Rc<Self>,
        request: Request<Incoming>,
        chunked: bool,
        switch: Switch,
    ) -> Result<Response<Download>, NoResponse> {
        match self.ask(request, chunked, switch).await {
            Ok(response) => {
                self.answered.set(true);
                if let Some(ticket) = &*self.ticket.borrow() {
                    authorize::established(&self.worker, ticket, response.status().as_u16());
                }
                Ok(response)
            }
            Err(refusal) => {
                self.failure.replace(Some(refusal));
                Err(NoResponse)
            }
        }
    }

    async fn ask(
        &self,
        request: Request<Incoming>,
        chunked: bool,
        switch: Switch,
    ) -> Result<Response<Download>, Refusal> {
        let (mut parts, body) = request.into_parts();
        let host = order::host(&self.key.target)?;
        fields::request(&mut parts.headers, host, chunked, switch);
        parts.version = http::Version::HTTP_11;
        self.moved.hold(body);
        let sent = self.send(parts).await;
        self.moved.settle();
        let (upstream, response) = sent?;
        let (mut parts, body) = response.into_parts();
        let upstream = match fields::response(&mut parts, switch)? {
            Switch::Stay => Some((self.worker.pool.clone(), self.key.clone(), upstream)),
            Switch::WebSocket => {
                self.switched.replace(Some(upstream.switched));
                None
            }
        };
        let body = Download::new(body, Rc::clone(&self.moved), upstream);
        Ok(Response::from_parts(parts, body))
    }

    /// Why and by whom the exchange ended, for its record.
    fn ending(&self, stop: Stop, refusal: Option<&Refusal>) -> (Cause, EndedBy) {
        match (stop, refusal) {
            (Stop::Cut | Stop::Refused, _) => (Cause::Shutdown, EndedBy::Moat),
            (Stop::Stalled, _) => (Cause::Timeout, EndedBy::Moat),
            (Stop::Gone, _) => (Cause::Client, EndedBy::Client),
            (_, Some(refusal)) if refusal.cause == Cause::Upstream => {
                (Cause::Upstream, EndedBy::Upstream)
            }
            (_, Some(refusal)) if refusal.cause == Cause::Client => {
                (Cause::Client, EndedBy::Client)
            }
            (_, Some(refusal)) => (refusal.cause, EndedBy::Moat),
            (_, None) if self.moved.broke.get() => (Cause::Upstream, EndedBy::Upstream),
            (Stop::Broken, None) => (Cause::Client, EndedBy::Client),
            (Stop::Done, None) => (Cause::Done, EndedBy::Upstream),
        }
    }

    /// Goes on as a tunnel after both sides agreed to switch protocols.
    async fn tunnel(
        &self,
        (client, early): Client,
        switched: oneshot::Receiver<Parts<TokioIo<OriginSocket>>>,
    ) {
        let Ok(parts) = switched.await else {
            self.end.set((Cause::Upstream, EndedBy::Upstream));
            return;
        };
        let (Some(ticket), Some(upstream)) =
            (self.ticket.take(), parts.io.into_inner().into_inner())
        else {
            return;
        };
        let ends = Ends {
            client,
            early: early.into(),
            upstream,
            late: parts.read_buf.into(),
        };
        tunnel::serve(&self.worker, ticket, ends, Opening::Named).await;
    }

    /// Writes the close record, unless there is one or a tunnel will write it.
    fn close(&self) {
        if let Some(ticket) = self.ticket.take() {
            let (cause, by) = self.end.get();
            let moved = (self.moved.up.get(), self.moved.down.get());
            authorize::closed(&self.worker, &ticket, cause, moved, by);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.close();
    }
}
