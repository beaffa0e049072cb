//! Both directions of a tunnel, its gate and its clock, as one poll function: the task of an idle
//! tunnel holds the two sockets, a timer and some counters.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use moat_policy::record::{Cause, EndedBy};
use moat_policy::request::Target;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::direction::{Broken, Direction, Farewell, poll_append};
use super::open::Entered;
use super::{Ends, Opening};
use crate::client::ClientStream;
use crate::config::Timeouts;
use crate::greeting::{self, Greeting, Progress};
use crate::metrics::Meter;
use crate::refusal::Refusal;

/// How often to look for a reset of a client that is not read from, since its origin takes nothing
/// or since it has sent all.
const LOOK: Duration = Duration::from_secs(1);

/// How a tunnel ended.
#[derive(Debug)]
pub(super) struct End {
    /// Who ended it.
    pub(super) by: EndedBy,
    /// Why.
    pub(super) cause: Cause,
    /// What the client's first bytes were refused for.
    pub(super) refusal: Option<Refusal>,
    /// What the client is still to be told before an orderly end.
    pub(super) last_words: Option<&'static [u8]>,
}

impl End {
    fn new(by: EndedBy, cause: Cause, refusal: Option<Refusal>) -> Self {
        Self {
            by,
            cause,
            refusal,
            last_words: None,
        }
    }
}

/// The client's first bytes, while they are collected. Nothing of them has gone upstream.
#[derive(Debug)]
struct Gate {
    seen: Vec<u8>,
    progress: Progress,
    /// When the first of them came.
    since: Option<Instant>,
}

/// One tunnel at work.
pub(super) struct Relay<'t> {
    open: &'t Entered<'t>,
    client: ClientStream,
    upstream: TcpStream,
    up: Direction,
    down: Direction,
    gate: Option<Gate>,
    meter: &'t Meter,
    /// Whether a name other than the target's is allowed.
    allowed: &'t dyn Fn(&Target) -> bool,
    /// Who came to its end first.
    first: Option<EndedBy>,
    active: Instant,
}

/// Why a tunnel stops before both directions are at their end.
enum Stop {
    Broken(EndedBy),
    Refused(Refusal),
}

/// A tunnel that is not at its end. Dropped before it is, by a fault or with its thread, it leaves
/// neither side with something that looks whole.
struct Running<'t>(Option<Relay<'t>>);

impl<'t> Running<'t> {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timer: Pin<&mut Sleep>,
        limits: Timeouts,
    ) -> Poll<(End, Relay<'t>)> {
        let Some(relay) = &mut self.0 else {
            return Poll::Pending;
        };
        let end = ready!(relay.poll(cx, timer, limits));
        self.0
            .take()
            .map_or(Poll::Pending, |relay| Poll::Ready((end, relay)))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(relay) = &self.0 {
            relay.count();
            relay.reset();
        }
    }
}

impl<'t> Relay<'t> {
    pub(super) fn new(
        open: &'t Entered<'t>,
        ends: Ends,
        opening: Opening,
        meter: &'t Meter,
        allowed: &'t dyn Fn(&Target) -> bool,
    ) -> Self {
        let (mut up, mut down) = (Direction::new(), Direction::new());
        down.preload(ends.late);
        let active = Instant::now();
        let ticket = open.ticket();
        let early = ends.early;
        let gate = if opening == Opening::Judged
            && Greeting::is_needed(ticket.grant(), ticket.target().port)
        {
            let since = (!early.is_empty()).then_some(active);
            Some(Gate {
                seen: early,
                progress: Progress::default(),
                since,
            })
        } else {
            up.preload(early);
            None
        };
        Self {
            open,
            client: ends.client,
            upstream: ends.upstream,
            up,
            down,
            gate,
            meter,
            allowed,
            first: None,
            active,
        }
    }

    /// Moves bytes until the end. The upstream is closed then; the client is given back.
    pub(super) async fn run(self, limits: Timeouts) -> (End, ClientStream) {
        let mut timer = pin!(sleep_until(self.active + limits.idle));
        let mut running = Running(Some(self));
        let (end, relay) = poll_fn(|cx| running.poll(cx, timer.as_mut(), limits)).await;
        (end, relay.client)
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timer: Pin<&mut Sleep>,
        limits: Timeouts,
    ) -> Poll<End> {
        if self.open.is_cut(cx.waker()) {
            return Poll::Ready(self.cut(Cause::Shutdown));
        }
        let before = self.progress();
        let both = self.poll_both(cx);
        self.count();
        match both {
            Poll::Ready(Ok(())) => {
                let by = self.first.unwrap_or(EndedBy::Client);
                return Poll::Ready(End::new(by, Cause::Done, None));
            }
            Poll::Ready(Err(Stop::Broken(by))) => return Poll::Ready(self.broken(by)),
            Poll::Ready(Err(Stop::Refused(refusal))) => {
                return Poll::Ready(self.refused(refusal));
            }
            Poll::Pending => {}
        }
        if self.progress() != before {
            self.active = Instant::now();
        }
        self.poll_time(cx, timer, limits)
    }

    /// Counts what has moved since the last call: a tunnel may live for days.
    fn count(&self) {
        let moved = (self.up.moved(), self.down.moved());
        let counted = self.open.note(moved);
        if moved != counted {
            let (up, down) = counted;
            let (up, down) = (moved.0.saturating_sub(up), moved.1.saturating_sub(down));
            self.meter.moved(up, down);
        }
    }

    /// A number that changes whenever a byte has moved.
    fn progress(&self) -> u64 {
        let held = self.gate.as_ref().map_or(0, |gate| gate.seen.len() as u64);
        self.up
            .moved()
            .wrapping_add(self.down.moved())
            .wrapping_add(held)
    }

