//! One direction of a tunnel: read, write, pass the end on.
//!
//! While nothing moves it owns no buffer: bytes are read into scratch space of the thread, and
//! only what the other side did not take at once is kept, in exactly as much memory.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most that one read takes, and so the most that a direction ever keeps.
const SCRATCH: usize = 64 * 1024;
/// The most that a direction moves in one turn, so that the small tunnels beside a busy one do not
/// wait for it.
const TURN: usize = 256 * 1024;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into());
}

/// Which end of a direction broke.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Broken {
    /// The one that is read from.
    Reader,
    /// The one that is written to.
    Writer,
}

/// How the writer is told of the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Farewell {
    /// By ending that side of its connection.
    Shutdown,
    /// By the close of the whole connection, which follows at once.
    Close,
}

/// How far a direction has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Open,
    /// The reader is at its end; the writer is still to be told.
    Ending,
    Done,
}

/// One direction.
#[derive(Debug)]
pub(super) struct Direction {
    state: State,
    /// Whether the writer may hold bytes back that it took (TLS does).
    unflushed: bool,
    /// What the writer has taken.
    moved: u64,
    left: Vec<u8>,
    /// How much of `left` has gone.
    at: usize,
}

impl Direction {
    /// A direction through which nothing has gone.
    pub(super) fn new() -> Self {
        Self {
            state: State::Open,
            unflushed: false,
            moved: 0,
            left: Vec::new(),
            at: 0,
        }
    }

    /// How many bytes the writer has taken.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// Whether the end has been passed on.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether the reader has come to its end.
    pub(super) fn is_ending(&self) -> bool {
        self.state != State::Open
    }

    /// Whether it waits for the writer, and so does not see what the reader does.
    pub(super) fn is_blocked(&self) -> bool {
        !self.left.is_empty()
    }

    /// Puts bytes that were read elsewhere in front of everything else.
    pub(super) fn preload(&mut self, bytes: Vec<u8>) {
        self.left = bytes;
        self.at = 0;
    }

    /// Notes that the reader has come to its end, seen elsewhere.
    pub(super) fn end(&mut self) {
        self.state = State::Ending;
    }

    /// Moves what can be moved now. Ready once the end has been passed on.
    pub(super) fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        to: &mut W,
        farewell: Farewell,
    ) -> Poll<Result<(), Broken>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let stop = self.moved.saturating_add(TURN as u64);
        loop {
            if self.state == State::Done {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_left(cx, to))?;
            if self.state == State::Ending {
                if farewell == Farewell::Shutdown {
                    // A writer that is gone cannot be told of the end, and need not be.
                    let _ = ready!(Pin::new(&mut *to).poll_shutdown(cx));
                }
                self.state = State::Done;
                continue;
            }
            if self.moved >= stop {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            match self.poll_read(cx, from, to) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(broken)) => return Poll::Ready(Err(broken)),
                Poll::Pending => return self.poll_flush(cx, to),
            }
        }
    }

    /// One read, and as many writes as the writer takes at once.
    fn poll_read<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        to: &mut W,
    ) -> Poll<Result<(), Broken>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        BUFFER.with_borrow_mut(|buffer| {
            let mut read = ReadBuf::new(buffer);
            match ready!(Pin::new(from).poll_read(cx, &mut read)) {
                Ok(()) if read.filled().is_empty() => {
                    self.state = State::Ending;
                    return Poll::Ready(Ok(()));
                }
                Ok(()) => {}
                Err(error) if is_plain_end(&error) => {
                    self.state = State::Ending;
                    return Poll::Ready(Ok(()));
                }
                Err(_) => return Poll::Ready(Err(Broken::Reader)),
            }
            let mut rest = read.filled();
            while !rest.is_empty() {
                let Poll::Ready(wrote) = Pin::new(&mut *to).poll_write(cx, rest) else {
                    break;
                };
                let count = wrote.map_err(|_| Broken::Writer)?;
                rest = rest.get(count..).unwrap_or_default();
                self.took(count)?;
            }
            if !rest.is_empty() {
                self.preload(rest.to_vec());
            }
            Poll::Ready(Ok(()))
        })
    }

    /// Writes what was kept.
    fn poll_left<W: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut W,
    ) -> Poll<Result<(), Broken>> {
        while let Some(rest) = self.left.get(self.at..).filter(|rest| !rest.is_empty()) {
            let count =
                ready!(Pin::new(&mut *to).poll_write(cx, rest)).map_err(|_| Broken::Writer)?;
            self.at += count;
            self.took(count)?;
        }
        if self.at > 0 {
            self.left = Vec::new();
            self.at = 0;
        }
        Poll::Ready(Ok(()))
    }

    /// Pushes out what the writer holds back. Never ready without an error: the reader is waited
    /// for.
    fn poll_flush<W: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut W,
    ) -> Poll<Result<(), Broken>> {
        if self.unflushed {
            ready!(Pin::new(to).poll_flush(cx)).map_err(|_| Broken::Writer)?;
            self.unflushed = false;
        }
        Poll::Pending
    }

    fn took(&mut self, count: usize) -> Result<(), Broken> {
        if count == 0 {
            return Err(Broken::Writer);
        }
        self.moved = self.moved.saturating_add(count as u64);
        self.unflushed = true;
        Ok(())
    }
}

/// A TLS client that leaves without its farewell has only closed: what it said inside says for
/// itself whether it was whole.
fn is_plain_end(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}

/// Reads at most `limit` bytes and appends them, without owning a buffer while there are none.
/// Ready with 0 at the end of the stream.
pub(super) fn poll_append<R: AsyncRead + Unpin>(
    cx: &mut Context<'_>,
    from: &mut R,
    to: &mut Vec<u8>,
    limit: usize,
) -> Poll<io::Result<usize>> {
    BUFFER.with_borrow_mut(|buffer| {
        let space = buffer.get_mut(..limit).unwrap_or_default();
        let mut read = ReadBuf::new(space);
        match ready!(Pin::new(from).poll_read(cx, &mut read)) {
            Ok(()) => {
                to.extend_from_slice(read.filled());
                Poll::Ready(Ok(read.filled().len()))
            }
            Err(error) if is_plain_end(&error) => Poll::Ready(Ok(0)),
            Err(error) => Poll::Ready(Err(error)),
        }
    })
}
