//! Happy eyeballs (RFC 8305): several addresses tried in turn, each a little after the last or at
//! once when one fails; the first that connects wins, and the others are closed.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// How long an attempt has before the next one starts beside it (RFC 8305, section 5).
const STAGGER: Duration = Duration::from_millis(250);

/// No address could be reached.
#[derive(Debug)]
pub(super) struct Lost {
    /// The address whose failure says most.
    pub(super) address: SocketAddr,
    /// How it failed; `None` if time ran out.
    pub(super) error: Option<io::Error>,
}

impl Lost {
    pub(super) fn new(address: SocketAddr, error: io::Error) -> Self {
        Self {
            address,
            error: Some(error),
        }
    }

    pub(super) fn late(address: SocketAddr) -> Self {
        Self {
            address,
            error: None,
        }
    }
}

struct Race<'a, F, C> {
    waiting: std::slice::Iter<'a, SocketAddr>,
    running: Vec<(SocketAddr, Pin<Box<F>>)>,
    connect: C,
    /// The first failure.
    failed: Option<Lost>,
    /// An attempt has failed since the last one was started.
    has_room: bool,
}

/// Tries the addresses, in their order, within one limit for all of them.
pub(super) async fn run<S, F, C>(
    addresses: &[SocketAddr],
    connect: C,
    limit: Duration,
) -> Result<(S, SocketAddr), Lost>
where
    C: Fn(SocketAddr) -> F,
    F: Future<Output = io::Result<S>>,
{
    let start = Instant::now();
    let mut race = Race {
        waiting: addresses.iter(),
        running: Vec::new(),
        connect,
        failed: None,
        has_room: true,
    };
    let mut next = pin!(sleep_until(start));
    let won = poll_fn(|cx| race.poll(cx, next.as_mut()));
    let won = tokio::time::timeout_at(start + limit, won).await;
    won.unwrap_or_else(|_| {
        let pending = race.running.first().map(|(address, _)| *address);
        Err(match (pending, race.failed) {
            (Some(address), _) => Lost::late(address),
            (None, Some(failed)) => failed,
            (None, None) => nothing(),
        })
    })
}

/// There was nothing to try.
fn nothing() -> Lost {
    let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
    Lost::new(nowhere, io::ErrorKind::AddrNotAvailable.into())
}

impl<S, F, C> Race<'_, F, C>
where
    C: Fn(SocketAddr) -> F,
    F: Future<Output = io::Result<S>>,
{
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut next: Pin<&mut Sleep>,
    ) -> Poll<Result<(S, SocketAddr), Lost>> {
        loop {
            if let Some(won) = self.poll_running(cx) {
                return Poll::Ready(Ok(won));
            }
            // An attempt that has failed makes room for the next one at once.
            let is_due = self.has_room || next.as_mut().poll(cx).is_ready();
            let Some(&address) = self.waiting.as_slice().first().filter(|_| is_due) else {
                break;
            };
            self.waiting.next();
            self.has_room = false;
            self.running
                .push((address, Box::pin((self.connect)(address))));
            next.as_mut().reset(Instant::now() + STAGGER);
        }
        if self.running.is_empty() && self.waiting.as_slice().is_empty() {
            return Poll::Ready(Err(self.failed.take().unwrap_or_else(nothing)));
        }
        Poll::Pending
    }

    fn poll_running(&mut self, cx: &mut Context<'_>) -> Option<(S, SocketAddr)> {
        let mut won = None;
        let (failed, has_room) = (&mut self.failed, &mut self.has_room);
        self.running.retain_mut(|(address, attempt)| {
            if won.is_some() {
                return true;
            }
            match attempt.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(Ok(stream)) => {
                    won = Some((stream, *address));
                    false
                }
                Poll::Ready(Err(error)) => {
                    failed.get_or_insert_with(|| Lost::new(*address, error));
                    *has_room = true;
                    false
                }
            }
        });
        won
    }
}