    fn poll_both(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Stop>> {
        let farewell = if self.up.is_done() && self.client.ends_with_its_close() {
            Farewell::Close
        } else {
            Farewell::Shutdown
        };
        let (client, upstream) = (&mut self.client, &mut self.upstream);
        let down = self.down.poll(cx, upstream, client, farewell);
        if let Poll::Ready(Err(broken)) = down {
            return Poll::Ready(Err(Stop::Broken(match broken {
                Broken::Reader => EndedBy::Upstream,
                Broken::Writer => EndedBy::Client,
            })));
        }
        if self.down.is_ending() && self.first.is_none() {
            self.first = Some(EndedBy::Upstream);
        }
        if self.gate.is_some()
            && let Poll::Ready(Err(stop)) = self.poll_gate(cx)
        {
            return Poll::Ready(Err(stop));
        }
        if self.gate.is_none() {
            let farewell = if self.down.is_done() {
                Farewell::Close
            } else {
                Farewell::Shutdown
            };
            let (client, upstream) = (&mut self.client, &mut self.upstream);
            let up = self.up.poll(cx, client, upstream, farewell);
            if let Poll::Ready(Err(broken)) = up {
                return Poll::Ready(Err(Stop::Broken(match broken {
                    Broken::Reader => EndedBy::Client,
                    Broken::Writer => EndedBy::Upstream,
                })));
            }
        }
        if self.up.is_ending() && self.first.is_none() {
            self.first = Some(EndedBy::Client);
        }
        if self.up.is_done() && self.down.is_done() {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }

    /// Collects the client's first bytes and judges them.
    fn poll_gate(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Stop>> {
        let mut ended = false;
        loop {
            let Some(gate) = &mut self.gate else {
                return Poll::Ready(Ok(()));
            };
            let ticket = self.open.ticket();
            let greeting = Greeting {
                target: ticket.target(),
                grant: ticket.grant(),
                allowed: self.allowed,
            };
            match greeting.judge(&mut gate.progress, &gate.seen, ended) {
                greeting::Judged::Pass => {
                    self.up.preload(std::mem::take(&mut gate.seen));
                    if ended {
                        self.up.end();
                    }
                    self.gate = None;
                    return Poll::Ready(Ok(()));
                }
                greeting::Judged::Refuse(refusal) => {
                    return Poll::Ready(Err(Stop::Refused(refusal)));
                }
                greeting::Judged::More => {}
            }
            let space = greeting::LIMIT.saturating_sub(gate.seen.len()).max(1);
            match poll_append(cx, &mut self.client, &mut gate.seen, space) {
                Poll::Ready(Ok(0)) => ended = true,
                Poll::Ready(Ok(_)) => {
                    gate.since.get_or_insert_with(Instant::now);
                }
                Poll::Ready(Err(_)) => {
                    return Poll::Ready(Err(Stop::Broken(EndedBy::Client)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Looks at the clock. The timer is not moved whenever a byte moves: when it fires, it is set
    /// to what is left.
    fn poll_time(
        &mut self,
        cx: &mut Context<'_>,
        mut timer: Pin<&mut Sleep>,
        limits: Timeouts,
    ) -> Poll<End> {
        loop {
            let idle = self.active + limits.idle;
            let head = self.gate.as_ref().and_then(|gate| gate.since);
            let head = head.map(|since| since + limits.head);
            let limit = head.map_or(idle, |head| head.min(idle));
            let is_unread = self.up.is_blocked() || self.up.is_done();
            let deadline = if is_unread {
                limit.min(Instant::now() + LOOK)
            } else {
                limit
            };
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            if head.is_some_and(|head| head <= now) {
                return Poll::Ready(self.refused(Refusal::head_too_slow()));
            }
            if idle <= now {
                return Poll::Ready(self.cut(Cause::Timeout));
            }
            if is_unread && self.client.is_reset() {
                return Poll::Ready(self.broken(EndedBy::Client));
            }
            let next = if is_unread {
                limit.min(now + LOOK)
            } else {
                limit
            };
            // At least a tick ahead: a deadline that rounds to now would fire for ever.
            timer
                .as_mut()
                .reset(next.max(now + Duration::from_millis(1)));
        }
    }

    /// Passes a broken connection on: the other side gets a reset too.
    fn broken(&self, by: EndedBy) -> End {
        self.reset();
        let cause = if by == EndedBy::Client {
            Cause::Client
        } else {
            Cause::Upstream
        };
        End::new(by, cause, None)
    }

    /// Ends a tunnel in the middle.
    fn cut(&self, cause: Cause) -> End {
        self.reset();
        End::new(EndedBy::Moat, cause, None)
    }

    /// Makes the close of both connections a reset: neither side may take what it got for all that
    /// there was.
    fn reset(&self) {
        self.client.reset_when_closed();
        // A socket that refuses this is closed in the ordinary way.
        let _ = SockRef::from(&self.upstream).set_linger(Some(Duration::ZERO));
    }

    /// Ends a tunnel whose first bytes are not allowed. A client that has heard nothing yet is told
    /// by an orderly end, over TLS with an alert; one that has must not take that for all.
    fn refused(&self, refusal: Refusal) -> End {
        let speaks_tls = |gate: &Gate| greeting::is_tls(&gate.seen);
        let end = End::new(EndedBy::Moat, refusal.cause, Some(refusal));
        if self.down.moved() > 0 {
            self.reset();
            return end;
        }
        let alert = self.gate.as_ref().is_some_and(speaks_tls);
        End {
            last_words: Some(if alert { greeting::ALERT } else { &[] }),
            ..end
        }
    }
}
