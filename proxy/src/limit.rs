//! Budgets over all workers: how many clients there may be at a time, and how often the same
//! trouble is logged.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often one [`Quiet`] speaks at most.
const PAUSE: Duration = Duration::from_secs(5);

/// The count and its limit, and how many of them each worker has.
#[derive(Debug)]
pub(crate) struct Connections {
    open: AtomicUsize,
    limit: usize,
    workers: Box<[AtomicUsize]>,
}

/// One client's place, on one worker; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    worker: usize,
}

impl Connections {
    /// None is open.
    pub(crate) fn new(limit: usize, workers: usize) -> Self {
        Self {
            open: AtomicUsize::new(0),
            limit,
            workers: (0..workers).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    /// A place on this worker, unless all are taken.
    pub(crate) fn enter(self: &Arc<Self>, worker: usize) -> Option<Place> {
        // Counted first: two that come together can then never both take the last place.
        if self.open.fetch_add(1, Ordering::Relaxed) < self.limit {
            self.join(worker);
            Some(Place {
                connections: Arc::clone(self),
                worker,
            })
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

    /// How many each worker has.
    pub(crate) fn loads(&self) -> impl Iterator<Item = usize> {
        let workers = self.workers.iter();
        workers.map(|load| load.load(Ordering::Relaxed))
    }

    fn join(&self, worker: usize) {
        if let Some(load) = self.workers.get(worker) {
            load.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn leave(&self, worker: usize) {
        if let Some(load) = self.workers.get(worker) {
            load.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Place {
    /// The worker with the fewest clients, if this one has more than twice as many.
    pub(crate) fn lighter(&self) -> Option<usize> {
        let own = self.connections.loads().nth(self.worker)?;
        let loads = self.connections.loads().enumerate();
        let (worker, least) = loads.min_by_key(|&(_, load)| load)?;
        (own > 1 && own > least.saturating_mul(2)).then_some(worker)
    }

    /// Moves it to another worker.
    pub(crate) fn move_to(&mut self, worker: usize) {
        self.connections.leave(self.worker);
        self.connections.join(worker);
        self.worker = worker;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.leave(self.worker);
        self.connections.open.fetch_sub(1, Ordering::Relaxed);
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
        let connections = Arc::new(Connections::new(2, 1));
        let first = connections.enter(0);
        let second = connections.enter(0);
        assert!(first.is_some() && second.is_some());
        assert!(connections.enter(0).is_none());
        drop(first);
        assert_eq!(connections.open(), 1);
        assert!(connections.enter(0).is_some());
    }

    #[test]
    fn another_worker_is_lighter_only_if_it_has_less_than_half() {
        let connections = Arc::new(Connections::new(100, 2));
        let mut places: Vec<_> = (0..5).map(|_| connections.enter(0).unwrap()).collect();
        let mut moved = Vec::new();
        for (own, other, lighter) in [(5, 0, true), (4, 1, true), (3, 2, false)] {
            assert_eq!(connections.loads().collect::<Vec<_>>(), [own, other]);
            let mut place = places.pop().unwrap();
            assert_eq!(place.lighter(), lighter.then_some(1), "{own} and {other}");
            place.move_to(1);
            moved.push(place);
        }
        drop((places, moved));
        assert_eq!(connections.loads().collect::<Vec<_>>(), [0, 0]);
        // One alone is nobody's burden.
        let alone = connections.enter(0).unwrap();
        assert_eq!(alone.lighter(), None);
    }
}
