//! The few host names that metrics may carry as labels: the first ones that a rule allowed.
//!
//! A name that was only refused never gets here, so that who chooses names does not choose how
//! many series there are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// More labels than this are not given, whatever is asked for: each costs three series.
const MOST: usize = 10_000;

/// Names in the order in which they came, shared by all workers. A slot is written once.
#[derive(Debug)]
pub(crate) struct HostNames {
    slots: Box<[OnceLock<Arc<str>>]>,
    /// How many slots are taken; locked only to take one.
    taken: Mutex<usize>,
}

/// What one worker knows of them: found without a lock.
#[derive(Debug, Default)]
pub(crate) struct HostCache {
    known: RefCell<Known>,
}

#[derive(Debug, Default)]
struct Known {
    slots: HashMap<Arc<str>, usize>,
    /// Slots below this one are in the map.
    seen: usize,
}

impl HostNames {
    /// Room for this many, up to a bound.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            slots: (0..limit.min(MOST)).map(|_| OnceLock::new()).collect(),
            taken: Mutex::new(0),
        }
    }

    /// How many there may be.
    pub(crate) fn limit(&self) -> usize {
        self.slots.len()
    }

    /// Those that have a slot.
    pub(crate) fn named(&self) -> impl Iterator<Item = (usize, &Arc<str>)> {
        let taken = self.slots.iter().map_while(OnceLock::get);
        taken.enumerate()
    }

    fn take(&self, host: &str) -> Option<usize> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((slot, _)) = self.named().find(|(_, name)| &***name == host) {
            return Some(slot);
        }
        let slot = *taken;
        self.slots.get(slot)?.set(Arc::from(host)).ok()?;
        *taken = slot + 1;
        Some(slot)
    }
}

impl HostCache {
    /// The slot of this name; a new one while there is room.
    pub(crate) fn slot(&self, names: &HostNames, host: &str) -> Option<usize> {
        let mut known = self.known.borrow_mut();
        if let Some(&slot) = known.slots.get(host) {
            return Some(slot);
        }
        known.learn(names);
        if let Some(&slot) = known.slots.get(host) {
            return Some(slot);
        }
        if known.seen >= names.limit() {
            return None;
        }
        let slot = names.take(host)?;
        known.learn(names);
        Some(slot)
    }
}

impl Known {
    /// Reads the slots that others took since the last look.
    fn learn(&mut self, names: &HostNames) {
        while let Some(name) = names.slots.get(self.seen).and_then(OnceLock::get) {
            self.slots.insert(Arc::clone(name), self.seen);
            self.seen += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HostCache, HostNames, MOST};

    #[test]
    fn the_first_names_get_a_slot_and_later_ones_none() {
        let names = HostNames::new(2);
        let cache = HostCache::default();
        assert_eq!(cache.slot(&names, "a.test"), Some(0));
        assert_eq!(cache.slot(&names, "b.test"), Some(1));
        assert_eq!(cache.slot(&names, "c.test"), None);
        assert_eq!(cache.slot(&names, "a.test"), Some(0));
    }

    #[test]
    fn two_workers_agree_on_the_slot_of_a_name() {
        let names = HostNames::new(2);
        let (one, two) = (HostCache::default(), HostCache::default());
        assert_eq!(one.slot(&names, "a.test"), Some(0));
        assert_eq!(two.slot(&names, "b.test"), Some(1));
        assert_eq!(two.slot(&names, "a.test"), Some(0));
        assert_eq!(one.slot(&names, "b.test"), Some(1));
        assert_eq!(names.named().count(), 2);
    }

    #[test]
    fn the_number_of_labels_has_a_bound_of_its_own() {
        assert_eq!(HostNames::new(usize::MAX).limit(), MOST);
    }
}
