//! A new policy while the proxy runs: on SIGHUP at once, on a change of the files once they have
//! been still for a moment. A policy that does not load changes nothing but what is said about it.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use moat_policy::policy::Policy;
use moat_policy::record::{Cause, Event};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::record::Entry;
use crate::source::{LoadError, PolicySource};
use crate::worker::{Loaded, Shared};

mod files;

pub(crate) use files::Prints;
use files::Watch;

/// How long files must have been still: an editor or a deployment writes in several steps.
const STILL: Duration = Duration::from_millis(200);
/// At most this often files are looked at, however busy their folders are.
const PAUSE: Duration = Duration::from_millis(20);
/// The most of an error that goes into a record, in characters.
const REASON: usize = 2000;

/// What became of the reloads.
#[derive(Debug)]
pub(crate) struct Reloads {
    failures: AtomicU64,
    last: Mutex<Last>,
}

#[derive(Debug)]
struct Last {
    /// When the policy was last loaded without an error.
    good: SystemTime,
    /// What was wrong since.
    error: Option<Arc<str>>,
}

impl Reloads {
    /// The first policy was loaded now.
    pub(crate) fn new() -> Self {
        Self {
            failures: AtomicU64::new(0),
            last: Mutex::new(Last {
                good: SystemTime::now(),
                error: None,
            }),
        }
    }

    /// How many failed.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// When the policy was last loaded without an error.
    pub(crate) fn last_good(&self) -> SystemTime {
        self.last().good
    }

    /// Why the last one failed, if it did.
    pub(crate) fn error(&self) -> Option<Arc<str>> {
        self.last().error.clone()
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_good(&self) {
        *self.last() = Last {
            good: SystemTime::now(),
            error: None,
        };
    }

    fn note_failure(&self, error: &LoadError) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.last().error = Some(Arc::from(error.0.as_str()));
    }
}

/// Reloads for as long as the proxy runs.
pub(crate) struct Reloader {
    shared: Arc<Shared>,
    source: Arc<dyn PolicySource>,
    /// How the files were when they were last loaded, or tried to be.
    tried: Prints,
    /// Tells workers the generation that open requests are to be held to.
    recheck: watch::Sender<u64>,
}

impl Reloader {
    /// Over the policy in force, whose files were like this before it was loaded.
    pub(crate) fn new(
        shared: Arc<Shared>,
        source: Arc<dyn PolicySource>,
        tried: Prints,
        recheck: watch::Sender<u64>,
    ) -> Self {
        Self {
            shared,
            source,
            tried,
            recheck,
        }
    }

    /// Waits for hang-ups and changes, and never ends.
    pub(crate) async fn run(mut self, mut hangups: mpsc::Receiver<()>) -> Infallible {
        let mut watch = Watch::new();
        let mut files = self.source.files();
        // Set while the files differ from what was tried: how they were, and until when they
        // must stay like that.
        let mut changed: Option<(Prints, Instant)> = None;
        loop {
            watch.follow(&files);
            let now = Prints::take(&files);
            if now == self.tried {
                changed = None;
            } else {
                match &changed {
                    Some((seen, still)) if *seen == now => {
                        if Instant::now() >= *still {
                            self.reload(now).await;
                            files = self.source.files();
                            changed = None;
                            continue;
                        }
                    }
                    _ => changed = Some((now, Instant::now() + STILL)),
                }
            }
            let next = match &changed {
                Some((_, still)) => *still,
                None => Instant::now() + watch.interval(),
            };
            tokio::select! {
                Some(()) = hangups.recv() => {
                    self.reload(Prints::take(&files)).await;
                    files = self.source.files();
                    changed = None;
                }
                () = watch.changed() => tokio::time::sleep(PAUSE).await,
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    async fn reload(&mut self, prints: Prints) {
        self.tried = prints;
        let source = Arc::clone(&self.source);
        // Reading and compiling may take long; the signals of the end must still be heard.
        let loaded = tokio::task::spawn_blocking(move || source.load()).await;
        match loaded {
            Ok(Ok(policy)) => self.put_in_force(policy),
            Ok(Err(error)) => self.keep(&error),
            Err(_) => self.keep(&LoadError("loading it came to no end".to_owned())),
        }
    }

    fn put_in_force(&self, policy: Arc<Policy>) {
        self.shared.reloads.note_good();
        let before = self.shared.policy.load();
        if before.policy.digest() == policy.digest() {
            tracing::info!("the policy is unchanged");
            return;
        }
        let generation = before.generation + 1;
        let digest = Arc::clone(policy.digest());
        self.shared
            .policy
            .store(Arc::new(Loaded { policy, generation }));
        tracing::info!(generation, %digest, "a new policy is in force");
        self.record(Cause::Done, digest, None);
        if self.shared.config.recheck {
            self.recheck.send_replace(generation);
        }
    }

    fn keep(&self, error: &LoadError) {
        self.shared.reloads.note_failure(error);
        // A line of the log is one line; findings have one each.
        let findings = error.0.lines().collect::<Vec<_>>().join("; ");
        tracing::error!("the policy does not load; the one before stays in force: {findings}");
        let digest = Arc::clone(self.shared.policy.load().policy.digest());
        let reason = error.0.chars().take(REASON).collect();
        self.record(Cause::Malformed, digest, Some(reason));
    }

    fn record(&self, cause: Cause, digest: Arc<str>, reason: Option<String>) {
        let mut entry = Entry::of_proxy(Event::Reload, cause, Some(digest));
        entry.reason = reason.map(Into::into);
        let _ = self.shared.recorder.push(entry); // The recorder counts what is lost.
    }
}

/// The files of a source as they are now; take them before loading.
pub(crate) fn prints(source: &dyn PolicySource) -> Prints {
    let files: Vec<PathBuf> = source.files();
    Prints::take(&files)
}
