//! One message on its way from the client to hyper: the checked head, then exactly its body.
//!
//! hyper reads ahead and is lenient with chunks, so it never sees the socket: it gets bytes whose
//! framing was verified here, and the end of the stream where the message ends. What follows in
//! the connection stays here for the next round.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::head::{self, Framing};
use crate::refusal::Refusal;
use crate::scratch;

/// Longest line with the size of a chunk, extensions included.
const MAX_CHUNK_LINE: usize = 256;
/// Most bytes that the chunk extensions of one message may take: nobody needs them, and hyper gives
/// up at twice as many without saying why.
const MAX_EXTENSIONS: usize = 8 * 1024;

/// A stream that carries one message.
#[derive(Debug)]
pub(crate) struct Gate<S> {
    stream: S,
    /// Read and not yet handed over.
    bytes: BytesMut,
    /// How many of `bytes`, from the front, may be handed over. Never more than there are.
    cleared: usize,
    state: State,
    /// How much of a trailer was searched for its end.
    scanned: usize,
    /// How many bytes chunk extensions have taken.
    extensions: usize,
    fault: Option<Refusal>,
    drained: bool,
    /// Whether a byte has gone to the client.
    spoke: bool,
}

/// What comes next in the stream, behind what is cleared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// This many bytes of the body, at least one.
    Body(u64),
    /// The size of a chunk.
    ChunkLine,
    /// This many bytes of a chunk, at least one.
    Chunk(u64),
    /// The line end behind a chunk.
    ChunkEnd,
    /// The fields behind the last chunk, up to an empty line.
    Trailer,
    /// Another message, or nothing.
    Over,
}

impl<S> Gate<S> {
    /// A gate for a head that was checked, with the bytes that were read behind it.
    pub(crate) fn new(stream: S, head: BytesMut, behind: &[u8], framing: Framing) -> Self {
        let cleared = head.len();
        let mut bytes = head;
        bytes.extend_from_slice(behind);
        Self {
            stream,
            bytes,
            cleared,
            state: match framing {
                Framing::Empty | Framing::Length(0) => State::Over,
                Framing::Length(length) => State::Body(length),
                Framing::Chunked => State::ChunkLine,
            },
            scanned: 0,
            extensions: 0,
            fault: None,
            drained: false,
            spoke: false,
        }
    }

    /// What was wrong with the framing of the body, once.
    pub(crate) fn take_fault(&mut self) -> Option<Refusal> {
        self.fault.take()
    }

    /// Whether the reader took the whole message and asked for more.
    pub(crate) fn is_drained(&self) -> bool {
        self.drained
    }

    /// Whether the whole message was read, so that nobody reads from the stream any more.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Whether the client has been sent anything.
    pub(crate) fn has_spoken(&self) -> bool {
        self.spoke
    }

    /// The stream that it stands in front of.
    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    /// The stream, and what was read behind the message.
    pub(crate) fn into_inner(self) -> (S, BytesMut) {
        (self.stream, self.bytes)
    }

    /// Clears as much of what was read as its framing allows.
    fn clear(&mut self) -> Result<(), Refusal> {
        loop {
            let ahead = self.bytes.get(self.cleared..).unwrap_or_default();
            let step = match self.state {
                State::Body(left) => take(ahead, left, State::Body, State::Over),
                State::Chunk(left) => take(ahead, left, State::Chunk, State::ChunkEnd),
                State::ChunkLine => chunk_line(ahead, &mut self.extensions)?,
                State::ChunkEnd => chunk_end(ahead)?,
                State::Trailer => trailer(ahead, &mut self.scanned)?,
                State::Over => None,
            };
            let Some((count, next)) = step else {
                return Ok(());
            };
            self.cleared += count;
            self.state = next;
        }
    }

    fn fail(&mut self, refusal: Refusal) -> Poll<io::Result<()>> {
        self.fault = Some(refusal);
        Poll::Ready(Err(io::ErrorKind::InvalidData.into()))
    }
}

/// How many bytes may pass and what comes behind them; `None` where more must be read first.
type Step = Option<(usize, State)>;

fn take(ahead: &[u8], left: u64, more: fn(u64) -> State, then: State) -> Step {
    if ahead.is_empty() {
        return None;
    }
    match usize::try_from(left) {
        Ok(left) if left <= ahead.len() => Some((left, then)),
        Ok(_) | Err(_) => {
            let count = u64::try_from(ahead.len()).unwrap_or(left);
            Some((ahead.len(), more(left.saturating_sub(count))))
        }
    }
}

