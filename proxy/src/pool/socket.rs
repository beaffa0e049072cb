//! An origin's socket, on which an answer outlives what can no longer be sent, and has to begin, and
//! which carries no request while it holds bytes that nobody asked for.
//!
//! An origin may answer in the middle of a request and close. Then the rest of the request cannot
//! be written, while the answer lies there to be read.
//! And it may send informational responses without end, which hyper reads and passes over.

use std::cell::{Cell, RefCell};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How far the request that a connection serves now has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Turn {
    /// Before its first byte the socket is still to be looked at.
    Due,
    /// The socket was silent; nothing was written yet.
    Clear,
    /// A byte of it was written.
    Begun,
    /// The socket was not silent. Nothing was written, and nothing will be.
    Stale,
}

/// What the users of one connection share with its socket.
#[derive(Debug)]
pub(crate) struct Line {
    /// Gone once a tunnel has taken it over.
    stream: RefCell<Option<TcpStream>>,
    turn: Cell<Turn>,
    /// Whether a byte was read in this turn.
    heard: Cell<bool>,
    /// How much more may be read before the response has begun; after that, anything.
    patience: Cell<Option<usize>>,
}

impl Line {
    /// A fresh connection.
    pub(super) fn new(stream: TcpStream) -> Rc<Self> {
        Rc::new(Self {
            stream: RefCell::new(Some(stream)),
            turn: Cell::new(Turn::Due),
            heard: Cell::new(false),
            patience: Cell::new(None),
        })
    }

    /// A request is about to be sent. No more than this is read before its response has begun.
    pub(super) fn begin(&self, patience: usize) {
        self.turn.set(Turn::Due);
        self.heard.set(false);
        self.patience.set(Some(patience));
    }

    /// The response has begun.
    pub(super) fn answered(&self) {
        self.patience.set(None);
    }

    /// Whether the origin has sent too much without beginning its response.
    pub(super) fn is_patience_over(&self) -> bool {
        self.patience.get() == Some(0)
    }

    /// Whether the request may be written: nothing has come before it. What lies in the socket then
    /// is no answer to it, whoever was meant, and an end means that nobody is there. Asks the kernel
    /// once a turn, since the runtime may not know yet.
    pub(crate) fn is_clear(&self) -> bool {
        if self.turn.get() == Turn::Due {
            let is_silent = self.stream.borrow().as_ref().is_some_and(is_silent);
            self.turn
                .set(if is_silent { Turn::Clear } else { Turn::Stale });
        }
        self.turn.get() != Turn::Stale
    }

    /// Whether a byte of the request was written.
    pub(crate) fn has_begun(&self) -> bool {
        self.turn.get() == Turn::Begun
    }

    /// Whether anything was read since the request began.
    pub(crate) fn has_heard(&self) -> bool {
        self.heard.get()
    }

    /// Notes that this much was read.
    fn hear(&self, count: usize) -> io::Result<()> {
        if count > 0 {
            self.heard.set(true);
        }
        let left = self.patience.get().map(|left| left.saturating_sub(count));
        self.patience.set(left);
        if self.is_patience_over() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }

    /// Writes, if the request may be written.
    fn poll_write(
        &self,
        write: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if !self.is_clear() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let wrote = self.with(write);
        if matches!(wrote, Poll::Ready(Ok(1..))) {
            self.turn.set(Turn::Begun);
        }
        wrote
    }

    fn with<T>(
        &self,
        act: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut *self.stream.borrow_mut() {
            Some(stream) => act(Pin::new(stream)),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

/// Whether there is nothing to be read of a connection that stands, not even its end.
fn is_silent(stream: &TcpStream) -> bool {
    let peeked = SockRef::from(stream).peek(&mut [MaybeUninit::uninit()]);
    peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// A connection to an origin. After a write has failed, what is written is thrown away; how the
/// connection ended is told to the reader.
#[derive(Debug)]
pub(crate) struct OriginSocket {
    line: Rc<Line>,
    is_deaf: bool,
}

impl OriginSocket {
    /// The socket of this line.
    pub(super) fn new(line: Rc<Line>) -> Self {
        Self {
            line,
            is_deaf: false,
        }
    }

    /// The bare connection.
    pub(crate) fn into_inner(self) -> Option<TcpStream> {
        self.line.stream.take()
    }

    /// What the writer is told of a write of this many bytes.
    fn settle(&mut self, written: io::Result<usize>, count: usize) -> io::Result<usize> {
        match written {
            Err(error) if is_closed(&error) => {
                self.is_deaf = true;
                Ok(count)
            }
            written => written,
        }
    }
}

impl Drop for OriginSocket {
    /// Closes the connection, which others still know.
    fn drop(&mut self) {
        self.line.stream.take();
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

impl AsyncRead for OriginSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(self.line.with(|stream| stream.poll_read(cx, buf)))?;
        let count = buf.filled().len().saturating_sub(before);
        Poll::Ready(self.line.hear(count))
    }
}

impl AsyncWrite for OriginSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_deaf {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = ready!(self.line.poll_write(|stream| stream.poll_write(cx, buf)));
        Poll::Ready(self.settle(written, buf.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count = bufs.iter().map(|buf| buf.len()).sum();
        if self.is_deaf {
            return Poll::Ready(Ok(count));
        }
        let write = |stream: Pin<&mut TcpStream>| stream.poll_write_vectored(cx, bufs);
        let written = ready!(self.line.poll_write(write));
        Poll::Ready(self.settle(written, count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.line.with(|stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.line.with(|stream| stream.poll_shutdown(cx))
    }
}
