//! The life of a tunnel after its upstream is connected: the client's first bytes are judged, then
//! bytes move until one side ends it, it has been silent for too long, or it is cut.
//!
//! It does not know which door made the tunnel, and how the connection was made.

mod direction;
mod open;
mod relay;

use tokio::net::TcpStream;

use self::open::Entered;
pub(crate) use self::open::Tunnels;
use self::relay::Relay;
use crate::authorize::{self, Ticket};
use crate::client::ClientStream;
use crate::linger;
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

/// The two connections that a tunnel joins.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) client: ClientStream,
    /// What the client sent behind its request.
    pub(crate) early: Vec<u8>,
    pub(crate) upstream: TcpStream,
    /// What was read of the upstream, and belongs to the client.
    pub(crate) late: Vec<u8>,
}

/// Carries one tunnel to its end, and records how it ended.
pub(crate) fn serve(
    worker: &Worker,
    ticket: Ticket,
    ends: Ends,
    opening: Opening,
) -> impl Future<Output = ()> {
    // Before the future, which would keep room for the ticket for as long as the tunnel lives.
    let open = worker.tunnels.enter(ticket);
    if worker.config().recheck && authorize::recheck(worker, open.ticket()).is_err() {
        // The policy changed while this was dialled, after the open tunnels were held to it.
        open.cut();
    }
    carry(worker, open, ends, opening)
}

async fn carry(worker: &Worker, open: Entered<'_>, ends: Ends, opening: Opening) {
    let _counted = worker.meter().tunnel();
    let (end, mut client) = {
        let allowed = |target: &_| authorize::allows(worker, open.ticket(), target);
        let relay = Relay::new(&open, ends, opening, worker.meter(), &allowed);
        relay.run(worker.config().timeouts).await
    };
    if let Some(refusal) = &end.refusal {
        authorize::refused_late(worker, open.ticket(), refusal);
    }
    authorize::left(worker, open.ticket(), end.cause, (end.up, end.down), end.by);
    if let Some(words) = end.last_words {
        // Boxed: a tunnel that is not refused does not carry it.
        Box::pin(linger::say(&mut client, words)).await;
    }
}

#[cfg(test)]
mod tests;
