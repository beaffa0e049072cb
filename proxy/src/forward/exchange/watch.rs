//! What ends an exchange from outside, while hyper serves it: the clock, a client that leaves, the
//! end of the proxy, a new policy.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Duration;

use tokio::time::Instant;

use super::Exchange;
use crate::authorize;
use crate::forward::held::Held;

/// How often to look whether the client is still there.
const LOOK: Duration = Duration::from_secs(1);

/// How the client's half came to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stop {
    /// hyper is done.
    Done,
    /// hyper met an error.
    Broken,
    /// Nothing moved for too long.
    Stalled,
    /// The client has left.
    Gone,
    /// The proxy's time is over.
    Cut,
    /// A new policy refuses it; the reason is in [`Exchange::failure`].
    Refused,
}

impl Exchange {
    /// Looks after everything that ends an exchange from outside, while hyper serves it.
    pub(super) async fn watch(
        &self,
        gate: &Held,
        mut serving: Pin<&mut impl Future<Output = hyper::Result<()>>>,
    ) -> Stop {
        let limit = self.worker.config().timeouts.idle;
        let mut since = Instant::now();
        let mut next = pin!(tokio::time::sleep(limit.min(LOOK)));
        let mut over = pin!(self.worker.drain().over());
        let mut rechecked = pin!(self.worker.rechecked());
        // The policy may have changed while this was dialled.
        let mut is_due = self.worker.config().recheck;
        let mut has_stirred = false;
        let mut before = self.progress();
        poll_fn(|cx| {
            while rechecked.as_mut().poll(cx).is_ready() {
                rechecked.set(self.worker.rechecked());
                is_due = true;
            }
            if std::mem::take(&mut is_due) && !self.is_still_allowed() {
                return Poll::Ready(Stop::Refused);
            }
            if let Poll::Ready(end) = serving.as_mut().poll(cx) {
                return Poll::Ready(if end.is_ok() {
                    Stop::Done
                } else {
                    Stop::Broken
                });
            }
            if over.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Stop::Cut);
            }
            if !has_stirred && gate.has_stirred(cx) {
                // Bytes that stay unread hide what follows, so that the clock has to look for it.
                has_stirred = true;
                if gate.is_client_gone() {
                    return Poll::Ready(Stop::Gone);
                }
            }
            loop {
                ready!(next.as_mut().poll(cx));
                if gate.is_client_gone() {
                    return Poll::Ready(Stop::Gone);
                }
                let (now, moved) = (Instant::now(), self.progress());
                if moved != before {
                    (since, before) = (now, moved);
                }
                if now >= since + limit {
                    return Poll::Ready(Stop::Stalled);
                }
                next.as_mut().reset((now + LOOK).min(since + limit));
            }
        })
        .await
    }

    /// Whether the policy in force still lets it be; if not, why is in `failure`.
    fn is_still_allowed(&self) -> bool {
        let ticket = self.ticket.borrow();
        let Some(ticket) = &*ticket else {
            return true; // A tunnel has it, and is looked at among the tunnels.
        };
        match authorize::recheck(&self.worker, ticket) {
            Ok(()) => true,
            Err(refusal) => {
                self.failure.replace(Some(refusal));
                false
            }
        }
    }

    fn progress(&self) -> (u64, u64, bool) {
        let moved = &self.moved;
        (moved.up.get(), moved.down.get(), self.answered.get())
    }
}
