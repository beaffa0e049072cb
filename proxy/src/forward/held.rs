//! A gate that two hold: hyper, which reads and writes through it, and its exchange, which looks
//! after the client meanwhile.
//!
//! hyper does not read between a request and its response, so it does not notice a client that has
//! left.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::client::ClientStream;
use crate::gate::Gate;

/// One of the two that hold a gate.
#[derive(Clone, Debug)]
pub(super) struct Held(Rc<RefCell<Gate<ClientStream>>>);

impl Held {
    /// A gate that nobody else holds yet.
    pub(super) fn new(gate: Gate<ClientStream>) -> Self {
        Self(Rc::new(RefCell::new(gate)))
    }

    /// Whether the client is gone for good.
    pub(super) fn is_client_gone(&self) -> bool {
        self.0.borrow().stream().is_gone()
    }

    /// Whether something has happened on the client's connection that nobody will read before the
    /// exchange ends: it may have been a reset.
    pub(super) fn has_stirred(&self, cx: &mut Context<'_>) -> bool {
        let gate = self.0.borrow();
        gate.is_over() && gate.stream().poll_stirred(cx).is_ready()
    }

    /// The gate, once the other has let go of it.
    pub(super) fn into_gate(self) -> Option<Gate<ClientStream>> {
        Rc::into_inner(self.0).map(RefCell::into_inner)
    }
}

impl AsyncRead for Held {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_read(cx, buf)
    }
}

impl AsyncWrite for Held {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.borrow().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_shutdown(cx)
    }
}
