//! Upstream connections of plain HTTP that wait for their next request, one pool per worker.
//!
//! A connection is found again only for the same host, port and policy generation, and only if its
//! address was judged anew for the request that takes it.

mod socket;

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, Parts, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use moat_policy::request::Target;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub(crate) use self::socket::{Line, OriginSocket};
use crate::forward::Upload;
use crate::metrics::{IdleUpstream, Meter};
use crate::refusal::Refusal;

/// Connections kept per host, port and generation.
const MAX_PER_KEY: usize = 32;
/// Connections kept in all.
const MAX_TOTAL: usize = 256;
/// How long a connection may wait; common origins close theirs after 60 s or more.
const MAX_IDLE: Duration = Duration::from_secs(30);
/// Most headers in a response.
const MAX_HEADERS: usize = 200;
/// Most of a response that is read ahead of a client that is slow to take it, and so the longest
/// head. Unset, hyper reads 400 KiB ahead.
const MAX_BUFFERED: usize = 64 * 1024;
/// Most that is read before a response begins: its head, and the informational ones before it.
const MAX_AHEAD: usize = 4 * MAX_BUFFERED;

/// What a client is told of an answer that is none.
pub(crate) const BROKEN: &str = "the origin's answer breaks the protocol";
/// What it is told where none came.
pub(crate) const ENDED: &str = "the origin closed the connection before it answered";

/// What a connection is kept under.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Key {
    /// Host and port.
    pub(crate) target: Target,
    /// The policy that judged.
    pub(crate) generation: u64,
}

/// A connection to an origin, ready for one request at a time.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// Where requests go.
    sender: SendRequest<Upload>,
    /// What its socket has seen of the request that it carries.
    pub(crate) line: Rc<Line>,
    /// The address it is connected to.
    pub(crate) address: IpAddr,
    /// Gives the bare connection after a switch of protocols.
    pub(crate) switched: oneshot::Receiver<Parts<TokioIo<OriginSocket>>>,
}

impl Upstream {
    /// Sets up HTTP/1.1 on a fresh connection.
    pub(crate) async fn new(stream: TcpStream, address: IpAddr) -> Result<Self, Refusal> {
        let line = Line::new(stream);
        let (sender, connection) = http1::Builder::new()
            .preserve_header_case(true)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_BUFFERED)
            .handshake(TokioIo::new(OriginSocket::new(Rc::clone(&line))))
            .await
            .map_err(|_| Refusal::upstream("the origin's connection cannot be used"))?;
        let (switch, switched) = oneshot::channel();
        tokio::task::spawn_local(async move {
            if let Ok(parts) = connection.without_shutdown().await {
                // Nobody waits for it unless protocols were switched; then it closes here.
                drop(switch.send(parts));
            }
        });
        Ok(Self {
            sender,
            line,
            address,
            switched,
        })
    }

    /// Resolves when it can take a request.
    #[cfg(test)]
    pub(crate) async fn ready(&mut self) {
        assert!(self.sender.ready().await.is_ok());
    }

    /// Sends a request, unless the connection holds anything before it, and waits for the head of its
    /// response.
    pub(crate) async fn send(
        &mut self,
        request: Request<Upload>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        self.line.begin(MAX_AHEAD);
        let sent = self.sender.try_send_request(request).await;
        let response = sent.map_err(TrySendError::into_error)?;
        self.line.answered();
        Ok(response)
    }

    /// Why there was no response.
    pub(crate) fn fault(&self, error: &hyper::Error) -> Refusal {
        Refusal::upstream(if self.line.is_patience_over() {
            "the origin announces an answer without end"
        } else if error.is_parse() {
            BROKEN
        } else if self.line.has_begun() {
            ENDED
        } else {
            "the origin spoke or closed the connection before it was asked"
        })
    }
}

#[derive(Debug)]
struct Idle {
    upstream: Upstream,
    since: Instant,
    _counted: IdleUpstream,
}

/// The connections of one worker. A clone is the same pool.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    kept: Rc<RefCell<Kept>>,
    meter: Rc<Meter>,
}

#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Key, Vec<Idle>, RandomState>,
    total: usize,
    sweeping: bool,
}

impl Pool {
    /// An empty pool whose connections are counted here.
    pub(crate) fn new(meter: Rc<Meter>) -> Self {
        Self {
            kept: Rc::default(),
            meter,
        }
    }

    /// Takes out a connection to one of these addresses, the one used last.
    pub(crate) fn take(&self, key: &Key, allowed: impl Fn(IpAddr) -> bool) -> Option<Upstream> {
        let kept = &mut *self.kept.borrow_mut();
        let list = kept.by_key.get_mut(key)?;
        let before = list.len();
        let now = Instant::now();
        list.retain(|idle| idle.is_usable(now));
        let at = list.iter().rposition(|idle| allowed(idle.upstream.address));
        let taken = at.map(|at| list.swap_remove(at).upstream);
        kept.total = kept.total.saturating_sub(before.saturating_sub(list.len()));
        if list.is_empty() {
            kept.by_key.remove(key);
        }
        taken
    }

    /// Takes a connection back once it is ready for another request; one that ends first, or has
    /// no room here, is closed.
    pub(crate) fn give_back(&self, key: Key, mut upstream: Upstream) {
        if upstream.sender.is_ready() {
            return self.keep(key, upstream);
        }
        let pool = self.clone();
        tokio::task::spawn_local(async move {
            if upstream.sender.ready().await.is_ok() {
                pool.keep(key, upstream);
            }
        });
    }

    /// How many connections wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.kept.borrow().total
    }

    /// Closes what cannot be used any more.
    #[cfg(test)]
    pub(crate) fn sweep(&self) {
        self.kept.borrow_mut().sweep(Instant::now());
    }

    fn keep(&self, key: Key, upstream: Upstream) {
        let kept = &mut *self.kept.borrow_mut();
        if kept.total >= MAX_TOTAL {
            kept.sweep(Instant::now());
        }
        if kept.total >= MAX_TOTAL {
            return;
        }
        let list = kept.by_key.entry(key).or_default();
        if list.len() >= MAX_PER_KEY {
            return;
        }
        list.push(Idle {
            upstream,
            since: Instant::now(),
            _counted: IdleUpstream::new(&self.meter),
        });
        kept.total += 1;
        if !kept.sweeping {
            kept.sweeping = true;
            self.sweep_later();
        }
    }

    /// Closes what has waited too long, for as long as anything waits.
    fn sweep_later(&self) {
        let kept = Rc::downgrade(&self.kept);
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(MAX_IDLE / 3).await;
                let Some(kept) = kept.upgrade() else { return };
                let kept = &mut *kept.borrow_mut();
                kept.sweep(Instant::now());
                if kept.total == 0 {
                    kept.sweeping = false;
                    return;
                }
            }
        });
    }
}

impl Kept {
    fn sweep(&mut self, now: Instant) {
        let mut total = 0;
        self.by_key.retain(|_, list| {
            list.retain(|idle| idle.is_usable(now));
            total += list.len();
            !list.is_empty()
        });
        self.total = total;
    }
}

impl Idle {
    fn is_usable(&self, now: Instant) -> bool {
        self.upstream.sender.is_ready() && now.duration_since(self.since) < MAX_IDLE
    }
}

#[cfg(test)]
mod tests;
