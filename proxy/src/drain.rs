//! The end of a proxy: what each phase means, and how a worker learns of it.
//!
//! The phases are decided by signals in `server`; here is what connections see of them.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How far the end has come.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Phase {
    /// Connections are accepted.
    Running,
    /// None is accepted any more; open ones may end in their own time.
    Draining,
    /// Open ones are cut.
    Cut,
}

/// How far the whole proxy has come, for those who ask whether it serves.
#[derive(Debug)]
pub(crate) struct Stage {
    workers: usize,
    accepting: AtomicUsize,
    draining: AtomicBool,
}

impl Stage {
    /// None of this many workers accepts yet.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers,
            accepting: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
        }
    }

    /// One more worker accepts.
    pub(crate) fn accepts(&self) {
        self.accepting.fetch_add(1, Ordering::Relaxed);
    }

    /// The drain begins.
    pub(crate) fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether every worker accepts.
    pub(crate) fn is_serving(&self) -> bool {
        !self.draining.load(Ordering::Relaxed)
            && self.accepting.load(Ordering::Relaxed) == self.workers
    }

    /// The word for it.
    pub(crate) fn as_str(&self) -> &'static str {
        if self.draining.load(Ordering::Relaxed) {
            "draining"
        } else if self.is_serving() {
            "running"
        } else {
            "starting"
        }
    }
}

/// One worker's view: whether it drains, and how many of its connections are left.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    draining: Cell<bool>,
    begun: Notify,
    is_over: Cell<bool>,
    over: Notify,
    guests: Cell<usize>,
    empty: Notify,
}

impl Drain {
    /// Tells everyone who waits in [`Drain::begun`].
    pub(crate) fn begin(&self) {
        self.draining.set(true);
        self.begun.notify_waiters();
    }

    /// Whether the drain has begun: then a connection serves no further request.
    pub(crate) fn has_begun(&self) -> bool {
        self.draining.get()
    }

    /// Resolves when the drain begins, at once if it already has.
    pub(crate) async fn begun(&self) {
        // Made before the look at the flag, so that no call of `begin` falls between the two.
        let begun = self.begun.notified();
        if !self.draining.get() {
            begun.await;
        }
    }

    /// Ends the time that open requests had. Each must now end by itself, with its record.
    pub(crate) fn finish(&self) {
        self.is_over.set(true);
        self.over.notify_waiters();
    }

    /// Resolves when open requests must end, at once if that time has come. Tunnels are told by
    /// themselves; this is for what is no tunnel.
    pub(crate) async fn over(&self) {
        let over = self.over.notified();
        if !self.is_over.get() {
            over.await;
        }
    }

    /// Whether open requests must end.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Counts one connection until the guest is dropped.
    pub(crate) fn enter(self: &Rc<Self>) -> Guest {
        self.guests.set(self.guests.get() + 1);
        Guest(Rc::clone(self))
    }

    /// Resolves when no guest is left.
    pub(crate) async fn empty(&self) {
        while self.guests.get() > 0 {
            self.empty.notified().await;
        }
    }
}

/// One connection that a drain waits for.
#[derive(Debug)]
pub(crate) struct Guest(Rc<Drain>);

impl Drop for Guest {
    fn drop(&mut self) {
        let left = self.0.guests.get() - 1;
        self.0.guests.set(left);
        if left == 0 {
            self.0.empty.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