/// `SIZE[;EXTENSION]` and a line end (RFC 9112, section 7.1).
fn chunk_line(ahead: &[u8], extensions: &mut usize) -> Result<Step, Refusal> {
    let fault = || Refusal::malformed("the size of a chunk is malformed");
    let Some(end) = ahead.iter().position(|&byte| byte == b'\n') else {
        let hopeful = ahead.first().is_none_or(u8::is_ascii_hexdigit);
        return if hopeful && ahead.len() <= MAX_CHUNK_LINE {
            Ok(None)
        } else {
            Err(fault())
        };
    };
    let line = ahead.get(..=end).unwrap_or_default();
    if line.len() > MAX_CHUNK_LINE {
        return Err(fault());
    }
    let line_text = line.strip_suffix(b"\r\n").ok_or_else(fault)?;
    head::check_bytes(line)?;
    let digits = line_text
        .split(|&byte| byte == b';')
        .next()
        .unwrap_or_default();
    let plain = (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    let size = std::str::from_utf8(digits)
        .ok()
        .filter(|_| plain)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(fault)?;
    *extensions += line_text.len().saturating_sub(digits.len());
    if *extensions > MAX_EXTENSIONS {
        return Err(Refusal::malformed("the chunk extensions are too long"));
    }
    let next = if size == 0 {
        State::Trailer
    } else {
        State::Chunk(size)
    };
    Ok(Some((line.len(), next)))
}

fn chunk_end(ahead: &[u8]) -> Result<Step, Refusal> {
    match ahead {
        [b'\r', b'\n', ..] => Ok(Some((2, State::ChunkLine))),
        [] | [b'\r'] => Ok(None),
        _ => Err(Refusal::malformed("a chunk is longer than its size")),
    }
}

/// Fields as in a head, up to an empty line.
fn trailer(ahead: &[u8], scanned: &mut usize) -> Result<Step, Refusal> {
    if ahead.starts_with(b"\r\n") {
        return Ok(Some((2, State::Over)));
    }
    let end = head::end_of_lines(ahead, scanned)?;
    if end.unwrap_or(ahead.len()) > head::MAX_HEAD {
        return Err(Refusal::head_too_large());
    }
    let Some(end) = end else {
        return Ok(None);
    };
    let fields = ahead.get(..end).unwrap_or_default();
    head::check_bytes(fields)?;
    let mut slots = [httparse::EMPTY_HEADER; head::MAX_HEADERS];
    match httparse::parse_headers(fields, &mut slots) {
        Ok(httparse::Status::Complete((length, _))) if length == end => {
            Ok(Some((end, State::Over)))
        }
        _ => Err(Refusal::malformed("a trailer is malformed")),
    }
}

impl<S> Gate<S>
where
    S: AsyncRead + Unpin,
{
    /// Reads once, straight into the reader's buffer where nothing but body can come.
    fn poll_more(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = u64::try_from(buf.remaining()).unwrap_or(u64::MAX);
        let (left, more): (_, fn(u64) -> State) = match self.state {
            State::Body(left) => (left, State::Body),
            State::Chunk(left) => (left, State::Chunk),
            State::ChunkLine | State::ChunkEnd | State::Trailer | State::Over => (0, State::Body),
        };
        let count = if left > room {
            let before = buf.filled().len();
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buf));
            let count = buf.filled().len().saturating_sub(before);
            self.state = more(left.saturating_sub(u64::try_from(count).unwrap_or(left)));
            read.map(|()| count)
        } else {
            ready!(scratch::poll_read(&mut self.stream, cx, &mut self.bytes))
        };
        // A reset is the client's doing as much as an end.
        if !matches!(count, Ok(1..)) {
            return self.fail(Refusal::cut_off());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S> AsyncRead for Gate<S>
where
    S: AsyncRead + Unpin,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        loop {
            if this.fault.is_some() {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            if this.cleared > 0 {
                let count = this.cleared.min(buf.remaining());
                buf.put_slice(this.bytes.get(..count).unwrap_or_default());
                this.bytes.advance(count);
                this.cleared -= count;
                return Poll::Ready(Ok(()));
            }
            if buf.filled().len() > before || buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            if let Err(refusal) = this.clear() {
                return this.fail(refusal);
            }
            if this.cleared > 0 {
                continue;
            }
            if this.state == State::Over {
                this.drained = true;
                return Poll::Ready(Ok(()));
            }
            ready!(this.poll_more(cx, buf))?;
        }
    }
}

impl<S> AsyncWrite for Gate<S>
where
    S: AsyncWrite + Unpin,
{
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.spoke |= matches!(wrote, Poll::Ready(Ok(1..)));
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.spoke |= matches!(wrote, Poll::Ready(Ok(1..)));
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Only flushes: the connection outlives the message, and a refusal may still follow.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

#[cfg(test)]
mod tests;
