//! Clients from one worker to another. The kernel spreads them by a hash, so that a few long and
//! busy tunnels can land on one worker while the others have nothing to do. A client that a worker
//! with many of them accepts goes to one with far fewer, before anything is read of it.
//!
//! It does not know what becomes of a client.

use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_rustls::TlsAcceptor;

use super::{Accepted, Client};
use crate::client::ClientStream;
use crate::worker::Worker;

/// How many clients may be on their way to one worker; what finds no room stays where it is.
const ROOM: usize = 64;

/// A client between two runtimes.
#[derive(Debug)]
pub(crate) struct Handed(Client<Socket>);

/// An accepted socket that belongs to no runtime.
enum Socket {
    Tcp(std::net::TcpStream),
    Unix(UnixStream),
    Tls(std::net::TcpStream, TlsAcceptor),
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Socket").finish_non_exhaustive()
    }
}

/// The ways to all workers.
#[derive(Debug)]
pub(crate) struct Handover(Box<[Way]>);

#[derive(Debug)]
struct Way {
    to: Sender<Handed>,
    /// Until its worker takes it.
    from: Mutex<Option<Receiver<Handed>>>,
}

impl Handover {
    /// Between this many workers.
    pub(crate) fn new(workers: usize) -> Self {
        let way = |_| {
            let (to, from) = channel(ROOM);
            Way {
                to,
                from: Mutex::new(Some(from)),
            }
        };
        Self((0..workers).map(way).collect())
    }

    /// The end at which this worker receives; it is given once.
    fn end(&self, worker: usize) -> Option<Receiver<Handed>> {
        let from = self.0.get(worker)?.from.lock();
        from.unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Hands a client on if another worker has far fewer. It comes back if it stays.
pub(super) fn offer(worker: &Worker, mut client: Client<Accepted>) -> Option<Client<Accepted>> {
    let Some(other) = client.place.lighter() else {
        return Some(client);
    };
    let ways = &worker.shared.handover.0;
    let Some(Ok(room)) = ways.get(other).map(|way| way.to.try_reserve()) else {
        return Some(client);
    };
    client.place.move_to(other);
    match client.try_map(detach) {
        Ok(client) => room.send(Handed(client)),
        // The socket is gone with the error, and its client with it.
        Err(error) => tracing::debug!(%error, "a client could not be handed on"),
    }
    None
}

/// Serves what other workers hand on, until the drain begins and nothing is on its way any more.
pub(crate) async fn run(worker: Rc<Worker>) -> io::Result<()> {
    let end = worker.shared.handover.end(worker.index());
    let mut from = end.ok_or_else(|| io::Error::other("a worker receives twice"))?;
    loop {
        let handed = tokio::select! {
            biased;
            () = worker.drain().begun(), if !from.is_closed() => {
                from.close();
                continue;
            }
            handed = from.recv() => handed,
        };
        let Some(Handed(client)) = handed else {
            return Ok(());
        };
        match client.try_map(attach) {
            Ok(client) => super::serve(&worker, client),
            Err(error) => tracing::debug!(%error, "a client could not be taken over"),
        }
    }
}

fn detach(accepted: Accepted) -> io::Result<Socket> {
    Ok(match accepted {
        Accepted::Tls(stream, acceptor) => Socket::Tls(stream.into_std()?, acceptor),
        Accepted::Plain(ClientStream::Tcp(stream)) => Socket::Tcp(stream.into_std()?),
        Accepted::Plain(ClientStream::Unix(stream)) => Socket::Unix(stream.into_std()?),
        Accepted::Plain(ClientStream::Tls(_)) => {
            return Err(io::Error::other("its handshake belongs to this worker"));
        }
    })
}

fn attach(socket: Socket) -> io::Result<Accepted> {
    use tokio::net::{TcpStream, UnixStream};
    Ok(match socket {
        Socket::Tls(stream, acceptor) => Accepted::Tls(TcpStream::from_std(stream)?, acceptor),
        Socket::Tcp(stream) => Accepted::Plain(ClientStream::Tcp(TcpStream::from_std(stream)?)),
        Socket::Unix(stream) => Accepted::Plain(ClientStream::Unix(UnixStream::from_std(stream)?)),
    })
}
