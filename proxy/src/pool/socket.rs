//! An origin's socket, on which an answer outlives what can no longer be sent, and has to begin.
//!
//! An origin may answer in the middle of a request and close. Then the rest of the request cannot
//! be written, while the answer lies there to be read.
//! And it may send informational responses without end, which hyper reads and passes over.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How much more an origin may send before its response has begun. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Patience(Rc<Cell<Option<usize>>>);

impl Patience {
    /// From now on this much, or anything.
    pub(super) fn set(&self, limit: Option<usize>) {
        self.0.set(limit);
    }

    /// Whether it came to its end.
    pub(super) fn is_over(&self) -> bool {
        self.0.get() == Some(0)
    }

    fn spend(&self, count: usize) -> io::Result<()> {
        self.set(self.0.get().map(|left| left.saturating_sub(count)));
        if self.is_over() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }
}

/// A connection to an origin. After a write has failed, what is written is thrown away; how the
/// connection ended is told to the reader.
#[derive(Debug)]
pub(crate) struct OriginSocket {
    stream: TcpStream,
    patience: Patience,
    is_deaf: bool,
}

impl OriginSocket {
    /// A fresh connection.
    pub(super) fn new(stream: TcpStream, patience: Patience) -> Self {
        Self {
            stream,
            patience,
            is_deaf: false,
        }
    }

    /// The bare connection.
    pub(crate) fn into_inner(self) -> TcpStream {
        self.stream
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

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

impl AsyncRead for OriginSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let count = buf.filled().len().saturating_sub(before);
        Poll::Ready(self.patience.spend(count))
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
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf));
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
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs));
        Poll::Ready(self.settle(written, count))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
