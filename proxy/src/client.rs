//! The client: who it is, as far as a listener can tell, and its end of the connection, whatever
//! listener it came in by.

use std::borrow::Cow;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use moat_policy::record::Actor;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// How often to look for the end of a Unix socket that nobody reads.
const LOOK: Duration = Duration::from_millis(250);

/// Who asks: the address that the client came from. A Unix socket, which has none, is `unix`.
pub(crate) fn identify(peer: Option<SocketAddr>) -> Arc<Actor> {
    let mut actor = Actor::default();
    actor.client = Some(match peer {
        Some(address) => Cow::Owned(address.to_string()),
        None => Cow::Borrowed("unix"),
    });
    Arc::new(actor)
}

/// A connected client.
#[derive(Debug)]
pub(crate) enum ClientStream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TLS over TCP, after the handshake. Boxed: it is some hundred bytes larger than the others.
    Tls(Box<TlsStream<TcpStream>>),
}

impl ClientStream {
    /// Makes the close of this connection a reset: what was sent must not look whole. Unix sockets
    /// have no reset.
    pub(crate) fn reset_when_closed(&self) {
        let stream = match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
            Self::Unix(_) => return,
        };
        // A socket that refuses this is closed in the ordinary way.
        let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
    }

    /// Whether closing says all that there is to say at an end; TLS has words of its own for it.
    pub(crate) fn ends_with_its_close(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => true,
            Self::Tls(_) => false,
        }
    }

    /// Whether the other end is gone for good: it reset the connection or, on a Unix socket, closed
    /// it. One that has only ended its own sending still listens.
    pub(crate) fn is_gone(&self) -> bool {
        self.shows(PollFlags::ERR | PollFlags::HUP)
    }

    /// Whether the other end reset the connection, seen without reading.
    pub(crate) fn is_reset(&self) -> bool {
        self.shows(PollFlags::ERR)
    }

    /// Resolves when the client is gone for good. One that has only ended its own sending is still
    /// there.
    pub(crate) async fn gone(&self) {
        loop {
            // A reset wakes its socket. The end of a Unix socket has no event of its own.
            let _ = tokio::time::timeout(LOOK, self.broken()).await;
            if self.is_gone() {
                return;
            }
        }
    }

    /// Resolves when the client is gone, or has ended its own sending without a word.
    pub(crate) async fn deserted(&self) {
        loop {
            let ready = match self {
                Self::Tcp(stream) => stream.readable().await,
                Self::Unix(stream) => stream.readable().await,
                Self::Tls(stream) => stream.get_ref().0.readable().await,
            };
            let peeked = ready.and_then(|()| match self {
                Self::Tcp(stream) => stream.try_io(Interest::READABLE, || peek(stream)),
                Self::Unix(stream) => stream.try_io(Interest::READABLE, || peek(stream)),
                Self::Tls(stream) => {
                    let stream = stream.get_ref().0;
                    stream.try_io(Interest::READABLE, || peek(stream))
                }
            });
            match peeked {
                Ok(0) => return,
                Ok(_) => return self.gone().await,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    /// Ready once something has happened on a socket that nobody reads: bytes, their end, or a
    /// reset. Takes the place of whoever waits to read.
    pub(crate) fn poll_stirred(&self, cx: &mut Context<'_>) -> Poll<()> {
        let stirred = match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
            Self::Tls(stream) => stream.get_ref().0.poll_read_ready(cx),
        };
        stirred.map(|_| ())
    }

    /// Resolves when the socket has an error.
    async fn broken(&self) {
        let broken = match self {
            Self::Tcp(stream) => stream.ready(Interest::ERROR).await,
            Self::Unix(stream) => stream.ready(Interest::ERROR).await,
            Self::Tls(stream) => stream.get_ref().0.ready(Interest::ERROR).await,
        };
        if broken.is_ok() && !self.is_gone() {
            // An error that is over already does not come again.
            std::future::pending::<()>().await;
        }
    }

    fn shows(&self, any: PollFlags) -> bool {
        let socket = match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Tls(stream) => stream.get_ref().0.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        };
        let mut asked = PollFd::from_borrowed_fd(socket, PollFlags::empty());
        let answer = poll(std::slice::from_mut(&mut asked), Some(&Timespec::default()));
        answer.is_ok() && asked.revents().intersects(any)
    }

    /// Writes what the socket takes at once and closes. What the client has sent already is read
    /// first, as far as it is there: closing with unread bytes resets the connection, and then
    /// the client may never see the answer.
    pub(crate) fn say_and_close(self, answer: &[u8]) {
        let mut unread = [0; 4096];
        match self {
            Self::Tcp(stream) => {
                drop(stream.try_write(answer));
                while stream.try_read(&mut unread).is_ok_and(|read| read > 0) {}
            }
            Self::Unix(stream) => {
                drop(stream.try_write(answer));
                while stream.try_read(&mut unread).is_ok_and(|read| read > 0) {}
            }
            // Over TLS nothing can be said before a handshake.
            Self::Tls(_) => {}
        }
    }
}

fn peek(socket: impl AsFd) -> io::Result<usize> {
    SockRef::from(&socket).peek(&mut [MaybeUninit::uninit()])
}

macro_rules! each {
    ($self:ident, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            ClientStream::Tcp($stream) => $call,
            ClientStream::Unix($stream) => $call,
            ClientStream::Tls($stream) => $call,
        }
    };
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use socket2::SockRef;
    use tokio::io::AsyncReadExt as _;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::UnixStream;

    use super::ClientStream;
    use crate::testing::{client, local};

    #[test]
    fn a_client_that_stopped_sending_is_there_until_it_resets() {
        local(async {
            let (mut near, mut far) = client().await;
            assert!(!near.is_gone());
            far.shutdown().await.unwrap();
            assert_eq!(near.read(&mut [0]).await.unwrap(), 0);
            assert!(!near.is_gone());
            let now = Some(Duration::ZERO);
            SockRef::from(&far).set_linger(now).unwrap();
            drop(far);
            while !near.is_gone() {
                tokio::task::yield_now().await;
            }
        });
    }

    #[test]
    fn a_closed_unix_client_is_gone() {
        local(async {
            let (near, mut far) = UnixStream::pair().unwrap();
            let near = ClientStream::Unix(near);
            far.shutdown().await.unwrap();
            assert!(!near.is_gone());
            drop(far);
            assert!(near.is_gone());
        });
    }
}
