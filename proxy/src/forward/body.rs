//! Bodies in both directions: passed on piece by piece, counted, never gathered.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::fields;
use crate::pool::{Key, Pool, Upstream};
use crate::worker::Worker;

/// What has moved in one exchange.
#[derive(Debug)]
pub(super) struct Moved {
    worker: Rc<Worker>,
    /// Bytes of the request's body.
    pub(super) up: Cell<u64>,
    /// Bytes of the response's body.
    pub(super) down: Cell<u64>,
    /// Whether the response's body broke off.
    pub(super) broke: Cell<bool>,
}

impl Moved {
    /// Nothing has.
    pub(super) fn new(worker: &Rc<Worker>) -> Self {
        Self {
            worker: Rc::clone(worker),
            up: Cell::new(0),
            down: Cell::new(0),
            broke: Cell::new(false),
        }
    }

    fn add_up(&self, count: u64) {
        self.up.set(self.up.get().saturating_add(count));
        self.worker.meter().moved(count, 0);
    }

    fn add_down(&self, count: u64) {
        self.down.set(self.down.get().saturating_add(count));
        self.worker.meter().moved(0, count);
    }
}

/// A request's body on its way to the origin.
#[derive(Debug)]
pub(crate) struct Upload {
    body: Incoming,
    moved: Rc<Moved>,
}

impl Upload {
    pub(super) fn new(body: Incoming, moved: Rc<Moved>) -> Self {
        Self { body, moved }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(
            frame.map(|frame| frame.map(|frame| pass(frame, |count| self.moved.add_up(count)))),
        )
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response's body on its way to the client. When it has come to its end, its connection goes
/// back to the pool.
#[derive(Debug)]
pub(super) struct Download {
    body: Incoming,
    moved: Rc<Moved>,
    ended: bool,
    upstream: Option<(Pool, Key, Upstream)>,
}

impl Download {
    pub(super) fn new(
        body: Incoming,
        moved: Rc<Moved>,
        upstream: Option<(Pool, Key, Upstream)>,
    ) -> Self {
        Self {
            body,
            moved,
            ended: false,
            upstream,
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.ended = true,
            Some(Err(_)) => self.moved.broke.set(true),
            Some(Ok(_)) => {}
        }
        Poll::Ready(
            frame.map(|frame| frame.map(|frame| pass(frame, |count| self.moved.add_down(count)))),
        )
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        if let Some((pool, key, upstream)) = self.upstream.take()
            && (self.ended || self.body.is_end_stream())
        {
            pool.give_back(key, upstream);
        }
    }
}

fn pass(frame: Frame<Bytes>, count: impl FnOnce(u64)) -> Frame<Bytes> {
    if let Some(data) = frame.data_ref() {
        count(u64::try_from(data.len()).unwrap_or(u64::MAX));
        return frame;
    }
    match frame.into_trailers() {
        Ok(mut trailers) => {
            fields::trailers(&mut trailers);
            Frame::trailers(trailers)
        }
        Err(frame) => frame,
    }
}
