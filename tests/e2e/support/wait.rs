//! Waiting for something to become true, with a limit on everything.

use std::thread;
use std::time::{Duration, Instant};

/// The limit on every wait: far above what a loaded machine needs, far below a hung run.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// Looks again and again until `look` finds something.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Lets time pass between two sends: the pace of a slow sender, never a wait for an outcome.
pub(crate) fn pace(time: Duration) {
    thread::sleep(time);
}
