//! One buffer per thread for reading from connections that own none.
//!
//! A silent connection costs no buffer: bytes are read here and only what came is copied out.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes that one read can bring.
pub(crate) const SIZE: usize = 16 * 1024;

thread_local! {
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; SIZE].into_boxed_slice());
}

/// Reads once and appends what came; 0 bytes are the end of the stream.
pub(crate) fn poll_read<S>(
    stream: &mut S,
    cx: &mut Context<'_>,
    into: &mut BytesMut,
) -> Poll<io::Result<usize>>
where
    S: AsyncRead + Unpin,
{
    SCRATCH.with_borrow_mut(|scratch| {
        let mut buffer = ReadBuf::new(scratch);
        ready!(Pin::new(stream).poll_read(cx, &mut buffer))?;
        into.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    })
}

/// [`poll_read`] as a future.
pub(crate) async fn read<S>(stream: &mut S, into: &mut BytesMut) -> io::Result<usize>
where
    S: AsyncRead + Unpin,
{
    std::future::poll_fn(|cx| poll_read(stream, cx, into)).await
}

/// Reads and throws away until the end of the stream or until this many bytes have gone.
pub(crate) async fn discard<S>(stream: &mut S, limit: usize) -> io::Result<()>
where
    S: AsyncRead + Unpin,
{
    let mut sink = BytesMut::new();
    let mut left = limit;
    while left > 0 {
        let count = read(stream, &mut sink).await?;
        if count == 0 {
            break;
        }
        left = left.saturating_sub(count);
        sink.clear();
    }
    Ok(())
}
