//! Bodies in both directions: passed on piece by piece, counted, never gathered.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::fields;
use crate::pool::{Key, Line, Pool, Upstream};
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
    /// The request's body, until the [`Upload`] that has begun to read it is done.
    body: RefCell<Option<Incoming>>,
    /// Whether another upload of the same body may follow: nothing of it was read, and no answer
    /// has come.
    is_replayable: Cell<bool>,
    /// Whether there is an [`Upload`].
    is_uploading: Cell<bool>,
}

impl Moved {
    /// Nothing has.
    pub(super) fn new(worker: &Rc<Worker>) -> Self {
        Self {
            worker: Rc::clone(worker),
            up: Cell::new(0),
            down: Cell::new(0),
            broke: Cell::new(false),
            body: RefCell::new(None),
            is_replayable: Cell::new(true),
            is_uploading: Cell::new(false),
        }
    }

    /// Takes in the request's body.
    pub(super) fn hold(&self, body: Incoming) {
        self.body.replace(Some(body));
    }

    /// Whether the request's body can still be sent as a whole.
    pub(super) fn is_replayable(&self) -> bool {
        self.is_replayable.get()
    }

    /// No other upload will follow: whoever sends the body is told once nobody reads it.
    pub(super) fn settle(&self) {
        self.is_replayable.set(false);
        if !self.is_uploading.get() {
            self.body.take();
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
    moved: Rc<Moved>,
    line: Rc<Line>,
}

impl Upload {
    /// The body that was taken in, for this connection.
    pub(super) fn new(moved: Rc<Moved>, line: Rc<Line>) -> Self {
        moved.is_uploading.set(true);
        Self { moved, line }
    }
}

/// The connection was not what it seemed before a byte was written to it.
#[derive(Debug)]
pub(crate) struct Stale;

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection holds bytes that nobody asked for")
    }
}

impl std::error::Error for Stale {}

impl Body for Upload {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        // The head is written after this, so what is wrong with the connection shows in time.
        if self.moved.is_replayable() && !self.line.is_clear() {
            return Poll::Ready(Some(Err(Stale.into())));
        }
        let moved = &self.moved;
        let mut body = moved.body.borrow_mut();
        let Some(body) = &mut *body else {
            return Poll::Ready(None);
        };
        moved.is_replayable.set(false);
        let frame = ready!(Pin::new(body).poll_frame(cx));
        Poll::Ready(frame.map(|frame| {
            let frame = frame.map(|frame| pass(frame, |count| moved.add_up(count)));
            frame.map_err(Into::into)
        }))
    }

    fn is_end_stream(&self) -> bool {
        let body = self.moved.body.borrow();
        body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.moved.body.borrow();
        body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.moved.is_uploading.set(false);
        if !self.moved.is_replayable() {
            self.moved.body.take();
        }
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
