//! Accepting clients, on each worker for itself: with a place for each, and with patience when
//! descriptors run out.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use tokio_rustls::TlsAcceptor;

use crate::client::{self, ClientStream};
use crate::connection;
use crate::limit::Place;
use crate::metrics::Door;
use crate::reply;
use crate::worker::Worker;

pub(crate) mod bind;
pub(crate) mod handover;
mod tls;

pub(crate) use handover::Handover;

/// How long a worker waits before it tries again to accept, when there is nothing to accept with.
const BACK_OFF: Duration = Duration::from_millis(100);

/// One worker's share of a listener, not yet in a runtime.
#[derive(Debug)]
pub(crate) enum Share {
    /// Plain TCP.
    Tcp(std::net::TcpListener),
    /// TLS over TCP.
    Tls(std::net::TcpListener, Arc<rustls::ServerConfig>),
    /// A Unix socket.
    Unix(std::os::unix::net::UnixListener),
}

/// The same in the runtime of its worker.
pub(crate) enum Listener {
    Tcp(tokio::net::TcpListener),
    Tls(tokio::net::TcpListener, TlsAcceptor),
    Unix(tokio::net::UnixListener),
}

/// A client that was accepted, and how.
#[derive(Debug)]
struct Client<S> {
    socket: S,
    /// Its address, for the record.
    from: Option<SocketAddr>,
    door: Door,
    place: Place,
}

impl<S> Client<S> {
    fn try_map<T>(self, map: impl FnOnce(S) -> io::Result<T>) -> io::Result<Client<T>> {
        Ok(Client {
            socket: map(self.socket)?,
            from: self.from,
            door: self.door,
            place: self.place,
        })
    }
}

/// Its socket; for TLS before its handshake.
enum Accepted {
    Plain(ClientStream),
    Tls(tokio::net::TcpStream, TlsAcceptor),
}

impl Share {
    /// Registers it with the runtime that this runs in.
    pub(crate) fn activate(self) -> io::Result<Listener> {
        use tokio::net::{TcpListener, UnixListener};
        Ok(match self {
            Self::Tcp(socket) => Listener::Tcp(TcpListener::from_std(socket)?),
            Self::Tls(socket, config) => {
                Listener::Tls(TcpListener::from_std(socket)?, TlsAcceptor::from(config))
            }
            Self::Unix(socket) => Listener::Unix(UnixListener::from_std(socket)?),
        })
    }
}

impl Listener {
    fn door(&self) -> Door {
        match self {
            Self::Tcp(_) => Door::Tcp,
            Self::Tls(..) => Door::Tls,
            Self::Unix(_) => Door::Unix,
        }
    }

    /// A client, and its address where it has one.
    async fn accept(&self) -> io::Result<(Accepted, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                let stream = ClientStream::Tcp(stream);
                Ok((Accepted::Plain(stream), Some(peer)))
            }
            Self::Tls(listener, acceptor) => {
                let (stream, peer) = listener.accept().await?;
                let accepted = Accepted::Tls(stream, acceptor.clone());
                Ok((accepted, Some(peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let stream = ClientStream::Unix(stream);
                Ok((Accepted::Plain(stream), None))
            }
        }
    }
}

/// Accepts until the drain begins, or until the listener can never accept again. What was accepted
/// goes on without this.
pub(crate) async fn run(worker: Rc<Worker>, listener: Listener) -> io::Result<()> {
    loop {
        let accepted = tokio::select! {
            biased;
            () = worker.drain().begun() => return Ok(()),
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((accepted, peer)) => admit(&worker, accepted, peer, listener.door()),
            Err(error) => {
                worker.meter().accept_error();
                if is_of_one_client(&error) {
                    continue;
                }
                if is_final(&error) {
                    return Err(error);
                }
                worker.shared.accept_log.say(|| {
                    tracing::error!(%error, "cannot accept clients; trying again");
                });
                tokio::select! {
                    () = worker.drain().begun() => return Ok(()),
                    () = tokio::time::sleep(BACK_OFF) => {}
                }
            }
        }
    }
}

/// Whether the error is about the client that was to be accepted, and the next may do.
fn is_of_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
            | io::ErrorKind::TimedOut
    )
}

/// Whether the error says that this socket does not listen, and so never will.
fn is_final(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP)
    )
}

fn admit(worker: &Rc<Worker>, socket: Accepted, from: Option<SocketAddr>, door: Door) {
    let Some(place) = worker.shared.connections.enter(worker.index()) else {
        worker.meter().over_limit();
        turn_away(worker, socket);
        return;
    };
    let client = Client {
        socket,
        from,
        door,
        place,
    };
    if let Some(client) = handover::offer(worker, client) {
        serve(worker, client);
    }
}

fn serve(worker: &Rc<Worker>, client: Client<Accepted>) {
    let actor = client::identify(client.from);
    let visit = Visit::begin(worker, client.door, client.place);
    let socket = client.socket;
    tokio::task::spawn_local(async move {
        let worker = &visit.worker;
        match socket {
            Accepted::Plain(stream) => connection::serve(worker, stream, actor).await,
            Accepted::Tls(stream, acceptor) => {
                let limit = worker.config().timeouts.head;
                match tokio::time::timeout(limit, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => {
                        let stream = ClientStream::Tls(Box::new(stream));
                        connection::serve(worker, stream, actor).await;
                    }
                    Ok(Err(_)) | Err(_) => worker.meter().handshake_error(),
                }
            }
        }
    });
}

/// Says that the proxy is full, without waiting for a client that may never read it.
fn turn_away(worker: &Worker, accepted: Accepted) {
    if let Accepted::Plain(stream) = accepted {
        stream.say_and_close(&reply::over_limit(worker.next_id()));
    }
}

/// One connection's stay: everything that is to be undone however it ends, by panic too.
struct Visit {
    worker: Rc<Worker>,
    _guest: crate::drain::Guest,
    _place: Place,
}

impl Visit {
    fn begin(worker: &Rc<Worker>, door: Door, place: Place) -> Self {
        worker.meter().opened(door);
        Self {
            worker: Rc::clone(worker),
            _guest: worker.drain().enter(),
            _place: place,
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.worker.meter().closed();
        // The runtime catches a panic of one task; the others never notice.
        if std::thread::panicking() {
            self.worker.meter().panicked();
        }
    }
}

#[cfg(test)]
mod tests;
