//! The life of a tunnel after its upstream is connected: the client's first bytes are judged, then
//! bytes move until one side ends it, it has been silent for too long, or it is cut.
//!
//! It does not know which door made the tunnel, and how the connection was made.

mod direction;
mod open;
mod relay;

use std::cell::Cell;

use moat_policy::record::{Cause, EndedBy};
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
    let open = Open {
        worker,
        place: worker.tunnels.enter(ticket),
        end: Cell::new((Cause::Shutdown, EndedBy::Moat)),
    };
    // The open tunnels may have been cut, or held to a new policy, while this was dialled.
    let rechecks = worker.config().recheck;
    if worker.drain().is_over()
        || rechecks && authorize::recheck(worker, open.place.ticket()).is_err()
    {
        open.place.cut();
    }
    carry(open, ends, opening)
}

/// A tunnel whose end has no record yet. Dropping it writes that, so that one which ends by a fault,
/// or with its thread, has one.
struct Open<'t> {
    worker: &'t Worker,
    place: Entered<'t>,
    end: Cell<(Cause, EndedBy)>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let (cause, by) = self.end.get();
        let (ticket, moved) = (self.place.ticket(), self.place.moved());
        authorize::left(self.worker, ticket, cause, moved, by);
    }
}

async fn carry(open: Open<'_>, ends: Ends, opening: Opening) {
    let _counted = open.worker.meter().tunnel();
    let (end, mut client) = {
        let allowed = |target: &_| authorize::allows(open.worker, open.place.ticket(), target);
        let relay = Relay::new(&open.place, ends, opening, open.worker.meter(), &allowed);
        relay.run(open.worker.config().timeouts).await
    };
    if let Some(refusal) = &end.refusal {
        authorize::refused_late(open.worker, open.place.ticket(), refusal, None);
    }
    open.end.set((end.cause, end.by));
    drop(open);
    if let Some(words) = end.last_words {
        // Boxed: a tunnel that is not refused does not carry it.
        Box::pin(linger::say(&mut client, words)).await;
    }
}

#[cfg(test)]
mod tests;
