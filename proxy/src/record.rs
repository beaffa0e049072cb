//! Decisions and closes on their way to the record: a bounded queue off the data path.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use moat_policy::record::{Actor, Cause, EndedBy, Event, Protocol};
use moat_policy::request::Target;
use moat_policy::verdict::{Effect, Rule};

use crate::id::EventId;

/// How many events may wait for the writer.
const QUEUE: usize = 8192;

/// One event, as plain data; the writer formats it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: SystemTime,
    pub(crate) id: EventId,
    pub(crate) event: Event,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) actor: Option<Arc<Actor>>,
    /// What was asked for; `None` where it could not be parsed.
    pub(crate) target: Option<Target>,
    /// A registered method, or `OTHER`.
    pub(crate) method: Option<&'static str>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) effect: Option<Effect>,
    pub(crate) enforced: bool,
    pub(crate) cause: Cause,
    pub(crate) status: Option<u16>,
    pub(crate) rule: Option<Arc<Rule>>,
    pub(crate) reason: Option<Cow<'static, str>>,
    pub(crate) policy: Option<Arc<str>>,
    pub(crate) traffic: Option<Traffic>,
}

impl Entry {
    /// An event of the proxy itself, with no request behind it.
    pub(crate) fn of_proxy(event: Event, cause: Cause, policy: Option<Arc<str>>) -> Self {
        Self {
            at: SystemTime::now(),
            id: EventId::random(),
            event,
            protocol: None,
            actor: None,
            target: None,
            method: None,
            address: None,
            effect: None,
            enforced: true,
            cause,
            status: None,
            rule: None,
            reason: None,
            policy,
            traffic: None,
        }
    }
}

/// What an allowed request moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// Bytes from the client to the upstream.
    pub(crate) up: u64,
    /// Bytes from the upstream to the client.
    pub(crate) down: u64,
    /// From the decision to the end.
    pub(crate) duration: Duration,
    /// Who ended it.
    pub(crate) ended_by: EndedBy,
}

/// The event could not be queued: the writer is behind, or gone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Lost;

/// What the writer gets.
#[derive(Debug)]
pub(crate) enum Message {
    /// An event to write. Boxed: the queue is allocated for its full length.
    Entry(Box<Entry>),
    /// Nothing; look at the state again.
    Wake,
}

/// How the record is doing, as data path, writer and scrape all see it.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failing: AtomicBool,
    queued: AtomicU64,
    written: AtomicU64,
    lost: AtomicU64,
}

impl Health {
    /// Whether the last attempt to write failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// How many events wait.
    pub(crate) fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// How many lines were written.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// How many events were never written.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The writer could or could not write.
    pub(crate) fn set_failing(&self, failing: bool) {
        self.failing.store(failing, Ordering::Relaxed);
    }

    /// The writer has written events.
    pub(crate) fn add_written(&self, lines: u64) {
        self.written.fetch_add(lines, Ordering::Relaxed);
        self.queued.fetch_sub(lines, Ordering::Relaxed);
    }

    /// One event that was taken from the queue cannot be written.
    pub(crate) fn add_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.queued.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whatever still waits will not be written any more.
    pub(crate) fn give_up(&self) {
        let left = self.queued.swap(0, Ordering::Relaxed);
        self.lost.fetch_add(left, Ordering::Relaxed);
    }
}

/// The data path's end of the queue.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    queue: Option<SyncSender<Message>>,
    health: Arc<Health>,
}

impl Recorder {
    /// A recorder that keeps nothing.
    pub(crate) fn off() -> Self {
        Self {
            queue: None,
            health: Arc::default(),
        }
    }

    /// A recorder and the writer's end of its queue.
    pub(crate) fn bounded() -> (Self, Receiver<Message>) {
        let (sender, receiver) = sync_channel(QUEUE);
        let recorder = Self {
            queue: Some(sender),
            health: Arc::default(),
        };
        (recorder, receiver)
    }

    /// How the record is doing.
    pub(crate) fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Whether what is queued now can be expected to be written.
    pub(crate) fn is_ready(&self) -> bool {
        !self.health.is_failing()
    }

    /// Queues one event without waiting. One that is lost is counted.
    pub(crate) fn push(&self, entry: Entry) -> Result<(), Lost> {
        let Some(queue) = &self.queue else {
            return Ok(());
        };
        // Counted before it is queued, so that the writer never takes away what is not there yet.
        self.health.queued.fetch_add(1, Ordering::Relaxed);
        if queue.try_send(Message::Entry(Box::new(entry))).is_err() {
            self.health.queued.fetch_sub(1, Ordering::Relaxed);
            self.health.lost.fetch_add(1, Ordering::Relaxed);
            return Err(Lost);
        }
        Ok(())
    }

    /// Makes a writer that waits look at the state again.
    pub(crate) fn wake(&self) {
        if let Some(queue) = &self.queue {
            // A full queue wakes it as well.
            drop(queue.try_send(Message::Wake));
        }
    }
}
