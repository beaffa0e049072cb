//! The open tunnels of one worker, so that a drain or a new policy can cut them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::authorize::Ticket;

/// Every tunnel that one worker carries now.
#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    next: Cell<u64>,
    open: RefCell<HashMap<u64, Rc<Open>, RandomState>>,
}

/// One open tunnel, as both its own task and the worker see it.
#[derive(Debug)]
struct Open {
    ticket: Ticket,
    cut: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// The place of a tunnel among the open ones; dropping it gives the place up.
#[derive(Debug)]
pub(super) struct Entered<'t> {
    tunnels: &'t Tunnels,
    key: u64,
    open: Rc<Open>,
    /// What has moved so far, up and down.
    moved: Cell<(u64, u64)>,
}

impl Tunnels {
    /// Takes a tunnel in.
    pub(super) fn enter(&self, ticket: Ticket) -> Entered<'_> {
        let key = self.next.get();
        self.next.set(key.wrapping_add(1));
        let open = Rc::new(Open {
            ticket,
            cut: Cell::new(false),
            waker: RefCell::new(None),
        });
        self.open.borrow_mut().insert(key, Rc::clone(&open));
        Entered {
            tunnels: self,
            key,
            open,
            moved: Cell::new((0, 0)),
        }
    }

    /// Cuts those of which `keep` says no, and says how many that were. Each then ends by itself,
    /// with its record, at its next turn.
    pub(crate) fn cut_unless(&self, keep: impl Fn(&Ticket) -> bool) -> usize {
        let mut count = 0;
        for open in self.open.borrow().values() {
            if !open.cut.get() && !keep(&open.ticket) {
                open.cut.set(true);
                count += 1;
                if let Some(waker) = open.waker.borrow_mut().take() {
                    waker.wake();
                }
            }
        }
        count
    }
}

impl Entered<'_> {
    /// What the tunnel was permitted by.
    pub(super) fn ticket(&self) -> &Ticket {
        &self.open.ticket
    }

    /// What has moved so far, up and down.
    pub(super) fn moved(&self) -> (u64, u64) {
        self.moved.get()
    }

    /// Notes what has moved, and gives what had at the last call.
    pub(super) fn note(&self, moved: (u64, u64)) -> (u64, u64) {
        self.moved.replace(moved)
    }

    /// Cuts this one: it ends at its next turn.
    pub(super) fn cut(&self) {
        self.open.cut.set(true);
    }

    /// Whether it has been cut; if not, this waker is woken when that happens.
    pub(super) fn is_cut(&self, waker: &Waker) -> bool {
        let mut kept = self.open.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
        self.open.cut.get()
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.tunnels.open.borrow_mut().remove(&self.key);
    }
}
