//! Budgets over all workers: how many clients there may be at a time, and how often the same
//! trouble is logged.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often one [`Quiet`] speaks at most.
const PAUSE: Duration = Duration::from_secs(5);

/// The count and its limit.
#[derive(Debug)]
pub(crate) struct Connections {
    open: AtomicUsize,
    limit: usize,
}

/// One client's place; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Connections>);

impl Connections {
    /// None is open.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            open: AtomicUsize::new(0),
            limit,
        }
    }

    /// A place, unless all are taken.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Place> {
        // Counted first: two that come together can then never both take the last place.
        if self.open.fetch_add(1, Ordering::Relaxed) < self.limit {
            Some(Place(Arc::clone(self)))
        } else {
            self.open.fetch_sub(1, Ordering::Relaxed);
            None
        }
    }

    /// How many are taken.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// How many there are.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lets one message in five seconds through.
#[derive(Debug, Default)]
pub(crate) struct Quiet(Mutex<Option<Instant>>);

impl Quiet {
    /// Speaks, unless it just did.
    pub(crate) fn say(&self, speak: impl FnOnce()) {
        // Whoever finds it taken has nothing new to say.
        let Ok(mut last) = self.0.try_lock() else {
            return;
        };
        let now = Instant::now();
        if last.is_none_or(|last| now.duration_since(last) >= PAUSE) {
            *last = Some(now);
            speak();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Connections, Quiet};

    #[test]
    fn the_same_trouble_is_told_once() {
        let quiet = Quiet::default();
        let mut told = 0;
        for _ in 0..100 {
            quiet.say(|| told += 1);
        }
        assert_eq!(told, 1);
    }

    #[test]
    fn refuses_beyond_the_limit_and_gives_places_back() {
        let connections = Arc::new(Connections::new(2));
        let first = connections.enter();
        let second = connections.enter();
        assert!(first.is_some() && second.is_some());
        assert!(connections.enter().is_none());
        drop(first);
        assert_eq!(connections.open(), 1);
        assert!(connections.enter().is_some());
    }
}
