//! The life of a tunnel after its upstream is connected: the client's first bytes are judged, then
//! bytes move until one side ends it, it has been silent for too long, or it is cut.
//!
//! It does not know which door made the tunnel, and how the connection was made.

mod direction;
mod open;
mod relay;

use bytes::BytesMut;
use tokio::net::TcpStream;

pub(crate) use self::open::Tunnels;
use self::relay::Relay;
use crate::authorize::{self, Ticket};
use crate::linger;
use crate::stream::ClientStream;
use crate::worker::Worker;

/// Whether the client's first bytes must name where they go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Opening {
    /// They are judged before one of them goes upstream.
    Judged,
    /// They follow a request whose Host header was judged, on a connection that its origin agreed
    /// to hand over.
    Named,
}

/// Carries one tunnel to its end, and records how it ended. `early` is what the client sent behind
/// its request.
pub(crate) async fn serve(
    worker: &Worker,
    ticket: Ticket,
    client: ClientStream,
    upstream: TcpStream,
    early: BytesMut,
    opening: Opening,
) {
    let _counted = worker.meter().tunnel();
    let open = worker.tunnels.enter(ticket);
    let (end, mut client) = {
        let allowed = |target: &_| authorize::allows(worker, open.ticket(), target);
        let relay = Relay::new(&open, client, upstream, early, opening, &allowed);
        relay.run(worker.config().timeouts).await
    };
    if let Some(refusal) = &end.refusal {
        authorize::refused_late(worker, open.ticket(), refusal);
    }
    authorize::closed(worker, open.ticket(), end.cause, (end.up, end.down), end.by);
    if end.refusal.is_some() {
        // Boxed: a tunnel that is not refused does not carry it.
        Box::pin(linger::say(&mut client, end.last_words)).await;
    }
}

#[cfg(test)]
mod tests;
